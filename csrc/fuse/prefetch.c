/* Selects the inputs and outputs of a cluster that are prefetched. */
#include "fuse/plan.h"

/* With fewer actions memory is never idle if tiles are consecutive; less data stays in L2, where
 * accesses do not stall. */
#define AHEAD_ACTIONS 4
#define AHEAD_BYTES (1 << 20)

static void add_stream(df_cluster *c, int32_t slot, df_space space, int bytes)
{
    const int64_t tile_bytes = df_cluster_elements(c, space, c->tile) * bytes;
    if (space != DF_SPACE_FULL || tile_bytes == 0) return;
    c->streams[c->n_streams++] = (df_cluster_stream){slot, tile_bytes};
    c->tile_stream_bytes += tile_bytes;
}

void df_cluster_plan_prefetch(df_cluster *c)
{
    c->prefetches = c->n_actions >= AHEAD_ACTIONS;
    for (int32_t i = 0; i < c->n_walking; i++) {
        const df_cluster_load *load = &c->loads[c->walking[i]];
        if (load->operand.mode == DF_DIRECT)
            add_stream(c, c->walking[i], load->space, load->operand.bytes);
    }
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].first && !c->outputs[i].checked)
            add_stream(c, c->n_loads + i, c->outputs[i].space, c->outputs[i].bytes);
    if (c->tile_stream_bytes * (c->n_units / c->tile) < AHEAD_BYTES) c->n_streams = 0;
}
