/* Tensors created from numbers: ranges, evenly spaced numbers, one-hot rows. */
#include "ops/in_float.h"
#include "ops/array/strided.h"
#include "simd/simd.h"
#include "base/thread.h"

#include <math.h>

typedef df_status (*range_fn)(const df_call *call, df_error *err);
typedef void (*linspace_fn)(const df_call *call);

#define ceil_f32 ceilf
#define ceil_f64 ceil

enum { COUNT = 0, NUM = 0, DEPTH = 0, AXIS = 1, RANGE_GRAIN = 16384 };

static df_status fail_range(const df_call *call, const char *why, df_error *err)
{
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: of %s, %s", call->op->name,
                   df_dtypes[call->in[0]->dtype].name, why);
}

#define TEMPLATE "ops/array/creation_formulas.h"
#include "ops/each_float.h"
#include "ops/each_int.h"
#undef TEMPLATE

static const range_fn range_fns[DF_N_DTYPES] = {
    DF_OF(U8, range_u8), DF_OF(U16, range_u16), DF_OF(U32, range_u32), DF_OF(U64, range_u64),
    DF_OF(I8, range_i8), DF_OF(I16, range_i16), DF_OF(I32, range_i32), DF_OF(I64, range_i64),
    [DF_F32] = range_f32, DF_OF(F64, range_f64)};
static const linspace_fn linspace_fns[DF_N_DTYPES] = {[DF_F32] = linspace_f32,
                                                      DF_OF(F64, linspace_f64)};

static df_status check_scalars(const df_call *call, int n, df_error *err)
{
    for (int i = 0; i < n; i++)
        if (call->in[i]->ndim != 0)
            return df_fail(err, DF_BAD_SHAPE, "%s: input %d is %s, expected shape ()",
                           call->op->name, i, df_tensor_text(call->in[i]).text);
    return DF_OK;
}

DF_ONCE(df_status, infer_range, (const df_call *call, df_error *err))
{
    /* The count depends on the values of the inputs; a caller that knows them passes it as
     * attribute. */
    const int64_t n = call->attrs[COUNT].i < 0 ? DF_UNKNOWN : call->attrs[COUNT].i;
    df_status status = check_scalars(call, 3, err);
    if (status != DF_OK) return status;
    if (!range_fns[call->in[0]->dtype])
        return df_fail_dtype(call, 0, "integers or floats", err);
    return df_tensor_set(call->out[0], call->in[0]->dtype, 1, &n, call->op->name, err);
}

static df_status run_range(const df_call *call, df_error *err)
{
    return range_fns[call->in[0]->dtype](call, err);
}

DF_ONCE(df_status, infer_linspace, (const df_call *call, df_error *err))
{
    const int64_t num = call->attrs[NUM].i;
    df_status status = check_scalars(call, 2, err);
    if (status != DF_OK) return status;
    if (!linspace_fns[call->in[0]->dtype])
        return df_fail_dtype(call, 0, "a floating dtype", err);
    if (num < 1 && num != DF_OPEN)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: num is %lld, expected 1 or more",
                       call->op->name, (long long)num);
    const int64_t size = num == DF_OPEN ? DF_UNKNOWN : num;
    return df_tensor_set(call->out[0], call->in[0]->dtype, 1, &size, call->op->name, err);
}

static df_status run_linspace(const df_call *call, df_error *err)
{
    (void)err;
    linspace_fns[call->in[0]->dtype](call);
    return DF_OK;
}

/* --- one_hot: outer positions x depth x inner positions --- */

