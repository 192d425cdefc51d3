/* Building a program: checks and copies the parts and prepares every instruction. A run does not
 * check again, so everything that it relies on must be established here. */
#include "exec/internal.h"

#include <stdlib.h>
#include <string.h>

#define CALL_NS 10 /* lower bound for any instruction and any body, so that loops of cheap bodies
                    * are polled */

/* Destinations of the next copied lists. */
typedef struct {
    int *operand;
    df_attr *attr;
    int64_t *list;
} cursor;

static df_status check_slot(const df_program_parts *parts, int i, df_error *err)
{
    const df_slot *s = &parts->slots[i];
    df_tensor t;
    int64_t end;
    if ((unsigned)s->kind > DF_SLOT_DYNAMIC || (unsigned)s->dtype >= DF_N_DTYPES)
        return df_fail(err, DF_INVALID_ARGUMENT, "program: slot %d has kind %d, dtype %d", i,
                       (int)s->kind, (int)s->dtype);
    df_tensor_init(&t);
    df_status status = df_tensor_set(&t, s->dtype, s->ndim, s->shape, "program", err);
    int64_t bytes = t.size < 0 ? -1 : df_tensor_bytes(&t);
    df_tensor_clear(&t);
    if (status != DF_OK) return status;
    if (bytes == INT64_MAX)
        return df_fail(err, DF_OVERFLOW, "program: slot %d has shape %s, more bytes than 64 bits "
                       "can count", i, df_shape_text(s->ndim, s->shape).text);
    if (s->kind == DF_SLOT_DYNAMIC) {
        if (s->last_use >= 0 && s->last_use <= parts->n_instructions) return DF_OK;
        return df_fail(err, DF_INVALID_ARGUMENT, "program: slot %d is last used by instruction %d "
                       "of %d", i, s->last_use, parts->n_instructions);
    }
    int n = s->kind == DF_SLOT_ARG ? parts->n_args : parts->n_results;
    if (bytes < 0 && (s->kind != DF_SLOT_ARG || s->offset))
        return df_fail(err, DF_BAD_SHAPE, "program: slot %d has shape %s, only arguments and "
                       "dynamic slots may have unknown dimensions", i,
                       df_shape_text(s->ndim, s->shape).text);
    if (bytes < 0) bytes = 0;
    if (s->kind == DF_SLOT_CONSTANT ? bytes && !s->data
                                    : s->offset < 0 || !df_add_size(s->offset, bytes, &end))
        return df_fail(err, DF_INVALID_ARGUMENT, "program: slot %d has offset %lld, data %p", i,
                       (long long)s->offset, s->data);
    if (s->kind == DF_SLOT_ARENA && end > parts->arena_bytes)
        return df_fail(err, DF_INVALID_ARGUMENT, "program: slot %d ends at %lld of an arena of "
                       "%lld bytes", i, (long long)end, (long long)parts->arena_bytes);
    if ((s->kind == DF_SLOT_ARG || s->kind == DF_SLOT_RESULT) && (s->index < 0 || s->index >= n))
        return df_fail(err, DF_INVALID_ARGUMENT, "program: slot %d refers to argument or result "
                       "%d of %d", i, s->index, n);
    return DF_OK;
}

static bool in_range(int n, const int *slots, int n_slots)
{
    for (int k = 0; k < n; k++)
        if (slots[k] < 0 || slots[k] >= n_slots) return false;
    return n >= 0;
}

/* Checks an instruction before its op is called. `made`: the slots that earlier ones have
 * written. */
static df_status check_instruction(const df_program_parts *parts, int i, const bool *made,
                                   df_error *err)
{
    const df_instruction *in = &parts->instructions[i];
    const char *wrong = NULL;
    if (!in_range(in->n_in, in->in, parts->n_slots)) wrong = "inputs";
    else if (!in_range(in->n_out, in->out, parts->n_slots)) wrong = "outputs";
    else if (in->n_attrs != in->op->n_attrs) wrong = "attributes";
    else if (in->op->n_bodies == DF_VARIADIC ? in->n_bodies < 1 : in->n_bodies != in->op->n_bodies)
        wrong = "bodies";
    else if (in->workspace < (in->dynamic ? -1 : DF_WORKSPACE_APPENDED) ||
             in->workspace > (in->dynamic ? -1 : parts->arena_bytes)) wrong = "workspace";
    for (int k = 0; !wrong && k < in->n_out; k++) {
        const df_slot *s = &parts->slots[in->out[k]];
        if (s->kind == DF_SLOT_CONSTANT) wrong = "output (a constant)";
        if (s->kind != DF_SLOT_DYNAMIC) continue;
        if (!in->dynamic) wrong = "output (a dynamic slot of a static instruction)";
        if (made[in->out[k]]) wrong = "output (a dynamic slot written twice)";
        if (s->last_use < i) wrong = "output (last used before it is written)";
    }
    for (int k = 0; !wrong && k < in->n_in; k++) {
        const df_slot *s = &parts->slots[in->in[k]];
        if (s->kind == DF_SLOT_DYNAMIC && (s->last_use < i || !made[in->in[k]]))
            wrong = "input (freed, or not written before)";
        if (df_writes_input(in, k) && s->kind == DF_SLOT_CONSTANT)
            wrong = "written input (a constant)";
    }
    if (!wrong) return df_op_check_attrs(in->op, in->attrs, err);
    return df_fail(err, DF_INVALID_ARGUMENT, "program: instruction %d, %s: bad %s", i,
                   in->op->name, wrong);
}

