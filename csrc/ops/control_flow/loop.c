/* loop: runs its body repeatedly; the carried outputs of an iteration are the carried inputs of the
 * next.
 *
 *     inputs   [times] [go on] carried, sliced, captured
 *     body     the same        ->  [go on] carried, stacked
 *     outputs                      carried, [rounds], stacked
 *
 * `trip_count` < 0: input 0, an int64, is the maximal trip count. `tested`: the next input, a bool,
 * is the condition of the first iteration, and output 0 of the body the condition of the next.
 * Iteration t reads row t of each sliced input and writes row t of each stacked output; `reverse`:
 * the last row first. Captured inputs are the same in all iterations.
 *
 * Rows of a size unknown to the body may be packed, so that their sizes may vary: a sliced input or
 * stacked output is then uint8 with one dimension, see base/row_list.h. `packed` lists such stacked
 * outputs; a packed input is recognised by the body's argument. `recompute` is for graph passes and
 * has no effect here.
 *
 * Rows are read in place. A carried value is double-buffered between the output and the workspace,
 * unless the body updates it in place. In that case its initial value is copied to the output once
 * and stays there. */
#include "op/loop_check.h"
#include "base/row_list.h"

#include <stdio.h>
#include <string.h>

static int count_out(const df_call *call) { return call->n_out; }

/* --- state of an execution --- */

/* The double buffer of a carried value: one tensor is read while the other is written. */
typedef struct {
    df_tensor place[2];
} double_buffer;

/* A stacked output. If its size is not known it grows with the iterations; rows of unknown shape
 * are allocated by the body. */
typedef struct {
    df_tensor row, *out;
    bool packed;
    int64_t bytes; /* of a row; -1: not known yet */
    int64_t capacity; /* in rows */
} stack;

typedef struct {
    df_tensor row;
    bool packed;
    const char *data;
    int64_t bytes, at; /* of a row; offset of the next packed row */
} slices;

typedef struct {
    df_loop at;
    const df_tensor **in; /* by input of the body */
    df_tensor **out;      /* by output of the body */
    double_buffer *double_buffers;
    slices *slices;
    stack *stacks;
    struct df_loop_operand *loop_inputs, *loop_outputs; /* of a fixed body */
    df_tensor keep_going;
    bool another;
    int64_t trip_count;
} loop_state;

enum { IN, OUT, DOUBLE_BUFFERS, SLICES, STACKS, LOOP_INPUTS, LOOP_OUTPUTS, SECOND_BUFFERS,
      N_PARTS };

static bool add_bytes(int64_t *at, int64_t bytes)
{
    return df_add_size(*at, bytes, at) && df_add_size(*at, -*at & (DF_ALIGNMENT - 1), at);
}

/* Offsets of the parts of the workspace. */
static bool divide(const df_call *call, const df_loop *l, int64_t *at)
{
    const int64_t sizes[] = {(int64_t)sizeof(void *) * call->n_in,
                             (int64_t)sizeof(void *) * l->n_out,
                             (int64_t)sizeof(double_buffer) * l->n_carried,
                             (int64_t)sizeof(slices) * l->n_sliced,
                             (int64_t)sizeof(stack) * l->n_stacked,
                             (int64_t)sizeof(struct df_loop_operand) * call->n_in,
                             (int64_t)sizeof(struct df_loop_operand) * l->n_out};
    at[IN] = 0;
    for (int k = IN; k < SECOND_BUFFERS; k++) {
        at[k + 1] = at[k];
        if (!add_bytes(&at[k + 1], sizes[k])) return false;
    }
    return true;
}

DF_ONCE(int64_t, workspace_loop, (const df_call *call))
{
    df_loop l;
    int64_t at[N_PARTS];
    if (!df_loop_find(call, &l) || !divide(call, &l, at)) return -1;
    for (int c = 0; c < l.n_carried; c++)
        if (call->out[c]->size > 0 &&
            !add_bytes(&at[SECOND_BUFFERS], df_tensor_bytes(call->out[c])))
            return -1;
    return at[SECOND_BUFFERS];
}

/* Describes a tensor like `t`, without memory and without its first `skipped` dimensions. */
static df_status describe(df_tensor *to, const df_tensor *t, int skipped, df_error *err)
{
    df_tensor_init(to);
    return df_tensor_set(to, t->dtype, t->ndim - skipped, t->shape + skipped, "loop", err);
}

