/* The pool of worker threads.
 *
 * A job is a sequence of chunks (`chunks`), each a whole number of blocks. `job_word` holds the job
 * number, the number of chunks left and the number taken from the front. Caller and workers take
 * chunks by compare-and-swap until none is left; the caller then waits for the chunks that workers
 * are still running. So the caller never waits for a worker that has not begun: if a worker is
 * asleep or another process has its core, a job takes as long as on one thread, not as long as the
 * scheduler decides (measured: fork and join take 123 us if the join waits for a sleeping worker; 8
 * us, the time to wake it, with this scheme).
 *
 * A thread takes several chunks at a time while many are left, and single ones towards the end, for
 * balance (guided self-scheduling, Polychronopoulos and Kuck 1987). The caller takes chunks from
 * the front, workers from the back, so in consecutive jobs two threads meet the same part of the
 * data in their own caches: a product with weights that another product has just updated takes 28
 * us instead of 37. Data that another core has written come at 10 GB/s.
 *
 * A worker reads the fields of a job before it takes a chunk. They belong to that job if the
 * compare-and-swap succeeds: the caller rewrites them only after every chunk has been taken, and
 * job numbers (38 bits) repeat only after days.
 *
 * A chunk that a worker has begun cannot be taken back. If another process then takes the worker's
 * core, the caller waits for milliseconds. To bound the cost, after a wait of t jobs run on the
 * caller alone for ALONE_FACTOR * t, so that waits take at most that share of the time (a training
 * step of 110 us next to ten busy processes: 168 us of the caller's time on average, 119 with this
 * limit). The exclusion doubles while waits cost more than workers save (a step of 0.7 s next to 15
 * processes: 1.3 times as long as on one thread, 1.07 with this rule).
 *
 * One caller holds the pool at a time, from publishing a job to its end, and tasks run only within
 * that time. Hence a call from inside a task finds the pool held and runs on its own thread. */
#ifndef DF_NO_THREADS /* otherwise serial.c replaces it */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "base/thread.h"

#include "base/eventcount.h"
#include "base/cpu.h"
#include "base/environment.h"
#include "base/thread_counts.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_THREADS 256
#define STACK_BYTES ((size_t)4 << 20) /* for every C library; musl's default is 128 KiB */
#define MAX_CLAIMS 4096               /* fits COUNT_BITS; 16 for each of 256 threads */
#define COUNT_BITS 13

/* All in nanoseconds of one thread. */
#define SERIAL_NS 3000.0    /* a shorter job runs on the caller; 4 us become 2.8 on two threads */
#define CHUNK_NS 1000.0     /* least work of a chunk; taking one costs 20 to 500 */
#define MOST_AT_ONCE 16     /* chunks that a thread takes */
#define WAKE_NS 100000.0    /* work done while workers sleep that pays for waking one: 8000 for the
                             * caller, and 25000 until the worker runs */
#define SPIN_NS 60000       /* an idle worker spins this long before it sleeps */
#define STALL_NS 20000      /* a longer wait, beyond the chunk itself, has an external cause */
#define CHUNK_SLACK 4       /* chunks may take this multiple of their estimate */
#define ALONE_FACTOR 10
#define MOST_ALONE_NS 1000000000
#define PAUSES_PER_LOOK 32  /* between two reads of the clock */

#ifdef __linux__
typedef struct {
    cpu_set_t sets[8]; /* 8192 cores */
} core_set;
#endif

#define NO_CORE (-1)

typedef struct {
    int avoided; /* core that `chosen` excludes */
#ifdef __linux__
    core_set all, chosen;
#endif
} core_choice;

static struct {
    /* The job; written by the holder of the pool before it publishes a ticket. */
    alignas(DF_ALIGNMENT) _Atomic(df_task) task;
    _Atomic(void *) context;
    _Atomic int64_t n, grain, chunk_blocks, n_chunks;

