/* Rows of different shapes, stored one after another with their dtype and shape in one uint8 tensor
 * of one dimension. Loops save such rows as residuals for their gradients, which read them forwards
 * or backwards. */
#ifndef DF_ROW_LIST_H
#define DF_ROW_LIST_H

#include "base/tensor.h"

/* Appends a row. `reverse` must be the same for all rows: true in a loop that visits rows from the
 * last to the first. */
df_status df_row_list_push(df_tensor *rows, const df_tensor *row, bool reverse, df_error *err);
/* Sets the shape of the tensor after the last row; allocates the head if there are no rows. */
df_status df_row_list_finish(df_tensor *rows, df_error *err);

int64_t df_row_list_length(const df_tensor *rows);
/* Offset of the first row for a loop of this direction; the tensor must have a row. */
int64_t df_row_list_first(const df_tensor *rows, bool reverse);
/* Points `row` to the row at offset `at`. */
df_status df_row_list_get(const df_tensor *rows, int64_t at, df_tensor *row, df_error *err);
int64_t df_row_list_next(const df_tensor *rows, int64_t at, bool reverse);

#endif
