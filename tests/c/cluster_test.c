/* Clusters, with test ops: outputs in the memory of inputs, at every size, concurrent runs. */
#include "fuse/cluster.h"
#include "fuse/run.h"
#include "op/registry.h"
#include "base/thread.h"

#include "check.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* --- ops --- */

static void add_tile(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    (void)attrs;
    const float *a = in[0], *b = in[1];
    for (int64_t i = 0; i < n; i++) ((float *)out)[i] = a[i] + b[i];
}

static void double_tile(int64_t n, void *out, const void *const *in, const df_attr *attrs)
{
    (void)attrs;
    const float *x = in[0];
    for (int64_t i = 0; i < n; i++) ((float *)out)[i] = 2 * x[i];
}

static void sum_rows(int64_t rows, int64_t n, void *out, const void *x)
{
    for (int64_t r = 0; r < rows; r++) {
        float sum = 0;
        for (int64_t i = 0; i < n; i++) sum += ((const float *)x)[r * n + i];
        ((float *)out)[r] = sum;
    }
}

static const df_op add = {.name = "add", .kind = DF_ELEMENTWISE, .n_in = 2, .n_out = 1,
                          .may_alias = DF_ANY_INPUT, .infer = df_infer_broadcast,
                          .tile = {[DF_F32] = add_tile}};
static const df_op twice = {.name = "twice", .kind = DF_ELEMENTWISE, .n_in = 1, .n_out = 1,
                            .may_alias = DF_ANY_INPUT, .infer = df_infer_broadcast,
                            .tile = {[DF_F32] = double_tile}};
static const df_op sum = {.name = "sum", .kind = DF_REDUCTION, .n_in = 1, .n_out = 1,
                          .infer = df_infer_same, .reduce = {[DF_F32] = sum_rows}};
static const df_op fused = {.name = "fused", .kind = DF_GENERAL, .n_in = DF_VARIADIC,
                            .n_out = DF_VARIADIC};

enum { ADD, TWICE, SUM, N_OPS };
int64_t df_registry_size(void) { return N_OPS; }
const df_op *df_registry_op(int64_t index)
{
    static const df_op *const table[N_OPS] = {&add, &twice, &sum};
    return table[index];
}

/* --- calls --- */

#define MAX_OPERANDS 3
typedef struct {
    df_call call;
    df_tensor tensors[2 * MAX_OPERANDS];
    const df_tensor *in[MAX_OPERANDS];
    df_tensor *out[MAX_OPERANDS];
    df_attr attrs[2];
    df_cluster *cluster;
} fixture;

static void describe(df_tensor *t, int ndim, const int64_t *shape, float *data)
{
    df_error err;
    df_tensor_init(t);
    CHECK(df_tensor_set(t, DF_F32, ndim, shape, "test", &err) == DF_OK);
    t->data = data;
}

/* Describes the data of `n_in` inputs of shape `shape`, then of `n_out` outputs. */
static void make(fixture *f, int ndim, const int64_t *shape, int n_in, int n_out, float **data,
                 const int64_t *code, int64_t n)
{
    df_error err;
    for (int i = 0; i < n_in + n_out; i++) describe(&f->tensors[i], ndim, shape, data[i]);
    for (int i = 0; i < n_in; i++) f->in[i] = &f->tensors[i];
    for (int i = 0; i < n_out; i++) f->out[i] = &f->tensors[n_in + i];
    f->attrs[0].list = (df_ints){shape, ndim};
    f->attrs[1].list = (df_ints){code, n};
    f->call = (df_call){.op = &fused, .n_in = n_in, .n_out = n_out, .in = f->in, .out = f->out,
                        .attrs = f->attrs};
    CHECK(df_cluster_infer(&f->call, &err) == DF_OK);
    CHECK(df_cluster_new(&f->call, &f->cluster, &err) == DF_OK);
}

static void run(const fixture *f)
{
    df_error err;
    CHECK(DF_SYM(df_cluster_run)(f->cluster, &f->call, &err) == DF_OK);
}

static void drop(fixture *f)
{
    df_cluster_free(f->cluster);
    for (int i = 0; i < f->call.n_in + f->call.n_out; i++) df_tensor_clear(&f->tensors[i]);
}

