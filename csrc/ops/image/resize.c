/* Resizing along one axis: each row of the result is a weighted sum of neighbouring rows. Pixels
 * are squares, so pixel i has its centre at i + 1/2, in the input and in the result.
 *
 * The gradient is the same loop with the transposed table of weights. Source of the kernels and
 * their scaling: TensorFlow's ScaleAndTranslate, and its ResizeArea for `area`. */
#include "ops/axes.h"
#include "ops/in_float.h"
#include "base/thread.h"
#include "simd/lanes.h"

enum { AXIS, SIZE, METHOD, ANTIALIAS };
enum { RUN = 64 }; /* rows per partial sum */

enum { NARROW = 4 }; /* rows up to this length have specialised loops */

/* The input rows of a row of the result: n rows from `first` on, with weights from `at` on. */
typedef struct {
    int64_t first, n, at;
} span;

/* Computes n rows of the result, of `inner` elements each. */
typedef void (*weigh_fn)(void *to, const void *from, int64_t inner, const span *spans,
                         const double *weights, int64_t n);

#define TEMPLATE "ops/image/resize_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

static const weigh_fn weigh[DF_N_DTYPES] = {[DF_F32] = weigh_wide_f32, DF_OF(F64, weigh_wide_f64)};
static const weigh_fn weigh_few[DF_N_DTYPES] = {[DF_F32] = weigh_narrow_f32,
                                                DF_OF(F64, weigh_narrow_f64)};

/* --- kernels: the weight of a pixel at a distance x >= 0 ---------------------------------------*/

#define PI 3.14159265358979323846

static double triangle(double x) { return x < 1 ? 1 - x : 0; }

static double keys_cubic(double x)
{
    if (x >= 2) return 0;
    return x >= 1 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : (1.5 * x - 2.5) * x * x + 1;
}

static double mitchell_cubic(double x)
{
    if (x >= 2) return 0;
    return x >= 1 ? ((-7.0 / 18 * x + 2) * x - 10.0 / 3) * x + 16.0 / 9
                  : (7.0 / 6 * x - 2) * x * x + 8.0 / 9;
}

static double gaussian(double x) { return x < 1.5 ? exp(-2 * x * x) : 0; } /* sigma 1/2 */

static double lanczos(double x, double radius)
{
    if (x > radius) return 0;
    return x <= 1e-3 ? 1 : radius * sin(PI * x) * sin(PI * x / radius) / (PI * PI * x * x);
}
static double lanczos_3(double x) { return lanczos(x, 3); }
static double lanczos_5(double x) { return lanczos(x, 5); }

/* By the attribute `method`. `area`, which weighs by overlap of pixels, has no kernel. */
static const struct {
    double (*kernel)(double);
    double radius;
} methods[] = {{triangle, 1}, {keys_cubic, 2}, {mitchell_cubic, 2}, {gaussian, 1.5},
               {lanczos_3, 3}, {lanczos_5, 5}, {NULL, 0.5}};
enum { N_METHODS = sizeof methods / sizeof *methods };

/* --- the table ---------------------------------------------------------------------------------*/

typedef struct {
    span *spans;     /* one per row of the result */
    double *weights;
    int64_t n_weights;
} table;

typedef struct {
    int64_t in, out; /* rows of the image before and after resizing, also in the gradient */
    int64_t method;
    double scale;    /* width of the kernel */
} resizing;

static resizing resizing_of(const df_call *call, int64_t in, int64_t out)
{
    const double ratio = (double)in / (double)out;
    return (resizing){in, out, call->attrs[METHOD].i,
                      call->attrs[ANTIALIAS].i ? fmax(ratio, 1) : 1};
}

/* The maximal length of a span. */
static int64_t longest(const resizing *r)
{
    const double ratio = (double)r->in / (double)r->out;
    const double reach = methods[r->method].kernel ? 2 * ceil(methods[r->method].radius * r->scale)
                                                   : ceil(ratio) + 1;
    return (int64_t)fmin(reach + 1, (double)r->in);
}

