/* An event count: threads sleep on a bell until it rings. Used by the thread pool. Ringing never
 * blocks on a thread that is about to sleep: a bell is a futex on Linux, elsewhere a mutex and a
 * condition variable, whose critical sections are short. A waiter must call df_bell_heard before it
 * checks its condition. */
#ifndef DF_BELL_H
#define DF_BELL_H

#include <stdatomic.h>

#ifdef __linux__
#if __has_include(<linux/futex.h>)
#include <linux/futex.h>
#else /* musl may lack the kernel's headers */
#define FUTEX_WAIT_PRIVATE 128
#define FUTEX_WAKE_PRIVATE 129
#endif
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct {
    atomic_uint rings;
} df_bell;
#define DF_BELL {0}
#else
#include <pthread.h>

typedef struct {
    atomic_uint rings;
    pthread_mutex_t mutex;
    pthread_cond_t rung;
} df_bell;
#define DF_BELL {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER}
#endif

/* Returns the current epoch. Read it before checking the condition, so that no later ring is
 * missed. */
static inline unsigned df_bell_heard(df_bell *bell)
{
    return atomic_load_explicit(&bell->rings, memory_order_acquire);
}

#ifdef __linux__
/* Sleeps unless the bell has rung since `heard`. Spurious wake-ups are possible. */
static inline void df_bell_wait(df_bell *bell, unsigned heard)
{
    syscall(SYS_futex, &bell->rings, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
}

/* Advances the epoch and wakes at most `n` sleepers. */
static inline void df_bell_ring(df_bell *bell, int n)
{
    atomic_fetch_add_explicit(&bell->rings, 1, memory_order_release);
    syscall(SYS_futex, &bell->rings, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}
#else
static inline void df_bell_wait(df_bell *bell, unsigned heard)
{
    pthread_mutex_lock(&bell->mutex);
    if (df_bell_heard(bell) == heard) pthread_cond_wait(&bell->rung, &bell->mutex);
    pthread_mutex_unlock(&bell->mutex);
}

static inline void df_bell_ring(df_bell *bell, int n)
{
    pthread_mutex_lock(&bell->mutex);
    atomic_fetch_add_explicit(&bell->rings, 1, memory_order_release);
    while (n-- > 0) pthread_cond_signal(&bell->rung);
    pthread_mutex_unlock(&bell->mutex);
}
#endif

#endif
