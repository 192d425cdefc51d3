/* Reads tile code. The code is not trusted: every count is checked against the rest of the list,
 * every value against the values defined before it. */
#include "fuse/code.h"
#include "op/registry.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPE, CODE }; /* attributes */

typedef struct {
    const int64_t *at, *end;
} reader;

/* Reads the next number. Returns false if there is none or it is not in [low, high]. */
static bool take(reader *r, int64_t low, int64_t high, int64_t *value)
{
    if (r->at == r->end || *r->at < low || *r->at > high) return false;
    *value = *r->at++;
    return true;
}

/* Reads a count and that many numbers. */
static bool take_list(reader *r, int64_t *n, const int64_t **list)
{
    if (!take(r, 0, INT32_MAX, n) || *n > r->end - r->at) return false;
    *list = r->at;
    r->at += *n;
    return true;
}

typedef struct {
    int64_t op, space, n_in, n_words;
    const int64_t *in, *words;
} raw_step;

static bool take_step(reader *r, raw_step *s)
{
    return take(r, 0, df_registry_size() - 1, &s->op) &&
           take(r, DF_SPACE_FULL, DF_SPACE_COLUMN, &s->space) && take_list(r, &s->n_in, &s->in) &&
           take_list(r, &s->n_words, &s->words);
}

int df_cluster_count_out(const df_call *call)
{
    const df_ints code = call->attrs[CODE].list;
    reader r = {code.v, code.v + code.n};
    int64_t row_length, n_steps, n_out;
    const int64_t *out;
    raw_step raw;
    if (!take(&r, 0, INT64_MAX, &row_length) || !take(&r, 0, INT64_MAX, &n_steps)) return 1;
    for (int64_t i = 0; i < n_steps; i++)
        if (!take_step(&r, &raw)) return 1; /* infer reports the error */
    return take_list(&r, &n_out, &out) ? (int)n_out : 1;
}

static df_status malformed(const df_call *call, const char *what, int64_t step, df_error *err)
{
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: malformed tile code at step %lld: %s",
                   call->op->name, (long long)step, what);
}

/* Finds the dtypes of the operands of a step. Checks that the operands exist and are in a space
 * that the step may read. Returns an error text or NULL. */
static const char *operand_dtypes(const df_call *call, df_cluster_code *code, int64_t step,
                                  df_dtype *dtypes)
{
    const df_cluster_step *s = &code->steps[step];
    const df_space space = s->reduces ? DF_SPACE_FULL : s->space;
    for (int i = 0; i < s->n_in; i++) {
        const int64_t value = s->in[i];
        if (value < 0 || value >= code->n_in + step) return "it reads an undefined value";
        if (value < code->n_in) {
            code->read_in[value] |= (uint8_t)(1 << space);
            dtypes[i] = call->in[value]->dtype;
            continue;
        }
        const df_cluster_step *from = &code->steps[value - code->n_in];
        if (from->space == DF_SPACE_COLUMN ||
            (from->space != space && (space == DF_SPACE_ROW || s->reduces)))
            return "it reads a value of another space";
        dtypes[i] = from->dtype;
    }
    return NULL;
}

/* Reads the shape that all COLUMN steps reduce. */
static const char *read_column(df_cluster_code *code, const raw_step *raw)
{
    df_column_reduction *f = &code->column;
    int64_t length;
    if (raw->n_words != 2) return "a FOLD step has two words";
    const int64_t outer = raw->words[0], n = raw->words[1];
    if (code->columns) return outer == f->outer && n == f->n ? NULL : "it folds another shape";
    if (outer < 1 || n < 1 || !df_mul_size(outer, n, &length) || code->full.size < length ||
        code->full.size % length != 0)
        return "it does not fold the shape";
    *f = (df_column_reduction){.outer = outer, .n = n, .inner = code->full.size / length};
    if (code->row_length != 1 && (code->row_length == 0 || f->inner % code->row_length != 0))
        return "it folds parts of rows";
    code->columns = true;
    return NULL;
}

static const char *read_attrs(df_cluster_step *s, const raw_step *raw)
{
    if (s->space == DF_SPACE_COLUMN) return NULL; /* read by read_column */
    if (s->reduces) return raw->n_words == 0 ? NULL : "a reduction has attributes, expected none";
    if (raw->n_words != s->op->n_attrs) return "wrong number of attributes";
    for (int i = 0; i < s->op->n_attrs; i++) {
        const df_attr_type type = s->op->attrs[i].type;
        const int64_t word = raw->words[i];
        if (type == DF_ATTR_INTS) return "its op has a list attribute";
        if (type == DF_ATTR_DTYPE && (word < 0 || word >= DF_N_DTYPES))
            return "a dtype is out of range";
        if (type == DF_ATTR_BOOL && word != 0 && word != 1) return "a bool is not 0 or 1";
        if (type == DF_ATTR_FLOAT) memcpy(&s->attrs[i].f, &word, sizeof word);
        else s->attrs[i].i = word;
    }
    return NULL;
}

