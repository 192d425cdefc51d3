/* Updates of variables by their gradients, in place and in one pass over memory. The formulas are
 * those of Keras 3, so that training behaves identically with equal settings.
 *
 * The variable and its slots come first, then the gradient, the learning rate and, for Adam, the
 * number of previous updates. Learning rates are floating scalar inputs, not attributes, so that a
 * graph can feed them. Loops are plain: compilers vectorise them, and beyond the caches memory
 * bandwidth is the limit.
 *
 * Each op has a variant `<op>_rows` with a sparse gradient of two inputs: rows, and the indices of
 * the rows of the variable. Its result is bit-identical to that of the op with the dense gradient,
 * which is never stored: rows of one index are added, from +0, in order. Other rows get the
 * gradient 0; they are skipped if that changes nothing. */
#include "ops/in_float.h"
#include "op/op.h"
#include "ops/indexing/rows.h"
#include "base/thread.h"
#include "simd/simd.h"
#if defined(__x86_64__)
#include "simd/intrinsics.h"
#endif

#include <math.h>

#define MAX_WRITTEN 4
#define GRAIN 16384
#define SPAN 1024 /* elements of a row whose gradient is summed at a time */

/* Coefficients of a loop, in float64; the loop rounds them to its dtype. */
typedef struct {
    double lr, a, b, c, epsilon, decay;
    bool flag; /* nesterov, or momentum is used */
    bool decays; /* slots decay while the gradient is 0 */
} coefficients;

typedef struct update update;
typedef void (*update_fn)(int64_t n, void *const *var, const void *grad, const coefficients *k);
struct update {
    update_fn fn;
    coefficients k;
    int bytes, n_written;
    void *var[MAX_WRITTEN]; /* NULL for an unused slot */
    const char *grad;
};

/* Runs the loop. If slots decay, numbers below the normal range count as 0: a mean whose gradient
 * stays 0 ends there, and some processors take 150 cycles for such a number. */
static void run_loop(const update *u, int64_t n, void *const *var, const void *grad)
{
#if defined(__x86_64__)
    const unsigned mode = _mm_getcsr(), flush = mode | 0x8040; /* results, and operands */
    if (u->k.decays) _mm_setcsr(flush);
    u->fn(n, var, grad, &u->k);
    if (u->k.decays) _mm_setcsr(mode);
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    const uint64_t flush = mode | UINT64_C(1) << 24;
    if (u->k.decays) __asm__ volatile("msr fpcr, %0" : : "r"(flush));
    u->fn(n, var, grad, &u->k);
    if (u->k.decays) __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
    u->fn(n, var, grad, &u->k);
#endif
}

static void update_block(void *context, int64_t begin, int64_t end)
{
    const update *u = context;
    void *var[MAX_WRITTEN] = {0};
    for (int i = 0; i < u->n_written; i++)
        if (u->var[i]) var[i] = (char *)u->var[i] + begin * u->bytes;
    run_loop(u, end - begin, var, u->grad + begin * u->bytes);
}

static double scalar(const df_tensor *x)
{
    return x->dtype == DF_F32 ? (double)*(const float *)x->data : *(const double *)x->data;
}

/* Applies an update to elements [at, at + n) of the variables, n <= SPAN. */
static void update_span(const update *u, int64_t at, int64_t n, const void *grad)
{
    void *var[MAX_WRITTEN] = {0};
    for (int i = 0; i < u->n_written; i++)
        if (u->var[i]) var[i] = (char *)u->var[i] + at * u->bytes;
    run_loop(u, n, var, grad);
}

/* An update whose gradient is `n` rows of `inner` elements, selected by sorted picks. */
typedef struct {
    update u; /* `grad` is the rows */
    const df_row_index *picks;
    int64_t n, inner;
    df_dtype dtype;
} rows_update;

