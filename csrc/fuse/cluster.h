/* Fused clusters: elementwise steps, and reductions of trailing dimensions between them, executed
 * tile by tile in L1, so that intermediate values never reach memory. Contains no op by name.
 *
 * The op `cluster` runs one; a matrix product runs one as its epilogue. Both store its steps as an
 * attribute, a flat list of integers (the tile code; graph/ir/tile_code.py writes it):
 *
 *     row_length, n_steps, step..., n_outputs, value...
 *     step  = op, space, n_operands, value..., n_attributes, word...
 *
 * Values are numbered: inputs first, then the result of each step. `op` is the index of the op in
 * the registry. A word is an integer attribute, or the bits of a double. Every step has a space:
 *
 *     FULL  all elements of the iteration shape S (attribute `shape`)
 *     ROW   one element per row of `row_length` elements: S with its trailing dimensions set
 *           to 1. row_length is the product of these trailing dimensions, or 1 if nothing is
 *           reduced.
 *     COLUMN  the result of a column reduction: (outer, inner) of S as (outer, n, inner). inner
 *           is a multiple of row_length, or 1.
 *
 * An elementwise step reads values of its own space; a FULL step may also read ROW values, each
 * repeated along its row. Inputs broadcast to the space that reads them. A step whose op is a
 * reduction has one operand, a FULL value. Its result is a ROW value, computed by the record's
 * `reduce`, or a COLUMN value, computed by its `fold`; both are bit-identical to the result of the
 * op. Such a step has no attributes in the code, except that a COLUMN step has two words, outer and
 * n, which are equal in all COLUMN steps.
 *
 * Outputs are results of steps, dense. A COLUMN value is complete only after the last tile, so no
 * step can read it: it can only be an output. An output may share the memory of an input with the
 * same bytes per element that is read in place (without broadcasting). */
#ifndef DF_CLUSTER_H
#define DF_CLUSTER_H

#include "op/op.h"

#define DF_TILE_CODE "code" /* name of the attribute with tile code, in every op that has it */

typedef enum { DF_SPACE_FULL, DF_SPACE_ROW, DF_SPACE_COLUMN } df_space;

/* Longer rows are reduced in COLUMN space: they exceed L2. Rows of 16-bit floats are widened on the
 * stack. */
#define DF_CLUSTER_ROW_MAX 65536
#define DF_CLUSTER_HALF_ROW_MAX 8192

/* Tile code prepared for one set of shapes: decoded, kernels chosen, registers allocated, operands
 * collapsed. Immutable except for `compiled`, so any number of runs share it. */
typedef struct df_cluster df_cluster;

/* Inputs and outputs need dtypes and known shapes, but no data. Fails if the code is malformed or
 * an op has no kernel for the dtypes of its operands. */
df_status df_cluster_new(const df_call *call, df_cluster **out, df_error *err);
void df_cluster_free(df_cluster *c);
/* True if there are COLUMN values. df_cluster_run then runs the cluster as a whole. */
bool df_cluster_has_columns(const df_cluster *c);
/* Piecewise execution with COLUMN values, each the column reduction of an output whose rows have
 * `inner` elements. In four steps: df_cluster_columns_bytes of memory for the parts;
 * df_cluster_columns_piece for each piece whose other outputs are complete, on any thread (returns
 * false if the piece ends inside a part); if any call returned false, df_cluster_columns_all;
 * df_cluster_finish_columns. */
bool df_cluster_sums_rows(const df_cluster *c, int64_t inner);
int64_t df_cluster_columns_bytes(const df_cluster *c);
bool df_cluster_columns_piece(const df_cluster *c, const df_call *call, int64_t begin, int64_t n,
                              int64_t count, void *parts);
void df_cluster_columns_all(const df_cluster *c, const df_call *call, void *parts);
void df_cluster_finish_columns(const df_cluster *c, const df_call *call, void *parts);
/* --- compiled clusters ---
 *
 * A compiled function executes the steps of a tile in phases: loops over the elements or rows of
 * the tile, and calls. at[i] points to the tile of slot i: loads first, then outputs, registers.
 * `layout` describes the slots; each list begins with its length:
 *
 *     loads      input, space, fixed (1: at[i] is one element or row for all units), last phase
 *     registers  space, bytes of an element
 *     outputs    phase, register to use instead while its memory is still to be read, or -1;
 *                ignored for a COLUMN value and for a repeated output
 *     folds      slot of the operand of each COLUMN step
 *     calls      steps whose functions are `calls` of the function
 *
 * Runs that start later use the function; runs in progress finish with the interpreter. */
df_status df_cluster_compile(df_cluster *c, const df_call *call, df_ints layout, df_compiled_fn fn,
                             df_error *err);

/* Sets dtypes and shapes of the outputs; the infer of `cluster`. */
df_status df_cluster_infer(const df_call *call, df_error *err);
/* The number of outputs in the code; 1 if it is malformed, which infer then reports. */
int df_cluster_count_out(const df_call *call);

#endif
