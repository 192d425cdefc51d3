/* Instructions whose shapes or attributes are known only during a run. The df_resolved of such an
 * instruction in the frame retains what inference found for the shapes of the previous run, and
 * small buffers: in a loop with constant shapes it neither allocates nor infers. run.c calls
 * df_resolved_run in place of the op.
 *
 * Invariant: `known` is set only while the outputs have the shapes inferred for `seen`. */
#include "exec/internal.h"

#include "fuse/cluster.h"

#include <stdlib.h>
#include <string.h>

/* --- frames ---*/

static bool make(const df_program *p, df_frame *frame, int i, df_resolved *r)
{
    const df_exec_instruction *s = &p->instructions[i];
    size_t n_seen = 1;
    *r = (df_resolved){.frame = frame, .instruction = i, .comparable = !s->n_bodies, .bytes = -1};
    r->varying = malloc(((size_t)s->n_in + 1) * sizeof *r->varying);
    if (!r->varying) return false;
    for (int k = 0; k < s->n_in; k++) {
        const df_slot *slot = &p->slots[s->in[k]];
        if (df_slot_bytes(slot) >= 0) continue;
        r->varying[r->n_varying++] = k;
        n_seen += (size_t)slot->ndim;
    }
    if (s->op->apply) {
        const df_slot *values = &p->slots[s->in[s->n_in - 1]];
        const df_call call = {.op = s->op, .attrs = s->attrs};
        const int64_t bytes = s->op->workspace(&call);
        r->comparable = df_slot_bytes(values) >= 0 && values->dtype == DF_I64;
        r->n_values = r->comparable ? df_slot_bytes(values) / 8 : 0;
        r->attrs = calloc(DF_MAX_ATTRS, sizeof *r->attrs);
        r->words = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
        if (!r->attrs || !r->words) return false;
    }
    r->seen = malloc((n_seen + (size_t)r->n_values) * sizeof *r->seen);
    return r->seen != NULL;
}

bool df_frame_make_resolved(const df_program *p, df_frame *frame)
{
    if (!p->n_resolved) return true;
    frame->resolved = calloc((size_t)p->n_resolved, sizeof *frame->resolved);
    if (!frame->resolved) return false;
    for (int i = 0; i < p->n_instructions; i++) {
        const int at = p->instructions[i].resolved;
        if (at >= 0 && !make(p, frame, i, &frame->resolved[at])) return false;
    }
    return true;
}

static void forget(df_resolved *r)
{
    if (r->prepared) r->call.op->release(r->prepared);
    r->prepared = NULL;
    r->known = false;
    r->n_hits = 0;
    r->bytes = -1;
}

void df_frame_free_resolved(const df_program *p, df_frame *frame)
{
    for (int k = 0; frame->resolved && k < p->n_resolved; k++) {
        df_resolved *r = &frame->resolved[k];
        forget(r);
        df_buffer_release(r->workspace);
        free(r->varying);
        free(r->attrs);
        free(r->words);
        free(r->seen);
    }
    free(frame->resolved);
}

/* --- running --- */

static bool matches(const df_slot *s, const df_tensor *t)
{
    if (s->dtype != t->dtype || s->ndim != t->ndim) return false;
    for (int d = 0; d < s->ndim; d++)
        if (s->shape[d] != DF_UNKNOWN && s->shape[d] != t->shape[d]) return false;
    return true;
}

/* Checks inferred outputs against their slots. A static slot that does not match gets its planned
 * shape back, for later runs. */
static df_status check_outputs(const df_program *p, df_frame *frame, const df_exec_instruction *s,
                               const df_call *call, df_error *err)
{
    df_error ignored;
    for (int k = 0; k < s->n_out; k++) {
        const df_slot *slot = &p->slots[s->out[k]];
        if (matches(slot, call->out[k])) continue;
        const df_text got = df_tensor_text(call->out[k]);
        if (slot->kind != DF_SLOT_DYNAMIC) df_frame_describe(p, frame, s->out[k], &ignored);
        return df_fail(err, DF_BAD_SHAPE, "%s: output %d is %s, the program declares %s",
                       call->op->name, k, got.text, df_shape_text(slot->ndim, slot->shape).text);
    }
    return DF_OK;
}

