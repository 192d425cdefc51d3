#include "tape/signature.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 256
#define FIRST_CAPACITY 256
#define STORED ((uint64_t)1 << 16)
#define SAME_SHAPE ((uint64_t)1 << 17)
#define LANES 4 /* independent chains of multiplications */

void df_signature_begin(df_signature *s)
{
    s->n = s->n_saved = s->n_operands = s->n_values = 0;
    s->dims = NULL;
    s->ndim = -1;
    if (++s->generation < 0) { /* the counter wrapped around: old entries would look current */
        memset(s->seen, 0, (size_t)s->n_seen * sizeof *s->seen);
        s->generation = 1;
    }
}

static bool grow(void **items, int64_t *capacity, int64_t want, size_t size)
{
    int64_t more = df_max(FIRST_CAPACITY, df_max(want, *capacity * 2));
    void *grown = realloc(*items, (size_t)more * size);
    if (!grown) return false;
    *items = grown;
    *capacity = more;
    return true;
}

static inline bool reserve(df_signature *s, int64_t words)
{
    return s->n + words <= s->capacity ||
           grow((void **)&s->words, &s->capacity, s->n + words, sizeof *s->words);
}

bool df_signature_word(df_signature *s, uint64_t word)
{
    if (!reserve(s, 1)) return false;
    s->words[s->n++] = word;
    return true;
}

static inline uint64_t home(const df_signature *s, uint64_t id)
{
    return ((id * UINT64_C(0x9E3779B97F4A7C15)) >> 32) & (uint64_t)(s->n_seen - 1);
}

static bool grow_seen(df_signature *s)
{
    df_signature grown = {.n_seen = df_max(FIRST_SLOTS, s->n_seen * 2)};
    grown.seen = calloc((size_t)grown.n_seen, sizeof *grown.seen);
    if (!grown.seen) return false;
    for (int64_t i = 0; i < s->n_seen; i++) {
        const df_seen_value *p = &s->seen[i];
        if (p->generation != s->generation) continue;
        uint64_t at = home(&grown, p->id);
        while (grown.seen[at].generation) at = (at + 1) & (uint64_t)(grown.n_seen - 1);
        grown.seen[at] = *p;
    }
    free(s->seen);
    s->seen = grown.seen;
    s->n_seen = grown.n_seen;
    return true;
}

/* The entry of a value, created if new; NULL if out of memory. */
static inline df_seen_value *place(df_signature *s, uint64_t id)
{
    if (s->n_values * 2 >= s->n_seen && !grow_seen(s)) return NULL;
    uint64_t at = home(s, id);
    for (;; at = (at + 1) & (uint64_t)(s->n_seen - 1)) {
        df_seen_value *p = &s->seen[at];
        if (p->generation != s->generation) {
            *p = (df_seen_value){.id = id, .generation = s->generation,
                                 .number = (int32_t)s->n_values++,
                                 .argument = -1};
            return p;
        }
        if (p->id == id) return p;
    }
}

static inline uint64_t kind_of(int dtype, int ndim)
{
    return (uint64_t)(uint8_t)dtype | (uint64_t)(uint8_t)ndim << 8;
}

static inline void write_dims(df_signature *s, int ndim, const int64_t *dims)
{
    for (int d = 0; d < ndim; d++) s->words[s->n++] = (uint64_t)dims[d];
}

bool df_signature_value(df_signature *s, uint64_t id, const df_tensor *like)
{
    df_seen_value *p = place(s, id);
    if (!p || !reserve(s, 1 + (like ? like->ndim : 0))) return false;
    s->words[s->n++] = (like ? kind_of(like->dtype, like->ndim) : 0) | (uint64_t)p->number << 20;
    if (like) write_dims(s, like->ndim, like->shape);
    return true;
}

bool df_signature_argument(df_signature *s, void *object)
{
    if (s->n_saved == s->saved_capacity &&
        !grow((void **)&s->saved, &s->saved_capacity, 0, sizeof *s->saved))
        return false;
    s->saved[s->n_saved++] = object;
    return true;
}

bool df_signature_operand(df_signature *s, const df_operand *o, const df_tensor *stored,
                          uint64_t stored_id)
{
    const int ndim = stored ? stored->ndim : o->ndim;
    const int64_t *dims = stored ? stored->shape : o->stored;
    uint64_t word = kind_of(stored ? (int)stored->dtype : o->dtype, ndim);
    int32_t argument = -1;
    df_seen_value *p = NULL;
    if (s->n_operands == s->operand_capacity &&
        !grow((void **)&s->argument_of, &s->operand_capacity, 0, sizeof *s->argument_of))
        return false;
    if (!reserve(s, 2 + ndim)) return false;
    if (o->id || stored) {
        p = place(s, o->id ? o->id : stored_id);
        if (!p) return false;
    }
    if (o->id) word |= (uint64_t)(p->number + 1) << 20;
    if (stored) {
        if (p->argument < 0 || p->stored != o->stored) {
            p->stored = o->stored;
            p->argument = (int32_t)s->n_saved;
            if (!df_signature_argument(s, o->stored)) return false;
        }
        argument = p->argument;
        word |= STORED | (uint64_t)argument << 42;
    }
    s->argument_of[s->n_operands++] = argument;
    bool same = ndim == s->ndim && df_same_dims(ndim, dims, s->dims);
    s->words[s->n++] = same ? word | SAME_SHAPE : word;
    if (!same) write_dims(s, ndim, dims);
    s->dims = dims;
    s->ndim = ndim;
    return true;
}

static inline uint64_t mixed(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

uint64_t df_signature_hash(const df_signature *s)
{
    uint64_t h[LANES] = {1, 2, 3, 4};
    int64_t i = 0;
    for (; i + LANES <= s->n; i += LANES)
        for (int k = 0; k < LANES; k++) h[k] = mixed(h[k], s->words[i + k]);
    for (; i < s->n; i++) h[0] = mixed(h[0], s->words[i]);
    for (int k = 1; k < LANES; k++) h[0] = mixed(h[0], h[k]);
    return h[0];
}

void df_signature_free(df_signature *s)
{
    free(s->words);
    free(s->saved);
    free(s->argument_of);
    free(s->seen);
    *s = (df_signature){0};
}
