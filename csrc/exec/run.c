/* Executes a frame: sets the data pointers of arguments and results, then calls the instructions in
 * order. This is the code between two kernels: df_frame_run is also the loop of each body run. */
#include "exec/internal.h"

#include "base/thread.h"

#include <stdlib.h>
#include <time.h>

#define POLL_NS 50000000     /* minimum between two calls of the caller's `poll` */
#define WAVE_NS 3000.0       /* cost of waking and joining the threads for a wave */

typedef struct {
    df_program *p;
    df_frame *frame;
    const df_run *run;
    int first; /* instruction of the wave */
    /* next program points: allocate a result, release an argument */
    const df_live_point *begin, *end;
    atomic_flag lock; /* protects `failed` and `err` in a wave */
    int failed;
    df_error *err;
} execution;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline df_status run_ready(const df_exec_instruction *s, const df_call *call, df_error *err)
{
    const void *in[DF_TILE_MAX_IN] = {NULL};
    if (!s->tile) return s->run(call, err);
    for (int k = 0; k < s->n_in; k++) in[k] = call->in[k]->data;
    s->tile(s->size, call->out[0]->data, in, s->attrs);
    return DF_OK;
}

static df_status run_instruction(const execution *x, int i, df_error *err)
{
    const df_exec_instruction *s = &x->p->instructions[i];
    const df_call *call = &x->frame->calls[i];
    const df_profile *profile = x->run->profile;
    const int at = x->frame->first + i;
    int64_t start = profile ? now_ns() : 0;
    df_status status = run_ready(s, call, err);
    if (profile && profile->ns) profile->ns[at] += now_ns() - start;
    if (profile && profile->start && !profile->start[at]) profile->start[at] = start;
    if (DF_BUILT_CHECKS && status == DF_OK && x->run->check_numerics)
        status = df_op_check_numerics(call, err);
    return status;
}

static void free_dynamic(const execution *x, int i)
{
    const df_exec_instruction *s = &x->p->instructions[i];
    for (int k = 0; k < s->n_frees; k++) df_frame_park(x->p, x->frame, s->frees[k]);
}

/* Runs instructions [begin, end) of a wave. All of them run even if one fails, so the lowest
 * failing index is deterministic. */
static void run_of_wave(void *context, int64_t begin, int64_t end)
{
    execution *x = context;
    df_error err;
    for (int i = x->first + (int)begin; i < x->first + (int)end; i++) {
        if (run_instruction(x, i, &err) == DF_OK) continue;
        while (atomic_flag_test_and_set_explicit(&x->lock, memory_order_acquire)) {}
        if (x->failed < 0 || i < x->failed) {
            x->failed = i;
            *x->err = err;
        }
        atomic_flag_clear_explicit(&x->lock, memory_order_release);
    }
}

/* True if n instructions, which use one thread each, finish sooner in parallel than one after
 * another. */
static bool worthwhile(const df_exec_instruction *s, int n)
{
    double threads = df_num_threads(), total = 0, largest = 0;
    if (threads < 2) return false;
    for (int i = 0; i < n; i++) {
        total += s[i].cost;
        if (s[i].cost > largest) largest = s[i].cost;
    }
    double even = total / threads;
    return (largest > even ? largest : even) + WAVE_NS < total;
}

static df_status run_wave(execution *x, int first, int n)
{
    const df_exec_instruction *s = &x->p->instructions[first];
    double cost = 0;
    if (!worthwhile(s, n)) {
        for (int i = first; i < first + n; i++) {
            df_status status = run_instruction(x, i, x->err);
            if (status == DF_OK) continue;
            x->failed = i;
            return status;
        }
        return DF_OK;
    }
    for (int i = 0; i < n; i++) cost += s[i].cost;
    x->first = first;
    df_parallel_for(n, 1, cost / n, run_of_wave, x);
    return x->failed < 0 ? DF_OK : x->err->status;
}

bool df_run_should_stop(df_run_state *run_state)
{
    if (!run_state->run->poll) return false;
    int64_t now = now_ns();
    if (now < run_state->next_poll) return false;
    run_state->next_poll = now + POLL_NS;
    return run_state->run->poll(run_state->run->context);
}

static df_status stop_before(execution *x, int i)
{
    x->failed = i;
    return df_fail(x->err, DF_CANCELLED, "stopped before %s", x->p->instructions[i].op->name);
}

/* Allocates the results whose first writer is an instruction before `until`. */
static df_status take_donated(execution *x, int until)
{
    const df_program *p = x->p;
    const df_patch *patches = p->patches + p->n_arg_patches;
    for (; x->begin < p->begins + p->n_begins && x->begin->instruction < until; x->begin++) {
        df_buffer *made = df_buffer_new(x->begin->bytes);
        if (!made)
            return df_fail(x->err, DF_OUT_OF_MEMORY, "program: no memory for a result of %lld "
                           "bytes", (long long)x->begin->bytes);
        x->run->donation->results[x->begin->index] = made;
        for (int k = 0; k < p->n_result_patches; k++)
            if (patches[k].index == x->begin->index)
                x->frame->tensors[patches[k].slot].data = (char *)made->data + patches[k].offset;
    }
    return DF_OK;
}

