/* Loads a program file, runs it on zeros, ones, twos, ... and writes the bytes of its outputs and
 * of a variable, or an error message. */
#include "dualflow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void must(const dualflow *f, int status)
{
    if (!status) return;
    printf("failed: %s\n", dualflow_error(f));
    exit(1);
}

static void *allocate(size_t n)
{
    void *data = calloc(n + 1, 1);
    if (!data) exit(2);
    return data;
}

static void fill(dualflow_tensor t, void *data, int value)
{
    const size_t n = strcmp(t.dtype, "float32") ? t.bytes / sizeof(int32_t)
                                                : t.bytes / sizeof(float);
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(t.dtype, "float32")) ((float *)data)[i] = (float)value;
        else ((int32_t *)data)[i] = value;
    }
}

static void print(const char *name, const unsigned char *data, size_t n)
{
    printf("%s ", name);
    for (size_t i = 0; i < n; i++) printf("%02x", data[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    char error[1000], byte = 0;
    dualflow *f = argc > 1 ? dualflow_load(argv[1], error, sizeof error) : NULL;
    if (!f) {
        printf("failed: %s\n", error);
        return 1;
    }
    if (!dualflow_run(f) || !dualflow_get(f, 0, &byte, 1) || !dualflow_set(f, 99, &byte, 1)) return 3;
    for (int turn = 0; turn < 3; turn++) {
        for (int k = 0; dualflow_input(f, k).name; k++) {
            const dualflow_tensor t = dualflow_input(f, k);
            void *data = allocate(t.bytes);
            fill(t, data, turn);
            must(f, dualflow_set(f, k, data, t.bytes));
            free(data);
        }
        must(f, dualflow_run(f));
        for (int k = 0; dualflow_output(f, k).name; k++) {
            const dualflow_tensor t = dualflow_output(f, k);
            void *data = allocate(t.bytes);
            must(f, dualflow_get(f, k, data, t.bytes));
            print(t.name, data, t.bytes);
            free(data);
        }
    }
    for (int i = 2; i + 1 < argc; i += 2) {
        const size_t n = (size_t)atol(argv[i + 1]);
        void *data = allocate(n);
        must(f, dualflow_get_variable(f, argv[i], data, n));
        must(f, dualflow_set_variable(f, argv[i], data, n));
        print(argv[i], data, n);
        free(data);
    }
    if (!dualflow_get_variable(f, "no such name", &byte, 1)) return 3;
    dualflow_free(f);
    return 0;
}
