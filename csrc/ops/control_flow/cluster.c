/* cluster: tile code as an op, see fuse/cluster.h. */
#include "fuse/run.h"

static df_status run_cluster(const df_call *call, df_error *err)
{
    if (call->prepared) return DF_SYM(df_cluster_run)(call->prepared, call, err);
    df_cluster *c;
    df_status status = df_cluster_new(call, &c, err);
    if (status == DF_OK) status = DF_SYM(df_cluster_run)(c, call, err);
    df_cluster_free(c);
    return status;
}

static df_status prepare_cluster(const df_call *call, void **prepared, df_error *err)
{
    df_cluster *c;
    df_status status = df_cluster_new(call, &c, err);
    *prepared = c;
    return status;
}

static df_status compile_cluster(const df_call *call, void *prepared, df_ints layout,
                                 df_compiled_fn fn, df_error *err)
{
    return df_cluster_compile(prepared, call, layout, fn, err);
}

static void release_cluster(void *prepared) { df_cluster_free(prepared); }

DF_OP(cluster) = {.name = "cluster", .kind = DF_GENERAL, .cannot_fail = true,
                  .n_in = DF_VARIADIC, .n_out = DF_VARIADIC,
                  .n_attrs = 2, .attrs = {{"shape", DF_ATTR_INTS}, {"code", DF_ATTR_INTS}},
                  .internal = true, .may_alias = DF_ANY_INPUT, .infer = df_cluster_infer,
                  .count_out = df_cluster_count_out, .prepare = prepare_cluster,
                  .release = release_cluster, .compile = compile_cluster, .run = run_cluster};
