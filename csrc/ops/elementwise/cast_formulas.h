/* Casts of one element: to_i8(from_f32(x)). A float that fits an integer dtype is truncated as in
 * C; otherwise it becomes the nearest end of the range (NaN: 0). 16-bit floats are rounded once. */
#include "base/half.h"

typedef uint16_t t_f16;
typedef uint16_t t_bf16;
typedef uint8_t t_boolean; /* bool is a macro of stdbool.h */

/* The functions below select instead of branching, so that loops vectorise. */

/* Like df_f64_to_odd_f32, for an integer and the 53 digits of a double. */
DF_INLINE double i64_to_odd_f64(int64_t x)
{
    int64_t odd = (x & ~INT64_C(0x7ff)) | ((x & 0x7ff) != 0 ? 0x800 : 0);
    bool exact = x >= -(INT64_C(1) << 53) && x <= INT64_C(1) << 53;
    return (double)(exact ? x : odd);
}

DF_INLINE double u64_to_odd_f64(uint64_t x)
{
    uint64_t odd = (x & ~UINT64_C(0x7ff)) | ((x & 0x7ff) != 0 ? 0x800 : 0);
    return (double)(x <= UINT64_C(1) << 53 ? x : odd);
}

/* Floats limited to [low, high], NaN as 0, ready to be truncated to an integer. */
DF_INLINE float limit_f32(float x, float low, float high)
{
    x = x == x ? x : 0;
    x = x > low ? x : low;
    return x < high ? x : high;
}

DF_INLINE double limit_f64(double x, double low, double high)
{
    x = x == x ? x : 0;
    x = x > low ? x : low;
    return x < high ? x : high;
}

/* If the end of the range is not a float, the limit is the next smaller float. */
DF_INLINE int32_t f32_to_i32(float x)
{
    int32_t y = (int32_t)limit_f32(x, -0x1p31f, 0x1.fffffep30f);
    return x >= 0x1p31f ? INT32_MAX : y;
}

DF_INLINE int64_t f64_to_i64(double x)
{
    int64_t y = (int64_t)limit_f64(x, -0x1p63, 0x1.fffffffffffffp62);
    return x >= 0x1p63 ? INT64_MAX : y;
}

DF_INLINE uint32_t f32_to_u32(float x)
{
    uint32_t y = (uint32_t)limit_f32(x, 0, 0x1.fffffep31f);
    return x >= 0x1p32f ? UINT32_MAX : y;
}

DF_INLINE uint64_t f64_to_u64(double x)
{
    uint64_t y = (uint64_t)limit_f64(x, 0, 0x1.fffffffffffffp63);
    return x >= 0x1p64 ? UINT64_MAX : y;
}

/* from_<dtype> reads an element in the widest type of its kind; to_<dtype> writes one. */
DF_INLINE float from_f16(t_f16 x) { return df_f16_to_f32(x); }
DF_INLINE float from_bf16(t_bf16 x) { return df_bf16_to_f32(x); }
DF_INLINE float from_f32(float x) { return x; }
DF_INLINE double from_f64(double x) { return x; }
DF_INLINE int32_t from_u8(uint8_t x) { return x; }
DF_INLINE int32_t from_u16(uint16_t x) { return x; }
DF_INLINE uint32_t from_u32(uint32_t x) { return x; }
DF_INLINE uint64_t from_u64(uint64_t x) { return x; }
DF_INLINE int32_t from_boolean(uint8_t x) { return x; }
DF_INLINE int32_t from_i8(int8_t x) { return x; }
DF_INLINE int32_t from_i16(int16_t x) { return x; }
DF_INLINE int32_t from_i32(int32_t x) { return x; }
DF_INLINE int64_t from_i64(int64_t x) { return x; }

/* Selects one of three by the type of x: float, double, or an integer. */
#define BY_TYPE(x, of_float, of_double, of_int) \
    _Generic((x), float: of_float, double: of_double, default: of_int)
DF_INLINE int32_t small_f32(float x, int low, int high)
{
    return (int32_t)limit_f32(x, (float)low, (float)high);
}
DF_INLINE int32_t small_f64(double x, int low, int high)
{
    return (int32_t)limit_f64(x, low, high);
}
DF_INLINE uint64_t low_bits(uint64_t x, int low, int high) { return (void)low, (void)high, x; }
DF_INLINE uint64_t same_bits(uint64_t x) { return x; }
DF_INLINE int32_t f64_to_i32(double x) { return (int32_t)limit_f64(x, INT32_MIN, INT32_MAX); }
DF_INLINE int64_t f32_to_i64(float x) { return f64_to_i64((double)x); }
DF_INLINE uint32_t f64_to_u32(double x) { return (uint32_t)limit_f64(x, 0, UINT32_MAX); }
DF_INLINE uint64_t f32_to_u64(float x) { return f64_to_u64((double)x); }
DF_INLINE float same_f32(float x) { return x; }

#define SMALL(x, low, high) BY_TYPE(x, small_f32, small_f64, low_bits)(x, low, high)
#define to_boolean(x) ((uint8_t)((x) != 0))
#define to_u8(x) ((uint8_t)SMALL(x, 0, 255))
#define to_u16(x) ((uint16_t)SMALL(x, 0, 65535))
#define to_u32(x) ((uint32_t)BY_TYPE(x, f32_to_u32, f64_to_u32, same_bits)(x))
#define to_u64(x) ((uint64_t)BY_TYPE(x, f32_to_u64, f64_to_u64, same_bits)(x))
#define to_i8(x) ((int8_t)SMALL(x, -128, 127))
#define to_i16(x) ((int16_t)SMALL(x, -32768, 32767))
#define to_i32(x) ((int32_t)BY_TYPE(x, f32_to_i32, f64_to_i32, same_bits)(x))
#define to_i64(x) ((int64_t)BY_TYPE(x, f32_to_i64, f64_to_i64, same_bits)(x))
/* To 16 bits: an exact enough float, then rounded once. */
DF_INLINE float odd_of_int(int64_t x) { return df_f64_to_odd_f32(i64_to_odd_f64(x)); }
DF_INLINE float odd_of_u64(uint64_t x) { return df_f64_to_odd_f32(u64_to_odd_f64(x)); }
#define TO_ODD(x)                                                                                \
    _Generic((x), float: same_f32, double: df_f64_to_odd_f32, uint64_t: odd_of_u64,              \
             default: odd_of_int)(x)
#define to_f16(x) df_f32_to_f16(TO_ODD(x))
#define to_bf16(x) df_f32_to_bf16(TO_ODD(x))
#define to_f32(x) ((float)(x))
#define to_f64(x) ((double)(x))
