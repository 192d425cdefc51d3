/* softmax and log_softmax along an axis, and the cross entropies of logits.
 *
 * A row is read three times, from L1: its maximum, the sum of exponentials, the result. */
#include "ops/axes.h"
#include "ops/reduction/reductions.h"
#include "base/thread.h"
#include "gemm/half.h"

#include <stdatomic.h>

#define SOFTMAX_ROWS 256 /* rows per partial sum, so that long sums stay accurate */
#define SOFTMAX_CHUNK 16384 /* elements of a row per partial sum, likewise */
#define SOFTMAX_COLUMNS 128 /* columns whose maxima and sums a task holds */

#define TEMPLATE "ops/nn/softmax_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE
#define TEMPLATE "ops/nn/softmax_elementwise_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

#define EXP_NS_PER_BYTE 0.1 /* estimate for softmax */
#define TASK_ELEMENTS 8192
/* Elements of an operand of 16 bits that are widened at a time, for rows and for columns. */
#define HALF_PIECE 4096
#define HALF_COLUMNS 16384

/* --- along an axis: softmax, log_softmax, their gradients, cross entropy --- */

/* One output and up to three inputs. `out` and the last input have one element per row if they lack
 * the axis, see `along`. */
typedef struct {
    void (*rows)(void *out, const void *a, const void *b, const void *g, int64_t rows, int64_t n);
    void (*columns)(void *out, const void *a, const void *b, const void *g, int64_t n,
                    int64_t cols, int64_t stride);
} kernel;

