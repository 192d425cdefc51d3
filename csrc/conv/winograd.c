/* Blocks of tiles and the three passes of a convolution by Winograd's minimal filtering. The
 * transforms are in winograd_formulas.h.
 *
 * The output is divided into tiles of 4 x 4 pixels for 3 x 3 filters, 2 x 2 for 5 x 5; each tile
 * depends on 6 x 6 input pixels. Both and the filter are transformed to 6 x 6 = 36 points, at each
 * of which the convolution of a tile is a product (tiles x c) (c x k). A block of tiles passes
 * through all steps while it is in cache.
 *
 * Slots, each with memory for one block, take blocks one at a time, so a thread reuses the same
 * memory from block to block. */
#include "conv/winograd.h"

#include "base/thread.h"
#include "conv/panel.h"
#include "gemm/half.h"
#include "simd/lanes.h"

#include <stdatomic.h>

#define DTYPE f32
#include "conv/winograd_formulas.h"
#undef DTYPE

#define PATCH 6 /* input pixels for a tile of outputs, per dimension */
#define MAX_TAPS 5
#define POINTS (PATCH * PATCH)

#define BLOCK_FLOATS (1 << 17) /* transformed floats of a block; fit any L2 */
#define LEAST_BLOCK 56         /* tiles; with fewer the transformed filter is read too often */
#define FILTER_BLOCK 160       /* likewise for a large filter: one tile per this many weights, */
#define LARGE_BLOCK 112        /* up to this many tiles */
#define LEAST_BLOCKS 4         /* for threads to share */
#define GROUP_TILES 384        /* tiles per partial sum of the filter gradient */
#define SLOTS 16

/* Conditions under which Winograd is faster: the transforms of the filter, which are more expensive
 * beyond L2, must pay off, and most tiles must be inside the image. */
#define LEAST_CHANNELS 16
#define MOST_CHANNELS 4096
#define LEAST_TILES 36
#define WEIGHTS_PER_TILE 2048
#define MAC_NS 0.008           /* estimate; the transforms cost about the same again */
#define WEIGHTS 512            /* weights transformed at a time */

typedef void (*squares)(const float *const *from, float *const *to, float *const *next, int64_t n);
typedef void (*weight_squares)(const float *const *from, float *const *to, int64_t n);

/* The sizes of a tile and a filter, and their transforms. */
typedef struct {
    int tile, taps;
    squares output, output_gradient;
    weight_squares weights, weight_gradient;
} filtering;

static const filtering F43 = {4, 3, output_squares_f32, output_gradient_squares_f32,
                              weight_squares_f32, weight_gradient_squares_f32};
static const filtering F25 = {2, 5, output_squares_2_f32, output_gradient_squares_2_f32,
                              weight_squares_5_f32, weight_gradient_squares_5_f32};

static const filtering *filtering_of(const df_conv *c) { return c->kernel[1] == 3 ? &F43 : &F25; }

/* Weights per input and output. */
static int64_t n_taps(const df_conv *c) { return c->kernel[1] * c->kernel[2]; }

/* Images with channels last whose squares are read or written. */
typedef struct {
    df_dtype stored; /* of data: float32, or 16-bit floats */
    char *data;
    float *outside; /* buffer for pixels beyond the edges */
    int64_t h, w, c;
    int64_t top, left; /* rows and columns beyond the edges at which the first square begins */
    int size;          /* side of a square: PATCH, or the tile size */
} image;

/* One pass over the tiles. */
typedef struct {
    const filtering *f;
    image x, y; /* with c channels: patches; with k channels: tiles */
    const float *filter; /* transformed */
    int64_t tile_cols, image_tiles, n_tiles; /* tiles of a row, of an image, of all */
    int64_t block, n_blocks;
    float *slots, *sums; /* (n_items, POINTS, c, k) */
    int64_t slot_floats;
    int64_t n_items; /* blocks, or groups of blocks, taken by slots */
    _Atomic int64_t next;
} pass;

/* Rounds up to whole cache lines. */
static int64_t padded(int64_t floats) { return df_ceil_div(floats, 16) * 16; }

/* Floats of a slot: transformed patches and tiles of a block, pixels beyond the edges, rows of a
 * product, a widened square. */
