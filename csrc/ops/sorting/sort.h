/* Part of sort.c: functions that sort rows, per type of element: 32-bit keys; 64-bit keys or 32-bit
 * keys with an index; 64-bit keys with an index. */

enum {
    MAX_DIGIT = 11,
    BIG_DIGIT_FROM = 1 << 14, /* elements; for fewer, 256 counters per pass are better than 2048 */
    INSERTION_MAX = 32,
    PANEL_BYTES = 64,
    QUICK_MAX = 1 << 16, /* elements sorted by vectors; for more, radix sort is faster */
    QUICK_DEPTH = 40,    /* bad partitions after which radix sort is faster */
};

/* The functions of sort_rows_formulas.h for one type of element. */
typedef struct {
    void *(*sort)(void *x, void *tmp, int64_t n, int low, int high); /* returns x or tmp */
    void (*range)(const void *x, int64_t n, int low, uint64_t *least, uint64_t *largest);
    void (*count)(const void *x, int64_t n, int low, uint64_t least, int shift, int64_t *counts);
    void (*deal)(const void *x, void *y, int64_t n, int low, uint64_t least, int shift,
                 int64_t *places);
    void (*raise)(void *x, int64_t n, uint64_t least);
    int64_t bytes;
} row_functions;

/* A key with its index; a narrow pair is one uint64 with the index in the low half. */
typedef struct {
    uint64_t key, index;
} wide_pair;

#define E uint32_t
#define SUFFIX narrow
#include "ops/sorting/sort_network_formulas.h"
#undef E
#undef SUFFIX
#define E uint64_t
#define SUFFIX wide
#include "ops/sorting/sort_network_formulas.h"
#undef E
#undef SUFFIX

#define DTYPE u32
#include "ops/sorting/sort_select_formulas.h"
#undef DTYPE
#define DTYPE u64
#include "ops/sorting/sort_select_formulas.h"
#undef DTYPE

#if defined(__AVX512F__)
#include "ops/sorting/sort_vectors.h"
#define SORT_QUICKLY(x, tmp, n) ((n) <= QUICK_MAX && sort_vectors(x, tmp, n, QUICK_DEPTH))
#else
#define SORT_QUICKLY(x, tmp, n) false
#endif

#define SORT_WORD(e) (e)
#define E uint32_t
#define SUFFIX narrow
#include "ops/sorting/sort_rows_formulas.h"
#undef E
#undef SUFFIX
#undef SORT_QUICKLY
#define SORT_QUICKLY(x, tmp, n) false
#define E uint64_t
#define SUFFIX wide
#include "ops/sorting/sort_rows_formulas.h"
#undef E
#undef SUFFIX
#undef SORT_WORD
#define SORT_WORD(e) ((e).key)
#define E wide_pair
#define SUFFIX pair
#include "ops/sorting/sort_rows_formulas.h"
#undef E
#undef SUFFIX
#undef SORT_WORD
#undef SORT_QUICKLY