#define KERNELS(name)                                                                            \
    {[DF_F32] = {name##_rows_f32, name##_columns_f32},                                           \
     DF_OF_ALL(F64, {name##_rows_f64, name##_columns_f64})}
static const kernel softmax[DF_N_DTYPES] = KERNELS(softmax);
static const kernel log_softmax[DF_N_DTYPES] = KERNELS(log_softmax);
static const kernel softmax_grad[DF_N_DTYPES] = KERNELS(softmax_grad);
static const kernel log_softmax_grad[DF_N_DTYPES] = KERNELS(log_softmax_grad);
static const kernel cross[DF_N_DTYPES] = KERNELS(cross);
static const kernel cross_grad[DF_N_DTYPES] = KERNELS(cross_grad);

#define MAX_OPERANDS 4 /* output and inputs */

typedef struct {
    const kernel *kernel;
    char *data[MAX_OPERANDS];
    bool along[MAX_OPERANDS]; /* true: the operand has the axis */
    df_span span;
    int64_t block, n_blocks; /* columns of a task at a time */
    int bytes;
    df_dtype dtype;
    int64_t widened;     /* 16-bit floats: elements of an operand that are widened at a time */
    atomic_bool *failed; /* likewise: out of memory */
} job;

static df_status check_float(const df_call *call, int input, df_error *err)
{
    const df_dtype dtype = call->in[input]->dtype;
    if (dtype == DF_F32 || dtype == DF_F64) return DF_OK;
    return df_fail_dtype(call, input, "a floating dtype", err);
}

/* Checks that all inputs except those that lack the axis have the same shape. */
static df_status check_alike(const df_call *call, int n, int *axis, df_error *err)
{
    const df_tensor *x = call->in[0];
    df_status status = check_float(call, 0, err);
    for (int i = 1; i < n && status == DF_OK; i++)
        if (call->in[i]->dtype != x->dtype || !df_may_be_same_shape(call->in[i], x))
            status = df_fail(err, DF_BAD_SHAPE, "%s: inputs are %s and %s, expected the same shape",
                             call->op->name, df_tensor_text(x).text,
                             df_tensor_text(call->in[i]).text);
    if (status != DF_OK) return status;
    return df_normalize_axis(call->attrs[0].i, x->ndim, call->op->name, axis, err);
}

/* Sets the dimensions that are known in any of `n` inputs of the same shape. */
static void shape_of_all(const df_call *call, int n, int64_t *shape)
{
    for (int d = 0; d < call->in[0]->ndim; d++) {
        shape[d] = DF_UNKNOWN;
        for (int i = 0; i < n && shape[d] == DF_UNKNOWN; i++) shape[d] = call->in[i]->shape[d];
    }
}

DF_ONCE(df_status, infer_softmax, (const df_call *call, df_error *err))
{
    int axis;
    int64_t shape[DF_MAX_NDIM];
    const df_status status = check_alike(call, call->n_in, &axis, err);
    if (status != DF_OK) return status;
    shape_of_all(call, call->n_in, shape);
    return df_tensor_set(call->out[0], call->in[0]->dtype, call->in[0]->ndim, shape,
                         call->op->name, err);
}

static void row_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    char *at[MAX_OPERANDS];
    for (int i = 0; i < MAX_OPERANDS; i++) {
        const int64_t offset = begin * (j->along[i] ? j->span.n : 1) * j->bytes;
        at[i] = j->data[i] ? j->data[i] + offset : NULL;
    }
    j->kernel->rows(at[0], at[1], at[2], at[3], end - begin, j->span.n);
}

/* Processes items [begin, end) of (outer, blocks of columns). */
static void column_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int64_t inner = j->span.inner;
    for (int64_t item = begin; item < end; item++) {
        const int64_t block = item % j->n_blocks * j->block, outer = item / j->n_blocks;
        char *at[MAX_OPERANDS];
        for (int i = 0; i < MAX_OPERANDS; i++) {
            const int64_t first = outer * (j->along[i] ? j->span.n : 1) * inner + block;
            at[i] = j->data[i] ? j->data[i] + first * j->bytes : NULL;
        }
        j->kernel->columns(at[0], at[1], at[2], at[3], j->span.n,
                           df_min(j->block, inner - block), inner);
    }
}

/* Elements of the operands of a job are at (outer, n or 1, inner). */
static int64_t length_of(const job *j, int operand) { return j->along[operand] ? j->span.n : 1; }

/* Rows [begin, end) of 16-bit floats, widened a few at a time. */
static void half_rows(const job *j, float *const *wide, int64_t begin, int64_t end)
{
    const int64_t some = j->widened / df_max(j->span.n, 1);
    for (int64_t row = begin; row < end; row += some) {
        const int64_t rows = df_min(some, end - row);
        for (int i = 1; i < MAX_OPERANDS && j->data[i]; i++)
            df_piece(j->dtype, j->data[i], row * length_of(j, i), rows * length_of(j, i), wide[i]);
        j->kernel->rows(wide[0], wide[1], wide[2], wide[3], rows, j->span.n);
        df_piece_done(j->dtype, j->data[0], row * length_of(j, 0), rows * length_of(j, 0), wide[0]);
    }
}

/* Widens or, if `done`, rounds the first columns of item `item` of (outer, blocks of columns). */
static void convert_columns(const job *j, float *wide, int operand, int64_t item, int64_t cols,
                            bool done)
{
    const int64_t n = length_of(j, operand), inner = j->span.inner;
    const int64_t first = item / j->n_blocks * n * inner + item % j->n_blocks * j->block;
    char *x = j->data[operand];
    for (int64_t r = 0; r < n; r++)
        if (done) df_piece_done(j->dtype, x, first + r * inner, cols, wide + r * cols);
        else df_piece(j->dtype, x, first + r * inner, cols, wide + r * cols);
}

static void half_columns(const job *j, float *const *wide, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++) {
        const int64_t cols = df_min(j->block, j->span.inner - item % j->n_blocks * j->block);
        for (int i = 1; i < MAX_OPERANDS && j->data[i]; i++)
            convert_columns(j, wide[i], i, item, cols, false);
        j->kernel->columns(wide[0], wide[1], wide[2], wide[3], j->span.n, cols, cols);
        convert_columns(j, wide[0], 0, item, cols, true);
    }
}

static void half_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    df_buffer *memory = df_buffer_new(MAX_OPERANDS * j->widened * (int64_t)sizeof(float));
    float *wide[MAX_OPERANDS];
    if (!memory) {
        atomic_store(j->failed, true);
        return;
    }
    for (int i = 0; i < MAX_OPERANDS; i++) wide[i] = (float *)memory->data + i * j->widened;
    (j->span.inner == 1 ? half_rows : half_columns)(j, wide, begin, end);
    df_buffer_release(memory);
}