static df_status check_parts(const df_program_parts *parts, int *failed, df_error *err)
{
    df_status status = DF_OK;
    bool *made = NULL;
    if (parts->n_slots < 0 || parts->n_instructions < 0 || parts->n_args < 0 ||
        parts->n_results < 0 || parts->arena_bytes < 0)
        return df_fail(err, DF_INVALID_ARGUMENT, "program: a count is negative");
    for (int i = 0; i < parts->n_slots && status == DF_OK; i++) status = check_slot(parts, i, err);
    if (status != DF_OK) return status;
    made = calloc((size_t)parts->n_slots + 1, sizeof *made);
    if (!made) return df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    for (int i = 0; i < parts->n_instructions && status == DF_OK; i++) {
        const df_instruction *in = &parts->instructions[i];
        status = check_instruction(parts, i, made, err);
        if (status != DF_OK) *failed = i;
        for (int k = 0; k < in->n_out && status == DF_OK; k++) made[in->out[k]] = true;
    }
    for (int i = 0; i < parts->n_slots && status == DF_OK; i++)
        if (parts->slots[i].kind == DF_SLOT_DYNAMIC && !made[i])
            status = df_fail(err, DF_INVALID_ARGUMENT, "program: no instruction writes dynamic "
                             "slot %d", i);
    free(made);
    return status == DF_OK ? df_program_check_memory(parts, failed, err) : status;
}

/* Allocates everything that the parts point to, one extra element each so that none is empty. */
static bool allocate(df_program *p, const df_program_parts *parts)
{
    size_t n_dims = 1, n_operands = 1, n_attrs = 1, n_list = 1, n_bodies = 1;
    for (int i = 0; i < parts->n_slots; i++) n_dims += (size_t)parts->slots[i].ndim;
    for (int i = 0; i < parts->n_instructions; i++) {
        const df_instruction *in = &parts->instructions[i];
        n_operands += (size_t)in->n_in + (size_t)in->n_out;
        n_attrs += (size_t)in->n_attrs;
        n_bodies += (size_t)in->n_bodies;
        for (int k = 0; k < in->n_attrs; k++)
            if (in->op->attrs[k].type == DF_ATTR_INTS) n_list += (size_t)in->attrs[k].list.n;
    }
    p->slots = calloc((size_t)parts->n_slots + 1, sizeof *p->slots);
    p->patches = calloc((size_t)parts->n_slots + 1, sizeof *p->patches);
    p->dynamic = calloc((size_t)parts->n_slots + 1, sizeof *p->dynamic);
    p->maker = calloc((size_t)parts->n_slots + 1, sizeof *p->maker);
    p->last_read = calloc((size_t)parts->n_slots + 1, sizeof *p->last_read);
    p->shared = calloc((size_t)parts->n_slots + 1, sizeof *p->shared);
    p->instructions = calloc((size_t)parts->n_instructions + 1, sizeof *p->instructions);
    p->dims = calloc(n_dims, sizeof *p->dims);
    p->operands = calloc(n_operands, sizeof *p->operands);
    p->attrs = calloc(n_attrs, sizeof *p->attrs);
    p->lists = calloc(n_list, sizeof *p->lists);
    p->bodies = calloc(n_bodies, sizeof *p->bodies);
    p->types = calloc(n_bodies, sizeof *p->types);
    p->written = calloc((size_t)parts->n_args + 1, sizeof *p->written);
    p->arg_bytes = calloc((size_t)parts->n_args + 1, sizeof *p->arg_bytes);
    if (parts->returned) {
        p->returned = calloc((size_t)parts->n_results + 1, sizeof *p->returned);
        p->returns = calloc((size_t)parts->n_results + 1, sizeof *p->returns);
        p->aliased_input = calloc((size_t)parts->n_results + 1, sizeof *p->aliased_input);
        if (!p->returned || !p->returns || !p->aliased_input) return false;
        for (int i = 0; i < parts->n_results; i++) df_tensor_init(&p->returns[i]);
    }
    p->n_slots = parts->n_slots;
    p->n_args = parts->n_args;
    p->n_results = parts->n_results;
    p->arena_bytes = parts->arena_bytes;
    return p->slots && p->patches && p->dynamic && p->maker && p->last_read && p->shared &&
           p->instructions && p->dims && p->operands && p->attrs && p->lists && p->bodies &&
           p->types && p->written && p->arg_bytes;
}

