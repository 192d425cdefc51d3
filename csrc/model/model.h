/* A model that lives in C alone: variables, and programs that share them, all described by constant
 * tables. What an export writes is such tables and a function for each entry around
 * df_model_run. Knows no op: tables name ops by their numbers in op/ops.def, of which an export
 * has its own. */
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

/* Bytes of its value, smaller than those of the buffer that holds it. Its shape was checked. */
static inline int64_t df_model_variable_bytes(const df_model_variable *v)
{
    int64_t n = df_dtypes[v->dtype].bytes;
    for (int d = 0; d < v->ndim; d++) n *= v->shape[d];
    return n;
}

/* An instruction and a program as tables: df_instruction and df_program_parts, say what the fields
 * mean. */
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
    int cluster; /* the place of its function among compiled clusters, from 1 on; 0: interpreted */
    int n_layout;
    const int64_t *layout;
} df_model_instruction;

struct df_model_program {
    int n_slots, n_instructions, n_args, n_results;
    const df_slot *slots;
    const df_model_instruction *instructions;
    int64_t arena_bytes;
    const int *returned; /* of a body */
};

/* Where an argument of a program comes from. */
typedef enum {
    DF_FROM_CALL,     /* input `index` of the call */
    DF_FROM_VARIABLE, /* variable `index`, which the program writes or only reads, */
    DF_FROM_WRITTEN,
    DF_FROM_KEY,      /* the next key of the generator whose state, (seed, count), is `index` */
    DF_FROM_KEPT,     /* result `index` of the program that computes what is kept */
    DF_FROM_CONSTANT  /* `data` */
} df_model_origin;

typedef struct {
    df_model_origin origin;
    int index;
    const void *data; /* CONSTANT: `bytes` of them */
    int64_t bytes;
} df_model_source;

/* How a value is returned: as df_slot_kind says, `index` of that kind. */
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
    /* Computes of variables what the program is given until one of them changes; or NULL. */
    const struct df_model_entry *kept;
} df_model_entry;

/* The compiled clusters of a SIMD level. */
typedef struct {
    const char *level; /* NULL: there are no more */
    const df_compiled_fn *functions;
} df_model_clusters;

typedef struct {
    int n_variables, n_entries;
    const df_model_variable *variables;
    const df_model_entry *entries;
    const char *level; /* the SIMD level for which workspaces are planned */
    const df_model_clusters *clusters; /* NULL: all are interpreted */
} df_model_tables;

typedef struct df_model df_model; /* used by one thread at a time */

/* NULL: no memory. If programs cannot be made ready, whatever is called fails and says why. The
 * tables stay the caller's. Variables have no values yet. */
df_model *df_model_new(const df_model_tables *tables);
void df_model_free(df_model *m);
/* Of the last call that failed; "" if none has. Of NULL: that there was no memory. */
const char *df_model_error(const df_model *m);

/* Why programs could not be made ready; DF_OK: they are. */
df_status df_model_unfit(const df_model *m);
/* The program of an entry, or what computes what it keeps; and the value of a variable. They stay
 * the model's. */
const df_program *df_model_program_of(const df_model *m, int entry, bool kept);
df_buffer *df_model_value_of(const df_model *m, int variable);

/* All below return a df_status: 0, or what went wrong. */

/* Runs an entry. Inputs and outputs do not overlap. */
int df_model_run(df_model *m, int entry, const void *const *in, void *const *out);
/* Stops one run, before its next instruction or turn of a loop: the one under way or, if there is
 * none, the next. It fails with DF_CANCELLED; variables keep what they were given by then. Any
 * thread may call this while the model exists, and a signal handler. */
void df_model_stop(df_model *m);
/* The value of a variable from, or to, memory of its size. */
int df_model_set(df_model *m, const char *name, const void *value, size_t bytes);
int df_model_get(df_model *m, const char *name, void *value, size_t bytes);
/* All variables from, or to, a file in the safetensors format. A load that fails changes nothing,
 * unless the file changes meanwhile; tensors that are no variables are passed over. A file appears
 * as a whole. */
int df_model_load(df_model *m, const char *path);
int df_model_save(df_model *m, const char *path);
/* df_model_load from `bytes` of an open file, from byte `at` on; `path` is for messages. */
int df_model_load_part(df_model *m, FILE *file, const char *path, int64_t at, int64_t bytes);

#endif
