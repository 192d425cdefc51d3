/* Continues the training of export_digits.py without Python:
 *
 *     train weights images labels trained
 *
 * Reads weights, images and labels, runs a step with each batch, and writes the new weights. The
 * data files are raw arrays of float32 and int32. */
#include "model.h"

#include <stdio.h>
#include <stdlib.h>

enum { BATCH = 64, PIXELS = 64 }; /* as traced by export_digits.py */

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    return 1;
}

static int train(model *m, FILE *images, FILE *labels)
{
    static float x[BATCH * PIXELS];
    static int32_t y[BATCH];
    static int64_t digits[BATCH];
    float loss = 0;
    int n_steps = 0, n_right = 0;
    while (fread(x, sizeof x, 1, images) == 1 && fread(y, sizeof y, 1, labels) == 1) {
        if (model_train(m, x, y, &loss)) return fail("train", model_error(m));
        n_steps++;
    }
    if (!n_steps) return fail("train", "no batch of images and labels");
    if (model_predict(m, x, digits)) return fail("predict", model_error(m));
    for (int i = 0; i < BATCH; i++) n_right += digits[i] == y[i];
    printf("C: %d steps, loss %.4f, %d of the last %d images right\n", n_steps, loss, n_right,
           BATCH);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 5) return fail(argv[0], "expected weights, images, labels, trained");
    FILE *images = fopen(argv[2], "rb"), *labels = fopen(argv[3], "rb");
    model *m = model_new();
    int failed;
    if (!images || !labels) failed = fail("train", "cannot open images or labels");
    else if (model_load(m, argv[1])) failed = fail("load", model_error(m));
    else failed = train(m, images, labels);
    if (!failed && model_save(m, argv[4])) failed = fail("save", model_error(m));
    model_free(m);
    if (images) fclose(images);
    if (labels) fclose(labels);
    return failed;
}
