/* Programs, with test ops: concurrent runs, waves, failures, dynamic slots, cancellation. */
#include "base/host.h"
#include "exec/program.h"
#include "base/thread.h"

#include "check.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define N 6 /* elements of every static tensor */

/* --- ops --- */

static df_status add_run(const df_call *call, df_error *err)
{
    (void)err;
    const float *a = call->in[0]->data, *b = call->in[1]->data;
    float *out = call->out[0]->data;
    for (int64_t i = 0; i < call->out[0]->size; i++) out[i] = a[i] + b[i];
    return DF_OK;
}

static atomic_int n_prepared;

static df_status count_prepare(const df_call *call, void **prepared, df_error *err)
{
    (void)call;
    (void)err;
    atomic_fetch_add(&n_prepared, 1);
    *prepared = &n_prepared;
    return DF_OK;
}

static void count_release(void *prepared)
{
    CHECK(prepared == &n_prepared);
    atomic_fetch_sub(&n_prepared, 1);
}

static const df_op add = {.name = "add", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                          .infer = df_infer_same, .run = add_run, .prepare = count_prepare,
                          .release = count_release};

/* out = x + sum of the attribute, computed in workspace */
static int64_t shift_workspace(const df_call *call) { return df_tensor_bytes(call->in[0]); }

static df_status shift_run(const df_call *call, df_error *err)
{
    (void)err;
    const float *x = call->in[0]->data;
    float *out = call->out[0]->data, *kept = call->workspace;
    for (int64_t i = 0; i < call->out[0]->size; i++) kept[i] = x[i];
    for (int64_t i = 0; i < call->out[0]->size; i++) {
        out[i] = kept[i];
        for (int64_t k = 0; k < call->attrs[0].list.n; k++)
            out[i] += (float)call->attrs[0].list.v[k];
    }
    return DF_OK;
}

static const df_op shift = {.name = "shift", .kind = DF_GENERAL, .n_in = 1, .n_out = 1,
                            .n_attrs = 1, .attrs = {{"by", DF_ATTR_INTS}}, .infer = df_infer_same,
                            .workspace = shift_workspace, .run = shift_run};

/* fails if the first element is negative */
static df_status guard_run(const df_call *call, df_error *err)
{
    const float *x = call->in[0]->data;
    if (x[0] < 0)
        return df_fail(err, DF_OUT_OF_RANGE, "guard %lld: got %g", (long long)call->attrs[0].i,
                       x[0]);
    memcpy(call->out[0]->data, x, (size_t)df_tensor_bytes(call->in[0]));
    return DF_OK;
}

static const df_op guard = {.name = "guard", .kind = DF_GENERAL, .n_in = 1, .n_out = 1,
                            .n_attrs = 1, .attrs = {{"id", DF_ATTR_INT}}, .infer = df_infer_same,
                            .run = guard_run};

/* the positive elements of x */
static df_status positive_infer(const df_call *call, df_error *err)
{
    return df_tensor_set(call->out[0], DF_F32, 1, (int64_t[]){DF_UNKNOWN}, "positive", err);
}

static df_status positive_run(const df_call *call, df_error *err)
{
    const float *x = call->in[0]->data;
    int64_t n = 0;
    for (int64_t i = 0; i < call->in[0]->size; i++) n += x[i] > 0;
    df_status status = df_tensor_set(call->out[0], DF_F32, 1, &n, "positive", err);
    if (status == DF_OK) status = df_tensor_alloc(call->out[0], "positive", err);
    if (status != DF_OK) return status;
    n = 0;
    for (int64_t i = 0; i < call->in[0]->size; i++)
        if (x[i] > 0) ((float *)call->out[0]->data)[n++] = x[i];
    return DF_OK;
}

static const df_op positive = {.name = "positive", .kind = DF_GENERAL, .n_in = 1, .n_out = 1,
                               .data_dependent_shape = true,
                               .infer = positive_infer, .run = positive_run};

static int64_t at_start(const df_call *call)
{
    (void)call;
    return 0;
}

static const df_op alias = {.name = "alias", .kind = DF_VIEW, .n_in = 1, .n_out = 1,
                            .infer = df_infer_same, .view = at_start, .run = positive_run};

static df_status total_infer(const df_call *call, df_error *err)
{
    return df_tensor_set(call->out[0], DF_F32, 0, NULL, "total", err);
}

