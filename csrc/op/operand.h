/* Operands of elementwise work as a shape sees them: the only place where broadcasting happens.
 * Knows shapes and bytes, no op.
 *
 * An operand is described by its collapsed shape: adjacent dimensions of the output in which it is
 * present, or in which it is repeated, are merged. Most operands collapse to nothing or to one
 * dimension and are read in place; the others are copied, tile by tile, into an L1-sized buffer. */
#ifndef DF_OPERAND_H
#define DF_OPERAND_H

#include "base/tensor.h"

typedef enum {
    DF_DIRECT,   /* dense and of the output's shape: read in place */
    DF_PERIODIC, /* repeats every `period` elements: the same in all tiles of a multiple of that */
    DF_WALK      /* anything else: filled for each tile, or read in place within a run */
} df_operand_mode;

typedef struct {
    int bytes; /* of an element */
    df_operand_mode mode;
    int64_t period;
    int ndim;        /* collapsed */
    int64_t *extent; /* collapsed output dimensions */
    int64_t *step;   /* elements between neighbours in the operand; 0: repeated */
} df_operand_walk;

/* Room for the dimensions of one operand. */
typedef struct {
    int64_t extent[DF_MAX_NDIM], step[DF_MAX_NDIM];
} df_operand_room;

/* Describes `x`, which broadcasts to `out`; the dimensions are written to `room`. */
void df_operand_set(df_operand_walk *o, const df_tensor *x, const df_tensor *out,
                    df_operand_room *room);

/* Elements [begin, begin + n) of the operand, whose data are at `data`, as the output sees them: in
 * place when they lie in one run of an innermost dimension it has, else copied to `buffer`. */
const void *df_operand_load(const df_operand_walk *o, const char *data, int64_t begin, int64_t n,
                            void *buffer);

/* n copies of one element. */
void df_fill(void *to, const void *value, int bytes, int64_t n);

/* The least common multiple of two positive numbers, or `limit` + 1 where it is beyond `limit`. */
int64_t df_common_multiple(int64_t a, int64_t b, int64_t limit);

#endif
