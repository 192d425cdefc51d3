/* Memory of a cluster: loads of operands, offsets of registers, size of a tile. */
#include "fuse/plan.h"

#include <stdlib.h>
#include <string.h>

/* Size of the registers and streams of a tile together. A quarter of L1 is left for prefetched
 * lines: GELU of 16 M floats took one thread 7.2 ms, 7.9 with all of L1, 7.3 with half. */
#define L1_BYTES 24576
#define TILE_MIN 64       /* elements; in smaller tiles calls cost more than cache misses */
#define BLOCK 16384       /* elements of a block, the unit of parallel work */
#define BLOCK_NS 20000    /* sufficient time of a block if there are many steps */
#define BLOCKS 8          /* blocks of a small cluster, so that threads share it, unless they
                           * take */
#define BLOCK_NS_MIN 1500 /* less than this */
#define CHEAP 0.2         /* ns per element, the record's default */

df_status df_cluster_set_load(df_cluster_load *load, const df_tensor *x, const df_tensor *space,
                              const char *name, df_error *err)
{
    df_operand_dims dims;
    df_operand_walk *o = &load->operand;
    if (x->size < 0)
        return df_fail(err, DF_BAD_SHAPE, "%s: shape of input %d, %s, is not known", name,
                       load->input, df_tensor_text(x).text);
    df_operand_set(o, x, space, &dims);
    o->extent = o->step = NULL; /* not the pointers into `dims` if malloc fails */
    if (space->size == 0 && o->mode == DF_PERIODIC) o->mode = DF_WALK;
    int64_t *own = malloc(sizeof *own * 2 * (size_t)(o->ndim + 1));
    if (!own) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", name);
    memcpy(own, dims.extent, sizeof *own * (size_t)o->ndim);
    memcpy(own + o->ndim, dims.step, sizeof *own * (size_t)o->ndim);
    o->extent = own;
    o->step = own + o->ndim;
    return DF_OK;
}

/* Chooses the number of units of a tile: registers and streams fit L1, and the tile is a multiple
 * of every period. A repeated input whose period is too long is loaded for each tile. */
void df_cluster_choose_tile(df_cluster *c, const df_cluster_register *registers)
{
    const int64_t length = df_max(c->row_length, 1);
    int64_t bytes[2] = {0, 0}; /* per element of each space */
    for (int32_t i = 0; i < c->n_registers; i++) bytes[registers[i].space] += registers[i].bytes;
    for (int32_t i = 0; i < c->n_walking; i++)
        bytes[c->loads[c->walking[i]].space] += c->loads[c->walking[i]].operand.bytes;
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (c->outputs[i].space != DF_SPACE_COLUMN)
            bytes[c->outputs[i].space] += c->outputs[i].bytes;
    const int64_t fits = L1_BYTES / df_max(bytes[0] * length + bytes[1], 1);
    int64_t tile = df_min(DF_TILE / length, df_max(fits, TILE_MIN / length));
    if (c->fn && c->n_registers == 0) tile = BLOCK / length; /* without registers, a tile need not
                                                              * stay in L1 */
    tile = df_max(tile, 1);
    if (tile >= 16) tile -= tile % 16; /* whole vectors of elements or of short rows */
    if (c->n_units > tile) {
        int64_t unit = 1;
        int32_t n_periodic = 0;
        for (int32_t i = 0; i < c->n_periodic; i++) {
            const int32_t at = c->periodic[i];
            const df_cluster_load *load = &c->loads[at];
            const int64_t per_unit = load->space == DF_SPACE_FULL ? length : 1;
            int64_t units = df_common_multiple(load->operand.period, per_unit, tile * per_unit);
            units = df_common_multiple(unit, df_ceil_div(units, per_unit), tile);
            if (units <= tile) unit = units, c->periodic[n_periodic++] = at;
            else c->walking[c->n_walking++] = at;
        }
        c->n_periodic = n_periodic;
        tile = tile / unit * unit;
    }
    c->tile = df_max(df_min(tile, c->n_units), 1);
    const double cost = c->cost > 0 ? c->cost : CHEAP;
    const double small = (double)df_max(c->n_units / BLOCKS, (int64_t)(BLOCK_NS_MIN / cost));
    const double most = BLOCK_NS / cost < small ? BLOCK_NS / cost : small;
    const int64_t block = most < (double)(BLOCK / length) ? (int64_t)most : BLOCK / length;
    c->grain = c->tile * df_max(block / c->tile, 1);
}

static int64_t round_up(int64_t bytes) { return (bytes + DF_ALIGNMENT - 1) & -DF_ALIGNMENT; }

df_status df_cluster_place_registers(df_cluster *c, const df_cluster_register *registers,
                                     const char *name, df_error *err)
{
    c->offsets = malloc(sizeof *c->offsets * (size_t)(c->n_registers + 1));
    if (!c->offsets) return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", name);
    const int64_t n_slots = (int64_t)c->n_loads + c->n_outputs + c->n_registers;
    int64_t at = round_up(n_slots * (int64_t)sizeof(void *));
    for (int32_t i = 0; i < c->n_registers; i++) {
        c->offsets[i] = at;
        at += round_up(df_cluster_elements(c, registers[i].space, c->tile) * registers[i].bytes);
    }
    c->scratch_bytes = at;
    return DF_OK;
}
