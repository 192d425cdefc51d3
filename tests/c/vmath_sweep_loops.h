/* Part of vmath_sweep.c, included once per floating dtype: a loop over N elements per function. */

DF_INLINE void FN(loop1)(V (*f)(V), const T *x, T *out)
{
    for (int64_t i = 0; i < N; i += LANES) FN(store)(out + i, f(FN(load)(x + i)));
}

DF_INLINE void FN(loop2)(V (*f)(V, V), const T *x, const T *y, T *out)
{
    for (int64_t i = 0; i < N; i += LANES)
        FN(store)(out + i, f(FN(load)(x + i), FN(load)(y + i)));
}

#define ARGS (const T *x, const T *y, T *out)
#define LOOP1(name) static void FN(name##_loop) ARGS { (void)y, FN(loop1)(FN(name), x, out); }
#define LOOP2(name) static void FN(name##_loop) ARGS { FN(loop2)(FN(name), x, y, out); }

LOOP1(exp)
LOOP1(expm1)
LOOP1(log)
LOOP1(log1p)
LOOP1(tanh)
LOOP1(sigmoid)
LOOP1(softplus)
LOOP1(sin)
LOOP1(cos)
LOOP1(erf)
LOOP1(tan)
LOOP1(asin)
LOOP1(acos)
LOOP1(atan)
LOOP1(sinh)
LOOP1(cosh)
LOOP1(asinh)
LOOP1(acosh)
LOOP1(atanh)
LOOP1(erfc)
LOOP1(lgamma)
LOOP2(pow)
LOOP2(atan2)

#undef ARGS
#undef LOOP1
#undef LOOP2
