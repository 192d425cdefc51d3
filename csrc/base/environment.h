/* Checks of the environment variables that the core reads, for hosts that report an invalid value.
 * Without a check, an invalid value has no effect. An unset or empty variable is valid. */
#ifndef DF_ENVIRONMENT_H
#define DF_ENVIRONMENT_H

#include "base/status.h"

/* Fails unless DUALFLOW_NUM_THREADS is a number of threads (thread.c). */
df_status df_check_num_threads(df_error *err);

/* Fails unless DUALFLOW_BFLOAT16 is a method for bfloat16 products (cpu.c). */
df_status df_check_bfloat16(df_error *err);

#endif
