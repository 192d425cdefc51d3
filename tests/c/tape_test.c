/* Sets and maps of ids, and the records of a tape. */
#include "tape/tape.h"

#include "check.h"

#include <stdlib.h>
#include <string.h>

#define N_IDS 5000

static uint64_t random_state = 7;

static uint64_t draw(uint64_t below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % below;
}

/* Compared with a plain array, with more removals than a probe sequence is long. */
static void test_map(void)
{
    static char marks[N_IDS];
    bool there[N_IDS] = {false};
    df_id_map map = {0};
    int64_t n = 0;
    CHECK(df_id_map_find(&map, 1) == -1);
    for (int step = 0; step < 40000; step++) {
        uint64_t id = 1 + draw(step < 20000 ? N_IDS - 1 : 40);
        int64_t at = df_id_map_find(&map, id);
        CHECK((at >= 0) == there[id]);
        CHECK(at < 0 || map.values[at] == marks + id);
        if (at >= 0) {
            df_id_map_remove(&map, at);
        } else {
            at = df_id_map_put(&map, id);
            CHECK(at >= 0 && map.values[at] == NULL);
            map.values[at] = marks + id;
            CHECK(df_id_map_put(&map, id) == at && map.values[at] == marks + id);
        }
        there[id] = !there[id];
        n += there[id] ? 1 : -1;
        CHECK(map.n == n && map.n * 2 <= map.n_slots);
    }
    for (uint64_t id = 1; id < N_IDS; id++) CHECK((df_id_map_find(&map, id) >= 0) == there[id]);
    df_id_map_free(&map);
    CHECK(map.n == 0 && df_id_map_find(&map, 1) == -1);
}

static void test_set(void)
{
    bool there[N_IDS] = {false};
    df_id_set set = {.base = N_IDS / 2}; /* half of them are older than the set */
    for (int step = 0; step < N_IDS / 2; step++) {
        uint64_t id = 1 + draw(N_IDS - 1);
        CHECK(df_id_set_has(&set, id) == there[id]);
        CHECK(df_id_set_put(&set, id) && df_id_set_put(&set, id));
        there[id] = true;
    }
    for (uint64_t id = 1; id < N_IDS; id++) CHECK(df_id_set_has(&set, id) == there[id]);
    df_id_set_free(&set);
    CHECK(!df_id_set_has(&set, N_IDS - 1) && set.base == N_IDS / 2);
}

/* A few ids far apart are hashed: the bit set stays small. */
static void test_far_apart(void)
{
    df_id_set set = {.base = 1};
    for (uint64_t k = 1; k <= 64; k++) CHECK(df_id_set_put(&set, k << 40));
    for (uint64_t k = 1; k <= 64; k++) {
        CHECK(df_id_set_has(&set, k << 40));
        CHECK(!df_id_set_has(&set, (k << 40) + 1));
    }
    CHECK(set.n_bits <= 4096);
    df_id_set_free(&set);
}

/* Appends `out` = op(`in`), both described with shape (rows, 3). */
static void append(df_tape *tape, uint64_t in, uint64_t out, int64_t rows)
{
    df_tensor t;
    df_error err;
    df_tensor_init(&t);
    CHECK(df_tensor_set(&t, DF_F32, 2, (int64_t[]){rows, 3}, "test", &err) == DF_OK);
    df_tape_record *e = df_tape_reserve(tape, 1, 1, 4);
    CHECK(e != NULL && e->n_in == 1 && e->n_out == 1 && !e->may_lead_further);
    e->op = tape;
    int64_t *dims = df_tape_record_dims(e);
    int64_t *next = df_operand_describe(&e->operands[0], &t, NULL, dims);
    CHECK(next == dims + 2);
    int64_t *end = df_operand_describe(&e->operands[1], &t, &e->operands[0], next);
    CHECK(end == next && e->operands[1].stored == dims); /* shared */
    e->operands[0].id = in;
    e->operands[1].id = out;
    df_tape_append(tape, e, end);
    df_tensor_clear(&t);
}

