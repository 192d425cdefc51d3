/* Gradient of the weights: dw[t, c, m] = sum over pixels of x[window + t, c] dy[pixel, m], a
 * product like the forward convolution with other roles. Rows are weights, columns outputs, and the
 * sum runs over pixels, one image line after another.
 *
 * Pixels are divided into slices with separate sums, which are added in order at the end, so that
 * each part of the images is read once, by one thread. */
#include "conv/kernels.h"
#include "base/thread.h"

#include <string.h>

#define JOBS 16                         /* target number of jobs */
#define SUM_BYTES ((int64_t)512 << 10)  /* tile of dw per job (L2) */
#define SLICE_PIXELS 512                /* pixels of a slice, at least; smaller ones cost more in
                                         * sums than they gain */
#define CHUNK 128                       /* pixels summed in registers */
#define ROWS 48                         /* rows of dw at a time; with CHUNK: 24 KB of x (L1) */
#define FAR 512                         /* bytes between pixels beyond which x is packed */

typedef struct {
    const df_conv *c;
    df_conv_columns columns;
    df_conv_view view;
    int64_t weights;               /* per output */
    int64_t tile, n_tiles, slices; /* rows of dw per job; number of tiles; number of slices */
    int64_t images, first;         /* images at a time; the first of them */
    int64_t pieces, n_pieces;      /* pieces of a line of output pixels; of all images in
                                    * progress */
    char *padded, *sums, *dw;
    const char *dy;
} filter;

