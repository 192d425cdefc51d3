/* Program files: one program with its weights, as dualflow.save_program writes it; its bytes are
 * explained in docs/program_files.md. A file is not trusted: each number is checked against what it
 * may be, each offset against what is there, and what the program does by df_program_new. Nothing
 * of a file is run before all of it has been checked. */
#ifndef DF_FILE_H
#define DF_FILE_H

#include "model/model.h"

#define DF_FILE_VERSION 1

typedef struct {
    const df_model_tables *tables; /* of one entry, number 0 */
    df_model *model;               /* that entry made ready, variables with their values */
    int n_in, n_out;
    const df_model_variable *inputs, *outputs; /* of a call, in their order */
    const char *structure; /* JSON: what Python makes arguments and results of */
    int64_t structure_bytes;
} df_file;

/* The error names the path, and what is wrong where. What a file holds lives until it is closed. */
df_status df_file_open(const char *path, df_file **out, df_error *err);
void df_file_close(df_file *file); /* NULL is allowed */

#endif