    alignas(DF_ALIGNMENT) _Atomic uint64_t job_word; /* job number, taken from front, left: see
                                                      * chunks_left */
    alignas(DF_ALIGNMENT) _Atomic int64_t done;    /* chunks finished */

    alignas(DF_ALIGNMENT) atomic_bool held; /* by the caller whose job runs */
    atomic_int n_threads;                   /* including the caller; 0: not determined yet */
    atomic_int n_asleep;
    atomic_int core; /* of a caller when it last woke or started a worker */

    /* The next five are used by the holder only. */
    int n_started;     /* workers */
    bool start_failed; /* the system refused a thread; use the existing ones */
    double unserved;   /* ns of work since a worker was last woken */
    int64_t alone_ns;  /* duration of the last exclusion of workers */
    double saved;      /* ns of work that workers have done since then */

    _Atomic int64_t jobs, chunks, by_workers; /* statistics, written by the holder */
    _Atomic int64_t refused;

    _Atomic int64_t alone_until; /* end of the exclusion of workers; 0: not excluded */

    alignas(DF_ALIGNMENT) df_eventcount work; /* workers in use sleep here */
    df_eventcount resize;               /* workers beyond n_threads sleep here */
} pool = {.core = NO_CORE, .work = DF_EVENTCOUNT_INIT, .resize = DF_EVENTCOUNT_INIT};

