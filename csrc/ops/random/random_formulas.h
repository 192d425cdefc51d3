/* Conversion of random words to numbers. Part of random.c, compiled once per floating dtype. */

#define PER_GROUP ((int64_t)(PHILOX_WORDS * 4 / sizeof(T)))
#define UNSIGNED DF_CAT(words, DTYPE)

DF_INLINE UNSIGNED FN(bits)(const void *p)
{
    UNSIGNED v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* k 2^-24 or k 2^-53, in [0, 1). The top bits are converted as signed integers, which every level
 * supports. */
DF_INLINE V FN(unit)(UNSIGNED bits)
{
    const int digits = FRACTION_BITS + 1;
    const T scale = sizeof(T) == 4 ? (T)0x1p-24 : (T)0x1p-53;
    return __builtin_convertvector((M)(bits >> (8 * (int)sizeof(T) - digits)), V) * scale;
}

static void FN(uniform)(const fill *f, const uint64_t *words, int64_t n_groups, void *out)
{
    const T *from = (const T *)words;
    T *y = out, low = (T)f->a, high = (T)f->b;
    /* rounding may increase low + u (high - low) to high */
    V width = FN(splat)((T)(f->b - f->a)), offset = FN(splat)(low);
    V limit = FN(splat)(sizeof(T) == 4 ? (T)nextafterf((float)high, (float)low)
                                       : (T)nextafter(high, low));
    for (int64_t i = 0; i < n_groups * PER_GROUP; i += LANES) {
        V x = FN(unit)(FN(bits)(from + i)) * width + offset;
        FN(store)(y + i, FN(select)(x > limit, limit, x));
    }
}

/* In (0, 1], from 2^-32 or 2^-54 up, which limits the radius of Box and Muller to 6.6 or 8.6. */
DF_INLINE V FN(radius)(UNSIGNED bits)
{
    const int drop = sizeof(T) == 4 ? 1 : 11;
    const T scale = sizeof(T) == 4 ? (T)0x1p-31 : (T)0x1p-53;
    V u = (__builtin_convertvector((M)(bits >> drop), V) + (T)0.5) * scale;
    return FN(sqrt)(-2 * FN(log)(u));
}

/* Box and Muller: converts a pair of uniform numbers to a pair of normal numbers. The first half of
 * a group yields the radii, the second the angles. */
static void FN(normal)(const fill *f, const uint64_t *words, int64_t n_groups, void *out)
{
    const int64_t half = PER_GROUP / 2;
    V mean = FN(splat)((T)f->a), stddev = FN(splat)((T)f->b);
    for (int64_t g = 0; g < n_groups; g++) {
        const T *from = (const T *)words + g * PER_GROUP;
        T *y = (T *)out + g * PER_GROUP;
        for (int64_t i = 0; i < half; i += LANES) {
            V r = FN(radius)(FN(bits)(from + i)) * stddev;
            V angle = FN(unit)(FN(bits)(from + half + i)) * (T)6.283185307179586;
            V sine, cosine;
            M quadrant = FN(sine_cosine)(angle, &sine, &cosine);
            M odd = (quadrant & 1) != 0;
            M below = (quadrant & 2) != 0, left = ((quadrant + 1) & 2) != 0;
            V x = FN(select)(odd, sine, cosine) * r, z = FN(select)(odd, cosine, sine) * r;
            FN(store)(y + i, FN(select)(left, -x, x) + mean);
            FN(store)(y + half + i, FN(select)(below, -z, z) + mean);
        }
    }
}

/* Inverse of erf for |x| below 0.9966: the central polynomial of M. Giles, "Approximating the
 * erfinv function", GPU Computing Gems (2011), table 5, accurate to float32. */
DF_INLINE V FN(erfinv_center)(V x)
{
    static const T giles[] = {(T)1.50140941, (T)0.246640727, (T)-0.00417768164, (T)-0.00125372503,
                              (T)0.00021858087, (T)-4.39150654e-06, (T)-3.5233877e-06,
                              (T)3.43273939e-07, (T)2.81022636e-08};
    V w = -FN(log)((1 - x) * (1 + x)) - (T)2.5, p = FN(splat)(giles[8]);
#pragma GCC unroll 8
    for (int i = 7; i >= 0; i--) p = FN(fma)(p, w, FN(splat)(giles[i]));
    return p * x;
}

/* The normal distribution truncated at two standard deviations, by its inverse: sqrt(2) erfinv(y)
 * with y uniform within erf(+-sqrt(2)), so that no draw is rejected. */
static void FN(truncated)(const fill *f, const uint64_t *words, int64_t n_groups, void *out)
{
    const T edge = (T)0.9544997361036416; /* erf(sqrt(2)) */
    const T *from = (const T *)words;
    T *y = out;
    T inside = sizeof(T) == 4 ? (T)nextafterf(2, 0) : (T)nextafter(2, 0);
    V mean = FN(splat)((T)f->a), stddev = FN(splat)((T)f->b);
    for (int64_t i = 0; i < n_groups * PER_GROUP; i += LANES) {
        V p = (2 * FN(unit)(FN(bits)(from + i)) - 1) * edge;
        V z = FN(erfinv_center)(p);
        if (sizeof(T) == 8) { /* one step of Halley from 1e-7; 0.886... is sqrt(pi) / 2 */
            V step = (FN(erf)(z) - p) * (T)0.886226925452758 * FN(exp)(z * z);
            z -= step / (1 + z * step);
        }
        z = FN(clamp)(z * (T)1.4142135623730951, -inside, inside);
        FN(store)(y + i, FN(fma)(z, stddev, mean));
    }
}

#undef PER_GROUP
#undef UNSIGNED
