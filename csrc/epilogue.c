/* See epilogue.h. */
#include "epilogue.h"
#include "registry.h"
#include "tile.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 65536     /* bytes of registers of a run, on the stack */
#define MAX_VALUES 512 /* a segment then still has 16 elements of 8 bytes */

/* A further input: elements from one row, one column of the product to the next in it. */
typedef struct {
    int64_t row_step, col_step;
} reading;

typedef struct {
    const df_op *op;
    df_tile_fn fn;
    int n_in;
    int in[DF_TILE_MAX_IN]; /* values */
    df_attr attrs[DF_MAX_ATTRS];
} step;

struct df_epilogue {
    int first, n_inputs, n_steps; /* inputs: the product and the further ones */
    int result;                   /* value */
    int64_t segment;              /* elements */
    int bytes[MAX_VALUES];        /* of an element of each value */
    df_dtype dtypes[MAX_VALUES];
    reading readings[MAX_VALUES];
    step steps[];
};

/* Words of the code not read yet. */
typedef struct {
    const int64_t *at, *end;
    bool failed;
} words;

static int64_t next(words *w)
{
    if (w->at < w->end) return *w->at++;
    w->failed = true;
    return 0;
}

static df_status fail_code(const df_call *call, const char *what, df_error *err)
{
    return df_fail(err, DF_INVALID_ARGUMENT, "%s: bad tile code: %s", call->op->name, what);
}

/* How x is read where the result is `full`; false where it is neither of the kinds allowed. */
static bool read_as(const df_tensor *x, const df_tensor *full, reading *r)
{
    const int ndim = full->ndim;
    const int64_t n = full->shape[ndim - 1];
    *r = (reading){0, 0};
    if (x->size == 1 && x->ndim <= ndim) return true;
    if (x->ndim > ndim || x->ndim == 0) return false;
    const int64_t last = x->shape[x->ndim - 1];
    bool rows_equal = x->ndim == ndim, rows_one = true;
    for (int d = 0; d < x->ndim - 1; d++) {
        rows_equal &= x->shape[d] == full->shape[d];
        rows_one &= x->shape[d] == 1;
    }
    if (rows_equal && last == n) *r = (reading){n, 1};
    else if (rows_one && last == n) *r = (reading){0, 1};
    else if (rows_equal && last == 1) *r = (reading){1, 0};
    else return false;
    return true;
}

static df_status read_inputs(df_epilogue *e, const df_call *call, const df_tensor *product,
                             df_error *err)
{
    e->dtypes[0] = product->dtype;
    for (int i = 1; i < e->n_inputs; i++) {
        const df_tensor *x = call->in[e->first + i - 1];
        e->dtypes[i] = x->dtype;
        if (!read_as(x, product, &e->readings[i]))
            return df_fail(err, DF_BAD_SHAPE,
                           "%s: input %d has shape %s, want that of the product %s, one row, one "
                           "column or one element of it",
                           call->op->name, e->first + i - 1,
                           df_shape_text(x->ndim, x->shape).text,
                           df_shape_text(product->ndim, product->shape).text);
    }
    return DF_OK;
}

/* Kernel and result dtype of a step, from the dtypes of its operands. */
static df_status choose(df_epilogue *e, step *s, df_dtype *result, df_error *err)
{
    df_tensor in[DF_TILE_MAX_IN], out, *outs[1] = {&out};
    const df_tensor *ins[DF_TILE_MAX_IN];
    const int64_t shape[1] = {1};
    for (int i = 0; i < s->n_in; i++) {
        df_tensor_init(&in[i]);
        df_status st = df_tensor_set(&in[i], e->dtypes[s->in[i]], 1, shape, s->op->name, err);
        if (st != DF_OK) return st;
        ins[i] = &in[i];
    }
    df_tensor_init(&out);
    const df_call call = {.op = s->op, .n_in = s->n_in, .n_out = 1, .in = ins, .out = outs,
                          .attrs = s->attrs};
    df_status st = df_op_infer(&call, err);
    if (st != DF_OK) return st;
    s->fn = df_tile_select(&call);
    *result = out.dtype;
    return DF_OK;
}

