/* A program: a flat list of instructions over planned memory, executed in one call without Python.
 * Built by _core/program.pxi, model/ and file/; the builder decides order, memory layout and waves.
 * A program accesses ops only through their records and knows nothing about graphs.
 *
 * The tensors of a program are slots. Their shapes are known when it is built, with two exceptions:
 * shapes that depend on data are inferred when their instruction runs (a dynamic instruction), and
 * shapes of arguments may be set per run; shapes derived from these are dynamic as well.
 *
 * An instruction may own programs, called bodies, which its op runs any number of times. A body has
 * one argument per input of the instruction and one result per output. Its memory is part of the
 * workspace of the instruction, after the op's own part. */
#ifndef DF_PROGRAM_H
#define DF_PROGRAM_H

#include "op/op.h"

#include <stdatomic.h>

typedef enum {
    DF_SLOT_ARENA,    /* at `offset` in the arena of the run */
    DF_SLOT_CONSTANT, /* at `data`, which the owner of the program keeps alive */
    DF_SLOT_ARG,      /* `offset` bytes into argument `index` of the run */
    DF_SLOT_RESULT,   /* `offset` bytes into result `index`, memory of the caller */
    DF_SLOT_DYNAMIC   /* allocated when its instruction runs; freed after instruction `last_use` */
} df_slot_kind;

typedef struct {
    df_slot_kind kind;
    df_dtype dtype;
    int ndim;
    const int64_t *shape; /* -1 only in DYNAMIC slots, or in an ARG whose shape the caller sets
                           * before each run */
    int64_t offset;
    int index;
    const void *data;
    int last_use; /* of a DYNAMIC slot: an instruction; n_instructions: the caller takes it */
} df_slot;

/* A workspace appended to the planned arena at load. Its size is what the op requests then: another
 * SIMD level may need more than the arena was planned for. */
#define DF_WORKSPACE_APPENDED (-2)

typedef struct df_program df_program;

typedef struct {
    const df_op *op;
    int n_in, n_out, n_attrs, n_bodies;
    const int *in, *out; /* slots */
    const df_attr *attrs;
    df_program *const *bodies; /* kept alive by the owner of the program; each has one owner */
    int64_t workspace; /* offset in the arena, or DF_WORKSPACE_APPENDED; -1: none, or, if dynamic,
                        * allocated during the run */
    bool dynamic;      /* infer and allocate during the run */
    bool poll;         /* call the caller's `poll` before it: it follows a long stretch of work */
    /* Instructions of one wave are consecutive and independent of each other, so they may run in
     * parallel; 0: runs alone. `cost` (ns) decides whether they do. */
    int wave;
    double cost;
} df_instruction;

typedef struct {
    int n_slots, n_instructions, n_args, n_results;
    const df_slot *slots;
    const df_instruction *instructions;
    int64_t arena_bytes;
    /* Of a body: the slot of each result: a RESULT slot, a DYNAMIC slot that is returned, or an ARG
     * slot whose memory the result reuses. */
    const int *returned;
    /* Smallest argument or result that df_donation applies to, in bytes; 0: none. */
    int64_t donation_min_bytes;
} df_program_parts;

typedef struct df_frame df_frame; /* state of one run: arena and tensors */

/* Copies the parts (not the data of constants), checks them and prepares every static instruction.
 * The prepared state is shared by all runs, which only read it. If an instruction is at fault,
 * `failed` is its index, otherwise -1.
 *
 * Numbering of instructions that includes bodies: first the program's own, then for each
 * instruction in order those of its bodies, each followed by the bodies inside it.
 *
 * A static instruction has only slots of known shape, which must equal what its op infers, and no
 * dynamic output. A dynamic instruction may have outputs of any kind; inferred shapes are checked
 * against the known dimensions of their slots. An instruction may read a slot of the arena or of a
 * result only if one earlier write covers all of its bytes and nothing has overwritten them or used
 * them as workspace since. Each result must be covered by one write. Effects (`op->effect`) never
 * run in parallel with other instructions. Each asynchronous start has exactly one wait, whose
 * operands include every buffer that the operation reads or writes. */
