/* The steps every caller of an op performs, in this order: check arity, infer shapes, run the
 * kernel. Called by eager dispatch (_core) and by programs (exec). */
#include "op/op.h"
#include "base/numerics.h"
#include "op/tile.h"

#include <stdio.h>
#include <string.h>

#define MAX_IN 16 /* inputs of an op that computes reduced-precision floats in float32 */

static df_status fail_no_tile(const df_call *call, df_error *err)
{
    char wanted[128] = "";
    for (int d = 0; d < DF_N_DTYPES; d++) {
        if (call->op->tile[d] == NULL) continue;
        if (wanted[0]) strcat(wanted, ", ");
        strcat(wanted, df_dtypes[d].name);
    }
    return df_fail_dtype(call, call->op->tile_key, wanted[0] ? wanted : "another dtype", err);
}

bool df_op_in_float(const df_call *call)
{
    const df_tensor *half = NULL;
    if (!call->op->run_half) return false;
    for (int i = 0; i < call->n_in && !half; i++)
        if (df_is_reduced_float(call->in[i]->dtype)) half = call->in[i];
    if (!half || call->op->writes) return half != NULL;
    for (int i = 0; i < call->n_in; i++)
        if (df_is_float(call->in[i]->dtype) && call->in[i]->dtype != half->dtype) return false;
    return true;
}

/* Infers with float32 in place of the reduced-precision dtype, then restores the dtype. */
static df_status infer_in_float(const df_call *call, df_error *err)
{
    df_tensor wide[MAX_IN];
    const df_tensor *in[MAX_IN];
    df_dtype half = DF_F32;
    df_call of_floats = *call;
    of_floats.in = in;
    if (call->n_in > MAX_IN)
        return df_fail(err, DF_UNIMPLEMENTED, "%s: %d inputs, expected at most %d", call->op->name,
                       call->n_in, MAX_IN);
    for (int i = 0; i < call->n_in; i++) {
        in[i] = call->in[i];
        if (!df_is_reduced_float(in[i]->dtype)) continue;
        wide[i] = *in[i]; /* borrows the shape */
        half = wide[i].dtype;
        wide[i].dtype = DF_F32;
        in[i] = &wide[i];
    }
    df_status st = call->op->infer(&of_floats, err);
    for (int i = 0; i < call->n_out && st == DF_OK; i++)
        if (call->out[i]->dtype == DF_F32) call->out[i]->dtype = half;
    if (st != DF_OK)
        snprintf(err->text + strlen(err->text), sizeof err->text - strlen(err->text),
                 "; %s is computed in float32", df_dtypes[half].name);
    return st;
}

/* Promoted inputs must have one dtype: kernels inspect only one of them. */
static df_status check_promoted(const df_call *call, df_error *err)
{
    const df_op *op = call->op;
    int first = -1;
    for (int k = 0; k < call->n_in && op->promote; k++) {
        if (op->n_in != DF_VARIADIC && (k >= 32 || !(op->promote >> k & 1))) continue;
        if (first < 0) first = k;
        if (call->in[k]->dtype != call->in[first]->dtype)
            return df_fail_dtype(call, k, df_dtypes[call->in[first]->dtype].name, err);
    }
    return DF_OK;
}

df_status df_op_check_attrs(const df_op *op, const df_attr *attrs, df_error *err)
{
    for (int k = 0; k < op->n_attrs; k++) {
        const int64_t i = attrs[k].i;
        const df_attr_type type = op->attrs[k].type;
        const bool good = type == DF_ATTR_DTYPE  ? i >= 0 && i < DF_N_DTYPES
                          : type == DF_ATTR_BOOL ? i == 0 || i == 1
                          : type == DF_ATTR_INTS ? attrs[k].list.n >= 0
                                                 : true;
        if (!good)
            return df_fail(err, DF_INVALID_ARGUMENT, "%s: attribute %s is %lld, expected %s",
                           op->name, op->attrs[k].name,
                           (long long)(type == DF_ATTR_INTS ? attrs[k].list.n : i),
                           type == DF_ATTR_DTYPE  ? "a dtype"
                           : type == DF_ATTR_BOOL ? "0 or 1"
                                                  : "a list");
    }
    return DF_OK;
}

static df_status check_inputs(const df_call *call, df_error *err)
{
    const df_op *op = call->op;
    if (op->n_in == DF_VARIADIC ? call->n_in >= (op->n_bodies ? 0 : 1) : call->n_in == op->n_in)
        return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: got %d inputs, expected %d", op->name, call->n_in,
                   op->n_in == DF_VARIADIC ? 1 : op->n_in);
}

df_status df_op_check_arity(const df_call *call, df_error *err)
{
    const df_op *op = call->op;
    df_status st = check_inputs(call, err);
    if (st != DF_OK) return st;
    const int n_out = op->n_out == DF_VARIADIC ? op->count_out(call) : op->n_out;
    for (int k = 0; op->n_out == DF_VARIADIC && k < call->n_in; k++)
        if (call->in[k]->size < 0) return DF_OK;
    if (call->n_out == n_out) return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: %d outputs, expected %d", op->name,
                   call->n_out, n_out);
}

