/* What a model is made of; known to this folder only. */
#ifndef DF_MODEL_STATE_H
#define DF_MODEL_STATE_H

#include "model/model.h"

typedef struct {
    void *data; /* in `buffer` */
    df_buffer *buffer;
    int64_t bytes;
    bool is_set;
    uint64_t version; /* how often it may have changed */
} df_model_value;

/* An entry made ready. */
typedef struct {
    df_program *program;
    void **args, **results;
    df_program *kept;      /* what computes it, or NULL */
    void **kept_args;
    df_buffer **kept_made; /* by result of `kept` */
    uint64_t *versions;    /* of the variables, by argument of `kept`, when it was computed */
    bool is_kept;
} df_model_ready;

struct df_model {
    const df_model_tables *tables;
    df_model_value *values; /* by variable */
    df_model_ready *ready;  /* by entry */
    df_program **programs;  /* all that were built, each after its bodies */
    int n_programs;
    atomic_bool stop; /* a run, this one or the next */
    df_error error;  /* of the last call */
    df_status unfit; /* why it can never run, as `error` says */
};

#endif
