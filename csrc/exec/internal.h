/* Internal structures of exec/: programs, frames and prepared instructions. Only files of this
 * folder include it.
 *
 * program.c checks and copies the parts, frame_pool.c allocates frames, run.c executes them,
 * bodies.c runs the bodies of instructions, resolved.c the instructions whose shapes depend on
 * data. A program is immutable once built, except for its spare frames and the compiled code of
 * clusters; all state of a run is in its frame. */
#ifndef DF_EXEC_INTERNAL_H
#define DF_EXEC_INTERNAL_H

#include "exec/program.h"
#include "op/tile.h"

#define DF_SPARE_FRAMES 4                  /* unused frames that a program retains */
#define DF_OWN_ARENA ((int64_t)16 << 10)   /* bytes; a larger arena is scratch memory of the run */
#define DF_PARKED_BYTES ((int64_t)16 << 10) /* bytes; a larger buffer is released after its last
                                             * use */

/* A slot whose data pointer is set for each run: `offset` bytes into argument or result `index`. */
typedef struct {
    int slot, index;
    int64_t offset;
} df_patch;

/* A program point: the first instruction that writes a result which the run allocates, or the last
 * one that reads an argument which the run releases. */
typedef struct {
    int instruction, index; /* of an argument or a result */
    int64_t bytes;
} df_live_point;

/* A prepared instruction. */
typedef struct {
    df_status (*run)(const df_call *call, df_error *err);
    df_tile_fn tile; /* called instead of run if the operands are short and have one shape */
    const df_op *op;
    bool simple; /* runs alone, without polling or donated buffers */
    int64_t size; /* elements of output 0, if `tile` is set */
    bool dynamic, poll;
    int resolved; /* index of its df_resolved in a frame; -1: shapes and attributes are fixed */
    bool retains; /* output 0 may be a view that shares the buffer of input 0 */
    bool borrows; /* output 0 may be a view into input 0 if input 0 has no buffer */
    int n_in, n_out;
    const int *in, *out; /* slots */
    const df_attr *attrs;
    int64_t workspace; /* offset in the arena, or -1 */
    int64_t workspace_bytes; /* at that offset */
    void *prepared;
    int n_bodies, first_body; /* indices into df_program.bodies */
    int n_wave; /* length of the rest of the wave, this one included; 1: it runs alone */
    int n_frees;
    const int *frees; /* dynamic slots whose last reader this is */
    double cost;
} df_exec_instruction;

/* A body of an instruction. */
typedef struct {
    df_program *program;
    int first; /* index of its first instruction in the program's numbering, see df_program_new */
} df_body;

/* An asynchronous operation: the instruction that starts it and the one that waits for it. */
typedef struct {
    int start, wait; /* indices; wait = n_instructions until it is found */
} df_async_pair;

struct df_program {
    int n_slots, n_instructions, n_args, n_results, n_arg_patches, n_result_patches, n_dynamic;
    int n_operands, n_bodies;
    int size; /* instructions, including those of bodies */
    double cost; /* estimated ns of a run without bodies */
    bool plain;  /* all instructions are simple and no slot is dynamic */
    int n_resolved;        /* instructions that are resolved during a run */
    bool resolves_inside;  /* the program or one of its bodies has such an instruction */
    int64_t arena_bytes;
    df_slot *slots;
    df_exec_instruction *instructions;
    df_patch *patches; /* of arguments, then of results */
    int *dynamic;      /* dynamic slots, sorted by the instruction that frees them */
    int n_freed;       /* the first n_freed are freed during a run; the others are returned */
    int *maker;        /* by dynamic slot: the instruction that writes it */
    int *last_read;    /* by slot: the last instruction that reads it, or -1 */
    bool *shared;      /* by arena slot: written twice, or read through another slot */
    int *operands;     /* slots of all instructions: inputs, then outputs of each */
    int64_t *dims;     /* shapes of all slots */
    df_attr *attrs;
    int64_t *lists;    /* of all attributes */
    df_body *bodies;   /* of all instructions, consecutively */
    struct df_body_type *types; /* of `bodies` */
    bool *written;     /* by argument: a run writes it */
    int64_t *arg_bytes; /* by argument: end of the furthest slot in it; -1: a slot has unknown
                         * size */
    bool unsized;       /* some slot of an argument has an unknown shape */
    int *returned;     /* by result: its slot; NULL: not a body */
    df_tensor *returns; /* by result: its dtype and shape; NULL: not a body */
    df_live_point *begins, *ends; /* first writers of results, last readers of arguments */
    int n_begins, n_ends;
    df_async_pair *pairs;  /* in the order of their start instructions */
    int n_pairs, max_outstanding; /* number of pairs; including those of bodies */
    int *aliased_input;  /* by result: the argument whose memory it reuses, or -1 */
    _Atomic(df_frame *) spare[DF_SPARE_FRAMES];
};

/* The callback context through which an op runs the bodies of its instruction. */
typedef struct {
    df_frame *owner;
    int instruction;
    df_bodies bodies;
} df_driver;

