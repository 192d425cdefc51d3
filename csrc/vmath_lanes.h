/* Part of vmath.h, included for dtypes whose rare functions are libm's, lane by lane: a vector
 * body would not pay for its keep there. */

static __attribute__((noinline, unused)) V FN(by_lane)(double (*f)(double), V x)
{
    for (int64_t i = 0; i < LANES; i++) x[i] = (T)f((double)x[i]);
    return x;
}

static __attribute__((noinline, unused)) V FN(by_lane2)(double (*f)(double, double), V x, V y)
{
    for (int64_t i = 0; i < LANES; i++) x[i] = (T)f((double)x[i], (double)y[i]);
    return x;
}

DF_INLINE V FN(tan)(V x) { return FN(by_lane)(tan, x); }
DF_INLINE V FN(asin)(V x) { return FN(by_lane)(asin, x); }
DF_INLINE V FN(acos)(V x) { return FN(by_lane)(acos, x); }
DF_INLINE V FN(atan)(V x) { return FN(by_lane)(atan, x); }
DF_INLINE V FN(atan2)(V y, V x) { return FN(by_lane2)(atan2, y, x); }
DF_INLINE V FN(sinh)(V x) { return FN(by_lane)(sinh, x); }
DF_INLINE V FN(cosh)(V x) { return FN(by_lane)(cosh, x); }
DF_INLINE V FN(asinh)(V x) { return FN(by_lane)(asinh, x); }
DF_INLINE V FN(acosh)(V x) { return FN(by_lane)(acosh, x); }
DF_INLINE V FN(atanh)(V x) { return FN(by_lane)(atanh, x); }
DF_INLINE V FN(erfc)(V x) { return FN(by_lane)(erfc, x); }
DF_INLINE V FN(lgamma)(V x) { return FN(by_lane)(lgamma_scalar, x); }