static df_status total_run(const df_call *call, df_error *err)
{
    (void)err;
    float sum = 0;
    for (int64_t i = 0; i < call->in[0]->size; i++) sum += ((float *)call->in[0]->data)[i];
    *(float *)call->out[0]->data = sum;
    return DF_OK;
}

static const df_op total = {.name = "total", .kind = DF_GENERAL, .n_in = 1, .n_out = 1,
                            .infer = total_infer, .run = total_run};

static df_status no_infer(const df_call *call, df_error *err)
{
    (void)call;
    (void)err;
    return DF_OK;
}

static df_status accumulate_run(const df_call *call, df_error *err)
{
    (void)err;
    for (int64_t i = 0; i < call->in[0]->size; i++)
        ((float *)call->in[0]->data)[i] += ((float *)call->in[1]->data)[i];
    return DF_OK;
}

static const df_op accumulate = {.name = "accumulate", .kind = DF_GENERAL, .n_in = 2, .writes = 1,
                                 .infer = no_infer, .run = accumulate_run};

static df_status tell_run(const df_call *call, df_error *err)
{
    return df_host_call(call->attrs[0].i, call->n_in, call->in, call->n_out, call->out, err);
}

static const df_op tell = {.name = "tell", .kind = DF_GENERAL, .n_in = DF_VARIADIC, .n_attrs = 1,
                           .attrs = {{"id", DF_ATTR_INT}}, .effect = true, .infer = no_infer,
                           .run = tell_run};

/* --- building --- */

static const int64_t shape[] = {2, 3}, unknown[] = {DF_UNKNOWN};

#define STATIC(kind_, offset_, index_)                                                            \
    {.kind = kind_, .dtype = DF_F32, .ndim = 2, .shape = shape, .offset = offset_, .index = index_}
#define DYNAMIC(last) {.kind = DF_SLOT_DYNAMIC, .dtype = DF_F32, .ndim = 1, .shape = unknown, \
                       .last_use = last}
#define CALL(op_, n_in_, n_out_, ...) \
    {.op = &op_, .n_in = n_in_, .n_out = n_out_, .in = (int[]){__VA_ARGS__}, \
     .out = (int[]){__VA_ARGS__} + n_in_, .workspace = -1}

static df_program *build(const df_program_parts *parts)
{
    df_program *p;
    df_error err;
    int failed;
    if (df_program_new(parts, &p, &failed, &err) != DF_OK) {
        fprintf(stderr, "instruction %d: %s\n", failed, err.text);
        CHECK(false);
    }
    return p;
}

static df_status run(df_program *p, void **args, void **results, int *failed, df_error *err)
{
    df_frame *frame = df_program_enter(p);
    CHECK(frame);
    df_status status = df_program_run(p, frame, &(df_run){.args = args, .results = results},
                                      failed, err);
    df_program_leave(p, frame);
    return status;
}

/* --- tests --- */

/* result = ((a + b) shifted by 3) + constant; every instruction in waves of two */
static int64_t workspace_of_sum = 128;

static df_program *build_sum(int wave, double cost)
{
    static const float constant[N] = {10, 20, 30, 40, 50, 60};
    const df_slot slots[] = {
        STATIC(DF_SLOT_ARG, 0, 0), STATIC(DF_SLOT_ARG, 0, 1), STATIC(DF_SLOT_ARENA, 0, 0),
        STATIC(DF_SLOT_ARENA, 64, 0),
        {.kind = DF_SLOT_CONSTANT, .dtype = DF_F32, .ndim = 2, .shape = shape, .data = constant},
        STATIC(DF_SLOT_RESULT, 0, 0), STATIC(DF_SLOT_RESULT, 0, 1)};
    const df_attr by = {.list = {(int64_t[]){1, 2}, 2}};
    df_instruction ins[] = {CALL(add, 2, 1, 0, 1, 2), CALL(shift, 1, 1, 2, 3),
                            CALL(add, 2, 1, 3, 4, 5), CALL(add, 2, 1, 3, 3, 6)};
    ins[1].attrs = &by;
    ins[1].n_attrs = 1;
    ins[1].workspace = workspace_of_sum;
    ins[2].wave = ins[3].wave = wave;
    ins[2].cost = ins[3].cost = cost;
    return build(&(df_program_parts){7, 4, 2, 2, slots, ins, 256, NULL, 0});
}

