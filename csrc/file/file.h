/* Program files: one program with its weights, written by dualflow.save_program, read by api/ and
 * _core; docs/program_files.md specifies the format. A file is not trusted: each number is checked
 * against its range, each offset against the size of the file, and the program by df_program_new.
 * Nothing in a file is executed before all of it has been checked. */
#ifndef DF_FILE_H
#define DF_FILE_H

#include "model/model.h"

#define DF_FILE_VERSION 1

typedef struct {
    const df_model_tables *tables; /* with one entry, index 0 */
    df_model *model;               /* that entry, built, with the values of its variables */
    int n_in, n_out;
    const df_model_variable *inputs, *outputs; /* of a call, in order */
    const char *structure; /* JSON: the Python structure of arguments and results */
    int64_t structure_bytes;
} df_file;

/* On failure the error names the path and the position. The tables live until the file is
 * closed. */
df_status df_file_open(const char *path, df_file **out, df_error *err);
void df_file_close(df_file *file); /* NULL is allowed */

#endif
