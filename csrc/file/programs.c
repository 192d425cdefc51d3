/* Reads the programs of a file into tables of slots and instructions, with op numbers of the file
 * replaced by registry indices. df_program_new checks the programs when they are built. */
#include "file/reading.h"

#include "fuse/cluster.h"
#include "op/registry.h"

#include <math.h>
#include <string.h>

#define MAX_DEPTH 100 /* nested bodies: their runs are nested calls */

/* The registry index of op k of the file. */
static int64_t op_of(df_reading *r, const char *what, int64_t k)
{
    if (r->status != DF_OK) return 0;
    if (k >= 0 && k < r->n_ops) return r->ops[k];
    df_reading_fail(r, DF_INVALID_ARGUMENT, "%s is %lld of %d", what, (long long)k,
                    r->n_ops);
    return 0;
}

static void read_slot(df_reading *r, df_slot *s)
{
    s->kind = (df_slot_kind)df_take(r, "the kind of a slot", DF_SLOT_ARENA, DF_SLOT_DYNAMIC);
    s->dtype = (df_dtype)df_take(r, "the dtype of a slot", 0, DF_N_DTYPES - 1);
    s->ndim = (int)df_take(r, "the rank of a slot", 0, DF_MAX_NDIM);
    s->shape = df_take_words(r, "the shape of a slot", s->ndim);
    s->index = (int)df_take(r, "the argument or result of a slot", 0, INT32_MAX);
    s->last_use = (int)df_take(r, "the last use of a slot", 0, INT32_MAX);
    const int64_t bytes = df_reading_bytes(r, "a slot", s->dtype, s->ndim, s->shape);
    if (s->kind != DF_SLOT_CONSTANT) {
        s->offset = df_take(r, "the offset of a slot", 0, INT64_MAX);
        return;
    }
    s->data = df_take_constant(r, "a constant", bytes);
    if (s->data && s->dtype == DF_BOOL) df_reading_check_bools(r, "a constant", s->data, bytes);
}

/* Replaces the op numbers in tile code by registry indices. Only the positions of op numbers are
 * checked here; the op that owns the code checks the rest. */
static void translate_code(df_reading *r, int64_t *at, int64_t n)
{
    int64_t *end = at + n;
    int64_t n_steps = n > 1 ? at[1] : 0;
    for (at += 2; n_steps > 0 && r->status == DF_OK; n_steps--) {
        if (end - at < 3) break;
        at[0] = op_of(r, "an op of tile code", at[0]);
        at += 2; /* after the space */
        for (int list = 0; list < 2; list++) {
            if (at >= end || at[0] < 0 || at[0] >= end - at) break;
            at += at[0] + 1;
        }
    }
}

/* Lists are not copied. */
static void read_attr(df_reading *r, const df_op *op, int k, df_attr *to)
{
    const df_attr_spec *spec = &op->attrs[k];
    if (spec->type == DF_ATTR_FLOAT) {
        to->f = df_take_double(r, spec->name);
    } else if (spec->type == DF_ATTR_INTS) {
        const int64_t n = df_take_count(r, spec->name);
        to->list = (df_ints){df_take_words(r, spec->name, n), n};
        if (r->status == DF_OK && !strcmp(spec->name, DF_TILE_CODE))
            translate_code(r, (int64_t *)(intptr_t)to->list.v, n);
    } else {
        to->i = df_take(r, spec->name, INT64_MIN, INT64_MAX);
        if (op->wraps_op) to->i = op_of(r, "the op that another applies", to->i);
    }
}

static int *read_numbers(df_reading *r, const char *what, int n, int limit)
{
    int *numbers = df_reading_alloc(r, n, sizeof *numbers);
    for (int k = 0; k < n && r->status == DF_OK; k++)
        numbers[k] = (int)df_take(r, what, 0, limit - 1);
    return numbers;
}

