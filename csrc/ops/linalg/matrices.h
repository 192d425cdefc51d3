/* Ops on batches of matrices, the last two dimensions of their inputs: checks, and how a batch is
 * divided among threads. */
#ifndef DF_MATRICES_H
#define DF_MATRICES_H

#include "op/op.h"

static inline int64_t matrix_rows(const df_tensor *x) { return x->shape[x->ndim - 2]; }
static inline int64_t matrix_columns(const df_tensor *x) { return x->shape[x->ndim - 1]; }

static inline int64_t matrix_count(const df_tensor *x)
{
    int64_t n = 1;
    for (int d = 0; d < x->ndim - 2; d++) n *= x->shape[d];
    return n;
}

/* Data of matrix `index`. */
static inline char *matrix_at(const df_tensor *x, int64_t index)
{
    return (char *)x->data + index * matrix_rows(x) * matrix_columns(x) * df_dtypes[x->dtype].bytes;
}

/* Bytes of m x n elements, rounded up to whole cache lines; -1 if 64 bits cannot count them. */
static inline int64_t matrix_bytes(int64_t m, int64_t n, int64_t bytes)
{
    int64_t all;
    if (!df_mul_size(m, n, &all) || !df_mul_size(all, bytes, &all) || !df_add_size(all, 63, &all))
        return -1;
    return all / 64 * 64;
}

/* Checks that input `input` consists of matrices of float32, float64, complex64 or complex128. */
df_status DF_SYM(df_check_matrices)(const df_call *call, int input, bool square, df_error *err);
/* Checks inputs a, square matrices, and b, of equal shapes except for the last dimension. */
df_status DF_SYM(df_check_equations)(const df_call *call, int a, int b, df_error *err);

/* A batch of matrices. Large ones are processed in turn, each by all threads; small ones by tasks
 * with a range of matrices and scratch memory each. */
typedef struct {
    const df_call *call;
    int64_t count, rows;
    int64_t bytes; /* of scratch memory for a matrix, a multiple of 64; -1: too many */
    double flops;  /* for a matrix */
    /* Returns -1, or the row of the matrix whose pivot is invalid. */
    int64_t (*run)(const df_call *call, int64_t index, void *workspace);
    const char *fault, *pivot; /* "singular" and "0": the message about an invalid pivot */
} matrix_batch;

/* Scratch memory for all tasks, or -1. */
int64_t DF_SYM(df_matrices_workspace)(const matrix_batch *batch);
/* Runs the batch. The error names the first matrix that failed. */
df_status DF_SYM(df_matrices_run)(const matrix_batch *batch, df_error *err);

/* The functions of a record, from batch_of(call). */
#define MATRIX_OP_FUNCTIONS(name)                                                                \
    static int64_t name##_workspace(const df_call *call)                                         \
    {                                                                                            \
        const matrix_batch batch = name##_batch(call);                                           \
        return DF_SYM(df_matrices_workspace)(&batch);                                            \
    }                                                                                            \
    static double name##_flops(const df_call *call)                                              \
    {                                                                                            \
        const matrix_batch batch = name##_batch(call);                                           \
        return batch.flops * (double)batch.count;                                                \
    }                                                                                            \
    static df_status run_##name(const df_call *call, df_error *err)                              \
    {                                                                                            \
        const matrix_batch batch = name##_batch(call);                                           \
        return DF_SYM(df_matrices_run)(&batch, err);                                             \
    }
#define MATRIX_OP(op)                                                                            \
    .name = #op, .kind = DF_GENERAL, .infer = infer_##op, .workspace = op##_workspace,           \
    .run = run_##op, .flops = op##_flops

#endif