/* Iteration t reads place[t % 2] and writes the other one; the order is chosen so that the last
 * iteration writes the output. */
static df_status begin_carried(const df_call *call, loop_state *r, char *second, df_error *err)
{
    const df_loop *l = &r->at;
    const int last = l->keep_going >= 0 || r->trip_count % 2 ? 1 : 0;
    df_status status = DF_OK;
    for (int c = 0; c < l->n_carried && status == DF_OK; c++) {
        df_tensor *place = r->double_buffers[c].place, *out = call->out[c];
        for (int k = 0; k < 2 && status == DF_OK; k++) status = describe(&place[k], out, 0, err);
        r->out[l->first + c] = &place[1];
        if (out->size < 0) continue;
        place[last].data = out->data;
        place[1 - last].data = df_loop_is_aliased(call, l, c) ? out->data : second;
        if (df_loop_is_aliased(call, l, c)) {
            const df_tensor *x = call->in[l->carried + c];
            if (x->data != out->data && out->size)
                memcpy(out->data, x->data, (size_t)df_tensor_bytes(out));
            r->in[l->carried + c] = &place[0];
            continue;
        }
        if (call->in[l->carried + c]->data == out->data && out->size)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "loop: output %d is in the memory of its first value, but the body does "
                           "not update it there", c);
        second += (df_tensor_bytes(out) + DF_ALIGNMENT - 1) / DF_ALIGNMENT * DF_ALIGNMENT;
    }
    return status;
}

static df_status begin_slices(const df_call *call, loop_state *r, df_error *err)
{
    const df_loop *l = &r->at;
    df_status status = DF_OK;
    for (int k = 0; k < l->n_sliced && status == DF_OK; k++) {
        const df_tensor *x = call->in[l->sliced + k];
        slices *s = &r->slices[k];
        s->packed = df_loop_is_packed(x, call->bodies->types[0].in_bytes[l->sliced + k]);
        r->in[l->sliced + k] = &s->row;
        if (s->packed) {
            r->trip_count = df_min(r->trip_count, df_row_list_length(x));
            continue;
        }
        if (x->shape[0] < r->trip_count && l->keep_going < 0)
            return df_fail(err, DF_BAD_SHAPE,
                           "loop: input %d is %s, expected a row for each of %lld iterations",
                           l->sliced + k, df_tensor_text(x).text, (long long)r->trip_count);
        r->trip_count = df_min(r->trip_count, x->shape[0]);
        status = describe(&s->row, x, 1, err);
        s->data = x->data;
        s->bytes = df_loop_row_bytes(x);
    }
    return status;
}

static df_status begin_stacks(const df_call *call, loop_state *r, df_error *err)
{
    const df_loop *l = &r->at;
    df_status status = DF_OK;
    for (int k = 0; k < l->n_stacked && status == DF_OK; k++) {
        const int i = l->stacked + k;
        stack *s = &r->stacks[k];
        status = describe(&s->row, &call->bodies->types[0].out[i], 0, err);
        s->out = call->out[i];
        s->packed = df_loop_packs(s->out, &s->row);
        s->bytes = s->row.size < 0 ? -1 : df_tensor_bytes(&s->row);
        s->capacity = s->out->size < 0 ? 0 : INT64_MAX;
        r->out[i] = &s->row;
    }
    return status;
}

static df_status begin(const df_call *call, loop_state *r, df_error *err)
{
    df_loop *l = &r->at;
    int64_t at[N_PARTS];
    char *base = call->workspace;
    if (!df_loop_find(call, l) || !divide(call, l, at))
        return df_fail(err, DF_OUT_OF_MEMORY, "loop: no memory");
    r->in = (const df_tensor **)(base + at[IN]);
    r->out = (df_tensor **)(base + at[OUT]);
    r->double_buffers = (double_buffer *)(base + at[DOUBLE_BUFFERS]);
    r->slices = (slices *)(base + at[SLICES]);
    r->stacks = (stack *)(base + at[STACKS]);
    r->loop_inputs = (struct df_loop_operand *)(base + at[LOOP_INPUTS]);
    r->loop_outputs = (struct df_loop_operand *)(base + at[LOOP_OUTPUTS]);
    memset(base, 0, (size_t)at[SECOND_BUFFERS]); /* so that `end` may clear everything */
    for (int i = 0; i < call->n_in; i++) r->in[i] = call->in[i];
    r->trip_count = l->limit < 0 ?
        call->attrs[MAX_TRIP_COUNT].i : *(const int64_t *)call->in[l->limit]->data;
    r->another = l->keep_going < 0 || *(const uint8_t *)call->in[l->keep_going]->data;
    df_tensor_init(&r->keep_going);
    r->keep_going.dtype = DF_BOOL;
    r->keep_going.data = &r->another;
    if (l->keep_going >= 0) r->out[0] = &r->keep_going;
    df_status status = begin_slices(call, r, err);
    if (status == DF_OK) status = begin_stacks(call, r, err);
    return status == DF_OK ? begin_carried(call, r, base + at[SECOND_BUFFERS], err) : status;
}

