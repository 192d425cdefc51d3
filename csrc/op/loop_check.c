/* Checks of a loop: its operands must match its body, as far as shapes are known. */
#include "op/loop_check.h"

bool df_loop_find(const df_call *call, df_loop *l)
{
    const df_attr *attrs = call->attrs;
    const bool tested = attrs[HAS_CONDITION].i, limited = attrs[MAX_TRIP_COUNT].i < 0;
    const int64_t n_carried = attrs[N_CARRIED].i, n_sliced = attrs[N_SLICED].i;
    if (n_carried < 0 || n_sliced < 0 || n_carried > call->n_in || n_sliced > call->n_in)
        return false;
    l->n_carried = (int)n_carried;
    l->n_sliced = (int)n_sliced;
    l->limit = limited ? 0 : -1;
    l->keep_going = tested ? limited : -1;
    l->carried = limited + tested;
    l->sliced = l->carried + l->n_carried;
    l->captured = l->sliced + l->n_sliced;
    l->first = tested;
    l->rounds = tested ? l->n_carried : -1;
    l->stacked = l->n_carried + tested;
    l->n_stacked = call->n_out - l->stacked;
    l->n_out = call->n_out; /* the condition from the body corresponds to the trip count here */
    return l->captured <= call->n_in && l->n_stacked >= 0;
}

static bool is_scalar(const df_tensor *t, df_dtype dtype) { return t->dtype == dtype && !t->ndim; }

int64_t df_loop_row_bytes(const df_tensor *t)
{
    int64_t n = df_dtypes[t->dtype].bytes;
    for (int d = 1; d < t->ndim; d++) {
        if (t->shape[d] < 0) return -1;
        if (!df_mul_size(n, t->shape[d], &n)) return INT64_MAX;
    }
    return n;
}

/* Bytes of input i that a body gets; -1 if unknown. */
static int64_t given_bytes(const df_call *call, const df_loop *l, int i)
{
    const df_tensor *t = call->in[i];
    if (i >= l->sliced && i < l->captured)
        return df_loop_is_packed(t, call->bodies->types[0].in_bytes[i])
                   ? -1 : df_loop_row_bytes(t);
    return t->size < 0 ? -1 : df_tensor_bytes(t);
}

static df_status check_input(const df_call *call, const df_loop *l, int i, df_error *err)
{
    const df_tensor *t = call->in[i];
    const int64_t times = call->attrs[MAX_TRIP_COUNT].i, given = given_bytes(call, l, i);
    const int64_t wanted = call->bodies->types[0].in_bytes[i];
    const char *want = NULL;
    if (i == l->limit && !is_scalar(t, DF_I64)) want = "an int64 of shape ()";
    if (i == l->keep_going && !is_scalar(t, DF_BOOL)) want = "a bool of shape ()";
    if (i >= l->sliced && i < l->captured && !df_loop_is_packed(t, wanted) &&
        (t->ndim == 0 || (times >= 0 && t->shape[0] >= 0 && t->shape[0] < times)))
        want = "a row for each iteration";
    if (!want && given >= 0 && wanted > given) want = "as many bytes as the body reads";
    if (!want) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "loop: input %d is %s, expected %s", i,
                   df_tensor_text(t).text, want);
}

static bool like_rows(const df_tensor *row, const df_tensor *stack)
{
    df_tensor below = *stack; /* borrows the shape */
    if (stack->ndim != row->ndim + 1) return false;
    below.ndim = row->ndim;
    below.shape = stack->shape + 1;
    return row->dtype == stack->dtype && df_may_be_same_shape(row, &below);
}

static bool like(const df_tensor *a, const df_tensor *b)
{
    return a->dtype == b->dtype && df_may_be_same_shape(a, b);
}

static df_status check_output(const df_call *call, const df_loop *l, int i, df_error *err)
{
    const df_tensor *made = call->bodies->types[0].out, *t = call->out[i];
    const int64_t times = call->attrs[MAX_TRIP_COUNT].i;
    bool good;
    if (i < l->n_carried)
        good = like(t, &made[l->first + i]) && like(call->in[l->carried + i], t);
    else if (i == l->rounds)
        good = is_scalar(t, DF_I64) && is_scalar(&made[0], DF_BOOL);
    else if (df_loop_packs(t, &made[i]))
        good = t->size < 0;
    else
        good = like_rows(&made[i], t) &&
               (t->shape[0] < 0 || (times >= 0 && l->rounds < 0 && t->shape[0] == times));
    if (i < l->n_carried)
        good &= call->bodies->types[0].aliased_input[l->first + i] < 0 ||
            df_loop_is_aliased(call, l, i);
    else
        good &= call->bodies->types[0].aliased_input[i == l->rounds ? 0 : i] < 0;
    if (good) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE, "loop: output %d is %s, which does not match the body", i,
                   df_tensor_text(t).text);
}

df_status df_loop_infer(const df_call *call, df_error *err)
{
    const df_bodies *bodies = call->bodies;
    df_loop l;
    df_status status = DF_OK;
    if (!bodies) return df_fail(err, DF_UNIMPLEMENTED, "loop: has no body");
    if (!df_loop_find(call, &l) || bodies->n != 1 || bodies->types[0].n_in != call->n_in ||
        bodies->types[0].n_out != l.n_out || (l.keep_going >= 0 && call->attrs[REVERSE].i))
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "loop: %d inputs and %d outputs do not match the body or the attributes",
                       call->n_in, call->n_out);
    for (int i = 0; i < call->n_in && status == DF_OK; i++) status = check_input(call, &l, i, err);
    for (int i = 0; i < call->n_out && status == DF_OK; i++)
        status = check_output(call, &l, i, err);
    return status;
}