static inline void pause_briefly(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The job number is above the two counts. */
static int64_t chunks_left(uint64_t job_word) { return job_word & ((1u << COUNT_BITS) - 1); }
static int64_t chunks_taken(uint64_t job_word) { return chunks_left(job_word >> COUNT_BITS); }

/* Runs blocks [first, last) of a job over n items, one call each. */
static void run_blocks(df_task task, void *context, int64_t n, int64_t grain, int64_t first,
                       int64_t last)
{
    for (int64_t i = first; i < last; i++) {
        int64_t begin = i * grain;
        task(context, begin, n - begin < grain ? n : begin + grain);
    }
}

static int64_t count_blocks(int64_t n, int64_t grain) { return n / grain + (n % grain != 0); }

/* Number of chunks to take when some are left: half of an equal share. */
static int64_t n_at_once(int64_t left)
{
    const int threads = atomic_load_explicit(&pool.n_threads, memory_order_relaxed);
    return df_max(1, df_min(left / (2 * threads), MOST_AT_ONCE));
}

/* Takes and runs chunks of the current job, if any, until none is left. Returns their number. */
static int64_t run_chunks(bool from_front)
{
    int64_t n_run = 0;
    const uint64_t taken = from_front ? 1 - (UINT64_C(1) << COUNT_BITS) : 1;
    uint64_t job_word = atomic_load_explicit(&pool.job_word, memory_order_acquire);
    while (chunks_left(job_word)) {
        df_task task = atomic_load_explicit(&pool.task, memory_order_relaxed);
        void *context = atomic_load_explicit(&pool.context, memory_order_relaxed);
        int64_t n = atomic_load_explicit(&pool.n, memory_order_relaxed);
        int64_t grain = atomic_load_explicit(&pool.grain, memory_order_relaxed);
        int64_t blocks = atomic_load_explicit(&pool.chunk_blocks, memory_order_relaxed);
        int64_t many = n_at_once(chunks_left(job_word));
        if (!atomic_compare_exchange_weak_explicit(&pool.job_word, &job_word,
                                                   job_word - (uint64_t)many * taken,
                                                   memory_order_acq_rel, memory_order_acquire))
            continue;
        int64_t chunk = chunks_taken(job_word) + (from_front ? 0 : chunks_left(job_word) - many);
        int64_t first = chunk * blocks, end = first + many * blocks;
        run_blocks(task, context, n, grain, first, df_min(end, count_blocks(n, grain)));
        atomic_fetch_add_explicit(&pool.done, many, memory_order_release);
        n_run += many;
        job_word = atomic_load_explicit(&pool.job_word, memory_order_acquire);
    }
    return n_run;
}

/* Adds to a counter with a single writer. */
static void count(_Atomic int64_t *number, int64_t n)
{
    atomic_store_explicit(number, atomic_load_explicit(number, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

df_thread_counts df_count_threads(void)
{
    return (df_thread_counts){atomic_load(&pool.jobs), atomic_load(&pool.chunks),
                              atomic_load(&pool.by_workers), atomic_load(&pool.refused)};
}

static bool has_work(void)
{
    return chunks_left(atomic_load_explicit(&pool.job_word, memory_order_relaxed)) > 0;
}

static bool in_use(int worker)
{
    return worker < atomic_load_explicit(&pool.n_threads, memory_order_relaxed) - 1;
}

static void spin_for_work(void)
{
    int64_t end = now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < PAUSES_PER_LOOK; i++) {
            if (has_work()) return;
            pause_briefly();
        }
        if (atomic_load_explicit(&pool.alone_until, memory_order_relaxed)) return;
    } while (now_ns() < end);
}

static void note_core(void)
{
#ifdef __linux__
    atomic_store_explicit(&pool.core, sched_getcpu(), memory_order_relaxed);
#endif
}

/* Wakes at most two workers, each of which wakes two more. */
static void wake_workers(void)
{
    if (atomic_load_explicit(&pool.n_asleep, memory_order_relaxed) > 0)
        df_eventcount_notify(&pool.work, 2);
}

/* In a virtual machine Linux takes a halted core for a preempted one and wakes a worker on the
 * caller's core although another core is idle. The worker then competes with the caller for
 * milliseconds (measured: a job of 1 ms after a pause took 1.02 ms, 0.53 with this function). So
 * workers avoid the core that callers run on. */
static void avoid_core_of_caller(core_choice *choice)
{
#ifdef __linux__
    int core = atomic_load_explicit(&pool.core, memory_order_relaxed);
    core_set now;
    if (core == choice->avoided || sched_getaffinity(0, sizeof now, now.sets)) return;
    /* The mask was changed from outside: it is the new set of allowed cores. */
    if (choice->avoided == NO_CORE || memcmp(&now, &choice->chosen, sizeof now)) choice->all = now;
    choice->chosen = choice->all;
    CPU_CLR_S((size_t)core, sizeof now, choice->chosen.sets);
    if (CPU_COUNT_S(sizeof now, choice->chosen.sets) > 0)
        sched_setaffinity(0, sizeof now, choice->chosen.sets);
    choice->avoided = core;
#else
    (void)choice;
#endif
}

static void sleep_for_work(int worker)
{
    unsigned epoch = df_eventcount_prepare_wait(&pool.work);
    atomic_fetch_add_explicit(&pool.n_asleep, 1, memory_order_relaxed);
    if (in_use(worker) && !has_work()) df_eventcount_wait(&pool.work, epoch);
    atomic_fetch_sub_explicit(&pool.n_asleep, 1, memory_order_relaxed);
    for (;;) {
        epoch = df_eventcount_prepare_wait(&pool.resize);
        if (in_use(worker)) break;
        df_eventcount_wait(&pool.resize, epoch);
    }
    if (has_work()) wake_workers();
}

static void *work(void *argument)
{
    int worker = (int)(intptr_t)argument;
    core_choice cores = {.avoided = NO_CORE};
    for (;;) {
        avoid_core_of_caller(&cores);
        spin_for_work();
        if (in_use(worker) && has_work()) run_chunks(false);
        else sleep_for_work(worker);
    }
    return NULL;
}

/* The child of a fork has no workers, and the thread that held the pool may be gone. */
static void forget_workers(void)
{
    atomic_store(&pool.job_word, 0);
    atomic_store(&pool.n_asleep, 0);
    atomic_store(&pool.alone_until, 0);
    pool.n_started = 0;
    pool.start_failed = false;
    pool.work = (df_eventcount)DF_EVENTCOUNT_INIT;
    pool.resize = (df_eventcount)DF_EVENTCOUNT_INIT;
    atomic_store(&pool.held, false);
}

/* Registered at load: a fork may happen while the first job starts. */
__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget_workers);
}

