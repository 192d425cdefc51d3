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
 * gradient 0; they are skipped if that changes nothing.
 *
 * The parts of a complex variable are updated like two real variables.
 *
 * Both have a variant `<op>_mixed`, `<op>_mixed_rows` for a 16-bit variable. Its inputs begin with
 * the variable and its float32 master, the other slots are float32, and the gradient has the dtype
 * of the variable or float32. The float32 formula updates the master, whose rounding is the new
 * variable, in one pass in pieces that stay in the L1 cache. Elements of the variable that differ
 * from the rounded master were assigned after the last update: they replace the master's. */
#include "ops/in_float.h"
#include "ops/state/update_loop.h"

#include <math.h>

#define MAX_MIXED_IN 9

static double scalar(const df_tensor *x)
{
    return x->dtype == DF_F32 ? (double)*(const float *)x->data : *(const double *)x->data;
}

#define TEMPLATE "ops/state/optimizer_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

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
static df_status check_update(const df_call *call, int grad, variant v, int optional, df_error *err)
{
    const df_tensor *var = call->in[0];
    if (df_real_dtype(var->dtype) != DF_F32 && df_real_dtype(var->dtype) != DF_F64)
        return df_fail_dtype(call, 0, "a floating or complex dtype", err);
    for (int i = 1; i <= grad - (v.e != DENSE); i++) {
        const df_tensor *x = call->in[i];
        bool same_dtype = x->dtype == var->dtype;
        const bool absent = i == optional && x->size == 0;
        if (same_dtype && (absent || df_may_be_same_shape(x, var))) continue;
        return df_fail(err, same_dtype ? DF_BAD_SHAPE : DF_BAD_DTYPE,
                       "%s: the variable is %s, %s is %s, expected the same", call->op->name,
                       df_tensor_text(var).text, i == grad ? "its gradient" : "one of its slots",
                       df_tensor_text(x).text);
    }
    const int rate = grad + 1 + (v.e != DENSE);
    const df_status status = v.e == DENSE ? DF_OK : check_rows(call, grad, err);
    return status == DF_OK ? check_scalar(call, rate, "learning rate", true, err) : status;
}

typedef df_status (*variant_fn)(const df_call *call, variant v, df_error *err);

/* Checks a call of a mixed op: as the float32 call on the master. */
static df_status check_mixed(const df_call *call, extent e, variant_fn check, df_error *err)
{
    const df_tensor *in[MAX_MIXED_IN], *var = call->in[0], *master = call->in[1];
    const int grad = __builtin_popcount(call->op->writes);
    df_tensor wide = *call->in[grad]; /* borrows the shape */
    df_call of_floats = *call;
    if (!df_is_reduced_float(var->dtype))
        return df_fail_dtype(call, 0, "float16 or bfloat16", err);
    if (master->dtype != DF_F32 || !df_may_be_same_shape(master, var))
        return df_fail(err, master->dtype == DF_F32 ? DF_BAD_SHAPE : DF_BAD_DTYPE,
                       "%s: the variable is %s, its master is %s, expected float32 of the same "
                       "shape", call->op->name, df_tensor_text(var).text,
                       df_tensor_text(master).text);
    for (int i = 1; i < call->n_in; i++) in[i - 1] = call->in[i];
    if (wide.dtype == var->dtype) wide.dtype = DF_F32;
    in[grad - 1] = &wide;
    of_floats.in = in;
    of_floats.n_in--;
    return check(&of_floats, (variant){e, NULL}, err);
}

static df_status run_mixed(const df_call *call, extent e, variant_fn update, df_error *err)
{
    df_call on_master = *call;
    on_master.in++;
    on_master.n_in--;
    return update(&on_master, (variant){e, call->in[0]}, err);
}

#if DF_BUILT_HALVES
/* A 16-bit gradient of a float32 variable is converted in pieces, anything else as a whole. */
static df_status run_half(const df_call *call, df_error *err)
{
    for (int i = 0; i < call->n_in; i++)
        if (df_is_reduced_float(call->in[i]->dtype) && i != __builtin_popcount(call->op->writes))
            return DF_SYM(df_run_in_float)(call, err);
    return call->op->run(call, err);
}
#define RUN_HALF .run_half = run_half
#else
#define RUN_HALF .run_half = NULL
#endif

/* Functions of the records of an op and its variants; `zero` specifies whether the gradient 0
 * changes anything. */
#define VARIANT(op, check, update, zero, suffix)                                                 \
    static df_status infer_##op##suffix(const df_call *call, df_error *err)                      \
    {                                                                                            \
        return check(call, (variant){zero, NULL}, err);                                          \
    }                                                                                            \
    static df_status run_##op##suffix(const df_call *call, df_error *err)                        \
    {                                                                                            \
        return update(call, (variant){zero, NULL}, err);                                         \
    }                                                                                            \
    static df_status infer_##op##_mixed##suffix(const df_call *call, df_error *err)              \
    {                                                                                            \
        return check_mixed(call, zero, check, err);                                              \
    }                                                                                            \
    static df_status run_##op##_mixed##suffix(const df_call *call, df_error *err)                \
    {                                                                                            \
        return run_mixed(call, zero, update, err);                                               \
    }
