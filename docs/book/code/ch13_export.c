/* The code of docs/book/ch13_export.md, from which docs/ext/book.py writes this file. */
#include <stdio.h>
#include <stdlib.h>

#include "step.h"

enum { N_ARGUMENTS = sizeof step_argument_sizes / sizeof *step_argument_sizes,
       N_DATA = 2 };                                    /* images and labels come first */

static float *floats(int64_t n)
{
    float *x = calloc(n, sizeof *x);
    if (!x) exit(1);
    return x;
}

int main(void)
{
    float *arguments[N_ARGUMENTS], *results[N_ARGUMENTS - N_DATA + 1];
    float *arena = floats(STEP_ARENA), *loss = results[0] = floats(1);
    for (int k = 0; k < N_ARGUMENTS; k++) arguments[k] = floats(step_argument_sizes[k]);
    for (int k = N_DATA; k < N_ARGUMENTS; k++) {
        results[k - N_DATA + 1] = floats(step_argument_sizes[k]);
        fread(arguments[k], sizeof(float), step_argument_sizes[k], stdin);
    }
    while (fread(arguments[0], sizeof(float), step_argument_sizes[0], stdin) > 0 &&
           fread(arguments[1], sizeof(float), step_argument_sizes[1], stdin) > 0) {
        step((const float *const *)arguments, results, arena);
        fwrite(loss, sizeof(float), 1, stdout);
        for (int k = N_DATA; k < N_ARGUMENTS; k++) {    /* new parameters become arguments */
            float *old = arguments[k];
            arguments[k] = results[k - N_DATA + 1];
            results[k - N_DATA + 1] = old;
        }
    }
    for (int k = N_DATA; k < N_ARGUMENTS; k++)
        fwrite(arguments[k], sizeof(float), step_argument_sizes[k], stdout);
    return 0;
}
