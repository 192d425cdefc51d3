/* What the walk back through a log depends on, as words: two logs with the same words are walked in
 * the same steps, with other numbers. Values are known by where they occur first, so neither ids
 * nor addresses are among the words; a value that the log keeps is one of the arguments of a
 * program that stands for the walk. Whoever writes says what ops and kept objects are. */
#ifndef DF_SIGNATURE_H
#define DF_SIGNATURE_H

#include "tape/log.h"

/* A value met while a log is written: its number, and the argument that is its newest object. */
typedef struct {
    uint64_t id;
    const void *kept;
    int32_t round, number, argument;
} df_place;

typedef struct {
    uint64_t *words;
    void **saved;    /* by argument: the object that is kept */
    int32_t *argument_of; /* by operand, in the order of writing: -1 if it is not kept */
    int64_t n, n_saved, n_operands, n_values, room, saved_room, operand_room, n_places;
    df_place *places; /* by hashed id; free if of another round */
    int32_t round;
    const int64_t *dims; /* of the operand before */
    int ndim;
} df_signature;

/* Operands that one may have: numbers of values and arguments are 21 bits in a word. */
#define DF_SIGNATURE_OPERANDS ((int64_t)1 << 20)

/* What follows returns false when there is no memory. */
void df_signature_begin(df_signature *s);
bool df_signature_word(df_signature *s, uint64_t word);
/* A value gradients flow into or out of. */
bool df_signature_value(df_signature *s, uint64_t id, const df_tensor *like);
/* An argument besides those that the log keeps. */
bool df_signature_argument(df_signature *s, void *object);
/* An operand of the log; of one that is kept, its tensor and that one's id. */
bool df_signature_operand(df_signature *s, const df_operand *o, const df_tensor *kept,
                          uint64_t kept_id);
uint64_t df_signature_hash(const df_signature *s);
void df_signature_free(df_signature *s);

#endif
