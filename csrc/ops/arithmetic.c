/* Arithmetic: formulas over vectors, then the records. Integers wrap around, as in NumPy. */
#ifndef DTYPE

#include "ops/elementwise.h"
#include "base/thread.h"

/* of any integer dtype, unsigned ones too */
DF_INLINE bool is_negative(int64_t x) { return x < 0; }
DF_INLINE bool is_minus_one(int64_t x) { return x == -1; }

#define TEMPLATE "ops/arithmetic.c"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

FIRST_OF_INTS(is_zero)
#define NO_ZERO                                                                                  \
    {.input = 1, .dtypes = ALL_INTS, .first = is_zero_first,                                     \
     .want = "integer divisors other than 0"}

DF_OP(add) = {BINARY_OP("add"), .commutative = true, .tile = {NUMBERS(add)}};
DF_OP(subtract) = {BINARY_OP("subtract"), .tile = {NUMBERS(subtract)}};
DF_OP(multiply) = {BINARY_OP("multiply"), .commutative = true, .tile = {NUMBERS(multiply)}};
DF_OP(divide) = {BINARY_OP("divide"), .promote_to_float = true, .tile = {FLOATS(divide)}};
DF_OP(divide_no_nan) = {BINARY_OP("divide_no_nan"), .promote_to_float = true,
                        .tile = {FLOATS(divide_no_nan)}};
DF_OP(multiply_no_nan) = {BINARY_OP("multiply_no_nan"), .tile = {FLOATS(multiply_no_nan)}};
DF_OP(floordiv) = {BINARY_OP("floordiv"), .tile = {NUMBERS(floordiv)}, .cost = 2,
                   .refuses = NO_ZERO};
DF_OP(floormod) = {BINARY_OP("floormod"), .tile = {NUMBERS(floormod)}, .cost = 2,
                   .refuses = NO_ZERO};
DF_OP(squared_difference) = {BINARY_OP("squared_difference"), .commutative = true,
                             .tile = {NUMBERS(squared_difference)}};
DF_OP(negative) = {UNARY_OP("negative"), .tile = {NUMBERS(negative)}};
DF_OP(abs) = {UNARY_OP("abs"), .tile = {NUMBERS(abs)}};
DF_OP(sign) = {UNARY_OP("sign"), .tile = {NUMBERS(sign)}};
DF_OP(square) = {UNARY_OP("square"), .tile = {NUMBERS(square)}};
DF_OP(reciprocal) = {UNARY_OP("reciprocal"), .tile = {FLOATS(reciprocal)}};

/* add_n: any number of tensors of one shape, summed from the first to the last, a block that stays
 * in cache at a time, with the very tile function of add. */
#define ADD_N_BLOCK 4096

static df_status infer_add_n(const df_call *call, df_error *err)
{
    const df_tensor *first = call->in[0];
    for (int i = 1; i < call->n_in; i++) {
        const df_tensor *x = call->in[i];
        if (!df_may_be_same_shape(x, first))
            return df_fail(err, DF_BAD_SHAPE, "%s: input %d is %s, want the shape of input 0, %s",
                           call->op->name, i, df_tensor_text(x).text, df_tensor_text(first).text);
    }
    if (!DF_SYM(df_op_add).tile[first->dtype]) return df_fail_dtype(call, 0, "a number dtype", err);
    return df_infer_same(call, err);
}

static void add_n_block(void *context, int64_t begin, int64_t end)
{
    const df_call *call = context;
    df_dtype dtype = call->out[0]->dtype;
    int64_t skip = begin * df_dtypes[dtype].bytes, bytes = (end - begin) * df_dtypes[dtype].bytes;
    char *y = (char *)call->out[0]->data + skip;
    if (call->n_in == 1) {
        memcpy(y, (const char *)call->in[0]->data + skip, (size_t)bytes);
        return;
    }
    const void *in[2] = {(const char *)call->in[0]->data + skip, NULL};
    for (int i = 1; i < call->n_in; i++) {
        in[1] = (const char *)call->in[i]->data + skip;
        DF_SYM(df_op_add).tile[dtype](end - begin, y, in, NULL);
        in[0] = y;
    }
}

static df_status run_add_n(const df_call *call, df_error *err)
{
    (void)err;
    df_parallel_for(call->out[0]->size, ADD_N_BLOCK, 0.1 * call->n_in, add_n_block, (void *)call);
    return DF_OK;
}

DF_OP(add_n) = {.name = "add_n", .kind = DF_GENERAL, .total = true,
                .n_in = DF_VARIADIC, .n_out = 1, .promote = 1,
                .infer = infer_add_n, .run = run_add_n};

#else

DF_INLINE V FN(add)(V a, V b) { return a + b; }
DF_INLINE V FN(subtract)(V a, V b) { return a - b; }
DF_INLINE V FN(multiply)(V a, V b) { return a * b; }
DF_INLINE V FN(squared_difference)(V a, V b) { return (a - b) * (a - b); }
DF_INLINE V FN(negative)(V x) { return -x; }
DF_INLINE V FN(square)(V x) { return x * x; }

TILE_BINARY(add)
TILE_BINARY(subtract)
TILE_BINARY(multiply)
TILE_BINARY(squared_difference)
TILE_UNARY(negative)
TILE_UNARY(square)
TILE_UNARY(abs)