DF_ONCE(job, job_of, (const df_call *call, const kernel *kernel))
{
    const df_tensor *x = call->in[0];
    int axis = 0;
    df_error never; /* infer has checked the axis */
    df_normalize_axis(call->attrs[0].i, x->ndim, call->op->name, &axis, &never);
    job j = {.kernel = kernel, .span = df_span_of(x, axis, axis),
             .block = SOFTMAX_COLUMNS, .bytes = df_dtypes[x->dtype].bytes, .dtype = x->dtype};
    for (int i = 0; i <= call->n_in; i++) {
        const df_tensor *t = i ? call->in[i - 1] : call->out[0];
        j.data[i] = t->data;
        j.along[i] = t->ndim == x->ndim;
    }
    if (df_is_reduced_float(j.dtype)) {
        const int64_t n = df_max(j.span.n, 1);
        j.block = df_min(df_max(HALF_COLUMNS / n, 16), SOFTMAX_COLUMNS);
        j.widened = j.span.inner == 1 ? df_max(HALF_PIECE, n) : j.block * n;
    }
    j.n_blocks = df_ceil_div(j.span.inner, j.block);
    return j;
}

static void run_job(job *j, void (*task)(void *, int64_t, int64_t))
{
    const int64_t each = df_max(j->span.n * df_min(j->span.inner, j->block), 1);
    df_parallel_for(j->span.outer * j->n_blocks, df_max(TASK_ELEMENTS / each, 1),
                    EXP_NS_PER_BYTE * j->bytes * (double)each + 20, task, j);
}

static df_status run(const df_call *call, const kernel *kernels)
{
    if (call->out[0]->size == 0) return DF_OK;
    job j = job_of(call, &kernels[call->in[0]->dtype]);
    run_job(&j, j.span.inner == 1 ? row_task : column_task);
    return DF_OK;
}

static df_status run_half(const df_call *call, const kernel *kernels, df_error *err)
{
    if (call->out[0]->size == 0) return DF_OK;
    atomic_bool failed = false;
    job j = job_of(call, &kernels[DF_F32]);
    j.failed = &failed;
    run_job(&j, half_task);
    return !failed ? DF_OK : df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld elements",
                                     call->op->name, (long long)j.widened);
}

#define RUN(name)                                                                                \
    static df_status run_##name(const df_call *call, df_error *err)                              \
    {                                                                                            \
        (void)err;                                                                               \
        return run(call, name);                                                                  \
    }                                                                                            \
    static inline df_status run_half_##name(const df_call *call, df_error *err)                  \
    {                                                                                            \
        return run_half(call, name, err);                                                        \
    }
RUN(softmax)
RUN(log_softmax)
RUN(softmax_grad)
RUN(log_softmax_grad)
RUN(cross)
RUN(cross_grad)

#if DF_BUILT_HALVES
#define RUN_BOTH(name) .run = run_##name, .run_half = run_half_##name
#else
#define RUN_BOTH(name) .run = run_##name, .run_half = NULL
#endif
#define AXIS_OP(op, n)                                                                           \
    .name = op, .kind = DF_GENERAL, .cannot_fail = true, .n_in = n, .n_out = 1, .n_attrs = 1,    \
    .promote = (1 << (n)) - 1, .attrs = {{"axis", DF_ATTR_INT, .open = true}}

DF_OP(softmax) = {AXIS_OP("softmax", 1), .infer = infer_softmax, RUN_BOTH(softmax)};
DF_OP(log_softmax) = {AXIS_OP("log_softmax", 1), .infer = infer_softmax, RUN_BOTH(log_softmax)};
DF_OP(softmax_grad) = {AXIS_OP("softmax_grad", 2), .infer = infer_softmax, RUN_BOTH(softmax_grad)};
DF_OP(log_softmax_grad) = {AXIS_OP("log_softmax_grad", 2), .infer = infer_softmax,
                           RUN_BOTH(log_softmax_grad)};

/* Inputs: labels, logits, and for the gradient g, which lacks the axis. */
DF_ONCE(df_status, infer_cross, (const df_call *call, df_error *err))
{
    int axis, ndim = 0;
    int64_t shape[DF_MAX_NDIM];
    const df_status status = check_alike(call, 2, &axis, err);
    if (status != DF_OK) return status;
    shape_of_all(call, 2, shape);
    for (int d = 0; d < call->in[0]->ndim; d++)
        if (call->attrs[0].i == DF_OPEN) shape[d] = DF_UNKNOWN;
    for (int d = 0; d < call->in[0]->ndim; d++)
        if (d != axis) shape[ndim++] = shape[d];
    return df_tensor_set(call->out[0], call->in[0]->dtype, ndim, shape, call->op->name, err);
}

