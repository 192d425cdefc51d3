/* Sets and maps of tensor ids, used by tapes. Ids are assigned in ascending order, so the results
 * of a sequence of ops are close together: a set has a bit for each id from its creation on, and
 * hashes only older ids. Id 0 is never used. A zeroed map is empty; so is a zeroed set, whose
 * `base` must be set. */
#ifndef DF_IDS_H
#define DF_IDS_H

#include <stdbool.h>
#include <stdint.h>

/* Open addressing with linear probing; key 0 is free; n_slots is 0 or a power of two. */
typedef struct {
    uint64_t *keys;
    void **values; /* owned and interpreted by the user */
    int64_t n, n_slots;
} df_id_map;

typedef struct {
    uint64_t base; /* bit i of `bits` is id base + i */
    uint64_t *bits;
    uint64_t n_bits;
    int64_t n;
    df_id_map rest;
} df_id_set;

static inline uint64_t df_id_home(const df_id_map *m, uint64_t id)
{
    return ((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (uint64_t)(m->n_slots - 1);
}

/* The slot of `id`, or -1. */
static inline int64_t df_id_map_find(const df_id_map *m, uint64_t id)
{
    if (m->n == 0) return -1;
    uint64_t slot = df_id_home(m, id);
    for (; m->keys[slot] != id; slot = (slot + 1) & (uint64_t)(m->n_slots - 1))
        if (m->keys[slot] == 0) return -1;
    return (int64_t)slot;
}

/* The slot of `id`, with value NULL if it is new; -1 if out of memory. */
int64_t df_id_map_put(df_id_map *m, uint64_t id);
/* Frees a slot; other entries may move. */
void df_id_map_remove(df_id_map *m, int64_t at);
void df_id_map_free(df_id_map *m);

static inline bool df_id_set_has(const df_id_set *s, uint64_t id)
{
    uint64_t bit = id - s->base;
    if (bit < s->n_bits && (s->bits[bit >> 6] >> (bit & 63) & 1)) return true;
    return df_id_map_find(&s->rest, id) >= 0;
}

/* Returns false if out of memory. */
bool df_id_set_put(df_id_set *s, uint64_t id);
void df_id_set_free(df_id_set *s);

#endif
