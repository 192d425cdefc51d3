/* The table of ops of the SIMD level chosen at load. */
#ifndef DF_REGISTRY_H
#define DF_REGISTRY_H

#include "base/cpu.h"
#include "op/op.h"

/* Selects the highest level that build and CPU share, or the level in DUALFLOW_ISA. Called once. */
df_status df_registry_init(df_error *err);
const char *df_registry_isa(void);          /* "avx512" */
int64_t df_registry_size(void);
const df_op *df_registry_op(int64_t index); /* in the order of ops.def */

#endif
