/* Inverses of distributions, computed in float64 for every dtype, one element at a time. Compiled
 * once per floating dtype. */

DF_INLINE void FN(in_double)(int64_t n, T *y, const T *x, double (*f)(double))
{
    for (int64_t i = 0; i < n; i++) y[i] = (T)f((double)x[i]);
}

TILE_HEAD(erfinv, 1) { (void)attrs; FN(in_double)(n, out, in[0], erfinv_scalar); }
TILE_HEAD(erfcinv, 1) { (void)attrs; FN(in_double)(n, out, in[0], erfcinv_scalar); }
TILE_HEAD(ndtri, 1) { (void)attrs; FN(in_double)(n, out, in[0], ndtri_scalar); }
