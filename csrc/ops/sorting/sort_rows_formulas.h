/* Stable sorting of unsigned elements: E is their type, SUFFIX its name, SORT_WORD(e) the word
 * whose bits [low, high) are the key. SORT_QUICKLY(x, tmp, n) sorts by a faster method if there is
 * one, otherwise it is false. */
#define SORT(name) DF_CAT(name, SUFFIX)

/* One pass: distributes x to y by the digit of `bits` bits at `shift`. Returns false, without
 * writing y, if all elements have the same digit. */
static bool SORT(radix_pass)(const E *restrict x, E *restrict y, int64_t n, int shift, int bits)
{
    int64_t place[1 << MAX_DIGIT];
    const uint64_t mask = (1u << bits) - 1;
    memset(place, 0, sizeof *place << bits);
    for (int64_t i = 0; i < n; i++) place[SORT_WORD(x[i]) >> shift & mask]++;
    if (place[SORT_WORD(x[0]) >> shift & mask] == n) return false;
    for (int64_t d = 0, sum = 0; d <= (int64_t)mask; d++) {
        const int64_t count = place[d];
        place[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) y[place[SORT_WORD(x[i]) >> shift & mask]++] = x[i];
    return true;
}

/* Returns the result, x or tmp. */
static E *SORT(radix)(E *x, E *tmp, int64_t n, int low, int high)
{
    const int most = n < BIG_DIGIT_FROM ? 8 : MAX_DIGIT;
    const int passes = (high - low + most - 1) / most, bits = (high - low + passes - 1) / passes;
    for (int shift = low; shift < high; shift += bits) {
        const int width = high - shift < bits ? high - shift : bits;
        if (!SORT(radix_pass)(x, tmp, n, shift, width)) continue;
        E *swap = x;
        x = tmp;
        tmp = swap;
    }
    return x;
}

static void SORT(insertion)(E *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        const E e = x[i];
        int64_t j = i;
        for (; j > 0 && SORT_WORD(x[j - 1]) > SORT_WORD(e); j--) x[j] = x[j - 1];
        x[j] = e;
    }
}

static void *SORT(sort_row)(void *x, void *tmp, int64_t n, int low, int high)
{
    if (n <= INSERTION_MAX) SORT(insertion)(x, n);
    else if (!SORT_QUICKLY(x, tmp, n)) return SORT(radix)(x, tmp, n, low, high);
    return x;
}

/* Smallest and largest key. */
static void SORT(range)(const void *from, int64_t n, int low, uint64_t *least, uint64_t *largest)
{
    const E *x = from;
    uint64_t a = UINT64_MAX, b = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t key = SORT_WORD(x[i]) >> low;
        a = key < a ? key : a;
        b = key > b ? key : b;
    }
    *least = a;
    *largest = b;
}

/* Counts the elements of heap h, those with (key - least) >> shift == h. */
static void SORT(count)(const void *from, int64_t n, int low, uint64_t least, int shift,
                        int64_t *counts)
{
    const E *x = from;
    for (int64_t i = 0; i < n; i++) counts[((SORT_WORD(x[i]) >> low) - least) >> shift]++;
}

/* Moves the next element of heap h to places[h], with `least` subtracted from its key. */
static void SORT(deal)(const void *from, void *to, int64_t n, int low, uint64_t least, int shift,
                       int64_t *places)
{
    const E *x = from;
    E *y = to;
    for (int64_t i = 0; i < n; i++) {
        E e = x[i];
        SORT_WORD(e) -= least << low;
        y[places[SORT_WORD(e) >> low >> shift]++] = e;
    }
}

static void SORT(raise)(void *keys, int64_t n, uint64_t least)
{
    E *x = keys;
    for (int64_t i = 0; i < n; i++) SORT_WORD(x[i]) += least;
}

static const row_functions SORT(functions) = {SORT(sort_row), SORT(range), SORT(count), SORT(deal),
                                              SORT(raise), sizeof(E)};

#undef SORT
