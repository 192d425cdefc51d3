/* The op record: every fact about an op that anybody asks for. One record per op, defined with
 * DF_OP in the file of its kernel and listed by one line of ops.def; nothing else names an op. */
#ifndef DF_OP_H
#define DF_OP_H

#include "base/tensor.h"
#include "op/fold.h"

#define DF_MAX_ATTRS 12
#define DF_VARIADIC (-1)
#define DF_ANY_INPUT UINT32_MAX /* bits of all inputs, of a variadic op, too */

typedef enum { DF_ATTR_INT, DF_ATTR_FLOAT, DF_ATTR_BOOL, DF_ATTR_DTYPE, DF_ATTR_INTS } df_attr_type;

typedef struct {
    const char *name;
    df_attr_type type;
    /* How a number is taken that is known only when the program runs. By default all sizes of the
     * outputs count as unknown. */
    bool open; /* infer may be given DF_OPEN: only sizes that depend on it are unknown */
    bool axis; /* there are as many cases as dimensions: one of them is chosen in the run */
} df_attr_spec;

typedef struct {
    const int64_t *v;
    int64_t n;
} df_ints;

/* One attribute; the record's spec says which member is used (INT, BOOL and DTYPE use `i`). */
typedef union {
    int64_t i;
    double f;
    df_ints list;
} df_attr;

/* Values for which an elementwise op has no result, whatever its other input is. */
typedef struct {
    int input;       /* whose values are looked at */
    uint32_t dtypes; /* bit d: of df_dtype d */
    int64_t (*first)(const df_tensor *x); /* flat index of the first one, or -1 */
    const char *want;
} df_refusal;

typedef struct df_op df_op;

/* Where an operand of a body is in round t: at[t % 2] + t * step. */
struct df_moving {
    char *at[2];
    int64_t step;
};

/* The graphs that a node owns, made ready to run, as its op sees them: what runs them is known only
 * to whoever built them. */
typedef struct {
    int n; /* bodies */
    const struct df_body_type {
        int n_in, n_out;
        bool fixed; /* the shapes of inputs and outputs are known, and the caller has memory for
                     * all outputs */
        const int64_t *in_bytes;  /* how far it reaches into each input; 0: it does not look,
                                   * -1: its size is known only in a run */
        const df_tensor *out;     /* dtypes and shapes, unknown where they depend on data */
        const int *stays;         /* the input in whose memory each output is made, or -1 */
    } *types;
    void *context;
    /* Runs body k. Outputs of known shape have memory, the others get a buffer. */
    df_status (*run)(void *context, int k, const df_tensor *const *in, df_tensor *const *out,
                     df_error *err);
    /* Runs body 0, which is fixed, in rounds *t to end - 1, as long as *go_on says so. `in` and
     * `out` say where things are; *t is the round that failed, or the next. */
    df_status (*repeat)(void *context, const struct df_moving *in, const struct df_moving *out,
                        const bool *go_on, int64_t *t, int64_t end, df_error *err);
} df_bodies;

/* One application of an op. `in` are complete tensors for run; for infer their data may be NULL and
 * dimensions unknown. */
typedef struct {
    const df_op *op;
    int n_in, n_out;
    const df_tensor *const *in;
    df_tensor *const *out;
    const df_attr *attrs; /* in the order of the record's specs */
    void *workspace;      /* as many bytes as the record's workspace() asks for, 64-byte aligned */
    const void *prepared; /* what the record's prepare() made for these shapes, or NULL */
    const df_bodies *bodies; /* of an op that owns graphs */
} df_call;

/* One formula over `n` elements. All operands are dense arrays of n elements; `out` may be one of
 * the operands (never partly overlapping). */
typedef void (*df_tile_fn)(int64_t n, void *out, const void *const *in, const df_attr *attrs);

/* out[i] = reduction of row i of x, shape (rows, n). */
typedef void (*df_reduce_fn)(int64_t rows, int64_t n, void *out, const void *x);

/* What compiled code calls: a tile function and its attributes, or a reduction. */
typedef struct {
    df_tile_fn tile;
    df_reduce_fn reduce;
    const df_attr *attrs;
} df_called;

