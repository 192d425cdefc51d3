#include "conv/tap_runs.h"

df_tap_sweep DF_SYM(df_forward_sweep)(const df_conv *c, int d)
{
    return (df_tap_sweep){.step = 1, .count = c->out[d], .tap_step = 1, .n_taps = c->kernel[d],
                          .source = -c->pad[d], .next = c->stride[d], .tap_next = c->dilation[d],
                          .size = c->in[d]};
}

/* Returns the greatest common divisor of a and m, and x with a x = divisor modulo m. */
static int64_t common_divisor(int64_t a, int64_t m, int64_t *x)
{
    int64_t factor = 1, other = 0;
    while (m) {
        const int64_t quotient = a / m, rest = a % m, next = factor - quotient * other;
        a = m;
        m = rest;
        factor = other;
        other = next;
    }
    *x = factor;
    return a;
}

df_tap_sweep DF_SYM(df_input_sweep)(const df_conv *c, int d, int64_t first)
{
    const int64_t stride = c->stride[d], dilation = c->dilation[d], at = first + c->pad[d];
    int64_t inverse;
    const int64_t divisor = common_divisor(dilation, stride, &inverse), step = stride / divisor;
    df_tap_sweep s = {.first = first, .step = stride, .tap_step = -step, .next = 1,
                      .tap_next = dilation / divisor, .size = c->out[d]};
    s.count = (c->in[d] - first + stride - 1) / stride;
    if (at % divisor) return s;
    inverse = (inverse % step + step) % step;
    const int64_t tap = (int64_t)((__int128)(at / divisor % step) * inverse % step);
    if (tap >= c->kernel[d]) return s;
    s.n_taps = (c->kernel[d] - tap - 1) / step + 1;
    s.tap = tap + (s.n_taps - 1) * step;
    s.source = (at - s.tap * dilation) / stride;
    return s;
}

df_tap_run DF_SYM(df_tap_run_at)(const df_tap_sweep *s, int64_t i)
{
    const int64_t source = s->source + i * s->next, step = s->tap_next, until = s->size - source;
    const int64_t from = source < 0 ? df_ceil_div(-source, step) : 0;
    const int64_t to = until > 0 ? df_min(df_ceil_div(until, step), s->n_taps) : 0;
    df_tap_run r = {.result = s->first + i * s->step, .count = 1};
    if (from >= to) return r;
    r.tap = s->tap + from * s->tap_step;
    r.n_taps = to - from;
    r.source = source + from * step;
    return r;
}

static bool same_taps(const df_tap_run *a, const df_tap_run *b)
{
    return a->tap == b->tap && a->n_taps == b->n_taps;
}

/* Taps move in one direction from result to result. So if the first and the last result of a range
 * have the same taps, and at least one tap, all results of the range have these taps. */
int64_t DF_SYM(df_find_runs)(const df_tap_sweep *s, df_tap_run *runs)
{
    int64_t n = 0;
    for (int64_t i = 0; i < s->count; n++) {
        const int64_t end = df_min(i + DF_LONGEST_RUN, s->count);
        df_tap_run r = DF_SYM(df_tap_run_at)(s, i), last = DF_SYM(df_tap_run_at)(s, end - 1);
        if (r.n_taps && same_taps(&r, &last)) {
            r.count = end - i;
        } else {
            for (; i + r.count < end; r.count++) {
                last = DF_SYM(df_tap_run_at)(s, i + r.count);
                if (!same_taps(&r, &last)) break;
            }
        }
        runs[n] = r;
        i += r.count;
    }
    return n;
}

int64_t DF_SYM(df_join_edges)(const df_tap_sweep *s, df_tap_run *runs, int64_t n, int64_t taps)
{
    if (s->tap_next != s->next) return n;
    int64_t n_joined = 0;
    for (int64_t i = 0; i < n; i++) {
        df_tap_run r = runs[i], *last = &runs[n_joined - (n_joined > 0)];
        if (n_joined > 0 && last->n_taps == taps && last->right < taps / 2 && r.count == 1 &&
            r.tap == last->tap && r.n_taps == taps - 1 - last->right) {
            last->count++;
            last->right++;
            continue;
        }
        for (; n_joined > 0 && r.n_taps == taps && r.left < taps / 2; last--, n_joined--) {
            if (last->count != 1 || last->n_taps != taps - 1 - r.left ||
                last->tap != r.tap + (r.left + 1) * s->tap_step)
                break;
            r.result = last->result;
            r.source -= s->next;
            r.count++;
            r.left++;
        }
        runs[n_joined++] = r;
    }
    return n_joined;
}
