/* Plans of Fourier transforms: see fourier.h. */
#include "fourier/fourier.h"

#include <math.h>
#include <string.h>

enum { GATHERED = 32, GATHERED_ROWS = 32, MIN_BITS = 5, BLOCK_BYTES = 1 << 16, LINE = 64 };
#define MAX_LENGTH (INT64_C(1) << 40)
#define QUARTER 1.5707963267948966 /* pi / 2 */

static int64_t lines(int64_t bytes) { return (bytes + LINE - 1) / LINE * LINE; }

/* --- roots of unity --------------------------------------------------------------------------- */

/* exp(sign 2 pi i j / n) from an angle of at most pi / 4, so that multiples of a quarter are
 * exact. */
static void exact_root(double *z, int64_t j, int64_t n, double sign)
{
    const int64_t quarter = (8 * j + n) / (2 * n), rest = 4 * j - quarter * n;
    const double angle = (double)rest * QUARTER / (double)n, c = cos(angle), s = sin(angle);
    const double re[4] = {c, -s, -c, s}, im[4] = {s, c, -s, -c};
    z[0] = re[quarter & 3];
    z[1] = sign * im[quarter & 3];
}

static int bits_of_low(int64_t order)
{
    int bits = MIN_BITS;
    while (INT64_C(1) << 2 * bits < order) bits++;
    return bits;
}

static void fill_roots(df_roots *r, int64_t order, double sign)
{
    r->order = order;
    r->bits = bits_of_low(order);
    const int64_t length = INT64_C(1) << r->bits;
    r->high = r->low + 2 * length;
    for (int64_t j = 0; j < df_min(length, order); j++)
        exact_root(r->low + 2 * j, j, order, sign);
    for (int64_t j = 0; j * length < order; j++)
        exact_root(r->high + 2 * j, j * length, order, sign);
}

static void put(const df_fourier_plan *p, void *table, int64_t at, double re, double im)
{
    if (p->dtype == DF_C64) {
        ((float *)table)[2 * at] = (float)re;
        ((float *)table)[2 * at + 1] = (float)im;
    } else {
        ((double *)table)[2 * at] = re;
        ((double *)table)[2 * at + 1] = im;
    }
}

/* --- plans ------------------------------------------------------------------------------------ */

/* Divides n by its factors of up to DF_FOURIER_RADIX; returns the rest. */
static int64_t factors(int64_t n, int8_t radix[64], int *count)
{
    for (int r = 4; r <= DF_FOURIER_RADIX; r = r == 4 ? 2 : r == 2 ? 3 : r + 2)
        for (; n % r == 0; n /= r) radix[(*count)++] = (int8_t)r;
    return n;
}

/* The smallest length of the form 2^k, 3 2^k or 5 2^k that is at least n. */
static int64_t padded_length(int64_t n)
{
    int64_t best = INT64_MAX;
    for (int f = 1; f <= 5; f += 2) {
        int64_t m = 4 * f;
        while (m < n) m *= 2;
        best = df_min(best, m);
    }
    return best;
}

static void block_width(df_fourier_step *s, int64_t columns, int64_t bytes)
{
    const int64_t line = LINE / bytes;
    s->width = df_min(df_max(BLOCK_BYTES / (bytes * s->n) / line * line, line), columns);
}

bool df_fourier_describe(df_fourier_plan *p, df_dtype dtype, int64_t n, int64_t columns,
                         bool inverse, double scale)
{
    if (n > MAX_LENGTH) return false;
    const int64_t bytes = df_dtypes[dtype].bytes;
    int8_t radix[64];
    int count = 0;
    *p = (df_fourier_plan){.n = n, .m = n, .columns = columns, .dtype = dtype, .inverse = inverse,
                           .scale = scale, .n_steps = 1};
    if (factors(n, radix, &count) > 1) {
        p->chirp = true;
        p->m = padded_length(2 * n - 1);
        count = 0;
        factors(p->m, radix, &count);
    }
    p->step[0].n = p->step[1].n = 1;
    p->gathers = columns == 1 && !p->chirp && n <= GATHERED;
    if (columns == 1 && count > 1 && !p->gathers) p->n_steps = 2;
    for (int k = 0; k < count; k++) {
        df_fourier_step *s = &p->step[p->n_steps == 2 && p->step[1].n < p->step[0].n];
        s->radix[s->n_passes++] = radix[k];
        s->n *= radix[k];
    }
    int64_t step_bytes = 0;
    for (int k = 0; k < p->n_steps; k++) {
        df_fourier_step *s = &p->step[k];
        block_width(s, p->n_steps == 2 ? p->step[1 - k].n : p->gathers ? GATHERED_ROWS : columns,
                    bytes);
        step_bytes = df_max(step_bytes, 3 * s->n * lines(s->width * bytes));
        p->table_bytes += lines(s->n * bytes);
    }
    p->step_scratch = p->scratch = step_bytes;
    if (p->n_steps == 2) {
        const df_fourier_step *s = &p->step[0];
        const int64_t block = df_fourier_whole_lines(p, s->n) * lines(s->width * bytes);
        p->step_scratch += block;
        p->scratch += block + df_fourier_middle(p);
        p->table_bytes += block;
    }
    if (p->gathers) p->scratch += 2 * lines(n * p->step[0].width * bytes);
    int64_t order = p->m;
    if (p->chirp) {
        const int64_t width = p->n_steps == 2 ? 1 : p->step[0].width;
        p->scratch += 2 * lines(p->m * width * bytes);
        p->table_bytes += lines(n * bytes) + lines(p->m * bytes);
        order = df_max(order, 2 * n);
    }
    /* the other table is not longer than the first */
    p->roots_bytes = 4 * (int64_t)sizeof(double) << bits_of_low(order);
    p->table_bytes += p->roots_bytes;
    return true;
}