static void collect_patches(df_program *p, df_slot_kind kind, int *n)
{
    df_patch *at = p->patches + p->n_arg_patches;
    for (int i = 0; i < p->n_slots; i++)
        if (p->slots[i].kind == kind)
            at[(*n)++] = (df_patch){i, p->slots[i].index, p->slots[i].offset};
}

static void copy_slots(df_program *p, const df_program_parts *parts)
{
    int64_t *dims = p->dims;
    for (int i = 0; i < p->n_slots; i++) {
        p->slots[i] = parts->slots[i];
        p->slots[i].shape = dims;
        if (p->slots[i].ndim)
            memcpy(dims, parts->slots[i].shape, (size_t)p->slots[i].ndim * sizeof *dims);
        dims += p->slots[i].ndim;
    }
    int n = 0;
    collect_patches(p, DF_SLOT_ARG, &n);
    p->n_arg_patches = n;
    collect_patches(p, DF_SLOT_RESULT, &p->n_result_patches);
}

static const int *copy_operands(cursor *c, int n, const int *slots)
{
    int *copy = c->operand;
    if (n) memcpy(copy, slots, (size_t)n * sizeof *copy);
    c->operand += n;
    return copy;
}

static const df_attr *copy_attrs(cursor *c, const df_instruction *in)
{
    df_attr *copy = c->attr;
    for (int k = 0; k < in->n_attrs; k++) {
        copy[k] = in->attrs[k];
        if (in->op->attrs[k].type != DF_ATTR_INTS) continue;
        copy[k].list.v = c->list;
        if (copy[k].list.n)
            memcpy(c->list, in->attrs[k].list.v, (size_t)copy[k].list.n * sizeof *c->list);
        c->list += copy[k].list.n;
    }
    c->attr += in->n_attrs;
    return copy;
}

static void copy_instructions(df_program *p, const df_program_parts *parts)
{
    cursor c = {p->operands, p->attrs, p->lists};
    p->cost = CALL_NS;
    for (int i = 0; i < parts->n_instructions; i++) {
        const df_instruction *in = &parts->instructions[i];
        df_exec_instruction *s = &p->instructions[i];
        *s = (df_exec_instruction){.op = in->op, .dynamic = in->dynamic, .poll = in->poll,
                                   .n_in = in->n_in,
                       .n_out = in->n_out, .workspace = in->workspace, .n_wave = 1,
                       .cost = in->cost > 0 ? in->cost : 0};
        s->run = in->op->kind == DF_ELEMENTWISE ? df_op_run : in->op->run;
        s->resolved = -1;
        if (in->dynamic || in->op->apply) {
            s->run = df_resolved_run;
            s->resolved = p->n_resolved++;
        }
        s->in = copy_operands(&c, in->n_in, in->in);
        s->out = copy_operands(&c, in->n_out, in->out);
        s->attrs = copy_attrs(&c, in);
        p->cost += s->cost + CALL_NS;
    }
    p->n_instructions = parts->n_instructions;
    p->n_operands = (int)(c.operand - p->operands);
}

static bool may_run_in_wave(const df_instruction *in)
{
    return !in->op->effect && !in->n_bodies;
}

/* Sets n_wave of the first instruction of a wave to its length. Effects run alone even inside a
 * wave: they keep their order, and the host is called on the thread of the run. Instructions with
 * bodies run alone because a body may hold effects. */
static void find_waves(df_program *p, const df_instruction *in)
{
    for (int i = p->n_instructions - 2; i >= 0; i--) {
        bool same = in[i].wave != 0 && in[i].wave == in[i + 1].wave;
        if (same && may_run_in_wave(&in[i]) && may_run_in_wave(&in[i + 1]))
            p->instructions[i].n_wave = p->instructions[i + 1].n_wave + 1;
    }
}

