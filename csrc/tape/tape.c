#include "tape/tape.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES ((int64_t)1 << 15)
#define MAX_SPARE 256 /* chunks cached for the next tape: page faults on fresh memory cost as much
                       * as everything else about a record */

struct df_chunk {
    df_chunk *before, *next;
    int64_t used, size; /* bytes, including this header */
};

static df_chunk *spare;
static int n_spare;

static df_chunk *new_chunk(int64_t want)
{
    df_chunk *c = spare;
    if (want <= CHUNK_BYTES && c) {
        spare = c->before;
        n_spare--;
    } else {
        int64_t size = df_max(want, CHUNK_BYTES);
        c = malloc((size_t)size);
        if (!c) return NULL;
        c->size = size;
    }
    c->before = c->next = NULL;
    c->used = sizeof *c;
    return c;
}

static void free_chunk(df_chunk *c)
{
    if (c->size != CHUNK_BYTES || n_spare == MAX_SPARE) {
        free(c);
        return;
    }
    c->before = spare;
    spare = c;
    n_spare++;
}

df_tape_record *df_tape_reserve(df_tape *tape, int n_in, int n_out, int64_t n_dims)
{
    df_chunk *c = tape->chunk;
    int64_t size =
        (int64_t)sizeof(df_tape_record) + ((int64_t)n_in + n_out) * (int64_t)sizeof(df_operand)
                   + n_dims * (int64_t)sizeof(int64_t);
    if (!c || c->used + size > c->size) {
        c = new_chunk(size + (int64_t)sizeof *c);
        if (!c) return NULL;
        c->before = tape->chunk;
        *(tape->chunk ? &tape->chunk->next : &tape->first) = c;
        tape->chunk = c;
    }
    df_tape_record *e = (df_tape_record *)((char *)c + c->used);
    *e = (df_tape_record){.n_in = n_in, .n_out = n_out};
    return e;
}

int64_t *df_operand_describe(df_operand *o, const df_tensor *t, const df_operand *like,
                             int64_t *dims)
{
    o->spec = true;
    o->dtype = (uint8_t)t->dtype;
    o->ndim = t->ndim;
    if (like && like->ndim == t->ndim && df_same_dims(t->ndim, like->stored, t->shape)) {
        o->stored = like->stored;
        return dims;
    }
    o->stored = dims;
    for (int d = 0; d < t->ndim; d++) dims[d] = t->shape[d];
    return dims + t->ndim;
}

void df_tape_append(df_tape *tape, df_tape_record *e, const int64_t *end)
{
    e->bytes = (const char *)end - (const char *)e;
    e->before = tape->last;
    tape->chunk->used += e->bytes;
    tape->last = e;
    tape->n++;
}

void df_tape_drop(df_tape *tape)
{
    df_chunk *c = tape->chunk;
    int64_t bytes = tape->last->bytes;
    tape->last = tape->last->before;
    tape->n--;
    c->used -= bytes;
    if (c->used > (int64_t)sizeof *c) return;
    tape->chunk = c->before;
    *(tape->chunk ? &tape->chunk->next : &tape->first) = NULL;
    free_chunk(c);
}

/* True if an operand of a record is in `reach`. */
static bool is_reached(const df_tape_record *e, const df_id_set *reach)
{
    int n = e->may_lead_further ? e->n_in + e->n_out : e->n_in;
    for (int k = 0; k < n; k++)
        if (e->operands[k].id && df_id_set_has(reach, e->operands[k].id)) return true;
    return false;
}

bool df_tape_mark_reachable(const df_tape *tape, df_id_set *reach)
{
    for (const df_chunk *c = tape->first; c; c = c->next) {
        const char *at = (const char *)(c + 1), *end = (const char *)c + c->used;
        while (at < end) {
            const df_tape_record *e = (const df_tape_record *)at;
            at += e->bytes;
            if (!is_reached(e, reach)) continue;
            for (int k = e->n_in; k < e->n_in + e->n_out; k++)
                if (e->operands[k].id && !df_id_set_put(reach, e->operands[k].id)) return false;
        }
    }
    return true;
}

bool df_tape_record_has_cotangent(const df_tape_record *e, const df_id_map *cotangents)
{
    for (int k = e->n_in; k < e->n_in + e->n_out; k++)
        if (e->operands[k].id && df_id_map_find(cotangents, e->operands[k].id) >= 0) return true;
    return false;
}
