/* Connectionist temporal classification: A. Graves et al., ICML 2006.
 *
 * T steps, B rows of the batch, C classes, up to L labels per row. The labels of a row, with blanks
 * before, between and after them, are S = 2 L + 1 states. In each step a path advances by 0 or 1
 * states, or by 2 past a blank between different labels. Probabilities are logarithms in float64,
 * computed by scalar code, one thread per row: bit-identical for any thread count and SIMD level.
 *
 * Another thread may write shared memory after labels and lengths have been checked, so they are
 * clamped to their range again when they are used. */
#include "ops/nn/ctc.h"
#include "ops/in_float.h"
#include "ops/indexing/indices.h"

enum { BLANK, TIME_MAJOR };
enum { LABELS, LOGITS, LABEL_LENGTH, LOGIT_LENGTH, G };

typedef struct {
    const df_tensor *labels, *logits, *label_length, *logit_length, *g;
    df_tensor *out;
    int64_t steps, rows, classes, max_labels, blank;
    int64_t step_stride, row_stride; /* of logits */
    double *workspace;
    int64_t row_doubles; /* doubles of workspace per row */
} job;

/* A row of the batch. */
typedef struct {
    const job *j;
    int64_t row, steps, states;
    double *log_sum; /* by step: log of the sum of exponentials */
} sequence;

static int64_t place(const sequence *s, int64_t t)
{
    return t * s->j->step_stride + s->row * s->j->row_stride;
}

static int64_t class_of(const sequence *s, int64_t state)
{
    const job *j = s->j;
    if (state % 2 == 0) return j->blank;
    const int64_t label = index_at(j->labels, s->row * j->max_labels + state / 2);
    return (uint64_t)label < (uint64_t)j->classes ? label : j->blank;
}

static bool may_skip(const sequence *s, int64_t state)
{
    return state % 2 == 1 && state >= 3 && class_of(s, state) != class_of(s, state - 2);
}

static double log_probability(const sequence *s, int64_t t, int64_t c)
{
    return number(s->j->logits, place(s, t) + c) - s->log_sum[t];
}

static sequence begin_sequence(const job *j, int64_t row, double *workspace)
{
    const int64_t steps = index_at(j->logit_length, row), n = index_at(j->label_length, row);
    const sequence s = {j, row, within(steps, j->steps), 2 * within(n, j->max_labels) + 1,
                        workspace};
    for (int64_t t = 0; t < s.steps; t++)
        s.log_sum[t] = log_sum_exp(j->logits, place(&s, t), j->classes);
    return s;
}

/* to[s] = log probability of being in state s at step t with correct labels up to there; `from` are
 * the values of the previous step. */
static void forward_step(const sequence *s, int64_t t, const double *from, double *to)
{
    for (int64_t k = 0; k < s->states; k++) {
        double sum = t == 0 ? (k < 2 ? 0 : -INFINITY) : from[k];
        if (t > 0 && k >= 1) sum = log_add(sum, from[k - 1]);
        if (t > 0 && may_skip(s, k)) sum = log_add(sum, from[k - 2]);
        to[k] = sum + log_probability(s, t, class_of(s, k));
    }
}

/* to[s] = log probability of the remaining labels after step t in state s. */
static void backward_step(const sequence *s, int64_t t, const double *from, double *to)
{
    for (int64_t k = 0; k < s->states; k++) {
        double sum = -INFINITY;
        for (int64_t next = k; next <= k + 2 && next < s->states; next++)
            if (next < k + 2 || may_skip(s, next))
                sum = log_add(sum, from[next] + log_probability(s, t + 1, class_of(s, next)));
        to[k] = sum;
    }
}

/* Combines the two states of the last step that complete the labels. */
static double log_likelihood(const sequence *s, const double *last)
{
    if (s->steps == 0) return s->states == 1 ? 0 : -INFINITY;
    if (s->states == 1) return last[0];
    return log_add(last[s->states - 1], last[s->states - 2]);
}

static void loss_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    for (int64_t row = begin; row < end; row++) {
        double *workspace = j->workspace + row * j->row_doubles;
        const sequence s = begin_sequence(j, row, workspace);
        double *from = workspace + j->steps, *to = from + 2 * j->max_labels + 1;
        for (int64_t t = 0; t < s.steps; t++) {
            forward_step(&s, t, from, to);
            double *swap = from;
            from = to;
            to = swap;
        }
        put(j->out, row, -log_likelihood(&s, from));
    }
}

