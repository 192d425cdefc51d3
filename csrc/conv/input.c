/* Gradient of the input by scattered sums, for strides and few channels: the row of dy of each
 * output pixel times the transposed weights is added to its window. The product is computed one
 * tile at a time and added to the padded image, whose inner part is dx.
 *
 * If there are too few images for the threads, each is divided into bands of lines. A band has
 * separate memory, and pixels whose windows reach into it are processed again for it. The division
 * depends only on the sizes. */
#include "conv/kernels.h"
#include "base/thread.h"

#include <string.h>

#define IMAGES_BYTES ((int64_t)8 << 20) /* padded images at a time */
#define IMAGES 16                       /* images at a time, at least, one per thread */
#define FEW_JOBS 8                      /* images are divided if there are fewer jobs */
#define LARGE_IMAGE 1e6                 /* multiply-adds: smaller images are not divided */
#define PANEL (DF_CONV_COLS * DF_VEC_BYTES)

typedef struct {
    const df_conv *c;
    df_conv_columns columns; /* weights of an output */
    df_conv_view view;       /* of the padded images */
    int64_t images, first;   /* images at a time; the first of them */
    int axis;                /* dimension along which bands are divided */
    int64_t band, halo;      /* output pixels of a band, and before it that reach into it */
    int64_t bands, band_size; /* bands of an image; elements of a band */
    char *packed, *padded, *copies, *dx; /* copies: of dy, per band in progress; 16-bit floats */
    const char *w, *dy;
} input;

static double image_macs(const input *f)
{
    return (double)df_conv_pixels(f->c) * (double)(f->columns.n * df_conv_group_out(f->c));
}

static void cut_bands(input *f)
{
    const df_conv *c = f->c;
    const int axis = f->axis = c->out[0] > 1 ? 0 : 1;
    const int64_t reach = (c->kernel[axis] - 1) * c->dilation[axis], stride = c->stride[axis];
    const int64_t jobs = df_max(c->n * c->groups, 1);
    const bool dense = axis == 0 || df_conv_extent(c, 0) == 1; /* a band is contiguous memory */
    f->halo = reach / stride;
    f->band = c->out[axis];
    if (dense && jobs < FEW_JOBS && image_macs(f) > LARGE_IMAGE) {
        const int64_t wanted = df_ceil_div(c->out[axis] * jobs, FEW_JOBS);
        f->band = df_min(f->band, df_max(wanted, 2 * f->halo + 1));
    }
    f->bands = df_ceil_div(c->out[axis], f->band);
    if (f->bands > 1)
        f->band_size = ((f->band + f->halo - 1) * stride + df_max(reach + 1, stride)) *
                  (axis ? f->view.row : f->view.plane);
}

static input plan(const df_conv *c)
{
    const int64_t weights = df_conv_taps(c) * df_conv_group_in(c);
    input f = {.c = c, .columns = df_conv_cut_columns(weights, df_conv_bytes(c)), .bands = 1};
    const int64_t image = DF_SYM(df_conv_padded_bytes)(c);
    f.images = df_min(c->n, df_max(IMAGES, IMAGES_BYTES / df_max(image, 1)));
    if (image < 0) return f;
    f.view = (df_conv_view){.pixel = df_conv_group_in(c)};
    f.view.row = df_conv_extent(c, 2) * f.view.pixel;
    f.view.plane = df_conv_extent(c, 1) * f.view.row;
    f.view.group = f.band_size = df_conv_extent(c, 0) * f.view.plane;
    cut_bands(&f);
    return f;
}

static int64_t packed_bytes(const input *f)
{
    const int64_t width = f->columns.vectors * DF_VEC_BYTES;
    return df_conv_align(df_conv_mul_bytes(width, f->c->c_out));
}

/* Bytes of a widened tile of dy. */
static int64_t copy_bytes(const input *f)
{
    const int64_t row = df_conv_widens(f->c) ? df_conv_group_out(f->c) * df_conv_bytes(f->c) : 0;
    return df_conv_mul_bytes(DF_CONV_TILE_ROWS, row);
}

