/* Sorts PANEL_BYTES / sizeof(E) short rows at once, one per lane: element i of all rows is at x[i *
 * lanes]. Merge exchange: Knuth, The Art of Computer Programming 3, 5.2.2, algorithm M. */
#define SORT(name) DF_CAT(name, SUFFIX)

DF_INLINE void SORT(exchange)(E *restrict a, E *restrict b)
{
    for (size_t l = 0; l < PANEL_BYTES / sizeof(E); l++) {
        const E low = a[l] < b[l] ? a[l] : b[l], high = a[l] < b[l] ? b[l] : a[l];
        a[l] = low;
        b[l] = high;
    }
}

static void SORT(network)(E *x, int64_t n)
{
    const int64_t lanes = PANEL_BYTES / sizeof(E);
    int64_t top = 1;
    while (top * 2 < n) top *= 2;
    for (int64_t p = top; p > 0; p /= 2) {
        int64_t q = top, r = 0, d = p;
        for (;;) {
            /* the i with (i & p) == r form runs of p */
            for (int64_t run = r; run < n - d; run += 2 * p)
                for (int64_t i = run; i < df_min(run + p, n - d); i++)
                    SORT(exchange)(x + i * lanes, x + (i + d) * lanes);
            if (q == p) break;
            d = q - p;
            q /= 2;
            r = p;
        }
    }
}

#undef SORT