DF_ONCE(df_status, infer_cross_grad, (const df_call *call, df_error *err))
{
    const df_tensor *g = call->in[2], *out = call->out[0];
    df_status status = infer_cross(call, err); /* sets the shape of the loss, to compare g with */
    if (status != DF_OK) return status;
    if (g->dtype != out->dtype || !df_may_be_same_shape(g, out))
        return df_fail(err, DF_BAD_SHAPE, "%s: the gradient is %s, expected %s", call->op->name,
                       df_tensor_text(g).text, df_tensor_text(out).text);
    int64_t shape[DF_MAX_NDIM];
    shape_of_all(call, 2, shape);
    return df_tensor_set(call->out[0], call->in[0]->dtype, call->in[0]->ndim, shape,
                         call->op->name, err);
}

DF_OP(softmax_cross_entropy) = {AXIS_OP("softmax_cross_entropy", 2), .infer = infer_cross,
                                .autocast = DF_AUTOCAST_FLOAT32, RUN_BOTH(cross)};
DF_OP(softmax_cross_entropy_grad) = {AXIS_OP("softmax_cross_entropy_grad", 3),
                                     .infer = infer_cross_grad, RUN_BOTH(cross_grad)};

/* --- cross entropy with the index of the right class --- */

/* Inputs: labels (...), logits (..., n), and for the gradient g (...). */
enum { LABELS, LOGITS, G };

static df_status check_sparse(const df_call *call, df_error *err)
{
    const df_tensor *labels = call->in[LABELS], *logits = call->in[LOGITS];
    df_status status = check_float(call, LOGITS, err);
    if (status != DF_OK) return status;
    if (labels->dtype != DF_I32 && labels->dtype != DF_I64)
        return df_fail_dtype(call, LABELS, "labels of int32 or int64", err);
    bool fits = logits->ndim >= 1 && labels->ndim == logits->ndim - 1;
    for (int d = 0; fits && d < labels->ndim; d++)
        fits = labels->shape[d] == logits->shape[d] || labels->shape[d] == DF_UNKNOWN ||
               logits->shape[d] == DF_UNKNOWN;
    if (fits) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "%s: labels have shape %s and logits %s, expected labels of "
                   "the logits' shape without its last dimension", call->op->name,
                   df_shape_text(labels->ndim, labels->shape).text,
                   df_shape_text(logits->ndim, logits->shape).text);
}

DF_ONCE(df_status, infer_sparse, (const df_call *call, df_error *err))
{
    const df_tensor *labels = call->in[LABELS], *logits = call->in[LOGITS];
    df_status status = check_sparse(call, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], logits->dtype, labels->ndim, logits->shape, call->op->name,
                         err);
}

DF_ONCE(df_status, infer_sparse_grad, (const df_call *call, df_error *err))
{
    const df_tensor *labels = call->in[LABELS], *logits = call->in[LOGITS], *g = call->in[G];
    df_status status = check_sparse(call, err);
    if (status != DF_OK) return status;
    if (g->dtype != logits->dtype || !df_may_be_same_shape(g, labels))
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: the gradient is %s, expected %s of the labels' shape %s",
                       call->op->name, df_tensor_text(g).text, df_dtypes[logits->dtype].name,
                       df_shape_text(labels->ndim, labels->shape).text);
    return df_tensor_set(call->out[0], logits->dtype, logits->ndim, logits->shape, call->op->name,
                         err);
}

static int64_t sparse_workspace(const df_call *call)
{
    return call->in[LABELS]->size * (int64_t)sizeof(int64_t);
}

/* Reads the labels as int64 and checks that each is in [0, n). */
static df_status read_labels(const df_call *call, int64_t *to, int64_t n, df_error *err)
{
    const df_tensor *labels = call->in[LABELS];
    for (int64_t i = 0; i < labels->size; i++) {
        to[i] = labels->dtype == DF_I64 ? ((const int64_t *)labels->data)[i]
                                        : ((const int32_t *)labels->data)[i];
        if (to[i] < 0 || to[i] >= n)
            return df_fail(err, DF_OUT_OF_RANGE,
                           "%s: label %lld, element %lld of labels of shape %s, is not in 0 to "
                           "%lld",
                           call->op->name, (long long)to[i], (long long)i,
                           df_shape_text(labels->ndim, labels->shape).text, (long long)n - 1);
    }
    return DF_OK;
}

