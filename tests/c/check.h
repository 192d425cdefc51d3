/* What a C test program needs: CHECK stops it with the place that failed. */
#ifndef DF_CHECK_H
#define DF_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static inline void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
    _exit(1); /* other threads may run: nothing is torn down */
}

/* The thread sanitizer does not follow a fork beside other threads; in the child of one, the
 * address sanitizer leaves new threads waiting for a lock of its own. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define FORK_BESIDE_THREADS false
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define FORK_BESIDE_THREADS false
#endif
#endif
#ifndef FORK_BESIDE_THREADS
#define FORK_BESIDE_THREADS true
#endif

#define CHECK(condition) ((condition) ? (void)0 : check_failed(__FILE__, __LINE__, #condition))

#endif