/* A body precedes its owner and belongs to one instruction. */
static void read_bodies(df_reading *r, int program, df_model_instruction *in)
{
    in->n_bodies = df_take_count(r, "the number of bodies");
    const df_model_program **bodies = df_reading_alloc(r, in->n_bodies, sizeof *bodies);
    for (int b = 0; b < in->n_bodies && r->status == DF_OK; b++) {
        const int64_t k = df_take(r, "a body", 0, program - 1);
        const df_model_program *p = &r->programs[k];
        if (r->status == DF_OK && (r->owned[k] || !p->returned))
            df_reading_fail(r, DF_INVALID_ARGUMENT, "program %lld is not a body, or the body of "
                            "two instructions", (long long)k);
        else if (r->status == DF_OK && (p->n_args != in->n_in || p->n_results != in->n_out))
            df_reading_fail(r, DF_INVALID_ARGUMENT, "program %lld has %d arguments and %d results, "
                            "its instruction %d and %d", (long long)k, p->n_args, p->n_results,
                            in->n_in, in->n_out);
        if (r->status != DF_OK) return;
        r->owned[k] = true;
        r->depths[program] = (int)df_max(r->depths[program], r->depths[k] + 1);
        bodies[b] = &r->programs[k];
    }
    if (r->depths[program] > MAX_DEPTH)
        df_reading_fail(r, DF_UNIMPLEMENTED, "branches and loops are nested more than %d levels "
                        "deep", MAX_DEPTH);
    in->bodies = bodies;
}

static void read_instruction(df_reading *r, int program, df_model_instruction *in)
{
    const df_model_program *p = &r->programs[program];
    in->op = (int)op_of(r, "the op of an instruction",
                        df_take(r, "the op of an instruction", 0, df_max(0, r->n_ops - 1)));
    const df_op *op = df_registry_op(in->op);
    in->n_in = df_take_count(r, "the number of inputs");
    in->n_out = (int)df_take(r, "the number of outputs", 0,
                             df_min(r->end - r->at, INT32_MAX - 1) - in->n_in);
    in->slots = read_numbers(r, "an operand", in->n_in + in->n_out, p->n_slots);
    in->n_attrs = (int)df_take(r, "the number of attributes", op->n_attrs, op->n_attrs);
    df_attr *attrs = df_reading_alloc(r, in->n_attrs, sizeof *attrs);
    for (int k = 0; k < in->n_attrs && r->status == DF_OK; k++) read_attr(r, op, k, &attrs[k]);
    in->attrs = attrs;
    read_bodies(r, program, in);
    in->workspace = df_take(r, "a workspace", DF_WORKSPACE_APPENDED, INT64_MAX);
    in->dynamic = df_take(r, "whether shapes depend on data", 0, 1);
    in->poll = df_take(r, "whether to poll for signals", 0, 1);
    in->wave = (int)df_take(r, "a wave", 0, INT32_MAX);
    in->cost = df_take_double(r, "a cost");
    if (!(in->cost >= 0 && in->cost < INFINITY))
        df_reading_fail(r, DF_INVALID_ARGUMENT, "an instruction costs %g ns", in->cost);
}

static void read_program(df_reading *r, int k)
{
    df_model_program *p = &r->programs[k];
    const int n_args = df_take_count(r, "the number of arguments");
    const int n_results = df_take_count(r, "the number of results");
    const bool is_body = df_take(r, "whether it is a body", 0, 1);
    *p = (df_model_program){.n_args = n_args, .n_results = n_results};
    p->arena_bytes = df_take(r, "the size of the arena", 0, INT64_MAX);
    const int n_slots = df_take_count(r, "the number of slots");
    df_slot *slots = df_reading_alloc(r, n_slots, sizeof *slots);
    for (int i = 0; i < n_slots && r->status == DF_OK; i++) read_slot(r, &slots[i]);
    p->n_slots = n_slots;
    p->slots = slots;
    const int n = df_take_count(r, "the number of instructions");
    df_model_instruction *instructions = df_reading_alloc(r, n, sizeof *instructions);
    for (int i = 0; i < n && r->status == DF_OK; i++) read_instruction(r, k, &instructions[i]);
    p->n_instructions = n;
    p->instructions = instructions;
    if (is_body) p->returned = read_numbers(r, "the slot of a result", n_results, n_slots);
}

void df_read_programs(df_reading *r)
{
    const int n = df_take_count(r, "the number of programs");
    r->programs = df_reading_alloc(r, n, sizeof *r->programs);
    r->depths = df_reading_alloc(r, n, sizeof *r->depths);
    r->owned = df_reading_alloc(r, n, sizeof *r->owned);
    r->n_programs = n;
    for (int k = 0; k < n && r->status == DF_OK; k++) read_program(r, k);
}
