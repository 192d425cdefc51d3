/* Vectors of complex numbers, included once per float dtype of the parts: LANES numbers as a vector
 * of real parts and a vector of imaginary parts. In memory, complex numbers are interleaved pairs;
 * loads and stores separate and interleave them within blocks of 16 bytes, which takes one
 * instruction per vector. The parts of wider vectors are therefore in block order: first the
 * numbers of the first block of either vector, and so on. `in_order` restores the order. */
#ifndef DF_BLOCK_LIST
#define DF_BLOCK_EVEN_f32_16 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30
#define DF_BLOCK_EVEN_f32_8 0, 2, 8, 10, 4, 6, 12, 14
#define DF_BLOCK_EVEN_f32_4 DF_EVEN_4
#define DF_BLOCK_ODD_f32_16 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31
#define DF_BLOCK_ODD_f32_8 1, 3, 9, 11, 5, 7, 13, 15
#define DF_BLOCK_ODD_f32_4 DF_ODD_4
#define DF_BLOCK_LOW_f32_16 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define DF_BLOCK_LOW_f32_8 0, 8, 1, 9, 4, 12, 5, 13
#define DF_BLOCK_LOW_f32_4 DF_LOW_4
#define DF_BLOCK_HIGH_f32_16 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define DF_BLOCK_HIGH_f32_8 2, 10, 3, 11, 6, 14, 7, 15
#define DF_BLOCK_HIGH_f32_4 DF_HIGH_4
#define DF_BLOCK_ORDER_f32_16 0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15
#define DF_BLOCK_ORDER_f32_8 0, 1, 4, 5, 2, 3, 6, 7
#define DF_BLOCK_ORDER_f32_4 0, 1, 2, 3
#define DF_BLOCK_PLACES_f32_16 0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15
#define DF_BLOCK_PLACES_f32_8 DF_BLOCK_ORDER_f32_8
#define DF_BLOCK_PLACES_f32_4 DF_BLOCK_ORDER_f32_4
/* A block holds one complex128: the interleaving of two blocks is its own inverse. */
#define DF_BLOCK_EVEN_f64_8 0, 8, 2, 10, 4, 12, 6, 14
#define DF_BLOCK_EVEN_f64_4 0, 4, 2, 6
#define DF_BLOCK_EVEN_f64_2 DF_EVEN_2
#define DF_BLOCK_ODD_f64_8 1, 9, 3, 11, 5, 13, 7, 15
#define DF_BLOCK_ODD_f64_4 1, 5, 3, 7
#define DF_BLOCK_ODD_f64_2 DF_ODD_2
#define DF_BLOCK_LOW_f64_8 DF_BLOCK_EVEN_f64_8
#define DF_BLOCK_LOW_f64_4 DF_BLOCK_EVEN_f64_4
#define DF_BLOCK_LOW_f64_2 DF_LOW_2
#define DF_BLOCK_HIGH_f64_8 DF_BLOCK_ODD_f64_8
#define DF_BLOCK_HIGH_f64_4 DF_BLOCK_ODD_f64_4
#define DF_BLOCK_HIGH_f64_2 DF_HIGH_2
#define DF_BLOCK_ORDER_f64_8 0, 2, 4, 6, 1, 3, 5, 7
#define DF_BLOCK_ORDER_f64_4 0, 2, 1, 3
#define DF_BLOCK_ORDER_f64_2 0, 1
#define DF_BLOCK_PLACES_f64_8 0, 4, 1, 5, 2, 6, 3, 7
#define DF_BLOCK_PLACES_f64_4 DF_BLOCK_ORDER_f64_4
#define DF_BLOCK_PLACES_f64_2 DF_BLOCK_ORDER_f64_2
#define DF_BLOCK_LIST(name) DF_CAT(DF_CAT(name, DTYPE), DF_CAT(DF_LANES, DTYPE))
#endif

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
