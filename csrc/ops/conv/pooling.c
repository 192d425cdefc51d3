/* Pooling: the maximum or the mean of each window, and the gradients.
 *
 * Each pixel of a result, for all channels, is computed by one call of a formula from a patch of
 * input pixels: the pixels of a window, or in the gradient the windows of a pixel. So no element is
 * written by two tasks, and sums have one order for any number of threads.
 *
 * For the gradient the position of each maximum is stored: as a byte, the index of its pixel in the
 * window, or as an int32, its index in the image of depth * height * width pixels. */
#include "ops/in_float.h"
#include "op/windows.h"
#include "base/thread.h"
#include "gemm/half.h"
#include "simd/lanes.h"

#include <stdatomic.h>

enum { WINDOW_ATTRS = 0, PLACES = DF_N_WINDOW_ATTRS, GRAD_SHAPE = 0, GRAD_WINDOW_ATTRS = 1 };
enum { RUN = 64 }; /* pixels of a row per partial sum */
enum { WIDENED = 4096 }; /* elements of 16-bit floats that are widened at a time, L1 */

/* The input of one pixel of the result: along each dimension `n` pixels, `jump` elements apart. */
typedef struct {
    int64_t channels, n[DF_SPACE], jump[DF_SPACE];
    int place_bytes;
    int64_t place;                    /* of the first pixel; in the gradient: of this pixel in the
                                       * first window, */
    int64_t place_jump[DF_SPACE];     /* and its change from one window to the next */
    double share;                     /* 1 / number of pixels */
    const df_reach *shares[DF_SPACE]; /* gradient: the reach of each window, */
    int64_t step[DF_SPACE];           /* and the distance between them */
} patch;

/* A row of pixels of the result. */
typedef struct {
    patch p;   /* along height and depth; `place` and `share` exclude the width */
    bool back; /* gradient: the result has the pixels of the image, the input the windows */
    int64_t width;
    const df_reach *wide;    /* of each pixel of the row */
    const df_reach *windows; /* gradient: along the width */
    void *out, *places;             /* of the first pixel of the result; NULL: no positions */
    const void *in, *places_in;     /* of the first input pixel of the row, before the width is
                                     * taken into account */
} row;

typedef void (*row_fn)(const row *r);

/* Offset in elements of position c of `places` from the first pixel of a patch; -1 if it is outside
 * the patch. Positions may come from arbitrary memory, so they are checked. */
static int64_t offset_of(const patch *p, const void *places, int64_t c)
{
    int64_t rest = p->place_bytes == 1 ? ((const uint8_t *)places)[c]
                                       : ((const int32_t *)places)[c];
    int64_t at = 0;
    rest -= p->place;
    for (int d = 0; d < DF_SPACE; d++) {
        const int64_t k = p->n[d] > 1 ? rest / p->place_jump[d] : 0;
        if (k < 0 || k >= p->n[d]) return -1;
        at += k * p->jump[d];
        rest -= k * p->place_jump[d];
    }
    return rest == 0 ? at : -1;
}

#define TEMPLATE "ops/conv/pooling_formulas.h"
#include "ops/each_float.h"
#define DTYPE_FLOAT 0
#define DTYPE i32
#include TEMPLATE
#undef DTYPE
#define DTYPE i64
#include TEMPLATE
#undef DTYPE
#undef DTYPE_FLOAT
#undef TEMPLATE

#define OF_FLOATS(name) [DF_F32] = name##_row_f32, DF_OF(F64, name##_row_f64)
#define OF_INTS(name) DF_OF(I32, name##_row_i32), DF_OF(I64, name##_row_i64)
static const row_fn largest[DF_N_DTYPES] = {OF_FLOATS(max), OF_INTS(max)};
static const row_fn largest_grad[DF_N_DTYPES] = {OF_FLOATS(max_grad), OF_INTS(max_grad)};
static const row_fn average[DF_N_DTYPES] = {OF_FLOATS(avg)};
static const row_fn mean_grad[DF_N_DTYPES] = {OF_FLOATS(avg_grad)};
static const row_fn pick[DF_N_DTYPES] = {OF_FLOATS(pick), OF_INTS(pick)};

/* --- shapes ------------------------------------------------------------------------------------*/

/* (batch, number of windows per dimension, channels). */
static int pooled_shape(const df_windows *w, int ndim, int64_t shape[DF_SPACE + 2])
{
    shape[0] = w->batch;
    for (int d = 1; d < ndim - 1; d++) shape[d] = w->dim[DF_SPACE - (ndim - 1) + d].count;
    shape[ndim - 1] = w->channels;
    return ndim;
}