/* --- rows ---*/

/* Moves a stack to memory for `n` rows. */
static df_status grow(stack *s, int64_t n, int64_t used, df_error *err)
{
    df_buffer *buffer;
    int64_t bytes;
    if (!df_mul_size(n, s->bytes, &bytes) || !(buffer = df_buffer_new(bytes)))
        return df_fail(err, DF_OUT_OF_MEMORY, "loop: no memory for %lld rows of %s", (long long)n,
                       df_tensor_text(&s->row).text);
    if (used) memcpy(buffer->data, s->out->data, (size_t)(used * s->bytes));
    df_buffer_release(s->out->buffer);
    s->out->buffer = buffer;
    s->out->data = buffer->data;
    s->capacity = n;
    return DF_OK;
}

/* Ensures capacity for another row after `used` rows: doubles it, or uses the trip count if
 * known. */
static df_status reserve_row(const loop_state *r, stack *s, int64_t used, df_error *err)
{
    if (used < s->capacity) return DF_OK;
    const int64_t twice = used < 8 ? 8 : used > INT64_MAX / 2 ? INT64_MAX : 2 * used;
    return grow(s, r->at.keep_going < 0 ? r->trip_count : df_min(twice, r->trip_count), used, err);
}

static df_status select_packed_row(const df_call *call, slices *s, const df_tensor *rows, int64_t t,
                                   df_error *err)
{
    const bool reverse = call->attrs[REVERSE].i;
    s->at = t ? df_row_list_next(rows, s->at, reverse) : df_row_list_first(rows, reverse);
    return df_row_list_get(rows, s->at, &s->row, err);
}

/* Points the rows to those of iteration t. */
static df_status select_rows(const df_call *call, loop_state *r, int64_t t, df_error *err)
{
    const int64_t at = call->attrs[REVERSE].i ? r->trip_count - 1 - t : t;
    df_status status = DF_OK;
    for (int k = 0; k < r->at.n_sliced && status == DF_OK; k++) {
        slices *s = &r->slices[k];
        if (s->packed)
            status = select_packed_row(call, s, call->in[r->at.sliced + k], t, err);
        else
            s->row.data = (char *)(intptr_t)s->data + at * s->bytes;
    }
    for (int k = 0; k < r->at.n_stacked && status == DF_OK; k++) {
        stack *s = &r->stacks[k];
        const df_tensor *row = &call->bodies->types[0].out[r->at.stacked + k];
        if (row->size < 0 || s->packed) {
            df_tensor_clear(&s->row);
            status = describe(&s->row, row, 0, err);
            if (status == DF_OK && row->size >= 0) status = df_tensor_alloc(&s->row, "loop", err);
        } else {
            status = reserve_row(r, s, t, err);
            s->row.data = (char *)s->out->data + at * s->bytes;
        }
    }
    return status;
}

/* Adds rows that the body allocated to their stacks; all must have one shape. */
static df_status add_rows(const df_call *call, loop_state *r, int64_t t, df_error *err)
{
    const int64_t at = call->attrs[REVERSE].i ? r->trip_count - 1 - t : t;
    df_status status = DF_OK;
    for (int k = 0; k < r->at.n_stacked && status == DF_OK; k++) {
        stack *s = &r->stacks[k];
        if (s->packed) {
            status = df_row_list_push(s->out, &s->row, call->attrs[REVERSE].i, err);
            continue;
        }
        if (call->bodies->types[0].out[r->at.stacked + k].size >= 0) continue;
        if (s->bytes < 0) {
            int64_t shape[DF_MAX_NDIM];
            shape[0] = DF_UNKNOWN;
            memcpy(shape + 1, s->row.shape, (size_t)s->row.ndim * sizeof *shape);
            status = df_tensor_set(s->out, s->row.dtype, s->row.ndim + 1, shape, "loop", err);
            s->bytes = df_tensor_bytes(&s->row);
        } else if (!df_same_dims(s->row.ndim, s->row.shape, s->out->shape + 1)) {
            return df_fail(err, DF_BAD_SHAPE, "loop: rows of %s and %s cannot be stacked",
                           df_shape_text(s->row.ndim, s->out->shape + 1).text,
                           df_shape_text(s->row.ndim, s->row.shape).text);
        }
        if (status == DF_OK) status = reserve_row(r, s, t, err);
        if (status == DF_OK && s->bytes)
            memcpy((char *)s->out->data + at * s->bytes, s->row.data, (size_t)s->bytes);
    }
    return status;
}

