/* y = x * w as a matrix product: rows are windows read from the image in place (no patches are
 * built), columns are outputs of a group.
 *
 * A few padded images are processed at a time, so that they stay in cache. Jobs are tiles of some
 * windows x some panels of outputs; the division depends only on the sizes. */
#include "conv/kernels.h"
#include "base/thread.h"

#define MANY_JOBS 32     /* enough for balance with any number of threads */
#define SOME_JOBS 8      /* enough, if more jobs would cut the rows that an epilogue gets */
#define SMALL_JOB 1e6    /* multiply-adds: not worth dividing further */
#define MOST_INSIDE 64   /* passes of more segments multiply the padding */

/* One convolution, and the images in progress. */
typedef struct {
    const df_conv *c;
    df_conv_columns columns;
    df_conv_view view;
    int64_t depth, k, n_segments; /* depth of a pass, at most; of the whole sum; number of table
                                   * entries */
    df_conv_segment *segments;    /* divided where passes end */
    const char *w;
    char *packed, *padded, *y;
    bool flipped, is_dilated; /* dilated and padded */
    int64_t images;   /* number of images at a time */
    int64_t pixel0, pixels; /* output pixels in progress, numbered through the images */
    int64_t job_rows, job_panels;
    df_product_epilogue epilogue;
} forward;

static forward plan_filters(const df_conv *c)
{
    return (forward){.c = c, .k = df_conv_taps(c) * df_conv_group_in(c),
                     .columns = df_conv_cut_columns(df_conv_group_out(c), df_conv_bytes(c))};
}

static forward plan(const df_conv *c)
{
    const int64_t bytes = df_conv_bytes(c);
    forward f = plan_filters(c);
    f.depth = df_ceil_div(f.k, df_ceil_div(f.k * bytes, DF_CONV_DEPTH_BYTES));
    f.n_segments = df_conv_taps(c) + f.k / f.depth + 1;
    f.images = c->n;
    if (DF_SYM(df_conv_is_padded)(c)) {
        const int64_t image = DF_SYM(df_conv_padded_bytes)(c);
        f.images = df_max(1, df_min(c->n, DF_CONV_IMAGES_BYTES / df_max(image, 1)));
    }
    return f;
}

static int64_t packed_bytes(const forward *f)
{
    const int64_t width = f->columns.vectors * DF_VEC_BYTES;
    return df_conv_align(df_conv_mul_bytes(df_conv_mul_bytes(width, f->k), f->c->groups));
}

static int64_t padded_bytes(const forward *f)
{
    if (!DF_SYM(df_conv_is_padded)(f->c)) return 0;
    return df_conv_mul_bytes(DF_SYM(df_conv_padded_bytes)(f->c), f->images);
}

int64_t DF_SYM(df_conv_windows_workspace)(const df_conv *c)
{
    const forward f = plan(c);
    const int64_t table = df_conv_mul_bytes(f.n_segments, sizeof(df_conv_segment));
    return df_conv_sum_bytes(
        df_conv_sum_bytes(df_conv_align(table), c->packed ? 0 : packed_bytes(&f)),
        padded_bytes(&f));
}

/* Packed weights of a panel of a group. */
static char *packed_panel(const forward *f, int64_t group, int64_t panel)
{
    const int64_t before = group * f->columns.vectors * f->columns.lanes +
                           df_conv_panel_start(&f->columns, panel);
    return f->packed + before * f->k * df_conv_bytes(f->c);
}

/* Packs the weights with taps in reverse order and inputs swapped with outputs, for the gradient of
 * x: `c` is the convolution of the gradient, the weights are those of the original one. */
static void pack_flipped(const forward *f, int64_t group, int64_t col, int64_t cols, int64_t width,
                         char *to)
{
    const df_conv *c = f->c;
    const int64_t bytes = df_conv_bytes(c), taps = df_conv_taps(c), inner = df_conv_group_in(c);
    for (int64_t t = 0; t < taps; t++) {
        const int64_t row = (taps - 1 - t) * df_conv_group_out(c) + col;
        const char *from = f->w + (row * c->c_in + group * inner) * bytes;
        DF_SYM(df_conv_pack)(c->dtype, to + t * inner * width * bytes, width, from, inner, 1, cols,
                             c->c_in);
    }
}

