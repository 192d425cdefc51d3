/* cast: from every dtype to every other. 16-bit floats are converted through float32 bits. A
 * float that fits an integer dtype is truncated as in C; otherwise it becomes the nearest end of
 * the range (NaN: 0), on every machine. */
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/cast_formulas.h"
#include "simd/lanes_half.h"

/* One loop per pair of dtypes; a row of the table per source. */
#define LOOP_AFTER(from, to, done)                                                               \
    static void from##_##to(int64_t n, void *out, const void *const *in, const df_attr *attrs)   \
    {                                                                                            \
        (void)attrs;                                                                             \
        const t_##from *x = in[0];                                                               \
        t_##to *y = out;                                                                         \
        for (int64_t i = done; i < n; i++)                                                       \
            y[i] = to_##to(from_##from(x[i]));                                                   \
    }
#define LOOP(from, to) LOOP_AFTER(from, to, 0)

/* Whole vectors of floats to integers of at most 32 bits. Compilers turn the limits above into six
 * comparisons; a minimum and a maximum suffice. Integers of 8 bits are narrowed to 16 bits first:
 * GCC 12 converts 32 bits to 8 one element at a time. */
#define VECTOR_LOOP(from, through, to, low, high)                                                \
    DF_INLINE int64_t vectors_##from##_##to(int64_t n, t_##to *y, const t_##from *x)             \
    {                                                                                            \
        enum { AT_ONCE = DF_VEC_BYTES / sizeof *x };                                             \
        typedef int32_t whole __attribute__((vector_size(AT_ONCE * 4)));                         \
        typedef t_##through between __attribute__((vector_size(AT_ONCE * sizeof(t_##through)))); \
        typedef t_##to result __attribute__((vector_size(AT_ONCE * sizeof *y)));                 \
        int64_t i = 0;                                                                           \
        for (; i + AT_ONCE <= n; i += AT_ONCE) {                                                 \
            const v_##from v = clamp_##from(load_##from(x + i), low, high);                      \
            const v_##from number = (v_##from)((m_##from)v & (v == v));                          \
            const between b = __builtin_convertvector(__builtin_convertvector(number, whole),    \
                                                      between);                                  \
            const result r = __builtin_convertvector(b, result);                                 \
            memcpy(y + i, &r, sizeof r);                                                         \
        }                                                                                        \
        return i;                                                                                \
    }                                                                                            \
    LOOP_AFTER(from, to, vectors_##from##_##to(n, y, x))
/* INT32_MAX is not a float: from 2^31 on, the low bits are set after the conversion. */
DF_INLINE int64_t vectors_f32_i32(int64_t n, int32_t *y, const float *x)
{
    const int64_t at_once = DF_VEC_BYTES / sizeof *x;
    int64_t i = 0;
    for (; i + at_once <= n; i += at_once) {
        const v_f32 v = load_f32(x + i), limited = clamp_f32(v, -0x1p31f, 0x1.fffffep30f);
        const v_f32 number = (v_f32)((v_i32)limited & (v == v));
        store_i32(y + i, __builtin_convertvector(number, v_i32) | ((v >= 0x1p31f) & 0x7f));
    }
    return i;
}
#define LOOPS_OF_ALL(from)                                                                       \
    LOOP(from, boolean) LOOP(from, u32) LOOP(from, u64) LOOP(from, i64) LOOP(from, bf16)         \
    LOOP(from, f64)
#define LOOPS_OF_INTS(from) /* unsigned integers get the bits of signed ones */                  \
    LOOP(from, boolean) LOOP(from, i8) LOOP(from, i16) LOOP(from, i32) LOOP(from, i64)           \
    LOOP(from, f16) LOOP(from, bf16) LOOP(from, f32) LOOP(from, f64)
#define LOOPS(from)                                                                              \
    LOOPS_OF_ALL(from) LOOP(from, u8) LOOP(from, u16) LOOP(from, i8) LOOP(from, i16)             \
    LOOP(from, i32)
#define LOOPS_OF_FLOATS(from)                                                                    \
    LOOPS_OF_ALL(from) VECTOR_LOOP(from, u16, u8, 0, 255)                                        \
    VECTOR_LOOP(from, u16, u16, 0, 65535) VECTOR_LOOP(from, i16, i8, -128, 127)                  \
    VECTOR_LOOP(from, i16, i16, -32768, 32767)
LOOPS_OF_INTS(u8) LOOPS_OF_INTS(u16) LOOPS_OF_INTS(u32) LOOPS_OF_INTS(u64)
LOOPS_OF_INTS(i8) LOOPS_OF_INTS(i16) LOOPS_OF_INTS(i32) LOOPS_OF_INTS(i64)
LOOPS(f16) LOOP(f16, f16)
LOOPS(bf16) LOOP(bf16, f16) LOOP(bf16, f32)
LOOPS_OF_FLOATS(f32) LOOP_AFTER(f32, i32, vectors_f32_i32(n, y, x)) LOOP(f32, f32)
LOOPS_OF_FLOATS(f64) VECTOR_LOOP(f64, i32, i32, INT32_MIN, INT32_MAX) LOOP(f64, f16) LOOP(f64, f32)

/* By the instructions of the level. */
static void f32_f16(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    (void)attrs;
    df_narrow(DF_F16, n, out, in[0]);
}

static void f16_f32(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    (void)attrs;
    df_widen(DF_F16, n, out, in[0]);
}

/* To complex numbers: the cast to the dtype of the parts, then zeros as imaginary parts. */
#define PIECE 512
#define INTO_PAIRS(to, part, T)                                                                  \
    DF_NOINLINE void spread_##to(df_tile_fn cast, int64_t bytes, int64_t n, T *out, const char *x) \
    {                                                                                            \
        T piece[PIECE];                                                                          \
        for (int64_t i = 0; i < n; i += PIECE) {                                                 \
            const int64_t m = df_min(PIECE, n - i);                                              \
            const void *in[1] = {x + i * bytes};                                                 \
            cast(m, piece, in, NULL);                                                            \
            for (int64_t j = 0; j < m; j++) out[2 * (i + j)] = piece[j], out[2 * (i + j) + 1] = 0; \
        }                                                                                        \
    }
INTO_PAIRS(c64, f32, float)
INTO_PAIRS(c128, f64, double)
#define COMPLEX_LOOP(from, to, part)                                                             \
    static void from##_##to(int64_t n, void *out, const void *const *in, const df_attr *attrs)   \
    {                                                                                            \
        (void)attrs;                                                                             \
        spread_##to(from##_##part, sizeof(t_##from), n, out, in[0]);                             \
    }
#define COMPLEX_LOOPS(from) COMPLEX_LOOP(from, c64, f32) COMPLEX_LOOP(from, c128, f64)
COMPLEX_LOOPS(u8) COMPLEX_LOOPS(u16) COMPLEX_LOOPS(u32) COMPLEX_LOOPS(u64) COMPLEX_LOOPS(i8)
COMPLEX_LOOPS(i16) COMPLEX_LOOPS(i32) COMPLEX_LOOPS(i64) COMPLEX_LOOPS(f16) COMPLEX_LOOPS(bf16)
COMPLEX_LOOPS(f32) COMPLEX_LOOPS(f64)

/* Between complex dtypes, part by part. No cast drops an imaginary part. */
#define CAST_PARTS(from, to, part, part_to)                                                      \
    static void from##_##to(int64_t n, void *out, const void *const *in, const df_attr *attrs)   \
    {                                                                                            \
        part##_##part_to(2 * n, out, in, attrs);                                                 \
    }
CAST_PARTS(c64, c64, f32, f32) CAST_PARTS(c64, c128, f32, f64)
CAST_PARTS(c128, c64, f64, f32) CAST_PARTS(c128, c128, f64, f64)

#define COMPLEX_COLUMNS(from) DF_OF(C64, from##_c64), DF_OF(C128, from##_c128)
#define ROW(from)                                                                                \
    {from##_boolean,  from##_u8,  from##_u16, from##_u32,  from##_u64, from##_i8, from##_i16,    \
     from##_i32, from##_i64, from##_f16, from##_bf16, from##_f32, from##_f64,                    \
     COMPLEX_COLUMNS(from)}
#define ROW_OF_INTS(from)                                                                        \
    {from##_boolean,  from##_i8,  from##_i16, from##_i32,  from##_i64, from##_i8, from##_i16,    \
     from##_i32, from##_i64, from##_f16, from##_bf16, from##_f32, from##_f64,                    \
     COMPLEX_COLUMNS(from)}
static const df_tile_fn casts[DF_N_DTYPES][DF_N_DTYPES] = {
    DF_OF_ALL(BOOL, ROW_OF_INTS(u8)), DF_OF_ALL(U8, ROW_OF_INTS(u8)),
    DF_OF_ALL(U16, ROW_OF_INTS(u16)), DF_OF_ALL(U32, ROW_OF_INTS(u32)),
    DF_OF_ALL(U64, ROW_OF_INTS(u64)), DF_OF_ALL(I8, ROW_OF_INTS(i8)),
    DF_OF_ALL(I16, ROW_OF_INTS(i16)), DF_OF_ALL(I32, ROW_OF_INTS(i32)),
    DF_OF_ALL(I64, ROW_OF_INTS(i64)), DF_OF_ALL(F16, ROW(f16)),
    DF_OF_ALL(BF16, ROW(bf16)), [DF_F32] = ROW(f32), DF_OF_ALL(F64, ROW(f64)),
    DF_OF_ALL(C64, {COMPLEX_COLUMNS(c64)}), DF_OF_ALL(C128, {COMPLEX_COLUMNS(c128)}),
};

enum { DTYPE_ATTR };

static df_status infer_cast(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[0];
    if (df_is_complex(x->dtype) && !df_is_complex((df_dtype)call->attrs[DTYPE_ATTR].i))
        return df_fail(err, DF_BAD_DTYPE,
                       "%s: x is %s, expected real numbers: a cast to %s would drop the imaginary "
                       "part; df.math.real(x) is the real part", call->op->name,
                       df_tensor_text(x).text, df_dtypes[call->attrs[DTYPE_ATTR].i].name);
    return df_tensor_set(call->out[0], (df_dtype)call->attrs[DTYPE_ATTR].i, x->ndim, x->shape,
                         call->op->name, err);
}

static df_tile_fn select_cast(const df_call *call)
{
    return casts[call->in[0]->dtype][call->attrs[DTYPE_ATTR].i];
}

DF_OP(cast) = {.name = "cast", .kind = DF_ELEMENTWISE, .n_in = 1, .n_out = 1, .n_attrs = 1,
               .attrs = {{"dtype", DF_ATTR_DTYPE}}, .infer = infer_cast, .select = select_cast};
