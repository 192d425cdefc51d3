/* Internal structures of a model. */
#ifndef DF_MODEL_STATE_H
#define DF_MODEL_STATE_H

#include "model/model.h"

typedef struct {
    void *data; /* in `buffer` */
    df_buffer *buffer;
    int64_t bytes;
    bool is_set;
    uint64_t version; /* incremented whenever the value may have changed */
} df_model_value;

/* A built entry. */
typedef struct {
    df_program *program;
    void **args, **results;
    df_program *cached; /* the program that computes cached values, or NULL */
    void **cached_args;
    df_buffer **cached_values; /* by result of `cached` */
    uint64_t *versions; /* of the variables, by argument of `cached`, at its last run */
    bool cached_valid;  /* the last run of `cached` has succeeded */
} df_model_ready;

struct df_model {
    const df_model_tables *tables;
    df_model_value *values; /* by variable */
    df_model_ready *ready;  /* by entry */
    df_program **programs;  /* all programs, each after its bodies */
    int n_programs;
    atomic_bool stop; /* requested for the current run, or the next */
    df_error error;  /* of the last call */
    df_status unfit; /* why no run is possible; `error` has the message */
};

#endif