/* Sorts dynamic slots by the instruction that frees them; returned slots come last. */
static bool find_frees(df_program *p)
{
    int *count = calloc((size_t)p->n_instructions + 1, sizeof *count), at = 0;
    if (!count) return false;
    for (int i = 0; i < p->n_slots; i++)
        if (p->slots[i].kind == DF_SLOT_DYNAMIC) count[p->slots[i].last_use]++;
    for (int i = 0; i <= p->n_instructions; i++) {
        if (i < p->n_instructions) {
            p->instructions[i].n_frees = count[i];
            p->instructions[i].frees = p->dynamic + at;
        }
        at += count[i];
        count[i] = at - count[i];
    }
    p->n_dynamic = at;
    p->n_freed = count[p->n_instructions];
    for (int i = 0; i < p->n_instructions; i++)
        for (int k = 0; k < p->instructions[i].n_out; k++)
            p->maker[p->instructions[i].out[k]] = i;
    for (int i = 0; i < p->n_slots; i++)
        if (p->slots[i].kind == DF_SLOT_DYNAMIC) p->dynamic[count[p->slots[i].last_use]++] = i;
    free(count);
    return true;
}

/* Infers the outputs of a call again, into separate tensors. */
static df_status infer_aside(const df_call *call, df_tensor *tensors, df_tensor **pointers,
                             df_error *err)
{
    df_call aside = *call;
    aside.out = pointers;
    for (int k = 0; k < call->n_out; k++) {
        df_tensor_init(&tensors[k]);
        pointers[k] = &tensors[k];
    }
    df_status status = df_op_infer(&aside, err);
    for (int k = 0; k < call->n_out && status == DF_OK; k++) {
        const df_tensor *planned = call->out[k];
        if (tensors[k].dtype == planned->dtype && df_same_shape(&tensors[k], planned)) continue;
        df_text got = df_tensor_text(&tensors[k]);
        status = df_fail(err, DF_BAD_SHAPE, "%s: output %d is %s, the program declares %s",
                         call->op->name, k, got.text, df_tensor_text(planned).text);
    }
    for (int k = 0; k < call->n_out; k++) df_tensor_clear(&tensors[k]);
    return status;
}

static df_status check_call(const df_call *call, df_error *err)
{
    const df_op *op = call->op;
    for (int k = 0; k < call->n_in; k++)
        if (call->in[k]->size < 0)
            return df_fail(err, DF_BAD_SHAPE, "%s: input %d is %s, a static instruction needs "
                           "known shapes", op->name, k, df_tensor_text(call->in[k]).text);
    if (op->n_bodies) return df_op_infer(call, err); /* compares with the slots */
    size_t n = (size_t)call->n_out + 1;
    df_tensor *tensors = malloc(n * sizeof *tensors), **pointers = malloc(n * sizeof *pointers);
    df_status status = tensors && pointers
                           ? infer_aside(call, tensors, pointers, err)
                           : df_fail(err, DF_OUT_OF_MEMORY, "%s: no memory", op->name);
    free(tensors);
    free(pointers);
    return status;
}

/* Appends a workspace to the arena at `end` if it is DF_WORKSPACE_APPENDED, and advances `end`. */
static df_status append_workspace(df_program *p, df_exec_instruction *s, int64_t bytes,
                                  int64_t *end,
                                  df_error *err)
{
    int64_t begin = *end;
    if (s->workspace != DF_WORKSPACE_APPENDED || bytes < 0) return DF_OK;
    s->workspace = -1;
    if (bytes == 0) return DF_OK;
    if (!df_add_size(begin, -begin & (DF_ALIGNMENT - 1), &begin) || !df_add_size(begin, bytes, end))
        return df_fail(err, DF_OVERFLOW, "%s: too much workspace", s->op->name);
    s->workspace = begin;
    p->arena_bytes = df_max(p->arena_bytes, *end);
    return DF_OK;
}

/* Prepares a static instruction. `end`: the end of the arena and of the appended workspaces that
 * are in use at the same time. */
