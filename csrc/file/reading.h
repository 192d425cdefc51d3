/* A file that is being read; known to this folder only. */
#ifndef DF_FILE_READING_H
#define DF_FILE_READING_H

#include "file/file.h"

#include <stdio.h>

enum { STRINGS, WORDS, CONSTANTS, STRUCTURE, WEIGHTS, N_SECTIONS };

/* Memory that lives as long as the file. */
typedef struct block {
    struct block *next;
    int64_t zero; /* what follows is aligned for anything */
} block;

/* `status` is what went wrong first; all readers do nothing from then on and give zeros. */
typedef struct {
    df_file file;
    const char *path;
    FILE *handle;
    block *blocks;
    struct {
        int64_t offset, bytes;
    } sections[N_SECTIONS];
    char *data;            /* of the file, up to the weights */
    const int64_t *at, *end, *words;
    int n_strings, n_ops, n_programs;
    const char **strings;
    int64_t *ops;          /* by number in the file: that in the registry */
    df_model_program *programs;
    int *depths;           /* of programs: levels of bodies in them */
    bool *owned;           /* of programs: whether an instruction, or the entry, has it */
    df_model_tables tables;
    df_status status;
    df_error *err;
} df_reading;

/* Notes what is wrong, unless something was before. */
void df_reading_fail(df_reading *r, df_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Room for n of something, zeros; NULL: no memory. */
void *df_reading_room(df_reading *r, int64_t n, size_t bytes);
/* The next word, which is `what`, from low to high. */
int64_t df_take(df_reading *r, const char *what, int64_t low, int64_t high);
/* The number of things that follow, each of at least one word. */
int df_take_count(df_reading *r, const char *what);
double df_take_double(df_reading *r, const char *what);
const char *df_take_string(df_reading *r, const char *what);
/* The next n words as they are. */
const int64_t *df_take_words(df_reading *r, const char *what, int64_t n);
/* A name, a dtype and a shape that is known; its bytes. */
int64_t df_take_described(df_reading *r, const char *what, df_model_variable *to);
/* `bytes` of the constants, of which the next word says where they begin. */
const void *df_take_constant(df_reading *r, const char *what, int64_t bytes);
/* Bytes of a shape; -1 where they are not known, with `r` failed where there are too many. */
int64_t df_reading_bytes(df_reading *r, const char *what, df_dtype dtype, int ndim,
                         const int64_t *shape);
/* Fails unless all are 0 or 1. */
void df_reading_check_bools(df_reading *r, const char *what, const void *data, int64_t n);

/* The programs, with the ops that they name. */
void df_read_programs(df_reading *r);
/* The entry; and what it is given and returns, once its programs have been built. */
void df_read_entry(df_reading *r, df_model_entry *entry);
void df_check_entry(df_reading *r, const df_model_entry *entry);

#endif
