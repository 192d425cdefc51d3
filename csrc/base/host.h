/* Callbacks from a running program into the host language. The host registers them once; each gets
 * the id of a callable, its input tensors and its output tensors. This file knows neither the
 * language nor the callables. */
#ifndef DF_HOST_H
#define DF_HOST_H

#include "base/tensor.h"

/* All callbacks are called on the thread that runs the program. */
typedef struct {
    /* Synchronous call. The program owns the input tensors; the callback copies data that it keeps.
     * Outputs have dtype and rank, and memory if all their sizes are known; the callback sets the
     * sizes and memory of the others. */
    df_status (*call)(int64_t id, int n, const df_tensor *const *in, int n_out,
                      df_tensor *const *out, df_error *err);
    /* Starts an asynchronous operation that reads `in` and fills `out` while the program continues.
     * The memory stays valid until `wait`, the df_tensor structs only until this function returns.
     * `handle` receives a unique handle. If start fails, no operation is outstanding. */
    df_status (*start)(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, int64_t *handle, df_error *err);
    /* Blocks until the operation has completed, and returns its status. */
    df_status (*wait)(int64_t handle, df_error *err);
} df_host;

/* Called when the host starts, before any program runs, and never again. NULL: no host. */
void df_set_host(const df_host *host);
df_status df_host_call(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, df_error *err);
df_status df_host_start(int64_t id, int n, const df_tensor *const *in, int n_out,
                        df_tensor *const *out, int64_t *handle, df_error *err);
df_status df_host_wait(int64_t handle, df_error *err);

#endif