static void check_sum(df_program *p, float seed)
{
    float a[N], b[N], first[N], second[N];
    df_error err;
    int failed;
    for (int i = 0; i < N; i++) a[i] = seed, b[i] = (float)i;
    CHECK(run(p, (void *[]){a, b}, (void *[]){first, second}, &failed, &err) == DF_OK);
    CHECK(failed == -1);
    for (int i = 0; i < N; i++) {
        CHECK(first[i] == seed + (float)i + 3 + 10 * (float)(i + 1));
        CHECK(second[i] == 2 * (seed + (float)i + 3));
    }
}

static void test_workspace_behind_the_arena(void)
{
    workspace_of_sum = DF_WORKSPACE_APPENDED;
    df_program *p = build_sum(0, 0);
    workspace_of_sum = 128;
    CHECK(df_program_arena(p) == 256 + N * (int64_t)sizeof(float));
    check_sum(p, 5);
    df_program_free(p);
}

static void test_static(void)
{
    df_program *p = build_sum(0, 0);
    CHECK(n_prepared == 3);
    for (int i = 0; i < 10; i++) check_sum(p, (float)i);
    df_program_free(p);
    CHECK(n_prepared == 0);
    df_program_free(NULL);
}

static void *run_many(void *p)
{
    for (int i = 0; i < 500; i++) check_sum(p, (float)i);
    return NULL;
}

static void test_threads(int wave)
{
    df_program *p = build_sum(wave, 15000);
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) CHECK(!pthread_create(&threads[i], NULL, run_many, p));
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    df_program_free(p);
}

/* Four guards in one wave: the lowest failing index is reported, and the program stays usable. */
static void test_failures(int wave)
{
    const df_slot slots[] = {STATIC(DF_SLOT_ARG, 0, 0), STATIC(DF_SLOT_ARG, 0, 1),
                             STATIC(DF_SLOT_ARENA, 0, 0), STATIC(DF_SLOT_ARENA, 64, 0),
                             STATIC(DF_SLOT_ARENA, 128, 0), STATIC(DF_SLOT_ARENA, 192, 0),
                             STATIC(DF_SLOT_ARG, 0, 2)};
    df_instruction ins[] = {CALL(guard, 1, 1, 0, 2), CALL(guard, 1, 1, 1, 3),
                            CALL(guard, 1, 1, 0, 4), CALL(guard, 1, 1, 1, 5),
                            CALL(accumulate, 2, 0, 6, 5)};
    df_attr ids[4];
    for (int i = 0; i < 4; i++) {
        ids[i].i = i;
        ins[i].attrs = &ids[i];
        ins[i].n_attrs = 1;
        ins[i].wave = wave;
        ins[i].cost = 15000;
    }
    df_program *p = build(&(df_program_parts){7, 5, 3, 0, slots, ins, 256, NULL, 0});
    for (int turn = 0; turn < 100; turn++) {
        float good[N] = {1}, bad[N] = {-1}, var[N] = {5};
        df_error err;
        int failed;
        CHECK(run(p, (void *[]){good, bad, var}, NULL, &failed, &err) == DF_OUT_OF_RANGE);
        CHECK(failed == 1 && !strcmp(err.text, "guard 1: got -1") && var[0] == 5);
        CHECK(err.status == DF_OUT_OF_RANGE);
        CHECK(run(p, (void *[]){good, good, var}, NULL, &failed, &err) == DF_OK);
        CHECK(failed == -1 && var[0] == 6);
    }
    df_program_free(p);
}