static df_status read_step(df_epilogue *e, int index, words *w, const df_call *call, df_error *err)
{
    step *s = &e->steps[index];
    const int64_t op = next(w), space = next(w), n_in = next(w);
    if (w->failed || op < 0 || op >= df_registry_size()) return fail_code(call, "no such op", err);
    s->op = df_registry_op(op);
    if (s->op->kind != DF_ELEMENTWISE || space != 0)
        return fail_code(call, "only elementwise steps can follow a product", err);
    if (n_in < 1 || n_in > DF_TILE_MAX_IN || n_in != s->op->n_in)
        return fail_code(call, "wrong number of operands", err);
    s->n_in = (int)n_in;
    for (int i = 0; i < s->n_in; i++) {
        const int64_t value = next(w);
        if (value < 0 || value >= e->n_inputs + index)
            return fail_code(call, "a step reads a value that is not there yet", err);
        s->in[i] = (int)value;
    }
    if (next(w) != s->op->n_attrs) return fail_code(call, "wrong number of attributes", err);
    for (int i = 0; i < s->op->n_attrs; i++) {
        const int64_t word = next(w);
        if (s->op->attrs[i].type == DF_ATTR_INTS) return fail_code(call, "a list", err);
        if (s->op->attrs[i].type == DF_ATTR_DTYPE && (word < 0 || word >= DF_N_DTYPES))
            return fail_code(call, "no such dtype", err);
        if (s->op->attrs[i].type == DF_ATTR_FLOAT) memcpy(&s->attrs[i].f, &word, sizeof word);
        else s->attrs[i].i = word;
    }
    if (w->failed) return fail_code(call, "it ends early", err);
    return choose(e, s, &e->dtypes[e->n_inputs + index], err);
}

static df_status read_code(df_epilogue *e, words *w, const df_call *call, df_error *err)
{
    for (int i = 0; i < e->n_steps; i++) {
        df_status st = read_step(e, i, w, call, err);
        if (st != DF_OK) return st;
    }
    const int n_values = e->n_inputs + e->n_steps;
    const int64_t n_out = next(w), result = next(w);
    if (w->failed || n_out != 1 || result < e->n_inputs || result >= n_values || w->at != w->end)
        return fail_code(call, "want exactly one output", err);
    e->result = (int)result;
    for (int i = 0; i < n_values; i++) e->bytes[i] = df_dtypes[e->dtypes[i]].bytes;
    e->segment = df_min(DF_TILE, ROOM / 8 / n_values);
    return DF_OK;
}

df_status df_epilogue_new(const df_call *call, int first, df_ints code, const df_tensor *product,
                          df_epilogue **out, df_error *err)
{
    words w = {.at = code.v, .end = code.v + code.n};
    const int64_t row_length = next(&w), n_steps = next(&w), n_inputs = call->n_in - first + 1;
    if (w.failed || row_length != 1 || n_steps < 0 || n_steps + n_inputs > MAX_VALUES)
        return fail_code(call, "want row length 1 and not too many steps", err);
    df_epilogue *e = calloc(1, sizeof *e + (size_t)n_steps * sizeof(step));
    if (!e) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", call->op->name);
    e->first = first;
    e->n_inputs = (int)n_inputs;
    e->n_steps = (int)n_steps;
    df_status st = read_inputs(e, call, product, err);
    if (st == DF_OK) st = read_code(e, &w, call, err);
    if (st != DF_OK) {
        free(e);
        return st;
    }
    *out = e;
    return DF_OK;
}

void df_epilogue_free(df_epilogue *e) { free(e); }

df_dtype df_epilogue_dtype(const df_epilogue *e) { return e->dtypes[e->result]; }

static void fill(char *to, const char *value, int bytes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) memcpy(to + i * bytes, value, (size_t)bytes);
}

/* Elements [col, col + n) of a row, at `c` in the product. */
static void run_segment(const df_epilogue_run *run, int64_t row, int64_t col, int64_t n,
                        const char *c)
{
    const df_epilogue *e = run->epilogue;
    char room[ROOM] __attribute__((aligned(DF_ALIGNMENT)));
    const char *values[MAX_VALUES];
    char *out = run->out + (row * run->columns + col) * e->bytes[e->result];
    values[0] = c;
    for (int i = 1; i < e->n_inputs; i++) {
        const reading *r = &e->readings[i];
        const char *data = run->call->in[e->first + i - 1]->data;
        values[i] = data + (row * r->row_step + col * r->col_step) * e->bytes[i];
        if (r->col_step == 0) {
            char *copy = room + i * e->segment * 8;
            fill(copy, values[i], e->bytes[i], n);
            values[i] = copy;
        }
    }
    for (int s = 0; s < e->n_steps; s++) {
        const step *now = &e->steps[s];
        const int value = e->n_inputs + s;
        char *to = s == e->n_steps - 1 && value == e->result ? out : room + value * e->segment * 8;
        const void *in[DF_TILE_MAX_IN];
        for (int i = 0; i < now->n_in; i++) in[i] = values[now->in[i]];
        now->fn(n, to, in, now->attrs);
        values[value] = to;
    }
    if (values[e->result] != out)
        memmove(out, values[e->result], (size_t)(n * e->bytes[e->result]));
}

void df_epilogue_block(const void *context, int64_t row, int64_t rows, int64_t col0, int64_t cols,
                       void *c, int64_t ldc)
{
    const df_epilogue_run *run = context;
    const df_epilogue *e = run->epilogue;
    const char *from = c;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j += e->segment)
            run_segment(run, row + i, col0 + j, df_min(e->segment, cols - j),
                        from + (i * ldc + j) * e->bytes[0]);
}
