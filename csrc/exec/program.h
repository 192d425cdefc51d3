/* A program: a flat list of instructions over planned memory, run in one call without Python.
 * Knows ops only by their records, and nothing of graphs: whoever builds it decides order, memory
 * and what may run side by side.
 *
 * Tensors of a program are slots. Shapes are known when it is built, except those that depend on
 * data, which are inferred when their instruction runs (dynamic), those that come with an argument,
 * and all that follow from these.
 *
 * An instruction may own programs, its bodies, which its op runs as often as it wants to. A body
 * has an argument for each input of the instruction, a result for each output; what it needs lies
 * in the workspace of the instruction, behind what the op itself needs. */
#ifndef DF_PROGRAM_H
#define DF_PROGRAM_H

#include "op/op.h"

#include <stdatomic.h>

typedef enum {
    DF_SLOT_ARENA,    /* at `offset` in the arena of the run */
    DF_SLOT_CONSTANT, /* in memory that the program's owner keeps alive: `data` */
    DF_SLOT_ARG,      /* `offset` bytes into argument `index` of the run */
    DF_SLOT_RESULT,   /* `offset` bytes into result `index`, memory of the caller */
    DF_SLOT_DYNAMIC   /* allocated when its instruction runs; freed after instruction `last_use` */
} df_slot_kind;

typedef struct {
    df_slot_kind kind;
    df_dtype dtype;
    int ndim;
    const int64_t *shape; /* -1 only if DYNAMIC, or ARG: set by the caller before each run */
    int64_t offset;
    int index;
    const void *data;
    int last_use; /* DYNAMIC: an instruction; n_instructions: kept, the caller takes it */
} df_slot;

/* A workspace behind the arena that was planned, of the size that the op asks for: another SIMD
 * level may want more than that for which the arena was planned. */
#define DF_BEHIND (-2)

typedef struct df_program df_program;

typedef struct {
    const df_op *op;
    int n_in, n_out, n_attrs, n_bodies;
    const int *in, *out; /* slots */
    const df_attr *attrs;
    df_program *const *bodies; /* kept alive by the owner of the program; each has one owner */
    int64_t workspace; /* offset in the arena, or DF_BEHIND; -1: none, or, dynamic, allocated when
                        * it runs */
    bool dynamic;      /* infer and allocate when it runs */
    bool poll;         /* the caller's `poll` is called before it, after a long stretch of work */
    /* Instructions of one wave are consecutive, do not depend on each other, and may run side by
     * side; 0: alone. `cost` in ns decides whether they do. */
    int wave;
    double cost;
} df_instruction;

typedef struct {
    int n_slots, n_instructions, n_args, n_results;
    const df_slot *slots;
    const df_instruction *instructions;
    int64_t arena_bytes;
    /* Of a body: by result, the slot that it is, a RESULT or a DYNAMIC one that is kept. */
    const int *returned;
    /* Arguments and results of at least so many bytes may be lent, see df_loan; 0: none. */
    int64_t lent_bytes;
} df_program_parts;

typedef struct df_frame df_frame; /* what one run needs of its own: arena and tensors */

/* Copies the parts (not the data of constants), checks them and prepares every static instruction:
 * what it prepared is shared by all runs and only read. On failure `failed` is the instruction, or
 * -1.
 *
 * Where one instruction of many programs is named, its own are counted first, then those of the
 * bodies of its instructions, in their order, each with all that is inside it.
 *
 * A static instruction has only slots of known shapes, which must be what its op infers, and no
 * dynamic output. A dynamic one may have outputs of any kind; what it infers is checked against
 * what is known of its slots. What an instruction reads, of the arena or a result, was made before
 * it as one value, of which no byte has been made anew since, or used as a workspace; results are
 * made as a whole. Effects (`op->effect`) are never run beside others. What is started is waited
 * for by one instruction, which has all that it reads and fills among its operands. */
df_status df_program_new(const df_program_parts *parts, df_program **out, int *failed,
                         df_error *err);
void df_program_free(df_program *p);
/* Whether the memory of a result may be lent. */
bool df_program_lends(const df_program *p, int result);
/* Instructions, with those of bodies. */
int df_program_size(const df_program *p);
/* How much, at most, goes on beside a run: instructions that start something, with those of
 * bodies. */
int df_program_pairs(const df_program *p);
/* Lets an instruction, not one of a body, run by compiled code from now on (the record's
 * `compile`), while others may be running the program. */
df_status df_program_compile(df_program *p, int instruction, df_ints layout, df_compiled_fn fn,
                             df_error *err);
/* What a body needs in memory, to be added to the workspace of its instruction. */
int64_t df_program_arena(const df_program *p);
/* Whether a run writes argument `arg`. */
bool df_program_writes(const df_program *p, int arg);

/* How many bytes of argument `arg` a run looks at; -1: that depends on the argument. */
int64_t df_program_reach(const df_program *p, int arg);

/* Time of each instruction of a run in ns, added to what is there; start of the first run's
 * instructions on the monotonic clock. Arrays of df_program_size, NULL: not asked for. */
typedef struct {
    int64_t *ns;
    int64_t *start;
} df_profile;

/* Memory that a run holds only as long as it needs it, so that what it is given is gone before all
 * it makes is there. `args`: a reference to the memory of each argument, or NULL; one that may be
 * lent is released after the last instruction that reads it. `results`: NULLs; where `made` is the
 * memory of one that may be lent, which is allocated for the first instruction that writes it.
 * What is left in both is the caller's, also if the run fails. */
typedef struct {
    df_buffer **args;
    df_buffer **results;
} df_loan;

/* What a run that failed has started and not waited for: its tickets, with room for
 * df_program_pairs numbers. Until that is over it reads and fills memory of the run: the caller
 * leaves the frame, and lets arguments and results go, after it. */
typedef struct {
    int64_t *tickets;
    int n;
} df_left;

typedef struct {
    void *const *args;    /* n_args */
    void *const *results; /* n_results */
    bool (*poll)(void *context); /* true: stop with DF_CANCELLED; NULL: never asked */
    void *context;
    /* Looked at before each instruction, and each turn of a loop: true stops with DF_CANCELLED.
     * NULL: never. */
    const atomic_bool *stop;
    const df_profile *profile;
    bool check_numerics; /* stop at the first instruction that makes a NaN or an infinity */
    const df_loan *loan; /* NULL: all memory is there from begin to end. Else results that may be
                          * lent are NULL */
    df_left *left;        /* with n 0; NULL: of a program that starts nothing */
} df_run;

/* Frames come from a small pool of the program: runs in several threads each take one. NULL: no
 * memory. */
df_frame *df_program_enter(df_program *p);
/* Stops at the first instruction that fails: its index is in `failed`. Others of its wave may have
 * run. The instruction that failed has written no argument, because ops with `writes` check before
 * they write; only `check_numerics` fails after the writing. The program stays usable.
 * `poll` is called at most every 50 ms, on the thread of the caller. */
df_status df_program_run(df_program *p, df_frame *frame, const df_run *run, int *failed,
                         df_error *err);
/* The tensor of a slot after a run, to be looked at or, where DYNAMIC and kept, taken over. */
df_tensor *df_frame_tensor(df_frame *frame, int slot);
void df_program_leave(df_program *p, df_frame *frame);

#endif
