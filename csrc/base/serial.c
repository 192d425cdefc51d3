/* The interface of thread.c in a build without threads: the caller runs all blocks, the same
 * blocks. */
#include "base/environment.h"
#include "base/thread.h"

#include "base/thread_counts.h"

#ifdef DF_NO_THREADS
void df_parallel_for(int64_t n, int64_t grain, double cost, df_task task, void *context)
{
    (void)cost;
    grain = df_max(1, grain);
    for (int64_t begin = 0; begin < n; begin += df_min(grain, n - begin))
        task(context, begin, n - begin < grain ? n : begin + grain);
}

int df_num_threads(void) { return 1; }

df_status df_check_num_threads(df_error *err)
{
    (void)err;
    return DF_OK;
}

df_status df_set_num_threads(int n, df_error *err)
{
    if (n == 1) return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT, "set_num_threads: %d threads, expected 1: this "
                       "build has no threads", n);
}

df_thread_counts df_count_threads(void) { return (df_thread_counts){0, 0, 0, 0}; }
#endif
