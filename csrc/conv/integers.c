/* Convolutions of bytes: an integer product of patches and filters, see integers.h.
 *
 * Patches of some output pixels are copied at a time, with the padding, as rows of bytes; the
 * product packs them while they are in cache. Filters are packed once. Filters of one pixel read
 * the image in place. Depthwise filters have no product: pairs of taps are multiplied directly. */
#include "simd/lanes_bytes.h"
#include "base/thread.h"
#include "conv/integers.h"
#include "conv/image.h"

#define BLOCKS 8            /* workspaces: chunks of pixels that are computed at a time */
#define PATCH_BYTES 131072  /* of a chunk, */
#define LEAST_PIXELS 24     /* but at least this many pixels, */
#define MOST_PIXELS 512     /* at most this many, */
#define FEW_PIXELS 96       /* and at least this many if there are enough for all blocks */
#define MAX_TAPS 128        /* of depthwise filters that are multiplied directly */
#define DEPTHWISE_PIXELS 16 /* per chunk */
#define WIDE 4              /* vectors of channels that are summed at a time */
#define UNROLL _Pragma("GCC unroll 4")

typedef struct {
    const df_conv_integers *t;
    int64_t k, columns; /* terms of a sum, outputs of a group */
    int64_t pixels, chunk, per_block; /* output pixels in all and per chunk; chunks per block */
    int64_t packed_bytes, patch_bytes, block_bytes; /* packed_bytes: of the filters of a group */
    bool packs;
    char *packed, *blocks;
} integers;

static bool is_empty(const df_conv *c)
{
    return c->n == 0 || c->c_in == 0 || c->c_out == 0 || df_conv_pixels(c) == 0;
}

static bool is_in_place(const df_conv *c)
{
    for (int d = 0; d < 3; d++)
        if (c->kernel[d] != 1 || c->pad[d] != 0 || c->out[d] != c->in[d]) return false;
    return true;
}

static bool is_depthwise(const df_conv *c)
{
    return c->groups == c->c_in && c->c_out == c->c_in && df_conv_taps(c) <= MAX_TAPS;
}

/* The product of `m` pixels with the filters of a group. */
static df_gemm product_of(const df_conv_integers *t, int64_t m)
{
    const df_conv *c = &t->c;
    df_gemm g = {.dtype = c->dtype, .mixed = t->w_dtype != c->dtype, .m = m,
                 .n = df_conv_group_out(c), .k = df_conv_taps(c) * df_conv_group_in(c),
                 .ldb = c->c_out, .ldc = c->c_out};
    g.lda = is_in_place(c) ? c->c_in : g.k;
    return g;
}

static integers plan(const df_conv_integers *t)
{
    const df_conv *c = &t->c;
    integers p = {.t = t, .k = df_conv_taps(c) * df_conv_group_in(c),
                  .columns = df_conv_group_out(c), .pixels = c->n * df_conv_pixels(c)};
    if (is_in_place(c)) {
        const df_gemm g = product_of(t, p.pixels);
        p.chunk = p.pixels;
        p.block_bytes = DF_SYM(df_gemm_workspace)(&g);
        return p;
    }
    p.chunk = df_max(FEW_PIXELS, df_min(MOST_PIXELS, PATCH_BYTES / p.k));
    p.chunk = df_min(p.chunk, df_max(LEAST_PIXELS, df_ceil_div(p.pixels, BLOCKS)));
    p.per_block = df_ceil_div(df_ceil_div(p.pixels, p.chunk), BLOCKS);
    df_gemm g = product_of(t, p.chunk);
    p.packed_bytes = DF_SYM(df_gemm_packed_bytes)(&g);
    g.packed_b = p.packs = p.packed_bytes > 0;
    p.packed_bytes = df_conv_align(df_max(p.packed_bytes, 0));
    p.patch_bytes = df_conv_align(df_conv_mul_bytes(p.chunk, p.k));
    p.block_bytes = df_conv_sum_bytes(p.patch_bytes, DF_SYM(df_gemm_workspace)(&g));
    return p;
}

/* Pairs of taps, and channels rounded up to vectors. */
static int64_t tap_pairs(const df_conv *c) { return (df_conv_taps(c) + 1) / 2; }
static int64_t padded_channels(const df_conv *c)
{
    return df_ceil_div(c->c_in, PAIR_LANES) * PAIR_LANES;
}

