/* Special functions of one number or a few, scalar code on the C library. Compiled once for all
 * SIMD levels, so their bits are the same at every level. Independent of ops and tensors.
 *
 * Functions with the suffix of a dtype compute in a wider type and round once. */
#ifndef DF_SPECIAL_H
#define DF_SPECIAL_H

#include "base/status.h"

/* The derivative of log(gamma(x)). As in SciPy, -inf at 0, inf at -0, NaN at the negative
 * integers. */
double df_digamma(double x);

#define DF_POLYGAMMA_MAX 100 /* the factorial and the power of pi stay finite */

/* The n-th derivative of digamma, n from 0 to DF_POLYGAMMA_MAX: inf at the poles, or NaN if the
 * two sides differ in sign. */
double df_polygamma(int n, double x);

/* The Hurwitz zeta function, the sum of (q + n)^-s over n >= 0: inf at its poles, NaN where it has
 * no real value, as in SciPy. */
double df_zeta(double s, double q);

/* The Hurwitz zeta function in long double, for 1 < s <= 200 and finite q > 0. */
long double df_zeta_long(double s, long double q);

/* The regularized incomplete gamma functions P(a, x) and Q(a, x), the derivative of P in a, and its
 * derivative in x, the density of the gamma distribution. */
double df_igamma_f64(double a, double x);
float df_igamma_f32(float a, float x);
double df_igammac_f64(double a, double x);
float df_igammac_f32(float a, float x);
double df_igamma_grad_a_f64(double a, double x);
float df_igamma_grad_a_f32(float a, float x);
double df_gamma_density_f64(double a, double x);
float df_gamma_density_f32(float a, float x);

/* The regularized incomplete beta function I(x; a, b), and its derivative in x, the density of the
 * beta distribution. */
double df_betainc_f64(double a, double b, double x);
float df_betainc_f32(float a, float b, float x);
double df_beta_density_f64(double a, double b, double x);
float df_beta_density_f32(float a, float b, float x);

/* Inverses: of the normal distribution, of erf and of erfc. */
double df_ndtri(double p);
double df_erfinv(double x);
double df_erfcinv(double x);

#endif