/* Updates the row of pick `i`, the first of its run; returns the end of the run. */
static int64_t update_row(const rows_update *r, int64_t i)
{
    double sum[SPAN] __attribute__((aligned(DF_ALIGNMENT)));
    const int64_t end = run_end(r->picks, r->n, i), bytes = r->u.bytes;
    for (int64_t at = 0; at < r->inner; at += SPAN) {
        const int64_t span = df_min(r->inner - at, SPAN);
        memset(sum, 0, (size_t)(span * bytes));
        for (int64_t j = i; j < end; j++)
            add_row(r->dtype, span, sum, r->u.grad + (r->picks[j].at * r->inner + at) * bytes);
        update_span(&r->u, r->picks[i].row * r->inner + at, span, sum);
    }
    return end;
}

/* Updates the rows whose runs begin in picks[begin:end]. */
static void named_block(void *context, int64_t begin, int64_t end)
{
    const rows_update *r = context;
    for (int64_t i = run_begin(r->picks, begin, end); i < end;) i = update_row(r, i);
}

/* Updates rows [begin, end) of the variable. */
static void every_block(void *context, int64_t begin, int64_t end)
{
    static const double zeros[SPAN];
    const rows_update *r = context;
    int64_t i = row_indices_before(r->picks, r->n, begin);
    for (int64_t row = begin; row < end; row++) {
        const int64_t named = i < r->n ? df_min(r->picks[i].row, end) : end;
        for (int64_t at = row * r->inner; at < named * r->inner; at += SPAN)
            update_span(&r->u, at, df_min(named * r->inner - at, SPAN), zeros);
        row = named;
        if (row < end) i = update_row(r, i);
    }
}

#define TEMPLATE "ops/state/optimizer_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

typedef enum {
    DENSE,
    NAMED, /* sparse; the gradient 0 changes nothing */
    EVERY  /* sparse; the gradient 0 changes the variable or a slot */
} extent;

static df_status run_rows(const df_call *call, int grad, update u, extent e, double cost,
                          df_error *err)
{
    const df_tensor *var = call->in[0];
    const layout l = lay_out(var->ndim, var->shape, call->in[grad + 1], 0, 0, false);
    df_status status = check_indices(call, &l, "the variable", err);
    if (status != DF_OK || var->size == 0 || (l.picks == 0 && e == NAMED)) return status;
    rows_update r = {.u = u, .picks = sort_row_indices(&l, call->workspace), .n = l.picks,
                     .inner = l.inner, .dtype = var->dtype};
    const int64_t grain = df_max(GRAIN / df_max(l.inner, 1), 1);
    const double row_cost = 10 + cost * (double)(l.inner * u.bytes) / 4;
    if (e == NAMED) df_parallel_for(l.picks, grain, row_cost, named_block, &r);
    else df_parallel_for(l.rows, grain, row_cost, every_block, &r);
    return DF_OK;
}

/* Runs the update on the variables, the inputs before `grad`. */
static df_status run_update(const df_call *call, int grad, extent e, update_fn f32, update_fn f64,
                            coefficients k, double cost, df_error *err)
{
    const df_tensor *var = call->in[0];
    update u = {.fn = var->dtype == DF_F32 ? f32 : f64, .k = k, .n_written = grad,
                .bytes = df_dtypes[var->dtype].bytes, .grad = call->in[grad]->data};
    for (int i = 0; i < grad; i++) u.var[i] = call->in[i]->size ? call->in[i]->data : NULL;
    if (DF_BUILT_ROWS && e != DENSE) return run_rows(call, grad, u, e, cost, err);
    df_parallel_for(var->size, GRAIN, cost * u.bytes / 4, update_block, &u);
    return DF_OK;
}

static int64_t rows_workspace(const df_call *call)
{
    for (int i = 1; i < call->n_in; i++) /* only the indices are one-dimensional integers */
        if (call->in[i]->dtype == DF_I32 || (call->in[i]->dtype == DF_I64 && call->in[i]->ndim))
            return row_indices_bytes(call->in[i]->size);
    return -1;
}