int64_t DF_SYM(df_conv_integers_workspace)(const df_conv_integers *t)
{
    const df_conv *c = &t->c;
    if (is_empty(c)) return 0;
    if (is_depthwise(c)) {
        const int64_t filters = df_conv_mul_bytes(padded_channels(c), 4 * tap_pairs(c));
        return df_conv_sum_bytes(df_conv_align(filters), df_conv_align(c->c_in));
    }
    const integers p = plan(t);
    if (is_in_place(c)) return p.block_bytes;
    return df_conv_sum_bytes(df_conv_mul_bytes(p.packed_bytes, c->groups),
                             df_conv_mul_bytes(df_conv_align(p.block_bytes), BLOCKS));
}

/* An output pixel, and the position of its window in the image, which may begin in the padding. */
typedef struct {
    int64_t image, pixel[3], at[3];
} window;

static window window_of(const df_conv *c, int64_t pixel)
{
    window w;
    for (int d = 2; d >= 0; d--) {
        w.pixel[d] = pixel % c->out[d];
        w.at[d] = w.pixel[d] * c->stride[d] - c->pad[d];
        pixel /= c->out[d];
    }
    w.image = pixel;
    return w;
}

/* Moves to the next output pixel, without divisions. */
static void advance(const df_conv *c, window *w)
{
    for (int d = 2; d >= 0; d--) {
        w->at[d] += c->stride[d];
        if (++w->pixel[d] < c->out[d]) return;
        w->pixel[d] = 0;
        w->at[d] = -c->pad[d];
    }
    w->image++;
}

/* The line of the image under a line of taps; NULL: padding. */
static const uint8_t *line_of(const df_conv_integers *t, const window *w, int64_t i, int64_t j)
{
    const df_conv *c = &t->c;
    const int64_t z = w->at[0] + i * c->dilation[0], y = w->at[1] + j * c->dilation[1];
    if (z < 0 || z >= c->in[0] || y < 0 || y >= c->in[1]) return NULL;
    return (const uint8_t *)t->x + ((w->image * c->in[0] + z) * c->in[1] + y) * c->in[2] * c->c_in;
}

/* --- products --- */

/* memcpy, faster for a few bytes: the words may overlap. */
static void copy_bytes(uint8_t *to, const uint8_t *from, int64_t n)
{
    uint64_t word;
    if (n > 64 || n < (int64_t)sizeof word) {
        memcpy(to, from, (size_t)n);
        return;
    }
    for (int64_t i = 0; i < n; i += (int64_t)sizeof word) {
        const int64_t at = df_min(i, n - (int64_t)sizeof word);
        memcpy(&word, from + at, sizeof word);
        memcpy(to + at, &word, sizeof word);
    }
}

/* Copies the channels of a group under one line of taps, from column x of the image on. */
static uint8_t *copy_line(const integers *p, uint8_t *to, const uint8_t *line, int64_t x)
{
    const df_conv *c = &p->t->c;
    const int64_t each = df_conv_group_in(c), step = c->dilation[2], taps = c->kernel[2];
    const int64_t skip = x < 0 ? df_min(df_ceil_div(-x, step), taps) : 0;
    const int64_t inside = x >= c->in[2] ? 0 : df_min(df_ceil_div(c->in[2] - x, step), taps);
    const int64_t end = line ? df_max(skip, inside) : skip;
    memset(to, p->t->zero, (size_t)(skip * each));
    memset(to + end * each, p->t->zero, (size_t)((taps - end) * each));
    if (step == 1 && each == c->c_in && end > skip)
        copy_bytes(to + skip * each, line + (x + skip) * each, (end - skip) * each);
    else
        for (int64_t k = skip; k < end; k++)
            copy_bytes(to + k * each, line + (x + k * step) * c->c_in, each);
    return to + taps * each;
}