/* Starts missing workers; pool held. Workers block every signal, since handlers belong to the
 * threads of the application. */
static void start_workers(int wanted)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    if (pool.n_started >= wanted || pool.start_failed || pthread_attr_init(&attributes)) return;
    note_core();
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (pool.n_started < wanted && !pool.start_failed) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, work, (void *)(intptr_t)pool.n_started))
            pool.start_failed = true;
        else
            pool.n_started++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
}

/* Chooses chunks large enough that taking one is cheap, and enough of them to balance the load. */
static void publish(int64_t n, int64_t grain, double total_ns, df_task task, void *context)
{
    int64_t n_blocks = count_blocks(n, grain);
    double wanted = total_ns / CHUNK_NS;
    int64_t limit = wanted < MAX_CLAIMS ? df_max(1, (int64_t)wanted) : MAX_CLAIMS;
    int64_t blocks = count_blocks(n_blocks, limit), n_chunks = count_blocks(n_blocks, blocks);
    atomic_store_explicit(&pool.task, task, memory_order_relaxed);
    atomic_store_explicit(&pool.context, context, memory_order_relaxed);
    atomic_store_explicit(&pool.n, n, memory_order_relaxed);
    atomic_store_explicit(&pool.grain, grain, memory_order_relaxed);
    atomic_store_explicit(&pool.chunk_blocks, blocks, memory_order_relaxed);
    atomic_store_explicit(&pool.n_chunks, n_chunks, memory_order_relaxed);
    atomic_store_explicit(&pool.done, 0, memory_order_relaxed);
    uint64_t job = (atomic_load_explicit(&pool.job_word,
                                         memory_order_relaxed) >> 2 * COUNT_BITS) + 1;
    atomic_store_explicit(&pool.job_word, job << 2 * COUNT_BITS | (uint64_t)n_chunks,
                          memory_order_release);
}

/* Excludes workers after a wait with an external cause. If the wait cost more than workers have
 * saved since the previous exclusion, the machine is too busy, and the exclusion doubles. */
static void leave_workers_out(int64_t now, int64_t waited)
{
    int64_t ns = ALONE_FACTOR * waited;
    if ((double)waited > pool.saved) ns = df_max(ns, 2 * pool.alone_ns);
    pool.alone_ns = df_min(ns, MOST_ALONE_NS);
    pool.saved = 0;
    atomic_store_explicit(&pool.alone_until, now + pool.alone_ns, memory_order_relaxed);
}

/* Waits for the chunks that workers have taken. */
static void join(double total_ns)
{
    int64_t n_chunks = atomic_load_explicit(&pool.n_chunks, memory_order_relaxed), start = 0;
    for (int looks = 0;
         atomic_load_explicit(&pool.done, memory_order_acquire) < n_chunks; looks++) {
        if (looks % PAUSES_PER_LOOK == PAUSES_PER_LOOK - 1) {
            int64_t now = now_ns();
            if (!start) start = now;
            if (now - start > SPIN_NS) sched_yield(); /* the worker may have lost its core to this
                                                       * thread */
        }
        pause_briefly();
    }
    if (!start) return;
    int64_t now = now_ns(), waited = now - start;
    const double most_ns = total_ns / (double)n_chunks * (double)n_at_once(n_chunks);
    if ((double)waited > STALL_NS + CHUNK_SLACK * most_ns)
        leave_workers_out(now, waited);
}

