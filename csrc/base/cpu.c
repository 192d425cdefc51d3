/* Detects the SIMD levels of the processor and the number of cores that this process may use. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE
#endif
#include "base/cpu.h"
#include "base/environment.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#endif

#if defined(__x86_64__) || defined(__i386__)
#define SUPPORTS(name) (__builtin_cpu_supports(name) != 0)

enum { EAX, EBX, ECX, EDX };

/* Tests a bit of cpuid, for features without a name in every compiler. */
static bool has_bit(unsigned leaf, unsigned part, int which, int bit)
{
    unsigned r[4];
    return __get_cpuid_count(leaf, part, &r[EAX], &r[EBX], &r[ECX], &r[EDX]) &&
           (r[which] >> bit & 1);
}

/* True if this CPU has every feature that the compiler was allowed to use in all files, as by
 * CFLAGS=-march=...: each level, the baseline too, may contain such instructions. */
static bool has_what_was_allowed(void)
{
    bool has = true;
#ifdef __SSE3__
    has = has && SUPPORTS("sse3");
#endif
#ifdef __SSSE3__
    has = has && SUPPORTS("ssse3");
#endif
#ifdef __SSE4_1__
    has = has && SUPPORTS("sse4.1");
#endif
#ifdef __SSE4_2__
    has = has && SUPPORTS("sse4.2");
#endif
#ifdef __SSE4A__
    has = has && SUPPORTS("sse4a");
#endif
#ifdef __POPCNT__
    has = has && SUPPORTS("popcnt");
#endif
#ifdef __LZCNT__
    has = has && has_bit(0x80000001, 0, ECX, 5);
#endif
#ifdef __MOVBE__
    has = has && has_bit(1, 0, ECX, 22);
#endif
#ifdef __BMI__
    has = has && SUPPORTS("bmi");
#endif
#ifdef __BMI2__
    has = has && SUPPORTS("bmi2");
#endif
#ifdef __AVX__
    has = has && SUPPORTS("avx");
#endif
#ifdef __F16C__
    has = has && has_bit(1, 0, ECX, 29);
#endif
#ifdef __FMA__
    has = has && SUPPORTS("fma");
#endif
#ifdef __FMA4__
    has = has && SUPPORTS("fma4");
#endif
#ifdef __TBM__
    has = has && has_bit(0x80000001, 0, ECX, 21);
#endif
#ifdef __XOP__
    has = has && SUPPORTS("xop");
#endif
#ifdef __AVX2__
    has = has && SUPPORTS("avx2");
#endif
#ifdef __AVXVNNI__
    has = has && has_bit(7, 1, EAX, 4);
#endif
#ifdef __AVXIFMA__
    has = has && has_bit(7, 1, EAX, 23);
#endif
#ifdef __AVXVNNIINT8__
    has = has && has_bit(7, 1, EDX, 4);
#endif
#ifdef __AVXVNNIINT16__
    has = has && has_bit(7, 1, EDX, 10);
#endif
#ifdef __GFNI__
    has = has && SUPPORTS("gfni");
#endif
#ifdef __AVX512F__
    has = has && SUPPORTS("avx512f");
#endif
#ifdef __AVX512CD__
    has = has && SUPPORTS("avx512cd");
#endif
#ifdef __AVX512BW__
    has = has && SUPPORTS("avx512bw");
#endif
#ifdef __AVX512DQ__
    has = has && SUPPORTS("avx512dq");
#endif
#ifdef __AVX512VL__
    has = has && SUPPORTS("avx512vl");
#endif
#ifdef __AVX512IFMA__
    has = has && SUPPORTS("avx512ifma");
#endif
#ifdef __AVX512VBMI__
    has = has && SUPPORTS("avx512vbmi");
#endif
#ifdef __AVX512VBMI2__
    has = has && SUPPORTS("avx512vbmi2");
#endif
#ifdef __AVX512VNNI__
    has = has && SUPPORTS("avx512vnni");
#endif
#ifdef __AVX512BITALG__
    has = has && SUPPORTS("avx512bitalg");
#endif
#ifdef __AVX512VPOPCNTDQ__
    has = has && SUPPORTS("avx512vpopcntdq");
#endif
#ifdef __AVX512FP16__
    has = has && has_bit(7, 0, EDX, 23);
#endif
    return has;
}