/* The largest power of two <= n, at least 1. With 13 slices, one of two threads would process 7. */
static int64_t power_below(int64_t n)
{
    int64_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

static filter plan(const df_conv *c)
{
    const int64_t bytes = df_conv_bytes(c);
    filter f = {.c = c, .columns = df_conv_cut_columns(df_conv_group_out(c), bytes)};
    f.weights = df_conv_taps(c) * df_conv_group_in(c);
    const int64_t rows = df_max(1, SUM_BYTES / (f.columns.n * bytes) / DF_CONV_HEIGHT);
    f.tile = df_min(rows * DF_CONV_HEIGHT, f.weights);
    f.n_tiles = df_ceil_div(f.weights, f.tile);
    f.slices = power_below(df_min(df_ceil_div(JOBS, c->groups * f.n_tiles),
                                  df_ceil_div(c->n * df_conv_pixels(c), SLICE_PIXELS)));
    f.pieces = df_ceil_div(c->out[2], CHUNK);
    f.view = DF_SYM(df_conv_view_of)(c, NULL);
    f.images = c->n;
    if (DF_SYM(df_conv_is_padded)(c))
        f.images = df_conv_images(c, DF_SYM(df_conv_padded_bytes)(c));
    return f;
}

/* Bytes of the sums of a slice, for all groups, and of all slices; a single slice is dw itself,
 * unless dw is rounded. */
static int64_t slice_bytes(const filter *f)
{
    return f->weights * f->c->c_out * df_conv_bytes(f->c);
}
static bool sums_are_dw(const filter *f) { return f->slices == 1 && !df_conv_widens(f->c); }
static int64_t sums_bytes(const filter *f)
{
    return sums_are_dw(f) ? 0 : df_conv_align(df_conv_mul_bytes(slice_bytes(f), f->slices));
}

/* True if x is read in 16 bits: padded images are float32. */
static bool widens_x(const filter *f)
{
    return df_conv_widens(f->c) && !DF_SYM(df_conv_is_padded)(f->c);
}

/* True if a job copies its part of dy, to widen it or because vectors of the last panel are slow to
 * load. copies_x: its part of x, to widen it or because pixels of x are far apart. */
static bool copies_dy(const filter *f)
{
    return df_conv_widens(f->c) || (!DF_CONV_LOADS_PARTS && f->columns.n % f->columns.lanes);
}
static bool copies_x(const filter *f)
{
    return widens_x(f) || f->c->stride[2] * f->view.pixel * df_conv_bytes(f->c) > FAR;
}

static int64_t dy_bytes(const filter *f)
{
    return copies_dy(f) ? CHUNK * f->columns.vectors * DF_VEC_BYTES : 0;
}
static int64_t copy_bytes(const filter *f)
{
    return dy_bytes(f) + (copies_x(f) ? ROWS * CHUNK * df_conv_bytes(f->c) : 0);
}

int64_t DF_SYM(df_conv_sums_workspace)(const df_conv *c)
{
    const filter f = plan(c);
    int64_t bytes = sums_bytes(&f);
    const int64_t jobs = f.slices * c->groups * f.n_tiles;
    bytes = df_conv_sum_bytes(bytes, df_conv_mul_bytes(copy_bytes(&f), jobs));
    if (!DF_SYM(df_conv_is_padded)(c)) return bytes;
    return df_conv_sum_bytes(
        bytes, df_conv_mul_bytes(DF_SYM(df_conv_padded_bytes)(c), f.images));
}

/* Piece i: its position among the pixels, and as a segment of x. */
static int64_t piece_at(const filter *f, int64_t i, df_conv_segment *segment)
{
    const df_conv *c = f->c;
    const int64_t line = i / f->pieces, part = i % f->pieces;
    const int64_t col = part * CHUNK, first = line * c->out[2] + col;
    DF_SYM(df_conv_windows)(c, &f->view, first, 1, &segment->offset);
    segment->length = df_min(CHUNK, c->out[2] - col);
    segment->skip = 0;
    return first;
}

/* Memory that a job reads and writes. */
typedef struct {
    const char *x, *dy;
    char *sums, *copy; /* rows of both are c_out apart */
    bool accumulate;   /* add to the sums */
} places;

/* Adds the products of pixels in `segments` of x and at `dy` to rows [row, row + n) of dw. */
static void add_rows(const filter *f, const places *at, const df_conv_segment *segments,
                     int64_t n_segments, int64_t pixels, const char *dy, int64_t dy_row,
                     int64_t row, int64_t n)
{
    const df_conv *c = f->c;
    const int64_t bytes = df_conv_bytes(c);
    const df_conv_segment all = {0, pixels, 0};
    int64_t starts[ROWS];
    df_conv_panel p = {.n_rows = n, .rows = starts, .a = at->x, .segments = segments,
                       .n_segments = n_segments, .step = c->stride[2] * f->view.pixel,
                       .b_row = dy_row, .c_row = c->c_out, .accumulate = at->accumulate};
    if (copies_x(f)) {
        df_conv_segment runs[ROWS];
        char *copy = at->copy + dy_bytes(f);
        const int64_t n_runs = DF_SYM(df_conv_lines)(c, &f->view, row, n, runs);
        DF_SYM(df_conv_pack_runs)(widens_x(f) ? c->stored : c->dtype, copy, ROWS, at->x, runs,
                                  n_runs, segments, n_segments, p.step);
        for (int64_t i = 0; i < n; i++) starts[i] = i;
        p.a = copy;
        p.segments = &all;
        p.n_segments = 1;
        p.step = ROWS;
    } else {
        DF_SYM(df_conv_weights)(c, &f->view, row, n, starts);
    }
    for (int64_t i = 0; i < f->columns.n_panels; i++) {
        const int64_t col = df_conv_panel_start(&f->columns, i);
        p.cols = df_min(df_conv_panel_start(&f->columns, i + 1), f->columns.n) - col;
        p.b = dy + col * bytes;
        p.c = at->sums + (row * c->c_out + col) * bytes;
        DF_SYM(df_conv_panel_run)(c->dtype, &p);
    }
}

/* Adds the sums over `n` segments from pixel `first` on to rows [row, end) of a group's dw. */
static void add_chunk(const filter *f, const places *at, const df_conv_segment *segments, int64_t n,
                      int64_t first, int64_t pixels, int64_t row, int64_t end)
{
    const df_conv *c = f->c;
    const char *dy = at->dy + first * c->c_out * df_conv_stored_bytes(c);
    int64_t dy_row = c->c_out;
    if (copies_dy(f)) {
        const int64_t width = f->columns.vectors * f->columns.lanes;
        DF_SYM(df_conv_pack)(c->stored, at->copy, width, dy, pixels, dy_row, f->columns.n, 1);
        dy = at->copy;
        dy_row = width;
    }
    for (; row < end; row += ROWS)
        add_rows(f, at, segments, n, pixels, dy, dy_row, row, df_min(ROWS, end - row));
}

/* Sums pieces [begin, end) for rows [row, row_end) of a group's dw. */
static void sum_pieces(const filter *f, places *at, int64_t row, int64_t row_end, int64_t begin,
                       int64_t end)
{
    df_conv_segment segments[CHUNK];
    for (int64_t piece = begin; piece < end;) {
        const int64_t first = piece_at(f, piece, &segments[0]);
        int64_t n = 1, pixels = segments[0].length;
        for (; piece + n < end && pixels < CHUNK; n++) { /* at least one pixel each */
            piece_at(f, piece + n, &segments[n]);
            if (pixels + segments[n].length > CHUNK) break;
            pixels += segments[n].length;
        }
        add_chunk(f, at, segments, n, first, pixels, row, row_end);
        at->accumulate = true;
        piece += n;
    }
}

/* Job j is tile j % n_tiles of slice j / n_tiles % slices of group j / n_tiles / slices. */
static void job_task(void *context, int64_t begin, int64_t end)
{
    const filter *f = context;
    const df_conv *c = f->c;
    const int64_t bytes = df_conv_bytes(c), n = f->columns.n;
    for (int64_t job = begin; job < end; job++) {
        const int64_t row = job % f->n_tiles * f->tile, slice = job / f->n_tiles % f->slices;
        const int64_t group = job / f->n_tiles / f->slices;
        const int64_t end = df_min(row + f->tile, f->weights);
        const int64_t from = f->n_pieces * slice / f->slices;
        const int64_t to = f->n_pieces * (slice + 1) / f->slices;
        places at = {
            .x = f->view.data + group * f->view.group * bytes,
            .dy = f->dy + group * n * df_conv_stored_bytes(c),
            .sums = (sums_are_dw(f) ? f->dw : f->sums + slice * slice_bytes(f)) + group * n * bytes,
            .copy = f->padded - (job + 1) * copy_bytes(f), .accumulate = f->first > 0};
        for (int64_t i = row; i < end && from == to && !at.accumulate; i++)
            memset(at.sums + i * c->c_out * bytes, 0, (size_t)(n * bytes));
        sum_pieces(f, &at, row, end, from, to);
    }
}

/* Sums the slices for elements [begin, end) of dw. Sums that are rounded are those of slice 0. */
static void add_task(void *context, int64_t begin, int64_t end)
{
    const filter *f = context;
    const int64_t size = f->weights * f->c->c_out;
    for (int64_t s = 0; s < f->slices; s++) {
        const df_conv_segment run = {0, end - begin, 0};
        const int64_t zero = 0, bytes = df_conv_bytes(f->c);
        char *to = (df_conv_widens(f->c) ? f->sums : f->dw) + begin * bytes;
        const char *from = f->sums + (s * size + begin) * bytes;
        if (s) DF_SYM(df_conv_scatter)(f->c->dtype, to, &zero, 1, &run, 1, from, 0);
        else if (to != from) memcpy(to, from, (size_t)((end - begin) * bytes));
    }
    df_piece_done(f->c->stored, f->dw, begin, end - begin, (float *)f->sums + begin);
}

void DF_SYM(df_conv_sums_run)(const df_conv *c, const void *x, const void *dy, void *dw,
                              void *workspace)
{
    filter f = plan(c);
    const bool is_padded = DF_SYM(df_conv_is_padded)(c);
    const int64_t bytes = df_conv_stored_bytes(c), pixels = df_conv_pixels(c);
    const int64_t image = df_conv_image(c) * bytes;
    const int64_t jobs = f.slices * c->groups * f.n_tiles;
    f.dw = dw;
    f.sums = workspace;
    f.padded = f.sums + sums_bytes(&f) + jobs * copy_bytes(&f);
    f.view = DF_SYM(df_conv_view_of)(c, is_padded ? f.padded : x);
    for (f.first = 0; f.first < c->n; f.first += f.images) {
        const int64_t n = df_min(f.images, c->n - f.first);
        const double macs = (double)(n * pixels) * (double)(f.tile * f.columns.n);
        f.n_pieces = n * c->out[0] * c->out[1] * f.pieces;
        f.dy = (const char *)dy + f.first * pixels * c->c_out * bytes;
        if (is_padded) DF_SYM(df_conv_pad)(c, (const char *)x + f.first * image, n, f.padded);
        df_parallel_for(jobs, 1, macs / (double)f.slices * 0.125 / (double)f.columns.lanes,
                        job_task, &f);
    }
    if (!sums_are_dw(&f))
        df_parallel_for(f.weights * c->c_out, 4096, 0.1 * (double)f.slices, add_task, &f);
}
