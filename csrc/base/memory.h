/* Reference-counted buffers and the free list they come from; page faults on fresh memory cost more
 * than most kernels. Used by tensors and program arenas. This file knows bytes only, no dtypes or
 * shapes. */
#ifndef DF_MEMORY_H
#define DF_MEMORY_H

#include "base/status.h"

/* Memory shared by tensors. Data starts on a 64-byte boundary, and the block is a multiple of 64
 * bytes. */
typedef struct df_buffer {
    int32_t refs;   /* atomic */
    int32_t bucket; /* of the free list; -1: foreign memory */
    int64_t bytes;  /* capacity from `data`: the requested size rounded up to its bucket */
    void *data;
    void (*release)(void *owner); /* foreign memory: called once when refs reaches 0 */
    void *owner;
} df_buffer;

/* Returns a new buffer with one reference, or NULL if out of memory. 0 bytes is allowed. A request
 * that exceeds physical memory and swap together with the live buffers fails at once: the system
 * would grant it and kill the process when the memory is written. */
df_buffer *df_buffer_new(int64_t bytes);
/* Wraps foreign memory. Returns NULL if out of memory; `release` is not called then. */
df_buffer *df_buffer_wrap(void *data, int64_t bytes, void (*release)(void *), void *owner);
void df_buffer_retain(df_buffer *buffer);
void df_buffer_release(df_buffer *buffer); /* NULL is allowed */
int32_t df_buffer_refs(const df_buffer *buffer);
/* True if the holder of a reference may write: it is the only one, and the memory is not
 * foreign. */
bool df_buffer_is_exclusive(const df_buffer *buffer);

/* Scratch memory of at least `bytes`, for example a program's arena, to be returned with
 * df_scratch_give. NULL if out of memory. Returned buffers are cached for reuse: at most as many as
 * were in use at once, at most DF_SCRATCH_PIECES, and at most one larger than DF_LARGE_SCRATCH. A
 * cached buffer that is too small is replaced by a larger one, so buffers grow to the largest
 * request. */
#define DF_SCRATCH_PIECES 4
#define DF_LARGE_SCRATCH ((int64_t)64 << 20)
df_buffer *df_scratch_take(int64_t bytes);
void df_scratch_give(df_buffer *scratch);

/* Bytes in the free list and idle scratch, bytes in live buffers and their peak; number of
 * allocations, including those served from the free list. Wrapped memory is not counted. */
typedef struct {
    int64_t cached, live, peak, allocations;
} df_memory_stats;
df_memory_stats df_memory(void);

/* Bytes in live buffers and scratch by the thread that allocated them, whichever thread frees them.
 * `thread` is the system's id; threads that share the last table entry have 0. */
typedef struct {
    uint64_t thread;
    int64_t live;
} df_thread_memory;
#define DF_MEMORY_THREADS 64
/* Fills `all` with the threads that run or have live bytes; returns their number. */
int df_memory_by_thread(df_thread_memory all[DF_MEMORY_THREADS]);

void df_memory_trim(void);       /* returns cached memory to the system */
void df_memory_reset_peak(void); /* peak = live */

#endif
