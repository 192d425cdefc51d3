/* Plans of discrete Fourier transforms: factors of the length, blocks of columns, and tables of
 * roots of unity. Independent of SIMD levels; ops/signal/fourier.c executes plans.
 *
 * A plan transforms columns of n rows. A step transforms a length whose prime factors are at most
 * DF_FOURIER_RADIX by one pass per factor. A single column, whose rows have no neighbours that fill
 * a vector, is a matrix with two steps, along the columns and along the rows (J. Cooley and
 * J. Tukey, "An algorithm for the machine calculation of complex Fourier series", 1965). A length
 * with a larger prime factor is a convolution of a length m without one (L. Bluestein, "A linear
 * filtering approach to the computation of the discrete Fourier transform", 1970). */
#ifndef DF_FOURIER_H
#define DF_FOURIER_H

#include "base/dtype.h"
#include "base/status.h"

enum { DF_FOURIER_RADIX = 31, DF_FOURIER_PASSES = 40 };

/* A transform of length n along the rows of a block of at most `width` columns. */
typedef struct {
    int64_t n, width;
    int n_passes;
    int8_t radix[DF_FOURIER_PASSES];
    const void *roots; /* n complex numbers: exp(-2 pi i j / n), conjugated if inverse */
} df_fourier_step;

/* Root j of unity, exp(-2 pi i j / order), is high[j >> bits] * low[j % 2^bits]. */
typedef struct {
    int64_t order;
    int bits;
    double *low, *high;
} df_roots;

/* Root j, 0 <= j < order. */
static inline void df_fourier_root(const df_roots *r, int64_t j, double *re, double *im)
{
    const double *a = r->high + 2 * (j >> r->bits);
    const double *b = r->low + 2 * (j & ((INT64_C(1) << r->bits) - 1));
    *re = a[0] * b[0] - a[1] * b[1];
    *im = a[0] * b[1] + a[1] * b[0];
}

typedef struct {
    int64_t n, m; /* length of the transform; product of the lengths of the steps */
    int64_t columns;
    df_dtype dtype; /* of the elements, complex */
    bool inverse, chirp; /* chirp: by a convolution of length m */
    bool gathers;   /* several single columns, copied next to each other */
    bool pairs;     /* the elements are pairs of 2 n real numbers */
    double scale;   /* factor of the results */
    int n_steps;
    df_fourier_step step[2];
    df_roots roots;       /* of order m */
    const void *turns;    /* two steps: roots[k t], row k of step 0, column t < step[0].width */
    const void *chirps;   /* of rows j < n: exp(-pi i j^2 / n), conjugated if inverse */
    const void *halves;   /* pairs: -i exp(-pi i k / n), k <= n / 2, conjugated if inverse */
    void *filter;         /* m factors of the transformed input of the convolution, filled by the
                           * caller */
    int64_t roots_bytes, table_bytes; /* of `roots`; of all tables */
    int64_t step_scratch; /* bytes of scratch memory of a block of columns of a step */
    int64_t scratch;      /* and of all steps */
} df_fourier_plan;

/* Length of a row of n elements, padded to whole cache lines, which no vector exceeds. */
static inline int64_t df_fourier_whole_lines(const df_fourier_plan *p, int64_t n)
{
    const int64_t line = p->dtype == DF_C64 ? 8 : 4;
    return (n + line - 1) / line * line;
}

/* Bytes between two steps: a padded row of step[0].n elements for each column of step 0, and for
 * the columns that fill a vector. */
static inline int64_t df_fourier_middle(const df_fourier_plan *p)
{
    return df_fourier_whole_lines(p, p->step[0].n) * df_fourier_whole_lines(p, p->step[1].n) *
           (p->dtype == DF_C64 ? 8 : 16);
}

/* Describes a transform of n >= 1 rows of `columns` columns. False if n is too large to count
 * bytes. */
bool df_fourier_describe(df_fourier_plan *p, df_dtype dtype, int64_t n, int64_t columns,
                         bool inverse, double scale);
/* Adds the table of pairs to the description. */
void df_fourier_add_pairs(df_fourier_plan *p);
/* Fills the tables, which take p->table_bytes at `memory`. The filter is set to conj(chirps),
 * circularly, without its transform. */
void df_fourier_tables(df_fourier_plan *p, void *memory);

#endif
