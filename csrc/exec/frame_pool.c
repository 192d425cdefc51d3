/* Frames: the state of one run. A program keeps up to DF_SPARE_FRAMES unused frames, each in a cell
 * that is emptied and filled by one atomic exchange. A lock would not do: after a fork it could be
 * held by a thread that no longer exists. Spare frames are small: an arena larger than DF_OWN_ARENA
 * is scratch memory that a run borrows, so a hundred programs do not hold a hundred arenas. */
#include "exec/internal.h"

#include <stdlib.h>
#include <string.h>

static bool describe_all(const df_program *p, df_frame *frame)
{
    df_error err;
    for (int i = 0; i < p->n_slots; i++) {
        const df_slot *s = &p->slots[i];
        df_tensor *t = &frame->tensors[i];
        if (df_frame_describe(p, frame, i, &err) != DF_OK) return false;
        if (s->kind == DF_SLOT_CONSTANT) t->data = (void *)(intptr_t)s->data; /* never written */
    }
    return true;
}

static void make_calls(const df_program *p, df_frame *frame)
{
    df_tensor **at = frame->operands;
    for (int i = 0; i < p->n_operands; i++) at[i] = &frame->tensors[p->operands[i]];
    for (int i = 0; i < p->n_instructions; i++) {
        const df_exec_instruction *s = &p->instructions[i];
        df_call *c = &frame->calls[i];
        *c = (df_call){.op = s->op, .n_in = s->n_in, .n_out = s->n_out,
                       .in = (const df_tensor *const *)at, .out = at + s->n_in, .attrs = s->attrs,
                       .prepared = s->resolved < 0 ? s->prepared : &frame->resolved[s->resolved],
                       .bodies = s->n_bodies ? &frame->drivers[i].bodies : NULL};
        at += s->n_in + s->n_out;
    }
}

/* Creates the frames of the bodies of all instructions. */
static bool make_inner(const df_program *p, df_frame *frame)
{
    if (!p->n_bodies) return true;
    frame->inner = calloc((size_t)p->n_bodies, sizeof *frame->inner);
    if (!frame->inner) return false;
    for (int i = 0; i < p->n_bodies; i++) {
        const df_program *body = p->bodies[i].program;
        const size_t n = (size_t)body->n_arg_patches + (size_t)body->n_result_patches;
        if (!(frame->inner[i] = df_frame_new(body))) return false;
        if (!(frame->inner[i]->strided_pointers = calloc(n + 1, sizeof(df_strided_pointer))))
            return false;
    }
    return true;
}

df_frame *df_frame_new(const df_program *p)
{
    df_frame *frame = calloc(1, sizeof *frame);
    if (!frame) return NULL;
    frame->tensors = malloc(((size_t)p->n_slots + 1) * sizeof *frame->tensors);
    frame->calls = calloc((size_t)p->n_instructions + 1, sizeof *frame->calls);
    frame->operands = calloc((size_t)p->n_operands + 1, sizeof *frame->operands);
    if (frame->tensors)
        for (int i = 0; i < p->n_slots; i++) df_tensor_init(&frame->tensors[i]);
    frame->program = p;
    if (!frame->tensors || !frame->calls || !frame->operands || !describe_all(p, frame) ||
        !make_inner(p, frame) || !df_frame_make_drivers(p, frame) ||
        !df_frame_make_resolved(p, frame)) {
        df_frame_free(p, frame);
        return NULL;
    }
    make_calls(p, frame);
    return frame;
}

void df_frame_free(const df_program *p, df_frame *frame)
{
    if (frame->tensors)
        for (int i = 0; i < p->n_slots; i++) df_tensor_clear(&frame->tensors[i]);
    for (int i = 0; frame->inner && i < p->n_bodies; i++)
        if (frame->inner[i]) df_frame_free(p->bodies[i].program, frame->inner[i]);
    df_frame_free_resolved(p, frame);
    df_buffer_release(frame->arena);
    free(frame->inner);
    free(frame->drivers);
    free(frame->strided_pointers);
    free(frame->tensors);
    free(frame->calls);
    free(frame->operands);
    free(frame);
}

static bool borrows(const df_program *p) { return p->arena_bytes > DF_OWN_ARENA; }

static df_frame *spare_frame(df_program *p)
{
    for (int i = 0; i < DF_SPARE_FRAMES; i++) {
        if (!atomic_load_explicit(&p->spare[i], memory_order_relaxed)) continue;
        df_frame *frame = atomic_exchange_explicit(&p->spare[i], NULL, memory_order_acquire);
        if (frame) return frame;
    }
    return df_frame_new(p);
}

df_frame *df_program_enter(df_program *p)
{
    df_frame *frame = spare_frame(p);
    if (!frame || frame->arena) return frame;
    frame->arena = borrows(p) ? df_scratch_take(p->arena_bytes) : df_buffer_new(p->arena_bytes);
    if (!frame->arena) {
        df_frame_free(p, frame);
        return NULL;
    }
    df_frame_point(p, frame, frame->arena->data);
    return frame;
}

/* Releases the buffers that the run allocated: an unused frame holds no buffer but its arena. */
static void clear(const df_program *p, df_frame *frame)
{
    df_frame_drop_dynamic(p, frame);
    for (int i = 0; i < p->n_bodies; i++) {
        frame->inner[i]->outstanding |= frame->outstanding;
        clear(p->bodies[i].program, frame->inner[i]);
    }
    frame->outstanding = false;
}

void df_program_leave(df_program *p, df_frame *frame)
{
    if (frame->outstanding || p->resolves_inside) clear(p, frame);
    if (borrows(p)) {
        df_scratch_give(frame->arena);
        frame->arena = NULL;
    }
    for (int i = 0; i < DF_SPARE_FRAMES; i++) {
        df_frame *none = NULL;
        if (atomic_load_explicit(&p->spare[i], memory_order_relaxed)) continue;
        if (atomic_compare_exchange_strong_explicit(&p->spare[i], &none, frame,
                                                    memory_order_release, memory_order_relaxed))
            return;
    }
    df_frame_free(p, frame);
}