#define VARIANTS(op, check, update, zero) VARIANT(op, check, update, DENSE, ) \
    VARIANT(op, check, update, zero, _rows)
#define RECORD(op) .name = #op, .kind = DF_GENERAL, .infer = infer_##op, .run = run_##op
#define WRITTEN(n) ((1u << (n)) - 1)

/* Parts of the records of an op with `vars` written and `n` other inputs, and of its variants. */
#define DENSE_OP(op, vars, n) RECORD(op), RUN_HALF, .cannot_fail = true, .n_in = vars + n,        \
                              .writes = WRITTEN(vars)
#define ROWS_OP(op, vars, n) RECORD(op##_rows), RUN_IN_FLOAT, .workspace = rows_workspace,       \
                             .n_in = vars + n + 1, .writes = WRITTEN(vars)
#define MIXED_OP(op, vars, n) RECORD(op##_mixed), .cannot_fail = true, .n_in = 1 + vars + n,     \
                              .writes = WRITTEN(1 + vars)
#define MIXED_ROWS_OP(op, vars, n) RECORD(op##_mixed_rows), .workspace = rows_workspace,         \
                                   .n_in = 1 + vars + n + 1, .writes = WRITTEN(1 + vars)

static df_status check_sgd(const df_call *call, variant v, df_error *err)
{
    return check_update(call, 1, v, 0, err);
}

static df_status sgd(const df_call *call, variant v, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[call->n_in - 1])};
    return run_update(call, 1, v, sgd_f32, DF_HAS(F64, sgd_f64), k, 0.3, err);
}

VARIANTS(sgd_update, check_sgd, sgd, NAMED)
DF_OP(sgd_update) = {DENSE_OP(sgd_update, 1, 2)};
DF_OP(sgd_update_rows) = {ROWS_OP(sgd_update, 1, 2)};
DF_OP(sgd_update_mixed) = {MIXED_OP(sgd_update, 1, 2)};
DF_OP(sgd_update_mixed_rows) = {MIXED_ROWS_OP(sgd_update, 1, 2)};

enum { MOMENTUM_RATE, NESTEROV };

static df_status check_one_slot(const df_call *call, variant v, df_error *err)
{
    return check_update(call, 2, v, 0, err);
}

static df_status momentum(const df_call *call, variant v, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[call->n_in - 1]), .a = call->attrs[MOMENTUM_RATE].f,
                      .flag = call->attrs[NESTEROV].i != 0, .decays = true};
    return run_update(call, 2, v, momentum_f32, DF_HAS(F64, momentum_f64), k, 0.5, err);
}

#define MOMENTUM_ATTRS .n_attrs = 2, \
    .attrs = {{"momentum", DF_ATTR_FLOAT}, {"nesterov", DF_ATTR_BOOL}}
VARIANTS(momentum_update, check_one_slot, momentum, EVERY)
DF_OP(momentum_update) = {DENSE_OP(momentum_update, 2, 2), MOMENTUM_ATTRS};
DF_OP(momentum_update_rows) = {ROWS_OP(momentum_update, 2, 2), MOMENTUM_ATTRS};
DF_OP(momentum_update_mixed) = {MIXED_OP(momentum_update, 2, 2), MOMENTUM_ATTRS};
DF_OP(momentum_update_mixed_rows) = {MIXED_ROWS_OP(momentum_update, 2, 2), MOMENTUM_ATTRS};

enum { BETA_1, BETA_2, ADAM_EPSILON, WEIGHT_DECAY };

static df_status check_adam(const df_call *call, variant v, df_error *err)
{
    df_status st = check_update(call, 3, v, 0, err);
    return st != DF_OK ? st : check_scalar(call, call->n_in - 1, "step", false, err);
}