static int64_t pixels_of(const df_windows *w)
{
    int64_t pixels = 1;
    for (int d = 0; d < DF_SPACE; d++)
        if (w->dim[d].image == DF_UNKNOWN) return DF_UNKNOWN;
        else if (!df_mul_size(pixels, w->dim[d].image, &pixels)) return INT64_MAX;
    return pixels;
}

/* Checks that a dtype can represent the positions. */
static df_status check_places(const df_call *call, df_dtype places, const df_windows *w,
                              df_error *err)
{
    const int64_t pixels = pixels_of(w);
    int64_t taps = 1;
    bool fit = !w->dim[DF_SPACE - 1].spread; /* with spread windows pixels have no index in the
                                              * window */
    for (int d = 0; d < DF_SPACE; d++)
        fit = fit && df_mul_size(taps, w->dim[d].window, &taps) && taps <= 256;
    if (places == DF_U8 ? fit : places == DF_I32 && pixels <= INT32_MAX) return DF_OK;
    if (places != DF_U8 && places != DF_I32)
        return df_fail(err, DF_BAD_DTYPE, "%s: positions are %s, expected uint8 or int32",
                       call->op->name, df_dtypes[places].name);
    return df_fail(err, DF_OVERFLOW,
                   "%s: images of %lld pixels, windows of %lld, expected at most the range of %s",
                   call->op->name, (long long)pixels, (long long)taps, df_dtypes[places].name);
}

/* Checks that a tensor has the shape of one value per window. */
static df_status check_pooled(const df_call *call, const df_tensor *t, const df_windows *w,
                              int ndim, df_error *err)
{
    int64_t want[DF_SPACE + 2];
    pooled_shape(w, ndim, want);
    bool fits = t->ndim == ndim;
    for (int d = 0; d < ndim && fits; d++)
        fits = t->shape[d] == want[d] || t->shape[d] == DF_UNKNOWN || want[d] == DF_UNKNOWN;
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: a value per window of shape %s, expected %s",
                   call->op->name, df_shape_text(t->ndim, t->shape).text,
                   df_shape_text(ndim, want).text);
}

DF_ONCE(df_status, infer_pool, (const df_call *call, const row_fn *fns, const char *wanted,
                                df_error *err))
{
    const df_tensor *x = call->in[0];
    df_windows w;
    int64_t shape[DF_SPACE + 2];
    if (!fns[x->dtype]) return df_fail_dtype(call, 0, wanted, err);
    df_status status = df_windows_of(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, &w, err);
    const df_dtype places = call->n_out == 2 ? (df_dtype)call->attrs[PLACES].i : DF_I32;
    if (status == DF_OK && call->n_out == 2) status = check_places(call, places, &w, err);
    if (status != DF_OK) return status;
    pooled_shape(&w, x->ndim, shape);
    for (int k = 0; k < call->n_out && status == DF_OK; k++)
        status = df_tensor_set(call->out[k], k ? places : x->dtype, x->ndim, shape,
                               call->op->name, err);
    return status;
}

static df_status infer_max_pool(const df_call *call, df_error *err)
{
    return infer_pool(call, largest, "float, int32 or int64", err);
}

static df_status infer_avg_pool(const df_call *call, df_error *err)
{
    return infer_pool(call, average, "a floating dtype", err);
}

DF_ONCE(df_status, infer_pool_grad, (const df_call *call, df_error *err))
{
    const df_tensor *g = call->in[0];
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    df_windows w;
    if (!largest_grad[g->dtype])
        return df_fail_dtype(call, 0, "float, int32 or int64", err);
    if (call->n_in == 1 && !mean_grad[g->dtype])
        return df_fail_dtype(call, 0, "a floating dtype", err);
    df_status status = df_windows_of(call, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, &w,
                                     err);
    if (status == DF_OK && call->n_in == 2)
        status = check_places(call, call->in[1]->dtype, &w, err);
    for (int k = 0; k < call->n_in && status == DF_OK; k++)
        status = check_pooled(call, call->in[k], &w, (int)shape.n, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], g->dtype, (int)shape.n, shape.v, call->op->name, err);
}

DF_ONCE(df_status, infer_pick, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0], *places = call->in[1];
    df_windows w;
    if (!pick[x->dtype]) return df_fail_dtype(call, 0, "float, int32 or int64", err);
    df_status status = df_windows_of(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, &w, err);
    if (status == DF_OK) status = check_places(call, places->dtype, &w, err);
    if (status == DF_OK) status = check_pooled(call, places, &w, x->ndim, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], x->dtype, places->ndim, places->shape, call->op->name, err);
}