static df_status check_scalar(const df_call *call, int input, const char *what, bool floating,
                              df_error *err)
{
    const df_tensor *x = call->in[input];
    bool fits = floating ? x->dtype == DF_F32 || x->dtype == DF_F64 : x->dtype == DF_I64;
    if (!fits || x->ndim != 0)
        return df_fail(err, fits ? DF_BAD_SHAPE : DF_BAD_DTYPE, "%s: the %s is %s, expected %s ()",
                       call->op->name, what, df_tensor_text(x).text,
                       floating ? "a floating dtype" : "int64");
    return DF_OK;
}

/* Checks that input `grad` has one row of the variable per index in the next input. */
static df_status check_rows(const df_call *call, int grad, df_error *err)
{
    const df_tensor *var = call->in[0], *rows = call->in[grad], *indices = call->in[grad + 1];
    df_status status = check_index_dtype(call, grad + 1, err);
    if (status != DF_OK) return status;
    bool fits = indices->ndim == 1 && var->ndim > 0 && rows->ndim == var->ndim;
    fits = fits && rows->dtype == var->dtype && may_equal(rows->shape[0], indices->shape[0]);
    for (int i = 1; fits && i < var->ndim; i++) fits = may_equal(rows->shape[i], var->shape[i]);
    if (fits) return DF_OK;
    return df_fail(err, rows->dtype == var->dtype ? DF_BAD_SHAPE : DF_BAD_DTYPE, "%s: the variable "
                   "is %s, the rows of its gradient are %s, their indices %s, expected a row of "
                   "the variable for each index", call->op->name, df_tensor_text(var).text,
                   df_tensor_text(rows).text, df_tensor_text(indices).text);
}

/* Checks that all inputs up to the gradient (input `grad`) are like the variable; input `optional`,
 * if not 0, may be empty. */
static df_status check_update(const df_call *call, int grad, extent e, int optional, df_error *err)
{
    const df_tensor *var = call->in[0];
    if (var->dtype != DF_F32 && var->dtype != DF_F64)
        return df_fail_dtype(call, 0, "a floating dtype", err);
    for (int i = 1; i <= grad - (e != DENSE); i++) {
        const df_tensor *x = call->in[i];
        bool same_dtype = x->dtype == var->dtype;
        const bool absent = i == optional && x->size == 0;
        if (same_dtype && (absent || df_may_be_same_shape(x, var))) continue;
        return df_fail(err, same_dtype ? DF_BAD_SHAPE : DF_BAD_DTYPE,
                       "%s: the variable is %s, %s is %s, expected the same", call->op->name,
                       df_tensor_text(var).text, i == grad ? "its gradient" : "one of its slots",
                       df_tensor_text(x).text);
    }
    df_status status = e == DENSE ? DF_OK : check_rows(call, grad, err);
    return status == DF_OK ? check_scalar(call, grad + 1 + (e != DENSE), "learning rate", true, err)
                           : status;
}

/* Functions of the records of an op and its row variant; `zero` specifies whether the gradient 0
 * changes anything. */
#define TWINS(op, check, update, zero)                                                           \
    static df_status infer_##op(const df_call *call, df_error *err)                              \
    {                                                                                            \
        return check(call, DENSE, err);                                                          \
    }                                                                                            \
    static df_status run_##op(const df_call *call, df_error *err)                                \
    {                                                                                            \
        return update(call, DENSE, err);                                                         \
    }                                                                                            \
    static df_status infer_##op##_rows(const df_call *call, df_error *err)                       \
    {                                                                                            \
        return check(call, zero, err);                                                           \
    }                                                                                            \
    static df_status run_##op##_rows(const df_call *call, df_error *err)                         \
    {                                                                                            \
        return update(call, zero, err);                                                          \
    }
#define RECORD(op) .name = #op, .kind = DF_GENERAL, .infer = infer_##op, RUN_IN_FLOAT,           \
                   .run = run_##op
#define DENSE_RECORD(op) RECORD(op), .cannot_fail = true
#define ROWS_RECORD(op) RECORD(op), .workspace = rows_workspace

static df_status check_sgd(const df_call *call, extent e, df_error *err)
{
    return check_update(call, 1, e, 0, err);
}