/* Passes the carried outputs to the next iteration. Buffers of unknown size are allocated again. */
static df_status carry_over(const df_call *call, loop_state *r, int64_t t, df_error *err)
{
    const df_loop *l = &r->at;
    df_status status = DF_OK;
    for (int c = 0; c < l->n_carried && status == DF_OK; c++) {
        df_tensor *made = &r->double_buffers[c].place[(t + 1) % 2], *next =
            &r->double_buffers[c].place[t % 2];
        r->in[l->carried + c] = made;
        r->out[l->first + c] = next;
        if (call->out[c]->size >= 0) continue;
        df_tensor_clear(next);
        status = describe(next, call->out[c], 0, err);
    }
    return status;
}

static df_status run_data_dependent(const df_call *call, loop_state *r, int64_t *t, df_error *err)
{
    const df_bodies *bodies = call->bodies;
    df_status status = DF_OK;
    for (*t = 0; *t < r->trip_count && r->another; ++*t) {
        status = select_rows(call, r, *t, err);
        if (status == DF_OK) status = bodies->run(bodies->context, 0, r->in, r->out, err);
        if (status == DF_OK) status = add_rows(call, r, *t, err);
        if (status == DF_OK) status = carry_over(call, r, *t, err);
        if (status != DF_OK) break;
    }
    return status;
}

/* --- iterations in which only pointers change --- */

static bool is_fixed(const df_call *call, const df_loop *l)
{
    for (int c = 0; c < l->n_carried; c++)
        if (call->out[c]->size < 0) return false;
    for (int k = 0; k < l->n_stacked; k++)
        if (df_loop_packs(call->out[l->stacked + k], &call->bodies->types[0].out[l->stacked + k]))
            return false;
    return call->bodies->types[0].fixed;
}

static struct df_loop_operand rows(const df_call *call, const loop_state *r, const void *data,
                                   int64_t bytes)
{
    char *first = (char *)(intptr_t)data;
    const bool reverse = call->attrs[REVERSE].i;
    if (reverse) first += (r->trip_count - 1) * bytes;
    return (struct df_loop_operand){{first, first}, reverse ? -bytes : bytes};
}

static struct df_loop_operand still(const void *data)
{
    char *at = (char *)(intptr_t)data;
    return (struct df_loop_operand){{at, at}, 0};
}

/* Sets the data pointers from iteration t on. */
static void place(const df_call *call, loop_state *r, int64_t t)
{
    const df_loop *l = &r->at;
    for (int i = 0; i < call->n_in; i++) r->loop_inputs[i] = still(r->in[i]->data);
    if (l->keep_going >= 0) r->loop_outputs[0] = still(&r->another);
    for (int c = 0; c < l->n_carried; c++) {
        char *at[] = {r->double_buffers[c].place[0].data, r->double_buffers[c].place[1].data};
        if (t > 0) r->loop_inputs[l->carried + c] = (struct df_loop_operand){{at[0], at[1]}, 0};
        r->loop_outputs[l->first + c] = (struct df_loop_operand){{at[1], at[0]}, 0};
    }
    for (int k = 0; k < l->n_sliced; k++)
        r->loop_inputs[l->sliced + k] = rows(call, r, r->slices[k].data, r->slices[k].bytes);
    for (int k = 0; k < l->n_stacked; k++)
        r->loop_outputs[l->stacked + k] = rows(call, r, r->stacks[k].out->data, r->stacks[k].bytes);
}

/* Runs as many iterations at a time as the stacks have capacity for; the first one reads the
 * inputs. */
