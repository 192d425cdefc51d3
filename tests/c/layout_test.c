/* Copies of strided memory, compared with a copy of one element at a time. */
#include "base/layout.h"

#include "check.h"

#include <string.h>

#define MEMORY 4096

static char memory[MEMORY], dense[MEMORY];

/* Checks a copy from `start` on; neighbouring elements differ. */
static void check_copy(int start, int bytes, int ndim, const int64_t *shape,
                       const int64_t *strides)
{
    int64_t index[8] = {0}, n = 1;
    for (int d = 0; d < ndim; d++) n *= shape[d];
    memset(dense, 0x55, sizeof dense);
    df_copy_strided(dense, memory + start, bytes, ndim, shape, strides);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = start;
        for (int d = 0; d < ndim; d++) at += index[d] * strides[d];
        CHECK(!memcmp(dense + i * bytes, memory + at, (size_t)bytes));
        for (int d = ndim - 1; d >= 0 && ++index[d] == shape[d]; d--) index[d] = 0;
    }
    CHECK(dense[n * bytes] == 0x55); /* nothing written beyond */
}

static void test_copies(void)
{
    for (int i = 0; i < MEMORY; i++) memory[i] = (char)(i * 7 + i / 256);
    for (int bytes = 1; bytes <= 8; bytes *= 2) {
        const int64_t b = bytes;
        check_copy(8, bytes, 0, NULL, NULL);
        check_copy(0, bytes, 2, (int64_t[]){3, 4}, (int64_t[]){4 * b, b});          /* dense */
        check_copy(0, bytes, 2, (int64_t[]){3, 4}, (int64_t[]){b, 3 * b});          /* transposed */
        check_copy(0, bytes, 3, (int64_t[]){2, 3, 4}, (int64_t[]){24 * b, 8 * b, 2 * b});
        check_copy(1024, bytes, 2, (int64_t[]){5, 3}, (int64_t[]){-3 * b, -b});     /* reversed */
        check_copy(3, bytes, 2, (int64_t[]){5, 3}, (int64_t[]){0, b});              /* repeated */
        check_copy(1, bytes, 3, (int64_t[]){2, 1, 3}, (int64_t[]){9 * b + 1, 5, 3 * b});
        check_copy(0, bytes, 4, (int64_t[]){2, 2, 2, 2}, (int64_t[]){b, 2 * b, 4 * b, 8 * b});
        check_copy(0, bytes, 3, (int64_t[]){2, 0, 3}, (int64_t[]){b, b, b});        /* empty */
    }
}

static void test_bytes(void)
{
    char two[] = {1, 2, 3, 4}, eight[] = {1, 2, 3, 4, 5, 6, 7, 8};
    df_swap_bytes(two, 2, 2);
    df_swap_bytes(eight, 1, 8);
    CHECK(!memcmp(two, (char[]){2, 1, 4, 3}, 4));
    CHECK(!memcmp(eight, (char[]){8, 7, 6, 5, 4, 3, 2, 1}, 8));
}

static void test_bools(void)
{
    uint8_t p[] = {0, 1, 2, 255, 0};
    CHECK(df_are_bools(p, 2) && df_are_bools(p, 0) && !df_are_bools(p, 3));
    df_normalize_bools(p, 5);
    CHECK(!memcmp(p, (uint8_t[]){0, 1, 1, 1, 0}, 5) && df_are_bools(p, 5));
}

int main(void)
{
    test_copies();
    test_bytes();
    test_bools();
    return 0;
}
