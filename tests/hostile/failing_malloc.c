/* Preloaded allocator: the n-th allocation by the extension module fails, and the next one as well,
 * which may be a second attempt; allocations by Python and other libraries never fail.
 * `fail_malloc(n)` starts counting, `fail_malloc(0)` stops. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static long left;              /* 1 + allocations until one fails; 0: no failures */
static uintptr_t begin, end;   /* the module's code */

static void find_module(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps) return;
    while (fgets(line, sizeof line, maps)) {
        unsigned long from, to;
        if (!strstr(line, "/_core.cpython") || !strstr(line, "r-xp")) continue;
        if (sscanf(line, "%lx-%lx", &from, &to) == 2) begin = from, end = to;
    }
    fclose(maps);
}

void fail_malloc(long n)
{
    if (n && !begin) find_module();
    __atomic_store_n(&left, n ? n + 1 : 0, __ATOMIC_SEQ_CST);
}

static int fails(void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (!__atomic_load_n(&left, __ATOMIC_RELAXED) || at < begin || at >= end) return 0;
    return __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) <= 1;
}

void *malloc(size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    *out = fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, bytes);
    return *out ? 0 : ENOMEM;
}
