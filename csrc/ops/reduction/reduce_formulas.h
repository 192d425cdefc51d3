/* Included once per dtype: the reductions of reduce.c, from which REDUCER, EXTREME and FOLDED
 * generate functions, and their finishes. */

#if DTYPE_SIGNED
REDUCER(sum, 0, plain, plus)
REDUCER(prod, 1, plain, times)
#endif
#if DTYPE_FLOAT
REDUCER(max, FN(lowest)(), plain, max)
REDUCER(min, FN(highest)(), plain, min)

DF_INLINE V FN(squared)(V x, V p)
{
    (void)p;
    return x * x;
}
DF_INLINE V FN(square_of_difference)(V x, V p) { return (x - p) * (x - p); }
DF_INLINE V FN(exp_of_difference)(V x, V p) { return FN(exp)(x - p); }

REDUCER(sum_square, 0, squared, plus)
REDUCER(sum_deviation, 0, square_of_difference, plus)
REDUCER(sum_exp, 0, exp_of_difference, plus)

FOLDED(sum, 0, plain, plus)
FOLDED(prod, 1, plain, times)
FOLDED(max, FN(lowest)(), plain, max)
FOLDED(min, FN(highest)(), plain, min)
FOLDED(sum_square, 0, squared, plus)

/* Finishes: applied to each of n results after the reduction; p as for the reducer, `count`
 * elements per result. */
static void FN(mean_finish)(int64_t n, void *out, const void *p, double count)
{
    (void)p;
    T *y = out;
    for (int64_t i = 0; i < n; i++) y[i] /= (T)count;
}

static void FN(root_finish)(int64_t n, void *out, const void *p, double count)
{
    (void)p;
    (void)count;
    FN(map1)(n, out, out, FN(sqrt));
}

static void FN(std_finish)(int64_t n, void *out, const void *p, double count)
{
    FN(mean_finish)(n, out, p, count);
    FN(root_finish)(n, out, p, count);
}

/* A maximum to subtract; 0 instead of a non-finite one, which avoids inf - inf. */
DF_INLINE V FN(finite_or_0)(V x) { return FN(select)(FN(isfinite)(x), x, (V){0}); }

static void FN(finite_finish)(int64_t n, void *out, const void *p, double count)
{
    (void)p;
    (void)count;
    FN(map1)(n, out, out, FN(finite_or_0));
}

DF_INLINE V FN(log_plus)(V sum, V p) { return FN(log)(sum) + p; }

static void FN(log_finish)(int64_t n, void *out, const void *p, double count)
{
    (void)count;
    FN(map2)(n, out, out, p, FN(log_plus));
}

#elif DTYPE_SIGNED
EXTREME(max, 0)
EXTREME(min, -1)
EXTREME(unsigned_max, FN(lowest)())
EXTREME(unsigned_min, FN(highest)())
#endif
