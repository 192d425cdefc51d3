/* See regions.h. */
#include "conv/regions.h"

#include <string.h>

#define MOST_REGIONS 256
#define HEIGHT 6 /* rows that a kernel computes at a time, for the estimate of work */

/* Position of a tap of output `o` along a dimension. */
static int64_t position(const df_conv *c, int d, int64_t o, int64_t tap)
{
    return o * c->stride[d] + tap * c->dilation[d] - c->pad[d];
}

/* Divides the outputs along a dimension where a tap enters or leaves the image. Returns the number
 * of intervals, 0 if there are too many. */
static int64_t cut(const df_conv *c, int d, int64_t *starts)
{
    int64_t n = 0;
    for (int64_t o = 0; o < c->out[d]; n++) {
        if (n == DF_CONV_MOST_INTERVALS) return 0;
        int64_t next = c->out[d];
        for (int64_t tap = 0; tap < c->kernel[d]; tap++) {
            const int64_t at = position(c, d, o, tap), to = at < 0 ? -at : c->in[d] - at;
            if (to > 0) next = df_min(next, o + df_ceil_div(to, c->stride[d]));
        }
        starts[n] = o;
        o = next;
    }
    starts[n] = c->out[d];
    return n;
}

static int64_t taps_inside(const df_conv *c, int d, int64_t o)
{
    int64_t n = 0;
    for (int64_t tap = 0; tap < c->kernel[d]; tap++) {
        const int64_t at = position(c, d, o, tap);
        n += at >= 0 && at < c->in[d];
    }
    return n;
}

static int64_t n_regions(const df_conv_regions *r) { return r->n[0] * r->n[1] * r->n[2]; }

/* The first output of a region and its size along the dimensions. */
static void box(const df_conv_regions *r, int64_t region, int64_t first[3], int64_t size[3])
{
    for (int d = 2; d >= 0; d--) {
        const int64_t *start = &r->starts[d][region % r->n[d]];
        first[d] = start[0];
        size[d] = start[1] - start[0];
        region /= r->n[d];
    }
}

/* True if regions have less work than all taps of all pixels, with incomplete blocks of rows. */
static bool is_less_work(const df_conv *c, const df_conv_regions *r)
{
    const int64_t all = df_ceil_div(df_conv_pixels(c), HEIGHT) * df_conv_taps(c);
    int64_t work = 0, first[3], size[3];
    for (int64_t i = 0; i < n_regions(r); i++) {
        box(r, i, first, size);
        int64_t taps = 1;
        for (int d = 0; d < 3; d++) taps *= taps_inside(c, d, first[d]);
        work += df_ceil_div(size[0] * size[1] * size[2], HEIGHT) * taps;
    }
    return work <= all;
}

bool DF_SYM(df_conv_cut_regions)(const df_conv *c, df_conv_regions *r)
{
    int64_t n = 1;
    if ((c->dilation[0] == 1 && c->dilation[1] == 1 && c->dilation[2] == 1) ||
        !DF_SYM(df_conv_is_padded)(c) || df_conv_taps(c) > DF_CONV_MOST_TAPS)
        return false;
    for (int d = 0; d < 3; d++) n *= r->n[d] = cut(c, d, r->starts[d]);
    return n > 0 && n <= MOST_REGIONS && is_less_work(c, r);
}

bool DF_SYM(df_conv_is_inside)(const df_conv *c, const int64_t first[3], int64_t tap)
{
    for (int d = 2; d >= 0; d--) {
        const int64_t at = position(c, d, first[d], tap % c->kernel[d]);
        if (at < 0 || at >= c->in[d]) return false;
        tap /= c->kernel[d];
    }
    return true;
}

static int64_t first_inside(const df_conv *c, const int64_t first[3])
{
    for (int64_t tap = 0; tap < df_conv_taps(c); tap++)
        if (DF_SYM(df_conv_is_inside)(c, first, tap)) return tap;
    return -1;
}

/* Offsets of rows [row, row + n) of a region, in an image or in the outputs; `start` is the offset
 * of its first row. */
static void place(const df_conv *region, const df_conv_view *v, int64_t row, int64_t n,
                  int64_t start, int64_t *offsets)
{
    DF_SYM(df_conv_windows)(region, v, row, n, offsets);
    for (int64_t i = 0; i < n; i++) offsets[i] += start;
}

static void place_windows(const df_conv *c, const df_conv *region, const df_conv_view *v,
                          int64_t row, df_conv_piece *p, int64_t *windows)
{
    const int64_t steps[] = {v->plane, v->row, v->pixel};
    int64_t tap = first_inside(c, p->first), start = 0;
    if (tap < 0) {
        memset(windows, 0, (size_t)p->rows * sizeof(*windows));
        return;
    }
    for (int d = 2; d >= 0; d--) {
        const int64_t at = tap % c->kernel[d];
        start += position(c, d, p->first[d], at) * steps[d];
        p->shift += at * c->dilation[d] * steps[d];
        tap /= c->kernel[d];
    }
    place(region, v, row, p->rows, start, windows);
}

static void place_outputs(const df_conv *c, df_conv *region, int64_t row, const df_conv_piece *p,
                          int64_t *outputs)
{
    const int64_t line = c->out[2] * c->c_out, plane = c->out[1] * line;
    const df_conv_view y = {.image = c->out[0] * plane, .plane = plane, .row = line,
                            .pixel = c->c_out};
    for (int d = 0; d < 3; d++) region->stride[d] = 1;
    place(region, &y, row, p->rows,
          p->first[0] * plane + p->first[1] * line + p->first[2] * c->c_out, outputs);
}

int64_t DF_SYM(df_conv_pieces)(const df_conv *c, const df_conv_regions *r, const df_conv_view *v,
                               int64_t images, int64_t row, int64_t rows, df_conv_piece *pieces,
                               int64_t *windows, int64_t *outputs)
{
    int64_t found = 0;
    if (!r) {
        *pieces = (df_conv_piece){.rows = rows};
        DF_SYM(df_conv_windows)(c, v, row, rows, windows);
        for (int64_t i = 0; i < rows; i++) outputs[i] = (row + i) * c->c_out;
        return 1;
    }
    for (int64_t region = 0; rows > 0; region++) {
        int64_t first[3], size[3];
        box(r, region, first, size);
        const int64_t all = images * size[0] * size[1] * size[2];
        if (row < all) {
            df_conv_piece *p = &pieces[found++];
            df_conv part = *c;
            *p = (df_conv_piece){.rows = df_min(rows, all - row),
                                 .first = {first[0], first[1], first[2]}};
            memcpy(part.out, size, sizeof part.out);
            place_windows(c, &part, v, row, p, windows);
            place_outputs(c, &part, row, p, outputs);
            windows += p->rows;
            outputs += p->rows;
            rows -= p->rows;
            row = 0;
        } else {
            row -= all;
        }
    }
    return found;
}
