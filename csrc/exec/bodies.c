/* Bodies: programs that an instruction owns. The op gets them as df_bodies and runs them through a
 * driver of the frame. Each body has a frame of its own whose arena is part of the workspace of the
 * instruction, so running a fixed body allocates nothing. */
#include "exec/internal.h"

#include <stdlib.h>
#include <string.h>

#define POLL_NS 1e6 /* estimated work between two checks of whether the caller wants to stop */

int df_program_size(const df_program *p) { return p->size; }
int64_t df_program_arena(const df_program *p) { return p->arena_bytes; }
bool df_program_writes(const df_program *p, int arg) { return arg < p->n_args && p->written[arg]; }
int64_t df_program_reach(const df_program *p, int arg) { return p->arg_bytes[arg]; }

/* --- building a program --- */

static void note_arguments(df_program *p, const df_program_parts *parts)
{
    for (int i = 0; i < p->n_slots; i++) {
        const df_slot *s = &p->slots[i];
        const int64_t bytes = df_slot_bytes(s);
        if (s->kind != DF_SLOT_ARG) continue;
        int64_t *reach = &p->arg_bytes[s->index];
        p->unsized |= bytes < 0;
        if (bytes < 0)
            *reach = -1;
        else if (bytes > 0 && *reach >= 0)
            *reach = df_max(*reach, s->offset + bytes);
    }
    for (int i = 0; i < parts->n_instructions; i++) {
        const df_instruction *in = &parts->instructions[i];
        for (int k = 0; k < in->n_in + in->n_out; k++) {
            const df_slot *s = &p->slots[k < in->n_in ? in->in[k] : in->out[k - in->n_in]];
            if (s->kind == DF_SLOT_ARG && (k >= in->n_in || df_writes_input(in, k)))
                p->written[s->index] = true;
        }
    }
}

/* True if a slot can be result i: memory of the result, a dynamic slot that is returned, or an
 * argument that no other result reuses (`taken`). */
static bool may_return(const df_program_parts *parts, int i, const df_slot *s, bool *taken)
{
    if (s->kind == DF_SLOT_RESULT) return s->index == i && s->offset == 0;
    if (s->kind == DF_SLOT_DYNAMIC) return s->last_use == parts->n_instructions;
    if (s->kind != DF_SLOT_ARG || s->offset != 0 || df_slot_bytes(s) < 0 || taken[s->index])
        return false;
    return taken[s->index] = true;
}

/* Records slot, dtype and shape of each result of a body. */
static df_status note_results(df_program *p, const df_program_parts *parts, df_error *err)
{
    df_status status = DF_OK;
    if (!parts->returned) return DF_OK;
    bool *taken = calloc((size_t)p->n_args + 1, sizeof *taken);
    if (!taken) return df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    for (int i = 0; i < p->n_results && status == DF_OK; i++) {
        const int slot = parts->returned[i];
        const df_slot *s = slot >= 0 && slot < p->n_slots ? &p->slots[slot] : NULL;
        if (!s || !may_return(parts, i, s, taken)) {
            status = df_fail(err, DF_INVALID_ARGUMENT, "program: result %d is not in slot %d", i,
                             slot);
            break;
        }
        p->returned[i] = slot;
        p->aliased_input[i] = s->kind == DF_SLOT_ARG ? s->index : -1;
        /* memory that the op provides */
        if (p->aliased_input[i] >= 0) p->written[p->aliased_input[i]] = false;
        status = df_tensor_set(&p->returns[i], s->dtype, s->ndim, s->shape, "program", err);
    }
    free(taken);
    for (int i = 0; i < p->n_slots && status == DF_OK; i++) {
        const df_slot *s = &p->slots[i];
        if (s->kind == DF_SLOT_RESULT &&
            s->offset + df_slot_bytes(s) > df_slot_bytes(&p->slots[p->returned[s->index]]))
            status = df_fail(err, DF_INVALID_ARGUMENT, "program: slot %d reaches beyond result %d",
                             i, s->index);
    }
    return status;
}

/* True if all results are written to memory of known size that the caller provides. */
static bool is_fixed(const df_program *p)
{
    for (int i = 0; i < p->n_results; i++)
        if (p->returns[i].size < 0 || p->slots[p->returned[i]].kind == DF_SLOT_DYNAMIC)
            return false;
    return !p->unsized;
}