static int64_t slot_floats(const pass *p)
{
    const int64_t square = p->x.stored == DF_F32 ? 0 : POINTS * df_max(p->x.c, p->y.c);
    return padded(POINTS * p->block * p->x.c) + padded(POINTS * p->block * p->y.c) +
           padded(p->y.c) + padded(2 * df_max(p->block, p->x.c)) + padded(square);
}

static pass cut(const df_conv *c)
{
    const filtering *f = filtering_of(c);
    pass p = {.f = f,
              .x = {.stored = c->stored, .h = c->in[1], .w = c->in[2], .c = c->c_in,
                    .top = c->pad[1], .left = c->pad[2], .size = PATCH},
              .y = {.stored = c->stored, .h = c->out[1], .w = c->out[2], .c = c->c_out,
                    .size = f->tile}};
    p.tile_cols = df_ceil_div(c->out[2], f->tile);
    p.image_tiles = df_ceil_div(c->out[1], f->tile) * p.tile_cols;
    p.n_tiles = c->n * p.image_tiles;
    int64_t block = df_max(LEAST_BLOCK, df_min(c->c_in * c->c_out / FILTER_BLOCK, LARGE_BLOCK));
    block = df_max(block, BLOCK_FLOATS / (POINTS * (c->c_in + c->c_out)));
    const int64_t blocks = df_max(df_ceil_div(p.n_tiles, block), LEAST_BLOCKS);
    p.block = df_ceil_div(p.n_tiles, blocks);
    p.n_blocks = p.n_items = df_ceil_div(p.n_tiles, p.block);
    p.slot_floats = slot_floats(&p);
    return p;
}

/* Finds the addresses of the pixels of a tile; `offsets` are the byte offsets of a square's pixels
 * from its first. */
static void find_pixels(const pass *p, const image *x, const int64_t *offsets, int64_t tile,
                        float **to)
{
    const int64_t n = tile / p->image_tiles, in_image = tile % p->image_tiles;
    const int64_t row = in_image / p->tile_cols * p->f->tile - x->top;
    const int64_t col = in_image % p->tile_cols * p->f->tile - x->left;
    char *first = df_element(x->stored, x->data, ((n * x->h + row) * x->w + col) * x->c);
    for (int i = 0; i < POINTS; i++) to[i] = (float *)(first + offsets[i]);
    if (row >= 0 && row + x->size <= x->h && col >= 0 && col + x->size <= x->w) return;
    for (int i = 0; i < x->size; i++)
        for (int j = 0; j < x->size; j++)
            if (row + i < 0 || row + i >= x->h || col + j < 0 || col + j >= x->w)
                to[i * x->size + j] = x->outside;
}

/* The memory of a widened square at the end of a slot. */
static float *square_of(const pass *p, float *slot)
{
    return slot + p->slot_floats - padded(POINTS * df_max(p->x.c, p->y.c));
}

/* Transforms the squares of `count` tiles from pixels to points, (POINTS, count, c), or back. */
static void transform(const pass *p, const image *x, int64_t first, int64_t count, float *points,
                      squares f, bool back, float *slot)
{
    float *pixels[2][POINTS], *at[POINTS], *wide[POINTS];
    int64_t offsets[POINTS];
    const bool widens = df_is_reduced_float(x->stored);
    const int n_pixels = x->size * x->size;
    for (int i = 0; i < POINTS; i++) {
        offsets[i] = (i / x->size * x->w + i % x->size) * x->c * df_dtypes[x->stored].bytes;
        at[i] = points + i * count * x->c;
        wide[i] = widens ? square_of(p, slot) + i * x->c : NULL;
    }
    find_pixels(p, x, offsets, first, pixels[0]);
    for (int64_t t = 0; t < count; t++) {
        float **now = pixels[t % 2], **next = pixels[(t + 1) % 2];
        find_pixels(p, x, offsets, first + df_min(t + 1, count - 1), next);
        for (int i = 0; i < n_pixels && widens && !back; i++)
            DF_SYM(df_copy_wide)(x->stored, x->c, wide[i], now[i]);
        float **in = widens ? wide : now;
        f((const float *const *)(back ? at : in), back ? in : at, widens ? in : next, x->c);
        for (int i = 0; i < n_pixels && widens && back; i++)
            DF_SYM(df_copy_narrow)(x->stored, x->c, now[i], wide[i]);
        for (int i = 0; i < POINTS; i++) at[i] += x->c;
    }
}