#if DTYPE_FLOAT

DF_INLINE V FN(divide)(V a, V b) { return a / b; }
DF_INLINE V FN(reciprocal)(V x) { return 1 / x; }

/* 0 where b is 0, whatever a is. */
DF_INLINE V FN(divide_no_nan)(V a, V b)
{
    return FN(select)(b == (V){0}, (V){0}, a / b);
}
DF_INLINE V FN(multiply_no_nan)(V a, V b)
{
    return FN(select)(b == (V){0}, (V){0}, a * b);
}

/* -1, 0 or 1 of the sign of x; zeros and NaN stay what they are. */
DF_INLINE V FN(sign)(V x)
{
    return FN(select)((x > 0) | (x < 0), FN(copysign)(FN(splat)(1), x), x);
}

/* Python's and NumPy's: the remainder has b's sign, a zero too, and is exact, as fmod is. */
DF_INLINE T FN(floormod_1)(T a, T b)
{
    T r = (T)(sizeof(T) == 4 ? fmodf((float)a, (float)b) : fmod(a, b));
    if (r == 0) return (T)(sizeof(T) == 4 ? copysignf(0, (float)b) : copysign(0, b));
    return (r < 0) != (b < 0) ? r + b : r;
}

/* floor of the true quotient, from the exact remainder: a / b may round up to the next integer. */
DF_INLINE T FN(floordiv_1)(T a, T b)
{
    if (b == 0 || a != a || b != b) return a / b;
    T r = (T)(sizeof(T) == 4 ? fmodf((float)a, (float)b) : fmod(a, b));
    T q = (a - r) / b;
    if (r != 0 && (r < 0) != (b < 0)) q -= 1;
    if (q == 0) return (T)(sizeof(T) == 4 ? copysignf(0, (float)(a / b)) : copysign(0, a / b));
    T down = (T)(sizeof(T) == 4 ? floorf((float)q) : floor(q));
    return q - down > (T)0.5 ? down + 1 : down;
}

/* floor(a / b), and the remainder that goes with it, of lanes that are not `hard`: |a / b| is below
 * 2^FRACTION_BITS, so that the rounded quotient's floor is at most one too high. For such a whole
 * number q, a - q b is exact with one rounding (or rounded as fmod(a, b) + b is). */
DF_INLINE V FN(floor_quotient)(V a, V b, V *remainder, M *hard)
{
    V t = a / b, q = FN(floor)(t), r = FN(fma)(-q, b, a);
    M easy = (FN(abs)(q) < (T)(INT64_C(1) << FRACTION_BITS)) & FN(isfinite)(b);
#if !defined(DF_HAVE_FMA)
    easy &= 0;
#endif
    *hard = ~(easy | (b == (V){0}));
    M too_high = ((r < (V){0}) ^ (b < (V){0})) & (r != (V){0}) & easy;
    *remainder = FN(select)(r == (V){0}, FN(copysign)((V){0}, b), FN(select)(too_high, r + b, r));
    q = FN(select)(too_high, q - 1, q);
    return FN(select)(easy, FN(select)(q == (V){0}, FN(copysign)((V){0}, t), q), t);
}

DF_INLINE V FN(floordiv)(V a, V b)
{
    V r, q;
    M hard;
    q = FN(floor_quotient)(a, b, &r, &hard);
    return FN(any)(hard) ? FN(lanewise2)(a, b, FN(floordiv_1)) : q;
}

DF_INLINE V FN(floormod)(V a, V b)
{
    V r;
    M hard;
    FN(floor_quotient)(a, b, &r, &hard);
    return FN(any)(hard) ? FN(lanewise2)(a, b, FN(floormod_1)) : r;
}

TILE_BINARY(divide)
TILE_BINARY(divide_no_nan)
TILE_BINARY(multiply_no_nan)
TILE_UNARY(reciprocal)

#else

DF_INLINE V FN(sign)(V x)
{
    return FN(select)(x > 0, FN(splat)(1), FN(select)(x < 0, FN(splat)((T)-1), (V){0}));
}

DF_INLINE bool FN(is_zero)(T x) { return x == 0; }
TEST_FIRST(is_zero)

/* Division by zero has been refused, but must not trap; by -1 it is negation, since MIN / -1 traps
 * on x86. */
DF_INLINE T FN(floordiv_1)(T a, T b)
{
    if (b == 0) return 0;
    if (is_minus_one(b)) return (T)-a;
    return (T)(a / b - ((a % b != 0) & (is_negative(a) != is_negative(b))));
}

DF_INLINE T FN(floormod_1)(T a, T b)
{
    if (b == 0 || is_minus_one(b)) return 0;
    T r = (T)(a % b);
    return r != 0 && is_negative(r) != is_negative(b) ? (T)(r + b) : r;
}

DF_INLINE V FN(floordiv)(V a, V b) { return FN(lanewise2)(a, b, FN(floordiv_1)); }
DF_INLINE V FN(floormod)(V a, V b) { return FN(lanewise2)(a, b, FN(floormod_1)); }

#endif

TILE_BINARY(floordiv)
TILE_BINARY(floormod)
TILE_UNARY(sign)

#endif
