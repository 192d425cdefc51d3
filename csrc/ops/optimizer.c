/* Updates of variables by their gradients, in place and in one pass over memory. The formulas are
 * those of Keras 3, so that a model behaves the same under the same settings.
 *
 * The variable and its slots come first, then gradient, learning rate and, for Adam, the number of
 * updates made before this one. Learning rates are floating scalars: inputs, not
 * attributes, so that a graph can feed them. Loops are plain: the compilers vectorise them, and
 * beyond the caches memory is the limit. */
#include "ops/in_float.h"
#include "op/op.h"
#include "base/thread.h"
#include "simd/simd.h"

#include <math.h>

#define MAX_WRITTEN 4
#define GRAIN 16384

/* What a loop needs, in float64; it rounds what it uses to its own dtype. */
typedef struct {
    double lr, a, b, c, epsilon, decay;
    bool flag; /* nesterov, or: there is momentum */
} coefficients;

typedef struct update update;
typedef void (*update_fn)(int64_t n, void *const *var, const void *grad, const coefficients *k);
struct update {
    update_fn fn;
    coefficients k;
    int bytes, n_written;
    void *var[MAX_WRITTEN]; /* NULL for a slot that is not used */
    const char *grad;
};

static void update_block(void *context, int64_t begin, int64_t end)
{
    const update *u = context;
    void *var[MAX_WRITTEN] = {0};
    for (int i = 0; i < u->n_written; i++)
        if (u->var[i]) var[i] = (char *)u->var[i] + begin * u->bytes;
    u->fn(end - begin, var, u->grad + begin * u->bytes, &u->k);
}

static double scalar(const df_tensor *x)
{
    return x->dtype == DF_F32 ? (double)*(const float *)x->data : *(const double *)x->data;
}

/* Runs the update on the variables before input `grad`; the learning rate follows that. */
static df_status run_update(const df_call *call, int grad, update_fn f32, update_fn f64,
                            coefficients k, double cost)
{
    const df_tensor *var = call->in[0];
    update u = {.fn = var->dtype == DF_F32 ? f32 : f64, .k = k, .n_written = grad,
                .bytes = df_dtypes[var->dtype].bytes, .grad = call->in[grad]->data};
    for (int i = 0; i < grad; i++) u.var[i] = call->in[i]->size ? call->in[i]->data : NULL;
    df_parallel_for(var->size, GRAIN, cost * u.bytes / 4, update_block, &u);
    return DF_OK;
}

static df_status check_scalar(const df_call *call, int input, const char *what, bool floating,
                              df_error *err)
{
    const df_tensor *x = call->in[input];
    bool fits = floating ? x->dtype == DF_F32 || x->dtype == DF_F64 : x->dtype == DF_I64;
    if (!fits || x->ndim != 0)
        return df_fail(err, fits ? DF_BAD_SHAPE : DF_BAD_DTYPE, "%s: the %s is %s, want %s ()",
                       call->op->name, what, df_tensor_text(x).text,
                       floating ? "a floating dtype" : "int64");
    return DF_OK;
}

/* Everything up to the gradient (input `grad`) is like the variable; input `optional`, if not 0,
 * may be empty instead. */
static df_status check_update(const df_call *call, int grad, int optional, df_error *err)
{
    const df_tensor *var = call->in[0];
    if (var->dtype != DF_F32 && var->dtype != DF_F64)
        return df_fail_dtype(call, 0, "a floating dtype", err);
    for (int i = 1; i <= grad; i++) {
        const df_tensor *x = call->in[i];
        bool same_dtype = x->dtype == var->dtype;
        const bool absent = i == optional && x->size == 0;
        if (same_dtype && (absent || df_may_be_same_shape(x, var))) continue;
        return df_fail(err, same_dtype ? DF_BAD_SHAPE : DF_BAD_DTYPE,
                       "%s: the variable is %s, %s is %s, want the same", call->op->name,
                       df_tensor_text(var).text, i == grad ? "its gradient" : "a slot of it",
                       df_tensor_text(x).text);
    }
    return check_scalar(call, grad + 1, "learning rate", true, err);
}

#define TEMPLATE "ops/optimizer_formulas.h"
#include "ops/each_float.h"
#undef TEMPLATE

static df_status infer_sgd(const df_call *call, df_error *err)
{
    return check_update(call, 1, 0, err);
}

static df_status run_sgd(const df_call *call, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[2])};
    (void)err;
    return run_update(call, 1, sgd_f32, sgd_f64, k, 0.3);
}

DF_OP(sgd_update) = {.name = "sgd_update", .kind = DF_GENERAL, .total = true,
                     .n_in = 3, .writes = 1,
                     .infer = infer_sgd, HALVES_IN_FLOAT, .run = run_sgd};

enum { MOMENTUM_RATE, NESTEROV };

static df_status infer_one_slot(const df_call *call, df_error *err)
{
    return check_update(call, 2, 0, err);
}