static const char *check_op(const df_cluster_step *s)
{
    const df_op *op = s->op;
    if (op->effect || op->writes) return "its op cannot be a step";
    if (s->reduces && s->space == DF_SPACE_FULL) return "a reduction yields a ROW or FOLD value";
    if (!s->reduces && s->space == DF_SPACE_COLUMN) return "only a reduction yields a FOLD value";
    if (op->kind != DF_ELEMENTWISE && !s->reduces)
        return "its op is not elementwise, nor a reduction";
    if (op->n_in != s->n_in || op->n_in > DF_TILE_MAX_IN || op->n_out != 1)
        return "wrong number of operands";
    return NULL;
}

/* Finds the dtype of the result and the kernel from the record. Operands are described as scalars,
 * since the cluster handles shapes. */
static df_status choose_kernel(df_cluster_step *s, const df_dtype *dtypes, int64_t row_length,
                               df_error *err)
{
    df_tensor operands[DF_TILE_MAX_IN], out;
    const df_tensor *in[DF_TILE_MAX_IN];
    df_tensor *outs[1] = {&out};
    df_tensor_init(&out);
    for (int i = 0; i < s->n_in; i++) {
        df_tensor_init(&operands[i]);
        operands[i].dtype = dtypes[i];
        in[i] = &operands[i];
    }
    df_call call = {.op = s->op, .n_in = s->n_in, .n_out = 1, .in = in, .out = outs,
                    .attrs = s->attrs};
    if (s->reduces) {
        s->dtype = dtypes[0];
        if (s->space == DF_SPACE_COLUMN) s->fn.reducer = &s->op->column[s->dtype];
        else s->fn.reduce = s->op->reduce[s->dtype];
        const bool fits = df_dtypes[s->dtype].bytes > 2 || row_length <= DF_CLUSTER_HALF_ROW_MAX;
        if (s->space == DF_SPACE_COLUMN ? s->fn.reducer->part != NULL : s->fn.reduce && fits)
            return DF_OK;
        return df_fail_dtype(&call, 0, "a dtype whose rows are reduced", err);
    }
    df_status status = df_op_infer(&call, err);
    if (status != DF_OK) return status;
    s->dtype = out.dtype;
    s->fn.tile = df_tile_select(&call);
    return DF_OK;
}

static df_status read_step(const df_call *call, df_cluster_code *code, int64_t at, reader *r,
                           df_error *err)
{
    df_cluster_step *s = &code->steps[at];
    df_dtype dtypes[DF_TILE_MAX_IN];
    raw_step raw;
    if (!take_step(r, &raw)) return malformed(call, "a number is missing or out of range", at, err);
    *s = (df_cluster_step){.op = df_registry_op(raw.op), .space = (df_space)raw.space,
                           .n_in = (int)raw.n_in, .in = raw.in,
                           .one = -1, .attrs = code->attrs + code->n_attrs};
    s->reduces = s->op->kind == DF_REDUCTION;
    code->n_attrs += s->reduces ? 0 : s->op->n_attrs;
    const char *wrong = check_op(s);
    if (!wrong && s->space == DF_SPACE_COLUMN) wrong = read_column(code, &raw);
    if (!wrong) wrong = read_attrs(s, &raw);
    if (!wrong) wrong = operand_dtypes(call, code, at, dtypes);
    return wrong ? malformed(call, wrong, at, err)
                 : choose_kernel(s, dtypes, code->row_length, err);
}

/* Sets the shapes of both spaces. Rows are the fewest trailing dimensions of `row_length`
 * elements. */
static df_status set_spaces(const df_call *call, df_cluster_code *code, df_error *err)
{
    const df_ints shape = call->attrs[SHAPE].list;
    const char *name = call->op->name;
    if (shape.n > DF_MAX_NDIM)
        return df_fail(err, DF_BAD_SHAPE, "%s: %lld dimensions, expected 0 to %d", name,
                       (long long)shape.n, DF_MAX_NDIM);
    df_status status = df_tensor_set(&code->full, DF_F32, (int)shape.n, shape.v, name, err);
    int64_t rows[DF_MAX_NDIM], length = 1;
    int d = (int)shape.n;
    for (int i = 0; i < d; i++) rows[i] = shape.v[i];
    for (; length != code->row_length && d > 0 && shape.v[d - 1] >= 0; d--) {
        if (!df_mul_size(length, shape.v[d - 1], &length)) break;
        rows[d - 1] = 1;
    }
    if (status == DF_OK && length != code->row_length)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape %s has no trailing dimensions of %lld "
                       "elements", name, df_shape_text((int)shape.n, shape.v).text,
                       (long long)code->row_length);
    if (status == DF_OK)
        status = df_tensor_set(&code->row, DF_F32, (int)shape.n, rows, name, err);
    return status;
}

