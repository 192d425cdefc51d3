/* Part of sort.h, included for uint32 and uint64 keys: the k least keys of a row, for small k. */

/* Keeps the k least keys of a row, in order, and their indices; equal keys in the order of their
 * indices. Adds keys[0..n), whose indices start at `first`, to `n_kept` earlier ones and returns
 * the new number. Few keys of a long row are less than the last one kept, so vectors of keys are
 * skipped as a whole. */
static int64_t FN(select_least)(const void *from, int64_t n, int64_t first, int64_t n_kept,
                                int64_t k, void *kept, int32_t *index)
{
    const T *keys = from;
    T *least = kept;
    for (int64_t i = 0; i < n; i++) {
        if (n_kept == k) {
            const V last = FN(splat)(least[k - 1]);
            while (i + LANES <= n && !FN(any)(FN(load)(keys + i) < last)) i += LANES;
            while (i < n && keys[i] >= least[k - 1]) i++;
            if (i == n) break;
        }
        int64_t at = n_kept < k ? n_kept++ : k - 1;
        for (; at > 0 && least[at - 1] > keys[i]; at--) {
            least[at] = least[at - 1];
            index[at] = index[at - 1];
        }
        least[at] = keys[i];
        index[at] = (int32_t)(first + i);
    }
    return n_kept;
}
