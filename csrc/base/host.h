/* The ways from a running program back to the host language: functions it registers once, which are
 * handed the number of a callable, tensors, and where its results go. Knows neither the language
 * nor the callables. */
#ifndef DF_HOST_H
#define DF_HOST_H

#include "base/tensor.h"

/* All are called on the thread that runs the program. */
typedef struct {
    /* The tensors are the program's: whoever wants to keep their data copies it. Outputs have
     * dtypes, ranks and, where all sizes are known, memory; the others are given sizes and
     * memory. */
    df_status (*call)(int64_t id, int n, const df_tensor *const *in, int n_out,
                      df_tensor *const *out, df_error *err);
    /* Starts something, which reads `in` and fills `out` while the program goes on; the tensors
     * themselves are gone when this returns. `ticket` names it, one ticket each; a start that fails
     * has started nothing. */
    df_status (*start)(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, int64_t *ticket, df_error *err);
    /* Returns when that is over, with its failure, or fails before. */
    df_status (*wait)(int64_t ticket, df_error *err);
} df_host;

/* Set when the host starts, before any program runs, and never changed after; NULL: none. */
void df_set_host(const df_host *host);
df_status df_host_call(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, df_error *err);
df_status df_host_start(int64_t id, int n, const df_tensor *const *in, int n_out,
                        df_tensor *const *out, int64_t *ticket, df_error *err);
df_status df_host_wait(int64_t ticket, df_error *err);

#endif
