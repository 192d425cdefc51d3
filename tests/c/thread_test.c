/* The thread pool: every block runs once, under any concurrency. */
#include "base/thread.h"

#include "check.h"
#include "base/cpu.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ITEMS 1000
#define MUCH 1e6 /* ns per item: enough for any number of threads */

typedef struct {
    int64_t n, grain;
    atomic_int count[ITEMS];
    int64_t begin_of[ITEMS]; /* plain memory: the join must make it visible */
} record;

static void count_items(void *context, int64_t begin, int64_t end)
{
    record *r = context;
    CHECK(begin % r->grain == 0 && begin < end && end == df_min(r->n, begin + r->grain));
    for (int64_t i = begin; i < end; i++) {
        atomic_fetch_add(&r->count[i], 1);
        r->begin_of[i] = begin;
    }
}

static void check_job(int64_t n, int64_t grain, double cost)
{
    record r;
    memset(&r, 0, sizeof r);
    r.n = n;
    r.grain = grain;
    df_parallel_for(n, grain, cost, count_items, &r);
    for (int64_t i = 0; i < n; i++) CHECK(r.count[i] == 1 && r.begin_of[i] == i / grain * grain);
}

static void check_jobs(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        check_job(i % ITEMS, 1 + i % 7, i % 3 ? MUCH : 10);
        if (i % 50 == 0) usleep(300); /* so that workers fall asleep */
    }
}

static void test_blocks(void)
{
    check_job(0, 1, MUCH);
    check_job(1, 1, MUCH);
    check_job(ITEMS, 1, MUCH);
    check_job(ITEMS, ITEMS + 1, MUCH);
    check_job(ITEMS, 3, 20); /* several blocks per chunk */
    check_jobs(2000);
}

static void count_calls(void *context, int64_t begin, int64_t end)
{
    CHECK(begin < end);
    atomic_fetch_add((atomic_llong *)context, end - begin);
}

static void test_huge(void)
{
    atomic_llong items = 0;
    df_parallel_for(INT64_MAX, INT64_MAX / 3, 1, count_calls, &items);
    CHECK(items == INT64_MAX);
    items = 0;
    df_parallel_for(5, INT64_MAX, MUCH, count_calls, &items);
    CHECK(items == 5);
}

static void run_inner(void *context, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) check_job(100, 3, MUCH);
    atomic_fetch_add((atomic_int *)context, (int)(end - begin));
}

static void test_nested(void)
{
    atomic_int outer = 0;
    df_parallel_for(50, 1, MUCH, run_inner, &outer);
    CHECK(outer == 50);
}

typedef struct {
    pthread_t caller;
    atomic_int elsewhere, unmasked;
} help;

static void note_thread(void *context, int64_t begin, int64_t end)
{
    help *h = context;
    sigset_t mask;
    CHECK(end == begin + 1);
    usleep(200);
    if (pthread_equal(pthread_self(), h->caller)) return;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    atomic_fetch_add(&h->elsewhere, 1);
    atomic_fetch_add(&h->unmasked, !sigismember(&mask, SIGINT));
}

/* Workers take part, awake or asleep, and leave signals to the threads of the application. On a
 * busy machine a worker may not get a core during a job, so several jobs are tried. */
static void check_help(void)
{
    if (df_num_threads() == 1) return; /* no workers */
    for (int pause = 0; pause < 2; pause++) {
        help h = {.caller = pthread_self()};
        for (int job = 0; job < 200 && h.elsewhere == 0; job++) {
            usleep(pause ? 2000 : 0);
            df_parallel_for(100, 1, MUCH, note_thread, &h);
        }
        CHECK(h.elsewhere > 0);
        CHECK(h.unmasked == 0);
    }
}

/* A slow worker, as if another process had taken its core. */
static void slow_elsewhere(void *context, int64_t begin, int64_t end)
{
    note_thread(context, begin, end);
    if (!pthread_equal(pthread_self(), ((help *)context)->caller)) usleep(50000);
}

/* After a job that the caller had to wait for, the caller works alone for ten times as long; then
 * workers take part again. Another process may take the caller's core for that time, hence several
 * attempts. */
static void test_alone_after_a_wait(void)
{
    const double little = 3000; /* ns per item: enough to wake a worker */
    bool alone = false;
    if (df_num_threads() == 1) return;
    for (int tries = 0; tries < 20 && !alone; tries++) {
        help slow = {.caller = pthread_self()}, next = slow;
        for (int job = 0; job < 200 && slow.elsewhere == 0; job++)
            df_parallel_for(100, 1, little, slow_elsewhere, &slow);
        CHECK(slow.elsewhere > 0);
        for (int job = 0; job < 3; job++) df_parallel_for(100, 1, little, note_thread, &next);
        alone = next.elsewhere == 0;
    }
    CHECK(alone);
    check_help();
}

static void *run_jobs(void *argument)
{
    check_jobs(1000);
    return argument;
}

static void check_child(pid_t child)
{
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Jobs from four threads, with forks in between: a child starts new workers, although a thread that
 * does not exist in the child may have held the pool. */
static void test_callers_and_forks(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, run_jobs, NULL));
    for (int i = 0; i < 10 * FORK_BESIDE_THREADS; i++) {
        pid_t child = fork();
        if (child == 0) {
            check_jobs(100);
            check_help();
            _exit(0);
        }
        check_child(child);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static void test_sizes(void)
{
    df_error err;
    int before = df_num_threads();
    CHECK(before >= 1 && df_cpu_cores() >= 1);
    CHECK(df_set_num_threads(0, &err) == DF_INVALID_ARGUMENT);
    CHECK(df_set_num_threads(257, &err) == DF_INVALID_ARGUMENT);
    for (int i = 0; i < 40; i++) {
        int n = 1 + i * 5 % 8;
        CHECK(df_set_num_threads(n, &err) == DF_OK && df_num_threads() == n);
        check_jobs(20);
    }
    CHECK(df_set_num_threads(before, &err) == DF_OK);
}

/* The environment is read once, so each value needs a separate process. */
static void test_environment(void)
{
    static const struct {
        const char *text;
        int threads; /* 0: ignored */
    } cases[] = {{"3", 3}, {"1", 1}, {"0", 0}, {"257", 0}, {"-2", 0}, {"4x", 0}, {"", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pid_t child = fork();
        if (child == 0) {
            setenv("DUALFLOW_NUM_THREADS", cases[i].text, 1);
            int wanted = cases[i].threads ? cases[i].threads : (int)df_min(df_cpu_cores(), 256);
            _exit(df_num_threads() != wanted);
        }
        check_child(child);
    }
}

int main(void)
{
    test_environment();
    test_blocks();
    test_huge();
    test_nested();
    check_help();
    test_alone_after_a_wait();
    test_callers_and_forks();
    test_sizes();
    return 0; /* workers are asleep or spin: exit must not wait for them */
}
