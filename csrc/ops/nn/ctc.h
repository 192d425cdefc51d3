/* Probabilities as logarithms in float64, for ctc.c and ctc_beam.c. */
#ifndef DF_CTC_H
#define DF_CTC_H

#include "base/tensor.h"
#include "simd/simd.h"

#include <math.h>

static inline double number(const df_tensor *x, int64_t i)
{
    return x->dtype == DF_F32 ? (double)((const float *)x->data)[i] : ((const double *)x->data)[i];
}

static inline void put(df_tensor *out, int64_t i, double x)
{
    if (out->dtype == DF_F32) ((float *)out->data)[i] = (float)x;
    else ((double *)out->data)[i] = x;
}

/* log(e^a + e^b) */
static inline double log_add(double a, double b)
{
    if (a == b) return a + M_LN2;
    return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}

static inline double log_sum_exp(const df_tensor *x, int64_t at, int64_t n)
{
    double most = -INFINITY, sum = 0;
    for (int64_t c = 0; c < n; c++) { /* not fmax, on which gcc 12 fails on aarch64 */
        double next = number(x, at + c);
        if (next > most) most = next;
    }
    if (isinf(most)) return most;
    for (int64_t c = 0; c < n; c++) sum += exp(number(x, at + c) - most);
    return most + log(sum);
}

static inline int64_t within(int64_t n, int64_t most) { return df_min(df_max(n, 0), most); }

#endif