static df_status run_momentum(const df_call *call, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[3]), .a = call->attrs[MOMENTUM_RATE].f,
                      .flag = call->attrs[NESTEROV].i != 0};
    (void)err;
    return run_update(call, 2, momentum_f32, momentum_f64, k, 0.5);
}

DF_OP(momentum_update) = {.name = "momentum_update", .kind = DF_GENERAL, .total = true,
                          .n_in = 4, .writes = 3,
                          .n_attrs = 2,
                          .attrs = {{"momentum", DF_ATTR_FLOAT}, {"nesterov", DF_ATTR_BOOL}},
                          .infer = infer_one_slot, HALVES_IN_FLOAT, .run = run_momentum};

enum { BETA_1, BETA_2, ADAM_EPSILON, WEIGHT_DECAY };

static df_status infer_adam(const df_call *call, df_error *err)
{
    df_status st = check_update(call, 3, 0, err);
    return st != DF_OK ? st : check_scalar(call, 5, "step", false, err);
}

/* The corrections of bias are part of the learning rate (Kingma and Ba, "Adam: a method for
 * stochastic optimization", ICLR 2015, end of section 2). */
static df_status run_adam(const df_call *call, df_error *err)
{
    double beta_1 = call->attrs[BETA_1].f, beta_2 = call->attrs[BETA_2].f;
    double t = (double)*(const int64_t *)call->in[5]->data + 1, lr = scalar(call->in[4]);
    coefficients k = {.lr = lr * sqrt(1 - pow(beta_2, t)) / (1 - pow(beta_1, t)),
                      .a = 1 - beta_1, .b = 1 - beta_2, .epsilon = call->attrs[ADAM_EPSILON].f,
                      .decay = 1 - lr * call->attrs[WEIGHT_DECAY].f};
    (void)err;
    return run_update(call, 3, adam_f32, adam_f64, k, 0.8);
}

DF_OP(adam_update) = {
    .name = "adam_update", .kind = DF_GENERAL, .total = true, .n_in = 6, .writes = 7, .n_attrs = 4,
    .attrs = {{"beta_1", DF_ATTR_FLOAT}, {"beta_2", DF_ATTR_FLOAT}, {"epsilon", DF_ATTR_FLOAT},
              {"weight_decay", DF_ATTR_FLOAT}},
    .infer = infer_adam, HALVES_IN_FLOAT, .run = run_adam};

enum { RHO, RMSPROP_MOMENTUM, RMSPROP_EPSILON };

/* Without momentum its slot, the last one, may be empty. */
static df_status infer_rmsprop(const df_call *call, df_error *err)
{
    int grad = call->n_in - 2;
    return check_update(call, grad, call->attrs[RMSPROP_MOMENTUM].f == 0 ? grad - 1 : 0, err);
}

static df_status run_rmsprop(const df_call *call, df_error *err)
{
    int grad = call->n_in - 2;
    coefficients k = {.lr = scalar(call->in[grad + 1]), .a = call->attrs[RHO].f,
                      .b = 1 - call->attrs[RHO].f, .c = call->attrs[RMSPROP_MOMENTUM].f,
                      .epsilon = call->attrs[RMSPROP_EPSILON].f,
                      .flag = call->attrs[RMSPROP_MOMENTUM].f != 0};
    (void)err;
    return grad == 3 ? run_update(call, grad, rmsprop_f32, rmsprop_f64, k, 0.8)
                     : run_update(call, grad, centered_f32, centered_f64, k, 1);
}

#define RMSPROP_ATTRS                                                                            \
    .n_attrs = 3, .attrs = {{"rho", DF_ATTR_FLOAT}, {"momentum", DF_ATTR_FLOAT},                 \
                            {"epsilon", DF_ATTR_FLOAT}}

/* variable, mean square, momentum */
DF_OP(rmsprop_update) = {.name = "rmsprop_update", .kind = DF_GENERAL, .total = true,
                         .n_in = 5, .writes = 7,
                         RMSPROP_ATTRS, .infer = infer_rmsprop, HALVES_IN_FLOAT,
                         .run = run_rmsprop};
/* variable, mean square, mean, momentum */
DF_OP(centered_rmsprop_update) = {.name = "centered_rmsprop_update", .kind = DF_GENERAL,
                                  .total = true, .n_in = 6, .writes = 15, RMSPROP_ATTRS,
                                  .infer = infer_rmsprop, HALVES_IN_FLOAT, .run = run_rmsprop};

static df_status run_adagrad(const df_call *call, df_error *err)
{
    coefficients k = {.lr = scalar(call->in[3]), .epsilon = call->attrs[0].f};
    (void)err;
    return run_update(call, 2, adagrad_f32, adagrad_f64, k, 0.6);
}

DF_OP(adagrad_update) = {.name = "adagrad_update", .kind = DF_GENERAL, .total = true,
                         .n_in = 4, .writes = 3,
                         .n_attrs = 1, .attrs = {{"epsilon", DF_ATTR_FLOAT}},
                         .infer = infer_one_slot, HALVES_IN_FLOAT, .run = run_adagrad};
