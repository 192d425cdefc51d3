/* Part of lanes_check.c, included once per dtype. */

/* Partial loads and stores access no memory beyond their last element. */
static void FN(check_partial)(void)
{
    for (int64_t n = 0; n < LANES; n++) {
        T *last = (T *)page_end - n;
        for (int64_t i = -1; i < n; i++) last[i] = (T)(i + 2);
        V v = FN(load_n)(last, n);
        for (int64_t i = 0; i < LANES; i++) CHECK(v[i] == (i < n ? (T)(i + 2) : 0));
        FN(store_n)(last, FN(splat)(9), n);
        for (int64_t i = -1; i < n; i++) CHECK(last[i] == (i < 0 ? 1 : 9));

        uint8_t *bytes = (uint8_t *)page_end - n;
        for (int64_t i = -1; i < n; i++) bytes[i] = (uint8_t)(i % 3);
        M mask = FN(load_mask_n)(bytes, n);
        for (int64_t i = 0; i < LANES; i++) CHECK(mask[i] == (i < n && i % 3 ? -1 : 0));
        FN(store_mask_n)(bytes, mask, n);
        for (int64_t i = 0; i < n; i++) CHECK(bytes[i] == (i % 3 != 0));
        CHECK(bytes[-1] == 255);
    }
}

static void FN(check_any)(void)
{
    T a[64], b[64], out[64], sum = 0, most = 0, least = 0;
    uint8_t bytes[64];
    for (int i = 0; i < 64; i++) {
        a[i] = (T)(i * 37 % 64 - 30);
        b[i] = (T)(i * 11 % 64 - 20);
    }
    most = least = a[0];
    for (int i = 0; i < LANES; i++) {
        sum = (T)(sum + a[i]);
        most = a[i] > most ? a[i] : most;
        least = a[i] < least ? a[i] : least;
    }
    V x = FN(load)(a), y = FN(load)(b);
    CHECK(FN(sum)(x) == sum && FN(hmax)(x) == most && FN(hmin)(x) == least);
    CHECK(FN(any)(x == FN(splat)(most)) && !FN(any)(x > FN(splat)(most)));
    for (int i = 0; i < LANES; i++) CHECK(FN(any)(x == a[i]));
    V high = FN(max)(x, y), low = FN(min)(x, y), positive = FN(max0)(x), size = FN(abs)(x);
    FN(store_mask)(bytes, x < y);
    V again = FN(select)(FN(load_mask)(bytes), x, y);
    FN(store)(out, again);
    for (int i = 0; i < LANES; i++) {
        CHECK(high[i] == (a[i] > b[i] ? a[i] : b[i]) && low[i] == (a[i] < b[i] ? a[i] : b[i]));
        CHECK(positive[i] == (a[i] > 0 ? a[i] : 0) && size[i] == (a[i] > 0 ? a[i] : (T)(0 - a[i])));
        CHECK(bytes[i] == (a[i] < b[i]) && out[i] == low[i]);
    }
    FN(check_partial)();
}