static bool broadcasts_to(const df_tensor *x, const df_tensor *to)
{
    if (x->ndim > to->ndim) return false;
    for (int i = 1; i <= x->ndim; i++) {
        const int64_t dx = x->shape[x->ndim - i], dt = to->shape[to->ndim - i];
        if (dx != 1 && dx != dt && dx != DF_UNKNOWN && dt != DF_UNKNOWN) return false;
    }
    return true;
}

static df_status check_inputs(const df_call *call, const df_cluster_code *code, df_error *err)
{
    for (int i = 0; i < code->n_in; i++)
        for (int space = DF_SPACE_FULL; space <= DF_SPACE_ROW; space++) {
            const df_tensor *to = space == DF_SPACE_FULL ? &code->full : &code->row;
            if (code->read_in[i] >> space & 1 && !broadcasts_to(call->in[i], to))
                return df_fail(err, DF_BAD_SHAPE,
                               "%s: input %d is %s, expected a shape that broadcasts to %s",
                               call->op->name, i, df_tensor_text(call->in[i]).text,
                               df_shape_text(to->ndim, to->shape).text);
        }
    return DF_OK;
}

static df_status read_outputs(const df_call *call, df_cluster_code *code, reader *r, df_error *err)
{
    int64_t n;
    if (!take_list(r, &n, &code->out) || r->at != r->end)
        return malformed(call, "expected a list of outputs at the end", code->n_steps, err);
    if (n != call->n_out)
        return malformed(call, "wrong number of outputs", code->n_steps, err);
    for (int64_t i = 0; i < n; i++)
        if (code->out[i] < code->n_in || code->out[i] >= code->n_in + code->n_steps)
            return malformed(call, "an output is not the result of a step", code->n_steps, err);
    code->n_out = (int)n;
    return DF_OK;
}

/* Fewest numbers of a step: op, space and two counts. */
#define STEP_NUMBERS 4

static df_status read_all(const df_call *call, df_cluster_code *code, df_error *err)
{
    const df_ints numbers = call->attrs[CODE].list;
    reader r = {numbers.v, numbers.v + numbers.n};
    if (!take(&r, 0, DF_CLUSTER_ROW_MAX, &code->row_length) ||
        !take(&r, 0, numbers.n / STEP_NUMBERS, &code->n_steps))
        return malformed(call, "row length or number of steps is missing or out of range", 0, err);
    code->steps = calloc((size_t)code->n_steps + 1, sizeof *code->steps);
    code->attrs = calloc((size_t)numbers.n + DF_MAX_ATTRS, sizeof *code->attrs);
    code->read_in = calloc((size_t)code->n_in + 1, 1);
    if (!code->steps || !code->attrs || !code->read_in)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld steps", call->op->name,
                       (long long)code->n_steps);
    df_status status = set_spaces(call, code, err);
    for (int64_t i = 0; i < code->n_steps && status == DF_OK; i++)
        status = read_step(call, code, i, &r, err);
    if (status == DF_OK) status = read_outputs(call, code, &r, err);
    return status == DF_OK ? check_inputs(call, code, err) : status;
}

df_status df_cluster_read(const df_call *call, df_cluster_code *code, df_error *err)
{
    *code = (df_cluster_code){.n_in = call->n_in};
    df_tensor_init(&code->full);
    df_tensor_init(&code->row);
    df_status status = read_all(call, code, err);
    if (status != DF_OK) df_cluster_code_clear(code);
    return status;
}

void df_cluster_code_clear(df_cluster_code *code)
{
    df_tensor_clear(&code->full);
    df_tensor_clear(&code->row);
    free(code->steps);
    free(code->attrs);
    free(code->read_in);
}

df_status df_cluster_infer(const df_call *call, df_error *err)
{
    df_cluster_code code;
    df_status status = df_cluster_read(call, &code, err);
    if (status != DF_OK) return status;
    for (int i = 0; i < code.n_out && status == DF_OK; i++) {
        const df_cluster_step *s = &code.steps[code.out[i] - code.n_in];
        const df_tensor *like = s->space == DF_SPACE_FULL ? &code.full : &code.row;
        const int64_t reduced[2] = {code.column.outer, code.column.inner};
        const bool is_column = s->space == DF_SPACE_COLUMN;
        status = df_tensor_set(call->out[i], s->dtype, is_column ? 2 : like->ndim,
                               is_column ? reduced : like->shape, call->op->name, err);
    }
    df_cluster_code_clear(&code);
    return status;
}