/* The input rows of row o of the result, with their weights. */
static span kernel_span(const resizing *r, int64_t o, double *weights)
{
    const double centre = ((double)o + 0.5) * ((double)r->in / (double)r->out);
    const double reach = methods[r->method].radius * r->scale;
    const int64_t last = (int64_t)fmin(floor(centre + reach - 0.5), (double)(r->in - 1));
    span s = {(int64_t)fmax(ceil(centre - reach - 0.5), 0), 0, 0};
    double total = 0;
    for (int64_t i = s.first; i <= last; i++) {
        const double w = methods[r->method].kernel(fabs((double)i + 0.5 - centre) / r->scale);
        if (w == 0 && s.n == 0) s.first++; /* at the end of the kernel */
        else weights[s.n++] = w;
        total += w;
    }
    while (s.n > 1 && weights[s.n - 1] == 0) s.n--;
    for (int64_t k = 0; k < s.n; k++) weights[k] /= total;
    return s;
}

static span area_span(const resizing *r, int64_t o, double *weights)
{
    const __int128 in = r->in; /* areas are multiples of 1 / out */
    const __int128 begin = o * in, end = (o + 1) * in;
    span s = {(int64_t)(begin / r->out), 0, 0};
    for (int64_t i = s.first; (__int128)i * r->out < end; i++) {
        const __int128 low = (__int128)i * r->out, high = low + r->out;
        weights[s.n++] = (double)((high < end ? high : end) - (low > begin ? low : begin)) /
                         (double)in;
    }
    return s;
}

DF_ONCE(table, forward_table, (const resizing *r, void *memory))
{
    table t = {memory, (double *)((span *)memory + r->out), 0};
    for (int64_t o = 0; o < r->out; o++) {
        double *weights = t.weights + t.n_weights;
        t.spans[o] = methods[r->method].kernel ? kernel_span(r, o, weights)
                                               : area_span(r, o, weights);
        t.spans[o].at = t.n_weights;
        t.n_weights += t.spans[o].n;
    }
    return t;
}

/* One span per row of the image: all rows of the result from the first to the last that read it. */
DF_ONCE(table, transposed, (const table *t, const resizing *r, void *memory))
{
    table back = {memory, (double *)((span *)memory + r->in), 0};
    memset(back.spans, 0, (size_t)r->in * sizeof(span));
    for (int64_t o = 0; o < r->out; o++)
        for (int64_t k = 0; k < t->spans[o].n; k++) {
            span *s = &back.spans[t->spans[o].first + k];
            if (s->n == 0) s->first = o;
            s->n = o - s->first + 1;
        }
    for (int64_t i = 0; i < r->in; i++) {
        back.spans[i].at = back.n_weights;
        back.n_weights += back.spans[i].n;
    }
    memset(back.weights, 0, (size_t)back.n_weights * sizeof(double));
    for (int64_t o = 0; o < r->out; o++)
        for (int64_t k = 0; k < t->spans[o].n; k++) {
            const span *s = &back.spans[t->spans[o].first + k];
            back.weights[s->at + o - s->first] = t->weights[t->spans[o].at + k];
        }
    return back;
}

/* --- the ops -----------------------------------------------------------------------------------*/

DF_ONCE(df_status, infer_resize, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0];
    const int64_t size = call->attrs[SIZE].i, method = call->attrs[METHOD].i;
    int64_t shape[DF_MAX_NDIM];
    int axis;
    if (!weigh[x->dtype]) return df_fail_dtype(call, 0, "a floating dtype", err);
    df_status status = df_normalize_axis(call->attrs[AXIS].i, x->ndim, call->op->name, &axis, err);
    if (status != DF_OK) return status;
    if (method < 0 || method >= N_METHODS)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: method is %lld, expected 0 to %d",
                       call->op->name, (long long)method, N_METHODS - 1);
    if (size < 1 && size != DF_UNKNOWN && size != DF_OPEN)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "%s: size of dimension %d is %lld, expected 1 or more", call->op->name, axis,
                       (long long)size);
    if (x->shape[axis] == 0)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: dimension %d of shape %s has no pixels, expected 1 or more",
                       call->op->name, axis, df_shape_text(x->ndim, x->shape).text);
    for (int d = 0; d < x->ndim; d++) shape[d] = d != axis ? x->shape[d]
                                                   : size == DF_OPEN ? DF_UNKNOWN : size;
    return df_tensor_set(call->out[0], x->dtype, x->ndim, shape, call->op->name, err);
}