df_status df_program_take_bodies(df_program *p, const df_program_parts *parts, df_error *err)
{
    int n = 0;
    p->size = p->n_instructions;
    p->resolves_inside = p->n_resolved > 0;
    for (int i = 0; i < parts->n_instructions; i++) {
        const df_instruction *in = &parts->instructions[i];
        p->instructions[i].n_bodies = in->n_bodies;
        p->instructions[i].first_body = n;
        for (int b = 0; b < in->n_bodies; b++, n++) {
            const df_program *body = in->bodies[b];
            if (!body->returned)
                return df_fail(err, DF_INVALID_ARGUMENT, "program: body %d of instruction %d, %s, "
                               "was not built as a body", b, i, in->op->name);
            p->bodies[n] = (df_body){in->bodies[b], p->size};
            p->resolves_inside |= body->resolves_inside;
            p->types[n] = (struct df_body_type){body->n_args, body->n_results, is_fixed(body),
                                                body->arg_bytes, body->returns,
                                                body->aliased_input};
            if (__builtin_add_overflow(p->size, body->size, &p->size))
                return df_fail(err, DF_OVERFLOW, "program: too many instructions");
        }
    }
    p->n_bodies = n;
    note_arguments(p, parts);
    return note_results(p, parts, err);
}

/* --- frames ---*/

static df_status run_body(void *context, int k, const df_tensor *const *in, df_tensor *const *out,
                          df_error *err);
static df_status repeat_body(void *context, const struct df_loop_operand *in,
                             const struct df_loop_operand *out, const bool *keep_going, int64_t *t,
                             int64_t end, df_error *err);

bool df_frame_make_drivers(const df_program *p, df_frame *frame)
{
    if (!p->n_bodies) return true;
    frame->drivers = calloc((size_t)p->n_instructions, sizeof *frame->drivers);
    if (!frame->drivers) return false;
    for (int i = 0; i < p->n_instructions; i++) {
        const df_exec_instruction *s = &p->instructions[i];
        df_driver *d = &frame->drivers[i];
        *d = (df_driver){.owner = frame, .instruction = i,
                         .bodies = {.n = s->n_bodies, .types = p->types + s->first_body,
                                    .context = d, .run = run_body, .repeat = repeat_body}};
    }
    return true;
}

/* --- running a body --- */

/* Sets the data pointers of arguments, and their shapes if these depend on data. */
static df_status take_arguments(const df_program *p, df_frame *frame, const df_tensor *const *in,
                                df_error *err)
{
    const df_patch *at = p->patches, *end = at + p->n_arg_patches;
    for (; at < end; at++)
        frame->tensors[at->slot].data = (char *)in[at->index]->data + at->offset;
    for (at = p->patches; p->unsized && at < end; at++) {
        const df_slot *s = &p->slots[at->slot];
        const df_tensor *x = in[at->index];
        df_tensor *t = &frame->tensors[at->slot];
        if (df_slot_bytes(s) >= 0) continue;
        df_status status = df_frame_describe(p, frame, at->slot, err);
        if (status == DF_OK && (x->dtype != s->dtype || !df_may_be_same_shape(x, t)))
            status = df_fail(err, DF_BAD_SHAPE, "program: argument %d of a body is %s, "
                             "expected %s", at->index, df_tensor_text(x).text,
                             df_tensor_text(t).text);
        if (status == DF_OK) status = df_tensor_set(t, x->dtype, x->ndim, x->shape, "program", err);
        if (status != DF_OK) return status;
    }
    return DF_OK;
}

/* Sets the data pointers of results. Allocates a result of unknown shape if the body knows its
 * shape. */
static df_status give_results(const df_program *p, df_frame *frame, df_tensor *const *out,
                              df_error *err)
{
    const df_patch *at = p->patches + p->n_arg_patches, *end = at + p->n_result_patches;
    for (int i = 0; i < p->n_results; i++) {
        const df_tensor *t = &p->returns[i];
        if (out[i]->size >= 0 || t->size < 0) continue;
        df_status status = df_tensor_set(out[i], t->dtype, t->ndim, t->shape, "program", err);
        if (status == DF_OK) status = df_tensor_alloc(out[i], "program", err);
        if (status != DF_OK) return status;
    }
    for (; at < end; at++)
        frame->tensors[at->slot].data = (char *)out[at->index]->data + at->offset;
    return DF_OK;
}

