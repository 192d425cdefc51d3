/* Rows of different shapes, one after another in the bytes of one tensor (uint8, one dimension).
 * Loops keep such rows for their gradients, which read them from the first to the last, or back. */
#ifndef DF_RAGGED_H
#define DF_RAGGED_H

#include "base/tensor.h"

/* Appends a row. `reverse` is the same for all rows: whether they are those of a loop that goes
 * from the last row to the first. */
df_status df_ragged_add(df_tensor *rows, const df_tensor *row, bool reverse, df_error *err);
/* Gives a tensor that no row may have been added to its shape. */
df_status df_ragged_end(df_tensor *rows, df_error *err);

int64_t df_ragged_count(const df_tensor *rows);
/* Where the first row is for a loop that goes this way. */
int64_t df_ragged_first(const df_tensor *rows, bool reverse);
/* Lets `row` look at the row there. */
df_status df_ragged_row(const df_tensor *rows, int64_t at, df_tensor *row, df_error *err);
int64_t df_ragged_next(const df_tensor *rows, int64_t at, bool reverse);

#endif
