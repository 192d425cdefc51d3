/* Asks the processor for its SIMD levels, and the system how many cores this process may use. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "base/cpu.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#endif

#if defined(__x86_64__) || defined(__i386__)
bool df_cpu_has(df_isa isa)
{
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    switch (isa) {
    case DF_ISA_BASELINE: return true;
    case DF_ISA_AVX2: return avx2;
    case DF_ISA_AVX512:
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    default: return false;
    }
}
#else
bool df_cpu_has(df_isa isa)
{
#ifdef __aarch64__
    if (isa == DF_ISA_NEON) return true; /* part of the architecture */
#endif
    return isa == DF_ISA_BASELINE;
}
#endif

#if defined(__x86_64__) && defined(__linux__)
#define PERMIT 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18  /* XFEATURE_XTILEDATA */

static df_bfloat16 ask_bfloat16(void)
{
    const char *wanted = getenv("DUALFLOW_BFLOAT16");
    unsigned a, b, c, d, more;
    if ((wanted && !strcmp(wanted, "float32")) || !df_cpu_has(DF_ISA_AVX512) ||
        !__get_cpuid_count(7, 1, &more, &b, &c, &d) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) ||
        !(more >> 5 & 1))
        return DF_BF16_WIDE;
    const bool has_tiles = d >> 22 & d >> 24 & 1;
    if (!has_tiles || (wanted && !strcmp(wanted, "pairs"))) return DF_BF16_PAIRS;
    /* beside tiles, instructions that add up pairs are slower than those of float32 */
    if (syscall(SYS_arch_prctl, PERMIT, TILE_DATA)) return DF_BF16_WIDE;
    return DF_BF16_TILES;
}
#else
static df_bfloat16 ask_bfloat16(void) { return DF_BF16_WIDE; }
#endif

df_bfloat16 df_cpu_bfloat16(void)
{
    static atomic_int known; /* 0: not yet. All who ask are told the same */
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (!found) {
        found = (int)ask_bfloat16() + 1;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return (df_bfloat16)(found - 1);
}

#define MAX_CORES 65536 /* anything larger is not a number of cores */

#ifdef __linux__
#define PATH_BYTES 512

/* The `index`-th number in the first line of `folder`/`file`; -1 when there is none. */
static double read_number(const char *folder, const char *file, int index)
{
    char path[PATH_BYTES + 32], line[128];
    double values[2] = {-1, -1};
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "re");
    if (!stream) return -1;
    if (fgets(line, sizeof line, stream))
        sscanf(line, "%lf %lf", &values[0], &values[1]); /* "max" is not a number: no limit */
    fclose(stream);
    return values[index];
}

/* Cores granted by the control group at `folder`, either version; MAX_CORES without a limit. */
static double group_cores(const char *folder)
{
    double quota = read_number(folder, "cpu.max", 0), period = read_number(folder, "cpu.max", 1);
    if (quota <= 0) {
        quota = read_number(folder, "cpu.cfs_quota_us", 0);
        period = read_number(folder, "cpu.cfs_period_us", 0);
    }
    return quota > 0 && period > 0 ? quota / period : MAX_CORES;
}

/* The least granted by `group`, below `mount`, or by a group around it. A container may see the
 * path on the host, which does not exist inside it: then only the mount itself counts. */
static double least_cores(const char *mount, const char *group)
{
    char folder[PATH_BYTES];
    double least = MAX_CORES;
    if (snprintf(folder, sizeof folder, "%s%s", mount, group) >= (int)sizeof folder)
        snprintf(folder, sizeof folder, "%s", mount);
    for (;;) {
        double cores = group_cores(folder);
        if (cores < least) least = cores;
        char *slash = strrchr(folder, '/');
        if (!slash || strlen(folder) <= strlen(mount)) return least;
        *slash = '\0';
    }
}

/* Whether the comma-separated `list` has `name`. */
static bool list_has(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (!strncmp(at, name, length) && (at[length] == ',' || at[length] == '\0')) return true;
    }
    return false;
}

/* Lines of /proc/self/cgroup are "0::/path" for version 2 and "4:cpu,cpuacct:/path" for 1. */
static double quota_cores(void)
{
    char line[PATH_BYTES];
    double least = MAX_CORES;
    FILE *stream = fopen("/proc/self/cgroup", "re");
    if (!stream) return least;
    while (fgets(line, sizeof line, stream)) {
        line[strcspn(line, "\n")] = '\0';
        char *list = strchr(line, ':'), *group = list ? strchr(list + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        double cores = MAX_CORES;
        if (list[1] == '\0') cores = least_cores("/sys/fs/cgroup", group);
        else if (list_has(list + 1, "cpu")) cores = least_cores("/sys/fs/cgroup/cpu", group);
        if (cores < least) least = cores;
    }
    fclose(stream);
    return least;
}

static int64_t affinity_cores(void)
{
    cpu_set_t sets[8]; /* 8192 cores; the system refuses a mask that is too short */
    if (sched_getaffinity(0, sizeof sets, sets)) return sysconf(_SC_NPROCESSORS_ONLN);
    return CPU_COUNT_S(sizeof sets, sets);
}
#else
static double quota_cores(void) { return MAX_CORES; }
static int64_t affinity_cores(void) { return sysconf(_SC_NPROCESSORS_ONLN); }
#endif

int df_cpu_cores(void)
{
    double quota = quota_cores();
    int64_t whole = (int64_t)quota; /* part of a core is a core: 1.5 cores keep two threads busy */
    if ((double)whole < quota) whole++;
    return (int)df_max(1, df_min(affinity_cores(), df_min(whole, MAX_CORES)));
}