/* Cotangent of the logits of step t: g (softmax - the share of each class among the paths). */
static void grad_step(const sequence *s, int64_t t, double g, double likelihood,
                      const double *alpha, const double *beta, double *share)
{
    const job *j = s->j;
    for (int64_t c = 0; c < j->classes; c++) share[c] = 0;
    for (int64_t k = 0; k < s->states; k++)
        share[class_of(s, k)] += exp(alpha[k] + beta[k] - likelihood);
    for (int64_t c = 0; c < j->classes; c++)
        put(j->out, place(s, t) + c, g * (exp(log_probability(s, t, c)) - share[c]));
}

static void grad_task(void *context, int64_t begin, int64_t end)
{
    const job *j = context;
    const int64_t width = 2 * j->max_labels + 1;
    for (int64_t row = begin; row < end; row++) {
        double *workspace = j->workspace + row * j->row_doubles;
        const sequence s = begin_sequence(j, row, workspace);
        double *alpha = workspace + j->steps, *beta = alpha + j->steps * width;
        double *before = beta + width, *share = before + width;
        for (int64_t t = 0; t < s.steps; t++)
            forward_step(&s, t, t ? alpha + (t - 1) * width : alpha, alpha + t * width);
        const double *last = s.steps ? alpha + (s.steps - 1) * width : alpha;
        const double likelihood = log_likelihood(&s, last);
        const bool possible = !isinf(likelihood);
        for (int64_t t = j->steps - 1; t >= 0; t--) {
            if (t >= s.steps || !possible) {
                for (int64_t c = 0; c < j->classes; c++) put(j->out, place(&s, t) + c, 0);
                continue;
            }
            if (t == s.steps - 1)
                for (int64_t k = 0; k < s.states; k++) beta[k] = k + 2 < s.states ? -INFINITY : 0;
            else
                backward_step(&s, t, before, beta);
            grad_step(&s, t, number(j->g, row), likelihood, alpha + t * width, beta, share);
            double *swap = before;
            before = beta;
            beta = swap;
        }
    }
}

static job job_of(const df_call *call)
{
    const df_tensor *labels = call->in[LABELS], *logits = call->in[LOGITS];
    const bool time_major = call->attrs[TIME_MAJOR].i;
    job j = {.labels = labels, .logits = logits, .label_length = call->in[LABEL_LENGTH],
             .logit_length = call->in[LOGIT_LENGTH], .g = call->n_in > G ? call->in[G] : NULL,
             .out = call->out[0], .steps = logits->shape[time_major ? 0 : 1],
             .rows = logits->shape[time_major ? 1 : 0], .classes = logits->shape[2],
             .max_labels = labels->shape[1], .blank = call->attrs[BLANK].i,
             .workspace = call->workspace};
    j.step_stride = time_major ? j.rows * j.classes : j.classes;
    j.row_stride = time_major ? j.classes : j.steps * j.classes;
    if (j.blank < 0) j.blank += j.classes;
    const int64_t width = 2 * j.max_labels + 1;
    j.row_doubles = j.steps + (j.g ? (j.steps + 2) * width + j.classes : 2 * width);
    return j;
}

static int64_t workspace(const df_call *call)
{
    const job j = job_of(call);
    const int64_t steps = j.g ? j.steps + 2 : 2, fixed = j.steps + (j.g ? j.classes : 0);
    int64_t width, states, doubles, bytes;
    const bool huge = __builtin_mul_overflow(j.max_labels, 2, &width) ||
                      __builtin_mul_overflow(width + 1, steps, &states) ||
                      __builtin_add_overflow(states, fixed, &doubles) ||
                      __builtin_mul_overflow(doubles, j.rows, &doubles) ||
                      __builtin_mul_overflow(doubles, (int64_t)sizeof(double), &bytes);
    return huge ? -1 : bytes;
}

static df_status check_length(const df_call *call, int input, int64_t most, df_error *err)
{
    const df_tensor *x = call->in[input];
    for (int64_t i = 0; i < x->size; i++)
        if (index_at(x, i) < 0 || index_at(x, i) > most)
            return df_fail(err, DF_OUT_OF_RANGE, "%s: %s[%lld] is %lld, expected 0 to %lld",
                           call->op->name, input == LABEL_LENGTH ? "label_length" : "logit_length",
                           (long long)i, (long long)index_at(x, i), (long long)most);
    return DF_OK;
}