/* An instruction of a frame whose shapes or attributes are known only during a run. Inference and
 * planning are skipped if all inputs of unknown shape have the same shapes as in the previous run
 * and, for an op that applies another (`apply`), the attribute values are equal too. */
typedef struct {
    df_frame *frame;
    int instruction;
    df_call call;      /* the call to run: of the instruction, or of the op that it applies */
    df_attr *attrs;    /* attributes of the applied op; their lists are in `words` */
    int64_t *words;
    int *varying;      /* indices of the inputs of unknown shape */
    int n_varying;
    int64_t *seen;     /* dimensions of these inputs, then values, in the previous run */
    int64_t n_values;
    bool comparable;   /* `seen` holds everything that infer depends on */
    bool known;        /* the outputs have the shapes inferred for `seen` */
    bool viewed;       /* output 0 points into memory of input 0 */
    int64_t offset;    /* of output 0 in input 0, in bytes; -1: not a view */
    int64_t n_hits;    /* consecutive runs without inference */
    df_tile_fn tile;   /* computes the whole call, or NULL */
    df_reduce_fn reduce; /* same, for a reduction to one element */
    int64_t bytes;     /* size of the workspace; -1: not computed yet */
    void *prepared;    /* by the op's prepare, for `seen` */
    df_buffer *workspace;
} df_resolved;

/* A slot of a repeated body whose data pointer changes with the iteration: in iteration t, *data is
 * at[t % 2] + t * step. */
typedef struct {
    void **data;
    char *at[2];
    int64_t step;
} df_strided_pointer;

/* State shared by a run and the runs of bodies inside it. */
typedef struct {
    const df_run *run;
    int64_t next_poll; /* earliest time of the next poll, ns on the monotonic clock */
    double since_poll; /* estimated ns of work in bodies since the last poll */
    int failed;
} df_run_state;

struct df_frame {
    df_buffer *arena; /* owned, or scratch memory of this run; NULL in the frame of a body */
    char *base;       /* of the arena; tensors and calls point into it */
    df_tensor *tensors; /* by slot */
    df_call *calls;     /* by instruction */
    df_tensor **operands;
    df_frame **inner;   /* by body */
    df_driver *drivers; /* by instruction; NULL if no instruction has bodies */
    df_resolved *resolved; /* by df_exec_instruction.resolved */
    /* in a body: one entry per patch, for df_bodies.repeat */
    df_strided_pointer *strided_pointers;
    const df_program *program;
    df_run_state *run_state; /* valid during a run */
    int64_t next_poll;  /* carried from run to run, see df_program_run */
    int first;          /* in a body: index of its first instruction in the numbering of the run */
    bool outstanding;   /* the run failed with asynchronous operations outstanding */
};

static inline bool df_run_is_stopped(const df_run *run)
{
    return run->stop && atomic_load_explicit(run->stop, memory_order_relaxed);
}

/* Size of a slot, which was checked for overflow; -1 if its shape is not known. */
static inline int64_t df_slot_bytes(const df_slot *s)
{
    int64_t n = df_dtypes[s->dtype].bytes;
    for (int d = 0; d < s->ndim; d++) {
        if (s->shape[d] < 0) return -1;
        n *= s->shape[d];
    }
    return n;
}

/* True if an output may reuse the memory of input k. */
static inline bool df_may_alias(const df_op *op, int k)
{
    return op->kind == DF_ELEMENTWISE || (op->may_alias >> (k < 31 ? k : 31) & 1);
}

/* The position in the memory of output 0 of the next input of an op that joins its inputs. */
typedef struct {
    const df_slot *whole; /* NULL: inputs may not be there */
    int64_t at;
} df_join_position;

static inline df_join_position df_join_begin(const df_op *op, const df_attr *attrs,
                                             const df_slot *whole)
{
    const int64_t axis = op->joins ? attrs[0].i + (attrs[0].i < 0 ? whole->ndim : 0) : -1;
    bool is_consecutive = axis >= 0 && axis < whole->ndim &&
                          (whole->kind == DF_SLOT_ARENA || whole->kind == DF_SLOT_RESULT);
    for (int64_t d = 0; is_consecutive && d < axis; d++) is_consecutive = whole->shape[d] == 1;
    return (df_join_position){is_consecutive ? whole : NULL, 0};
}

/* True if `s`, the next input, is at its position. */
static inline bool df_join_next(df_join_position *j, const df_slot *s)
{
    const int64_t bytes = df_slot_bytes(s), at = j->at;
    if (j->whole && (bytes < 0 || !df_add_size(at, bytes, &j->at))) j->whole = NULL;
    return j->whole && s->kind == j->whole->kind && s->offset == j->whole->offset + at &&
           (s->kind == DF_SLOT_ARENA || s->index == j->whole->index);
}

