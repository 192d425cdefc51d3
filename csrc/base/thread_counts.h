/* Statistics of the thread pool since the process started. */
#ifndef DF_THREAD_COUNTS_H
#define DF_THREAD_COUNTS_H

#include <stdint.h>

typedef struct {
    int64_t jobs;       /* jobs shared among threads */
    int64_t chunks;     /* chunks of these jobs */
    int64_t by_workers; /* chunks run by workers, not by the caller */
    int64_t refused;    /* jobs run by their caller alone because another caller held the pool */
} df_thread_counts;
df_thread_counts df_count_threads(void);

#endif
