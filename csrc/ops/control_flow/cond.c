/* cond: runs one of its bodies. Input 0 is the selector: a bool (true: body 1) or an index, where
 * an index without a body selects the last one. Every body gets all inputs. Either all bodies
 * compute an output in the memory of one input, which the output then shares, or none does. */
#include "op/op.h"

static int count_out(const df_call *call)
{
    return call->bodies ? call->bodies->types[0].n_out : call->n_out;
}

DF_ONCE(df_status, infer_cond, (const df_call *call, df_error *err))
{
    const df_bodies *bodies = call->bodies;
    const df_tensor *index = call->in[0];
    if (!bodies) return df_fail(err, DF_UNIMPLEMENTED, "cond: has no bodies");
    if (index->ndim || (index->dtype != DF_BOOL && index->dtype != DF_I32))
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "cond: the selector is %s, expected a bool or int32 of shape ()",
                       df_tensor_text(index).text);
    for (int k = 0; k < bodies->n; k++) {
        const struct df_body_type *body = &bodies->types[k];
        if (body->n_in != call->n_in || body->n_out != call->n_out)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "cond: body %d has %d inputs and %d outputs, expected %d and %d", k,
                           body->n_in, body->n_out, call->n_in, call->n_out);
        for (int i = 0; i < call->n_in; i++)
            if (body->in_bytes[i] > df_tensor_bytes(call->in[i]) && call->in[i]->size >= 0)
                return df_fail(err, DF_BAD_SHAPE,
                               "cond: input %d is %s, but body %d expects %lld bytes", i,
                               df_tensor_text(call->in[i]).text, k, (long long)body->in_bytes[i]);
        for (int i = 0; i < call->n_out; i++)
            if (body->out[i].dtype != call->out[i]->dtype ||
                body->aliased_input[i] != bodies->types[0].aliased_input[i] ||
                !df_may_be_same_shape(&body->out[i], call->out[i]))
                return df_fail(err, DF_BAD_SHAPE, "cond: output %d is %s, but body %d returns %s",
                               i, df_tensor_text(call->out[i]).text, k,
                               df_tensor_text(&body->out[i]).text);
    }
    return DF_OK;
}

DF_ONCE(df_status, run_cond, (const df_call *call, df_error *err))
{
    const df_bodies *bodies = call->bodies;
    const df_tensor *index = call->in[0];
    int64_t k = index->dtype == DF_BOOL ? *(const uint8_t *)index->data != 0
                                        : *(const int32_t *)index->data;
    if (k < 0 || k >= bodies->n) k = bodies->n - 1;
    for (int i = 0; i < call->n_out; i++) {
        const int a = bodies->types[k].aliased_input[i];
        if (a >= 0 && call->out[i]->data != call->in[a]->data)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "cond: output %d is not in the memory of input %d", i, a);
    }
    return bodies->run(bodies->context, (int)k, call->in, call->out, err);
}

DF_OP(cond) = {.name = "cond", .kind = DF_GENERAL, .n_in = DF_VARIADIC, .n_out = DF_VARIADIC,
               .n_bodies = DF_VARIADIC, .internal = true, .data_dependent_shape = true,
               .count_out = count_out, .infer = infer_cond, .run = run_cond};
