/* Images with zero padding, and the positions of windows in them. */
#include "conv/image.h"
#include "base/thread.h"

#include <string.h>

bool DF_SYM(df_conv_is_padded)(const df_conv *c)
{
    for (int d = 0; d < 3; d++)
        if (c->pad[d] > 0 || df_conv_extent(c, d) > c->in[d]) return true;
    return c->groups > 1;
}

int64_t DF_SYM(df_conv_padded_bytes)(const df_conv *c)
{
    int64_t bytes = df_conv_mul_bytes(c->c_in, df_conv_bytes(c));
    for (int d = 0; d < 3; d++) bytes = df_conv_mul_bytes(bytes, df_conv_extent(c, d));
    return bytes;
}

df_conv_view DF_SYM(df_conv_in_place)(const df_conv *c, const void *x)
{
    df_conv_view v = {.data = x, .pixel = c->c_in, .group = df_conv_group_in(c)};
    v.row = c->in[2] * v.pixel;
    v.plane = c->in[1] * v.row;
    v.image = c->in[0] * v.plane;
    return v;
}

df_conv_view DF_SYM(df_conv_view_of)(const df_conv *c, const void *x)
{
    if (!DF_SYM(df_conv_is_padded)(c)) return DF_SYM(df_conv_in_place)(c, x);
    df_conv_view v = {.data = x, .pixel = df_conv_group_in(c)};
    v.row = df_conv_extent(c, 2) * v.pixel;
    v.plane = df_conv_extent(c, 1) * v.row;
    v.group = df_conv_extent(c, 0) * v.plane;
    v.image = c->groups * v.group;
    return v;
}

typedef struct {
    const df_conv *c;
    df_conv_view to;
    const char *x;
} padding;

/* Copies the pixels of a line of a group; `from` is NULL for a line of zeros. */
static void pad_line(const padding *p, char *to, const char *from)
{
    const df_conv *c = p->c;
    const int64_t pixel = p->to.pixel * df_conv_bytes(c), step = c->c_in * df_conv_stored_bytes(c);
    const int64_t size = df_conv_extent(c, 2), before = df_min(c->pad[2], size);
    const int64_t n = from ? df_min(c->in[2], size - before) : 0;
    memset(to, 0, (size_t)(before * pixel));
    to += before * pixel;
    if (c->groups == 1) {
        if (n) DF_SYM(df_copy_wide)(c->stored, n * p->to.pixel, to, from);
    } else {
        for (int64_t i = 0; i < n; i++)
            DF_SYM(df_copy_wide)(c->stored, p->to.pixel, to + i * pixel, from + i * step);
    }
    memset(to + n * pixel, 0, (size_t)((size - before - n) * pixel));
}

/* Pads lines [begin, end), numbered through images, groups, planes and rows. */
static void pad_task(void *context, int64_t begin, int64_t end)
{
    const padding *p = context;
    const df_conv *c = p->c;
    const int64_t bytes = df_conv_bytes(c);
    const int64_t rows = df_conv_extent(c, 1), planes = df_conv_extent(c, 0);
    for (int64_t line = begin; line < end; line++) {
        const int64_t h = line % rows - c->pad[1], d = line / rows % planes - c->pad[0];
        const int64_t unit = line / rows / planes, group = unit % c->groups, i = unit / c->groups;
        const bool inside = d >= 0 && d < c->in[0] && h >= 0 && h < c->in[1];
        const int64_t from = (((i * c->in[0] + d) * c->in[1] + h) * c->in[2]) * c->c_in +
                             group * p->to.pixel;
        pad_line(p, (char *)p->to.data + line * p->to.row * bytes,
                 inside ? p->x + from * df_conv_stored_bytes(c) : NULL);
    }
}

void DF_SYM(df_conv_pad)(const df_conv *c, const void *x, int64_t n, void *padded)
{
    padding p = {.c = c, .to = DF_SYM(df_conv_view_of)(c, padded), .x = x};
    const int64_t lines = n * c->groups * df_conv_extent(c, 0) * df_conv_extent(c, 1);
    df_parallel_for(lines, df_max(1, 16384 / p.to.row), 0.1 * (double)p.to.row, pad_task, &p);
}

typedef struct {
    const df_conv *c;
    void *to;
    const void *from;
} conversion;