static void copy_patches(const integers *p, int64_t group, int64_t begin, int64_t end, uint8_t *to)
{
    const df_conv *c = &p->t->c;
    window w = window_of(c, begin);
    for (int64_t pixel = begin; pixel < end; pixel++, advance(c, &w)) {
        for (int64_t i = 0; i < c->kernel[0]; i++)
            for (int64_t j = 0; j < c->kernel[1]; j++) {
                const uint8_t *line = line_of(p->t, &w, i, j);
                to = copy_line(p, to, line ? line + group * df_conv_group_in(c) : NULL, w.at[2]);
            }
    }
}

static void run_group(const integers *p, int64_t group, df_gemm *g, int64_t pixel, void *workspace)
{
    const df_conv_integers *t = p->t;
    g->b = (const char *)t->w + group * p->columns;
    if (p->packs) {
        g->packed_b = true;
        g->b = p->packed + group * p->packed_bytes;
    }
    g->c = t->y + pixel * t->c.c_out + group * p->columns;
    DF_SYM(df_gemm)(g, workspace);
}

static void finish(const df_conv_integers *t, int64_t begin, int64_t end)
{
    const int64_t columns = t->c.c_out;
    if (t->epilogue.piece)
        t->epilogue.piece(t->epilogue.context, begin, end - begin, 0, columns,
                          t->y + begin * columns, columns);
}

static void block_task(void *context, int64_t begin, int64_t end)
{
    const integers *p = context;
    char *patches = p->blocks + begin / p->per_block * df_conv_align(p->block_bytes);
    for (int64_t i = begin; i < end; i++) {
        const int64_t first = i * p->chunk, last = df_min(first + p->chunk, p->pixels);
        for (int64_t group = 0; group < p->t->c.groups; group++) {
            df_gemm g = product_of(p->t, last - first);
            copy_patches(p, group, first, last, (uint8_t *)patches);
            g.a = patches;
            run_group(p, group, &g, first, patches + p->patch_bytes);
        }
        finish(p->t, first, last);
    }
}

static void finish_task(void *context, int64_t begin, int64_t end)
{
    finish(context, begin, end);
}

static void run_products(const df_conv_integers *t, char *workspace)
{
    const df_conv *c = &t->c;
    integers p = plan(t);
    if (is_in_place(c)) {
        df_gemm g = product_of(t, p.pixels);
        g.epilogue = c->groups == 1 ? t->epilogue.piece : NULL;
        g.context = t->epilogue.context;
        for (int64_t group = 0; group < c->groups; group++) {
            g.a = (const char *)t->x + group * df_conv_group_in(c);
            run_group(&p, group, &g, 0, workspace);
        }
        if (t->epilogue.piece && c->groups > 1)
            df_parallel_for(p.pixels, df_ceil_div(4096, c->c_out), 0.2 * (double)c->c_out,
                            finish_task, (void *)t);
        return;
    }
    p.packed = workspace;
    p.blocks = workspace + p.packed_bytes * c->groups;
    df_gemm g = product_of(t, p.chunk);
    for (int64_t group = 0; group < c->groups && p.packs; group++) {
        g.b = (const char *)t->w + group * p.columns;
        DF_SYM(df_gemm_pack)(&g, p.packed + group * p.packed_bytes);
    }
    const double macs = (double)p.chunk * (double)p.k * (double)c->c_out;
    df_parallel_for(df_ceil_div(p.pixels, p.chunk), p.per_block, macs / 64, block_task, &p);
}

/* --- depthwise --- */

typedef struct {
    const df_conv_integers *t;
    const int32_t *filters; /* pairs of taps x channels */
    const uint8_t *zeros;   /* a pixel of padding */
} depthwise;

/* The pixels under all taps; an odd tap at the end is repeated, its filter is 0. */
static void find_taps(const depthwise *p, const window *w, const uint8_t **taps)
{
    const df_conv *c = &p->t->c;
    for (int64_t i = 0; i < c->kernel[0]; i++)
        for (int64_t j = 0; j < c->kernel[1]; j++) {
            const uint8_t *line = line_of(p->t, w, i, j);
            for (int64_t k = 0; k < c->kernel[2]; k++) {
                const int64_t x = w->at[2] + k * c->dilation[2];
                *taps++ = line && x >= 0 && x < c->in[2] ? line + x * c->c_in : p->zeros;
            }
        }
    *taps = taps[-1];
}

