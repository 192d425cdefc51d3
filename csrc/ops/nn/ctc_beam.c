/* The most likely labels of connectionist temporal classification, by prefix beam search: A.
 * Graves, "Sequence transduction with recurrent neural networks", 2012, algorithm 1, without a
 * second network.
 *
 * T steps, B rows of the batch, C classes, W beams. A beam is a sequence of labels with its
 * probabilities of ending in a blank and in its last label. In each step every beam is kept or
 * extended by a label; the best W results are the next beams. Ties are broken by order of
 * generation: better beams first, then lower classes.
 *
 * Each sequence is one node of a tree, so equal sequences from different beams are merged.
 * Probabilities are logarithms in float64 and each row is computed by one thread: bit-identical for
 * any thread count. */
#include "ops/nn/ctc.h"
#include "ops/in_float.h"
#include "ops/indexing/indices.h"

#include <string.h>

enum { BLANK, WIDTH, TOP };
enum { LOGITS, LENGTH };
enum { PATHS, SCORES };
enum { NONE = -1, ROOT = 0 };

typedef struct {
    double total, blank, label; /* total = blank + label */
    int64_t found;              /* order of generation among the candidates of a step */
    int32_t node, next;         /* the node and the label that extends it, or NONE */
} beam;

typedef struct {
    const df_tensor *logits, *length;
    df_tensor *paths, *scores;
    int64_t steps, rows, classes, blank, width, top;
    int64_t n_nodes, n_slots;
    char *workspace;
    int64_t row_bytes;
} job;

/* State of the search in one row. */
typedef struct {
    const job *j;
    int64_t n_beams, n_heap, n_nodes;
    double *p;                           /* [classes] of the step */
    beam *beams, *heap;                  /* [width] */
    double *joined;                      /* [width]: probability that a beam receives from its
                                          * parent */
    int32_t *child, *sibling;            /* [width]: beams that extend a beam by one label */
    int32_t *parent, *label, *beam_of;   /* [n_nodes] */
    int32_t *slots;                      /* hashed (parent, label) -> node */
    uint8_t *taken;                      /* [classes]: the extended sequence is a beam */
} search;

/* --- the tree of sequences --- */

static int32_t child_of(search *s, int32_t parent, int32_t label)
{
    const uint64_t mask = (uint64_t)s->j->n_slots - 1;
    const uint64_t key = ((uint64_t)(uint32_t)parent << 32 | (uint32_t)label) * 0x9E3779B97F4A7C15u;
    for (uint64_t at = key >> 32 & mask;; at = (at + 1) & mask) {
        const int32_t node = s->slots[at];
        if (node != NONE && (s->parent[node] != parent || s->label[node] != label)) continue;
        if (node != NONE) return node;
        const int32_t made = (int32_t)s->n_nodes++;
        s->slots[at] = made;
        s->parent[made] = parent;
        s->label[made] = label;
        s->beam_of[made] = NONE;
        return made;
    }
}

/* --- the best candidates of a step: a heap with the worst on top --- */

static bool worse(const beam *a, const beam *b)
{
    return a->total < b->total || (a->total == b->total && a->found > b->found);
}

static void sink(beam *heap, int64_t n, int64_t at)
{
    const beam x = heap[at];
    for (int64_t k; (k = 2 * at + 1) < n; at = k) {
        if (k + 1 < n && worse(&heap[k + 1], &heap[k])) k++;
        if (!worse(&heap[k], &x)) break;
        heap[at] = heap[k];
    }
    heap[at] = x;
}

static void offer(search *s, const beam *x)
{
    beam *heap = s->heap;
    if (x->total == -INFINITY) return;
    if (s->n_heap == s->j->width) {
        if (worse(x, &heap[0])) return;
        heap[0] = *x;
        sink(heap, s->n_heap, 0);
        return;
    }
    int64_t at = s->n_heap++;
    for (int64_t up; at > 0 && worse(x, &heap[up = (at - 1) / 2]); at = up) heap[at] = heap[up];
    heap[at] = *x;
}

/* Sorts the heap into the beams, the best first. */
static void settle(search *s)
{
    for (int64_t i = 0; i < s->n_beams; i++) s->beam_of[s->beams[i].node] = NONE;
    s->n_beams = s->n_heap;
    for (int64_t n = s->n_heap; n > 0; n--) {
        beam *b = &s->beams[n - 1];
        *b = s->heap[0];
        s->heap[0] = s->heap[n - 1];
        if (n > 1) sink(s->heap, n - 1, 0);
        if (b->next != NONE) b->node = child_of(s, b->node, b->next);
        s->beam_of[b->node] = (int32_t)(n - 1);
    }
    s->n_heap = 0;
}