static void pack_task(void *context, int64_t begin, int64_t end)
{
    const forward *f = context;
    const df_conv *c = f->c;
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / f->columns.n_panels, panel = i % f->columns.n_panels;
        const int64_t col = df_conv_panel_start(&f->columns, panel);
        const int64_t width = df_conv_panel_start(&f->columns, panel + 1) - col;
        const int64_t cols = df_min(width, f->columns.n - col);
        const int64_t at = group * df_conv_group_out(c) + col;
        char *to = packed_panel(f, group, panel);
        if (f->flipped)
            pack_flipped(f, group, col, cols, width, to);
        else
            DF_SYM(df_conv_pack)(c->dtype, to, width, f->w + at * df_conv_bytes(c), f->k,
                                 c->c_out, cols, 1);
    }
}

static void pack_all(forward *f)
{
    df_parallel_for(f->c->groups * f->columns.n_panels, 1,
                    0.1 * DF_CONV_COLS * (double)(f->columns.lanes * f->k), pack_task, f);
}

int64_t DF_SYM(df_conv_windows_packed_bytes)(const df_conv *c)
{
    const forward f = plan_filters(c);
    return packed_bytes(&f);
}

void DF_SYM(df_conv_windows_pack)(const df_conv *c, const void *w, void *to)
{
    forward f = plan_filters(c);
    f.w = w;
    f.packed = to;
    pack_all(&f);
}

static int64_t cut_segments(forward *f)
{
    int64_t n = 0;
    for (int64_t k = 0; k < f->k; k += f->depth)
        n += DF_SYM(df_conv_lines)(f->c, &f->view, k, df_min(f->depth, f->k - k), f->segments + n);
    return n;
}

/* Copies the segments of weights from k on that meet the image for some of the rows. Returns their
 * number. */
static int64_t segments_inside(const forward *f, int64_t row, int64_t rows, int64_t k,
                               const df_conv_segment *segments, int64_t n, df_conv_segment *inside)
{
    int64_t found = 0, skipped = 0;
    for (int64_t i = 0; i < n; k += segments[i++].length) {
        if (DF_SYM(df_conv_meets_image)(f->c, row, rows, k, k + segments[i].length)) {
            inside[found] = segments[i];
            inside[found++].skip = skipped;
            skipped = 0;
        } else {
            skipped += segments[i].length;
        }
    }
    return found;
}

/* Computes rows [row, row + rows) of panels [panel, panel_end) of a group. */
static void tile(const forward *f, int64_t group, int64_t row, int64_t rows, int64_t panel,
                 int64_t panel_end)
{
    const df_conv *c = f->c;
    const int64_t bytes = df_conv_bytes(c);
    const df_conv_segment *segments = f->segments;
    int64_t starts[DF_CONV_TILE_ROWS];
    df_conv_segment inside[MOST_INSIDE];
    bool has_sums = false;
    DF_SYM(df_conv_windows)(c, &f->view, row, rows, starts);
    df_conv_panel p = {.n_rows = rows, .rows = starts, .step = 1,
                       .a = f->view.data + group * f->view.group * bytes, .c_row = c->c_out};
    for (int64_t k0 = 0; k0 < f->k; k0 += f->depth) {
        int64_t left = df_min(f->depth, f->k - k0);
        p.segments = segments;
        while (left > 0) left -= segments++->length;
        p.n_segments = segments - p.segments;
        if (f->is_dilated && p.n_segments <= MOST_INSIDE) {
            p.n_segments = segments_inside(f, row, rows, k0, p.segments, p.n_segments, inside);
            p.segments = inside;
        }
        const bool is_last = k0 + f->depth >= f->k;
        p.finish = is_last ? f->epilogue.finish : NULL;
        if (p.n_segments == 0 && !p.finish && (has_sums || !is_last)) continue;
        p.accumulate = has_sums;
        has_sums = true;
        for (int64_t i = panel; i < panel_end; i++) {
            const int64_t col = df_conv_panel_start(&f->columns, i);
            p.b_row = df_conv_panel_start(&f->columns, i + 1) - col;
            p.cols = df_min(p.b_row, f->columns.n - col);
            p.b = packed_panel(f, group, i) + k0 * p.b_row * bytes;
            p.column = group * f->columns.n + col;
            p.at = (f->pixel0 + row) * c->c_out + p.column;
            p.c = f->y + p.at * bytes;
            DF_SYM(df_conv_panel_run)(c->dtype, &p);
        }
    }
}

