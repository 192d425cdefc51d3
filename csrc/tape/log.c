#include "tape/log.h"

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

df_entry *df_log_reserve(df_log *log, int n_in, int n_out, int64_t n_dims)
{
    df_chunk *c = log->chunk;
    int64_t size = (int64_t)sizeof(df_entry) + ((int64_t)n_in + n_out) * (int64_t)sizeof(df_operand)
                   + n_dims * (int64_t)sizeof(int64_t);
    if (!c || c->used + size > c->size) {
        c = new_chunk(size + (int64_t)sizeof *c);
        if (!c) return NULL;
        c->before = log->chunk;
        *(log->chunk ? &log->chunk->next : &log->first) = c;
        log->chunk = c;
    }
    df_entry *e = (df_entry *)((char *)c + c->used);
    *e = (df_entry){.n_in = n_in, .n_out = n_out};
    return e;
}

int64_t *df_operand_describe(df_operand *o, const df_tensor *t, const df_operand *like,
                             int64_t *dims)
{
    o->spec = true;
    o->dtype = (uint8_t)t->dtype;
    o->ndim = t->ndim;
    if (like && like->ndim == t->ndim && df_same_dims(t->ndim, like->kept, t->shape)) {
        o->kept = like->kept;
        return dims;
    }
    o->kept = dims;
    for (int d = 0; d < t->ndim; d++) dims[d] = t->shape[d];
    return dims + t->ndim;
}

void df_log_append(df_log *log, df_entry *e, const int64_t *end)
{
    e->bytes = (const char *)end - (const char *)e;
    e->before = log->last;
    log->chunk->used += e->bytes;
    log->last = e;
    log->n++;
}

void df_log_drop(df_log *log)
{
    df_chunk *c = log->chunk;
    int64_t bytes = log->last->bytes;
    log->last = log->last->before;
    log->n--;
    c->used -= bytes;
    if (c->used > (int64_t)sizeof *c) return;
    log->chunk = c->before;
    *(log->chunk ? &log->chunk->next : &log->first) = NULL;
    free_chunk(c);
}

/* True if an operand of a record is in `reach`. */
static bool is_reached(const df_entry *e, const df_id_set *reach)
{
    int n = e->both_ways ? e->n_in + e->n_out : e->n_in;
    for (int k = 0; k < n; k++)
        if (e->operands[k].id && df_id_set_has(reach, e->operands[k].id)) return true;
    return false;
}

bool df_log_reach(const df_log *log, df_id_set *reach)
{
    for (const df_chunk *c = log->first; c; c = c->next) {
        const char *at = (const char *)(c + 1), *end = (const char *)c + c->used;
        while (at < end) {
            const df_entry *e = (const df_entry *)at;
            at += e->bytes;
            if (!is_reached(e, reach)) continue;
            for (int k = e->n_in; k < e->n_in + e->n_out; k++)
                if (e->operands[k].id && !df_id_set_put(reach, e->operands[k].id)) return false;
        }
    }
    return true;
}

bool df_entry_gives(const df_entry *e, const df_id_map *pending)
{
    for (int k = e->n_in; k < e->n_in + e->n_out; k++)
        if (e->operands[k].id && df_id_map_find(pending, e->operands[k].id) >= 0) return true;
    return false;
}