/* True if a job would end before workers may take part again. */
static bool better_alone(double total_ns)
{
    int64_t until = atomic_load_explicit(&pool.alone_until, memory_order_relaxed);
    if (!until) return false;
    int64_t left = until - now_ns();
    if (left <= 0) atomic_store_explicit(&pool.alone_until, 0, memory_order_relaxed);
    return total_ns < (double)left;
}

static bool hold_pool(void)
{
    return !atomic_load_explicit(&pool.held, memory_order_relaxed) &&
           !atomic_exchange_explicit(&pool.held, true, memory_order_acquire);
}

static void release_pool(void) { atomic_store_explicit(&pool.held, false, memory_order_release); }

void df_parallel_for(int64_t n, int64_t grain, double cost, df_task task, void *context)
{
    double total_ns = (double)n * cost;
    if (n <= 0) return;
    grain = df_max(1, grain);
    bool shared = n > grain && total_ns >= SERIAL_NS && df_num_threads() > 1 &&
                  !better_alone(total_ns);
    if (!shared || !hold_pool()) {
        if (shared) atomic_fetch_add_explicit(&pool.refused, 1, memory_order_relaxed);
        run_blocks(task, context, n, grain, 0, count_blocks(n, grain));
        return;
    }
    start_workers(df_num_threads() - 1);
    publish(n, grain, total_ns, task, context);
    if (atomic_load_explicit(&pool.n_asleep, memory_order_relaxed) > 0) {
        pool.unserved += total_ns;
        if (pool.unserved >= WAKE_NS) {
            pool.unserved = 0;
            note_core();
            wake_workers();
        }
    }
    int64_t n_chunks = atomic_load_explicit(&pool.n_chunks, memory_order_relaxed);
    int64_t own = run_chunks(true);
    pool.saved += total_ns * (double)(n_chunks - own) / (double)n_chunks;
    join(total_ns);
    count(&pool.jobs, 1);
    count(&pool.chunks, n_chunks);
    count(&pool.by_workers, n_chunks - own);
    release_pool();
}

/* The integer at the start of an environment variable, or 0 if it is unset or is not positive. The
 * integer must be followed by the end or by the character `end`. */
static long positive_from_environment(const char *name, char end)
{
    const char *text = getenv(name);
    char *rest;
    if (!text || !*text) return 0;
    long n = strtol(text, &rest, 10);
    while (*rest == ' ') rest++;
    return n >= 1 && (*rest == '\0' || *rest == end) ? n : 0;
}

static int threads_at_start(void)
{
    long n = positive_from_environment("DUALFLOW_NUM_THREADS", '\0');
    if (n && n <= MAX_THREADS) return (int)n;
    n = positive_from_environment("OMP_NUM_THREADS", ','); /* a list has a number per level */
    return (int)df_min(n ? n : df_cpu_cores(), MAX_THREADS);
}

df_status df_check_num_threads(df_error *err)
{
    const char *text = getenv("DUALFLOW_NUM_THREADS");
    long n = positive_from_environment("DUALFLOW_NUM_THREADS", '\0');
    if (text && *text && (n < 1 || n > MAX_THREADS))
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "DUALFLOW_NUM_THREADS=%.100s: expected an integer from 1 to %d", text,
                       MAX_THREADS);
    return DF_OK;
}

int df_num_threads(void)
{
    int n = atomic_load_explicit(&pool.n_threads, memory_order_relaxed);
    if (n) return n;
    int first = threads_at_start();
    return atomic_compare_exchange_strong(&pool.n_threads, &n, first) ? first : n;
}

df_status df_set_num_threads(int n, df_error *err)
{
    if (n < 1 || n > MAX_THREADS)
        return df_fail(err, DF_INVALID_ARGUMENT, "set_num_threads: %d threads, expected 1 to %d", n,
                       MAX_THREADS);
    atomic_store(&pool.n_threads, n);
    df_eventcount_notify(&pool.work, MAX_THREADS);
    df_eventcount_notify(&pool.resize, MAX_THREADS);
    return DF_OK;
}
#endif
