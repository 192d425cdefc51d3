/* What a program and a frame are made of; known to this folder only.
 *
 * program.c checks and copies the parts, frame.c makes and lends frames, run.c
 * runs. */
#ifndef DF_EXEC_BODY_H
#define DF_EXEC_BODY_H

#include "exec/program.h"
#include "op/tile.h"

#define DF_SPARE_FRAMES 4                  /* frames kept for the next run */
#define DF_OWN_ARENA ((int64_t)16 << 10)   /* bytes; larger arenas are scratch memory of the run */
#define DF_PARKED_BYTES ((int64_t)16 << 10) /* a larger buffer is released after its last use */

/* A slot whose data a run supplies: `offset` bytes into argument or result `index`. */
typedef struct {
    int slot, index;
    int64_t offset;
} df_patch;

/* When memory that is lent begins or ends to be needed. */
typedef struct {
    int instruction, index; /* of an argument or a result */
    int64_t bytes;
} df_moment;

/* An instruction made ready. */
typedef struct {
    df_status (*run)(const df_call *call, df_error *err);
    df_tile_fn tile; /* instead of run, where operands are short and of one shape */
    const df_op *op;
    bool simple; /* just run it: alone, not polled */
    int64_t size; /* of output 0, where there is a tile function */
    bool dynamic, poll;
    int resolved; /* index of its df_resolved in a frame, -1: shapes and attributes are fixed */
    bool retains; /* as a view, output 0 may share the buffer of input 0 */
    bool borrows; /* as a view, output 0 may point into memory of input 0 that has no buffer */
    int n_in, n_out;
    const int *in, *out; /* slots */
    const df_attr *attrs;
    int64_t workspace; /* offset in the arena, or -1 */
    int64_t workspace_bytes; /* at that offset */
    void *prepared;
    int n_bodies, first_body; /* of the program's */
    int n_wave; /* instructions from this one on that may run side by side; 1: it stands alone */
    int n_frees;
    const int *frees; /* dynamic slots that nobody reads after it */
    double cost;
} df_ready;

/* A body of an instruction. */
typedef struct {
    df_program *program;
    int first; /* number of its first instruction among all of the program */
} df_body;

/* What starts something beside the program, and what waits for it. */
typedef struct {
    int start, wait; /* instructions */
} df_pair;

struct df_program {
    int n_slots, n_instructions, n_args, n_results, n_arg_patches, n_result_patches, n_dynamic;
    int n_operands, n_bodies;
    int size; /* instructions, with those of bodies */
    double cost; /* of its own instructions */
    bool plain;  /* all instructions are simple, and no slot is dynamic */
    int n_resolved;        /* instructions that are resolved in a run */
    bool resolves_inside;  /* it, or a body in it, has such an instruction */
    int64_t arena_bytes;
    df_slot *slots;
    df_ready *instructions;
    df_patch *patches; /* arguments', then results' */
    int *dynamic;      /* the dynamic slots, by the instruction that frees them */
    int n_freed;       /* of them; the others are kept */
    int *maker;        /* by dynamic slot: the instruction that makes it */
    int *last_read;    /* by slot: the last instruction that reads it, or -1 */
    bool *shared;      /* by slot of the arena: it is made twice, or read through another slot */
    int *operands;     /* slots of all instructions: inputs, outputs */
    int64_t *dims;     /* shapes of all slots */
    df_attr *attrs;
    int64_t *lists;    /* of all attributes */
    df_body *bodies;   /* of all instructions */
    struct df_body_type *types; /* of the same */
    bool *written;     /* by argument */
    int64_t *arg_bytes; /* by argument: how far slots reach into it, -1: one of unknown size */
    bool unsized;       /* slots of arguments have unknown shapes */
    int *returned;     /* by result: its slot, or NULL */
    df_tensor *returns; /* by result: its dtype and shape, or NULL */
    df_moment *begins, *ends; /* of lent results and arguments, by instruction */
    int n_begins, n_ends;
    df_pair *pairs;     /* by the instruction that starts */
    int n_pairs, n_pairs_inside; /* with those of bodies */
    int *stays;         /* by result: the argument in whose memory it is made, or -1 */
    _Atomic(df_frame *) spare[DF_SPARE_FRAMES];
};

