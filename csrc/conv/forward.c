/* y = x * w as a matrix product: rows are windows read from the image in place (no patches are
 * built), columns are outputs of a group.
 *
 * A few padded images are processed at a time, so that they stay in cache. Jobs are tiles of some
 * windows x some panels of outputs; the division depends only on the sizes. Neighbouring jobs run
 * on the same core: they share windows or weights, whichever are more memory. Dilated convolutions
 * skip the taps in the padding (conv/regions.h). Weights that were packed ahead come from memory,
 * and few pixels use them: they are prefetched. */
#include "conv/kernels.h"
#include "conv/regions.h"
#include "base/thread.h"

#define MANY_JOBS 32     /* enough for balance with any number of threads */
#define SOME_JOBS 8      /* enough, if more jobs would cut the rows that an epilogue gets */
#define FETCH_PIXELS 256 /* with more, the weights are a small part of the memory that is read */
#define FETCH_BYTES (512 << 10) /* images of at least this size are prefetched; smaller ones are
                                 * in L2 */
#define FETCH_AHEAD 8    /* pixels between those that are read and those that are prefetched */
#define SMALL_JOB 3e5    /* multiply-adds: not worth dividing further */

/* One convolution, and the images in progress. */
typedef struct {
    const df_conv *c;
    df_conv_columns columns;
    df_conv_view view;
    int64_t depth, k, n_segments; /* depth of a pass, at most; of the whole sum; number of table
                                   * entries */
    df_conv_segment *segments;    /* divided where passes end */
    const char *w;
    char *packed, *copied, *y;
    char *sums, *rounded; /* 16-bit floats: y of the images in progress as float32; y */
    const float *x, *scale; /* scale: NULL, or factors of x, whose products are in `scaled` */
    float *scaled;
    bool flipped;
    const df_conv_regions *regions; /* NULL: all taps are multiplied */
    int64_t images;   /* number of images at a time */
    int64_t pixel0, pixels; /* output pixels in progress, numbered through the images */
    int64_t job_rows, job_panels;
    bool by_rows; /* neighbouring jobs share windows */
    df_product_epilogue epilogue;
} forward;

static forward plan_filters(const df_conv *c)
{
    return (forward){.c = c, .k = df_conv_taps(c) * df_conv_group_in(c),
                     .columns = df_conv_cut_columns(df_conv_group_out(c), df_conv_bytes(c))};
}

/* True if images are copied with padding. */
static bool is_padded(const forward *f)
{
    return DF_SYM(df_conv_is_padded)(f->c) && !f->regions;
}

/* Bytes of a copied image; 0: images are read in place. */
static int64_t image_bytes(const forward *f)
{
    const df_conv *c = f->c;
    if (is_padded(f)) return DF_SYM(df_conv_padded_bytes)(c);
    return df_conv_widens(c) ? df_conv_mul_bytes(df_conv_image(c), df_conv_bytes(c)) : 0;
}

/* Bytes of the sums of an image; 0: the sums are y. */
static int64_t sums_bytes(const forward *f)
{
    const df_conv *c = f->c;
    if (!df_conv_widens(c)) return 0;
    return df_conv_align(df_conv_mul_bytes(df_conv_pixels(c) * c->c_out, df_conv_bytes(c)));
}

static forward plan(const df_conv *c, df_conv_regions *regions)
{
    const int64_t bytes = df_conv_bytes(c);
    forward f = plan_filters(c);
    f.depth = df_ceil_div(f.k, df_ceil_div(f.k * bytes, DF_CONV_DEPTH_BYTES));
    f.n_segments = df_conv_taps(c) + f.k / f.depth + 1;
    f.images = c->n;
    f.regions = DF_SYM(df_conv_cut_regions)(c, regions) ? regions : NULL;
    const int64_t image = df_max(image_bytes(&f), sums_bytes(&f));
    if (image) f.images = df_conv_images(c, image);
    return f;
}