/* --- execution -------------------------------------------------------------------------------- */

typedef struct {
    row_fn fn;
    bool back; /* gradient: the result has the pixels of the image, the input the windows */
    int64_t channels, to[DF_SPACE], from[DF_SPACE], step[DF_SPACE];
    int64_t jump[DF_SPACE];          /* distance of pixels of a patch, in pixels */
    int64_t taps[DF_SPACE];          /* change of the index of a pixel within its window */
    int64_t place_jump[DF_SPACE];
    const df_reach *reach[DF_SPACE]; /* of each pixel of the result */
    const df_reach *windows[DF_SPACE];
    int place_bytes;
    df_dtype stored;  /* of in and out */
    int64_t most;     /* elements that the pixels of a patch span, with the result, at most */
    char *out, *places;
    const char *in, *places_in;
    atomic_bool *failed; /* out of memory */
} job;

/* Memory for the widened input and the results of a piece of a row, and the positions among the
 * input. */
typedef struct {
    float *in, *out;
    char *places;
} widened;

static df_buffer *widened_of(const job *j, widened *to)
{
    const int64_t n = df_max(j->most, WIDENED);
    df_buffer *memory = df_buffer_new(n * (4 + (j->places_in ? j->place_bytes : 0)));
    if (!memory) atomic_store(j->failed, true);
    else *to = (widened){.in = memory->data, .places = (char *)memory->data + 4 * n};
    return memory;
}

/* The number of pixels of the result from w on whose input is widened at a time, and the input
 * pixels [*low, *high) of a line that they read. */
static int64_t cut_piece(const row *r, int64_t w, int64_t *low, int64_t *high)
{
    const int64_t lines = r->p.n[0] * r->p.n[1];
    int64_t n = 0;
    for (*low = INT64_MAX, *high = 0; w + n < r->width; n++) {
        const df_reach reach = r->wide[w + n];
        const int64_t end = reach.first + (reach.n - 1) * r->p.jump[2] / r->p.channels + 1;
        const int64_t from = reach.n ? df_min(*low, reach.first) : *low;
        const int64_t to = reach.n ? df_max(*high, end) : *high;
        if (n && (lines * df_max(to - from, 0) + n + 1) * r->p.channels > WIDENED) break;
        *low = from;
        *high = to;
    }
    *low = df_min(*low, *high);
    return n;
}

/* Computes a row of 16-bit floats in pieces, with their input lines adjacent. `from`, `to`:
 * positions of the row in the input and the result. */
static void run_in_pieces(const job *j, const row *r, int64_t from, int64_t to, widened *wide)
{
    const int64_t channels = j->channels, b = j->place_bytes;
    for (int64_t w = 0, n, low, high; w < r->width; w += n) {
        row piece = *r;
        n = cut_piece(r, w, &low, &high);
        const int64_t line = (high - low) * channels;
        for (int64_t i = 0; i < r->p.n[0] * r->p.n[1]; i++) {
            const int64_t at = i / r->p.n[1] * r->p.jump[0] + i % r->p.n[1] * r->p.jump[1] +
                               low * channels;
            df_piece(j->stored, j->in, from + at, line, wide->in + i * line);
            if (r->places_in)
                memcpy(wide->places + i * line * b, (const char *)r->places_in + at * b,
                       (size_t)(line * b));
        }
        wide->out = wide->in + r->p.n[0] * r->p.n[1] * line;
        piece.p.jump[0] = r->p.n[1] * line;
        piece.p.jump[1] = line;
        if (j->back && b == 4) piece.p.place += w; /* the index of a pixel */
        piece.wide += w;
        piece.width = n;
        piece.out = wide->out;
        piece.in = wide->in - low * channels;
        if (r->places) piece.places = (char *)r->places + w * channels * b;
        if (r->places_in) piece.places_in = wide->places - low * channels * b;
        j->fn(&piece);
        df_piece_done(j->stored, j->out, to + w * channels, n * channels, wide->out);
    }
}