/* Moves results that the body has allocated into the caller's tensors. */
static df_status hand_over(const df_program *p, df_frame *frame, df_tensor *const *out,
                           df_error *err)
{
    df_status status = DF_OK;
    for (int i = 0; i < p->n_results && status == DF_OK; i++) {
        df_tensor *t = &frame->tensors[p->returned[i]], *to = out[i];
        if (p->slots[p->returned[i]].kind != DF_SLOT_DYNAMIC) continue;
        if (to->size >= 0) {
            if (!df_same_shape(t, to))
                status = df_fail(err, DF_BAD_SHAPE, "program: result %d of a body is %s, "
                                 "expected %s", i, df_tensor_text(t).text, df_tensor_text(to).text);
            else if (to->size) memcpy(to->data, t->data, (size_t)df_tensor_bytes(to));
            continue;
        }
        status = df_tensor_set(to, t->dtype, t->ndim, t->shape, "program", err);
        df_buffer_retain(t->buffer);
        to->buffer = t->buffer;
        to->data = t->data;
    }
    for (int i = p->n_freed; i < p->n_dynamic; i++)
        df_tensor_drop(&frame->tensors[p->dynamic[i]]);
    return status;
}

/* The frame of body k, attached to the current run. */
static df_frame *enter(const df_driver *driver, int k)
{
    df_frame *owner = driver->owner;
    const df_program *outer = owner->program;
    const int i = outer->instructions[driver->instruction].first_body + k;
    df_frame *frame = owner->inner[i];
    frame->run_state = owner->run_state;
    frame->first = owner->first + outer->bodies[i].first;
    return frame;
}

/* Adds the cost of a body to the work since the last poll; polls when it exceeds POLL_NS. */
static inline df_status count_work(const df_driver *driver, const df_program *p, df_error *err)
{
    df_run_state *run_state = driver->owner->run_state;
    bool stops = df_run_is_stopped(run_state->run);
    run_state->since_poll += p->cost;
    if (run_state->since_poll > POLL_NS) {
        run_state->since_poll = 0;
        stops |= df_run_should_stop(run_state);
    }
    if (!stops) return DF_OK;
    return df_fail(err, DF_CANCELLED, "stopped inside %s",
                   driver->owner->program->instructions[driver->instruction].op->name);
}

static df_program *body_of(const df_driver *driver, int k)
{
    const df_program *outer = driver->owner->program;
    return outer->bodies[outer->instructions[driver->instruction].first_body + k].program;
}

static df_status run_body(void *context, int k, const df_tensor *const *in, df_tensor *const *out,
                          df_error *err)
{
    const df_driver *driver = context;
    df_frame *frame = enter(driver, k);
    df_program *p = body_of(driver, k);
    df_status status = count_work(driver, p, err);
    if (status == DF_OK) status = take_arguments(p, frame, in, err);
    if (status == DF_OK) status = give_results(p, frame, out, err);
    if (status == DF_OK) status = df_frame_run(p, frame, err);
    if (status == DF_OK && p->n_dynamic) status = hand_over(p, frame, out, err);
    return status;
}

/* Sets slots that stay in one place, and records the others in frame->moves. Returns their
 * number. */
static int set_strided_pointers(const df_program *p, df_frame *frame,
                                const struct df_loop_operand *in,
                                const struct df_loop_operand *out)
{
    int n = 0;
    for (int i = 0; i < p->n_arg_patches + p->n_result_patches; i++) {
        const df_patch *patch = &p->patches[i];
        const struct df_loop_operand *m = &(i < p->n_arg_patches ? in : out)[patch->index];
        void **data = &frame->tensors[patch->slot].data;
        if (m->at[0] == m->at[1] && !m->step)
            *data = m->at[0] + patch->offset;
        else
            frame->strided_pointers[n++] = (df_strided_pointer){
                data, {m->at[0] + patch->offset, m->at[1] + patch->offset}, m->step};
    }
    return n;
}

static df_status repeat_body(void *context, const struct df_loop_operand *in,
                             const struct df_loop_operand *out, const bool *keep_going, int64_t *t,
                             int64_t end, df_error *err)
{
    const df_driver *driver = context;
    df_frame *frame = enter(driver, 0);
    df_program *p = body_of(driver, 0);
    const int n = set_strided_pointers(p, frame, in, out);
    df_status status = DF_OK;
    for (; *t < end && *keep_going; ++*t) {
        for (const df_strided_pointer *m = frame->strided_pointers; m < frame->strided_pointers + n;
             m++)
            *m->data = m->at[*t & 1] + *t * m->step;
        status = count_work(driver, p, err);
        if (status == DF_OK) status = df_frame_run(p, frame, err);
        if (status != DF_OK) return status;
    }
    return DF_OK;
}
