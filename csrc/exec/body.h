/* What a program and a frame are made of; known to this folder only.
 *
 * program.c checks and copies the parts, frame.c makes and lends frames, run.c
 * runs. */
#ifndef DF_EXEC_BODY_H
#define DF_EXEC_BODY_H

#include "exec/program.h"
#include "op/tile.h"

#include <stdatomic.h>

#define DF_SPARE_FRAMES 4                  /* frames kept for the next run */
#define DF_OWN_ARENA ((int64_t)16 << 10)   /* bytes; larger arenas are scratch memory of the run */

/* A slot whose data a run supplies: `offset` bytes into argument or result `index`. */
typedef struct {
    int slot, index;
    int64_t offset;
} df_patch;

/* An instruction made ready. */
typedef struct {
    df_status (*run)(const df_call *call, df_error *err);
    df_tile_fn tile; /* instead of run, where operands are short and of one shape */
    const df_op *op;
    bool simple; /* just run it: static, alone, not polled */
    bool dynamic, poll;
    int n_in, n_out;
    const int *in, *out; /* slots */
    const df_attr *attrs;
    int64_t workspace; /* offset in the arena, or -1 */
    void *prepared;
    int n_wave; /* instructions from this one on that may run side by side; 1: it stands alone */
    int n_frees;
    const int *frees; /* dynamic slots that nobody reads after it */
    double cost;
} df_ready;

struct df_program {
    int n_slots, n_instructions, n_args, n_results, n_arg_patches, n_result_patches, n_dynamic;
    int n_operands;
    int64_t arena_bytes;
    df_slot *slots;
    df_ready *instructions;
    df_patch *patches; /* arguments', then results' */
    int *dynamic;      /* the dynamic slots, by the instruction that frees them */
    int *operands;     /* slots of all instructions: inputs, outputs */
    int64_t *dims;     /* shapes of all slots */
    df_attr *attrs;
    int64_t *lists;    /* of all attributes */
    _Atomic(df_frame *) spare[DF_SPARE_FRAMES];
};

struct df_frame {
    df_buffer *arena; /* its own, or scratch memory of this run */
    char *base;       /* of the arena that tensors and calls point into */
    df_tensor *tensors; /* by slot */
    df_call *calls;     /* by instruction */
    df_tensor **operands;
    int64_t next_poll; /* ns on the monotonic clock */
};

/* Whether the parts lie in memory as a run relies on; slots and operands have been checked. */
df_status df_program_check_memory(const df_program_parts *parts, int *failed, df_error *err);
df_status df_program_check_workspace(const df_slot *slots, const df_ready *s, int64_t bytes,
                                     int64_t arena_bytes, df_error *err);

/* A frame that has the shapes of slots and the data of constants, but no arena. */
df_frame *df_frame_new(const df_program *p);
void df_frame_free(const df_program *p, df_frame *frame);
/* Gives slot `slot` its shape back; cannot fail for shapes that were set before. */
df_status df_frame_describe(const df_program *p, df_frame *frame, int slot, df_error *err);

#endif