df_status df_op_infer(const df_call *call, df_error *err)
{
    const df_op *op = call->op;
    df_status st = check_inputs(call, err);
    if (st == DF_OK) st = check_promoted(call, err);
    if (st == DF_OK) st = df_op_in_float(call) ? infer_in_float(call, err) : op->infer(call, err);
    if (st == DF_OK && op->kind == DF_ELEMENTWISE && df_tile_select(call) == NULL)
        return fail_no_tile(call, err);
    return st;
}

df_status df_op_infer_for_run(const df_call *call, df_error *err)
{
    df_status status = df_op_infer(call, err);
    for (int k = 0; k < call->n_out && status == DF_OK; k++)
        if (call->out[k]->size < 0 && !call->op->data_dependent_shape)
            status = df_fail(err, DF_BAD_SHAPE,
                             "%s: shape %s of the result is not known, expected sizes of 0 or more",
                             call->op->name,
                             df_shape_text(call->out[k]->ndim, call->out[k]->shape).text);
    return status;
}

bool df_op_may_raise(const df_op *op,
                     df_dtype dtype) { return op->value_check.dtypes >> dtype & 1; }

static df_status find_invalid_value(const df_call *call, df_error *err)
{
    const df_value_check *r = &call->op->value_check;
    const df_tensor *x = call->in[r->input];
    if (call->out[0]->size == 0) return DF_OK;
    const int64_t at = r->first(x);
    if (at < 0) return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT,
                   "%s: input %d is %s, expected %s, violated at flat index %lld", call->op->name,
                   r->input, df_tensor_text(x).text, r->want, (long long)at);
}

df_status df_op_run(const df_call *call, df_error *err)
{
    const df_op *op = call->op;
    if (op->kind != DF_ELEMENTWISE)
        return df_op_in_float(call) ? op->run_half(call, err) : op->run(call, err);
    if (df_op_may_raise(op, call->in[op->value_check.input]->dtype)) {
        df_status status = find_invalid_value(call, err);
        if (status != DF_OK) return status;
    }
    return df_tile_run(call, err);
}

int64_t df_op_workspace(const df_call *call)
{
    return call->op->workspace && !df_op_in_float(call) ? call->op->workspace(call) : 0;
}

/* True if the kernel may have overwritten input `k`. */
static bool overwritten(const df_call *call, int k)
{
    if (k < 32 && call->op->writes >> k & 1) return true;
    for (int j = 0; j < call->n_out; j++)
        if (call->out[j]->data == call->in[k]->data) return true;
    return false;
}

/* Writes "; of float32 (2, 3), float32 (3,) with 1 NaN and 0 infinite", as much as fits. Returns
 * true if an input is not finite. */
static bool describe_inputs(const df_call *call, char *text, size_t capacity)
{
    bool found_any = false;
    size_t at = 0;
    text[0] = '\0';
    for (int k = 0; k < call->n_in; k++) {
        if (overwritten(call, k)) continue;
        const df_nonfinite found = df_find_nonfinite(call->in[k]);
        found_any |= found.first >= 0;
        if (at + 2 * DF_TEXT_BYTES > capacity) continue;
        at += (size_t)snprintf(text + at, capacity - at, "%s%s", at ? ", " : "; of ",
                               df_tensor_text(call->in[k]).text);
        if (found.first >= 0)
            at += (size_t)snprintf(text + at, capacity - at, " with %lld NaN and %lld infinite",
                                   (long long)found.n_nan, (long long)found.n_inf);
    }
    return found_any;
}

static df_status check_finite(const df_call *call, const df_tensor *t, const char *what, int k,
                              df_error *err)
{
    char inputs[6 * DF_TEXT_BYTES];
    const df_nonfinite found = df_find_nonfinite(t);
    if (found.first < 0) return DF_OK;
    if (describe_inputs(call, inputs, sizeof inputs) && found.n_nan == 0) return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT,
                   "%s: %s %d, %s, has %lld NaN and %lld infinite of %lld elements, the first at "
                   "flat index %lld%s",
                   call->op->name, what, k, df_tensor_text(t).text, (long long)found.n_nan,
                   (long long)found.n_inf, (long long)t->size, (long long)found.first, inputs);
}

df_status df_op_check_numerics(const df_call *call, df_error *err)
{
    df_status status = DF_OK;
    if (call->op->kind == DF_VIEW || call->op->async_role == DF_ASYNC_START) return DF_OK;
    for (int k = 0; k < call->n_out && status == DF_OK; k++)
        status = check_finite(call, call->out[k], "output", k, err);
    for (int k = 0; k < call->n_in && k < 32 && status == DF_OK; k++)
        if (call->op->writes >> k & 1)
            status = check_finite(call, call->in[k], "written input", k, err);
    return status;
}
