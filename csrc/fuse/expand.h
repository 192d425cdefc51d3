/* Part of run.c, included for 4 and 8 bytes: repeats each of n elements `length` times. */
static void FN(expand)(T *to, const T *from, int64_t n, int64_t length)
{
    for (const T *end = from + n; from < end; from++, to += length) {
        const V v = FN(splat)(*from);
        int64_t i = 0;
        for (; i + LANES <= length; i += LANES) FN(store)(to + i, v);
        if (i < length) FN(store_n)(to + i, v, length - i);
    }
}