static df_status prepare(df_program *p, df_exec_instruction *s, const df_call *call, int64_t *end,
                         df_error *err)
{
    df_status status = check_call(call, err);
    const bool asks = s->op->workspace || s->n_bodies;
    const int64_t bytes = status == DF_OK && asks ? df_program_workspace(p, s, call) : 0;
    if (status == DF_OK) status = append_workspace(p, s, bytes, end, err);
    if (status == DF_OK && asks)
        status = df_program_check_workspace(p->slots, s, bytes, p->arena_bytes, err);
    if (status != DF_OK) return status;
    s->workspace_bytes = bytes;
    s->tile = df_whole_tile(call);
    if (s->tile) s->size = call->out[0]->size;
    if (df_op_in_float(call)) {
        s->run = s->op->run_half;
        return DF_OK;
    }
    return s->op->prepare ? s->op->prepare(call, &s->prepared, err) : DF_OK;
}

static df_status prepare_all(df_program *p, int *failed, df_error *err)
{
    df_frame *frame = df_frame_new(p);
    df_status status = DF_OK;
    if (!frame) return df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    p->plain = p->n_dynamic == 0;
    int64_t end = p->arena_bytes, behind = end;
    for (int i = 0; i < p->n_instructions && status == DF_OK; i++) {
        df_exec_instruction *s = &p->instructions[i];
        if (i == 0 || p->instructions[i - 1].n_wave == 1) end = behind; /* the first of a wave:
                                                                         * appended workspaces may
                                                                         * be reused */
        status = df_op_check_arity(&frame->calls[i], err);
        if (status == DF_OK && !s->dynamic) status = prepare(p, s, &frame->calls[i], &end, err);
        if (status != DF_OK) *failed = i;
        s->simple &= !s->poll && s->n_wave == 1;
        p->plain &= s->simple;
    }
    df_frame_free(p, frame);
    return status;
}

df_status df_program_new(const df_program_parts *parts, df_program **out, int *failed,
                         df_error *err)
{
    *failed = -1;
    *out = NULL;
    df_status status = check_parts(parts, failed, err);
    if (status != DF_OK) return status;
    df_program *p = calloc(1, sizeof *p);
    if (!p || !allocate(p, parts)) {
        if (p) df_program_free(p);
        return df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    }
    copy_slots(p, parts);
    copy_instructions(p, parts);
    find_waves(p, parts->instructions);
    status = df_program_take_bodies(p, parts, err);
    if (status == DF_OK &&
        (!find_frees(p) || !df_program_find_donations(p, parts->donation_min_bytes)))
        status = df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    if (status == DF_OK) status = prepare_all(p, failed, err);
    if (status == DF_OK) status = df_program_match_async(p, failed, err);
    if (status == DF_OK) status = df_program_check_waves(p, failed, err);
    if (status == DF_OK) status = df_program_check_initialized(p, failed, err);
    if (status == DF_OK && !df_program_find_views(p))
        status = df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    if (status == DF_OK) *out = p;
    else df_program_free(p);
    return status;
}

df_status df_program_compile(df_program *p, int instruction, df_ints layout, df_compiled_fn fn,
                             df_error *err)
{
    const bool exists = instruction >= 0 && instruction < p->n_instructions;
    const df_exec_instruction *s = exists ? &p->instructions[instruction] : NULL;
    if (!s || !s->prepared || !s->op->compile)
        return df_fail(err, DF_INVALID_ARGUMENT, "program: instruction %d does not run a cluster "
                       "that can be compiled", instruction);
    df_frame *frame = df_frame_new(p);
    if (!frame) return df_fail(err, DF_OUT_OF_MEMORY, "program: no memory");
    df_status status = s->op->compile(&frame->calls[instruction], s->prepared, layout, fn, err);
    df_frame_free(p, frame);
    return status;
}

void df_program_free(df_program *p)
{
    if (!p) return;
    for (int i = 0; i < DF_SPARE_FRAMES; i++) {
        df_frame *frame = atomic_exchange(&p->spare[i], NULL);
        if (frame) df_frame_free(p, frame);
    }
    for (int i = 0; i < p->n_instructions; i++)
        if (p->instructions[i].prepared)
            p->instructions[i].op->release(p->instructions[i].prepared);
    for (int i = 0; p->returns && i < p->n_results; i++) df_tensor_clear(&p->returns[i]);
    free(p->bodies);
    free(p->types);
    free(p->written);
    free(p->arg_bytes);
    free(p->returned);
    free(p->returns);
    free(p->aliased_input);
    free(p->slots);
    free(p->instructions);
    free(p->patches);
    free(p->dynamic);
    free(p->maker);
    free(p->last_read);
    free(p->shared);
    free(p->begins);
    free(p->ends);
    free(p->pairs);
    free(p->operands);
    free(p->dims);
    free(p->attrs);
    free(p->lists);
    free(p);
}
