/* Properties of the CPU: the SIMD levels it can run and the number of cores this process may
 * use. */
#ifndef DF_CPU_H
#define DF_CPU_H

#include "base/status.h"

/* In ascending order; a build contains the levels that its compiler supports (see registry.c). */
typedef enum { DF_ISA_BASELINE = 0, DF_ISA_NEON, DF_ISA_AVX2, DF_ISA_AVX512, DF_N_ISA } df_isa;

/* True if this CPU and its operating system can run code of that level, including the features that
 * CFLAGS allowed. */
bool df_cpu_has(df_isa isa);

/* How bfloat16 products are computed: through float32, by instructions on pairs (AVX512-BF16), or
 * in tile registers (AMX), which the system must permit. The last two only at level AVX-512.
 * DUALFLOW_BFLOAT16 limits the choice: "float32", "pairs", "tiles". */
typedef enum { DF_BF16_FLOAT32 = 0, DF_BF16_AVX512, DF_BF16_AMX } df_bfloat16;

/* Constant during the life of a process. */
df_bfloat16 df_cpu_bfloat16(void);

/* Cores this process may use: the affinity mask, limited by the cgroup v1 or v2 quota; at least
 * 1. */
int df_cpu_cores(void);

#endif