/* Transforms filters w (taps squared, n) to points (36, n), n = c * k. */
typedef struct {
    const filtering *f;
    df_dtype stored; /* of filters */
    const void *from;
    void *to;
    int64_t n, c, k;
    int64_t n_sums; /* partial sums that the gradient adds */
} weights;

static void weights_task(void *context, int64_t begin, int64_t end)
{
    const weights *j = context;
    const float *from[MAX_TAPS * MAX_TAPS];
    float *to[POINTS], wide[MAX_TAPS * MAX_TAPS][WEIGHTS];
    for (int i = 0; i < j->f->taps * j->f->taps; i++)
        from[i] = df_piece(j->stored, j->from, i * j->n + begin, end - begin, wide[i]);
    for (int i = 0; i < POINTS; i++) to[i] = (float *)j->to + i * j->n + begin;
    j->f->weights(from, to, end - begin);
}

/* The products of a block at all points, C = op(A) B with (m x n) sums of k terms: rows of op(A)
 * are `row` apart, their elements `step` apart. */
typedef struct {
    int64_t m, n, k, row, step;
    bool accumulate;
} products;

static void multiply(const products *g, const float *a, const float *b, float *c, int64_t *rows)
{
    const df_conv_columns columns = df_conv_cut_columns(g->n, sizeof(float));
    const df_conv_segment segment = {0, g->k, 0};
    for (int64_t i = 0; i < g->m; i++) rows[i] = i * g->row;
    for (int64_t point = 0; point < POINTS; point++)
        for (int64_t p = 0; p < columns.n_panels; p++) {
            const int64_t col = df_conv_panel_start(&columns, p);
            const int64_t end = df_min(df_conv_panel_start(&columns, p + 1), g->n);
            const df_conv_panel panel = {
                .n_rows = g->m, .cols = end - col, .a = a + point * g->m * g->k, .rows = rows,
                .segments = &segment, .n_segments = 1, .step = g->step,
                .b = b + point * g->k * g->n + col, .b_row = g->n,
                .c = c + point * g->m * g->n + col, .c_row = g->n, .accumulate = g->accumulate};
            DF_SYM(df_conv_panel_run)(DF_F32, &panel);
        }
}

/* --- output and input gradient --- */

static void output_block(const pass *p, int64_t first, int64_t count, float *slot)
{
    const int64_t c = p->x.c, k = p->y.c;
    float *x = slot, *y = x + padded(POINTS * p->block * c);
    image out = p->y;
    out.outside = y + padded(POINTS * p->block * k);
    transform(p, &p->x, first, count, x, input_squares_f32, false, slot);
    const products g = {.m = count, .n = k, .k = c, .row = c, .step = 1};
    multiply(&g, x, p->filter, y, (int64_t *)(out.outside + padded(k)));
    transform(p, &out, first, count, y, p->f->output, true, slot);
}

static void output_task(void *context, int64_t begin, int64_t end)
{
    pass *p = context;
    (void)end;
    for (int64_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n_items;) {
        const int64_t first = i * p->block;
        output_block(p, first, df_min(p->block, p->n_tiles - first),
                     p->slots + begin * p->slot_floats);
    }
}

static int64_t n_slots(const pass *p) { return df_min(p->n_items, SLOTS); }

static void run_slots(pass *p, df_task task)
{
    const double macs = (double)p->n_tiles * POINTS * (double)p->x.c * (double)p->y.c;
    df_parallel_for(n_slots(p), 1, 2 * MAC_NS * macs / (double)n_slots(p), task, p);
}

int64_t DF_SYM(df_winograd_transformed_each)(const df_conv *c)
{
    return c->kernel[1] == c->kernel[2] && c->kernel[1] == filtering_of(c)->taps ? POINTS : 0;
}

void DF_SYM(df_winograd_transform)(const df_conv *c, const void *w, void *to)
{
    weights j = {.f = filtering_of(c), .stored = c->stored, .from = w, .to = to,
                 .n = c->c_in * c->c_out};
    df_parallel_for(j.n, WEIGHTS, 1.5, weights_task, &j);
}

