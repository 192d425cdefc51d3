/* Reference-counted buffers and the free list they come from, because faulting in a fresh page
 * costs more than most kernels. Knows bytes only: no dtype, no shape. */
#ifndef DF_MEMORY_H
#define DF_MEMORY_H

#include "base/status.h"

/* Memory shared by the tensors that look at it. Data starts on a 64-byte boundary and its block is
 * a multiple of 64 bytes. */
typedef struct df_buffer {
    int32_t refs;   /* atomic */
    int32_t bucket; /* of the free list; -1: foreign memory */
    int64_t bytes;  /* usable from `data`: what was asked for, rounded up to its bucket */
    void *data;
    void (*release)(void *owner); /* foreign memory: called once when refs reach 0 */
    void *owner;
} df_buffer;

/* A new buffer with one reference; NULL when there is no memory. 0 bytes is allowed. A request that
 * together with the live buffers exceeds physical memory and swap is refused at once: the system
 * would grant it and kill the process when it is written to. */
df_buffer *df_buffer_new(int64_t bytes);
/* Wraps foreign memory; NULL when there is no memory (then `release` is not called). */
df_buffer *df_buffer_wrap(void *data, int64_t bytes, void (*release)(void *), void *owner);
void df_buffer_retain(df_buffer *buffer);
void df_buffer_release(df_buffer *buffer); /* NULL is allowed */
int32_t df_buffer_refs(const df_buffer *buffer);
/* Whether the holder of a reference may write: nobody else has one, and it is not foreign. */
bool df_buffer_is_exclusive(const df_buffer *buffer);

/* Scratch memory of at least `bytes`, to be given back when a piece of work is done, as programs do
 * with their arenas; NULL when there is no memory. Pieces that are given back are kept for whoever
 * asks next: as many as were out at the same time, at most DF_SCRATCH_PIECES, and at most one
 * beyond DF_LARGE_SCRATCH bytes. A piece that is too small is replaced by one that is not, so
 * pieces grow to the largest request. */
#define DF_SCRATCH_PIECES 4
#define DF_LARGE_SCRATCH ((int64_t)64 << 20)
df_buffer *df_scratch_take(int64_t bytes);
void df_scratch_give(df_buffer *scratch);

/* Bytes held by the free list and as scratch, bytes in live buffers, and the highest value of the
 * latter; how often a buffer was handed out. Wrapped memory is not counted. */
typedef struct {
    int64_t cached, live, peak, allocations;
} df_memory_stats;
df_memory_stats df_memory(void);

/* Bytes in live buffers and scratch that a thread asked for, whoever gives them back. Threads are
 * known by the system's number; those that share what is left of the table have number 0. */
typedef struct {
    uint64_t thread;
    int64_t live;
} df_thread_memory;
#define DF_MEMORY_THREADS 64
/* Fills `all` with those that run or still have something live; returns how many. */
int df_memory_by_thread(df_thread_memory all[DF_MEMORY_THREADS]);

void df_memory_trim(void);       /* returns what is cached to the system */
void df_memory_reset_peak(void); /* peak = live */

#endif
