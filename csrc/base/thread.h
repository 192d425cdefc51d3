/* The process-wide pool of worker threads, started on first use, safe across fork. */
#ifndef DF_THREAD_H
#define DF_THREAD_H

#include "base/status.h"

/* Processes items [begin, end) of a job; end - begin <= grain, begin is a multiple of grain. */
typedef void (*df_task)(void *context, int64_t begin, int64_t end);

/* Runs `task` over [0, n) in blocks of `grain` items and returns when all are done.
 *
 * Blocks do not depend on the number of threads, so a result that depends on the split (a partial
 * sum per block, at index begin / grain) is bit-identical for any thread count. Blocks are
 * scheduled dynamically. `cost` is the estimated time of one item in nanoseconds: jobs too short to
 * be worth a wake-up, calls from inside a task, and calls while another thread holds the pool run
 * on the caller alone, block by block. A task may not fork; other threads may at any time. */
void df_parallel_for(int64_t n, int64_t grain, double cost, df_task task, void *context);

/* Threads a job may use, including the caller: DUALFLOW_NUM_THREADS, otherwise OMP_NUM_THREADS,
 * otherwise the smaller of the CPU affinity mask and the cgroup quota. */
int df_num_threads(void);

/* Changes the number of threads, 1 to 256, for jobs that start later. */
df_status df_set_num_threads(int n, df_error *err);

#endif