/* Floats of the transformed filter; 0 if the caller provides it. */
static int64_t points_floats(const df_conv *c)
{
    return c->transformed ? 0 : padded(POINTS * c->c_in * c->c_out);
}

int64_t DF_SYM(df_winograd_forward_workspace)(const df_conv *c)
{
    const pass p = cut(c);
    return 4 * (points_floats(c) + padded(c->c_in) + n_slots(&p) * p.slot_floats);
}

void DF_SYM(df_winograd_forward)(const df_conv *c, const void *x, const void *w, void *y,
                                 void *workspace)
{
    pass p = cut(c);
    float *zeros = (float *)workspace + points_floats(c);
    memset(zeros, 0, (size_t)c->c_in * sizeof(float));
    if (!c->transformed)
        DF_SYM(df_winograd_transform)(c, w, workspace);
    p.x.data = (char *)x;
    p.x.outside = zeros;
    p.y.data = y;
    p.filter = c->transformed ? (float *)w : workspace;
    p.slots = zeros + padded(c->c_in);
    run_slots(&p, output_task);
}

/* The gradient of x is the convolution of dy with the transposed filter rotated by 180 degrees. */
static df_conv reversed(const df_conv *c)
{
    df_conv r = *c;
    r.c_in = c->c_out;
    r.c_out = c->c_in;
    for (int d = 1; d < 3; d++) {
        r.in[d] = c->out[d];
        r.out[d] = c->in[d];
        r.pad[d] = c->kernel[d] - 1 - c->pad[d];
    }
    return r;
}

/* Computes rows [begin, end) of the rotated filter (taps, taps, k, c). */
static void turn_task(void *context, int64_t begin, int64_t end)
{
    const weights *j = context;
    for (int64_t row = begin; row < end; row++) {
        const int64_t tap = j->f->taps * j->f->taps - 1 - row / j->k;
        const int64_t from = tap * j->c * j->k + row % j->k, to = row * j->c;
        for (int64_t c = 0; c < j->c && j->stored == DF_F32; c++)
            ((float *)j->to)[to + c] = ((const float *)j->from)[from + c * j->k];
        for (int64_t c = 0; c < j->c && j->stored != DF_F32; c++)
            ((uint16_t *)j->to)[to + c] = ((const uint16_t *)j->from)[from + c * j->k];
    }
}

int64_t DF_SYM(df_winograd_input_workspace)(const df_conv *c)
{
    const df_conv r = reversed(c);
    return 4 * padded(n_taps(c) * c->c_in * c->c_out) + DF_SYM(df_winograd_forward_workspace)(&r);
}

void DF_SYM(df_winograd_input)(const df_conv *c, const void *w, const void *dy, void *dx,
                               void *workspace)
{
    const df_conv r = reversed(c);
    float *turned = workspace, *rest = turned + padded(n_taps(c) * c->c_in * c->c_out);
    weights j = {.f = filtering_of(c), .stored = c->stored, .from = w, .to = turned,
                 .c = c->c_in, .k = c->c_out};
    df_parallel_for(n_taps(c) * c->c_out, 16, (double)c->c_in, turn_task, &j);
    DF_SYM(df_winograd_forward)(&r, dy, turned, dx, rest);
}

/* --- filter gradient --- */

/* Adds the products of a block to the sums of a group, or initialises them. */
static void filter_block(const pass *p, int64_t block, float *sums, bool accumulate, float *slot)
{
    const int64_t first = block * p->block, count = df_min(p->block, p->n_tiles - first);
    const int64_t c = p->x.c, k = p->y.c;
    float *x = slot, *y = x + padded(POINTS * p->block * c);
    transform(p, &p->x, first, count, x, input_squares_f32, false, slot);
    transform(p, &p->y, first, count, y, p->f->output_gradient, false, slot);
    const products g = {.m = c, .n = k, .k = count, .row = 1, .step = c, .accumulate = accumulate};
    multiply(&g, x, y, sums, (int64_t *)(y + padded(POINTS * p->block * k) + padded(k)));
}