static df_status check_values(const df_call *call, const job *j, df_error *err)
{
    df_status status = check_length(call, LABEL_LENGTH, j->max_labels, err);
    if (status == DF_OK) status = check_length(call, LOGIT_LENGTH, j->steps, err);
    if (status != DF_OK) return status;
    if (j->blank < 0 || j->blank >= j->classes)
        return df_fail(err, DF_OUT_OF_RANGE, "%s: blank_index is %lld of %lld classes",
                       call->op->name, (long long)call->attrs[BLANK].i, (long long)j->classes);
    for (int64_t row = 0; row < j->rows; row++)
        for (int64_t i = 0; i < index_at(j->label_length, row); i++) {
            const int64_t label = index_at(j->labels, row * j->max_labels + i);
            if (label < 0 || label >= j->classes)
                return df_fail(err, DF_OUT_OF_RANGE, "%s: labels[%lld, %lld] is %lld of %lld "
                               "classes", call->op->name, (long long)row, (long long)i,
                               (long long)label, (long long)j->classes);
        }
    return DF_OK;
}

DF_ONCE(df_status, run_ctc, (const df_call *call, df_error *err))
{
    job j = job_of(call);
    const df_status status = check_values(call, &j, err);
    if (status != DF_OK) return status;
    const int64_t states = j.steps * (2 * j.max_labels + 1);
    const double forward = 20.0 * (double)states + 6.0 * (double)(j.steps * j.classes);
    df_parallel_for(j.rows, 1, (j.g ? 3 : 1) * forward, j.g ? grad_task : loss_task, &j);
    return DF_OK;
}

static df_status check_sizes(const df_call *call, int64_t *rows, df_error *err)
{
    const df_tensor *labels = call->in[LABELS], *logits = call->in[LOGITS];
    if (logits->dtype != DF_F32 && logits->dtype != DF_F64)
        return df_fail_dtype(call, LOGITS, "logits of a floating dtype", err);
    if (labels->ndim != 2 || logits->ndim != 3)
        return df_fail(err, DF_BAD_SHAPE,
                       "%s: labels are %s and logits %s, expected 2 and 3 dimensions",
                       call->op->name, df_tensor_text(labels).text, df_tensor_text(logits).text);
    *rows = logits->shape[call->attrs[TIME_MAJOR].i ? 1 : 0];
    if (*rows == DF_UNKNOWN) *rows = labels->shape[0];
    for (int i = 0; i < call->n_in; i++) {
        const df_tensor *x = call->in[i];
        if (i == LOGITS) continue;
        df_status status = i == G ? DF_OK : check_index_dtype(call, i, err);
        if (status != DF_OK) return status;
        if ((i != LABELS && x->ndim != 1) || !may_equal(x->shape[0], *rows))
            return df_fail(err, DF_BAD_SHAPE,
                           "%s: logits are %s and input %d is %s, expected one batch size",
                           call->op->name, df_tensor_text(logits).text, i, df_tensor_text(x).text);
    }
    return DF_OK;
}

DF_ONCE(df_status, infer_loss, (const df_call *call, df_error *err))
{
    int64_t rows = 0;
    const df_status status = check_sizes(call, &rows, err);
    if (status != DF_OK) return status;
    return df_tensor_set(call->out[0], call->in[LOGITS]->dtype, 1, &rows, call->op->name, err);
}

DF_ONCE(df_status, infer_ctc_grad, (const df_call *call, df_error *err))
{
    int64_t rows = 0;
    const df_tensor *logits = call->in[LOGITS];
    const df_status status = check_sizes(call, &rows, err);
    if (status != DF_OK) return status;
    if (call->in[G]->dtype != logits->dtype)
        return df_fail_dtype(call, G, "the dtype of the logits", err);
    return df_tensor_set(call->out[0], logits->dtype, logits->ndim, logits->shape, call->op->name,
                         err);
}

#define CTC_OP(op)                                                                               \
    .name = op, .kind = DF_GENERAL, .n_out = 1, .n_attrs = 2,                                    \
    .attrs = {{"blank_index", DF_ATTR_INT}, {"time_major", DF_ATTR_BOOL}}, .run = run_ctc,       \
    .workspace = workspace, RUN_IN_FLOAT

DF_OP(ctc_loss) = {CTC_OP("ctc_loss"), .n_in = 4, .promote = 1 << LOGITS,
                   .autocast = DF_AUTOCAST_FLOAT32, .infer = infer_loss};
DF_OP(ctc_loss_grad) = {CTC_OP("ctc_loss_grad"), .n_in = 5, .infer = infer_ctc_grad};