/* kept = alias of the positive elements; result = their sum; a guard may fail at the end */
static void test_dynamic(void)
{
    const df_slot slots[] = {
        STATIC(DF_SLOT_ARG, 0, 0), DYNAMIC(2), DYNAMIC(5), DYNAMIC(3),
        {.kind = DF_SLOT_RESULT, .dtype = DF_F32, .shape = shape},
        STATIC(DF_SLOT_ARENA, 0, 0)};
    const df_attr by = {.list = {(int64_t[]){1}, 1}}, id = {.i = 7};
    df_instruction ins[] = {CALL(positive, 1, 1, 0, 1), CALL(alias, 1, 1, 1, 2),
                            CALL(shift, 1, 1, 1, 3), CALL(total, 1, 1, 3, 4),
                            CALL(guard, 1, 1, 0, 5)};
    for (int i = 0; i < 4; i++) ins[i].dynamic = true;
    ins[2].attrs = &by;
    ins[4].attrs = &id;
    ins[2].n_attrs = ins[4].n_attrs = 1;
    df_program *p = build(&(df_program_parts){6, 5, 1, 1, slots, ins, 64, NULL, 0});
    df_memory_stats before = {0};
    for (int turn = 0; turn < 20; turn++) {
        float x[N] = {turn % 2 ? -1.0f : 1.0f, -2, 3, 4, -5, 6}, sum = 0;
        df_error err;
        int failed;
        df_frame *frame = df_program_enter(p);
        df_run r = {.args = (void *[]){x}, .results = (void *[]){&sum}};
        df_status status = df_program_run(p, frame, &r, &failed, &err);
        df_tensor *kept = df_frame_tensor(frame, 2);
        CHECK(sum == (turn % 2 ? 13 + 3 : 14 + 4));
        if (turn % 2) {
            CHECK(status == DF_OUT_OF_RANGE && failed == 4 && !kept->buffer);
        } else {
            CHECK(status == DF_OK && kept->size == 4 && ((float *)kept->data)[3] == 6);
            CHECK(df_buffer_refs(kept->buffer) <= 2); /* the frame holds one until it is left */
        }
        df_program_leave(p, frame);
        if (turn == 1) before = df_memory();
        if (turn > 1) CHECK(df_memory().live == before.live);
    }
    df_program_free(p);
}

static bool stop_at_third(void *context) { return ++*(int *)context == 3; }

static bool never(void *context)
{
    ++*(int *)context;
    return false;
}

static void test_poll(void)
{
    const df_slot slots[] = {STATIC(DF_SLOT_ARG, 0, 0), STATIC(DF_SLOT_ARG, 0, 1)};
    df_instruction ins[] = {CALL(accumulate, 2, 0, 0, 1), CALL(accumulate, 2, 0, 0, 1)};
    ins[1].poll = true;
    df_program *p = build(&(df_program_parts){2, 2, 2, 0, slots, ins, 0, NULL, 0});
    float x[N] = {0}, one[N] = {1};
    int polls = 0, failed = -1, runs = 0;
    df_error err;
    df_status status = DF_OK;
    df_frame *frame = df_program_enter(p);
    df_run r = {.args = (void *[]){x, one}, .poll = stop_at_third, .context = &polls};
    for (; status == DF_OK; runs++) status = df_program_run(p, frame, &r, &failed, &err);
    CHECK(status == DF_CANCELLED && failed == 1 && polls == 3 && x[0] == (float)(2 * runs - 1));
    CHECK(!strcmp(err.text, "stopped before accumulate"));
    polls = 0;
    r.poll = never;
    for (int i = 0; i < 1000; i++) CHECK(df_program_run(p, frame, &r, &failed, &err) == DF_OK);
    CHECK(polls < 1000);
    df_program_leave(p, frame);
    df_program_free(p);
}

/* Elementwise ops of one shape, and with broadcasting: same results as the tile loader. */
static void add_tile(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    (void)attrs;
    for (int64_t i = 0; i < n; i++)
        ((float *)out)[i] = ((const float *)in[0])[i] + ((const float *)in[1])[i];
}

static void test_elementwise(void)
{
    static const df_op plus = {.name = "plus", .kind = DF_ELEMENTWISE, .n_in = 2, .n_out = 1,
                               .infer = df_infer_broadcast, .tile = {[DF_F32] = add_tile}};
    const df_slot slots[] = {STATIC(DF_SLOT_ARG, 0, 0),
                             {.kind = DF_SLOT_ARG, .dtype = DF_F32, .index = 1, .shape = shape},
                             STATIC(DF_SLOT_RESULT, 0, 0), STATIC(DF_SLOT_RESULT, 0, 1)};
    const df_instruction ins[] = {CALL(plus, 2, 1, 0, 1, 2), CALL(plus, 2, 1, 0, 2, 3)};
    df_program *p = build(&(df_program_parts){4, 2, 2, 2, slots, ins, 0, NULL, 0});
    float x[N] = {1, 2, 3, 4, 5, 6}, y[1] = {10}, first[N], second[N];
    df_error err;
    int failed;
    CHECK(run(p, (void *[]){x, y}, (void *[]){first, second}, &failed, &err) == DF_OK);
    for (int i = 0; i < N; i++) CHECK(first[i] == x[i] + 10 && second[i] == 2 * x[i] + 10);
    df_program_free(p);
}