int64_t DF_SYM(df_conv_places_workspace)(const df_conv *c)
{
    const input f = plan(c);
    if (DF_SYM(df_conv_padded_bytes)(c) < 0) return -1;
    const int64_t bands = df_conv_mul_bytes(f.bands * c->groups, f.images);
    const int64_t each = df_conv_sum_bytes(f.band_size * df_conv_bytes(c), copy_bytes(&f));
    return df_conv_sum_bytes(packed_bytes(&f), df_conv_mul_bytes(each, bands));
}

static char *packed_panel(const input *f, int64_t group, int64_t panel)
{
    const int64_t outputs = df_conv_group_out(f->c), width = f->columns.vectors * f->columns.lanes;
    const int64_t before = group * width + df_conv_panel_start(&f->columns, panel);
    return f->packed + before * outputs * df_conv_bytes(f->c);
}

static void pack_task(void *context, int64_t begin, int64_t end)
{
    const input *f = context;
    const df_conv *c = f->c;
    const int64_t outputs = df_conv_group_out(c);
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / f->columns.n_panels, panel = i % f->columns.n_panels;
        const int64_t col = df_conv_panel_start(&f->columns, panel);
        const int64_t width = df_conv_panel_start(&f->columns, panel + 1) - col;
        const char *from = f->w + (col * c->c_out + group * outputs) * df_conv_stored_bytes(c);
        DF_SYM(df_conv_pack)(c->stored, packed_panel(f, group, panel), width, from, outputs, 1,
                             df_min(width, f->columns.n - col), c->c_out);
    }
}

/* Adds the contributions of `rows` output pixels of an image, from `pixel` on, to its group.
 * `copy`: memory for their dy, widened. */
static void add_pixels(const input *f, int64_t image, int64_t group, int64_t pixel, int64_t rows,
                       char *to, float *copy)
{
    const df_conv *c = f->c;
    const int64_t outputs = df_conv_group_out(c);
    _Alignas(DF_ALIGNMENT) char product[DF_CONV_TILE_ROWS * PANEL];
    int64_t from[DF_CONV_TILE_ROWS], windows[DF_CONV_TILE_ROWS];
    df_conv_segment runs[PANEL / sizeof(float)], whole = {0, outputs, 0};
    const int64_t first = (f->first + image) * df_conv_pixels(c) + pixel;
    for (int64_t i = 0; i < rows; i++) {
        from[i] = (first + i) * c->c_out + group * outputs;
        if (!df_conv_widens(c)) continue;
        df_piece(c->stored, f->dy, from[i], outputs, copy + i * outputs);
        from[i] = i * outputs;
    }
    DF_SYM(df_conv_windows)(c, &f->view, pixel, rows, windows);
    for (int64_t i = 0; i < f->columns.n_panels; i++) {
        const int64_t col = df_conv_panel_start(&f->columns, i);
        const int64_t width = df_conv_panel_start(&f->columns, i + 1) - col;
        const int64_t cols = df_min(width, f->columns.n - col);
        const df_conv_panel p = {.n_rows = rows, .cols = width,
                                 .a = df_conv_widens(c) ? (void *)copy : f->dy, .rows = from,
                                 .segments = &whole, .n_segments = 1, .step = 1,
                                 .b = packed_panel(f, group, i), .b_row = width,
                                 .c = product, .c_row = width};
        DF_SYM(df_conv_panel_run)(c->dtype, &p);
        const int64_t n_runs = DF_SYM(df_conv_lines)(c, &f->view, col, cols, runs);
        DF_SYM(df_conv_scatter)(c->dtype, to, windows, rows, runs, n_runs, product, width);
    }
}

