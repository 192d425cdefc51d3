/* Asynchronous instructions. Matches each `host_start` with the `host_wait` that completes it and
 * lists the operations still outstanding when a run fails in between. The wait takes every buffer
 * that the operation reads or writes as an operand, so the checks of operands in
 * check_initialized.c and overlap.c cover the time between the two. */
#include "exec/internal.h"

#include <stdlib.h>
#include <string.h>

int df_program_max_outstanding(const df_program *p) { return p->max_outstanding; }

/* True if the inputs of `w` are all outputs of `s` (the handle first), then all inputs of `s`. */
static bool waits_for(const df_exec_instruction *w, const df_exec_instruction *s)
{
    return w->op->async_role == DF_ASYNC_WAIT && !w->dynamic && w->n_out == s->n_out - 1 &&
           w->n_in == s->n_out + s->n_in &&
           !memcmp(w->in, s->out, (size_t)s->n_out * sizeof *w->in) &&
           (!s->n_in || !memcmp(w->in + s->n_out, s->in, (size_t)s->n_in * sizeof *w->in));
}

static df_status fail(const df_program *p, int i, const char *what, int *failed, df_error *err)
{
    *failed = i;
    return df_fail(err, DF_INVALID_ARGUMENT, "program: instruction %d, %s, %s", i,
                   p->instructions[i].op->name, what);
}

/* State while scanning the instructions. */
typedef struct {
    int *pair;  /* by slot of a handle: the outstanding operation, or -1 */
    int *users; /* by argument: number of outstanding operations that read or write it */
} state;

static void use(const df_program *p, const df_exec_instruction *s, int by, state *now)
{
    for (int k = 0; k < s->n_in + s->n_out; k++) {
        const df_slot *slot = &p->slots[k < s->n_in ? s->in[k] : s->out[k - s->n_in]];
        if (slot->kind == DF_SLOT_ARG) now->users[slot->index] += by;
    }
}

/* Variables are arguments, which check_initialized.c does not check. */
static bool writes_in_use(const df_program *p, const df_exec_instruction *s, const state *now)
{
    for (int k = 0; k < s->n_in + s->n_out; k++) {
        const df_slot *slot = &p->slots[k < s->n_in ? s->in[k] : s->out[k - s->n_in]];
        if (slot->kind == DF_SLOT_ARG && now->users[slot->index] &&
            (k >= s->n_in || df_exec_writes_input(p, s, k)))
            return true;
    }
    return false;
}

static df_status step(df_program *p, int i, state *now, int *failed, df_error *err)
{
    const df_exec_instruction *s = &p->instructions[i];
    if (s->op->async_role == DF_ASYNC_WAIT) {
        const int pair = now->pair[s->in[0]];
        if (pair < 0 || !waits_for(s, &p->instructions[p->pairs[pair].start]))
            return fail(p, i, "does not match an outstanding start instruction", failed, err);
        p->pairs[pair].wait = i;
        now->pair[s->in[0]] = -1;
        use(p, &p->instructions[p->pairs[pair].start], -1, now);
        return DF_OK;
    }
    if (writes_in_use(p, s, now))
        return fail(p, i, "writes an argument that an outstanding asynchronous operation reads "
                    "or writes", failed, err);
    if (s->op->async_role != DF_ASYNC_START) return DF_OK;
    if (s->dynamic || s->n_out < 1 || now->pair[s->out[0]] >= 0)
        return fail(p, i, "must be static and return an unused handle", failed, err);
    now->pair[s->out[0]] = p->n_pairs;
    p->pairs[p->n_pairs++] = (df_async_pair){i, p->n_instructions};
    use(p, s, 1, now);
    return DF_OK;
}

df_status df_program_match_async(df_program *p, int *failed, df_error *err)
{
    int n = 0;
    df_status status = DF_OK;
    for (int i = 0; i < p->n_bodies; i++)
        p->max_outstanding += p->bodies[i].program->max_outstanding;
    for (int i = 0; i < p->n_instructions; i++)
        n += p->instructions[i].op->async_role != DF_NOT_ASYNC;
    if (!n) return DF_OK;
    state now = {malloc(((size_t)p->n_slots + 1) * sizeof *now.pair),
                 calloc((size_t)p->n_args + 1, sizeof *now.users)};
    p->pairs = calloc((size_t)n, sizeof *p->pairs);
    if (!now.pair || !now.users || !p->pairs)
        status = df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    for (int k = 0; k < p->n_slots && status == DF_OK; k++) now.pair[k] = -1;
    for (int i = 0; i < p->n_instructions && status == DF_OK; i++)
        status = step(p, i, &now, failed, err);
    for (int k = 0; k < p->n_pairs && status == DF_OK; k++)
        if (p->pairs[k].wait == p->n_instructions)
            status = fail(p, p->pairs[k].start, "has no matching wait instruction", failed, err);
    p->max_outstanding += p->n_pairs;
    free(now.pair);
    free(now.users);
    return status;
}

void df_frame_collect_outstanding(const df_program *p, df_frame *frame, int failed)
{
    df_outstanding *outstanding = frame->run_state->run->outstanding;
    for (int k = 0; k < p->n_pairs && p->pairs[k].start < failed; k++) {
        const int handle = p->instructions[p->pairs[k].start].out[0];
        if (p->pairs[k].wait >= failed)
            outstanding->handles[outstanding->n++] = *(const int64_t *)frame->tensors[handle].data;
    }
}
