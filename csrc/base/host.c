/* Dispatch to the registered host callbacks. */
#include "base/host.h"

#include <stdatomic.h>

static _Atomic(const df_host *) the_host; /* process-wide, like the thread pool */

void df_set_host(const df_host *host) { atomic_store(&the_host, host); }

static const df_host *host(void) { return atomic_load_explicit(&the_host, memory_order_acquire); }

df_status df_host_call(int64_t id, int n, const df_tensor *const *in, int n_out,
                       df_tensor *const *out, df_error *err)
{
    const df_host *h = host();
    if (!h || !h->call)
        return df_fail(err, DF_UNIMPLEMENTED, "host call %lld: no host is set", (long long)id);
    return h->call(id, n, in, n_out, out, err);
}

df_status df_host_start(int64_t id, int n, const df_tensor *const *in, int n_out,
                        df_tensor *const *out, int64_t *handle, df_error *err)
{
    const df_host *h = host();
    if (!h || !h->start)
        return df_fail(err, DF_UNIMPLEMENTED, "host start %lld: no host with asynchronous calls "
                       "is set", (long long)id);
    return h->start(id, n, in, n_out, out, handle, err);
}

df_status df_host_wait(int64_t handle, df_error *err)
{
    const df_host *h = host();
    if (!h || !h->wait)
        return df_fail(err, DF_UNIMPLEMENTED, "host wait %lld: no host with asynchronous calls "
                       "is set", (long long)handle);
    return h->wait(handle, err);
}