static df_status run_fixed(const df_call *call, loop_state *r, int64_t *t, df_error *err)
{
    const df_bodies *bodies = call->bodies;
    df_status status = DF_OK;
    for (*t = 0; *t < r->trip_count && r->another && status == DF_OK;) {
        int64_t end = *t ? r->trip_count : 1;
        for (int k = 0; k < r->at.n_stacked && status == DF_OK; k++) {
            status = reserve_row(r, &r->stacks[k], *t, err);
            end = df_min(end, r->stacks[k].capacity);
        }
        if (status != DF_OK) break;
        place(call, r, *t);
        status = bodies->repeat(bodies->context, r->loop_inputs, r->loop_outputs, &r->another, t,
                                end,
                                err);
    }
    for (int c = 0; c < r->at.n_carried && *t > 0; c++)
        r->in[r->at.carried + c] = &r->double_buffers[c].place[*t % 2];
    return status;
}

static df_status run_iterations(const df_call *call, loop_state *r, int64_t *t, df_error *err)
{
    df_status status = is_fixed(call, &r->at) ? run_fixed(call, r, t, err)
                                              : run_data_dependent(call, r, t, err);
    if (status != DF_OK) {
        size_t n = strlen(err->text);
        snprintf(err->text + n, sizeof err->text - n, ", in iteration %lld", (long long)*t);
    }
    return status;
}

/* Returns the final carried value in `out`, without a copy if it is there already. */
static df_status return_carried(df_tensor *out, const df_tensor *x, df_error *err)
{
    if (out->size < 0) {
        df_status status = df_tensor_set(out, x->dtype, x->ndim, x->shape, "loop", err);
        if (status == DF_OK && x->buffer) {
            df_buffer_retain(x->buffer);
            out->buffer = x->buffer;
            out->data = x->data;
            return DF_OK;
        }
        if (status == DF_OK) status = df_tensor_alloc(out, "loop", err);
        if (status != DF_OK) return status;
    }
    if (out->data != x->data && out->size) memcpy(out->data, x->data, (size_t)df_tensor_bytes(out));
    return DF_OK;
}

/* Sets the number of rows of a stack that has grown to the trip count. */
static df_status return_stack(stack *s, int64_t n, df_error *err)
{
    int64_t shape[DF_MAX_NDIM];
    if (s->packed) return df_row_list_finish(s->out, err);
    if (s->capacity == INT64_MAX) return DF_OK;
    shape[0] = n;
    for (int d = 1; d < s->out->ndim; d++) shape[d] = df_max(s->out->shape[d], 0);
    df_status status = df_tensor_set(s->out, s->out->dtype, s->out->ndim, shape, "loop", err);
    return status == DF_OK && !s->out->buffer ? df_tensor_alloc(s->out, "loop", err) : status;
}

static void end(loop_state *r)
{
    for (int c = 0; c < r->at.n_carried; c++)
        for (int k = 0; k < 2; k++) df_tensor_clear(&r->double_buffers[c].place[k]);
    for (int k = 0; k < r->at.n_sliced; k++) df_tensor_clear(&r->slices[k].row);
    for (int k = 0; k < r->at.n_stacked; k++) df_tensor_clear(&r->stacks[k].row);
}

DF_ONCE(df_status, run_loop, (const df_call *call, df_error *err))
{
    loop_state r;
    int64_t n = 0;
    df_status status = begin(call, &r, err);
    if (status == DF_OK) status = run_iterations(call, &r, &n, err);
    for (int c = 0; c < r.at.n_carried && status == DF_OK; c++)
        status = return_carried(call->out[c], r.in[r.at.carried + c], err);
    for (int k = 0; k < r.at.n_stacked && status == DF_OK; k++)
        status = return_stack(&r.stacks[k], n, err);
    if (status == DF_OK && r.at.rounds >= 0) *(int64_t *)call->out[r.at.rounds]->data = n;
    end(&r);
    return status;
}

DF_OP(loop) = {.name = "loop", .kind = DF_GENERAL, .n_in = DF_VARIADIC, .n_out = DF_VARIADIC,
               .n_attrs = 7,
               .attrs = {{"times", DF_ATTR_INT}, {"n_carried", DF_ATTR_INT},
                         {"n_sliced", DF_ATTR_INT}, {"tested", DF_ATTR_BOOL},
                         {"reverse", DF_ATTR_BOOL}, {"packed", DF_ATTR_INTS},
                         {"recompute", DF_ATTR_BOOL}},
               .n_bodies = 1, .internal = true, .data_dependent_shape = true,
               .count_out = count_out,
               .infer = df_loop_infer, .run = run_loop, .workspace = workspace_loop};
