/* Program files in C: what dualflow.save_program wrote is loaded, given inputs, run, and asked for
 * outputs.
 *
 *     dualflow *f = dualflow_load("digits.df", error, sizeof error);
 *     if (!f) puts(error);
 *     dualflow_set(f, 0, image, sizeof image);
 *     if (dualflow_run(f)) puts(dualflow_error(f));
 *     dualflow_get(f, 0, probabilities, sizeof probabilities);
 *     dualflow_free(f);
 *
 * Tensors are dense, row by row; a bool is a byte of 0 or 1, float16 and bfloat16 are their bits. A
 * file may come from anybody: it is checked before anything of it runs. What returns an int returns
 * 0 or, where it failed, something else, and dualflow_error says why. A program is used by one
 * thread at a time, several programs by as many threads. */
#ifndef DUALFLOW_H
#define DUALFLOW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dualflow dualflow;

/* NULL where it failed, and then `error`, which may be NULL, holds why in its n bytes. */
dualflow *dualflow_load(const char *path, char *error, size_t n);
void dualflow_free(dualflow *f); /* NULL is allowed */
/* Of the last call that failed. */
const char *dualflow_error(const dualflow *f);

/* What input or output k is; `name` is NULL where there is none. Lives as long as the program. */
typedef struct {
    const char *name;  /* in Python: x, batch['image'], result[0] */
    const char *dtype; /* float32 */
    int ndim;
    const int64_t *shape;
    size_t bytes;
} dualflow_tensor;
dualflow_tensor dualflow_input(const dualflow *f, int k);
dualflow_tensor dualflow_output(const dualflow *f, int k);

/* Copies an input from, an output to memory of its bytes. Inputs keep their values from run to run;
 * outputs have some once a run has succeeded. */
int dualflow_set(dualflow *f, int input, const void *data, size_t bytes);
int dualflow_run(dualflow *f);
int dualflow_get(dualflow *f, int output, void *data, size_t bytes);

/* Stops one run, before its next instruction or turn of a loop: the one under way or, if there is
 * none, the next. That fails, and its error begins with "stopped"; variables keep what they were
 * given by then. Alone of all these functions it may be called by other threads, and by signal
 * handlers, until dualflow_free. */
void dualflow_stop(dualflow *f);

/* The value of a variable, by its name in Python. */
int dualflow_set_variable(dualflow *f, const char *name, const void *data, size_t bytes);
int dualflow_get_variable(dualflow *f, const char *name, void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
