/* What the CPU has: which SIMD levels it can run, how many cores this process may use. */
#ifndef DF_CPU_H
#define DF_CPU_H

#include "base/status.h"

/* In ascending order; a build holds the ones its compiler knows (see registry.c). */
typedef enum { DF_ISA_BASELINE = 0, DF_ISA_NEON, DF_ISA_AVX2, DF_ISA_AVX512, DF_N_ISA } df_isa;

/* True when this CPU (and its operating system) can run code of that level, with what CFLAGS
 * allowed the compiler besides. */
bool df_cpu_has(df_isa isa);

/* How products of bfloat16 are computed, from the portable way up: as float32; by instructions that
 * add up pairs; in tiles of registers, which the system must allow. At the level of AVX-512 alone.
 * DUALFLOW_BFLOAT16 may limit it: "float32", "pairs", "tiles". */
typedef enum { DF_BF16_WIDE = 0, DF_BF16_PAIRS, DF_BF16_TILES } df_bfloat16;

/* Always the same in a process. */
df_bfloat16 df_cpu_bfloat16(void);

/* Cores this process may use: affinity mask, cut to the cgroup v1 or v2 quota, at least 1. */
int df_cpu_cores(void);

#endif