bool df_cpu_has(df_isa isa)
{
    __builtin_cpu_init();
    if (!has_what_was_allowed()) return false;
    const bool f16c = has_bit(1, 0, ECX, 29);
    const bool avx2 = SUPPORTS("avx2") && SUPPORTS("fma") && SUPPORTS("bmi2") && f16c;
    switch (isa) {
    case DF_ISA_BASELINE: return true;
    case DF_ISA_AVX2: return avx2;
    case DF_ISA_AVX512:
        return avx2 && SUPPORTS("avx512f") && SUPPORTS("avx512bw") && SUPPORTS("avx512dq") &&
               SUPPORTS("avx512vl");
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

df_status df_check_bfloat16(df_error *err)
{
    const char *wanted = getenv("DUALFLOW_BFLOAT16");
    if (!wanted || !*wanted || !strcmp(wanted, "tiles") || !strcmp(wanted, "pairs") ||
        !strcmp(wanted, "float32"))
        return DF_OK;
    return df_fail(err, DF_INVALID_ARGUMENT,
                   "DUALFLOW_BFLOAT16=%.100s: expected tiles, pairs or float32", wanted);
}

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
        return DF_BF16_FLOAT32;
    const bool has_tiles = d >> 22 & d >> 24 & 1;
    if (!has_tiles || (wanted && !strcmp(wanted, "pairs"))) return DF_BF16_AVX512;
    /* on a CPU with tiles, the instructions on pairs are slower than float32 */
    if (syscall(SYS_arch_prctl, PERMIT, TILE_DATA)) return DF_BF16_FLOAT32;
    return DF_BF16_AMX;
}
#else
static df_bfloat16 ask_bfloat16(void) { return DF_BF16_FLOAT32; }
#endif

df_bfloat16 df_cpu_bfloat16(void)
{
    static atomic_int known; /* 0: not detected yet; set once, so every caller gets the same
                              * value */
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (!found) {
        found = (int)ask_bfloat16() + 1;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    return (df_bfloat16)(found - 1);
}

#define MAX_CORES 65536 /* larger numbers are not core counts */

#ifdef __linux__
#define PATH_BYTES 512

/* The `index`-th number in the first line of `folder`/`file`, or -1. */
static double read_number(const char *folder, const char *file, int index)
{
    char path[PATH_BYTES + 32], line[128];
    double values[2] = {-1, -1};
    snprintf(path, sizeof path, "%s/%s", folder, file);
    FILE *stream = fopen(path, "re");
    if (!stream) return -1;
    if (fgets(line, sizeof line, stream))
        sscanf(line, "%lf %lf", &values[0], &values[1]); /* "max" does not parse: no limit */
    fclose(stream);
    return values[index];
}

/* Cores granted by the control group at `folder`, version 1 or 2; MAX_CORES if unlimited. */
static double group_cores(const char *folder)
{
    double quota = read_number(folder, "cpu.max", 0), period = read_number(folder, "cpu.max", 1);
    if (quota <= 0) {
        quota = read_number(folder, "cpu.cfs_quota_us", 0);
        period = read_number(folder, "cpu.cfs_period_us", 0);
    }
    return quota > 0 && period > 0 ? quota / period : MAX_CORES;
}

/* The smallest limit of `group`, below `mount`, and its ancestors. Inside a container the path may
 * be the host's and not exist; then only the limit of the mount itself applies. */
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

/* True if the comma-separated `list` contains `name`. */
static bool list_has(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        if (*at == ',') at++;
        if (!strncmp(at, name, length) && (at[length] == ',' || at[length] == '\0')) return true;
    }
    return false;
}

/* Lines of /proc/self/cgroup are "0::/path" in version 2 and "4:cpu,cpuacct:/path" in version 1. */
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
    cpu_set_t sets[8]; /* 8192 cores; the system rejects a mask that is too short */
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
    int64_t whole = (int64_t)quota; /* rounded up: 1.5 cores keep two threads busy */
    if ((double)whole < quota) whole++;
    return (int)df_max(1, df_min(affinity_cores(), df_min(whole, MAX_CORES)));
}
