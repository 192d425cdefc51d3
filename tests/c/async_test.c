/* Asynchronous operations: threads that read and write memory of a program between two
 * instructions; runs that fail in between; programs without a wait. */
#include "base/host.h"
#include "base/thread.h"
#include "exec/program.h"

#include "ops/control_flow/host.c" /* the ops themselves, which need no kernel */

#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N 1500 /* elements of every tensor: an arena of several is scratch memory */
#define BYTES (N * (int64_t)sizeof(float))

/* --- the host: one thread per start, which slowly doubles its input --- */

typedef struct {
    pthread_t thread;
    int64_t id;
    int n;
    const float *in[2];
    float *out[2];
} job;

enum { BAD_START = -1, BAD_WORK = -2 };

static atomic_int n_jobs;

static void *work(void *context)
{
    job *j = context;
    for (int k = 0; k < j->n; k++)
        for (int i = 0; i < N; i++) {
            j->out[k][i] = 2 * j->in[k][i];
            if (i % 500 == 0) nanosleep(&(struct timespec){0, 20000}, NULL);
        }
    return NULL;
}

static df_status start(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, int64_t *handle, df_error *err)
{
    CHECK(n == n_out && n <= 2);
    if (id == BAD_START) return df_fail(err, DF_OUT_OF_MEMORY, "not started");
    job *j = calloc(1, sizeof *j);
    CHECK(j);
    j->id = id;
    j->n = n;
    for (int k = 0; k < n; k++) {
        j->in[k] = in[k]->data;
        j->out[k] = out[k]->data;
    }
    atomic_fetch_add(&n_jobs, 1);
    *handle = (int64_t)(intptr_t)j;
    CHECK(!pthread_create(&j->thread, NULL, work, j));
    return DF_OK;
}

static int64_t finish(int64_t handle)
{
    job *j = (job *)(intptr_t)handle;
    const int64_t id = j->id;
    pthread_join(j->thread, NULL);
    free(j);
    atomic_fetch_sub(&n_jobs, 1);
    return id;
}

/* After a failure the job is finished by the caller that gets its handle. */
static df_status wait(int64_t handle, df_error *err)
{
    if (((job *)(intptr_t)handle)->id == BAD_WORK)
        return df_fail(err, DF_OUT_OF_MEMORY, "rank 1 is gone");
    finish(handle);
    return DF_OK;
}

static const df_host host = {.start = start, .wait = wait};

/* --- synchronous ops --- */

static df_status add_run(const df_call *call, df_error *err)
{
    (void)err;
    const float *a = call->in[0]->data, *b = call->in[1]->data;
    for (int i = 0; i < N; i++) ((float *)call->out[0]->data)[i] = a[i] + b[i];
    return DF_OK;
}

static const df_op add = {.name = "add", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                          .infer = df_infer_same, .run = add_run};

/* Fails if the first element is negative. */
static df_status guard_run(const df_call *call, df_error *err)
{
    const float *x = call->in[0]->data;
    if (x[0] < 0) return df_fail(err, DF_OUT_OF_RANGE, "got %g", x[0]);
    memcpy(call->out[0]->data, x, (size_t)BYTES);
    return DF_OK;
}

static const df_op guard = {.name = "guard", .kind = DF_GENERAL, .n_in = 1, .n_out = 1,
                            .infer = df_infer_same, .run = guard_run};

static df_status no_infer(const df_call *call, df_error *err)
{
    (void)call;
    (void)err;
    return DF_OK;
}

static df_status grow_run(const df_call *call, df_error *err)
{
    (void)err;
    for (int i = 0; i < N; i++) ((float *)call->in[0]->data)[i] += 1;
    return DF_OK;
}

static const df_op grow = {.name = "grow", .kind = DF_GENERAL, .n_in = 1, .writes = 1,
                           .infer = no_infer, .run = grow_run};

/* --- a program ---
 *
 * For arguments 0 and 1: s = a + b; start with s and a; concurrently t = guard(b) + b; then the
 * results are 2 s, written in place, and 2 a + t. */

