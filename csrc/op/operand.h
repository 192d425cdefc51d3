/* Broadcasting: operands of elementwise work in the shape of the output. Called by the tile loader
 * and by clusters; no other code broadcasts.
 *
 * An operand is described by its collapsed shape: adjacent output dimensions that it has, or along
 * which it is repeated, are merged. Most operands collapse to nothing or to one dimension and are
 * read in place; the others are copied, tile by tile, into an L1-sized buffer. */
#ifndef DF_OPERAND_H
#define DF_OPERAND_H

#include "base/tensor.h"

typedef enum {
    DF_DIRECT,   /* dense, in the shape of the output: read in place */
    DF_PERIODIC, /* repeats every `period` elements: identical in all tiles of a multiple of the
                  * period */
    DF_WALK      /* any other: copied for each tile, or read in place within a run of elements */
} df_operand_mode;

typedef struct {
    int bytes; /* of an element */
    df_operand_mode mode;
    int64_t period;
    int ndim;        /* collapsed */
    int64_t *extent; /* collapsed output dimensions */
    int64_t *step;   /* distance of neighbours in the operand, in elements; 0: repeated */
} df_operand_walk;

/* Storage for the dimensions of one operand. */
typedef struct {
    int64_t extent[DF_MAX_NDIM], step[DF_MAX_NDIM];
} df_operand_dims;

/* Describes `x`, which broadcasts to `out`; the dimensions are written to `dims`. */
void df_operand_set(df_operand_walk *o, const df_tensor *x, const df_tensor *out,
                    df_operand_dims *dims);

/* Elements [begin, begin + n) of the broadcast operand at `data`: a pointer into it if they are
 * consecutive there, otherwise a copy in `buffer`. */
const void *df_operand_load(const df_operand_walk *o, const char *data, int64_t begin, int64_t n,
                            void *buffer);

/* Stores n copies of one element. */
void df_fill(void *to, const void *value, int bytes, int64_t n);

/* The least common multiple of two positive numbers, or `limit` + 1 if it exceeds `limit`. */
int64_t df_common_multiple(int64_t a, int64_t b, int64_t limit);

#endif
