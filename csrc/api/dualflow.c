/* Implementation of dualflow.h: a program file with memory for its inputs and outputs. */
#include "api/dualflow.h"

#include "file/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct dualflow {
    df_file *file;
    dualflow_tensor *inputs, *outputs;
    df_buffer **given, **made;
    const void **in;
    void **out;
    bool *is_set;
    bool has_run;
    df_error error; /* of this file; in_model: the last error is in the model */
    bool in_model;
};

/* --- building ---*/

static df_status make_values(int n, const df_model_variable *described, dualflow_tensor **tensors,
                             df_buffer ***buffers, df_error *err)
{
    *tensors = calloc((size_t)n + 1, sizeof **tensors);
    *buffers = calloc((size_t)n + 1, sizeof **buffers);
    if (!*tensors || !*buffers) return df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    for (int k = 0; k < n; k++) {
        const df_model_variable *v = &described[k];
        const int64_t bytes = df_model_variable_bytes(v);
        (*tensors)[k] = (dualflow_tensor){v->name, df_dtypes[v->dtype].name, v->ndim, v->shape,
                                          (size_t)bytes};
        if (!((*buffers)[k] = df_buffer_new(bytes)))
            return df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory for %lld bytes", v->name,
                           (long long)bytes);
    }
    return DF_OK;
}

static df_status make(dualflow *f, df_error *err)
{
    const df_file *file = f->file;
    df_status status = make_values(file->n_in, file->inputs, &f->inputs, &f->given, err);
    if (status == DF_OK)
        status = make_values(file->n_out, file->outputs, &f->outputs, &f->made, err);
    f->in = calloc((size_t)file->n_in + 1, sizeof *f->in);
    f->out = calloc((size_t)file->n_out + 1, sizeof *f->out);
    f->is_set = calloc((size_t)file->n_in + 1, sizeof *f->is_set);
    if (status == DF_OK && (!f->in || !f->out || !f->is_set))
        status = df_fail(err, DF_OUT_OF_MEMORY, "no memory");
    if (status != DF_OK) return status;
    for (int k = 0; k < file->n_in; k++) f->in[k] = f->given[k]->data;
    for (int k = 0; k < file->n_out; k++) f->out[k] = f->made[k]->data;
    return DF_OK;
}

dualflow *dualflow_load(const char *path, char *error, size_t n)
{
    df_error err;
    dualflow *f = calloc(1, sizeof *f);
    df_status status = f ? df_file_open(path, &f->file, &err)
                         : df_fail(&err, DF_OUT_OF_MEMORY, "no memory");
    if (status == DF_OK) status = make(f, &err);
    if (status == DF_OK) return f;
    if (error && n) snprintf(error, n, "%s", err.text);
    dualflow_free(f);
    return NULL;
}

void dualflow_free(dualflow *f)
{
    if (!f) return;
    for (int k = 0; f->given && k < f->file->n_in; k++) df_buffer_release(f->given[k]);
    for (int k = 0; f->made && k < f->file->n_out; k++) df_buffer_release(f->made[k]);
    df_file_close(f->file);
    free(f->inputs);
    free(f->outputs);
    free(f->given);
    free(f->made);
    free(f->in);
    free(f->out);
    free(f->is_set);
    free(f);
}

const char *dualflow_error(const dualflow *f)
{
    return f->in_model ? df_model_error(f->file->model) : f->error.text;
}

/* --- running --- */

dualflow_tensor dualflow_input(const dualflow *f, int k)
{
    return k >= 0 && k < f->file->n_in ? f->inputs[k] : (dualflow_tensor){0};
}

dualflow_tensor dualflow_output(const dualflow *f, int k)
{
    return k >= 0 && k < f->file->n_out ? f->outputs[k] : (dualflow_tensor){0};
}

/* Checks that tensor k of n exists and has the given size. */
static df_status check(dualflow *f, const char *what, int k, int n, const dualflow_tensor *tensors,
                       size_t bytes)
{
    f->in_model = false;
    if (k < 0 || k >= n)
        return df_fail(&f->error, DF_INVALID_ARGUMENT, "there is no %s %d, expected 0 to %d", what,
                       k, n - 1);
    if (bytes == tensors[k].bytes) return DF_OK;
    return df_fail(&f->error, DF_BAD_SHAPE, "%s %s has %zu bytes, %s %s, got %zu", what,
                   tensors[k].name, tensors[k].bytes, tensors[k].dtype,
                   df_shape_text(tensors[k].ndim, tensors[k].shape).text, bytes);
}

int dualflow_set(dualflow *f, int input, const void *data, size_t bytes)
{
    const df_status status = check(f, "input", input, f->file->n_in, f->inputs, bytes);
    if (status != DF_OK) return (int)status;
    if (bytes) memcpy(f->given[input]->data, data, bytes);
    f->is_set[input] = true;
    return DF_OK;
}

int dualflow_run(dualflow *f)
{
    f->in_model = false;
    for (int k = 0; k < f->file->n_in; k++)
        if (!f->is_set[k])
            return (int)df_fail(&f->error, DF_INVALID_ARGUMENT, "input %s has no value",
                                f->inputs[k].name);
    const int status = df_model_run(f->file->model, 0, f->in, f->out);
    f->in_model = status != 0;
    f->has_run = status == 0;
    return status;
}

void dualflow_stop(dualflow *f) { df_model_stop(f->file->model); }

int dualflow_get(dualflow *f, int output, void *data, size_t bytes)
{
    const df_status status = check(f, "output", output, f->file->n_out, f->outputs, bytes);
    if (status != DF_OK) return (int)status;
    if (!f->has_run)
        return (int)df_fail(&f->error, DF_INVALID_ARGUMENT, "output %s has no value: no run has "
                            "succeeded", f->outputs[output].name);
    if (bytes) memcpy(data, f->made[output]->data, bytes);
    return DF_OK;
}

int dualflow_set_variable(dualflow *f, const char *name, const void *data, size_t bytes)
{
    f->in_model = true;
    return df_model_set(f->file->model, name, data, bytes);
}

int dualflow_get_variable(dualflow *f, const char *name, void *data, size_t bytes)
{
    f->in_model = true;
    return df_model_get(f->file->model, name, data, bytes);
}
