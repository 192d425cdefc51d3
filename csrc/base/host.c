/* The host's function. */
#include "base/host.h"

#include <stdatomic.h>

static _Atomic(df_host_fn) host; /* part of the runtime, like the thread pool */

void df_set_host(df_host_fn fn) { atomic_store(&host, fn); }

df_status df_host_call(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, df_error *err)
{
    df_host_fn fn = atomic_load_explicit(&host, memory_order_acquire);
    if (!fn) return df_fail(err, DF_UNIMPLEMENTED, "host call %lld: no host is set", (long long)id);
    return fn(id, n, in, n_out, out, err);
}
