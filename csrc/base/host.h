/* The one way from a running program back to the host language: a function it registers once, which
 * is handed the number of a callable, tensors, and where its results go. Knows neither the language
 * nor the callables. */
#ifndef DF_HOST_H
#define DF_HOST_H

#include "base/tensor.h"

/* Called on the thread that runs the program. The tensors are the program's: whoever wants to keep
 * their data copies it. Outputs have dtypes, ranks and, where all sizes are known, memory; the
 * others are given sizes and memory. */
typedef df_status (*df_host_fn)(int64_t id, int n, const df_tensor *const *in, int n_out,
                                df_tensor *const *out, df_error *err);

/* Set when the host starts, before any program runs; NULL: none. */
void df_set_host(df_host_fn fn);
df_status df_host_call(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, df_error *err);

#endif
