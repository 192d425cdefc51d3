/* An event count: threads sleep on a bell until it rings. Used by the thread pool. Ringing never
 * blocks on a thread that is about to sleep: a bell is a futex on Linux, elsewhere a mutex and a
 * condition variable, whose critical sections are short. A waiter must call
 * df_eventcount_prepare_wait before it checks its condition. */
#ifndef DF_EVENTCOUNT_H
#define DF_EVENTCOUNT_H

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
    atomic_uint epoch;
} df_eventcount;
#define DF_EVENTCOUNT_INIT {0}
#else
#include <pthread.h>

typedef struct {
    atomic_uint epoch;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
} df_eventcount;
#define DF_EVENTCOUNT_INIT {0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER}
#endif

/* Returns the current epoch. Read it before checking the condition, so that no later ring is
 * missed. */
static inline unsigned df_eventcount_prepare_wait(df_eventcount *ec)
{
    return atomic_load_explicit(&ec->epoch, memory_order_acquire);
}

#ifdef __linux__
/* Sleeps unless the bell has rung since `epoch`. Spurious wake-ups are possible. */
static inline void df_eventcount_wait(df_eventcount *ec, unsigned epoch)
{
    syscall(SYS_futex, &ec->epoch, FUTEX_WAIT_PRIVATE, epoch, NULL, NULL, 0);
}

/* Advances the epoch and wakes at most `n` sleepers. */
static inline void df_eventcount_notify(df_eventcount *ec, int n)
{
    atomic_fetch_add_explicit(&ec->epoch, 1, memory_order_release);
    syscall(SYS_futex, &ec->epoch, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}
#else
static inline void df_eventcount_wait(df_eventcount *ec, unsigned epoch)
{
    pthread_mutex_lock(&ec->mutex);
    if (df_eventcount_prepare_wait(ec) == epoch) pthread_cond_wait(&ec->cond, &ec->mutex);
    pthread_mutex_unlock(&ec->mutex);
}

static inline void df_eventcount_notify(df_eventcount *ec, int n)
{
    pthread_mutex_lock(&ec->mutex);
    atomic_fetch_add_explicit(&ec->epoch, 1, memory_order_release);
    while (n-- > 0) pthread_cond_signal(&ec->cond);
    pthread_mutex_unlock(&ec->mutex);
}
#endif

#endif
