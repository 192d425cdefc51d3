/* Recognition of simple epilogues, see finish.h. */
#include "ops/finish.h"
#include "fuse/code.h"

extern DF_OP(add);
extern DF_OP(multiply);
extern DF_OP(divide);
extern DF_OP(maximum);
extern DF_OP(minimum);
extern DF_OP(clip_by_value);
extern DF_OP(relu);
extern DF_OP(relu6);
extern DF_OP(sigmoid);
extern DF_OP(silu);

/* The code to read, and the steps found. */
typedef struct {
    const df_call *call;
    const df_cluster_code *code;
    df_finish *finish;
    int64_t kept; /* value that has been kept for a later step, or -1 */
} reading;

static df_finish_step *append(const reading *r, df_finish_kind kind)
{
    df_finish *f = r->finish;
    if (f->n == DF_FINISH_MAX) return NULL;
    f->steps[f->n] = (df_finish_step){.kind = kind, .input = -1};
    return &f->steps[f->n++];
}

/* Adds a step with an input as operand. */
static bool add_step(const reading *r, df_finish_kind kind, int64_t input)
{
    df_finish_step *step = append(r, kind);
    const df_tensor *product = r->call->in[0], *x = r->call->in[input];
    const int last = product->ndim - 1;
    if (!step || x->dtype != product->dtype) return false;
    step->input = (int)input;
    if (x->size == 1) step->operand = DF_FINISH_ONE;
    else if (x->size == product->shape[last] && x->ndim && x->shape[x->ndim - 1] == x->size)
        step->operand = DF_FINISH_PER_COLUMN;
    else if (x->size == product->size && (kind == DF_FINISH_ADD || kind == DF_FINISH_MULTIPLY))
        step->operand = DF_FINISH_PER_ELEMENT;
    else return false;
    return true;
}

static bool is_input(const reading *r, int64_t value)
{
    return value > 0 && value < r->call->n_in;
}

static bool is_commutative(const df_op *op)
{
    return op == &DF_SYM(df_op_add) || op == &DF_SYM(df_op_multiply);
}

/* The operand of a sum or product whose other operand is `last`; -1: no such step. */
static int64_t other_operand(const df_cluster_step *s, int64_t last)
{
    if (!is_commutative(s->op)) return -1;
    return s->in[0] == last ? s->in[1] : s->in[1] == last ? s->in[0] : -1;
}

/* Keeps the value `last` before step `at` if a later one combines it with the value before. */
static bool keep(reading *r, int64_t at, int64_t last)
{
    for (int64_t i = at; i < r->code->n_steps; i++) {
        const int64_t before = i == at ? last : r->call->n_in + i - 1;
        if (other_operand(&r->code->steps[i], before) != last) continue;
        if (r->kept >= 0) return false;
        r->kept = last;
        return append(r, DF_FINISH_KEEP);
    }
    return true;
}

/* Replaces the last three steps by one if they are a product of a value and its sigmoid. */
static void join_swish(df_finish *f)
{
    if (f->n < 3) return;
    df_finish_step *s = &f->steps[f->n - 3];
    if (s[0].kind != DF_FINISH_KEEP || s[1].kind != DF_FINISH_SIGMOID ||
        s[2].kind != DF_FINISH_MULTIPLY)
        return;
    s[0] = (df_finish_step){.kind = DF_FINISH_SWISH, .input = -1};
    f->n -= 2;
}

/* Adds the step of an op on the value `last` and other values. */
static bool read_step(reading *r, const df_cluster_step *s, int64_t last)
{
    const df_op *op = s->op;
    const int64_t *in = s->in, other = other_operand(s, last);
    if (is_commutative(op)) {
        const df_finish_kind kind = op == &DF_SYM(df_op_add) ? DF_FINISH_ADD : DF_FINISH_MULTIPLY;
        if (is_input(r, other)) return add_step(r, kind, other);
        if (other < 0 || other != r->kept) return false;
        df_finish_step *step = append(r, kind);
        r->kept = -1;
        if (!step) return false;
        step->operand = DF_FINISH_KEPT;
        join_swish(r->finish);
        return true;
    }
    if (in[0] != last) return false;
    for (int i = 1; i < s->n_in; i++)
        if (!is_input(r, in[i])) return false;
    if (op == &DF_SYM(df_op_maximum)) return add_step(r, DF_FINISH_MAXIMUM, in[1]);
    if (op == &DF_SYM(df_op_minimum)) return add_step(r, DF_FINISH_MINIMUM, in[1]);
    if (op == &DF_SYM(df_op_divide)) return add_step(r, DF_FINISH_DIVIDE, in[1]);
    if (op == &DF_SYM(df_op_clip_by_value))
        return add_step(r, DF_FINISH_MINIMUM, in[2]) && add_step(r, DF_FINISH_MAXIMUM, in[1]);
    if (op == &DF_SYM(df_op_relu)) return append(r, DF_FINISH_RELU);
    if (op == &DF_SYM(df_op_relu6)) return append(r, DF_FINISH_RELU6);
    if (op == &DF_SYM(df_op_sigmoid)) return append(r, DF_FINISH_SIGMOID);
    return op == &DF_SYM(df_op_silu) && append(r, DF_FINISH_SILU);
}

/* Reads code in which each step computes from the preceding value, and from inputs or one earlier
 * value. */
static bool read_steps(reading *r)
{
    const df_cluster_code *code = r->code;
    const df_tensor *product = r->call->in[0];
    int64_t last = 0;
    if (code->n_out != 1 || code->columns || product->ndim == 0 || code->n_steps > DF_FINISH_MAX)
        return false;
    for (int64_t i = 0; i < code->n_steps; i++) {
        const df_cluster_step *s = &code->steps[i];
        if (s->space != DF_SPACE_FULL || s->reduces || s->dtype != product->dtype ||
            !keep(r, i, last) || !read_step(r, s, last))
            return false;
        last = r->call->n_in + i;
    }
    return code->out[0] == last;
}

void DF_SYM(df_finish_of)(const df_call *call, df_finish *finish)
{
    df_cluster_code code;
    reading r = {call, &code, finish, -1};
    df_error err;
    finish->n = 0;
    if (call->in[0]->dtype != DF_F32 || df_cluster_read(call, &code, &err) != DF_OK) return;
    if (!read_steps(&r)) finish->n = 0;
    df_cluster_code_clear(&code);
}
