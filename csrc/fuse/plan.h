/* A cluster made ready: its steps as actions over slots, loads among them, and what the slots point
 * at. A slot is a pointer that each run has of its own: to an input's or an output's place in this
 * tile, or to a register, an L1-sized buffer. Used in this folder alone. */
#ifndef DF_FUSE_PLAN_H
#define DF_FUSE_PLAN_H

#include "fuse/code.h"
#include "op/operand.h"

#include <stdatomic.h>

typedef enum {
    DF_DO_TILE,
    DF_DO_ROWS, /* a tile function on each row, one operand of which is a number per row */
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
    int32_t in[DF_TILE_MAX_IN]; /* slots; those beyond the operands are 0 */
    int32_t out;
    uint8_t kind, space;
    uint8_t bytes; /* of an element: EXPAND, ROWS */
    uint8_t one;   /* the operand with a number per row: ROWS */
} df_cluster_action;

/* An input as it is read in one space. Its slot is its index. */
typedef struct {
    df_operand_walk operand;
    int32_t input, buffer; /* `buffer`: slot of the register it is copied to */
    df_space space;
    bool in_place;    /* one number, read where it is */
    int64_t last_use; /* step */
} df_cluster_load;

typedef struct {
    int32_t from; /* slot copied at the end of the tile, where it is not written directly */
    bool first;   /* the step writes to this output; else it is a copy of one before */
    bool checked; /* runs check that it is not an input that is read in place later */
    int bytes;
    df_space space;
    int32_t fold; /* the fold it is, where space is FOLD */
    int64_t step;
} df_cluster_output;

/* A FOLD step. The elements of its operand are kept for a whole item: an output has them, a step
 * writes them there, or they are copied there tile by tile. */
typedef struct {
    const df_folder *folder;
    int32_t slot, output; /* of the operand; -1: it is none */
    int bytes;
    bool written;   /* by the step */
    int32_t same;   /* the first fold of this operand */
    int64_t offset; /* of what is kept, in the scratch memory */
    int64_t parts;  /* offset of its parts */
} df_cluster_fold;

/* What is read or written in place, tile after tile. */
typedef struct {
    int32_t slot;
    int64_t tile_bytes;
} df_cluster_stream;

/* An L1-sized buffer: a tile of elements, or of one for each row. */
typedef struct {
    int bytes; /* of an element */
    df_space space;
} df_cluster_register;

/* Slots: loads, outputs, registers. A unit is a row, or an element where rows have one. */
struct df_cluster {
    int64_t row_length, n_units, tile, grain; /* the last three in units */
    double cost;                              /* ns per unit */
    int64_t n_actions, scratch_bytes;
    int32_t n_loads, n_outputs, n_registers, n_walking, n_periodic, n_streams;
    df_cluster_action *actions;
    df_cluster_load *loads;
    df_cluster_output *outputs;
    int64_t *offsets;  /* of the registers, in bytes */
    int32_t *walking;  /* loads done at the start of each tile: read in place, or into a register */
    int32_t *periodic; /* loads done at the start of each block: of numbers, of short periods */
    df_cluster_stream *streams; /* worth fetching ahead */
    int64_t tile_stream_bytes;
    bool fetches_on; /* also where tiles follow each other in memory */
    /* Clusters with folds are run item by item: `fold_rows` rows, all in one chunk. */
    df_fold fold;
    int64_t fold_rows, n_items, parts_bytes;
    int32_t n_folds;
    df_cluster_fold *folds;
    df_attr *attrs;
    df_compiled_fn fn; /* does the work of all actions; there are none then */
    df_called *calls;  /* its */
    _Atomic(df_cluster *) compiled; /* the same made ready for compiled code, or NULL */
};

/* Collapses the operand of a load of `x`, read in a space, into memory of its own. */
df_status df_cluster_set_load(df_cluster_load *load, const df_tensor *x, const df_tensor *space,
                              const char *name, df_error *err);
/* Chooses the units of a tile and of a block. */
void df_cluster_choose_tile(df_cluster *c, const df_cluster_register *registers);
df_status df_cluster_place_registers(df_cluster *c, const df_cluster_register *registers,
                                     const char *name, df_error *err);
/* Finds what is worth fetching ahead, once tiles have their size. */
void df_cluster_plan_streams(df_cluster *c);
/* Sets how many rows an item has and where its copies lie, once registers are placed. */
void df_cluster_place_folds(df_cluster *c);

static inline int64_t df_cluster_elements(const df_cluster *c, df_space space, int64_t units)
{
    return space == DF_SPACE_FULL ? units * c->row_length : units;
}

#endif