typedef struct {
    weigh_fn fn;
    table t;
    int64_t from, to, inner; /* rows of input and result; elements per row */
    int bytes;
    const char *x;
    char *y;
} job;

static void weigh_items(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int64_t row_bytes = j->inner * j->bytes;
    while (begin < end) {
        const int64_t first = begin % j->to, n = df_min(j->to - first, end - begin);
        j->fn(j->y + begin * row_bytes, j->x + begin / j->to * j->from * row_bytes, j->inner,
              j->t.spans + first, j->t.weights, n);
        begin += n;
    }
}

static df_span span_of(const df_call *call, const df_tensor *t)
{
    int axis = 0;
    df_error never; /* infer has checked the axis */
    df_normalize_axis(call->attrs[AXIS].i, t->ndim, call->op->name, &axis, &never);
    return df_span_of(t, axis, axis);
}

static int64_t bytes_of(const resizing *r, int64_t rows)
{
    return rows * (int64_t)sizeof(span) + r->out * longest(r) * (int64_t)sizeof(double);
}

static int64_t workspace(const df_call *call)
{
    if (call->out[0]->size <= 0) return 0;
    const resizing r = resizing_of(call, span_of(call, call->in[0]).n,
                                   span_of(call, call->out[0]).n);
    return bytes_of(&r, r.out);
}

static int64_t workspace_grad(const df_call *call)
{
    if (call->out[0]->size <= 0) return 0;
    const resizing r = resizing_of(call, span_of(call, call->out[0]).n,
                                   span_of(call, call->in[0]).n);
    return bytes_of(&r, r.out) + bytes_of(&r, r.in);
}

static df_status weigh_all(const df_call *call, table t)
{
    const df_tensor *x = call->in[0], *y = call->out[0];
    const df_span from = span_of(call, x), to = span_of(call, y);
    const weigh_fn fn = from.inner <= NARROW ? weigh_few[x->dtype] : weigh[x->dtype];
    job j = {fn, t, from.n, to.n, from.inner, df_dtypes[x->dtype].bytes, x->data,
             y->data};
    const double taps = (double)t.n_weights / (double)to.n;
    const double each = 3 + 0.1 * (1 + taps) * (double)j.inner;
    df_parallel_for(to.outer * to.n, (int64_t)(8192 / each) + 1, each, weigh_items, &j);
    return DF_OK;
}

static df_status run_resample(const df_call *call, df_error *err)
{
    (void)err;
    if (call->out[0]->size <= 0) return DF_OK;
    const resizing r = resizing_of(call, span_of(call, call->in[0]).n,
                                   span_of(call, call->out[0]).n);
    return weigh_all(call, forward_table(&r, call->workspace));
}

static df_status run_resample_grad(const df_call *call, df_error *err)
{
    (void)err;
    if (call->out[0]->size <= 0) return DF_OK;
    const resizing r = resizing_of(call, span_of(call, call->out[0]).n,
                                   span_of(call, call->in[0]).n);
    const table t = forward_table(&r, call->workspace);
    return weigh_all(call, transposed(&t, &r, (char *)call->workspace + bytes_of(&r, r.out)));
}

#define RESIZING_OP(op, workspace_fn, run_fn)                                                    \
    .name = op, .kind = DF_GENERAL, .cannot_fail = true, .n_in = 1, .n_out = 1, .n_attrs = 4,    \
    .attrs = {{"axis", DF_ATTR_INT}, {"size", DF_ATTR_INT, .open = true},                        \
              {"method", DF_ATTR_INT},                                                           \
              {"antialias", DF_ATTR_BOOL}},                                                      \
    .infer = infer_resize, .workspace = workspace_fn, .run = run_fn, RUN_IN_FLOAT

DF_OP(resample) = {RESIZING_OP("resample", workspace, run_resample)};
DF_OP(resample_grad) = {RESIZING_OP("resample_grad", workspace_grad, run_resample_grad)};