/* Rows are padded to the longest vector, so that exports can pack: the size is the same at every
 * SIMD level. */
static int64_t packed_bytes(const forward *f)
{
    const int64_t width = df_conv_align(f->columns.n * df_conv_bytes(f->c));
    return df_conv_mul_bytes(df_conv_mul_bytes(width, f->k), f->c->groups);
}

static int64_t copied_bytes(const forward *f)
{
    return df_conv_align(df_conv_mul_bytes(image_bytes(f), f->images));
}

static int64_t scaled_bytes(const df_conv *c)
{
    const int64_t pixels = df_conv_mul_bytes(c->n, df_conv_pixels(c));
    return df_conv_align(df_conv_mul_bytes(df_conv_mul_bytes(pixels, c->c_in), sizeof(float)));
}

int64_t DF_SYM(df_conv_windows_workspace)(const df_conv *c)
{
    df_conv_regions regions;
    const forward f = plan(c, &regions);
    const int64_t table = df_conv_mul_bytes(f.n_segments, sizeof(df_conv_segment));
    return df_conv_sum_bytes(
        df_conv_sum_bytes(df_conv_align(table), c->packed ? 0 : packed_bytes(&f)),
        c->scaled ? scaled_bytes(c)
                  : df_conv_sum_bytes(copied_bytes(&f),
                                      df_conv_mul_bytes(sums_bytes(&f), f.images)));
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
        const char *from = f->w + (row * c->c_in + group * inner) * df_conv_stored_bytes(c);
        DF_SYM(df_conv_pack)(c->stored, to + t * inner * width * bytes, width, from, inner, 1, cols,
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
            DF_SYM(df_conv_pack)(c->stored, to, width, f->w + at * df_conv_stored_bytes(c), f->k,
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
    const int64_t used = c->groups * f.columns.vectors * f.columns.lanes * f.k * df_conv_bytes(c);
    memset(f.packed + used, 0, (size_t)(packed_bytes(&f) - used));
    pack_all(&f);
}

static int64_t cut_segments(forward *f)
{
    int64_t n = 0;
    for (int64_t k = 0; k < f->k; k += f->depth)
        n += DF_SYM(df_conv_lines)(f->c, &f->view, k, df_min(f->depth, f->k - k), f->segments + n);
    return n;
}

/* Copies the segments of weights from k on that are inside the image in a piece. Returns their
 * number. */
static int64_t segments_inside(const forward *f, const df_conv_piece *piece, int64_t k,
                               const df_conv_segment *segments, int64_t n, df_conv_segment *inside)
{
    const int64_t channels = df_conv_group_in(f->c);
    int64_t found = 0, skipped = 0;
    for (int64_t i = 0; i < n; k += segments[i++].length) {
        if (DF_SYM(df_conv_is_inside)(f->c, piece->first, k / channels)) {
            inside[found++] = (df_conv_segment){segments[i].offset - piece->shift,
                                                segments[i].length, skipped};
            skipped = 0;
        } else {
            skipped += segments[i].length;
        }
    }
    return found;
}

/* The tile in progress: rows x panels of a group. */
typedef struct {
    int64_t group, panel, panel_end, n_pieces;
    bool fetches; /* the weights: this is the first tile that reads them */
    df_conv_piece pieces[DF_CONV_TILE_ROWS];
    int64_t windows[DF_CONV_TILE_ROWS], outputs[DF_CONV_TILE_ROWS];
    bool has_sums[DF_CONV_TILE_ROWS]; /* of a piece, from passes before */
} tile;

/* Sets the weights to prefetch during p, those that the tile reads next: of the next pass of the
 * panel, or of the next panel. */
static void prefetch_next(const forward *f, const tile *t, int64_t panel, int64_t k,
                          df_conv_panel *p)
{
    const int64_t bytes = df_conv_bytes(f->c), part = df_min(f->depth, f->k - k);
    const bool in_order = f->k <= f->depth || t->panel_end == t->panel + 1;
    const bool ends = !in_order && panel + 1 == t->panel_end;
    p->fetch = (const char *)p->b + (in_order ? part : f->k) * p->b_row * bytes;
    p->fetch_bytes = ends ? 0 : part * p->b_row * bytes;
}

/* Has the pixels of the following blocks prefetched while p is computed. A block reads one cache
 * line of each of its pixels in turn, an order that the hardware does not prefetch. */
static void prefetch_pixels(const forward *f, const tile *t, int64_t row, df_conv_panel *p)
{
    const int64_t bytes = f->k * df_conv_bytes(f->c), last = row + p->n_rows - 1;
    if (f->pixels * bytes < FETCH_BYTES || f->k > f->depth ||
        t->windows[last] - t->windows[row] != (p->n_rows - 1) * f->k)
        return;
    p->fetch = (const char *)p->a + t->windows[row] * df_conv_bytes(f->c) + FETCH_AHEAD * bytes;
    p->fetch_bytes = p->n_rows * bytes;
}

/* Adds a pass, weights k ... of n segments, to piece i, whose rows start at `row` of the tile. */
static void add_pass(const forward *f, tile *t, int64_t i, int64_t row, int64_t k,
                     const df_conv_segment *segments, int64_t n)
{
    const df_conv *c = f->c;
    const int64_t bytes = df_conv_bytes(c);
    const bool is_last = k + f->depth >= f->k;
    df_conv_segment inside[DF_CONV_MOST_TAPS];
    df_conv_panel p = {.n_rows = t->pieces[i].rows, .rows = t->windows + row, .step = 1,
                       .a = f->view.data + t->group * f->view.group * bytes,
                       .segments = segments, .n_segments = n, .c_rows = t->outputs + row,
                       .accumulate = t->has_sums[i],
                       .finish = is_last ? f->epilogue.finish : NULL};
    if (f->regions) {
        p.n_segments = segments_inside(f, &t->pieces[i], k, segments, n, inside);
        p.segments = inside;
        if (p.n_segments == 0 && !p.finish && (t->has_sums[i] || !is_last)) return;
    }
    t->has_sums[i] = true;
    for (int64_t panel = t->panel; panel < t->panel_end; panel++) {
        const int64_t col = df_conv_panel_start(&f->columns, panel);
        p.b_row = df_conv_panel_start(&f->columns, panel + 1) - col;
        p.cols = df_min(p.b_row, f->columns.n - col);
        p.b = packed_panel(f, t->group, panel) + k * p.b_row * bytes;
        p.column = t->group * f->columns.n + col;
        p.at = f->pixel0 * c->c_out + p.column;
        p.c = f->y + p.at * bytes;
        p.fetch_bytes = 0;
        if (t->fetches) prefetch_next(f, t, panel, k, &p);
        else if (panel == t->panel) prefetch_pixels(f, t, row, &p);
        DF_SYM(df_conv_panel_run)(c->dtype, &p);
    }
}

static void run_tile(const forward *f, tile *t)
{
    const df_conv_segment *segments = f->segments;
    for (int64_t i = 0; i < t->n_pieces; i++) t->has_sums[i] = false;
    for (int64_t k = 0; k < f->k; k += f->depth) {
        int64_t n = 0, row = 0;
        for (int64_t left = df_min(f->depth, f->k - k); left > 0;) left -= segments[n++].length;
        for (int64_t i = 0; i < t->n_pieces; row += t->pieces[i++].rows)
            add_pass(f, t, i, row, k, segments, n);
        segments += n;
    }
}

/* Applies an epilogue to the rows of a tile, as many as are adjacent at a time. */
static void finish_tile(const forward *f, const tile *t, int64_t rows)
{
    const df_conv_columns *columns = &f->columns;
    const int64_t first = df_conv_panel_start(columns, t->panel), c_row = f->c->c_out;
    const int64_t last = df_min(df_conv_panel_start(columns, t->panel_end), columns->n);
    const int64_t col = t->group * columns->n + first;
    for (int64_t i = 0, n; i < rows; i += n) {
        for (n = 1; i + n < rows && t->outputs[i + n] == t->outputs[i] + n * c_row; n++) {}
        const int64_t at = f->pixel0 + t->outputs[i] / c_row;
        f->epilogue.piece(f->epilogue.context, at, n, col, last - first,
                          f->y + (at * c_row + col) * df_conv_bytes(f->c), c_row);
    }
}

/* Rounds a piece of the sums, as an epilogue. */
static void round_piece(const void *context, int64_t row, int64_t rows, int64_t col0, int64_t cols,
                        void *sums, int64_t ld)
{
    const forward *f = context;
    for (int64_t i = 0; i < rows; i++)
        df_piece_done(f->c->stored, f->rounded, (row + i) * f->c->c_out + col0, cols,
                      (const float *)sums + i * ld);
}

/* Multiplies pixels by the scale. */
static void scale_task(void *context, int64_t begin, int64_t end)
{
    const forward *f = context;
    const int64_t channels = f->c->c_in;
    for (int64_t pixel = begin; pixel < end; pixel++) {
        const float *x = f->x + pixel * channels;
        const float *by = f->scale + pixel / df_conv_pixels(f->c) * channels;
        float *to = f->scaled + pixel * channels;
        for (int64_t i = 0; i < channels; i++) to[i] = x[i] * by[i];
    }
}

static void job_task(void *context, int64_t begin, int64_t end)
{
    const forward *f = context;
    const int64_t row_tiles = df_ceil_div(f->pixels, f->job_rows);
    const int64_t col_tiles = df_ceil_div(f->columns.n_panels, f->job_panels);
    const int64_t images = f->pixels / df_conv_pixels(f->c);
    for (int64_t job = begin; job < end; job++) {
        const int64_t group = job / row_tiles / col_tiles, in_group = job % (row_tiles * col_tiles);
        const int64_t row_tile = f->by_rows ? in_group / col_tiles : in_group % row_tiles;
        const int64_t col_tile = f->by_rows ? in_group % col_tiles : in_group / row_tiles;
        const int64_t row = row_tile * f->job_rows;
        const int64_t rows = df_min(f->job_rows, f->pixels - row);
        tile t;
        t.fetches = f->c->packed && f->pixels <= FETCH_PIXELS && row == 0;
        t.group = group;
        t.panel = col_tile * f->job_panels;
        t.panel_end = df_min(t.panel + f->job_panels, f->columns.n_panels);
        t.n_pieces = DF_SYM(df_conv_pieces)(f->c, f->regions, &f->view, images, row, rows,
                                            t.pieces, t.windows, t.outputs);
        if (f->scale && f->by_rows) scale_task((void *)f, row, row + rows);
        run_tile(f, &t);
        if (f->epilogue.piece && !f->epilogue.finish) finish_tile(f, &t, rows);
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

/* Rows of a tile if the rows are divided evenly into tiles of at most `most`. */
static int64_t even_rows(const forward *f, int64_t most)
{
    const int64_t rows = df_ceil_div(f->pixels, df_ceil_div(f->pixels, most));
    return df_ceil_div(rows, DF_CONV_HEIGHT) * DF_CONV_HEIGHT;
}

/* Chooses tiles that suit the caches, halved until there are enough for the threads. An epilogue
 * gets whole rows, which it processes faster than parts of rows, or at least long parts. If the
 * pixels are more memory than the weights, a core gets all outputs of its pixels, which it has
 * usually computed before and reads in the next operation (14 x 14 x 116 to 116 channels on two
 * threads, between others: 53 us; 31 by rows). */
static void cut_jobs(forward *f)
{
    const bool in_pieces = f->epilogue.piece && !f->epilogue.finish;
    const int64_t weights = f->columns.vectors * f->columns.lanes * f->k;
    const int64_t channels = df_conv_group_in(f->c) + f->columns.n;
    f->by_rows = in_pieces || f->pixels * channels / 2 > weights;
    const bool whole_rows = in_pieces || (f->scale && f->by_rows); /* a job scales its pixels */
    f->job_rows = even_rows(f, DF_CONV_TILE_ROWS);
    f->job_panels = whole_rows ? f->columns.n_panels : df_min(f->columns.n_panels, 8);
    while (n_jobs(f) < (in_pieces ? SOME_JOBS : MANY_JOBS) && job_macs(f) > SMALL_JOB) {
        const bool can_cut_rows = f->job_rows > DF_CONV_HEIGHT;
        if (f->job_panels > 1 && !(f->by_rows && can_cut_rows))
            f->job_panels = df_ceil_div(f->job_panels, 2);
        else if (can_cut_rows) f->job_rows = even_rows(f, f->job_rows / 2);
        else break;
    }
}

static void run(forward *f, const void *x, const void *w, void *y, void *workspace)
{
    const df_conv *c = f->c;
    const bool padded = is_padded(f), widens = df_conv_widens(c);
    const int64_t pixels = df_conv_pixels(c);
    const int64_t image = df_conv_image(c) * df_conv_stored_bytes(c);
    const int64_t table = df_conv_align(f->n_segments * (int64_t)sizeof(df_conv_segment));
    f->w = w;
    f->y = y;
    f->segments = workspace;
    f->packed = c->packed ? (char *)w : (char *)workspace + table;
    f->copied = (char *)workspace + table + (c->packed ? 0 : packed_bytes(f));
    f->sums = f->copied + copied_bytes(f);
    f->scaled = (float *)f->copied;
    f->x = x;
    f->view = padded ? DF_SYM(df_conv_view_of)(c, f->copied)
                     : DF_SYM(df_conv_in_place)(c, f->scale || widens ? f->copied : x);
    if (widens) {
        f->rounded = y;
        f->epilogue = (df_product_epilogue){.piece = round_piece, .context = f};
    }
    f->view.apart = f->regions != NULL;
    cut_segments(f);
    if (!c->packed) pack_all(f);
    for (int64_t i = 0; i < c->n; i += f->images) {
        const int64_t n = df_min(f->images, c->n - i);
        f->pixel0 = i * pixels;
        f->pixels = n * pixels;
        if (padded) DF_SYM(df_conv_pad)(c, (const char *)x + i * image, n, f->copied);
        else if (widens)
            DF_SYM(df_conv_widen)(c, n * df_conv_image(c), f->copied, (const char *)x + i * image);
        if (widens) f->y = f->sums - f->pixel0 * c->c_out * df_conv_bytes(c);
        cut_jobs(f);
        if (f->scale && !f->by_rows)
            df_parallel_for(f->pixels, 4, 0.1 * (double)c->c_in, scale_task, f);
        df_parallel_for(n_jobs(f), 1, job_macs(f) * 0.125 / (double)f->columns.lanes, job_task, f);
    }
}

void DF_SYM(df_conv_windows_run)(const df_conv *c, const void *x, const void *w, bool flipped,
                                 void *y, df_product_epilogue epilogue, void *workspace)
{
    df_conv_regions regions;
    forward f = plan(c, &regions);
    f.flipped = flipped;
    f.epilogue = epilogue;
    run(&f, x, w, y, workspace);
}

void DF_SYM(df_conv_windows_run_scaled)(const df_conv *c, const void *x, const void *w,
                                        const void *scale, void *y, df_product_epilogue epilogue,
                                        void *workspace)
{
    df_conv_regions regions;
    forward f = plan(c, &regions);
    f.scale = scale;
    f.epilogue = epilogue;
    run(&f, x, w, y, workspace);
}
