/* Part of complex_lanes.h, included once per float dtype of the parts: LANES numbers as a vector of
 * real parts and a vector of imaginary parts. In memory, complex numbers are interleaved pairs;
 * loads and stores separate and interleave them within blocks of 16 bytes, which takes one
 * instruction per vector. The parts of wider vectors are therefore in block order: first the
 * numbers of the first block of either vector, and so on. `in_order` restores the order. */

typedef struct {
    V re, im;
} Z;

DF_INLINE Z FN(separate)(V a, V b)
{
    return (Z){DF_SHUFFLE(a, b, DF_BLOCK_LIST(DF_BLOCK_EVEN)),
               DF_SHUFFLE(a, b, DF_BLOCK_LIST(DF_BLOCK_ODD))};
}

/* One number per complex number, from block order to the order in memory and back. */
DF_INLINE V FN(in_order)(V x) { return DF_SHUFFLE(x, x, DF_BLOCK_LIST(DF_BLOCK_ORDER)); }
DF_INLINE V FN(in_blocks)(V x) { return DF_SHUFFLE(x, x, DF_BLOCK_LIST(DF_BLOCK_PLACES)); }

/* Loads and stores of n <= LANES complex numbers, 2 n elements. */
DF_INLINE Z FN(load_complex)(const T *p, int64_t n)
{
    if (n == LANES) return FN(separate)(FN(load)(p), FN(load)(p + LANES));
    if (2 * n <= LANES) return FN(separate)(FN(load_upto)(p, 2 * n), (V){0});
    return FN(separate)(FN(load)(p), FN(load_upto)(p + LANES, 2 * n - LANES));
}

DF_INLINE void FN(store_complex)(T *p, Z z, int64_t n)
{
    const V low = DF_SHUFFLE(z.re, z.im, DF_BLOCK_LIST(DF_BLOCK_LOW));
    const V high = DF_SHUFFLE(z.re, z.im, DF_BLOCK_LIST(DF_BLOCK_HIGH));
    if (2 * n <= LANES) {
        FN(store_upto)(p, low, 2 * n);
        return;
    }
    FN(store)(p, low);
    FN(store_upto)(p + LANES, high, 2 * n - LANES);
}

DF_INLINE Z FN(complex_multiply)(Z a, Z b)
{
    return (Z){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* |z| without overflow of squares. The size of a number with an infinite part is infinite, even if
 * the other part is NaN (C11, G.6). */
DF_INLINE V FN(complex_abs)(Z z)
{
    const V a = FN(abs)(z.re), b = FN(abs)(z.im);
    const M swap = a < b;
    const V large = FN(select)(swap, b, a), small = FN(select)(swap, a, b), r = small / large;
    const V zero = large + small; /* or NaN */
    const V size = FN(select)(large == 0, zero, large * FN(sqrt)(1 + r * r));
    const M infinite = FN(isinf)(a) | FN(isinf)(b);
    return FN(select)(infinite, FN(splat)((T)INFINITY), FN(select)(a != a, a, size));
}

/* a / b by the smaller ratio of the parts of b (R. L. Smith, "Algorithm 116: Complex division",
 * Communications of the ACM 5(8), 1962). The quotient by 0 has the parts of a divided by 0. */
DF_INLINE Z FN(complex_divide)(Z a, Z b)
{
    const M swap = FN(abs)(b.re) < FN(abs)(b.im);
    const V large = FN(select)(swap, b.im, b.re), small = FN(select)(swap, b.re, b.im);
    const V ratio = FN(select)(large == 0, (V){0}, small / large);
    const V size = large + small * ratio;
    /* (re + im r, im - re r) / size; if swapped, (re r + im, im r - re) / size */
    const V re = FN(select)(swap, a.re * ratio + a.im, a.re + a.im * ratio);
    const V im = FN(select)(swap, a.im * ratio - a.re, a.im - a.re * ratio);
    return (Z){re / size, im / size};
}
