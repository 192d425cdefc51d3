/* Functions of two and three numbers, one element at a time. Compiled once per floating dtype. */

DF_NOINLINE void FN(each_pair)(int64_t n, T *y, const void *const *in, T (*f)(T, T))
{
    const T *a = in[0], *x = in[1];
    for (int64_t i = 0; i < n; i++) y[i] = f(a[i], x[i]);
}

DF_NOINLINE void FN(each_triple)(int64_t n, T *y, const void *const *in, T (*f)(T, T, T))
{
    const T *a = in[0], *b = in[1], *x = in[2];
    for (int64_t i = 0; i < n; i++) y[i] = f(a[i], b[i], x[i]);
}

TILE_HEAD(igamma, 2) { (void)attrs; FN(each_pair)(n, out, in, FN(df_igamma)); }
TILE_HEAD(igammac, 2) { (void)attrs; FN(each_pair)(n, out, in, FN(df_igammac)); }
TILE_HEAD(igamma_grad_a, 2) { (void)attrs; FN(each_pair)(n, out, in, FN(df_igamma_grad_a)); }
TILE_HEAD(gamma_density, 2) { (void)attrs; FN(each_pair)(n, out, in, FN(df_gamma_density)); }
TILE_HEAD(betainc, 3) { (void)attrs; FN(each_triple)(n, out, in, FN(df_betainc)); }
TILE_HEAD(beta_density, 3) { (void)attrs; FN(each_triple)(n, out, in, FN(df_beta_density)); }