enum { A, B, S, TICKET, TWICE_S, TWICE_A, G, T, S_AFTER, A_AFTER, SUM, N_SLOTS };
enum { ARENA_BYTES = 8 * 6016 };

static const int64_t shape[] = {N};

#define START DF_SYM(df_op_host_start)
#define WAIT DF_SYM(df_op_host_wait)
#define PLACE(kind_, at, index_) {.kind = kind_, .dtype = DF_F32, .ndim = 1, .shape = shape,      \
                                  .offset = at, .index = index_}
#define CALL(op_, n_in_, n_out_, ...) \
    {.op = &op_, .n_in = n_in_, .n_out = n_out_, .in = (int[]){__VA_ARGS__}, \
     .out = (int[]){__VA_ARGS__} + n_in_, .workspace = -1}
#define SLOTS                                                                                     \
    {[A] = PLACE(DF_SLOT_ARG, 0, 0), [B] = PLACE(DF_SLOT_ARG, 0, 1),                              \
     [S] = PLACE(DF_SLOT_ARENA, 0, 0), [TICKET] = {.kind = DF_SLOT_ARENA, .dtype = DF_I64,        \
                                                   .shape = shape, .offset = 6016},               \
     [TWICE_S] = PLACE(DF_SLOT_RESULT, 0, 0), [TWICE_A] = PLACE(DF_SLOT_ARENA, 2 * 6016, 0),      \
     [G] = PLACE(DF_SLOT_ARENA, 3 * 6016, 0), [T] = PLACE(DF_SLOT_ARENA, 4 * 6016, 0),            \
     [S_AFTER] = PLACE(DF_SLOT_RESULT, 0, 0), [A_AFTER] = PLACE(DF_SLOT_ARENA, 2 * 6016, 0),      \
     [SUM] = PLACE(DF_SLOT_RESULT, 0, 1)}
#define INSTRUCTIONS                                                                              \
    {CALL(add, 2, 1, A, B, S), CALL(START, 2, 3, S, A, TICKET, TWICE_S, TWICE_A),              \
     CALL(guard, 1, 1, B, G), CALL(add, 2, 1, G, B, T),                                           \
     CALL(WAIT, 5, 2, TICKET, TWICE_S, TWICE_A, S, A, S_AFTER, A_AFTER),                       \
     CALL(add, 2, 1, A_AFTER, T, SUM)}

static df_status make(df_slot *slots, df_instruction *ins, int n, int64_t id, df_program **p,
                      int *failed, df_error *err)
{
    const df_attr starts[] = {{.i = id}, {.list = {(int64_t[]){DF_F32, 1, N, DF_F32, 1, N}, 6}}};
    df_attr waits[6][2];
    for (int i = 0; i < n; i++) {
        waits[i][0] = starts[0];
        waits[i][1].i = ins[i].n_out;
        if (ins[i].op->async_role) ins[i].n_attrs = 2;
        if (ins[i].op->async_role == DF_ASYNC_START) ins[i].attrs = starts;
        if (ins[i].op->async_role == DF_ASYNC_WAIT) ins[i].attrs = waits[i];
    }
    return df_program_new(&(df_program_parts){N_SLOTS, n, 2, 2, slots, ins, ARENA_BYTES, NULL, 0},
                          p, failed, err);
}

static df_program *build(int64_t id)
{
    df_slot slots[] = SLOTS;
    df_instruction ins[] = INSTRUCTIONS;
    df_program *p;
    df_error err;
    int failed;
    CHECK(make(slots, ins, 6, id, &p, &failed, &err) == DF_OK);
    CHECK(df_program_max_outstanding(p) == 1);
    return p;
}

