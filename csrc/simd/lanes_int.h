/* Part of lanes.h, included once per integer dtype. */

/* a * b + c, so that a formula can serve integers too; wraps around. */
DF_INLINE V FN(fma)(V a, V b, V c) { return a * b + c; }

DF_INLINE V FN(max)(V a, V b) { return FN(select)(a > b, a, b); }
DF_INLINE V FN(min)(V a, V b) { return FN(select)(a < b, a, b); }
DF_INLINE V FN(max0)(V a) { return FN(max)(a, (V){0}); }

/* The most negative value is left unchanged, as in NumPy. */
DF_INLINE V FN(abs)(V a) { return FN(select)(a < (V){0}, -a, a); }

DF_INLINE T FN(hmax)(V v)
{
    T top = v[0];
    for (int64_t i = 1; i < LANES; i++) top = v[i] > top ? v[i] : top;
    return top;
}

DF_INLINE T FN(hmin)(V v)
{
    T low = v[0];
    for (int64_t i = 1; i < LANES; i++) low = v[i] < low ? v[i] : low;
    return low;
}
