/* A model without Python: variables, and programs that share them, all described by constant
 * tables. An export writes such tables and one function per entry that calls df_model_run; file/
 * builds the tables from a program file. Tables name ops by their index in op/ops.def, of which an
 * export has its own version. */
#ifndef DF_MODEL_H
#define DF_MODEL_H

#include "exec/program.h"

#include <stdio.h>

typedef struct {
    const char *name;
    df_dtype dtype;
    int ndim;
    const int64_t *shape;
} df_model_variable;

/* Size of its value; the buffer may be larger. The shape has been checked. */
static inline int64_t df_model_variable_bytes(const df_model_variable *v)
{
    int64_t n = df_dtypes[v->dtype].bytes;
    for (int d = 0; d < v->ndim; d++) n *= v->shape[d];
    return n;
}

/* An instruction and a program as tables; for the fields see df_instruction and
 * df_program_parts. */
typedef struct df_model_program df_model_program;
typedef struct {
    int op, n_in, n_out, n_attrs, n_bodies;
    const int *slots; /* inputs, then outputs */
    const df_attr *attrs;
    const df_model_program *const *bodies;
    int64_t workspace;
    bool dynamic, poll;
    int wave;
    double cost;
    int cluster; /* index of its function among the compiled clusters, from 1; 0: interpreted */
    int n_layout;
    const int64_t *layout;
} df_model_instruction;

struct df_model_program {
    int n_slots, n_instructions, n_args, n_results;
    const df_slot *slots;
    const df_model_instruction *instructions;
    int64_t arena_bytes;
    const int *returned; /* of a body: see df_program_parts */
};

/* Origin of an argument of a program. */
typedef enum {
    DF_FROM_CALL,     /* input `index` of the call */
    DF_FROM_VARIABLE, /* variable `index`, read by the program */
    DF_FROM_WRITTEN,
    DF_FROM_KEY,      /* the next key of the generator with state (seed, count) in variable
                       * `index` */
    DF_FROM_CACHED,   /* cached value `index`, a result of the entry `cached` */
    DF_FROM_CONSTANT  /* `data` */
} df_model_origin;

typedef struct {
    df_model_origin origin;
    int index;
    const void *data; /* CONSTANT: `bytes` bytes */
    int64_t bytes;
} df_model_source;

/* A returned value: `index` in the df_slot_kind `kind`. */
typedef struct {
    df_slot_kind kind;
    int index;
    int64_t bytes;
    const void *data; /* CONSTANT */
} df_model_return;

typedef struct df_model_entry {
    const char *name;
    const df_model_program *program;
    int n_in, n_out;
    const df_model_source *sources; /* of the program's arguments */
    const df_model_return *returns; /* of the outputs of a call */
    /* Computes cached arguments from variables; run again when one of them has changed. May be
     * NULL. */
    const struct df_model_entry *cached;
} df_model_entry;

/* The compiled clusters of a SIMD level. */
typedef struct {
    const char *level; /* NULL: end of the list */
    const df_compiled_fn *functions;
} df_model_clusters;

typedef struct {
    int n_variables, n_entries;
    const df_model_variable *variables;
    const df_model_entry *entries;
    const char *level; /* the SIMD level that workspaces were planned for */
    const df_model_clusters *clusters; /* NULL: all clusters are interpreted */
} df_model_tables;

typedef struct df_model df_model; /* not thread-safe, except df_model_stop */

/* Returns NULL if out of memory. If a program cannot be built, every later call fails with the
 * reason. The caller keeps the tables alive. Variables have no values yet. */
df_model *df_model_new(const df_model_tables *tables);
void df_model_free(df_model *m);
/* The message of the last call that failed, or "". For NULL: out of memory. */
const char *df_model_error(const df_model *m);

/* DF_OK, or the reason why the programs could not be built. */
df_status df_model_unfit(const df_model *m);
/* The program of an entry or of its cached values, and the buffer of a variable; owned by the
 * model. */
const df_program *df_model_program_of(const df_model *m, int entry, bool cached);
df_buffer *df_model_value_of(const df_model *m, int variable);

/* The following functions return a df_status: 0 on success. */

/* Runs an entry. Inputs and outputs must not overlap. */
int df_model_run(df_model *m, int entry, const void *const *in, void *const *out);
/* Stops one run before its next instruction or loop iteration: the current run or, if there is
 * none, the next one. The run fails with DF_CANCELLED; variables keep the values assigned until
 * then. May be called by any thread while the model exists, and by a signal handler. */
void df_model_stop(df_model *m);
/* Copies the value of a variable from, or to, memory of its size. */
int df_model_set(df_model *m, const char *name, const void *value, size_t bytes);
int df_model_get(df_model *m, const char *name, void *value, size_t bytes);
/* Load or save all variables in the safetensors format. A failed load changes nothing, unless the
 * file is modified at the same time; other tensors in the file are ignored. Saving replaces a file
 * atomically. */
int df_model_load(df_model *m, const char *path);
int df_model_save(df_model *m, const char *path);
/* df_model_load from `bytes` bytes of an open file, from offset `at`; `path` is for messages. */
int df_model_load_part(df_model *m, FILE *file, const char *path, int64_t at, int64_t bytes);

#endif
