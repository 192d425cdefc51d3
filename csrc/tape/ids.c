/* Sets and maps of tensor ids. A map is a hash table with linear probing, at most half full. */
#include "tape/ids.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 16
#define FIRST_WORDS 16
#define SPARSE 4096 /* a set has at most this many bits per id; ids beyond them are hashed */

/* A free slot for an id that is not in the map. */
static uint64_t free_slot(const df_id_map *m, uint64_t id)
{
    uint64_t slot = df_id_home(m, id);
    while (m->keys[slot]) slot = (slot + 1) & (uint64_t)(m->n_slots - 1);
    return slot;
}

static bool map_grow(df_id_map *m)
{
    df_id_map grown = {.n = m->n, .n_slots = df_max(FIRST_SLOTS, m->n_slots * 2)};
    grown.keys = calloc((size_t)grown.n_slots, sizeof *grown.keys);
    grown.values = calloc((size_t)grown.n_slots, sizeof *grown.values);
    if (!grown.keys || !grown.values) {
        df_id_map_free(&grown);
        return false;
    }
    for (int64_t i = 0; i < m->n_slots; i++) {
        if (!m->keys[i]) continue;
        uint64_t slot = free_slot(&grown, m->keys[i]);
        grown.keys[slot] = m->keys[i];
        grown.values[slot] = m->values[i];
    }
    df_id_map_free(m);
    *m = grown;
    return true;
}

int64_t df_id_map_put(df_id_map *m, uint64_t id)
{
    int64_t found = df_id_map_find(m, id);
    if (found >= 0) return found;
    if (m->n * 2 >= m->n_slots && !map_grow(m)) return -1;
    uint64_t slot = free_slot(m, id);
    m->keys[slot] = id;
    m->values[slot] = NULL;
    m->n++;
    return (int64_t)slot;
}

/* Moves later entries of the probe sequence to slots closer to their home slot. */
void df_id_map_remove(df_id_map *m, int64_t at)
{
    uint64_t mask = (uint64_t)(m->n_slots - 1), hole = (uint64_t)at;
    for (uint64_t slot = (hole + 1) & mask; m->keys[slot]; slot = (slot + 1) & mask) {
        uint64_t home = df_id_home(m, m->keys[slot]);
        if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
        m->keys[hole] = m->keys[slot];
        m->values[hole] = m->values[slot];
        hole = slot;
    }
    m->keys[hole] = 0;
    m->n--;
}

void df_id_map_free(df_id_map *m)
{
    free(m->keys);
    free(m->values);
    *m = (df_id_map){0};
}

static bool set_grow(df_id_set *s, uint64_t bit)
{
    uint64_t old = s->n_bits >> 6, words = old * 2 > FIRST_WORDS ? old * 2 : FIRST_WORDS;
    if (words < (bit >> 6) + 1) words = (bit >> 6) + 1;
    uint64_t *bits = realloc(s->bits, words * sizeof *bits);
    if (!bits) return false;
    memset(bits + old, 0, (words - old) * sizeof *bits);
    s->bits = bits;
    s->n_bits = words << 6;
    return true;
}

bool df_id_set_put(df_id_set *s, uint64_t id)
{
    uint64_t bit = id - s->base; /* wraps around to a huge number for ids below `base` */
    if (bit >= s->n_bits) {
        if (bit >= (uint64_t)(s->n + 1) * SPARSE) return df_id_map_put(&s->rest, id) >= 0;
        if (!set_grow(s, bit)) return false;
    }
    s->bits[bit >> 6] |= UINT64_C(1) << (bit & 63);
    s->n++;
    return true;
}

void df_id_set_free(df_id_set *s)
{
    free(s->bits);
    df_id_map_free(&s->rest);
    *s = (df_id_set){.base = s->base};
}