/* Bytes of the table of pairs. */
static int64_t halves_bytes(const df_fourier_plan *p)
{
    return lines((p->n / 2 + 1) * df_dtypes[p->dtype].bytes);
}

void df_fourier_add_pairs(df_fourier_plan *p)
{
    const int64_t bytes = 4 * (int64_t)sizeof(double) << bits_of_low(2 * p->n);
    p->pairs = true;
    p->table_bytes += halves_bytes(p) + df_max(bytes - p->roots_bytes, 0);
    p->roots_bytes = df_max(bytes, p->roots_bytes);
}

static void *take(char **at, int64_t bytes)
{
    void *memory = *at;
    *at += lines(bytes);
    return memory;
}

static void fill_chirps(df_fourier_plan *p, void *chirps)
{
    fill_roots(&p->roots, 2 * p->n, p->inverse ? 1 : -1);
    memset(p->filter, 0, (size_t)(p->m * df_dtypes[p->dtype].bytes));
    for (int64_t j = 0, square = 0; j < p->n; j++) { /* square = j^2 % 2n */
        double re, im;
        df_fourier_root(&p->roots, square, &re, &im);
        put(p, chirps, j, re, im);
        put(p, p->filter, j, re, -im);
        if (j) put(p, p->filter, p->m - j, re, -im);
        square = (square + 2 * j + 1) % (2 * p->n);
    }
    p->chirps = chirps;
}

static void fill_halves(df_fourier_plan *p, void *halves)
{
    fill_roots(&p->roots, 2 * p->n, p->inverse ? 1 : -1);
    for (int64_t k = 0; k <= p->n / 2; k++) {
        double re, im;
        df_fourier_root(&p->roots, k, &re, &im);
        put(p, halves, k, p->inverse ? -im : im, p->inverse ? re : -re);
    }
    p->halves = halves;
}

void df_fourier_tables(df_fourier_plan *p, void *memory)
{
    const int64_t bytes = df_dtypes[p->dtype].bytes;
    const double scale = p->chirp ? 1 : p->scale;
    char *at = memory;
    double re, im;
    p->roots.low = take(&at, p->roots_bytes);
    if (p->pairs) fill_halves(p, take(&at, halves_bytes(p)));
    if (p->chirp) {
        p->filter = take(&at, p->m * bytes);
        fill_chirps(p, take(&at, p->n * bytes));
    }
    fill_roots(&p->roots, p->m, p->inverse && !p->chirp ? 1 : -1);
    for (int k = 0; k < p->n_steps; k++) {
        df_fourier_step *s = &p->step[k];
        void *table = take(&at, s->n * bytes);
        for (int64_t j = 0; j < s->n; j++) {
            df_fourier_root(&p->roots, j * (p->m / s->n), &re, &im);
            put(p, table, j, re, im);
        }
        s->roots = table;
    }
    if (p->n_steps == 1) return;
    const df_fourier_step *s = &p->step[0];
    const int64_t width = df_fourier_whole_lines(p, s->width);
    void *turns = take(&at, df_fourier_whole_lines(p, s->n) * width * bytes);
    for (int64_t k = 0; k < s->n; k++)
        for (int64_t t = 0; t < s->width; t++) {
            df_fourier_root(&p->roots, k * t, &re, &im);
            put(p, turns, k * width + t, re * scale, im * scale);
        }
    p->turns = turns;
}