DF_ONCE(df_status, infer_one_hot, (const df_call *call, df_error *err))
{
    const df_tensor *x = call->in[0], *on = call->in[1], *off = call->in[2];
    const int64_t depth = call->attrs[DEPTH].i;
    int64_t shape[DF_MAX_NDIM + 1];
    int axis;
    if (!df_is_int(x->dtype)) return df_fail_dtype(call, 0, "integers", err);
    if (on->ndim != 0 || off->ndim != 0 || on->dtype != off->dtype)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: on_value is %s, off_value %s, expected one dtype and shape ()",
                       call->op->name, df_tensor_text(on).text, df_tensor_text(off).text);
    if (depth < 0 && depth != DF_OPEN)
        return df_fail(err, DF_INVALID_ARGUMENT, "%s: depth is %lld, expected 0 or more",
                       call->op->name, (long long)depth);
    df_status status =
        df_normalize_axis(call->attrs[AXIS].i, x->ndim + 1, call->op->name, &axis, err);
    if (status != DF_OK) return status;
    for (int d = 0; d < axis; d++) shape[d] = x->shape[d];
    shape[axis] = depth == DF_OPEN ? DF_UNKNOWN : depth;
    for (int d = axis; d < x->ndim; d++) shape[d + 1] = x->shape[d];
    return df_tensor_set(call->out[0], on->dtype, x->ndim + 1, shape, call->op->name, err);
}

/* Reads memory exactly once, as another thread may write shared memory at the same time. Values
 * that int64 cannot hold become negative, and so match no index. */
static int64_t read_int(const df_tensor *x, int64_t i)
{
    switch (x->dtype) {
    case DF_U8: return ((const volatile uint8_t *)x->data)[i];
    case DF_U16: return ((const volatile uint16_t *)x->data)[i];
    case DF_U32: return ((const volatile uint32_t *)x->data)[i];
    case DF_I8: return ((const volatile int8_t *)x->data)[i];
    case DF_I16: return ((const volatile int16_t *)x->data)[i];
    case DF_I32: return ((const volatile int32_t *)x->data)[i];
    default: return ((const volatile int64_t *)x->data)[i];
    }
}

static df_status run_one_hot(const df_call *call, df_error *err)
{
    (void)err;
    const df_tensor *x = call->in[0], *y = call->out[0];
    const int64_t depth = call->attrs[DEPTH].i, given = call->attrs[AXIS].i;
    const int axis = (int)(given < 0 ? given + y->ndim : given), bytes = df_dtypes[y->dtype].bytes;
    int64_t inner = 1;
    for (int d = axis; d < x->ndim; d++) inner *= x->shape[d];
    DF_SYM(df_fill)(y->data, y->size, call->in[2]->data, bytes);
    if (y->size == 0) return DF_OK;
    for (int64_t i = 0; i < x->size; i++) {
        const int64_t index = read_int(x, i);
        if (index < 0 || index >= depth) continue;
        const int64_t at = (i / inner * depth + index) * inner + i % inner;
        memcpy((char *)y->data + at * bytes, call->in[1]->data, (size_t)bytes);
    }
    return DF_OK;
}

DF_OP(range) = {.name = "range", .kind = DF_GENERAL, .data_dependent_shape = true,
                .n_in = 3, .n_out = 1, .n_attrs = 1,
                .attrs = {{"n", DF_ATTR_INT, .open = true}}, .promote = 7, .infer = infer_range,
                .run = run_range, RUN_IN_FLOAT};
DF_OP(linspace) = {.name = "linspace", .kind = DF_GENERAL, .cannot_fail = true,
                   .n_in = 2, .n_out = 1, .n_attrs = 1,
                   .attrs = {{"num", DF_ATTR_INT, .open = true}}, .promote = 3,
                   .promote_to_float = true,
                   .infer = infer_linspace, .run = run_linspace, RUN_IN_FLOAT};
DF_OP(one_hot) = {.name = "one_hot", .kind = DF_GENERAL, .n_in = 3, .n_out = 1, .n_attrs = 2,
                  .attrs = {{"depth", DF_ATTR_INT, .open = true},
                            {"axis", DF_ATTR_INT, .axis = true}},
                  .promote = 6,
                  .infer = infer_one_hot, .run = run_one_hot};