typedef struct {
    const char *x, *g;
    char *out;
    const int64_t *labels;
    int64_t n;
    df_dtype dtype, stored; /* of the losses and g; of x and its gradient */
    atomic_bool *failed;    /* out of memory */
} sparse_job;

/* Rows of 16-bit floats, widened one at a time. */
static void half_sparse_rows(const sparse_job *j, int64_t begin, int64_t end, float *wide)
{
    for (int64_t i = begin; i < end; i++) {
        df_piece(j->stored, j->x, i * j->n, j->n, wide);
        if (!j->g) {
            sparse_rows_f32(j->out + i * 4, wide, j->labels + i, 1, j->n);
            continue;
        }
        sparse_grad_rows_f32(wide, wide, j->labels + i, j->g + i * 4, 1, j->n);
        df_piece_done(j->stored, j->out, i * j->n, j->n, wide);
    }
}

static void sparse_task(void *context, int64_t begin, int64_t end)
{
    const sparse_job *j = context;
    const int64_t rows = end - begin, n = j->n, b = df_dtypes[j->dtype].bytes;
    const int64_t *labels = j->labels + begin;
    const char *x = j->x + begin * n * b;
    if (df_is_reduced_float(j->stored)) {
        df_buffer *memory = df_buffer_new(n * (int64_t)sizeof(float));
        if (!memory) atomic_store(j->failed, true);
        else half_sparse_rows(j, begin, end, memory->data);
        df_buffer_release(memory);
        return;
    }
    if (j->g)
        (j->dtype == DF_F32 ? sparse_grad_rows_f32 : DF_HAS(F64, sparse_grad_rows_f64))(
            j->out + begin * n * b, x, labels, j->g + begin * b, rows, n);
    else
        (j->dtype == DF_F32 ? sparse_rows_f32 : DF_HAS(F64, sparse_rows_f64))(
            j->out + begin * b, x, labels, rows, n);
}

static df_status run_sparse(const df_call *call, df_error *err)
{
    const df_tensor *x = call->in[LOGITS];
    atomic_bool failed = false;
    sparse_job j = {x->data, call->n_in > G ? call->in[G]->data : NULL, call->out[0]->data,
                    call->workspace, x->shape[x->ndim - 1], df_wide_dtype(x->dtype), x->dtype,
                    &failed};
    df_status status = read_labels(call, call->workspace, j.n, err);
    if (status != DF_OK) return status;
    const int64_t rows = call->in[LABELS]->size;
    df_parallel_for(rows, df_max(TASK_ELEMENTS / df_max(j.n, 1), 1),
                    EXP_NS_PER_BYTE * df_dtypes[j.dtype].bytes * (double)j.n + 20, sparse_task,
                    &j);
    return !failed ? DF_OK : df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld logits",
                                     call->op->name, (long long)j.n);
}

HALF_OPERANDS(sparse, 1 << LOGITS, 0)
HALF_OPERANDS(sparse_grad, 1 << LOGITS, 1)

DF_OP(sparse_softmax_cross_entropy) = {
    .name = "sparse_softmax_cross_entropy", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
    .promote = 1 << LOGITS, .autocast = DF_AUTOCAST_FLOAT32, .infer = infer_sparse,
    .workspace = sparse_workspace, .run = run_sparse, RUN_HALF_OF(sparse)};
DF_OP(sparse_softmax_cross_entropy_grad) = {
    .name = "sparse_softmax_cross_entropy_grad", .kind = DF_GENERAL, .n_in = 3, .n_out = 1,
    .promote = 1 << LOGITS | 1 << G, .infer = infer_sparse_grad, .workspace = sparse_workspace,
    .run = run_sparse, RUN_HALF_OF(sparse_grad)};

/* --- cross entropy of independent classes: (labels, logits) --- */

DF_OP(sigmoid_cross_entropy) = {BINARY_OP("sigmoid_cross_entropy"),
                                .autocast = DF_AUTOCAST_FLOAT32,
                                .tile = {FLOATS(sigmoid_cross_entropy)}, .cost = 1};
