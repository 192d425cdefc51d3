/* What a tape keeps of each op that a watched value flows through: the op, its attributes, and
 * its operands, kept or described by dtype and shape. Entries lie one after another in chunks of
 * memory. Ops, attributes and operands that are kept are objects of the owner, which holds and
 * releases them. Nothing here is locked: Python's tapes hold the GIL. */
#ifndef DF_LOG_H
#define DF_LOG_H

#include "base/tensor.h"
#include "tape/ids.h"

typedef struct {
    uint64_t id; /* 0: no watched value flows through it */
    void *kept;  /* the owner's object, or the dimensions if `spec` */
    int ndim;
    uint8_t dtype;
    bool spec;
} df_operand;

typedef struct df_entry {
    struct df_entry *before;
    void *op, *attrs;
    int64_t bytes;
    int n_in, n_out;
    bool both_ways;        /* an output may lead to others */
    df_operand operands[]; /* n_in + n_out of them, then dimensions */
} df_entry;

typedef struct df_chunk df_chunk;

typedef struct {
    df_entry *last;
    int64_t n;
    df_chunk *first, *chunk;
    df_id_set ids; /* what watched values flow into */
} df_log;

/* Room for an entry with up to n_dims dimensions, n_in and n_out set; NULL when there is no memory.
 * It is not in the log before `df_log_append`, and no other call on the log may come in between. */
df_entry *df_log_reserve(df_log *log, int n_in, int n_out, int64_t n_dims);
/* Where the dimensions of its operands begin. */
static inline int64_t *df_entry_dims(df_entry *e)
{
    return (int64_t *)&e->operands[e->n_in + e->n_out];
}
/* Makes `o` a description of `t`, with its dimensions at `dims` or, if they are the same, those of
 * `like`, which may be NULL. Returns where the next dimensions go. */
int64_t *df_operand_describe(df_operand *o, const df_tensor *t, const df_operand *like,
                             int64_t *dims);
/* Takes an entry whose operands are written and whose dimensions end at `end`. */
void df_log_append(df_log *log, df_entry *e, const int64_t *end);
/* Drops the newest entry, whose objects the owner has released. */
void df_log_drop(df_log *log);

/* Adds to `reach` what flows from it, entry by entry, the oldest first; false when there is no
 * memory. */
bool df_log_reach(const df_log *log, df_id_set *reach);
/* Whether one of its outputs is a key of the map. */
bool df_entry_gives(const df_entry *e, const df_id_map *pending);

#endif
