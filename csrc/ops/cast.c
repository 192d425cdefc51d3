/* cast: every dtype to every other. float16 and bfloat16 go through float32 bits; a float becomes
 * an integer as in C where it fits, and as the nearest end of the range (NaN: 0) where it does
 * not, on every machine alike. */
#include "elementwise.h"

typedef uint16_t t_f16;
typedef uint16_t t_bf16;
typedef uint8_t t_b8; /* bool is a macro of stdbool.h, so its tag here is b8 */

/* IEEE half precision. Source: the formats of IEEE 754-2008, 3.4; ties to even. */
DF_INLINE float f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff, bits;
    if (rest >= 0x7c00) bits = 0x7f800000u | (rest & 0x3ff) << 13;       /* inf, NaN */
    else if (rest >= 0x400) bits = (rest << 13) + 0x38000000u;            /* exponent 15 -> 127 */
    else {
        float tiny = (float)rest * 0x1p-24f;                              /* subnormal: exact */
        memcpy(&bits, &tiny, 4);
    }
    bits |= sign;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

DF_INLINE uint16_t f32_to_f16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7e00;   /* NaN */
    if (bits >= 0x477ff000) return sign | 0x7c00;  /* 65520 and above round to inf */
    if (bits < 0x38800000) {                       /* subnormal half: adding 0.5 rounds to 2^-24 */
        float a;
        memcpy(&a, &bits, 4);
        a += 0.5f;
        memcpy(&bits, &a, 4);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    bits += 0xfff + (bits >> 13 & 1);
    return (uint16_t)(sign | ((bits - 0x38000000) >> 13));
}

DF_INLINE float bf16_to_f32(uint16_t h)
{
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

DF_INLINE uint16_t f32_to_bf16(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* A double, saturated to [low, high] where high + 1 is a power of two; NaN gives 0. */
DF_INLINE int64_t saturate(double x, int64_t low, int64_t high)
{
    if (x != x) return 0;
    if (x >= (double)high) return high;
    return x <= (double)low ? low : (int64_t)x;
}

/* from_<dtype> reads an element in the widest type of its kind; to_<dtype> writes one. */
DF_INLINE float from_f16(t_f16 x) { return f16_to_f32(x); }
DF_INLINE float from_bf16(t_bf16 x) { return bf16_to_f32(x); }
DF_INLINE float from_f32(float x) { return x; }
DF_INLINE double from_f64(double x) { return x; }
DF_INLINE int32_t from_u8(uint8_t x) { return x; }
DF_INLINE int32_t from_b8(uint8_t x) { return x; }
DF_INLINE int32_t from_i8(int8_t x) { return x; }
DF_INLINE int32_t from_i16(int16_t x) { return x; }
DF_INLINE int32_t from_i32(int32_t x) { return x; }
DF_INLINE int64_t from_i64(int64_t x) { return x; }

#define IS_FLOAT(x) _Generic((x), float: 1, double: 1, default: 0)
#define to_b8(x) ((uint8_t)((x) != 0))
#define to_u8(x) (IS_FLOAT(x) ? (uint8_t)saturate((double)(x), 0, 255) : (uint8_t)(x))
#define to_i8(x) (IS_FLOAT(x) ? (int8_t)saturate((double)(x), -128, 127) : (int8_t)(x))
#define to_i16(x) (IS_FLOAT(x) ? (int16_t)saturate((double)(x), -32768, 32767) : (int16_t)(x))
#define to_i32(x) \
    (IS_FLOAT(x) ? (int32_t)saturate((double)(x), INT32_MIN, INT32_MAX) : (int32_t)(x))
#define to_i64(x) (IS_FLOAT(x) ? saturate((double)(x), INT64_MIN, INT64_MAX) : (int64_t)(x))
#define to_f16(x) f32_to_f16((float)(x))
#define to_bf16(x) f32_to_bf16((float)(x))
#define to_f32(x) ((float)(x))
#define to_f64(x) ((double)(x))

/* One loop per pair; a row of the table per source. */
#define LOOP(from, to)                                                                           \
    static void from##_##to(int64_t n, void *out, const void *const *in, const df_attr *attrs)   \
    {                                                                                            \
        (void)attrs;                                                                             \
        for (int64_t i = 0; i < n; i++)                                                          \
            ((t_##to *)out)[i] = to_##to(from_##from(((const t_##from *)in[0])[i]));             \
    }
#define LOOPS(from)                                                                              \
    LOOP(from, b8) LOOP(from, u8) LOOP(from, i8) LOOP(from, i16) LOOP(from, i32)               \
    LOOP(from, i64) LOOP(from, f16) LOOP(from, bf16) LOOP(from, f32) LOOP(from, f64)
LOOPS(b8) LOOPS(u8) LOOPS(i8) LOOPS(i16) LOOPS(i32)
LOOPS(i64) LOOPS(f16) LOOPS(bf16) LOOPS(f32) LOOPS(f64)

#define ROW(from)                                                                                \
    {from##_b8, from##_u8, from##_i8, from##_i16, from##_i32,                                  \
     from##_i64, from##_f16, from##_bf16, from##_f32, from##_f64}
static const df_tile_fn casts[DF_N_DTYPES][DF_N_DTYPES] = {
    [DF_BOOL] = ROW(b8), [DF_U8] = ROW(u8), [DF_I8] = ROW(i8), [DF_I16] = ROW(i16),
    [DF_I32] = ROW(i32), [DF_I64] = ROW(i64), [DF_F16] = ROW(f16), [DF_BF16] = ROW(bf16),
    [DF_F32] = ROW(f32), [DF_F64] = ROW(f64),
};

enum { DTYPE_ATTR };

static df_status infer_cast(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    return df_tensor_set(call->out[0], (df_dtype)call->attrs[DTYPE_ATTR].i, x->ndim, x->shape,
                         call->op->name, err);
}

static df_tile_fn select_cast(const df_call *call)
{
    return casts[call->in[0]->dtype][call->attrs[DTYPE_ATTR].i];
}

DF_OP(cast) = {.name = "cast", .kind = DF_ELEMENTWISE, .n_in = 1, .n_out = 1, .n_attrs = 1,
               .attrs = {{"dtype", DF_ATTR_DTYPE}}, .infer = infer_cast, .select = select_cast};
