/* Dtypes, shapes and the free list. */
#include "base/tensor.h"

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_promotion(void)
{
    CHECK(df_promote(DF_I8, DF_U8) == DF_I16);
    CHECK(df_promote(DF_U8, DF_I16) == DF_I16);
    CHECK(df_promote(DF_U8, DF_U16) == DF_U16);
    CHECK(df_promote(DF_I8, DF_U16) == DF_I32);
    CHECK(df_promote(DF_U32, DF_I32) == DF_I64);
    CHECK(df_promote(DF_U64, DF_I8) == DF_F64);
    CHECK(df_promote(DF_U64, DF_F32) == DF_F32);
    CHECK(df_promote(DF_I64, DF_F16) == DF_F16);
    CHECK(df_promote(DF_F16, DF_BF16) == DF_F32);
    CHECK(df_promote(DF_BF16, DF_F32) == DF_F32);
    CHECK(df_promote(DF_I32, DF_I64) == DF_I64);
    for (int a = 0; a < DF_N_DTYPES; a++) {
        CHECK(df_promote(DF_BOOL, a) == (df_dtype)a && df_promote(a, a) == (df_dtype)a);
        for (int b = 0; b < DF_N_DTYPES; b++) {
            df_dtype both = df_promote(a, b);
            CHECK(both == df_promote(b, a));
            CHECK(df_promote(both, a) == both && df_promote(both, b) == both);
        }
    }
}

static void test_shapes(void)
{
    df_tensor t, other;
    df_error err;
    int64_t huge[] = {1000000000000, 1000000000000}, wide[] = {(int64_t)1 << 61};
    int64_t empty[] = {1000000000000, 0, 1000000000000}, negative[] = {2, -3};
    int64_t unknown[] = {3, DF_UNKNOWN}, many[DF_MAX_NDIM];
    for (int i = 0; i < DF_MAX_NDIM; i++) many[i] = 1;

    df_tensor_init(&t);
    df_tensor_init(&other);
    CHECK(df_tensor_set(&t, DF_F32, 2, huge, "fill", &err) == DF_OK && t.size == DF_TOO_MANY);
    CHECK(df_tensor_bytes(&t) == INT64_MAX);
    CHECK(df_tensor_alloc(&t, "fill", &err) == DF_OVERFLOW);
    CHECK(err.status == DF_OVERFLOW);
    CHECK(!strcmp(err.text, "fill: shape (1000000000000, 1000000000000) has more elements than 64 "
                            "bits can count"));
    CHECK(df_tensor_set(&t, DF_F64, 1, wide, "fill", &err) == DF_OK && t.size == wide[0]);
    CHECK(df_tensor_alloc(&t, "fill", &err) == DF_OVERFLOW && !t.data);
    df_tensor_clear(&t);
    CHECK(df_tensor_set(&t, DF_F32, 3, empty, "fill", &err) == DF_OVERFLOW);
    CHECK(df_tensor_set(&t, DF_F32, 2, negative, "fill", &err) == DF_BAD_SHAPE);
    CHECK(df_tensor_set(&t, DF_F32, DF_MAX_NDIM + 1, many, "fill", &err) == DF_BAD_SHAPE);
    CHECK(t.ndim == 0 && t.size == 1);
    CHECK(df_tensor_set(&t, DF_I8, 2, unknown, "fill", &err) == DF_OK && t.size == DF_UNKNOWN);
    CHECK(df_tensor_set(&t, DF_I16, 3, (int64_t[]){2, 0, 5}, "fill", &err) == DF_OK && t.size == 0);
    CHECK(df_tensor_alloc(&t, "fill", &err) == DF_OK && t.data);

    CHECK(df_tensor_set(&t, DF_F32, DF_MAX_NDIM, many, "fill", &err) == DF_OK && t.size == 1);
    CHECK(t.shape != t.dims && !df_same_shape(&t, &other));
    CHECK(df_tensor_set(&other, DF_I64, DF_MAX_NDIM, many, "fill", &err) == DF_OK);
    CHECK(df_same_shape(&t, &other));
    df_tensor_clear(&other);
    df_tensor_clear(&t);
    CHECK(t.shape == t.dims && !t.buffer && !t.data);
}