static void widen_task(void *context, int64_t begin, int64_t end)
{
    const conversion *j = context;
    df_piece(j->c->stored, j->from, begin, end - begin, (float *)j->to + begin);
}

static void round_task(void *context, int64_t begin, int64_t end)
{
    const conversion *j = context;
    df_piece_done(j->c->stored, j->to, begin, end - begin, (const float *)j->from + begin);
}

void DF_SYM(df_conv_widen)(const df_conv *c, int64_t n, void *to, const void *from)
{
    conversion j = {c, to, from};
    df_parallel_for(n, 16384, 0.1, widen_task, &j);
}

void DF_SYM(df_conv_round)(const df_conv *c, int64_t n, void *to, const void *from)
{
    conversion j = {c, to, from};
    df_parallel_for(n, 16384, 0.2, round_task, &j);
}

/* A counter over three dimensions; `step` is the distance of neighbours along each. */
typedef struct {
    int64_t size[3], step[3], at[3];
} counter;

/* Sets the position to `index`; returns the number of wraps. */
static int64_t count_to(counter *k, int64_t index)
{
    for (int d = 2; d >= 0; d--) {
        k->at[d] = index % k->size[d];
        index /= k->size[d];
    }
    return index;
}

/* Offset of the current position without its last dimension. */
static int64_t line_offset(const counter *k)
{
    return k->at[0] * k->step[0] + k->at[1] * k->step[1];
}

/* Advances by one. Returns true at the start of a new line; sets `wraps` after the last line. */
static bool count_on(counter *k, bool *wraps)
{
    *wraps = false;
    if (++k->at[2] < k->size[2]) return false;
    k->at[2] = 0;
    if (++k->at[1] == k->size[1]) {
        k->at[1] = 0;
        if (++k->at[0] == k->size[0]) {
            k->at[0] = 0;
            *wraps = true;
        }
    }
    return true;
}

void DF_SYM(df_conv_windows)(const df_conv *c, const df_conv_view *v, int64_t first, int64_t n,
                             int64_t *offsets)
{
    counter k = {.size = {c->out[0], c->out[1], c->out[2]},
                 .step = {c->stride[0] * v->plane, c->stride[1] * v->row, c->stride[2] * v->pixel}};
    int64_t image = count_to(&k, first) * v->image;
    int64_t line = image + line_offset(&k);
    bool wraps;
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = line + k.at[2] * k.step[2];
        if (!count_on(&k, &wraps)) continue;
        if (wraps) image += v->image;
        line = image + line_offset(&k);
    }
}

static counter taps_of(const df_conv *c, const df_conv_view *v)
{
    return (counter){.size = {c->kernel[0], c->kernel[1], c->kernel[2]},
                     .step = {c->dilation[0] * v->plane, c->dilation[1] * v->row,
                              c->dilation[2] * v->pixel}};
}

void DF_SYM(df_conv_weights)(const df_conv *c, const df_conv_view *v, int64_t first, int64_t n,
                             int64_t *offsets)
{
    const int64_t channels = df_conv_group_in(c);
    counter k = taps_of(c, v);
    int64_t channel = first % channels;
    bool wraps;
    count_to(&k, first / channels);
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = line_offset(&k) + k.at[2] * k.step[2] + channel;
        if (++channel < channels) continue;
        channel = 0;
        count_on(&k, &wraps);
    }
}

int64_t DF_SYM(df_conv_lines)(const df_conv *c, const df_conv_view *v, int64_t first, int64_t n,
                              df_conv_segment *segments)
{
    const int64_t channels = df_conv_group_in(c);
    const bool joined = c->dilation[2] == 1 && !v->apart; /* taps of a line are adjacent */
    counter k = taps_of(c, v);
    int64_t found = 0, channel = first % channels;
    bool wraps;
    count_to(&k, first / channels);
    for (int64_t left = n; left > 0;) {
        const int64_t taps = joined ? k.size[2] - k.at[2] : 1;
        const int64_t length = df_min(taps * channels - channel, left);
        segments[found++] = (df_conv_segment){
            line_offset(&k) + k.at[2] * k.step[2] + channel, length, 0};
        left -= length;
        channel = 0;
        k.at[2] += taps - 1;
        count_on(&k, &wraps);
    }
    return found;
}
