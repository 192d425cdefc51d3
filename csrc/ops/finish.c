/* Recognition of simple epilogues, see finish.h. */
#include "ops/finish.h"
#include "fuse/code.h"

extern DF_OP(add);
extern DF_OP(multiply);
extern DF_OP(maximum);
extern DF_OP(minimum);
extern DF_OP(clip_by_value);
extern DF_OP(relu);

/* The code to read, and the steps found. */
typedef struct {
    const df_call *call;
    df_finish *finish;
} reading;

/* Adds a step with input `input`; -1: none. */
static bool add_step(const reading *r, df_finish_kind kind, int64_t input)
{
    df_finish *f = r->finish;
    const df_tensor *product = r->call->in[0];
    if (f->n == DF_FINISH_MAX) return false;
    df_finish_step step = {.kind = kind, .input = (int)input};
    if (input >= 0) {
        const df_tensor *x = r->call->in[input];
        const int last = product->ndim - 1;
        if (x->dtype != product->dtype) return false;
        if (x->size == 1) step.operand = DF_FINISH_ONE;
        else if (x->size == product->shape[last] && x->ndim && x->shape[x->ndim - 1] == x->size)
            step.operand = DF_FINISH_PER_COLUMN;
        else if (x->size == product->size && (kind == DF_FINISH_ADD || kind == DF_FINISH_MULTIPLY))
            step.operand = DF_FINISH_PER_ELEMENT;
        else return false;
    }
    f->steps[f->n++] = step;
    return true;
}

/* Adds the step of an op on the value `last` and other inputs. */
static bool read_step(const reading *r, const df_cluster_step *s, int64_t last)
{
    const df_op *op = s->op;
    const int64_t n_in = r->call->n_in, *in = s->in;
    const bool adds = op == &DF_SYM(df_op_add), multiplies = op == &DF_SYM(df_op_multiply);
    if (adds || multiplies) { /* commutative */
        const int64_t other = in[0] == last ? in[1] : in[0];
        if ((in[0] != last && in[1] != last) || other == 0 || other >= n_in) return false;
        return add_step(r, adds ? DF_FINISH_ADD : DF_FINISH_MULTIPLY, other);
    }
    for (int i = 1; i < s->n_in; i++)
        if (in[i] == 0 || in[i] >= n_in) return false;
    if (in[0] != last) return false;
    if (op == &DF_SYM(df_op_maximum)) return add_step(r, DF_FINISH_MAXIMUM, in[1]);
    if (op == &DF_SYM(df_op_minimum)) return add_step(r, DF_FINISH_MINIMUM, in[1]);
    if (op == &DF_SYM(df_op_clip_by_value))
        return add_step(r, DF_FINISH_MINIMUM, in[2]) && add_step(r, DF_FINISH_MAXIMUM, in[1]);
    return op == &DF_SYM(df_op_relu) && add_step(r, DF_FINISH_RELU, -1);
}

static bool read_steps(const reading *r, const df_cluster_code *code)
{
    const df_tensor *product = r->call->in[0];
    int64_t last = 0;
    if (code->n_out != 1 || code->columns || product->ndim == 0) return false;
    for (int64_t i = 0; i < code->n_steps; i++) {
        const df_cluster_step *s = &code->steps[i];
        if (s->space != DF_SPACE_FULL || s->reduces || s->dtype != product->dtype ||
            !read_step(r, s, last))
            return false;
        last = r->call->n_in + i;
    }
    return code->out[0] == last;
}

void DF_SYM(df_finish_of)(const df_call *call, df_finish *finish)
{
    const reading r = {call, finish};
    df_cluster_code code;
    df_error err;
    finish->n = 0;
    if (call->in[0]->dtype != DF_F32 || df_cluster_read(call, &code, &err) != DF_OK) return;
    if (!read_steps(&r, &code)) finish->n = 0;
    df_cluster_code_clear(&code);
}