/* A run in separate memory, which is freed when all outstanding operations have completed. */
static df_status run(df_program *p, float b, const atomic_bool *stop, int *n_left, int *failed,
                     df_error *err)
{
    float *memory[4];
    int64_t handle;
    df_outstanding outstanding = {&handle, 0};
    for (int k = 0; k < 4; k++) CHECK(memory[k] = calloc(N, sizeof(float)));
    for (int i = 0; i < N; i++) {
        memory[0][i] = (float)i;
        memory[1][i] = b;
    }
    df_frame *frame = df_program_enter(p);
    CHECK(frame);
    const df_status status = df_program_run(
        p, frame,
        &(df_run){.args = (void *[]){memory[0], memory[1]}, .stop = stop,
                  .results = (void *[]){memory[2], memory[3]},
                  .outstanding = n_left ? &outstanding : NULL},
        failed, err);
    if (outstanding.n) finish(handle);
    df_program_leave(p, frame);
    if (n_left) *n_left = outstanding.n;
    for (int i = 0; i < N && status == DF_OK; i++)
        CHECK(memory[2][i] == 2 * ((float)i + b) && memory[3][i] == 2 * (float)i + 2 * b);
    for (int k = 0; k < 4; k++) free(memory[k]);
    return status;
}

/* --- tests --- */

static void test_no_host(void)
{
    df_program *p = build(1);
    df_error err;
    int n_left, failed;
    CHECK(run(p, 1, NULL, &n_left, &failed, &err) == DF_UNIMPLEMENTED && failed == 1 && !n_left);
    CHECK(strstr(err.text, "no host with asynchronous calls is set"));
    CHECK(df_host_wait(1, &err) == DF_UNIMPLEMENTED);
    df_program_free(p);
}

static void test_nobody_asks_what_is_left(void)
{
    df_program *p = build(1);
    df_error err;
    int failed;
    CHECK(run(p, 1, NULL, NULL, &failed, &err) == DF_INVALID_ARGUMENT && failed == -1);
    df_program_free(p);
}

static void *run_many(void *p)
{
    df_error err;
    int n_left, failed;
    for (int i = 0; i < 30; i++) {
        CHECK(run(p, (float)i, NULL, &n_left, &failed, &err) == DF_OK && !n_left);
        CHECK(run(p, -1, NULL, &n_left, &failed, &err) == DF_OUT_OF_RANGE && failed == 2);
        CHECK(n_left == 1 && !strcmp(err.text, "got -1"));
    }
    return NULL;
}

/* Concurrent runs of one program, some of which fail between start and wait. */
static void test_threads(void)
{
    df_program *p = build(1);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, run_many, p));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    df_program_free(p);
}