/* Computes rows [begin, end) of (batch, depth, height) of the result. */
static void pool_rows(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const bool widens = df_is_reduced_float(j->stored);
    widened wide = {0};
    df_buffer *memory = widens ? widened_of(j, &wide) : NULL;
    if (widens && !memory) return;
    row r = {.p = {.channels = j->channels, .place_bytes = j->place_bytes}, .back = j->back,
             .width = j->to[2], .wide = j->reach[2], .windows = j->windows[2]};
    for (int k = 0; k < DF_SPACE; k++) {
        r.p.jump[k] = j->jump[k] * j->channels;
        r.p.place_jump[k] = j->place_jump[k];
        r.p.step[k] = j->step[k];
    }
    for (int64_t i = begin; i < end; i++) {
        const int64_t h = i % j->to[1], d = i / j->to[1] % j->to[0];
        const int64_t image = i / j->to[1] / j->to[0];
        const df_reach deep = j->reach[0][d], high = j->reach[1][h];
        const int64_t first = (deep.first * j->from[1] + high.first) * j->from[2];
        const int64_t to = i * j->to[2] * j->channels;
        const int64_t from = (image * j->from[0] * j->from[1] * j->from[2] + first) * j->channels;
        r.p.n[0] = deep.n;
        r.p.n[1] = high.n;
        r.p.share = deep.share * high.share;
        r.p.shares[0] = j->windows[0] + deep.first;
        r.p.shares[1] = j->windows[1] + high.first;
        if (j->place_bytes == 1) r.p.place = deep.tap * j->taps[0] + high.tap * j->taps[1];
        else r.p.place = j->back ? (d * j->to[1] + h) * j->to[2] : first;
        r.out = df_element(j->stored, j->out, to);
        r.in = df_element(j->stored, j->in, from);
        if (j->places) r.places = j->places + to * j->place_bytes;
        if (j->places_in) r.places_in = j->places_in + from * j->place_bytes;
        if (widens) run_in_pieces(j, &r, from, to, &wide);
        else j->fn(&r);
    }
    df_buffer_release(memory);
}

/* Number of reaches in the workspace: of each window, in the gradient also of each pixel of a
 * row. */
static int64_t count_reaches(const df_windows *w, bool back)
{
    int64_t n = 0;
    for (int d = 0; d < DF_SPACE; d++) n += w->dim[d].count + (back ? w->dim[d].image : 0);
    return n;
}

DF_ONCE(int64_t, workspace_of_pool, (const df_call *call, int64_t ndim, const int64_t *shape,
                                     const df_attr *attrs, bool back))
{
    df_windows w;
    df_error never; /* infer has checked everything */
    if (call->out[0]->size <= 0) return 0;
    if (df_windows_of(call, ndim, shape, attrs, &w, &never) != DF_OK) return 0;
    return count_reaches(&w, back) * (int64_t)sizeof(df_reach);
}

static int64_t workspace_pool(const df_call *call)
{
    const df_tensor *x = call->in[0];
    return workspace_of_pool(call, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, false);
}

static int64_t workspace_grad(const df_call *call)
{
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    return workspace_of_pool(call, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, true);
}

/* Lists the reaches along dimension d; returns the end of the list. */
static df_reach *list_reaches(job *j, const df_window_dim *dim, int d, df_reach *list)
{
    j->windows[d] = j->reach[d] = list;
    for (int64_t o = 0; o < dim->count; o++) *list++ = df_pixels_of(dim, o);
    if (j->back) {
        j->reach[d] = list;
        for (int64_t i = 0; i < dim->image; i++) *list++ = df_windows_at(dim, i);
    }
    j->to[d] = j->back ? dim->image : dim->count;
    j->from[d] = j->back ? dim->count : dim->image;
    j->step[d] = j->back ? df_windows_step(dim) : dim->spread ? 1 : dim->dilation;
    return list;
}

/* Sets the changes of pixel indices and positions along each dimension. */
static void find_jumps(job *j, const df_windows *w)
{
    int64_t pixels = 1, taps = 1;
    for (int d = DF_SPACE - 1; d >= 0; d--) {
        const df_window_dim *dim = &w->dim[d];
        j->jump[d] = j->step[d] * pixels;
        j->taps[d] = taps;
        if (j->place_bytes == 1) j->place_jump[d] = j->back ? -df_taps_step(dim) * taps : taps;
        else j->place_jump[d] = j->back ? 0 : j->jump[d];
        pixels *= j->from[d];
        taps *= dim->window;
    }
}

static df_status run_windows(const df_call *call, job *j, int64_t ndim, const int64_t *shape,
                             const df_attr *attrs, df_error *err)
{
    df_reach *list = call->workspace;
    df_windows w;
    atomic_bool failed = false;
    double taps = 1;
    int64_t most[DF_SPACE] = {1, 1, 1};
    if (call->out[0]->size <= 0) return DF_OK;
    df_status status = df_windows_of(call, ndim, shape, attrs, &w, err);
    if (status != DF_OK) return status;
    for (int d = 0; d < DF_SPACE; d++) {
        list = list_reaches(j, &w.dim[d], d, list);
        taps *= (double)df_max(j->reach[d][j->to[d] / 2].n, 1);
        for (int64_t i = 0; i < j->to[d]; i++) most[d] = df_max(most[d], j->reach[d][i].n);
    }
    find_jumps(j, &w);
    j->channels = w.channels;
    j->stored = call->in[0]->dtype;
    j->most = (most[0] * most[1] * ((most[2] - 1) * j->step[2] + 1) + 1) * w.channels;
    j->failed = &failed;
    j->in = call->in[0]->data;
    j->out = call->out[0]->data;
    const double each = (double)(j->to[2] * w.channels) * (0.1 + 0.1 * taps);
    const int64_t grain = (int64_t)(8192 / each) + 1;
    df_parallel_for(w.batch * j->to[0] * j->to[1], grain, each, pool_rows, j);
    if (failed) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for a row", call->op->name);
    return DF_OK;
}

