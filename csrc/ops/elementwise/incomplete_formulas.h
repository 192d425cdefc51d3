/* Functions of two and three numbers, computed in float64 for every dtype, one element at a time.
 * Compiled once per floating dtype; the loops are not inlined, so that each function, which takes a
 * hundred times as long as its call, is compiled once for all dtypes. */

DF_NOINLINE void FN(two_in_double)(int64_t n, T *y, const void *const *in,
                                 double (*f)(double, double))
{
    const T *a = in[0], *x = in[1];
    for (int64_t i = 0; i < n; i++) y[i] = (T)f((double)a[i], (double)x[i]);
}

DF_NOINLINE void FN(three_in_double)(int64_t n, T *y, const void *const *in,
                                   double (*f)(double, double, double))
{
    const T *a = in[0], *b = in[1], *x = in[2];
    for (int64_t i = 0; i < n; i++) y[i] = (T)f((double)a[i], (double)b[i], (double)x[i]);
}

TILE_HEAD(igamma, 2) { (void)attrs; FN(two_in_double)(n, out, in, igamma_scalar); }
TILE_HEAD(igammac, 2) { (void)attrs; FN(two_in_double)(n, out, in, igammac_scalar); }
TILE_HEAD(igamma_grad_a, 2) { (void)attrs; FN(two_in_double)(n, out, in, igamma_grad_a_scalar); }
TILE_HEAD(gamma_density, 2) { (void)attrs; FN(two_in_double)(n, out, in, gamma_density_scalar); }
TILE_HEAD(betainc, 3) { (void)attrs; FN(three_in_double)(n, out, in, betainc_scalar); }
TILE_HEAD(beta_density, 3) { (void)attrs; FN(three_in_double)(n, out, in, beta_density_scalar); }
TILE_HEAD(zeta, 2) { (void)attrs; FN(two_in_double)(n, out, in, zeta_scalar); }