/* Processes the blocks of a group in order. */
static void filter_task(void *context, int64_t begin, int64_t end)
{
    pass *p = context;
    (void)end;
    for (int64_t i; (i = atomic_fetch_add(&p->next, 1)) < p->n_items;) {
        const int64_t from = i * p->n_blocks / p->n_items;
        const int64_t to = (i + 1) * p->n_blocks / p->n_items;
        for (int64_t block = from; block < to; block++)
            filter_block(p, block, p->sums + i * POINTS * p->x.c * p->y.c, block > from,
                         p->slots + begin * p->slot_floats);
    }
}

static void weight_gradients_task(void *context, int64_t begin, int64_t end)
{
    const weights *j = context;
    const float *from[POINTS];
    float *to[MAX_TAPS * MAX_TAPS] = {0}, sums[POINTS][WEIGHTS], wide[MAX_TAPS * MAX_TAPS][WEIGHTS];
    const float *all = j->from;
    const int taps = j->f->taps * j->f->taps;
    for (int i = 0; i < POINTS; i++) {
        memcpy(sums[i], all + i * j->n + begin, (size_t)(end - begin) * sizeof(float));
        for (int64_t s = 1; s < j->n_sums; s++) {
            const float *more = all + (s * POINTS + i) * j->n + begin;
            for (int64_t at = 0; at < end - begin; at++) sums[i][at] += more[at];
        }
        from[i] = sums[i];
    }
    for (int i = 0; i < taps; i++)
        to[i] = df_piece_to(j->stored, j->to, i * j->n + begin, wide[i]);
    j->f->weight_gradient(from, to, end - begin);
    for (int i = 0; i < taps; i++)
        df_piece_done(j->stored, j->to, i * j->n + begin, end - begin, wide[i]);
}

static pass filter_pass(const df_conv *c)
{
    pass p = cut(c);
    p.n_items = df_min(df_max(p.n_tiles / GROUP_TILES, LEAST_BLOCKS), df_min(p.n_blocks, SLOTS));
    return p;
}

int64_t DF_SYM(df_winograd_filter_workspace)(const df_conv *c)
{
    const pass p = filter_pass(c);
    return 4 * (padded(p.n_items * POINTS * c->c_in * c->c_out) +
                padded(df_max(c->c_in, c->c_out)) + n_slots(&p) * p.slot_floats);
}

void DF_SYM(df_winograd_filter)(const df_conv *c, const void *x, const void *dy, void *dw,
                                void *workspace)
{
    pass p = filter_pass(c);
    const int64_t widest = df_max(c->c_in, c->c_out);
    float *sums = workspace, *zeros = sums + padded(p.n_items * POINTS * c->c_in * c->c_out);
    memset(zeros, 0, (size_t)widest * sizeof(float));
    p.x.data = (char *)x;
    p.y.data = (char *)dy;
    p.x.outside = p.y.outside = zeros;
    p.sums = sums;
    p.slots = zeros + padded(widest);
    run_slots(&p, filter_task);
    weights j = {.f = p.f, .stored = c->stored, .from = sums, .to = dw,
                 .n = c->c_in * c->c_out, .n_sums = p.n_items};
    df_parallel_for(j.n, WEIGHTS, 2.0 * (double)p.n_items, weight_gradients_task, &j);
}

/* --- selection --- */

bool DF_SYM(df_winograd_applies)(const df_conv *c)
{
    bool fits = c->kernel[1] == F43.taps || c->kernel[1] == F25.taps;
    fits = fits && c->dtype == DF_F32 && !c->exact && c->groups == 1 && c->in[0] == 1 &&
                c->out[0] == 1 && c->kernel[0] == 1 && c->pad[0] == 0;
    for (int d = 1; d < 3; d++)
        fits = fits && c->kernel[d] == c->kernel[1] && c->stride[d] == 1 && c->dilation[d] == 1 &&
               c->in[d] > 0;
    if (!fits || df_min(c->c_in, c->c_out) < LEAST_CHANNELS ||
        df_max(c->c_in, c->c_out) > MOST_CHANNELS)
        return false;
    const pass p = cut(c);
    const int64_t least = LEAST_TILES + c->c_in * c->c_out / WEIGHTS_PER_TILE;
    const int64_t covered = p.f->tile * p.f->tile * p.n_tiles;
    return p.n_tiles >= least && covered <= 2 * c->n * c->out[1] * c->out[2];
}