/* --- a step --- */

/* Probability that a beam is extended by a label; repeating the last label requires a blank
 * between. */
static double onward(const search *s, const beam *b, int64_t label)
{
    return (s->label[b->node] == label ? b->blank : b->total) + s->p[label];
}

static void find_families(search *s)
{
    for (int64_t i = 0; i < s->n_beams; i++) s->child[i] = NONE;
    for (int64_t i = 0; i < s->n_beams; i++) {
        const int32_t node = s->beams[i].node;
        const int32_t from = node == ROOT ? NONE : s->beam_of[s->parent[node]];
        s->joined[i] = -INFINITY;
        if (from == NONE) continue;
        s->joined[i] = onward(s, &s->beams[from], s->label[node]);
        s->sibling[i] = s->child[from];
        s->child[from] = (int32_t)i;
    }
}

static void stay(search *s, int64_t i)
{
    const beam *b = &s->beams[i];
    beam x = {.blank = b->total + s->p[s->j->blank], .label = s->joined[i], .node = b->node,
              .next = NONE, .found = i * (s->j->classes + 1)};
    if (b->node != ROOT) x.label = log_add(x.label, b->label + s->p[s->label[b->node]]);
    x.total = log_add(x.blank, x.label);
    offer(s, &x);
}

static void keep_going(search *s, int64_t i)
{
    const beam *b = &s->beams[i];
    for (int32_t k = s->child[i]; k != NONE; k = s->sibling[k])
        s->taken[s->label[s->beams[k].node]] = 1;
    for (int64_t c = 0; c < s->j->classes; c++) {
        if (c == s->j->blank || s->taken[c]) continue;
        const double p = onward(s, b, c);
        const beam x = {p, -INFINITY, p, i * (s->j->classes + 1) + c + 1, b->node, (int32_t)c};
        offer(s, &x);
    }
    for (int32_t k = s->child[i]; k != NONE; k = s->sibling[k])
        s->taken[s->label[s->beams[k].node]] = 0;
}

static void step(search *s, int64_t at)
{
    const job *j = s->j;
    const double log_sum = log_sum_exp(j->logits, at, j->classes);
    for (int64_t c = 0; c < j->classes; c++) s->p[c] = number(j->logits, at + c) - log_sum;
    find_families(s);
    for (int64_t i = 0; i < s->n_beams; i++) {
        stay(s, i);
        keep_going(s, i);
    }
    settle(s);
}

/* --- a row --- */

static search begin_search(const job *j, char *at)
{
    search s = {.j = j, .n_beams = 1, .n_nodes = 1};
    s.beams = (beam *)at;
    s.heap = s.beams + j->width;
    s.p = (double *)(s.heap + j->width);
    s.joined = s.p + j->classes;
    s.child = (int32_t *)(s.joined + j->width);
    s.sibling = s.child + j->width;
    s.parent = s.sibling + j->width;
    s.label = s.parent + j->n_nodes;
    s.beam_of = s.label + j->n_nodes;
    s.slots = s.beam_of + j->n_nodes;
    s.taken = (uint8_t *)(s.slots + j->n_slots);
    for (int64_t i = 0; i < j->n_slots; i++) s.slots[i] = NONE;
    memset(s.taken, 0, (size_t)j->classes);
    s.parent[ROOT] = s.label[ROOT] = NONE;
    s.beam_of[ROOT] = 0;
    s.beams[0] = (beam){0, 0, -INFINITY, 0, ROOT, NONE};
    return s;
}

static void write_path(const search *s, int64_t row, int64_t k)
{
    const job *j = s->j;
    int64_t *path = (int64_t *)j->paths->data + (k * j->rows + row) * j->steps, n = 0;
    const int32_t node = k < s->n_beams ? s->beams[k].node : ROOT;
    for (int32_t at = node; at != ROOT; at = s->parent[at]) n++;
    for (int64_t t = n; t < j->steps; t++) path[t] = NONE;
    for (int32_t at = node; at != ROOT; at = s->parent[at]) path[--n] = s->label[at];
    put(j->scores, row * j->top + k, k < s->n_beams ? s->beams[k].total : -INFINITY);
}

static void task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    for (int64_t row = begin; row < end; row++) {
        search s = begin_search(j, j->workspace + row * j->row_bytes);
        const int64_t steps = within(index_at(j->length, row), j->steps);
        for (int64_t t = 0; t < steps; t++) step(&s, (t * j->rows + row) * j->classes);
        for (int64_t k = 0; k < j->top; k++) write_path(&s, row, k);
    }
}

/* --- the record --- */