static int64_t completed[8];
static int n_completed;

static df_status listen(int64_t id, int n, const df_tensor *const *in, int n_out,
                        df_tensor *const *out, df_error *err)
{
    (void)out;
    CHECK(n == 1 && n_out == 0 && ((float *)in[0]->data)[0] == 4);
    if (id < 0) return df_fail(err, DF_INVALID_ARGUMENT, "rejected %lld", (long long)id);
    completed[n_completed++] = id;
    return DF_OK;
}

/* Effects keep their order even if they are in a wave. */
static void test_host(void)
{
    const df_slot slots[] = {STATIC(DF_SLOT_ARG, 0, 0)};
    df_instruction ins[] = {CALL(tell, 1, 0, 0), CALL(tell, 1, 0, 0), CALL(tell, 1, 0, 0)};
    df_attr ids[] = {{.i = 11}, {.i = 12}, {.i = -13}};
    for (int i = 0; i < 3; i++) {
        ins[i].attrs = &ids[i];
        ins[i].n_attrs = 1;
        ins[i].wave = 1;
        ins[i].cost = 1e6;
    }
    df_program *p = build(&(df_program_parts){1, 3, 1, 0, slots, ins, 0, NULL, 0});
    float x[N] = {4};
    df_error err;
    int failed;
    CHECK(run(p, (void *[]){x}, NULL, &failed, &err) == DF_UNIMPLEMENTED && failed == 0);
    df_set_host(&(df_host){.call = listen});
    CHECK(run(p, (void *[]){x}, NULL, &failed, &err) == DF_INVALID_ARGUMENT && failed == 2);
    CHECK(n_completed == 2 && completed[0] == 11 && completed[1] == 12);
    df_set_host(NULL);
    df_program_free(p);
}

static void test_profile(void)
{
    df_program *p = build_sum(1, 15000);
    float a[N] = {1}, b[N] = {2}, first[N], second[N];
    int64_t ns[4] = {0}, start[4] = {0};
    df_error err;
    int failed;
    df_frame *frame = df_program_enter(p);
    df_run r = {.args = (void *[]){a, b}, .results = (void *[]){first, second},
                .profile = &(df_profile){ns, start}};
    for (int i = 0; i < 100; i++) CHECK(df_program_run(p, frame, &r, &failed, &err) == DF_OK);
    for (int i = 0; i < 4; i++) CHECK(ns[i] > 0 && start[i] > 0);
    CHECK(start[0] <= start[1] && start[1] <= start[2]);
    b[4] = INFINITY, b[2] = NAN, b[5] = -INFINITY;
    r = (df_run){.args = r.args, .results = r.results, .check_numerics = true};
    CHECK(df_program_run(p, frame, &r, &failed, &err) == DF_INVALID_ARGUMENT && failed == 0);
    CHECK(!strcmp(err.text, "add: output 0, float32 (2, 3), has 1 NaN and 2 infinite of 6 "
                            "elements, the first at flat index 2; of float32 (2, 3), float32 "
                            "(2, 3) with 1 NaN and 2 infinite"));
    df_program_leave(p, frame);
    df_program_free(p);
}

static void refuse(const df_slot *slots, int n_slots, const df_instruction *ins, int want)
{
    df_program *p;
    df_error err;
    int failed;
    df_program_parts parts = {n_slots, 1, 1, 1, slots, ins, 64, NULL, 0};
    CHECK(df_program_new(&parts, &p, &failed, &err) != DF_OK && failed == want && !p);
}