df_status df_program_new(const df_program_parts *parts, df_program **out, int *failed,
                         df_error *err);
void df_program_free(df_program *p);
/* True if the run allocates the memory of a result (df_donation) instead of the caller. */
bool df_program_allocates_result(const df_program *p, int result);
/* Number of instructions, including those of bodies. */
int df_program_size(const df_program *p);
/* Upper bound on outstanding asynchronous operations: start instructions, including those of
 * bodies. */
int df_program_max_outstanding(const df_program *p);
/* Switches an instruction (not one of a body) to compiled code through the record's `compile`. Safe
 * while other threads run the program. */
df_status df_program_compile(df_program *p, int instruction, df_ints layout, df_compiled_fn fn,
                             df_error *err);
/* Bytes of arena of a body, to be added to the workspace of its instruction. */
int64_t df_program_arena(const df_program *p);
/* True if a run writes argument `arg`. */
bool df_program_writes(const df_program *p, int arg);

/* Bytes of argument `arg` that a run accesses; -1: depends on the argument. */
int64_t df_program_reach(const df_program *p, int arg);

/* Profile of a run. `ns`: time of each instruction, added to the previous value; `start`: first
 * start time on the monotonic clock. Arrays of df_program_size elements, or NULL. */
typedef struct {
    int64_t *ns;
    int64_t *start;
} df_profile;

/* Buffers that the run owns and frees early: an argument after its last reader, so that its memory
 * is free before later results are allocated.
 *
 * `args`: a reference to the buffer of each argument, or NULL; an argument of at least
 * `donation_min_bytes` is released after the last instruction that reads it. `results`: NULLs,
 * replaced by the buffer of each result that the run allocates (df_program_allocates_result) before
 * its first writer. References that remain in both arrays belong to the caller, also if the run
 * fails. */
typedef struct {
    df_buffer **args;
    df_buffer **results;
} df_donation;

/* Handles of the asynchronous operations that were outstanding when the run failed; `handles` has
 * room for df_program_max_outstanding of them. They still access memory of the run, so the caller
 * must keep frame, arguments and results alive until all have completed. */
typedef struct {
    int64_t *handles;
    int n;
} df_outstanding;

typedef struct {
    void *const *args;    /* n_args */
    void *const *results; /* n_results */
    bool (*poll)(void *context); /* returns true to stop with DF_CANCELLED; may be NULL */
    void *context;
    /* Read before each instruction and each iteration of a loop: true stops with DF_CANCELLED. May
     * be NULL. */
    const atomic_bool *stop;
    const df_profile *profile;
    bool check_numerics; /* fail at the first instruction that produces a NaN or an infinity */
    const df_donation *donation; /* NULL: the caller owns all memory. Otherwise results with
                                  * df_program_allocates_result are NULL */
    df_outstanding *outstanding;  /* with n = 0; may be NULL if df_program_max_outstanding is 0 */
} df_run;

/* Takes a frame from a small pool of the program; concurrent runs use different frames. Returns
 * NULL if out of memory. */
df_frame *df_program_enter(df_program *p);
/* Stops at the first instruction that fails and sets `failed` to its index. Other instructions of
 * its wave may have run. The failed instruction has not modified an argument, because ops with
 * `writes` check before they write; only `check_numerics` fails after the write. The program stays
 * usable. `poll` is called on the caller's thread, at most every 50 ms. */
df_status df_program_run(df_program *p, df_frame *frame, const df_run *run, int *failed,
                         df_error *err);
/* The tensor of a slot after a run. The caller may read it, or take it over if it is a DYNAMIC slot
 * that is returned. */
df_tensor *df_frame_tensor(df_frame *frame, int slot);
void df_program_leave(df_program *p, df_frame *frame);

#endif