/* What an op runs the bodies of its instruction by. */
typedef struct {
    df_frame *owner;
    int instruction;
    df_bodies bodies;
} df_driver;

/* An instruction of a frame whose shapes or attributes are known only in a run. The next run skips
 * inference and planning if all inputs of unknown shape have the shapes of the last run, and an op
 * that applies another (`apply`) has the same values. */
typedef struct {
    df_frame *frame;
    int instruction;
    df_call call;      /* what runs: the call of the instruction, or the application of its op */
    df_attr *attrs;    /* of the application; lists are in `words` */
    int64_t *words;
    int *varying;      /* inputs of unknown shape */
    int n_varying;
    int64_t *seen;     /* their dimensions, then values, in the last run */
    int64_t n_values;
    bool comparable;   /* `seen` determines all that infer depends on */
    bool known;        /* outputs are described for `seen` */
    bool viewed;       /* output 0 points into memory of input 0 */
    int64_t offset;    /* of output 0 in input 0, in bytes, -1: it is no view */
    int64_t n_hits;    /* runs that did not infer */
    df_tile_fn tile;   /* does all of the call, or NULL */
    df_reduce_fn reduce; /* the same, where all elements are reduced to one */
    int64_t bytes;     /* of workspace; -1: not asked yet */
    void *prepared;    /* by the op, for `seen` */
    df_buffer *workspace;
} df_resolved;

/* The memory of a slot that is elsewhere in each round. */
typedef struct {
    void **data;
    char *at[2];
    int64_t step;
} df_move;

/* What a run and those of bodies inside it share. */
typedef struct {
    const df_run *run;
    int64_t next_poll; /* ns on the monotonic clock */
    double since_poll; /* estimated ns of work in bodies */
    int failed;
} df_session;

struct df_frame {
    df_buffer *arena; /* its own, or scratch memory of this run; NULL: of a body */
    char *base;       /* of the arena that tensors and calls point into */
    df_tensor *tensors; /* by slot */
    df_call *calls;     /* by instruction */
    df_tensor **operands;
    df_frame **inner;   /* by body */
    df_driver *drivers; /* by instruction; NULL where no instruction has bodies */
    df_resolved *resolved; /* of instructions that are resolved in a run */
    df_move *moves;     /* of a body that is repeated; room for each patch */
    const df_program *program;
    df_session *session; /* while it runs */
    int64_t next_poll;  /* of the last session */
    int first;          /* of a body: the number of its first instruction in the session */
    bool left;          /* the run failed with something beside it that was not waited for */
};

static inline bool df_run_is_stopped(const df_run *run)
{
    return run->stop && atomic_load_explicit(run->stop, memory_order_relaxed);
}

/* Bytes of a slot, which were checked for overflow; -1 where its shape is not known. */
static inline int64_t df_slot_bytes(const df_slot *s)
{
    int64_t n = df_dtypes[s->dtype].bytes;
    for (int d = 0; d < s->ndim; d++) {
        if (s->shape[d] < 0) return -1;
        n *= s->shape[d];
    }
    return n;
}

/* Whether an output may lie in the memory of input k. */
static inline bool df_may_alias(const df_op *op, int k)
{
    return op->kind == DF_ELEMENTWISE || (op->may_alias >> (k < 31 ? k : 31) & 1);
}

/* Whether an instruction writes input k. */
static inline bool df_writes_input(const df_instruction *in, int k)
{
    if (k < 32 && in->op->writes >> k & 1) return true;
    for (int b = 0; b < in->n_bodies; b++)
        if (df_program_writes(in->bodies[b], k)) return true;
    return false;
}

/* The same of one made ready. */
static inline bool df_ready_writes_input(const df_program *p, const df_ready *s, int k)
{
    if (k < 32 && s->op->writes >> k & 1) return true;
    for (int b = 0; b < s->n_bodies; b++)
        if (df_program_writes(p->bodies[s->first_body + b].program, k)) return true;
    return false;
}