static void test_refusals(void)
{
    const df_slot bad[] = {STATIC(DF_SLOT_ARG, 0, 1),    STATIC(DF_SLOT_RESULT, 0, -1),
                           STATIC(DF_SLOT_ARENA, 41, 0), STATIC(DF_SLOT_ARENA, -1, 0),
                           STATIC(DF_SLOT_CONSTANT, 0, 0), DYNAMIC(2),
                           {.kind = DF_SLOT_ARENA, .dtype = DF_F32, .ndim = 1, .shape = unknown},
                           {.kind = DF_SLOT_ARENA, .dtype = DF_N_DTYPES},
                           {.kind = 9, .dtype = DF_F32}};
    const df_slot good[] = {STATIC(DF_SLOT_ARG, 0, 0), STATIC(DF_SLOT_ARENA, 0, 0),
                            {.kind = DF_SLOT_ARENA, .dtype = DF_F32, .shape = shape}, DYNAMIC(1)};
    const df_instruction fine = CALL(add, 2, 1, 0, 0, 1);
    const df_instruction ins[] = {CALL(add, 2, 1, 0, 0, 4), CALL(add, 2, 1, -1, 0, 1),
                                  CALL(add, 2, 1, 0, 0, 2), CALL(add, 1, 1, 0, 1),
                                  CALL(add, 2, 0, 0, 0),    CALL(shift, 1, 1, 0, 1)};
    const df_instruction dynamic[] = {CALL(add, 2, 1, 0, 0, 3), CALL(add, 2, 1, 3, 0, 1)};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuse(&bad[i], 1, &fine, -1);
    for (size_t i = 0; i < sizeof ins / sizeof *ins; i++) refuse(good, 3, &ins[i], 0);
    for (size_t i = 0; i < 2; i++) refuse(good, 4, &dynamic[i], 0);
    refuse(good, 4, &fine, -1);
    df_instruction far = CALL(shift, 1, 1, 0, 1);
    far.attrs = &(df_attr){.list = {NULL, 0}};
    far.n_attrs = 1;
    refuse(good, 3, &far, 0);
    far.workspace = 63;
    refuse(good, 3, &far, 0);
}

/* Operands that overlap: `want` is the index of the rejected instruction, or -1. */
static void refuse_all(const df_slot *slots, int n_slots, const df_instruction *ins, int n,
                       bool good, int want)
{
    df_program *p;
    df_error err;
    int failed;
    df_program_parts parts = {n_slots, n, 2, 2, slots, ins, 1024, NULL, 0};
    df_status status = df_program_new(&parts, &p, &failed, &err);
    CHECK(good == (status == DF_OK) && failed == want);
    df_program_free(p);
}

