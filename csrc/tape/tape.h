/* The records of a tape: for each op applied to a watched value its op, attributes and operands. An
 * operand is stored as an object, or described by dtype and shape. Records are consecutive in
 * chunks of memory. The owner (_core/records.pxi) holds and releases the stored Python objects.
 * No locks: callers hold the GIL. */
#ifndef DF_TAPE_H
#define DF_TAPE_H

#include "base/tensor.h"
#include "tape/ids.h"

typedef struct {
    uint64_t id; /* 0: not watched */
    void *stored;  /* the owner's object, or the dimensions if `spec` */
    int ndim;
    uint8_t dtype;
    bool spec;
} df_operand;

typedef struct df_tape_record {
    struct df_tape_record *before;
    void *op, *attrs;
    int64_t bytes;
    int n_in, n_out;
    bool may_lead_further;  /* a reachable output makes the other outputs reachable */
    df_operand operands[]; /* n_in + n_out operands, then dimensions */
} df_tape_record;

typedef struct df_chunk df_chunk;

typedef struct {
    df_tape_record *last;
    int64_t n;
    df_chunk *first, *chunk;
    df_id_set ids; /* all watched ids */
} df_tape;

/* Allocates a record with up to n_dims dimensions; sets n_in and n_out. Returns NULL if out of
 * memory. The record joins the tape in `df_tape_append`; until then, no other function may be
 * called for the tape. */
df_tape_record *df_tape_reserve(df_tape *tape, int n_in, int n_out, int64_t n_dims);
/* The start of the dimensions, which follow the operands. */
static inline int64_t *df_tape_record_dims(df_tape_record *e)
{
    return (int64_t *)&e->operands[e->n_in + e->n_out];
}
/* Describes `t` in `o`. The dimensions are stored at `dims`, or shared with `like` (may be NULL) if
 * they are equal. Returns the position for the next dimensions. */
int64_t *df_operand_describe(df_operand *o, const df_tensor *t, const df_operand *like,
                             int64_t *dims);
/* Appends a record whose operands are set and whose dimensions end at `end`. */
void df_tape_append(df_tape *tape, df_tape_record *e, const int64_t *end);
/* Removes the newest record, whose objects the owner has released. */
void df_tape_drop(df_tape *tape);

/* Extends `reach` with the outputs of every record that reads an id of the set, from the oldest
 * record to the newest. Returns false if out of memory. */
bool df_tape_mark_reachable(const df_tape *tape, df_id_set *reach);
/* True if an output of the record is a key of the map. */
bool df_tape_record_has_cotangent(const df_tape_record *e, const df_id_map *cotangents);

#endif
