/* Sorting of unsigned elements: E is their type, SUFFIX names it, SORT_KEY(e) the number they are
 * sorted by, in bits [low, high). Equal elements keep their order. */
#define SORT(name) DF_CAT(name, SUFFIX)

/* One pass: elements of x into y by the digit of `bits` bits at `shift`. False when all have the
 * same digit, and y was not written. */
static bool SORT(radix_pass)(const E *restrict x, E *restrict y, int64_t n, int shift, int bits)
{
    int64_t place[1 << MAX_DIGIT];
    const uint64_t mask = (1u << bits) - 1;
    memset(place, 0, sizeof *place << bits);
    for (int64_t i = 0; i < n; i++) place[SORT_KEY(x[i]) >> shift & mask]++;
    if (place[SORT_KEY(x[0]) >> shift & mask] == n) return false;
    for (int64_t d = 0, sum = 0; d <= (int64_t)mask; d++) {
        const int64_t count = place[d];
        place[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) y[place[SORT_KEY(x[i]) >> shift & mask]++] = x[i];
    return true;
}

/* Returns where the result lies, x or tmp. */
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
        for (; j > 0 && SORT_KEY(x[j - 1]) > SORT_KEY(e); j--) x[j] = x[j - 1];
        x[j] = e;
    }
}

static E *SORT(sort_row)(E *x, E *tmp, int64_t n, int low, int high)
{
    if (n > INSERTION_MAX) return SORT(radix)(x, tmp, n, low, high);
    SORT(insertion)(x, n);
    return x;
}

#undef SORT
