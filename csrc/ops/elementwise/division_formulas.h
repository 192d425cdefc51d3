/* Quotients and remainders. Compiled once per dtype. */

#if DTYPE_FLOAT

DF_INLINE V FN(divide)(V a, V b) { return a / b; }
DF_INLINE V FN(reciprocal)(V x) { return 1 / x; }

/* 0 where b is 0, for any a. */
DF_INLINE V FN(divide_no_nan)(V a, V b)
{
    return FN(select)(b == (V){0}, (V){0}, a / b);
}

/* As in Python and NumPy: the remainder has the sign of b, even if zero, and is exact like fmod. */
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

/* floor(a / b) and the matching remainder, for lanes that are not `hard`: |a / b| is below
 * 2^FRACTION_BITS, so the floor of the rounded quotient is at most one too large. For an integer q
 * of this size, a - q b is exact with one rounding (or rounded like fmod(a, b) + b). */
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
TILE_WITH_ONE(divide)
TILE_BINARY(divide_no_nan)
TILE_UNARY(reciprocal)

#else

#define DIVIDED_AS_F64_i32 1

DF_INLINE bool FN(is_zero)(T x) { return x == 0; }
TEST_FIRST(is_zero)

/* Division by zero has been rejected, but must not trap. Division by -1 is negation, since MIN / -1
 * traps on x86. */
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

/* Unsigned, because the magnitude of MIN exceeds T. */
DF_INLINE uint64_t FN(magnitude)(T x) { return is_negative(x) ? -(uint64_t)x : (uint64_t)x; }

/* Euclid's algorithm. */
DF_INLINE T FN(gcd_1)(T x, T y)
{
    uint64_t a = FN(magnitude)(x), b = FN(magnitude)(y);
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return (T)a;
}

DF_INLINE T FN(lcm_1)(T a, T b)
{
    const uint64_t divisor = FN(magnitude)(FN(gcd_1)(a, b));
    return divisor == 0 ? 0 : (T)(FN(magnitude)(a) / divisor * FN(magnitude)(b));
}

DF_INLINE V FN(gcd)(V a, V b) { return FN(lanewise2)(a, b, FN(gcd_1)); }
DF_INLINE V FN(lcm)(V a, V b) { return FN(lanewise2)(a, b, FN(lcm_1)); }
TILE_BINARY(gcd)
TILE_BINARY(lcm)

#if DF_CAT(DIVIDED_AS_F64, DTYPE) && defined(DF_ROUND)

typedef T FN(half_vector) __attribute__((vector_size(DF_VEC_BYTES / 2)));

/* The quotient of int32 as a float64 is exact enough for its floor: a multiple of 1 / b that is no
 * integer has a distance of 1 / b from one, far above half an ulp. Adding the magic number leaves
 * the integer, also the 2^31 of MIN / -1, in the low bits. */
DF_INLINE FN(half_vector) FN(floordiv_half)(FN(half_vector) a, FN(half_vector) b)
{
    v_f64 q = __builtin_convertvector(a, v_f64) / __builtin_convertvector(b, v_f64);
    v_i64 bits = (v_i64)(floor_f64(q) + 0x1.8p52);
    return __builtin_convertvector(bits, FN(half_vector));
}

DF_INLINE V FN(floordiv)(V a, V b)
{
    FN(half_vector) x[2], y[2];
    M zero = b == (V){0};
    b -= zero;
    memcpy(x, &a, sizeof a);
    memcpy(y, &b, sizeof b);
    for (int h = 0; h < 2; h++) x[h] = FN(floordiv_half)(x[h], y[h]);
    memcpy(&a, x, sizeof a);
    return a & ~zero;
}

DF_INLINE V FN(floormod)(V a, V b)
{
    return (a - FN(floordiv)(a, b) * b) & ~(b == (V){0});
}

#else

DF_INLINE V FN(floordiv)(V a, V b) { return FN(lanewise2)(a, b, FN(floordiv_1)); }
DF_INLINE V FN(floormod)(V a, V b) { return FN(lanewise2)(a, b, FN(floormod_1)); }

#endif

#endif

TILE_BINARY(floordiv)
TILE_BINARY(floormod)