/* Sums `vectors` vectors of channels from channel i on. */
DF_INLINE void sum_channels(const int vectors, const depthwise *p,
                            const uint8_t *const *taps, int64_t i, int32_t *y)
{
    const df_conv *c = &p->t->c;
    const int64_t pairs = tap_pairs(c), width = padded_channels(c);
    const int16_t low = byte_mask(c->dtype);
    v_i32 sum[WIDE] = {{0}};
    for (int64_t k = 0; k < pairs; k++) {
        const uint8_t *even = taps[2 * k] + i, *odd = taps[2 * k + 1] + i;
        const int32_t *filters = p->filters + k * width + i;
        UNROLL for (int j = 0; j < vectors; j++)
            sum[j] = add_pairs(pair_bytes(low, even + j * PAIR_LANES, odd + j * PAIR_LANES),
                               load_i32(filters + j * PAIR_LANES), sum[j]);
    }
    UNROLL for (int j = 0; j < vectors; j++) store_i32(y + j * PAIR_LANES, sum[j]);
}

static void sum_pixel(const depthwise *p, const uint8_t *const *taps, int32_t *y)
{
    const df_conv *c = &p->t->c;
    const int64_t pairs = tap_pairs(c), width = padded_channels(c);
    const int16_t low = byte_mask(c->dtype);
    int64_t i = 0;
    for (; i + WIDE * PAIR_LANES <= c->c_in; i += WIDE * PAIR_LANES)
        sum_channels(WIDE, p, taps, i, y + i);
    for (; i + PAIR_LANES <= c->c_in; i += PAIR_LANES)
        sum_channels(1, p, taps, i, y + i);
    if (i == c->c_in) return;
    v_i32 sum = {0};
    for (int64_t k = 0; k < pairs; k++)
        sum = add_pairs(pair_bytes_n(low, taps[2 * k] + i, taps[2 * k + 1] + i, c->c_in - i),
                        load_i32(p->filters + k * width + i), sum);
    store_n_i32(y + i, sum, c->c_in - i);
}

static void depthwise_task(void *context, int64_t begin, int64_t end)
{
    const depthwise *p = context;
    const int64_t channels = p->t->c.c_in;
    const uint8_t *taps[MAX_TAPS + 1];
    window w = window_of(&p->t->c, begin);
    for (int64_t pixel = begin; pixel < end; pixel++, advance(&p->t->c, &w)) {
        find_taps(p, &w, taps);
        sum_pixel(p, taps, p->t->y + pixel * channels);
    }
    finish(p->t, begin, end);
}

static void pack_depthwise(const df_conv_integers *t, int32_t *to)
{
    const int64_t taps = df_conv_taps(&t->c), channels = t->c.c_in;
    const int16_t low = byte_mask(t->w_dtype);
    for (int64_t k = 0; k < taps; k += 2)
        for (int64_t i = 0; i < padded_channels(&t->c); i++) {
            const uint8_t *w = (const uint8_t *)t->w + k * channels;
            *to++ = i >= channels ? 0
                                  : pair_of(byte_at(low, w, i),
                                            k + 1 < taps ? byte_at(low, w, channels + i) : 0);
        }
}

static void run_depthwise(const df_conv_integers *t, char *workspace)
{
    const df_conv *c = &t->c;
    const int64_t bytes = df_conv_align(padded_channels(c) * 4 * tap_pairs(c));
    const depthwise p = {t, (int32_t *)workspace, (uint8_t *)workspace + bytes};
    pack_depthwise(t, (int32_t *)workspace);
    memset(workspace + bytes, t->zero, (size_t)c->c_in);
    const double macs = (double)(df_conv_taps(c) * c->c_in);
    df_parallel_for(c->n * df_conv_pixels(c), DEPTHWISE_PIXELS, macs / 8, depthwise_task,
                    (void *)&p);
}

void DF_SYM(df_conv_integers)(const df_conv_integers *t, void *workspace)
{
    const df_conv *c = &t->c;
    const int64_t size = c->n * df_conv_pixels(c) * c->c_out;
    if (is_empty(c)) {
        if (size) memset(t->y, 0, (size_t)size * sizeof(int32_t));
        if (size) finish(t, 0, c->n * df_conv_pixels(c));
    } else if (is_depthwise(c)) {
        run_depthwise(t, workspace);
    } else {
        run_products(t, workspace);
    }
}
