/* State of a file that is being read. Internal to this folder. */
#ifndef DF_FILE_READING_H
#define DF_FILE_READING_H

#include "file/file.h"

#include <stdio.h>

enum { STRINGS, WORDS, CONSTANTS, STRUCTURE, WEIGHTS, N_SECTIONS };

/* Memory that lives as long as the file. */
typedef struct block {
    struct block *next;
    int64_t zero; /* aligns the data that follow for any type */
} block;

/* `status` is the first error; afterwards all readers do nothing and return zeros. */
typedef struct {
    df_file file;
    const char *path;
    FILE *handle;
    block *blocks;
    struct {
        int64_t offset, bytes;
    } sections[N_SECTIONS];
    char *data;            /* content of the file up to the weights */
    const int64_t *at, *end, *words;
    int n_strings, n_ops, n_programs;
    const char **strings;
    int64_t *ops;          /* by number in the file: the index in the registry */
    df_model_program *programs;
    int *depths;           /* by program: levels of nested bodies */
    bool *owned;           /* by program: an instruction, or the entry, has it */
    df_model_tables tables;
    df_status status;
    df_error *err;
} df_reading;

/* Records an error, unless one was recorded before. */
void df_reading_fail(df_reading *r, df_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Zeroed memory for n elements, freed with the file; NULL if out of memory. */
void *df_reading_alloc(df_reading *r, int64_t n, size_t bytes);
/* Reads the next word, `what` in messages, which must be in [low, high]. */
int64_t df_take(df_reading *r, const char *what, int64_t low, int64_t high);
/* Reads the number of items that follow, each of at least one word. */
int df_take_count(df_reading *r, const char *what);
double df_take_double(df_reading *r, const char *what);
const char *df_take_string(df_reading *r, const char *what);
/* Skips the next n words and returns a pointer to them. */
const int64_t *df_take_words(df_reading *r, const char *what, int64_t n);
/* Reads a name, a dtype and a known shape. Returns its size in bytes. */
int64_t df_take_described(df_reading *r, const char *what, df_model_variable *to);
/* Returns `bytes` bytes of the constants, at the offset in the next word. */
const void *df_take_constant(df_reading *r, const char *what, int64_t bytes);
/* Size of a shape; -1 if a dimension is unknown. Fails if it is too large. */
int64_t df_reading_bytes(df_reading *r, const char *what, df_dtype dtype, int ndim,
                         const int64_t *shape);
/* Fails unless all bytes are 0 or 1. */
void df_reading_check_bools(df_reading *r, const char *what, const void *data, int64_t n);

/* Reads the programs and the ops that they name. */
void df_read_programs(df_reading *r);
/* Reads the entry; checks its sources and returns once its programs have been built. */
void df_read_entry(df_reading *r, df_model_entry *entry);
void df_check_entry(df_reading *r, const df_model_entry *entry);

#endif