static void test_failures(void)
{
    const struct {
        int64_t id;
        float b;
        bool stop;
        df_status status;
        const char *text;
        int failed, n_left;
    } cases[] = {{1, 0, false, DF_OK, "", -1, 0},
                 {BAD_START, 0, false, DF_OUT_OF_MEMORY, "not started", 1, 0},
                 {BAD_WORK, 0, false, DF_OUT_OF_MEMORY, "rank 1 is gone", 4, 1},
                 {BAD_WORK, -1, false, DF_OUT_OF_RANGE, "got -1", 2, 1},
                 {1, 0, true, DF_CANCELLED, "stopped before", 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        df_program *p = build(cases[k].id);
        const atomic_bool stop = cases[k].stop;
        df_error err = {.text = ""};
        int n_left, failed;
        for (int turn = 0; turn < 3; turn++) {
            CHECK(run(p, cases[k].b, &stop, &n_left, &failed, &err) == cases[k].status);
            CHECK(failed == cases[k].failed && n_left == cases[k].n_left);
            CHECK(strstr(err.text, cases[k].text));
        }
        df_program_free(p);
    }
}

static int n_polls;

static bool stop_at_second(void *context)
{
    (void)context;
    return ++n_polls == 2;
}

/* Stops before the wait, like Ctrl-C; two polls are at least 50 ms apart. */
static void test_stopped_between(void)
{
    df_slot slots[] = SLOTS;
    df_instruction ins[] = INSTRUCTIONS;
    df_program *p;
    df_error err;
    df_outstanding outstanding = {&(int64_t){0}, 0};
    static float memory[4][N];
    int failed;
    ins[0].poll = ins[4].poll = true;
    CHECK(make(slots, ins, 6, 1, &p, &failed, &err) == DF_OK);
    const df_run r = {.args = (void *[]){memory[0], memory[1]},
                      .results = (void *[]){memory[2], memory[3]}, .poll = stop_at_second,
                      .outstanding = &outstanding};
    while (n_polls < 2) {
        df_frame *frame = df_program_enter(p);
        const df_status status = df_program_run(p, frame, &r, &failed, &err);
        CHECK(status == (n_polls == 2 ? DF_CANCELLED : DF_OK));
        if (outstanding.n) finish(outstanding.handles[0]);
        CHECK(n_polls < 2 || (failed == 0 && !outstanding.n) ||
              (failed == 4 && outstanding.n == 1));
        df_program_leave(p, frame);
    }
    df_program_free(p);
}

static void refuse(df_slot *slots, df_instruction *ins, int n, int want, const char *text)
{
    df_program *p;
    df_error err;
    int failed;
    CHECK(make(slots, ins, n, 1, &p, &failed, &err) == DF_INVALID_ARGUMENT);
    CHECK(!p && failed == want && strstr(err.text, text));
}

static void test_refusals(void)
{
    const df_instruction good[] = INSTRUCTIONS;
    const df_slot places[] = SLOTS;
    const df_instruction others[] = {
        CALL(WAIT, 5, 2, TICKET, TWICE_A, TWICE_S, S, A, A_AFTER, S_AFTER),
        CALL(WAIT, 5, 2, TICKET, TWICE_S, TWICE_A, A, S, S_AFTER, A_AFTER),
        CALL(WAIT, 3, 1, TICKET, TWICE_S, S, S_AFTER),
        CALL(grow, 1, 0, A),
        CALL(START, 2, 3, S, A, TICKET, TWICE_S, TWICE_A)};
    df_slot slots[N_SLOTS];
    df_instruction ins[7];
    memcpy(slots, places, sizeof slots);
    memcpy(ins, good, sizeof good);
    for (int k = 0; k < 3; k++) { /* does not match the start */
        ins[4] = others[k];
        refuse(slots, ins, 6, 4, "does not match an outstanding start instruction");
    }
    ins[4] = good[4];
    ins[2] = others[3]; /* writes argument 0, which the operation reads */
    ins[2].out = ins[2].in;
    refuse(slots, ins, 6, 2, "writes an argument that an outstanding asynchronous operation reads");
    ins[2] = others[4]; /* the same handle again */
    refuse(slots, ins, 6, 2, "must be static and return an unused handle");
    memcpy(ins, good, sizeof good);
    ins[5] = good[4]; /* a second wait */
    refuse(slots, ins, 6, 5, "does not match an outstanding start instruction");
    memcpy(ins, good, sizeof good);
    refuse(slots, ins, 4, 1, "has no matching wait instruction");
    slots[G].offset = slots[S].offset; /* over an input of the operation */
    refuse(slots, ins, 6, 4, "whose memory has been overwritten since");
    slots[G].offset = slots[TWICE_A].offset; /* over an output of the operation */
    refuse(slots, ins, 6, 4, "whose memory has been overwritten since");
    slots[G].offset = slots[TICKET].offset - slots[TICKET].offset % 64; /* over the handle */
    refuse(slots, ins, 6, 4, "whose memory has been overwritten since");
    slots[G] = places[G];
    ins[1].dynamic = true;
    refuse(slots, ins, 6, 1, "must be static and return an unused handle");
}

int main(void)
{
    df_error err;
    CHECK(df_set_num_threads(4, &err) == DF_OK);
    test_no_host();
    test_refusals();
    df_set_host(&host);
    test_nobody_asks_what_is_left();
    test_failures();
    test_stopped_between();
    test_threads();
    CHECK(n_jobs == 0);
    df_set_host(NULL);
    df_memory_trim();
    return 0;
}