static df_status sgd(const df_call *call, extent e, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[call->n_in - 1])};
    return run_update(call, 1, e, sgd_f32, DF_HAS(F64, sgd_f64), k, 0.3, err);
}

TWINS(sgd_update, check_sgd, sgd, NAMED)
DF_OP(sgd_update) = {DENSE_RECORD(sgd_update), .n_in = 3, .writes = 1};
DF_OP(sgd_update_rows) = {ROWS_RECORD(sgd_update_rows), .n_in = 4, .writes = 1};

enum { MOMENTUM_RATE, NESTEROV };

static df_status check_one_slot(const df_call *call, extent e, df_error *err)
{
    return check_update(call, 2, e, 0, err);
}

static df_status momentum(const df_call *call, extent e, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[call->n_in - 1]), .a = call->attrs[MOMENTUM_RATE].f,
                      .flag = call->attrs[NESTEROV].i != 0, .decays = true};
    return run_update(call, 2, e, momentum_f32, DF_HAS(F64, momentum_f64), k, 0.5, err);
}

TWINS(momentum_update, check_one_slot, momentum, EVERY)
#define MOMENTUM_ATTRS .n_attrs = 2, \
    .attrs = {{"momentum", DF_ATTR_FLOAT}, {"nesterov", DF_ATTR_BOOL}}
DF_OP(momentum_update) = {DENSE_RECORD(momentum_update), .n_in = 4, .writes = 3, MOMENTUM_ATTRS};
DF_OP(momentum_update_rows) = {ROWS_RECORD(momentum_update_rows),
                               .n_in = 5, .writes = 3, MOMENTUM_ATTRS};

enum { BETA_1, BETA_2, ADAM_EPSILON, WEIGHT_DECAY };

static df_status check_adam(const df_call *call, extent e, df_error *err)
{
    df_status st = check_update(call, 3, e, 0, err);
    return st != DF_OK ? st : check_scalar(call, call->n_in - 1, "step", false, err);
}

static df_status check_amsgrad(const df_call *call, extent e, df_error *err)
{
    df_status st = check_update(call, 4, e, 0, err);
    return st != DF_OK ? st : check_scalar(call, call->n_in - 1, "step", false, err);
}

/* The bias corrections are folded into the learning rate (Kingma and Ba, "Adam: a method for
 * stochastic optimization", ICLR 2015, end of section 2). */
static coefficients adam_coefficients(const df_call *call)
{
    double beta_1 = call->attrs[BETA_1].f, beta_2 = call->attrs[BETA_2].f;
    double t = (double)*(const int64_t *)call->in[call->n_in - 1]->data + 1;
    double lr = scalar(call->in[call->n_in - 2]);
    return (coefficients){.lr = lr * sqrt(1 - pow(beta_2, t)) / (1 - pow(beta_1, t)),
                          .a = 1 - beta_1, .b = 1 - beta_2, .epsilon = call->attrs[ADAM_EPSILON].f,
                          .decay = 1 - lr * call->attrs[WEIGHT_DECAY].f, .decays = true};
}

static df_status adam(const df_call *call, extent e, df_error *err)
{
    return run_update(call, 3, e, adam_f32, DF_HAS(F64, adam_f64), adam_coefficients(call), 0.8,
                      err);
}

static df_status amsgrad(const df_call *call, extent e, df_error *err)
{
    return run_update(call, 4, e, amsgrad_f32, DF_HAS(F64, amsgrad_f64), adam_coefficients(call), 1,
                      err);
}

TWINS(adam_update, check_adam, adam, EVERY)
#define ADAM_ATTRS .n_attrs = 4, \
    .attrs = {{"beta_1", DF_ATTR_FLOAT}, {"beta_2", DF_ATTR_FLOAT}, {"epsilon", DF_ATTR_FLOAT}, \
              {"weight_decay", DF_ATTR_FLOAT}}
DF_OP(adam_update) = {DENSE_RECORD(adam_update), .n_in = 6, .writes = 7, ADAM_ATTRS};
DF_OP(adam_update_rows) = {ROWS_RECORD(adam_update_rows), .n_in = 7, .writes = 7, ADAM_ATTRS};