/* True if an instruction writes input k. */
static inline bool df_writes_input(const df_instruction *in, int k)
{
    if (k < 32 && in->op->writes >> k & 1) return true;
    for (int b = 0; b < in->n_bodies; b++)
        if (df_program_writes(in->bodies[b], k)) return true;
    return false;
}

/* Same, for a prepared instruction. */
static inline bool df_exec_writes_input(const df_program *p, const df_exec_instruction *s, int k)
{
    if (k < 32 && s->op->writes >> k & 1) return true;
    for (int b = 0; b < s->n_bodies; b++)
        if (df_program_writes(p->bodies[s->first_body + b].program, k)) return true;
    return false;
}

/* Records the last reader of each argument and the first writer of each result of at least `least`
 * bytes (df_donation in program.h), and clears `simple` on these instructions. Returns false if out
 * of memory. */
bool df_program_find_donations(df_program *p, int64_t least);

/* Matches each asynchronous start with its wait; fails unless it has exactly one. */
df_status df_program_match_async(df_program *p, int *failed, df_error *err);
/* Appends the handles of operations that were outstanding when a run failed at instruction
 * `failed`. */
void df_frame_collect_outstanding(const df_program *p, df_frame *frame, int failed);

/* Checks alignment and overlap of the slots. The slots and operands must have been checked
 * before. */
df_status df_program_check_memory(const df_program_parts *parts, int *failed, df_error *err);
df_status df_program_check_workspace(const df_slot *slots, const df_exec_instruction *s,
                                     int64_t bytes,
                                     int64_t arena_bytes, df_error *err);
/* Checks that the workspaces of a wave overlap no memory that its instructions access. */
df_status df_program_check_waves(const df_program *p, int *failed, df_error *err);
/* Checks that all memory is written before it is read or returned. */
df_status df_program_check_initialized(const df_program *p, int *failed, df_error *err);

/* Copies the bodies of all instructions, whose numbers of arguments and results have been checked,
 * and builds the df_body_type that their op gets. */
df_status df_program_take_bodies(df_program *p, const df_program_parts *parts, df_error *err);
/* Allocates the drivers of a frame and the frames of bodies. Returns false if out of memory. */
bool df_frame_make_drivers(const df_program *p, df_frame *frame);
/* Points the frames of bodies to their memory: in the workspace, after the op's own part. */
void df_frame_point_bodies(const df_program *p, df_frame *frame, const df_exec_instruction *s,
                           const df_call *call);
/* Workspace of an instruction in bytes, including its bodies; -1 if it exceeds 64 bits. */
int64_t df_program_workspace(const df_program *p, const df_exec_instruction *s,
                             const df_call *call);
/* Sets all pointers into the arena of a frame to `base`. */
void df_frame_point(const df_program *p, df_frame *frame, char *base);
/* Executes the instructions of a frame whose arguments and results are set. */
df_status df_frame_run(df_program *p, df_frame *frame, df_error *err);
/* True if outstanding asynchronous operations may still access memory of the run. */
static inline bool df_frame_is_outstanding(const df_frame *frame)
{
    const df_outstanding *left = frame->run_state->run->outstanding;
    return left && left->n;
}
/* Returns true if the caller's poll requests a stop. Rate-limited, as a poll may take a
 * microsecond. */
bool df_run_should_stop(df_run_state *run_state);

#define DF_DIRECT_ELEMENTS 8192 /* kernels may use threads for more */
/* The tile function that computes a whole call on short operands, or NULL. All operands have one
 * shape, or one of two is a single element. Skipping the tile loader saves 20 of 25 ns. */
df_tile_fn df_whole_tile(const df_call *call);

/* Decides which outputs may be views (`retains`, `borrows`). Returns false if out of memory. */
bool df_program_find_views(df_program *p);
/* Allocates the df_resolved of a frame. Returns false if out of memory. */
bool df_frame_make_resolved(const df_program *p, df_frame *frame);
void df_frame_free_resolved(const df_program *p, df_frame *frame);
/* Runs an instruction that is resolved during the run; `call` is the frame's call for it. */
df_status df_resolved_run(const df_call *call, df_error *err);
/* Called after the last read of a dynamic slot in a run. A small buffer is retained for the next
 * run. */
void df_frame_park(const df_program *p, df_frame *frame, int slot);
/* Releases the buffers of dynamic slots and the workspaces retained for the next run. */
void df_frame_drop_dynamic(const df_program *p, df_frame *frame);
/* Releases the buffer of a tensor; dtype and shape stay. */
static inline void df_tensor_drop(df_tensor *t)
{
    df_buffer_release(t->buffer);
    t->buffer = NULL;
    t->data = NULL;
}

/* A new frame with the shapes of slots and the data of constants, but without an arena. */
df_frame *df_frame_new(const df_program *p);
void df_frame_free(const df_program *p, df_frame *frame);
/* Restores the planned shape of a slot. Cannot fail for a shape that was set before. */
df_status df_frame_describe(const df_program *p, df_frame *frame, int slot, df_error *err);

#endif