static float *numbers(int64_t n, int step)
{
    float *x = malloc(sizeof *x * (size_t)(n + 1));
    CHECK(x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 1000 * step);
    return x;
}

static const int64_t sizes[] = {0, 1, 15, 16, 17, 1000, 1024, 1025, 100003};
#define N_SIZES ((int)(sizeof sizes / sizeof *sizes))

/* s = a + b stored in a, then t = s + a + b stored in b: a must be read before s is written. */
static void test_in_place(void)
{
    static const int64_t code[] = {1, 3, ADD, 0, 2, 0, 1, 0, ADD, 0, 2, 2, 0, 0,
                                   ADD, 0, 2, 3, 1, 0, 2, 2, 4};
    for (int k = 0; k < N_SIZES; k++) {
        const int64_t n = sizes[k];
        float *a = numbers(n, 1), *b = numbers(n, 3);
        for (int over = 0; over < 2; over++) { /* outputs in (a, b), then in (b, a) */
            float *x = numbers(n, 1), *y = numbers(n, 3);
            fixture f;
            make(&f, 1, &n, 2, 2, (float *[]){x, y, over ? y : x, over ? x : y}, code,
                 sizeof code / sizeof *code);
            run(&f);
            const float *s = f.call.out[0]->data, *t = f.call.out[1]->data;
            for (int64_t i = 0; i < n; i++) {
                CHECK(s[i] == a[i] + b[i]);
                CHECK(t[i] == a[i] + b[i] + a[i] + b[i]);
            }
            drop(&f);
            free(x);
            free(y);
        }
        free(a);
        free(b);
    }
}

/* x + sum of its row, stored in x. */
static void test_rows_in_place(void)
{
    for (int64_t n = 1; n < 6000; n = n * 3 + 1) {
        const int64_t shape[] = {37, n}, code[] = {n, 2, SUM, 1, 1, 0, 0, ADD, 0, 2, 0, 1, 0, 1, 2};
        float *x = numbers(37 * n, 1), *want = numbers(37 * n, 1);
        fixture f;
        make(&f, 2, shape, 1, 1, (float *[]){x, x}, code, sizeof code / sizeof *code);
        run(&f);
        for (int64_t r = 0; r < 37; r++) {
            float total;
            sum_rows(1, n, &total, want + r * n);
            for (int64_t i = 0; i < n; i++) CHECK(x[r * n + i] == want[r * n + i] + total);
        }
        drop(&f);
        free(x);
        free(want);
    }
}

#define THREAD_ELEMENTS 50000
static void *run_often(void *context)
{
    const fixture *shared = context;
    float *x = numbers(THREAD_ELEMENTS, 1), *y = numbers(THREAD_ELEMENTS, 5);
    const int64_t n = THREAD_ELEMENTS;
    for (int k = 0; k < 20; k++) {
        df_tensor in, out;
        const df_tensor *ins[] = {&in};
        df_tensor *outs[] = {&out};
        df_call call = shared->call;
        df_error err;
        describe(&in, 1, &n, x);
        describe(&out, 1, &n, y);
        call.in = ins;
        call.out = outs;
        CHECK(DF_SYM(df_cluster_run)(shared->cluster, &call, &err) == DF_OK);
        for (int64_t i = 0; i < n; i++) CHECK(y[i] == 4 * x[i]);
    }
    free(x);
    free(y);
    return NULL;
}

/* One cluster, run by several threads at once. */
static void test_threads(void)
{
    static const int64_t code[] = {1, 2, TWICE, 0, 1, 0, 0, TWICE, 0, 1, 1, 0, 1, 2};
    const int64_t n = THREAD_ELEMENTS;
    fixture f;
    pthread_t threads[4];
    make(&f, 1, &n, 1, 1, (float *[]){NULL, NULL}, code, sizeof code / sizeof *code);
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, run_often, &f));
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    drop(&f);
}

int main(void)
{
    df_error err;
    CHECK(df_set_num_threads(2, &err) == DF_OK);
    test_in_place();
    test_rows_in_place();
    test_threads();
    return 0;
}
