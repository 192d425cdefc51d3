/* C API of program files: load a file that dualflow.save_program wrote, set inputs, run, get
 * outputs.
 *
 *     dualflow *f = dualflow_load("digits.df", error, sizeof error);
 *     if (!f) puts(error);
 *     dualflow_set(f, 0, image, sizeof image);
 *     if (dualflow_run(f)) puts(dualflow_error(f));
 *     dualflow_get(f, 0, probabilities, sizeof probabilities);
 *     dualflow_free(f);
 *
 * Tensors are dense and row-major; a bool is a byte of 0 or 1, float16 and bfloat16 are stored as
 * their bits. A file is fully checked before any of it runs, so untrusted files are safe to load.
 * Functions that return an int return 0 on success; otherwise dualflow_error describes the failure.
 * A program may be used by one thread at a time, different programs by different threads. */
#ifndef DUALFLOW_H
#define DUALFLOW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dualflow dualflow;

/* Returns NULL on failure and writes the message to `error` (n bytes; may be NULL). */
dualflow *dualflow_load(const char *path, char *error, size_t n);
void dualflow_free(dualflow *f); /* NULL is allowed */
/* The message of the last call that failed. */
const char *dualflow_error(const dualflow *f);

/* Description of input or output k; `name` is NULL if there is none. Valid until dualflow_free. */
typedef struct {
    const char *name;  /* as in Python: x, batch['image'], result[0] */
    const char *dtype; /* float32 */
    int ndim;
    const int64_t *shape;
    size_t bytes;
} dualflow_tensor;
dualflow_tensor dualflow_input(const dualflow *f, int k);
dualflow_tensor dualflow_output(const dualflow *f, int k);

/* Copy an input from, or an output to, memory of its size. Inputs keep their values from run to
 * run; outputs have values once a run has succeeded. */
int dualflow_set(dualflow *f, int input, const void *data, size_t bytes);
int dualflow_run(dualflow *f);
int dualflow_get(dualflow *f, int output, void *data, size_t bytes);

/* Stops one run before its next instruction or loop iteration: the current run or, if there is
 * none, the next one. The run fails with a message that begins with "stopped"; variables keep the
 * values assigned until then. The only function that other threads and signal handlers may call,
 * until dualflow_free. */
void dualflow_stop(dualflow *f);

/* Copy the value of a variable, by its name in Python. */
int dualflow_set_variable(dualflow *f, const char *name, const void *data, size_t bytes);
int dualflow_get_variable(dualflow *f, const char *name, void *data, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