static void test_texts(void)
{
    df_tensor t;
    df_error err;
    int64_t shape[40];
    for (int i = 0; i < 40; i++) shape[i] = INT64_MIN;
    CHECK(!strcmp(df_shape_text(0, NULL).text, "()"));
    CHECK(!strcmp(df_shape_text(1, (int64_t[]){7}).text, "(7,)"));
    CHECK(!strcmp(df_shape_text(2, (int64_t[]){DF_UNKNOWN, 3}).text, "(?, 3)"));
    df_text cut = df_shape_text(40, shape);
    CHECK(strlen(cut.text) < DF_TEXT_BYTES && !strcmp(cut.text + strlen(cut.text) - 4, "...)"));
    df_tensor_init(&t);
    CHECK(df_tensor_set(&t, DF_BF16, 2, (int64_t[]){2, 3}, "x", &err) == DF_OK);
    CHECK(!strcmp(df_tensor_text(&t).text, "bfloat16 (2, 3)"));
}

static void test_axes(void)
{
    df_error err;
    int axis = 9;
    CHECK(df_normalize_axis(-2, 2, "sum", &axis, &err) == DF_OK && axis == 0);
    CHECK(df_normalize_axis(1, 2, "sum", &axis, &err) == DF_OK && axis == 1);
    CHECK(df_normalize_axis(2, 2, "sum", &axis, &err) == DF_INVALID_ARGUMENT);
    CHECK(!strcmp(err.text, "sum: axis 2 of 2 dimensions, expected -2 to 1"));
    CHECK(df_normalize_axis(INT64_MIN, 2, "sum", &axis, &err) == DF_INVALID_ARGUMENT);
    CHECK(df_normalize_axis(0, 0, "sum", &axis, &err) == DF_INVALID_ARGUMENT);
}

static void count_call(void *owner) { ++*(int *)owner; }

static void test_buffers(void)
{
    int64_t live = df_memory().live, before = 0;
    for (int64_t bytes = 0; bytes < 40 << 20; bytes += 1 + bytes / 7) {
        df_buffer *buffer = df_buffer_new(bytes);
        CHECK(buffer && df_buffer_refs(buffer) == 1);
        CHECK((intptr_t)buffer->data % DF_ALIGNMENT == 0 && buffer->bytes % DF_ALIGNMENT == 0);
        CHECK(buffer->bytes >= df_max(bytes, 1) && buffer->bytes >= before);
        CHECK(buffer->bytes <= df_max(DF_ALIGNMENT, bytes + bytes / 4 + DF_ALIGNMENT));
        CHECK(df_memory().live == live + buffer->bytes);
        before = buffer->bytes;
        memset(buffer->data, 1, (size_t)buffer->bytes);
        df_buffer_retain(buffer);
        df_buffer_release(buffer);
        CHECK(df_buffer_refs(buffer) == 1);
        df_buffer_release(buffer);
    }
    CHECK(df_memory().live == live && df_memory().peak >= before);
    df_memory_reset_peak();
    CHECK(df_memory().peak == live);
    df_memory_trim();
    CHECK(df_memory().cached == 0);
    df_buffer_release(NULL);
}

static void test_refusals(void)
{
    int64_t sizes[] = {-1, INT64_MIN, INT64_MAX, (int64_t)1 << 47, 4000000000000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) CHECK(!df_buffer_new(sizes[i]));
}

static void test_wrapped(void)
{
    int calls = 0;
    char data[64];
    int64_t live = df_memory().live;
    df_buffer *buffer = df_buffer_wrap(data, sizeof data, count_call, &calls);
    CHECK(buffer && buffer->data == data && buffer->bytes == 64 && df_memory().live == live);
    df_buffer_retain(buffer);
    df_buffer_release(buffer);
    CHECK(calls == 0);
    df_buffer_release(buffer);
    CHECK(calls == 1);
}

