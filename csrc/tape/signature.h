/* The signature of a tape: everything that its backward pass depends on except tensor values, as
 * 64-bit words. Tapes with equal words run the same gradient rules in the same order. Values are
 * numbered by first occurrence, so the words contain neither ids nor addresses. A value stored in a
 * record is an argument of the compiled backward pass. The caller encodes ops and stored
 * objects. */
#ifndef DF_SIGNATURE_H
#define DF_SIGNATURE_H

#include "tape/tape.h"

/* A value that occurs in the tape: its number, and the argument that is its newest object. */
typedef struct {
    uint64_t id;
    const void *stored;
    int32_t generation, number, argument;
} df_seen_value;

typedef struct {
    uint64_t *words;
    void **saved;    /* by argument: the stored object */
    int32_t *argument_of; /* by operand, in the order of writing: the argument; -1 if it is not
                           * stored */
    int64_t n, n_saved, n_operands, n_values, n_seen;
    int64_t capacity, saved_capacity, operand_capacity;
    df_seen_value *seen; /* hash table by id; an entry of another `generation` is free */
    int32_t generation;
    const int64_t *dims; /* of the previous operand */
    int ndim;
} df_signature;

/* Most operands of a tape: numbers of values and arguments have 21 bits in a word. */
#define DF_SIGNATURE_OPERANDS ((int64_t)1 << 20)

/* The following functions return false if out of memory. */
void df_signature_begin(df_signature *s);
bool df_signature_word(df_signature *s, uint64_t word);
/* A target or a source of the gradient. */
bool df_signature_value(df_signature *s, uint64_t id, const df_tensor *like);
/* An argument that is not stored in a record. */
bool df_signature_argument(df_signature *s, void *object);
/* An operand of a record; if it is stored, also its tensor and the tensor's id. */
bool df_signature_operand(df_signature *s, const df_operand *o, const df_tensor *stored,
                          uint64_t stored_id);
uint64_t df_signature_hash(const df_signature *s);
void df_signature_free(df_signature *s);

#endif
