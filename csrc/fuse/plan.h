/* A prepared cluster: its steps as actions over slots, the loads among them, and the memory of
 * slots. A slot is a pointer owned by a run: to the tile's part of an input or output, or to a
 * register, an L1-sized buffer. Internal to this folder. */
#ifndef DF_FUSE_PLAN_H
#define DF_FUSE_PLAN_H

#include "fuse/code.h"
#include "op/operand.h"

#include <stdatomic.h>

typedef enum {
    DF_DO_TILE,
    DF_DO_ROWS, /* a tile function per row, with an operand that has one element per row */
    DF_DO_REDUCE,
    DF_DO_EXPAND,
    DF_DO_LOAD
} df_action_kind;

typedef struct {
    union {
        df_tile_fn tile;
        df_reduce_fn reduce;
        int64_t load; /* index of the load */
    } fn;
    const df_attr *attrs;
    int32_t in[DF_TILE_MAX_IN]; /* slots; unused entries are 0 */
    int32_t out;
    uint8_t kind, space;
    uint8_t bytes; /* of an element: EXPAND, ROWS */
    uint8_t one;   /* ROWS: the operand with one element per row */
} df_cluster_action;

/* An input as read in one space. Its slot is its index. */
typedef struct {
    df_operand_walk operand;
    int32_t input, buffer; /* `buffer`: slot of the register for its copy */
    df_space space;
    bool in_place;    /* a single element, read directly */
    int64_t last_use; /* step */
} df_cluster_load;

typedef struct {
    int32_t from; /* slot to copy from at the end of the tile if the step does not write directly */
    bool first;   /* written by the step; otherwise a copy of an earlier output */
    bool checked; /* check at run time that it shares no memory with an input that is read later */
    int bytes;
    df_space space;
    int32_t column; /* index of the COLUMN step if space is COLUMN */
    int64_t step;
} df_cluster_output;

/* A COLUMN step. The elements of its operand are stored for a whole item: in an output, in scratch
 * memory that the step writes directly, or in scratch memory to which each tile is copied. */
typedef struct {
    const df_column_reducer *reducer;
    int32_t slot, output; /* of the operand; `output` -1: the operand is not an output */
    int bytes;
    bool written;   /* the step writes to the scratch memory */
    int32_t same;   /* the first COLUMN step with this operand */
    int64_t offset; /* of the stored operand in the scratch memory */
    int64_t parts;  /* offset of its parts */
} df_cluster_column;

/* Memory read or written in place, tile after tile. */
typedef struct {
    int32_t slot;
    int64_t tile_bytes;
} df_cluster_stream;

/* An L1-sized buffer for a tile: of all elements, or of one per row. */
typedef struct {
    int bytes; /* of an element */
    df_space space;
} df_cluster_register;

/* Slots: loads, outputs, registers. A unit is a row, or an element if row_length is 1. */
struct df_cluster {
    int64_t row_length, n_units, tile, grain; /* the last three in units */
    double cost;                              /* ns per unit */
    int64_t n_actions, scratch_bytes;
    int32_t n_loads, n_outputs, n_registers, n_walking, n_periodic, n_streams;
    df_cluster_action *actions;
    df_cluster_load *loads;
    df_cluster_output *outputs;
    int64_t *offsets;  /* of the registers, in bytes */
    int32_t *walking;  /* loads at the start of each tile: in place, or into a register */
    int32_t *periodic; /* loads at the start of each block: single elements, short periods */
    df_cluster_stream *streams; /* worth prefetching */
    int64_t tile_stream_bytes;
    bool prefetches; /* prefetch also where tiles are consecutive in memory */
    /* Clusters with COLUMN steps run item by item: `column_rows` rows of one chunk. */
    df_column_reduction column;
    int64_t column_rows, n_items, parts_bytes;
    int32_t n_columns;
    df_cluster_column *columns;
    df_attr *attrs;
    df_compiled_fn fn; /* compiled code for all actions; there are no actions then */
    df_called *calls;  /* arguments of `fn` */
    _Atomic(df_cluster *) compiled; /* the same cluster prepared for compiled code, or NULL */
};

/* Collapses the operand of a load of `x`, read in `space`, into allocated memory. */
df_status df_cluster_set_load(df_cluster_load *load, const df_tensor *x, const df_tensor *space,
                              const char *name, df_error *err);
/* Chooses the units of a tile and of a block. */
void df_cluster_choose_tile(df_cluster *c, const df_cluster_register *registers);
df_status df_cluster_place_registers(df_cluster *c, const df_cluster_register *registers,
                                     const char *name, df_error *err);
/* Finds the streams worth prefetching; needs the tile size. */
void df_cluster_plan_prefetch(df_cluster *c);
/* Sets the rows of an item and the offsets of its copies; needs the offsets of registers. */
void df_cluster_plan_columns(df_cluster *c);

static inline int64_t df_cluster_elements(const df_cluster *c, df_space space, int64_t units)
{
    return space == DF_SPACE_FULL ? units * c->row_length : units;
}

#endif