/* Job j is row tile j % row_tiles of column tile j / row_tiles, so neighbours share weights. */
static void job_task(void *context, int64_t begin, int64_t end)
{
    const forward *f = context;
    const df_conv_columns *columns = &f->columns;
    const int64_t row_tiles = df_ceil_div(f->pixels, f->job_rows);
    const int64_t col_tiles = df_ceil_div(columns->n_panels, f->job_panels);
    for (int64_t job = begin; job < end; job++) {
        const int64_t row = job % row_tiles * f->job_rows;
        const int64_t rows = df_min(f->job_rows, f->pixels - row);
        const int64_t group = job / row_tiles / col_tiles;
        const int64_t panel = job / row_tiles % col_tiles * f->job_panels;
        const int64_t panel_end = df_min(panel + f->job_panels, columns->n_panels);
        tile(f, group, row, rows, panel, panel_end);
        if (!f->epilogue.piece || f->epilogue.finish) continue;
        const int64_t first = df_conv_panel_start(columns, panel);
        const int64_t last = df_min(df_conv_panel_start(columns, panel_end), columns->n);
        const int64_t col = group * columns->n + first, at = f->pixel0 + row;
        f->epilogue.piece(f->epilogue.context, at, rows, col, last - first,
                          f->y + (at * f->c->c_out + col) * df_conv_bytes(f->c), f->c->c_out);
    }
}

static int64_t n_jobs(const forward *f)
{
    return f->c->groups * df_ceil_div(f->pixels, f->job_rows) *
           df_ceil_div(f->columns.n_panels, f->job_panels);
}

static double job_macs(const forward *f)
{
    const double columns = (double)(f->columns.vectors * f->columns.lanes);
    return (double)(f->job_rows * f->job_panels) * columns / (double)f->columns.n_panels *
           (double)f->k;
}

/* Chooses tiles that suit the caches, halved until there are enough for the threads. An epilogue
 * gets whole rows, which it processes faster than parts of rows, or at least long parts. */
static void cut_jobs(forward *f)
{
    const bool whole_rows = f->epilogue.piece && !f->epilogue.finish;
    f->job_rows = DF_CONV_TILE_ROWS;
    f->job_panels = whole_rows ? f->columns.n_panels : df_min(f->columns.n_panels, 8);
    while (n_jobs(f) < (whole_rows ? SOME_JOBS : MANY_JOBS) && job_macs(f) > SMALL_JOB) {
        const bool can_cut_rows = f->job_rows > DF_CONV_HEIGHT;
        if (f->job_panels > 1 && !(whole_rows && can_cut_rows))
            f->job_panels = df_ceil_div(f->job_panels, 2);
        else if (can_cut_rows) f->job_rows /= 2;
        else break;
    }
}

void DF_SYM(df_conv_windows_run)(const df_conv *c, const void *x, const void *w, bool flipped,
                                 void *y, df_product_epilogue epilogue, void *workspace)
{
    forward f = plan(c);
    const bool is_padded = DF_SYM(df_conv_is_padded)(c);
    const int64_t bytes = df_conv_bytes(c), pixels = df_conv_pixels(c);
    const int64_t image = c->in[0] * c->in[1] * c->in[2] * c->c_in * bytes;
    const int64_t table = df_conv_align(f.n_segments * (int64_t)sizeof(df_conv_segment));
    f.w = w;
    f.y = y;
    f.flipped = flipped;
    f.epilogue = epilogue;
    f.segments = workspace;
    f.packed = c->packed ? (char *)w : (char *)workspace + table;
    f.padded = (char *)workspace + table + (c->packed ? 0 : packed_bytes(&f));
    f.is_dilated = is_padded && (c->dilation[0] > 1 || c->dilation[1] > 1 || c->dilation[2] > 1);
    f.view = DF_SYM(df_conv_view_of)(c, is_padded ? f.padded : x);
    cut_segments(&f);
    if (!c->packed) pack_all(&f);
    for (int64_t i = 0; i < c->n; i += f.images) {
        const int64_t n = df_min(f.images, c->n - i);
        f.pixel0 = i * pixels;
        f.pixels = n * pixels;
        if (is_padded) DF_SYM(df_conv_pad)(c, (const char *)x + i * image, n, f.padded);
        cut_jobs(&f);
        df_parallel_for(n_jobs(&f), 1, job_macs(&f) * 0.125 / (double)f.columns.lanes, job_task,
                        &f);
    }
}
