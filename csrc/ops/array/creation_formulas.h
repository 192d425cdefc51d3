/* Ranges and evenly spaced numbers. Part of creation.c, compiled once per dtype. */

typedef struct {
    T *to;
    T start;
#if DTYPE_FLOAT
    double step;
#else
    int64_t step;
#endif
    int64_t n;
} FN(steps);

/* start + i * step: floats in double, so that every element is rounded once. Integers stay between
 * start and limit; unsigned 64-bit arithmetic avoids undefined behaviour. */
static void FN(fill_steps)(void *context, int64_t begin, int64_t end)
{
    const FN(steps) *s = context;
    for (int64_t i = begin; i < end; i++) {
#if DTYPE_FLOAT
        s->to[i] = (T)((double)s->start + (double)i * s->step);
#else
        s->to[i] = (T)((uint64_t)s->start + (uint64_t)i * (uint64_t)s->step);
#endif
    }
}

static df_status FN(range)(const df_call *call, df_error *err)
{
    const T start = *(const T *)call->in[0]->data, limit = *(const T *)call->in[1]->data;
    const T step = *(const T *)call->in[2]->data;
    int64_t n = 0;
    if (step == 0) return fail_range(call, "step is 0", err);
#if DTYPE_FLOAT
    const T count = DF_CAT(ceil, DTYPE)((limit - start) / step);
    if (!(count < (T)0x1p62)) return fail_range(call, "more elements than memory can hold", err);
    if (count > 0) n = (int64_t)count;
#else
    if (step > 0 ? start < limit : start > limit) {
        const uint64_t span = step > 0 ? (uint64_t)limit - (uint64_t)start
                                       : (uint64_t)start - (uint64_t)limit;
        const uint64_t by = step > 0 ? (uint64_t)step : -(uint64_t)step;
        const uint64_t count = (span - 1) / by + 1;
        if (count > INT64_MAX)
            return fail_range(call, "more elements than memory can hold", err);
        n = (int64_t)count;
    }
#endif
    df_tensor *out = call->out[0];
    if (call->attrs[COUNT].i < 0) {
        df_status status = df_tensor_set(out, call->in[0]->dtype, 1, &n, call->op->name, err);
        if (status == DF_OK) status = df_tensor_alloc(out, call->op->name, err);
        if (status != DF_OK) return status;
    } else if (out->size != n) {
        return fail_range(call, "the number of elements is not n", err);
    }
    FN(steps) s = {.to = out->data, .start = start, .step = step, .n = n};
    df_parallel_for(n, RANGE_GRAIN, 0.5, FN(fill_steps), &s);
    return DF_OK;
}

#if DTYPE_FLOAT
static void FN(linspace)(const df_call *call)
{
    const df_tensor *out = call->out[0];
    const T start = *(const T *)call->in[0]->data, stop = *(const T *)call->in[1]->data;
    FN(steps) s = {.to = out->data, .start = start, .n = out->size};
    if (s.n > 1) s.step = ((double)stop - (double)start) / (double)(s.n - 1);
    df_parallel_for(s.n, RANGE_GRAIN, 0.5, FN(fill_steps), &s);
    if (s.n > 1) s.to[s.n - 1] = stop; /* exact */
}
#endif