static df_status check_amsgrad(const df_call *call, variant v, df_error *err)
{
    df_status st = check_update(call, 4, v, 0, err);
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

static df_status adam(const df_call *call, variant v, df_error *err)
{
    return run_update(call, 3, v, adam_f32, DF_HAS(F64, adam_f64), adam_coefficients(call), 0.8,
                      err);
}

static df_status amsgrad(const df_call *call, variant v, df_error *err)
{
    return run_update(call, 4, v, amsgrad_f32, DF_HAS(F64, amsgrad_f64), adam_coefficients(call), 1,
                      err);
}

#define ADAM_ATTRS .n_attrs = 4, \
    .attrs = {{"beta_1", DF_ATTR_FLOAT}, {"beta_2", DF_ATTR_FLOAT}, {"epsilon", DF_ATTR_FLOAT}, \
              {"weight_decay", DF_ATTR_FLOAT}}
VARIANTS(adam_update, check_adam, adam, EVERY)
DF_OP(adam_update) = {DENSE_OP(adam_update, 3, 3), ADAM_ATTRS};
DF_OP(adam_update_rows) = {ROWS_OP(adam_update, 3, 3), ADAM_ATTRS};
DF_OP(adam_update_mixed) = {MIXED_OP(adam_update, 3, 3), ADAM_ATTRS};
DF_OP(adam_update_mixed_rows) = {MIXED_ROWS_OP(adam_update, 3, 3), ADAM_ATTRS};
VARIANTS(amsgrad_update, check_amsgrad, amsgrad, EVERY)
DF_OP(amsgrad_update) = {DENSE_OP(amsgrad_update, 4, 3), ADAM_ATTRS};
DF_OP(amsgrad_update_rows) = {ROWS_OP(amsgrad_update, 4, 3), ADAM_ATTRS};
DF_OP(amsgrad_update_mixed) = {MIXED_OP(amsgrad_update, 4, 3), ADAM_ATTRS};
DF_OP(amsgrad_update_mixed_rows) = {MIXED_ROWS_OP(amsgrad_update, 4, 3), ADAM_ATTRS};

enum { RHO, RMSPROP_MOMENTUM, RMSPROP_EPSILON };

/* Without momentum the last slot may be empty. */
static df_status check_rmsprop(const df_call *call, int grad, variant v, df_error *err)
{
    return check_update(call, grad, v, call->attrs[RMSPROP_MOMENTUM].f == 0 ? grad - 1 : 0, err);
}

static df_status check_plain(const df_call *call, variant v, df_error *err)
{
    return check_rmsprop(call, 3, v, err);
}

static df_status check_centered(const df_call *call, variant v, df_error *err)
{
    return check_rmsprop(call, 4, v, err);
}

static coefficients rmsprop_coefficients(const df_call *call)
{
    return (coefficients){.lr = scalar(call->in[call->n_in - 1]), .a = call->attrs[RHO].f,
                          .b = 1 - call->attrs[RHO].f, .c = call->attrs[RMSPROP_MOMENTUM].f,
                          .epsilon = call->attrs[RMSPROP_EPSILON].f,
                          .flag = call->attrs[RMSPROP_MOMENTUM].f != 0, .decays = true};
}

static df_status rmsprop(const df_call *call, variant v, df_error *err)
{
    return run_update(call, 3, v, rmsprop_f32, DF_HAS(F64, rmsprop_f64),
                      rmsprop_coefficients(call), 0.8, err);
}

static df_status centered_rmsprop(const df_call *call, variant v, df_error *err)
{
    return run_update(call, 4, v, centered_f32, DF_HAS(F64, centered_f64),
                      rmsprop_coefficients(call), 1, err);
}

#define RMSPROP_ATTRS                                                                            \
    .n_attrs = 3, .attrs = {{"rho", DF_ATTR_FLOAT}, {"momentum", DF_ATTR_FLOAT},                 \
                            {"epsilon", DF_ATTR_FLOAT}}

/* variable, mean square, momentum */
VARIANTS(rmsprop_update, check_plain, rmsprop, EVERY)
DF_OP(rmsprop_update) = {DENSE_OP(rmsprop_update, 3, 2), RMSPROP_ATTRS};
DF_OP(rmsprop_update_rows) = {ROWS_OP(rmsprop_update, 3, 2), RMSPROP_ATTRS};
DF_OP(rmsprop_update_mixed) = {MIXED_OP(rmsprop_update, 3, 2), RMSPROP_ATTRS};
DF_OP(rmsprop_update_mixed_rows) = {MIXED_ROWS_OP(rmsprop_update, 3, 2), RMSPROP_ATTRS};
/* variable, mean square, mean, momentum */
VARIANTS(centered_rmsprop_update, check_centered, centered_rmsprop, EVERY)
DF_OP(centered_rmsprop_update) = {DENSE_OP(centered_rmsprop_update, 4, 2), RMSPROP_ATTRS};
DF_OP(centered_rmsprop_update_rows) = {ROWS_OP(centered_rmsprop_update, 4, 2), RMSPROP_ATTRS};
DF_OP(centered_rmsprop_update_mixed) = {MIXED_OP(centered_rmsprop_update, 4, 2), RMSPROP_ATTRS};
DF_OP(centered_rmsprop_update_mixed_rows) = {MIXED_ROWS_OP(centered_rmsprop_update, 4, 2),
                                             RMSPROP_ATTRS};

static df_status adagrad(const df_call *call, variant v, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[call->n_in - 1]), .epsilon = call->attrs[0].f};
    return run_update(call, 2, v, adagrad_f32, DF_HAS(F64, adagrad_f64), k, 0.6, err);
}

#define ADAGRAD_ATTRS .n_attrs = 1, .attrs = {{"epsilon", DF_ATTR_FLOAT}}
VARIANTS(adagrad_update, check_one_slot, adagrad, NAMED)
DF_OP(adagrad_update) = {DENSE_OP(adagrad_update, 2, 2), ADAGRAD_ATTRS};
DF_OP(adagrad_update_rows) = {ROWS_OP(adagrad_update, 2, 2), ADAGRAD_ATTRS};
DF_OP(adagrad_update_mixed) = {MIXED_OP(adagrad_update, 2, 2), ADAGRAD_ATTRS};
DF_OP(adagrad_update_mixed_rows) = {MIXED_ROWS_OP(adagrad_update, 2, 2), ADAGRAD_ATTRS};
