/* Common to the C test programs: CHECK exits with file and line of a failed condition. */
#ifndef DF_CHECK_H
#define DF_CHECK_H

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static inline void check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
    _exit(1); /* without cleanup, as other threads may run */
}

/* The thread sanitizer does not support a fork while other threads run; in the child, the address
 * sanitizer leaves new threads waiting for an internal lock. */
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
