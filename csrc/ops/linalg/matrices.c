/* Batches of matrices. */
#include "ops/linalg/matrices.h"
#include "base/thread.h"

#include <stdio.h>

/* Matrices of up to this many rows are small. */
enum { SMALL_MATRIX = 160, MAX_TASKS = 32 };

typedef struct {
    const matrix_batch *batch;
    int64_t tasks;
    char *workspace;
    int64_t failed[MAX_TASKS], row[MAX_TASKS]; /* of each task, or -1 */
} batch_run;

static int64_t tasks_of(const matrix_batch *batch)
{
    return batch->rows <= SMALL_MATRIX ? df_min(batch->count, MAX_TASKS) : df_min(batch->count, 1);
}

int64_t DF_SYM(df_matrices_workspace)(const matrix_batch *batch)
{
    int64_t bytes;
    if (batch->bytes < 0 || !df_mul_size(tasks_of(batch), batch->bytes, &bytes)) return -1;
    return bytes;
}

static void run_task(batch_run *run, int64_t task)
{
    const matrix_batch *batch = run->batch;
    const int64_t count = batch->count, tasks = run->tasks;
    const int64_t few = count / tasks, more = count % tasks; /* the first tasks have one more */
    const int64_t begin = task * few + df_min(task, more), end = begin + few + (task < more);
    char *workspace = run->workspace + task * batch->bytes;
    run->failed[task] = -1;
    for (int64_t i = begin; i < end && run->failed[task] < 0; i++) {
        run->row[task] = batch->run(batch->call, i, workspace);
        if (run->row[task] >= 0) run->failed[task] = i;
    }
}

static void run_tasks(void *context, int64_t begin, int64_t end)
{
    for (int64_t task = begin; task < end; task++) run_task(context, task);
}

/* " (1, 0)": the number of a matrix of a batch in messages. */
static df_text matrix_text(const df_tensor *x, int64_t index)
{
    int64_t at[DF_MAX_NDIM];
    df_text text = {""};
    if (x->ndim == 2) return text;
    for (int d = x->ndim - 3; d >= 0; d--) {
        at[d] = index % x->shape[d];
        index /= x->shape[d];
    }
    const df_text numbers = df_shape_text(x->ndim - 2, at);
    snprintf(text.text, sizeof text.text, " %.*s", (int)sizeof text.text - 2, numbers.text);
    return text;
}

df_status DF_SYM(df_matrices_run)(const matrix_batch *batch, df_error *err)
{
    const df_call *call = batch->call;
    batch_run run = {.batch = batch, .tasks = tasks_of(batch), .workspace = call->workspace};
    if (run.tasks == 1) run_task(&run, 0); /* outside of a job, so that it may use all threads */
    else
        df_parallel_for(run.tasks, 1, 0.1 * batch->flops * (double)batch->count / (double)run.tasks,
                        run_tasks, &run);
    for (int64_t task = 0; task < run.tasks; task++)
        if (run.failed[task] >= 0)
            return df_fail(err, DF_INVALID_ARGUMENT,
                           "%s: matrix%s is %s: the pivot of row %lld is %s", call->op->name,
                           matrix_text(call->in[0], run.failed[task]).text, batch->fault,
                           (long long)run.row[task], batch->pivot);
    return DF_OK;
}

/* --- checks ----------------------------------------------------------------------------------- */

df_status DF_SYM(df_check_matrices)(const df_call *call, int input, bool square, df_error *err)
{
    const df_tensor *x = call->in[input];
    const df_dtype parts = df_real_dtype(x->dtype);
    if (parts != DF_F32 && parts != DF_F64)
        return df_fail_dtype(call, input, "float32, float64, complex64 or complex128", err);
    if (x->ndim >= 2) {
        const int64_t m = matrix_rows(x), n = matrix_columns(x);
        if (!square || m == n || m == DF_UNKNOWN || n == DF_UNKNOWN) return DF_OK;
    }
    return df_fail(err, DF_BAD_SHAPE, "%s: shape %s, expected %s", call->op->name,
                   df_shape_text(x->ndim, x->shape).text,
                   square ? "square matrices" : "matrices, the last two dimensions");
}

df_status DF_SYM(df_check_equations)(const df_call *call, int a, int b, df_error *err)
{
    const df_tensor *matrix = call->in[a], *rhs = call->in[b];
    df_status status = DF_SYM(df_check_matrices)(call, a, true, err);
    if (status == DF_OK) status = DF_SYM(df_check_matrices)(call, b, false, err);
    if (status != DF_OK) return status;
    if (matrix->dtype != rhs->dtype)
        return df_fail(err, DF_BAD_DTYPE, "%s: matrix is %s and rhs %s, expected the same",
                       call->op->name, df_dtypes[matrix->dtype].name, df_dtypes[rhs->dtype].name);
    bool equal = matrix->ndim == rhs->ndim;
    for (int d = 0; equal && d < rhs->ndim - 1; d++)
        equal = matrix->shape[d] == rhs->shape[d] || matrix->shape[d] == DF_UNKNOWN ||
                rhs->shape[d] == DF_UNKNOWN;
    if (equal) return DF_OK;
    return df_fail(err, DF_BAD_SHAPE,
                   "%s: matrix has shape %s and rhs %s, expected equal shapes except for the last "
                   "dimension", call->op->name, df_shape_text(matrix->ndim, matrix->shape).text,
                   df_shape_text(rhs->ndim, rhs->shape).text);
}