TWINS(amsgrad_update, check_amsgrad, amsgrad, EVERY)
DF_OP(amsgrad_update) = {DENSE_RECORD(amsgrad_update), .n_in = 7, .writes = 15, ADAM_ATTRS};
DF_OP(amsgrad_update_rows) = {ROWS_RECORD(amsgrad_update_rows),
                              .n_in = 8, .writes = 15, ADAM_ATTRS};

enum { RHO, RMSPROP_MOMENTUM, RMSPROP_EPSILON };

/* Without momentum the last slot may be empty. */
static df_status check_rmsprop(const df_call *call, int grad, extent e, df_error *err)
{
    return check_update(call, grad, e, call->attrs[RMSPROP_MOMENTUM].f == 0 ? grad - 1 : 0, err);
}

static df_status check_plain(const df_call *call, extent e, df_error *err)
{
    return check_rmsprop(call, 3, e, err);
}

static df_status check_centered(const df_call *call, extent e, df_error *err)
{
    return check_rmsprop(call, 4, e, err);
}

static coefficients rmsprop_coefficients(const df_call *call)
{
    return (coefficients){.lr = scalar(call->in[call->n_in - 1]), .a = call->attrs[RHO].f,
                          .b = 1 - call->attrs[RHO].f, .c = call->attrs[RMSPROP_MOMENTUM].f,
                          .epsilon = call->attrs[RMSPROP_EPSILON].f,
                          .flag = call->attrs[RMSPROP_MOMENTUM].f != 0, .decays = true};
}

static df_status rmsprop(const df_call *call, extent e, df_error *err)
{
    return run_update(call, 3, e, rmsprop_f32, DF_HAS(F64, rmsprop_f64),
                      rmsprop_coefficients(call), 0.8, err);
}

static df_status centered_rmsprop(const df_call *call, extent e, df_error *err)
{
    return run_update(call, 4, e, centered_f32, DF_HAS(F64, centered_f64),
                      rmsprop_coefficients(call), 1, err);
}

#define RMSPROP_ATTRS                                                                            \
    .n_attrs = 3, .attrs = {{"rho", DF_ATTR_FLOAT}, {"momentum", DF_ATTR_FLOAT},                 \
                            {"epsilon", DF_ATTR_FLOAT}}

/* variable, mean square, momentum */
TWINS(rmsprop_update, check_plain, rmsprop, EVERY)
DF_OP(rmsprop_update) = {DENSE_RECORD(rmsprop_update), .n_in = 5, .writes = 7, RMSPROP_ATTRS};
DF_OP(rmsprop_update_rows) = {ROWS_RECORD(rmsprop_update_rows),
                              .n_in = 6, .writes = 7, RMSPROP_ATTRS};
/* variable, mean square, mean, momentum */
TWINS(centered_rmsprop_update, check_centered, centered_rmsprop, EVERY)
DF_OP(centered_rmsprop_update) = {DENSE_RECORD(centered_rmsprop_update),
                                  .n_in = 6, .writes = 15, RMSPROP_ATTRS};
DF_OP(centered_rmsprop_update_rows) = {ROWS_RECORD(centered_rmsprop_update_rows),
                                       .n_in = 7, .writes = 15, RMSPROP_ATTRS};

static df_status adagrad(const df_call *call, extent e, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[call->n_in - 1]), .epsilon = call->attrs[0].f};
    return run_update(call, 2, e, adagrad_f32, DF_HAS(F64, adagrad_f64), k, 0.6, err);
}

TWINS(adagrad_update, check_one_slot, adagrad, NAMED)
#define ADAGRAD_ATTRS .n_attrs = 1, .attrs = {{"epsilon", DF_ATTR_FLOAT}}
DF_OP(adagrad_update) = {DENSE_RECORD(adagrad_update), .n_in = 4, .writes = 3, ADAGRAD_ATTRS};
DF_OP(adagrad_update_rows) = {ROWS_RECORD(adagrad_update_rows),
                              .n_in = 5, .writes = 3, ADAGRAD_ATTRS};