/* Released memory stays below the limits of a bucket and of the whole free list. */
static void test_bounds(void)
{
    static df_buffer *held[200000];
    for (int i = 0; i < 200000; i++) CHECK((held[i] = df_buffer_new(100)) != NULL);
    for (int i = 0; i < 200000; i++) df_buffer_release(held[i]);
    CHECK(df_memory().cached <= 9 << 20);
    for (int i = 0; i < 40; i++) CHECK((held[i] = df_buffer_new(60 << 20)) != NULL);
    for (int i = 0; i < 40; i++) df_buffer_release(held[i]);
    CHECK(df_memory().cached <= (int64_t)1 << 30);
    df_memory_trim();
}

/* A single user gets one buffer, as large as the largest request; surplus buffers are dropped from
 * the smallest on, and of the large buffers one is cached. */
static void test_scratch(void)
{
    df_memory_stats before = df_memory();
    df_buffer *held[2 * DF_SCRATCH_PIECES];
    int64_t largest = 0;
    for (int64_t bytes = 1; bytes < 16 << 20; bytes += bytes / 2 + 1) {
        df_buffer *piece = df_scratch_take(bytes);
        CHECK(piece && piece->bytes >= bytes && df_buffer_refs(piece) == 1);
        CHECK(df_memory().live == before.live + piece->bytes);
        memset(piece->data, 1, (size_t)piece->bytes);
        largest = piece->bytes;
        df_scratch_give(piece);
        CHECK(df_memory().live == before.live && df_memory().cached <= before.cached + largest);
    }
    CHECK(df_memory().peak >= before.live + largest);
    for (int i = 0; i < 2 * DF_SCRATCH_PIECES; i++) {
        CHECK((held[i] = df_scratch_take((i % 5 + 1) << 10)) != NULL);
        for (int k = 0; k < i; k++) CHECK(held[k] != held[i]);
    }
    for (int i = 0; i < 2 * DF_SCRATCH_PIECES; i++) df_scratch_give(held[i]);
    CHECK(df_memory().cached <= before.cached + largest + (DF_SCRATCH_PIECES - 1) * (6 << 10));
    for (int i = 0; i < 3; i++)
        CHECK((held[i] = df_scratch_take(DF_LARGE_SCRATCH + ((int64_t)(3 - i) << 24))) != NULL);
    largest = held[0]->bytes;
    for (int i = 0; i < 3; i++) df_scratch_give(held[i]);
    CHECK(df_memory().cached <= before.cached + 2 * largest);
    CHECK(df_memory().live == before.live);
    df_memory_trim();
    CHECK(df_memory().cached == 0 && !df_scratch_take(-1));
}

#ifndef DF_NO_THREADS /* a build without locks supports one thread */
static _Atomic(df_buffer *) exchange;

/* Allocates, writes, and passes buffers to the other threads. */
static void *churn(void *argument)
{
    uint32_t state = (uint32_t)(intptr_t)argument;
    for (int i = 0; i < 20000; i++) {
        state = state * 1664525u + 1013904223u;
        df_buffer *buffer = df_buffer_new(1 + (state >> 18)), *other;
        CHECK(buffer);
        *(uint32_t *)buffer->data = state;
        other = atomic_exchange(&exchange, buffer);
        df_buffer_release(other);
    }
    return NULL;
}

static void test_threads(void)
{
    int64_t live = df_memory().live;
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        CHECK(!pthread_create(&threads[i], NULL, churn, (void *)(i + 1)));
    /* A child starts with the lock open. */
    for (int i = 0; i < 8 * FORK_BESIDE_THREADS; i++) {
        pid_t child = fork();
        int status = -1;
        if (child == 0) {
            df_buffer_release(df_buffer_new(64));
            df_memory_trim();
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    df_buffer_release(atomic_exchange(&exchange, NULL));
    CHECK(df_memory().live == live);
}
#else
static void test_threads(void) {}
#endif

int main(void)
{
    test_promotion();
    test_shapes();
    test_texts();
    test_axes();
    test_buffers();
    test_refusals();
    test_wrapped();
    test_bounds();
    test_scratch();
    test_threads();
    df_memory_trim();
    return 0;
}