/* Notes when arguments and results of at least so many bytes are needed (program.h, df_loan), and
 * which instructions nothing but run; false when there is no memory. */
bool df_program_find_loans(df_program *p, int64_t least);

/* Finds what is started and what waits for it; each start has one wait, as program.h says. */
df_status df_program_find_pairs(df_program *p, int *failed, df_error *err);
/* Notes what a run that failed at an instruction has started and not waited for. */
void df_frame_leave_pairs(const df_program *p, df_frame *frame, int failed);

/* Whether the parts lie in memory as a run relies on; slots and operands have been checked. */
df_status df_program_check_memory(const df_program_parts *parts, int *failed, df_error *err);
df_status df_program_check_workspace(const df_slot *slots, const df_ready *s, int64_t bytes,
                                     int64_t arena_bytes, df_error *err);
/* Whether the workspaces of each wave are apart from all that its instructions touch. */
df_status df_program_check_waves(const df_program *p, int *failed, df_error *err);
/* Whether all that is read, and returned, has been made before. */
df_status df_program_check_assigned(const df_program *p, int *failed, df_error *err);

/* Records the bodies of all instructions, which have been checked for their numbers of arguments
 * and results, and what a program that is a body looks like to an op. */
df_status df_program_take_bodies(df_program *p, const df_program_parts *parts, df_error *err);
/* Makes the drivers of a frame and the frames of bodies; false: no memory. */
bool df_frame_make_drivers(const df_program *p, df_frame *frame);
/* Gives the frames of bodies their memory: behind what the op itself needs of the workspace. */
void df_frame_point_bodies(const df_program *p, df_frame *frame, const df_ready *s,
                           const df_call *call);
/* Bytes that an instruction wants, with those of its bodies; -1 where they do not fit 64 bits. */
int64_t df_program_workspace(const df_program *p, const df_ready *s, const df_call *call);
/* Points all that lies in the arena of a frame to where that is now. */
void df_frame_point(const df_program *p, df_frame *frame, char *base);
/* Runs the instructions of a frame whose arguments and results are set. */
df_status df_frame_run(df_program *p, df_frame *frame, df_error *err);
/* Whether what was started, and not waited for, may still use memory of the run. */
static inline bool df_frame_leaves_any(const df_frame *frame)
{
    const df_left *left = frame->session->run->left;
    return left && left->n;
}
/* Asks the caller whether to stop; seldom, because the answer may cost a microsecond. */
bool df_session_stops(df_session *session);

#define DF_DIRECT_ELEMENTS 8192 /* beyond it kernels may use threads */
/* The tile function that does all of a call on short operands, all of one shape or one of two a
 * single number; or NULL. Saves the tile loader, 20 of 25 ns. */
df_tile_fn df_whole_tile(const df_call *call);

/* Decides where outputs may be views (`retains`, `borrows` of df_ready); false: no memory. */
bool df_program_find_views(df_program *p);
/* Makes the df_resolved of a frame; false: no memory. */
bool df_frame_make_resolved(const df_program *p, df_frame *frame);
void df_frame_free_resolved(const df_program *p, df_frame *frame);
/* Runs an instruction that is resolved in a run; `call` is that of the frame. */
df_status df_resolved_run(const df_call *call, df_error *err);
/* A dynamic slot is not read any more in this run: a small buffer waits there for the next run. */
void df_frame_park(const df_program *p, df_frame *frame, int slot);
/* Releases the buffers of dynamic slots, and workspaces that wait for the next run. */
void df_frame_drop_dynamic(const df_program *p, df_frame *frame);
/* Releases the buffer of a tensor; its description stays. */
static inline void df_tensor_drop(df_tensor *t)
{
    df_buffer_release(t->buffer);
    t->buffer = NULL;
    t->data = NULL;
}

/* A frame that has the shapes of slots and the data of constants, but no arena. */
df_frame *df_frame_new(const df_program *p);
void df_frame_free(const df_program *p, df_frame *frame);
/* Gives slot `slot` its shape back; cannot fail for shapes that were set before. */
df_status df_frame_describe(const df_program *p, df_frame *frame, int slot, df_error *err);

#endif