static job job_of(const df_call *call)
{
    const df_tensor *logits = call->in[LOGITS];
    job j = {.logits = logits, .length = call->in[LENGTH], .paths = call->out[PATHS],
             .scores = call->out[SCORES], .steps = logits->shape[0], .rows = logits->shape[1],
             .classes = logits->shape[2], .blank = call->attrs[BLANK].i,
             .width = call->attrs[WIDTH].i, .top = call->attrs[TOP].i,
             .workspace = call->workspace};
    if (j.blank < 0) j.blank += j.classes;
    return j;
}

/* Sets the maximal size of the search in a row; returns false if it is too large. */
static bool measure(job *j)
{
    int64_t bytes;
    if (__builtin_mul_overflow(j->steps, j->width, &j->n_nodes) || j->n_nodes >= INT32_MAX / 4 ||
        j->width > INT32_MAX / 128 || j->classes > INT32_MAX / 16)
        return false;
    j->n_nodes += 1;
    for (j->n_slots = 2; j->n_slots < 2 * j->n_nodes;) j->n_slots *= 2;
    bytes = j->width * (int64_t)(2 * sizeof(beam) + sizeof(double) + 2 * sizeof(int32_t)) +
            (3 * j->n_nodes + j->n_slots) * (int64_t)sizeof(int32_t) +
            j->classes * (int64_t)(sizeof(double) + 1);
    j->row_bytes = (bytes + 63) / 64 * 64;
    return true;
}

static int64_t workspace(const df_call *call)
{
    int64_t bytes;
    job j = job_of(call);
    return !measure(&j) || __builtin_mul_overflow(j.row_bytes, j.rows, &bytes) ? -1 : bytes;
}

static df_status check_values(const job *j, df_error *err)
{
    if (j->blank < 0 || j->blank >= j->classes)
        return df_fail(err, DF_OUT_OF_RANGE,
                       "ctc_beam_search: blank_index is not one of %lld classes",
                       (long long)j->classes);
    for (int64_t i = 0; i < j->rows; i++)
        if (index_at(j->length, i) < 0 || index_at(j->length, i) > j->steps)
            return df_fail(err, DF_OUT_OF_RANGE,
                           "ctc_beam_search: sequence_length[%lld] is %lld, expected 0 to %lld",
                           (long long)i, (long long)index_at(j->length, i), (long long)j->steps);
    return DF_OK;
}

DF_ONCE(df_status, run_ctc_beam, (const df_call *call, df_error *err))
{
    job j = job_of(call);
    const df_status status = check_values(&j, err);
    if (status != DF_OK) return status;
    measure(&j);
    const double beams = (double)j.steps * (double)j.width;
    df_parallel_for(j.rows, 1, beams * (300 + 4 * (double)j.classes), task, &j);
    return DF_OK;
}

DF_ONCE(df_status, infer_ctc_beam, (const df_call *call, df_error *err))
{
    const df_tensor *logits = call->in[LOGITS], *length = call->in[LENGTH];
    const int64_t width = call->attrs[WIDTH].i, top = call->attrs[TOP].i;
    if (logits->dtype != DF_F32 && logits->dtype != DF_F64)
        return df_fail_dtype(call, LOGITS, "logits of a floating dtype", err);
    df_status status = check_index_dtype(call, LENGTH, err);
    if (status != DF_OK) return status;
    if (logits->ndim != 3 || length->ndim != 1 || !may_equal(logits->shape[1], length->shape[0]))
        return df_fail(err, DF_BAD_SHAPE, "ctc_beam_search: inputs are %s and sequence_length %s, "
                       "expected (time, batch, classes) and (batch,)", df_tensor_text(logits).text,
                       df_tensor_text(length).text);
    if (top < 1 || top > width)
        return df_fail(err, DF_INVALID_ARGUMENT,
                       "ctc_beam_search: top_paths is %lld and beam_width %lld, expected 1 <= "
                       "top_paths <= beam_width", (long long)top, (long long)width);
    int64_t rows = logits->shape[1];
    if (rows == DF_UNKNOWN) rows = length->shape[0];
    const int64_t paths[] = {top, rows, logits->shape[0]}, scores[] = {rows, top};
    status = df_tensor_set(call->out[PATHS], DF_I64, 3, paths, call->op->name, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[SCORES], logits->dtype, 2, scores, call->op->name, err);
}

DF_OP(ctc_beam_search) = {
    .name = "ctc_beam_search", .kind = DF_GENERAL, .n_in = 2, .n_out = 2, .n_attrs = 3,
    .attrs = {{"blank_index", DF_ATTR_INT}, {"beam_width", DF_ATTR_INT},
              {"top_paths", DF_ATTR_INT}},
    .infer = infer_ctc_beam, .run = run_ctc_beam, .workspace = workspace, RUN_IN_FLOAT};