/* The steps of a cluster as one function: see fuse/cluster.h. */
typedef void (*df_compiled_fn)(int64_t units, void *const *at, const df_called *calls);

typedef enum {
    DF_ELEMENTWISE, /* only a tile function; the tile loader broadcasts its inputs */
    DF_REDUCTION,
    DF_VIEW,   /* may share its input's buffer, see `view` */
    DF_GENERAL /* anything else */
} df_op_kind;

/* Of what goes on beside a program when run has returned, see ops/host.c. */
typedef enum {
    DF_NOTHING_BESIDE,
    DF_STARTS, /* output 0 is a ticket; the other outputs are filled, and the inputs read, until
                * the instruction that waits for it */
    DF_WAITS   /* inputs: a ticket, what is filled, what is read; output k is input k + 1, where
                * that lies */
} df_beside;

struct df_op {
    const char *name;
    df_op_kind kind;
    int n_in;  /* or DF_VARIADIC: one or more; of an op with bodies any number */
    int n_out; /* or DF_VARIADIC: infer's caller asks `count_out` */
    int n_attrs;
    df_attr_spec attrs[DF_MAX_ATTRS];
    /* Graphs that a node of it owns, or DF_VARIADIC: one or more. Its outputs are what they say, so
     * that infer only checks those it is given. */
    int n_bodies;

    /* Bit i: input i takes part in dtype promotion, the others keep their dtype. 0: none does.
     * For a variadic op any set bit means all. */
    uint32_t promote;
    /* Integer and bool inputs named by `promote` are cast to float32 (int64: float64) first. */
    bool promote_to_float;
    bool applies; /* attribute 0 is the index in the registry of an op that it applies */
    /* Inputs whose memory run writes (variables); bit i: input i. An op with writes is an effect:
     * it is never dropped, merged or moved past a reader. */
    uint32_t writes;
    bool internal; /* made by passes and the backward walker, never applied by users */
    bool effect; /* never dropped or merged although it writes no input */
    bool host;   /* calls what a number names in this process, so it cannot come from a file */
    df_beside beside;
    uint8_t version; /* which of its meanings a program file names; raised when that changes */
    uint32_t shape_only; /* bit i: run reads the dtype and shape of input i, not its data */
    bool total; /* DF_GENERAL: run cannot fail on what infer accepted */
    bool serial; /* run uses one thread, however large */
    bool sized_by_data; /* outputs may depend on data in their sizes: run allocates such */
    bool commutative; /* to the bit, except for which of two NaNs is returned */
    /* Bit i: an output may be computed in the memory of input i, of the same bytes, where no input
     * whose bit is not set lies. */
    uint32_t may_alias;

    /* Output dtypes and shapes from the inputs' and the attributes; checks them all. Must accept
     * unknown dimensions and propagate them. A dimension that depends on data is left unknown, see
     * sized_by_data. */
    df_status (*infer)(const df_call *call, df_error *err);
    int (*count_out)(const df_call *call);
    /* Kernel. Outputs are allocated, and do not overlap inputs unless may_alias. */
    df_status (*run)(const df_call *call, df_error *err);
    /* Where run has no kernel for float16 and bfloat16: DF_SYM(df_run_in_float), which runs it on
     * float32 numbers and rounds the result once. infer, workspace and run then see float32 in
     * their place. NULL: they are like any other dtype. Tile functions do the same themselves. */
    df_status (*run_half)(const df_call *call, df_error *err);
    int64_t (*workspace)(const df_call *call);
    /* Of an op that applies another: sets `applied` to that application with the attributes of this
     * run, and infers its outputs, which are those of `call`. The attributes are written to
     * `attrs`, which holds DF_MAX_ATTRS, their lists to the workspace of `call`. The last input
     * holds all numbers that the attributes are read from. */
    df_status (*apply)(const df_call *call, df_call *applied, df_attr *attrs, df_error *err);
    /* For a call that runs many times on the same shapes: what can be computed once. `run` must
     * work without it, too. */
    df_status (*prepare)(const df_call *call, void **prepared, df_error *err);
    void (*release)(void *prepared);
    /* Where a cluster runs: `prepared` goes on by compiled code (df_cluster_compile), while others
     * may be running it. */
    df_status (*compile)(const df_call *call, void *prepared, df_ints layout, df_compiled_fn fn,
                         df_error *err);
    /* DF_REDUCTION: reduces `rows` whole rows of n <= DF_CLUSTER_ROW_MAX elements as run does; per
     * input dtype, NULL where a cluster cannot. */
    df_reduce_fn reduce[DF_N_DTYPES];
    df_folder fold[DF_N_DTYPES]; /* DF_REDUCTION: of other dimensions; all NULL likewise */
    /* DF_VIEW: byte offset of the output in input 0, or -1 when run must copy. */
    int64_t (*view)(const df_call *call);

