/* The tensors and calls of a frame: their descriptions, their addresses in an arena, and the memory
 * of slots whose shape depends on data. The parts of a run (resolved.c, run.c, bodies.c) call these
 * functions; frame_pool.c creates frames. */
#include "exec/internal.h"

df_status df_frame_describe(const df_program *p, df_frame *frame, int slot, df_error *err)
{
    const df_slot *s = &p->slots[slot];
    return df_tensor_set(&frame->tensors[slot], s->dtype, s->ndim, s->shape, "program", err);
}

df_tensor *df_frame_tensor(df_frame *frame, int slot) { return &frame->tensors[slot]; }

int64_t df_program_workspace(const df_program *p, const df_exec_instruction *s, const df_call *call)
{
    int64_t own = df_op_workspace(call), inside = 0;
    for (int b = 0; b < s->n_bodies; b++)
        inside = df_max(inside, p->bodies[s->first_body + b].program->arena_bytes);
    if (own < 0 || !s->n_bodies) return own;
    if (!df_add_size(own, -own & (DF_ALIGNMENT - 1), &own) || !df_add_size(own, inside, &own))
        return -1;
    return own;
}

void df_frame_point(const df_program *p, df_frame *frame, char *base)
{
    if (frame->base == base) return;
    frame->base = base;
    for (int i = 0; i < p->n_slots; i++)
        if (p->slots[i].kind == DF_SLOT_ARENA)
            frame->tensors[i].data = frame->base + p->slots[i].offset;
    for (int i = 0; i < p->n_instructions; i++)
        if (p->instructions[i].workspace >= 0) {
            frame->calls[i].workspace = frame->base + p->instructions[i].workspace;
            df_frame_point_bodies(p, frame, &p->instructions[i], &frame->calls[i]);
        }
}

void df_frame_point_bodies(const df_program *p, df_frame *frame, const df_exec_instruction *s,
                           const df_call *call)
{
    int64_t own = s->n_bodies ? df_op_workspace(call) : 0;
    for (int b = 0; b < s->n_bodies; b++) {
        const int i = s->first_body + b;
        df_frame_point(p->bodies[i].program, frame->inner[i],
                       (char *)call->workspace + own + (-own & (DF_ALIGNMENT - 1)));
    }
}

void df_frame_park(const df_program *p, df_frame *frame, int slot)
{
    df_tensor *t = &frame->tensors[slot];
    const df_resolved *r = &frame->resolved[p->instructions[p->maker[slot]].resolved];
    if (!t->buffer) t->data = NULL;
    else if (r->viewed || t->buffer->bytes > DF_PARKED_BYTES) df_tensor_drop(t);
}

void df_frame_drop_dynamic(const df_program *p, df_frame *frame)
{
    for (int i = 0; i < p->n_dynamic; i++) df_tensor_drop(&frame->tensors[p->dynamic[i]]);
    for (int k = 0; k < p->n_resolved; k++) {
        df_buffer_release(frame->resolved[k].workspace);
        frame->resolved[k].workspace = NULL;
    }
}
