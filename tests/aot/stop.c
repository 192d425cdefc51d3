/* Stops a program that counts without end: by a signal, by a thread, and before it starts. Each
 * time one run fails, and the next run completes. */
#include "dualflow.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static dualflow *f;

static void on_alarm(int number)
{
    (void)number;
    dualflow_stop(f);
}

static void *wait_and_stop(void *unused)
{
    usleep(50000);
    dualflow_stop(f);
    return unused;
}

/* Returns 1 if counting to n is stopped, 0 if it completes, -1 on another failure. */
static int is_stopped(int64_t n)
{
    int64_t counted = -1;
    if (dualflow_set(f, 0, &n, sizeof n)) return -1;
    if (!dualflow_run(f)) {
        if (dualflow_get(f, 0, &counted, sizeof counted) || counted != n) return -1;
        return 0;
    }
    if (strncmp(dualflow_error(f), "stopped", 7)) return -1;
    return dualflow_get(f, 0, &counted, sizeof counted) ? 1 : -1; /* no value */
}

int main(int argc, char **argv)
{
    char error[1000];
    const int64_t endless = INT64_MAX;
    pthread_t thread;
    f = argc > 1 ? dualflow_load(argv[1], error, sizeof error) : NULL;
    if (!f) return 1;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 50000}}, NULL);
    if (is_stopped(endless) != 1 || is_stopped(10) != 0) return 2;
    printf("by a signal, ");
    if (pthread_create(&thread, NULL, wait_and_stop, NULL)) return 3;
    if (is_stopped(endless) != 1 || is_stopped(20) != 0) return 4;
    pthread_join(thread, NULL);
    printf("by a thread, ");
    dualflow_stop(f);
    dualflow_stop(f);
    if (is_stopped(30) != 1 || is_stopped(30) != 0) return 5;
    printf("before it begins\n");
    dualflow_free(f);
    return 0;
}