static void test_overlap(void)
{
    static const df_op in_place = {.name = "in_place", .kind = DF_GENERAL, .n_in = 2, .n_out = 1,
                                   .infer = df_infer_same, .run = add_run, .may_alias = DF_ANY_INPUT};
    const df_slot slots[] = {
        STATIC(DF_SLOT_ARENA, 0, 0),  STATIC(DF_SLOT_ARENA, 0, 0), STATIC(DF_SLOT_ARENA, 8, 0),
        STATIC(DF_SLOT_ARENA, 64, 0), STATIC(DF_SLOT_ARG, 0, 0),   STATIC(DF_SLOT_ARG, 0, 1),
        STATIC(DF_SLOT_ARG, 8, 1),    STATIC(DF_SLOT_ARG, 0, 1),   STATIC(DF_SLOT_RESULT, 0, 0),
        STATIC(DF_SLOT_RESULT, 4, 0)};
    enum { N_SLOTS = 9 }; /* and one more, which overlaps the result partly */
#define RESULT CALL(add, 2, 1, 4, 5, 8)
    const struct {
        df_instruction in;
        bool good;
    } cases[] = {
        {CALL(add, 2, 1, 0, 3, 1), false},        {CALL(in_place, 2, 1, 0, 3, 1), true},
        {CALL(in_place, 2, 1, 3, 0, 1), true},    {CALL(in_place, 2, 1, 0, 3, 2), false},
        {CALL(in_place, 2, 1, 2, 3, 1), false},   {CALL(add, 2, 1, 0, 0, 3), true},
        {CALL(in_place, 2, 1, 0, 2, 1), false},   {CALL(accumulate, 2, 0, 5, 4), true},
        {CALL(accumulate, 2, 0, 5, 7), true},     {CALL(accumulate, 2, 0, 5, 6), false},
        {CALL(add, 2, 1, 4, 5, 8), true},         {CALL(add, 2, 1, 4, 8, 9), false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        df_instruction all[] = {CALL(add, 2, 1, 4, 5, 0), CALL(add, 2, 1, 4, 5, 0),
                                {0}, RESULT};
        int read[2], first = 2;
        for (int k = 0; k < 2; k++) { /* written before */
            read[k] = cases[i].in.in[k];
            if (slots[read[k]].kind != DF_SLOT_ARG) all[--first].out = &read[k];
        }
        all[2] = cases[i].in;
        const bool across = cases[i].in.n_out && cases[i].in.out[0] == N_SLOTS;
        refuse_all(slots, N_SLOTS + across, all + first, 4 - first, cases[i].good,
                   cases[i].good ? -1 : 2 - first);
    }
    df_instruction wave[] = {CALL(add, 2, 1, 4, 5, 0), CALL(add, 2, 1, 4, 5, 3),
                             CALL(add, 2, 1, 4, 4, 2), RESULT};
    refuse_all(slots, N_SLOTS, wave, 4, true, -1);
    for (int i = 0; i < 3; i++) wave[i].wave = 1;
    refuse_all(slots, N_SLOTS, wave, 4, false, 2);
    wave[2].wave = 2;
    refuse_all(slots, N_SLOTS, wave, 4, true, -1);
    df_instruction reads[] = {CALL(add, 2, 1, 4, 5, 3), CALL(add, 2, 1, 3, 5, 8), RESULT};
    reads[0].wave = reads[1].wave = 7;
    refuse_all(slots, N_SLOTS, reads, 3, false, 1);
    df_instruction scratch[] = {CALL(shift, 1, 1, 4, 3), RESULT};
    scratch->attrs = &(df_attr){.list = {NULL, 0}};
    scratch->n_attrs = 1;
    for (int64_t at = 0; at <= 192; at += 32) {
        scratch->workspace = at;
        bool good = at % 64 == 0 && at != 64;
        refuse_all(slots, N_SLOTS, scratch, 2, good, good ? -1 : 0);
    }
#undef RESULT
}

static void test_alignment_and_dtypes(void)
{
    static const df_op plus = {.name = "plus", .kind = DF_ELEMENTWISE, .n_in = 2, .n_out = 1,
                               .promote = 3, .infer = df_infer_broadcast,
                               .tile = {[DF_F32] = add_tile}};
    static const float constant[N + 1] = {0};
    df_slot slots[] = {STATIC(DF_SLOT_ARG, 0, 0), STATIC(DF_SLOT_ARG, 0, 1),
                       STATIC(DF_SLOT_RESULT, 0, 0)};
    const df_instruction sum = CALL(plus, 2, 1, 0, 1, 2);
    refuse_all(slots, 3, &sum, 1, true, -1);
    slots[1].dtype = DF_I32;
    refuse_all(slots, 3, &sum, 1, false, 0);
    slots[1].dtype = DF_U8;
    refuse_all(slots, 3, &sum, 1, false, 0);
    for (int64_t at = 0; at < 9; at++)
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 3; j++) slots[j].offset = j == k ? at : 0;
            slots[1].dtype = DF_F32;
            refuse_all(slots, 3, &sum, 1, at % 4 == 0, -1);
        }
    slots[2].offset = 0;
    slots[1] = (df_slot){.kind = DF_SLOT_CONSTANT, .dtype = DF_F32, .ndim = 2, .shape = shape};
    for (int at = 0; at < 5; at++) {
        slots[1].data = (const char *)constant + at;
        refuse_all(slots, 3, &sum, 1, at % 4 == 0, -1);
    }
}

/* A dynamic slot is written once, before it is read. */
static void test_dynamic_refusals(void)
{
    const df_slot slots[] = {STATIC(DF_SLOT_ARG, 0, 0), DYNAMIC(2)};
    df_instruction pair[] = {CALL(positive, 1, 1, 0, 1), CALL(positive, 1, 1, 0, 1)};
    df_program_parts parts = {2, 2, 1, 0, slots, pair, 64, NULL, 0};
    df_program *p;
    df_error err;
    int failed;
    pair[0].dynamic = pair[1].dynamic = true;
    CHECK(df_program_new(&parts, &p, &failed, &err) == DF_INVALID_ARGUMENT && failed == 1);
    pair[0].in = pair[0].out;
    CHECK(df_program_new(&parts, &p, &failed, &err) == DF_INVALID_ARGUMENT && failed == 0);
}

int main(void)
{
    df_error err;
    CHECK(df_set_num_threads(4, &err) == DF_OK);
    test_static();
    test_workspace_behind_the_arena();
    test_refusals();
    test_dynamic_refusals();
    test_overlap();
    test_alignment_and_dtypes();
    test_elementwise();
    for (int wave = 0; wave < 2; wave++) test_threads(wave);
    for (int wave = 0; wave < 2; wave++) test_failures(wave);
    test_dynamic();
    test_poll();
    test_host();
    test_profile();
    CHECK(n_prepared == 0);
    df_memory_trim();
    return 0;
}