/* Releases the arguments that no instruction from `from` on reads. */
static void return_donated(execution *x, int from)
{
    const df_program *p = x->p;
    for (; x->end < p->ends + p->n_ends && x->end->instruction < from; x->end++) {
        df_buffer_release(x->run->donation->args[x->end->index]);
        x->run->donation->args[x->end->index] = NULL;
    }
}

/* Runs instruction `first` and the rest of its wave; sets `n` to their number. */
static df_status run_group(execution *x, int first, int *n)
{
    const df_exec_instruction *s = &x->p->instructions[first];
    bool poll = false;
    df_status status;
    *n = s->n_wave;
    for (int i = 0; i < *n; i++) poll |= s[i].poll;
    if (poll && df_run_should_stop(x->frame->run_state)) return stop_before(x, first);
    if (x->begin && (status = take_donated(x, first + *n)) != DF_OK) {
        x->failed = first;
        return status;
    }
    if (*n > 1) {
        status = run_wave(x, first, *n);
    } else {
        status = run_instruction(x, first, x->err);
        if (status != DF_OK) x->failed = first;
    }
    for (int i = 0; i < *n; i++) free_dynamic(x, first + i);
    if (x->end) return_donated(x, first + *n);
    return status;
}

static void patch(const df_program *p, df_frame *frame, const df_run *run)
{
    const df_patch *at = p->patches, *end = at + p->n_arg_patches;
    for (; at < end; at++)
        frame->tensors[at->slot].data = (char *)run->args[at->index] + at->offset;
    for (end += p->n_result_patches; at < end; at++)
        if (run->results[at->index]) /* NULL: allocated by take_donated */
            frame->tensors[at->slot].data = (char *)run->results[at->index] + at->offset;
}

/* Runs a program of simple instructions. */
static df_status run_plain(const df_program *p, df_frame *frame, df_error *err)
{
    const df_exec_instruction *s = p->instructions, *end = s + p->n_instructions;
    const df_call *call = frame->calls;
    for (; s < end; s++, call++) {
        df_status status = run_ready(s, call, err);
        if (status == DF_OK) continue;
        if (frame->run_state->failed < 0) /* not set by a body */
            frame->run_state->failed = frame->first + (int)(s - p->instructions);
        df_frame_collect_outstanding(p, frame, (int)(s - p->instructions));
        return status;
    }
    return DF_OK;
}

df_status df_frame_run(df_program *p, df_frame *frame, df_error *err)
{
    df_run_state *run_state = frame->run_state;
    execution x = {.p = p, .frame = frame, .run = run_state->run, .lock = ATOMIC_FLAG_INIT,
                   .failed = -1, .err = err};
    const bool watched = x.run->profile || x.run->check_numerics;
    if (x.run->donation) {
        x.begin = p->begins;
        x.end = p->ends;
    }
    df_status status = DF_OK;
    if (p->plain && !watched && !x.run->stop) return run_plain(p, frame, err);
    for (int i = 0, n = 1; i < p->n_instructions && status == DF_OK; i += n) {
        const df_exec_instruction *s = &p->instructions[i];
        n = 1;
        if (df_run_is_stopped(x.run)) {
            status = stop_before(&x, i);
        } else if (!s->simple || watched) {
            status = run_group(&x, i, &n);
        } else {
            status = run_ready(s, &frame->calls[i], err);
            if (status != DF_OK) x.failed = i;
            else if (s->n_frees) free_dynamic(&x, i);
        }
    }
    if (status == DF_OK) return DF_OK;
    if (run_state->failed < 0) run_state->failed = frame->first + x.failed; /* not set by a body */
    df_frame_collect_outstanding(p, frame, x.failed);
    if (p->n_resolved && !df_frame_is_outstanding(frame)) df_frame_drop_dynamic(p, frame);
    return status;
}

df_status df_program_run(df_program *p, df_frame *frame, const df_run *run, int *failed,
                         df_error *err)
{
    df_run_state run_state = {.run = run, .failed = -1, .next_poll = frame->next_poll};
    if (p->max_outstanding && !run->outstanding) {
        *failed = -1;
        return df_fail(err, DF_INVALID_ARGUMENT, "program: it starts asynchronous operations, but "
                       "df_run.left is NULL");
    }
    frame->run_state = &run_state;
    patch(p, frame, run);
    df_status status = df_frame_run(p, frame, err);
    *failed = run_state.failed;
    frame->outstanding = run->outstanding && run->outstanding->n;
    frame->next_poll = run_state.next_poll; /* many short runs poll as rarely as one long run */
    return status;
}