/* `places`: for the pixels of the result, or NULL. */
static df_status run_pool(const df_call *call, const row_fn *fns, const df_tensor *places,
                          df_error *err)
{
    const df_tensor *x = call->in[0];
    job j = {.fn = fns[df_wide_dtype(x->dtype)]};
    if (places) {
        j.places = places->data;
        j.place_bytes = df_dtypes[places->dtype].bytes;
    }
    return run_windows(call, &j, x->ndim, x->shape, call->attrs + WINDOW_ATTRS, err);
}

static df_status run_grad(const df_call *call, const row_fn *fns, df_error *err)
{
    const df_ints shape = call->attrs[GRAD_SHAPE].list;
    job j = {.fn = fns[df_wide_dtype(call->in[0]->dtype)], .back = true};
    if (call->n_in == 2) {
        j.places_in = call->in[1]->data;
        j.place_bytes = df_dtypes[call->in[1]->dtype].bytes;
    }
    return run_windows(call, &j, shape.n, shape.v, call->attrs + GRAD_WINDOW_ATTRS, err);
}

static df_status run_max_pool(const df_call *call, df_error *err)
{
    return run_pool(call, largest, call->out[1], err);
}
static df_status run_max_pool_pick(const df_call *call, df_error *err)
{
    return run_pool(call, pick, call->in[1], err);
}
static df_status run_max_pool_grad(const df_call *call, df_error *err)
{
    return run_grad(call, largest_grad, err);
}
static df_status run_avg_pool(const df_call *call, df_error *err)
{
    return run_pool(call, average, NULL, err);
}
static df_status run_avg_pool_grad(const df_call *call, df_error *err)
{
    return run_grad(call, mean_grad, err);
}

HALF_OPERANDS(pool, 1, 1)

DF_OP(max_pool) = {.name = "max_pool", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 1,
                   .n_out = 2,
                   .n_attrs = DF_N_WINDOW_ATTRS + 1,
                   .attrs = {DF_WINDOW_ATTRS, {"places", DF_ATTR_DTYPE}}, RUN_HALF_OF(pool),
                   .infer = infer_max_pool, .workspace = workspace_pool, .run = run_max_pool};
/* The elements at the positions of maxima. */
DF_OP(max_pool_pick) = {.name = "max_pool_pick", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2,
                        .n_out = 1, .n_attrs = DF_N_WINDOW_ATTRS, .attrs = {DF_WINDOW_ATTRS},
                        RUN_HALF_OF(pool), .infer = infer_pick, .workspace = workspace_pool,
                        .run = run_max_pool_pick};
DF_OP(max_pool_grad) = {.name = "max_pool_grad", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 2,
                        .n_out = 1, .n_attrs = 1 + DF_N_WINDOW_ATTRS,
                        .attrs = {{"shape", DF_ATTR_INTS}, DF_WINDOW_ATTRS}, RUN_HALF_OF(pool),
                        .infer = infer_pool_grad, .workspace = workspace_grad,
                        .run = run_max_pool_grad};
DF_OP(avg_pool) = {.name = "avg_pool", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 1,
                   .n_out = 1,
                   .n_attrs = DF_N_WINDOW_ATTRS, .attrs = {DF_WINDOW_ATTRS}, RUN_HALF_OF(pool),
                   .infer = infer_avg_pool, .workspace = workspace_pool, .run = run_avg_pool};
DF_OP(avg_pool_grad) = {.name = "avg_pool_grad", .kind = DF_GENERAL, .cannot_fail = true, .n_in = 1,
                        .n_out = 1, .n_attrs = 1 + DF_N_WINDOW_ATTRS,
                        .attrs = {{"shape", DF_ATTR_INTS}, DF_WINDOW_ATTRS}, RUN_HALF_OF(pool),
                        .infer = infer_pool_grad, .workspace = workspace_grad,
                        .run = run_avg_pool_grad};