static void test_log(void)
{
    df_tape tape = {.ids.base = 1};
    for (int round = 0; round < 2; round++) { /* the second reuses chunks of the first */
        for (int64_t k = 1; k <= 2000; k++) append(&tape, (uint64_t)k, (uint64_t)k + 1, k);
        CHECK(tape.n == 2000);
        int64_t k = 2000;
        for (const df_tape_record *e = tape.last; e; e = e->before, k--) {
            const int64_t *dims = e->operands[1].stored;
            CHECK(e->op == &tape && e->operands[1].id == (uint64_t)k + 1);
            CHECK(e->operands[1].spec && e->operands[1].ndim == 2 && dims[0] == k && dims[1] == 3);
        }
        CHECK(k == 0);
        while (tape.last) df_tape_drop(&tape);
        CHECK(tape.n == 0 && !tape.first && !tape.chunk);
    }
    df_tape_drop((append(&tape, 1, 2, 1), &tape));
    CHECK(!tape.first);
}

static void test_shapes_that_differ(void)
{
    df_tape tape = {0};
    df_tensor t;
    df_error err;
    df_tensor_init(&t);
    df_tape_record *e = df_tape_reserve(&tape, 2, 1, 3);
    int64_t *dims = df_tape_record_dims(e), *at = dims;
    CHECK(df_tensor_set(&t, DF_F64, 1, (int64_t[]){5}, "test", &err) == DF_OK);
    at = df_operand_describe(&e->operands[0], &t, NULL, at);
    CHECK(df_tensor_set(&t, DF_I8, 2, (int64_t[]){5, 1}, "test", &err) == DF_OK);
    at = df_operand_describe(&e->operands[1], &t, &e->operands[0], at);
    CHECK(df_tensor_set(&t, DF_I8, 0, NULL, "test", &err) == DF_OK);
    at = df_operand_describe(&e->operands[2], &t, &e->operands[1], at);
    CHECK(at == dims + 3 && dims[0] == 5 && dims[1] == 5 && dims[2] == 1);
    CHECK(e->operands[0].dtype == DF_F64 && e->operands[2].ndim == 0);
    df_tape_append(&tape, e, at);
    df_tape_drop(&tape);
    df_tensor_clear(&t);
}

/* 1 -> 2 -> 3 ... and 10001 -> 10002 -> ..., over several chunks; one large record. */
static void test_reach(void)
{
    df_tape tape = {.ids.base = 1};
    df_id_set reach = {.base = 1};
    for (uint64_t k = 1; k < 1000; k++) {
        append(&tape, k, k + 1, 1);
        append(&tape, 10000 + k, 10001 + k, 2);
    }
    df_tape_record *e = df_tape_reserve(&tape, 1, 20000, 0); /* larger than a chunk */
    memset(e->operands, 0, 20001 * sizeof *e->operands);
    e->operands[0].id = 1000;
    e->operands[20000].id = 30000;
    df_tape_append(&tape, e, df_tape_record_dims(e));
    append(&tape, 30000, 30001, 1);
    CHECK(df_id_set_put(&reach, 500) && df_tape_mark_reachable(&tape, &reach));
    for (uint64_t k = 1; k <= 1000; k++) {
        CHECK(df_id_set_has(&reach, k) == (k >= 500));
        CHECK(!df_id_set_has(&reach, 10000 + k));
    }
    CHECK(df_id_set_has(&reach, 30001));
    df_id_set_free(&reach);
    while (tape.last) df_tape_drop(&tape);
}

/* An output propagates to the other outputs of a record only if may_lead_further is set. */
static void test_both_ways(void)
{
    for (int both = 0; both < 2; both++) {
        df_tape tape = {0};
        df_id_set reach = {.base = 1};
        df_id_map pending = {0};
        df_tape_record *e = df_tape_reserve(&tape, 1, 2, 0);
        memset(e->operands, 0, 3 * sizeof *e->operands);
        for (int k = 0; k < 3; k++) e->operands[k].id = (uint64_t)k + 1;
        e->may_lead_further = both;
        df_tape_append(&tape, e, df_tape_record_dims(e));
        CHECK(df_id_set_put(&reach, 2) && df_tape_mark_reachable(&tape, &reach));
        CHECK(df_id_set_has(&reach, 3) == both && !df_id_set_has(&reach, 1));
        CHECK(df_id_map_put(&pending, 1) >= 0 && !df_tape_record_has_cotangent(e, &pending));
        CHECK(df_id_map_put(&pending, 3) >= 0 && df_tape_record_has_cotangent(e, &pending));
        df_id_map_free(&pending);
        df_id_set_free(&reach);
        df_tape_drop(&tape);
    }
}

int main(void)
{
    test_map();
    test_set();
    test_far_apart();
    test_log();
    test_shapes_that_differ();
    test_reach();
    test_both_ways();
    return 0;
}
