/* What the pool of thread.h has done so far. */
#ifndef DF_THREAD_COUNTS_H
#define DF_THREAD_COUNTS_H

#include <stdint.h>

typedef struct {
    int64_t jobs;       /* shared among threads */
    int64_t claims;     /* parts of those */
    int64_t by_workers; /* parts that workers ran, not the caller */
    int64_t refused;    /* jobs that ran on their caller, as another caller held the pool */
} df_thread_counts;
df_thread_counts df_count_threads(void);

#endif
