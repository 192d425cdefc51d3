/* Fused clusters: many elementwise steps, and reductions of trailing dimensions between them, run
 * tile by tile in L1, so that what lies between them never reaches memory. Knows no op by name.
 *
 * The op `cluster` runs one; a matrix product runs one as its epilogue. Both carry its steps as
 * an attribute, a flat list of integers (the tile code):
 *
 *     row_length, n_steps, step..., n_outputs, value...
 *     step  = op, space, n_operands, value..., n_attributes, word...
 *
 * Values are numbered: the inputs first, then each step's result. `op` is the op's place in the
 * registry. A word is an integer attribute, or the bits of a double. Every step has a space:
 *
 *     FULL  all elements of the iteration shape S (attribute `shape`)
 *     ROW   one element for each row of `row_length` elements: S with its trailing dimensions 1.
 *           row_length is the product of those trailing dimensions, 1 where nothing is reduced.
 *
 *     FOLD  what is left of S where other dimensions are reduced: (outer, inner) of S as (outer, n,
 *           inner). inner is a multiple of row_length, or that is 1.
 *
 * An elementwise step reads values of its own space; a FULL step may also read ROW values, each
 * repeated along its row. Inputs broadcast against the space they are read in. A step whose op is a
 * reduction has one operand, a FULL value, and yields a ROW value by the record's `reduce`, or a
 * FOLD value by its `fold`, bit for bit what the op itself yields; in the code it has no attributes
 * or, a FOLD step, two words: outer and n, the same in all of them. Outputs are results of steps,
 * dense; a FOLD value, which is there when all else has been computed, can only be an output. An
 * output may lie in the memory of an input of the same bytes per element that is read in place (no
 * broadcast). */
#ifndef DF_CLUSTER_H
#define DF_CLUSTER_H

#include "op/op.h"

#define DF_TILE_CODE "code" /* the attribute that holds it, in all ops that have some */

typedef enum { DF_SPACE_FULL, DF_SPACE_ROW, DF_SPACE_FOLD } df_space;

/* Longer rows are folded: they would not fit L2. Those of halves are widened on the stack. */
#define DF_CLUSTER_ROW_MAX 65536
#define DF_CLUSTER_HALF_ROW_MAX 8192

/* Tile code made ready for one set of shapes: decoded, kernels chosen, registers allocated,
 * operands collapsed. Read-only once made, so any number of runs share it. */
typedef struct df_cluster df_cluster;

/* Inputs and outputs need dtypes and known shapes, no data. Fails where the code is malformed or
 * an op has no kernel for the dtypes it meets. */
df_status df_cluster_new(const df_call *call, df_cluster **out, df_error *err);
void df_cluster_free(df_cluster *c);
/* Whether there are FOLD values, so that it is run as a whole; */
bool df_cluster_folds(const df_cluster *c);
/* or else, where each is the sum, say, of an output's rows of `inner` elements, piece by piece, in
 * four steps: memory of so many bytes; the parts of pieces whose other outputs are there, on any
 * threads (false where a piece ends within a part); if one was false, all parts again; the ends. */
bool df_cluster_folds_rows(const df_cluster *c, int64_t inner);
int64_t df_cluster_fold_bytes(const df_cluster *c);
bool df_cluster_fold_piece(const df_cluster *c, const df_call *call, int64_t begin, int64_t n,
                           int64_t count, void *parts);
void df_cluster_fold_all(const df_cluster *c, const df_call *call, void *parts);
void df_cluster_finish_folds(const df_cluster *c, const df_call *call, void *parts);
/* --- compiled clusters ---
 *
 * A function that does the steps of a tile, in phases: loops over the elements or the rows of the
 * tile, and calls. at[i] is where the tile of slot i is: loads first, then outputs, registers.
 * `layout` says what they are; each list begins with its length:
 *
 *     loads      input, space, fixed (1: at[i] is a number, or a row, that meets all), last phase
 *     registers  space, bytes of an element
 *     outputs    phase, register to fall back on where its place is still to be read, or -1;
 *                of a FOLD value, or of what is an output already: anything
 *     folds      slot of the operand of each FOLD step
 *     calls      steps whose functions are `calls` of the function
 *
 * The cluster runs by it from then on; runs that have begun end as they began. */
df_status df_cluster_compile(df_cluster *c, const df_call *call, df_ints layout, df_compiled_fn fn,
                             df_error *err);

/* Dtypes and shapes of the outputs from those of the inputs; this is the infer of `cluster`. */
df_status df_cluster_infer(const df_call *call, df_error *err);
/* The number of outputs in the code; 1 where it is malformed, which infer then reports. */
int df_cluster_count_out(const df_call *call);

#endif
