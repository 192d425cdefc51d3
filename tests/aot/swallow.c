/* Loads and runs possibly invalid program files, named by lines of the standard input, for the
 * sanitizers, above all MemorySanitizer. Each file runs in a new process with fresh memory. Every
 * byte of the outputs is read. Long runs are stopped. Writes the number of files per outcome, and
 * exits with 1 at the first file whose process failed. */
#include "dualflow.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE ((size_t)1 << 26)
#define SECONDS 20 /* after which an unhandled alarm ends the process */

/* Exit codes of a process start at a number that no sanitizer uses. */
enum { FIRST = 40 };
enum { RAN, REFUSED, FAILED, STOPPED, TOO_LARGE, N_ENDS };
static const char *const ends[N_ENDS] = {"ran", "refused", "failed", "stopped", "too large"};

static dualflow *f;

static void on_alarm(int number)
{
    signal(number, SIG_DFL);
    alarm(SECONDS);
    dualflow_stop(f);
}

/* Fills the inputs with small values, which are valid bits of any dtype, bool included. */
static int give(int turn)
{
    for (int k = 0; dualflow_input(f, k).name; k++) {
        const dualflow_tensor t = dualflow_input(f, k);
        unsigned char *data = t.bytes > LARGE ? NULL : calloc(t.bytes + 1, 1);
        if (!data) return TOO_LARGE;
        const size_t step = !strcmp(t.dtype, "bool") ? 1 : strstr(t.dtype, "64") ? 8 : 4;
        for (size_t i = 0; i < t.bytes; i += step)
            data[i] = (unsigned char)((i / step + (size_t)turn) % 2);
        if (dualflow_set(f, k, data, t.bytes)) exit(99);
        free(data);
    }
    return RAN;
}

/* Branches on each byte of the outputs, so that uninitialised ones are reported. */
static int look(void)
{
    static volatile int seen;
    for (int k = 0; dualflow_output(f, k).name; k++) {
        const dualflow_tensor t = dualflow_output(f, k);
        unsigned char *data = t.bytes > LARGE ? NULL : malloc(t.bytes + 1);
        if (!data) return TOO_LARGE;
        if (dualflow_get(f, k, data, t.bytes)) exit(99);
        for (size_t i = 0; i < t.bytes; i++)
            if (data[i] == 0x5a) seen++;
        free(data);
    }
    return RAN;
}

static int attempt(const char *path)
{
    char error[1000] = "";
    f = dualflow_load(path, error, sizeof error);
    if (!f) return strstr(error, "no memory") ? TOO_LARGE : REFUSED;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 300000}}, NULL);
    for (int turn = 0; turn < 2; turn++) {
        int end = give(turn);
        if (end == RAN && dualflow_run(f))
            end = strncmp(dualflow_error(f), "stopped", 7) ? FAILED : STOPPED;
        if (end == RAN) end = look();
        if (end != RAN) return end;
    }
    dualflow_free(f);
    return RAN;
}

int main(void)
{
    char path[4096];
    int counts[N_ENDS] = {0};
    while (fgets(path, sizeof path, stdin)) {
        int status = 0;
        path[strcspn(path, "\n")] = 0;
        const pid_t child = fork();
        if (child < 0) return 2;
        if (child == 0) _exit(FIRST + attempt(path));
        if (waitpid(child, &status, 0) != child) return 2;
        if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) { /* one long instruction */
            counts[STOPPED]++;
        } else if (!WIFEXITED(status) || WEXITSTATUS(status) < FIRST ||
                   WEXITSTATUS(status) >= FIRST + N_ENDS) {
            printf("%s: status %d\n", path, status);
            return 1;
        } else {
            counts[WEXITSTATUS(status) - FIRST]++;
        }
    }
    for (int k = 0; k < N_ENDS; k++) printf("%s %d, ", ends[k], counts[k]);
    printf("no other end\n");
    return 0;
}