/* Copies the inner part of an image of a group, lines [begin, end) along the axis of bands. */
static void copy_inside(const input *f, int64_t image, int64_t group, const char *from,
                        int64_t begin, int64_t end)
{
    const df_conv *c = f->c;
    const int64_t bytes = df_conv_bytes(c), pixel = f->view.pixel * bytes;
    const int64_t stored = df_conv_stored_bytes(c), width = df_conv_extent(c, 2);
    const int64_t step = c->c_in * stored;
    const int64_t n = df_max(0, df_min(c->in[2], width - c->pad[2]));
    char *to = f->dx + (((f->first + image) * c->in[0] * c->in[1] * c->in[2]) * c->c_in +
                        group * f->view.pixel) * stored;
    for (int64_t line = 0; line < c->in[0] * c->in[1]; line++, to += c->in[2] * step) {
        const int64_t d = line / c->in[1] + c->pad[0], h = line % c->in[1] + c->pad[1];
        const int64_t at = f->axis ? h : d;
        if (at < begin || at >= end) continue;
        const bool inside = d < df_conv_extent(c, 0) && h < df_conv_extent(c, 1);
        const int64_t filled = inside ? n : 0;
        const char *row = from + (d * f->view.plane + h * f->view.row) * bytes + c->pad[2] * pixel;
        for (int64_t i = 0; i < filled && c->groups > 1; i++)
            DF_SYM(df_copy_narrow)(c->stored, f->view.pixel, to + i * step, row + i * pixel);
        if (filled && c->groups == 1)
            DF_SYM(df_copy_narrow)(c->stored, filled * f->view.pixel, to, row);
        for (int64_t i = filled; i < c->in[2]; i++)
            memset(to + i * step, 0, (size_t)(f->view.pixel * stored));
    }
}

/* Computes a band of a group of an image. */
static void run_band(const input *f, int64_t image, int64_t group, int64_t band, char *padded,
                     float *copy)
{
    const df_conv *c = f->c;
    const int64_t bytes = df_conv_bytes(c), stride = c->stride[f->axis];
    const int64_t pixels = df_conv_pixels(c) / c->out[f->axis]; /* per line */
    const int64_t own = band * f->band, end = df_min(own + f->band, c->out[f->axis]);
    const int64_t first = df_max(own - f->halo, 0);
    char *to = padded - first * stride * (f->axis ? f->view.row : f->view.plane) * bytes;
    memset(padded, 0, (size_t)(f->band_size * bytes));
    for (int64_t pixel = first * pixels; pixel < end * pixels; pixel += DF_CONV_TILE_ROWS)
        add_pixels(f, image, group, pixel, df_min(DF_CONV_TILE_ROWS, end * pixels - pixel), to,
                   copy);
    copy_inside(f, image, group, to, band ? own * stride : 0,
                band + 1 < f->bands ? end * stride : INT64_MAX);
}

/* Computes bands [begin, end) of groups of images. */
static void band_task(void *context, int64_t begin, int64_t end)
{
    const input *f = context;
    const int64_t groups = f->c->groups, bytes = f->band_size * df_conv_bytes(f->c);
    for (int64_t i = begin; i < end; i++)
        run_band(f, i / f->bands / groups, i / f->bands % groups, i % f->bands,
                 f->padded + i * bytes, (float *)(f->copies + i * copy_bytes(f)));
}

void DF_SYM(df_conv_places_run)(const df_conv *c, const void *w, const void *dy, void *dx,
                                void *workspace)
{
    input f = plan(c);
    const double band_ns = image_macs(&f) / (double)f.bands * 0.125 / (double)f.columns.lanes;
    f.w = w;
    f.dy = dy;
    f.dx = dx;
    f.packed = workspace;
    f.copies = f.packed + packed_bytes(&f);
    f.padded = f.copies + copy_bytes(&f) * f.bands * c->groups * f.images;
    df_parallel_for(c->groups * f.columns.n_panels, 1,
                    (double)(f.columns.lanes * df_conv_group_out(c)), pack_task, &f);
    for (f.first = 0; f.first < c->n; f.first += f.images) {
        const int64_t n = df_min(f.images, c->n - f.first);
        df_parallel_for(n * c->groups * f.bands, 1, band_ns, band_task, &f);
    }
}