/* Records shapes and values of this run in `seen`. Returns true if they equal the previous ones.
 * Sets `all` to false if they cannot be recorded. */
static bool note(const df_program *p, const df_exec_instruction *s, const df_call *call,
                 df_resolved *r,
                 bool *all)
{
    bool same = true;
    int64_t *seen = r->seen;
    *all = r->comparable;
    for (int i = 0; i < r->n_varying && *all; i++) {
        const df_tensor *x = call->in[r->varying[i]];
        *all = x->ndim == p->slots[s->in[r->varying[i]]].ndim;
        if (!*all) break;
        for (int d = 0; d < x->ndim; d++, seen++) {
            same &= *seen == x->shape[d];
            *seen = x->shape[d];
        }
    }
    if (!*all || !r->n_values) return same && *all;
    const int64_t *values = call->in[s->n_in - 1]->data;
    for (int64_t i = 0; i < r->n_values; i++) {
        same &= seen[i] == values[i];
        seen[i] = values[i];
    }
    return same;
}

static df_status infer(const df_program *p, const df_exec_instruction *s, const df_call *call,
                       df_resolved *r,
                       df_error *err)
{
    df_status status = DF_OK;
    r->call = *call;
    r->call.prepared = NULL;
    if (s->op->apply) {
        r->call.workspace = r->words;
        return s->op->apply(&(df_call){.op = call->op, .n_in = call->n_in, .n_out = call->n_out,
                                       .in = call->in, .out = call->out, .attrs = call->attrs,
                                       .workspace = r->words},
                            &r->call, r->attrs, err);
    }
    for (int k = 0; k < s->n_out && s->n_bodies && status == DF_OK; k++)
        status = df_frame_describe(p, r->frame, s->out[k], err); /* infer compares with it */
    if (status == DF_OK) status = df_op_check_arity(call, err);
    return status == DF_OK ? df_op_infer_for_run(call, err) : status;
}

df_tile_fn df_whole_tile(const df_call *call)
{
    if (call->op->kind != DF_ELEMENTWISE || call->n_in > DF_TILE_MAX_IN ||
        call->out[0]->size > DF_DIRECT_ELEMENTS ||
        df_op_may_raise(call->op, call->in[call->op->value_check.input]->dtype))
        return NULL;
    for (int k = 0; k < 2 && call->n_in == 2; k++) { /* one operand is a single element */
        const df_tensor *one = call->in[k], *other = call->in[1 - k];
        const df_tile_fn with_one = call->op->tile_scalar[k][one->dtype];
        if (with_one && one->size == 1 && one->dtype == other->dtype &&
            df_same_shape(other, call->out[0]))
            return with_one;
    }
    for (int k = 0; k < call->n_in; k++)
        if (!df_same_shape(call->in[k], call->out[0])) return NULL;
    return df_tile_select(call);
}

/* The function that reduces a short input to one element, or NULL. It avoids the workspace and the
 * plan of a staged reduction, which treats an input of one element differently. */
static df_reduce_fn whole_reduction(const df_call *call)
{
    const df_tensor *x = call->in[0];
    if (call->op->kind != DF_REDUCTION || call->out[0]->size != 1 || x->size < 2 ||
        x->size > df_min(DF_DIRECT_ELEMENTS, DF_CLUSTER_ROW_MAX))
        return NULL;
    return call->op->reduce[x->dtype];
}

static df_status resolve(const df_program *p, const df_exec_instruction *s, const df_call *call,
                         df_resolved *r, bool known, df_error *err)
{
    forget(r);
    df_status status = infer(p, s, call, r, err);
    if (status == DF_OK) status = check_outputs(p, r->frame, s, &r->call, err);
    if (status != DF_OK) return status;
    const df_op *op = r->call.op;
    r->known = known && !op->data_dependent_shape;
    r->tile = df_whole_tile(&r->call);
    r->reduce = whole_reduction(&r->call);
    r->offset = op->view && (s->retains || s->borrows) ? op->view(&r->call) : -1;
    return DF_OK;
}

/* Makes output 0 a view of input 0 if possible. The buffer of the input is shared. Memory without a
 * buffer is not overwritten before the last read of the output, see df_program_find_views. */