    /* DF_ELEMENTWISE: a tile function per dtype of input `tile_key`, NULL where unsupported; or
     * `select`, where one dtype does not determine it. */
    df_tile_fn tile[DF_N_DTYPES];
    int tile_key;
    /* Of two inputs of one dtype: the same where operand 0, operand 1 is a single number that
     * meets every element of the other. NULL: callers repeat it first. */
    df_tile_fn tile_with_one[2][DF_N_DTYPES];
    df_refusal refuses; /* checked before computing; otherwise only DF_GENERAL ops can fail */
    df_tile_fn (*select)(const df_call *call);
    /* Arithmetic of a run, for reports; NULL: one operation for each element that an elementwise op
     * makes or a reduction reads, none otherwise. */
    double (*flops)(const df_call *call);
    double cost; /* estimated ns per output element, for the thread pool; 0: cheap (0.2) */
};

/* Names in code compiled once per SIMD level carry its suffix: DF_SYM(gemm) -> gemm_avx512. */
#define DF_SYM(name) DF_CAT(name, DF_ISA)
#define DF_OP(name) const df_op DF_SYM(df_op_##name)

/* infer functions shared by families (infer.c). Messages use call->op->name. */
/* all inputs broadcast; dtype of input tile_key */
df_status df_infer_broadcast(const df_call *call, df_error *err);
df_status df_infer_compare(const df_call *call, df_error *err);    /* the same, bool result */
df_status df_infer_same(const df_call *call, df_error *err);       /* out 0 is like input 0 */

/* Broadcast shape of two shapes of equal or different rank; unknown dimensions propagate. */
df_status df_broadcast_shape(const df_tensor *a, const df_tensor *b, df_tensor *out,
                             const char *op, df_error *err);
/* "add: no kernel for dtype bool; ..." and the dtypes that have one. */
df_status df_fail_dtype(const df_call *call, int input, const char *wanted, df_error *err);

/* Whether attributes are what their specs say: a dtype that exists, a bool that is 0 or 1, a list
 * of no negative length. For those whose attributes were not made by Python. */
df_status df_op_check_attrs(const df_op *op, const df_attr *attrs, df_error *err);
/* Whether a call has as many inputs and outputs as its op wants. The number of outputs of some ops
 * follows from shapes: those that are not known yet leave it open. */
df_status df_op_check_arity(const df_call *call, df_error *err);
/* The checks every caller makes, in this order: inputs, then infer. Outputs are only described. */
df_status df_op_infer(const df_call *call, df_error *err);
/* The same for a call that runs next: no size may be unknown any more unless data decides about it,
 * as a -1 among attributes would leave one. */
df_status df_op_infer_for_run(const df_call *call, df_error *err);
/* Bytes of workspace that a run wants, 0 for none, -1 where they do not fit 64 bits. */
int64_t df_op_workspace(const df_call *call);
/* Runs a call whose outputs are allocated (or, data-dependent, unknown): elementwise ops by the
 * tile loader, others by their run, or run_half. */
df_status df_op_run(const df_call *call, df_error *err);
/* Whether that is run_half: there are half operands, and all floats have their dtype (except
 * in ops that write: variables, slots and gradients may differ). */
bool df_op_in_float(const df_call *call);

/* Whether an elementwise op refuses some values of a dtype. */
bool df_op_refuses(const df_op *op, df_dtype dtype);

/* After a run: fails if the call made a NaN or an infinity. Infinities are not "made" where an
 * input is not finite (a mask passes them on); a NaN is reported by the first op to meet it. */
df_status df_op_check_numerics(const df_call *call, df_error *err);

#endif