static bool share_view(const df_exec_instruction *s, df_resolved *r)
{
    const df_tensor *x = r->call.in[0];
    df_tensor *y = r->call.out[0];
    if (r->offset < 0 || !(x->buffer ? s->retains : s->borrows)) return false;
    if (x->buffer) df_buffer_retain(x->buffer);
    df_buffer_release(y->buffer);
    y->buffer = x->buffer;
    y->data = (char *)x->data + r->offset;
    return true;
}

static df_status take_outputs(const df_program *p, const df_exec_instruction *s, df_resolved *r,
                              df_error *err)
{
    const df_op *op = r->call.op;
    df_status status = DF_OK;
    for (int k = 0; k < s->n_out && status == DF_OK; k++) {
        const df_slot *slot = &p->slots[s->out[k]];
        df_tensor *t = r->call.out[k];
        if (slot->kind == DF_SLOT_ARENA) t->data = r->frame->base + slot->offset; /* may be a
                                                                                   * view */
        if (slot->kind != DF_SLOT_DYNAMIC) continue;
        /* run may set the buffer */
        if (op->data_dependent_shape || op->n_bodies) df_tensor_drop(t);
        if (t->size < 0) continue;
        if (t->buffer && t->buffer->bytes >= df_tensor_bytes(t) &&
            df_buffer_is_exclusive(t->buffer))
            t->data = t->buffer->data;
        else status = df_tensor_alloc(t, op->name, err);
    }
    return status;
}

static df_status take_workspace(const df_program *p, const df_exec_instruction *s, df_resolved *r,
                                df_error *err)
{
    if (r->bytes < 0) r->bytes = df_program_workspace(p, s, &r->call);
    if (r->bytes >= 0 && (!r->workspace || r->workspace->bytes < r->bytes)) {
        df_buffer_release(r->workspace);
        r->workspace = df_buffer_new(r->bytes);
    }
    if (r->bytes < 0 || !r->workspace)
        return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld bytes of workspace",
                       r->call.op->name, (long long)r->bytes);
    r->call.workspace = r->workspace->data;
    df_frame_point_bodies(p, r->frame, s, &r->call);
    return DF_OK;
}

static df_status compute(const df_program *p, const df_exec_instruction *s, df_resolved *r,
                         df_error *err)
{
    const df_call *call = &r->call;
    df_status status = DF_OK;
    if (r->tile) {
        const void *in[DF_TILE_MAX_IN];
        for (int k = 0; k < call->n_in; k++) in[k] = call->in[k]->data;
        r->tile(call->out[0]->size, call->out[0]->data, in, call->attrs);
        return DF_OK;
    }
    if (r->reduce) {
        r->reduce(1, call->in[0]->size, call->out[0]->data, call->in[0]->data);
        return DF_OK;
    }
    if (call->op->workspace || s->n_bodies) status = take_workspace(p, s, r, err);
    if (status == DF_OK) status = df_op_run(call, err);
    if (r->workspace && r->workspace->bytes > DF_PARKED_BYTES &&
        !(s->n_bodies && status != DF_OK && df_frame_is_outstanding(r->frame))) {
        df_buffer_release(r->workspace);
        r->workspace = NULL;
    }
    return status;
}

/* Calls the op's prepare at the second run with the same shapes, when it begins to pay. */
static void prepare(df_resolved *r)
{
    df_error ignored; /* run works without prepare */
    const df_op *op = r->call.op;
    if (r->n_hits++ || !op->prepare || df_op_in_float(&r->call)) return;
    if (op->prepare(&r->call, &r->prepared, &ignored) != DF_OK) r->prepared = NULL;
    r->call.prepared = r->prepared;
}

df_status df_resolved_run(const df_call *call, df_error *err)
{
    df_resolved *r = (df_resolved *)(intptr_t)call->prepared;
    const df_program *p = r->frame->program;
    const df_exec_instruction *s = &p->instructions[r->instruction];
    df_status status = DF_OK;
    bool all;
    if (note(p, s, call, r, &all) && r->known) prepare(r);
    else status = resolve(p, s, call, r, all, err);
    if (status != DF_OK) return status;
    r->viewed = share_view(s, r);
    if (r->viewed) return DF_OK;
    status = take_outputs(p, s, r, err);
    return status == DF_OK ? compute(p, s, r, err) : status;
}
