/* The op record: every property of an op. One record per op, defined with DF_OP in the file of its
 * kernel and listed by one line of ops.def; no other code may depend on a particular op. */
#ifndef DF_OP_H
#define DF_OP_H

#include "base/tensor.h"
#include "op/column_reduction.h"

#define DF_MAX_ATTRS 12
#define DF_VARIADIC (-1)
#define DF_ANY_INPUT UINT32_MAX /* all inputs, also of a variadic op */

typedef enum { DF_ATTR_INT, DF_ATTR_FLOAT, DF_ATTR_BOOL, DF_ATTR_DTYPE, DF_ATTR_INTS } df_attr_type;

typedef struct {
    const char *name;
    df_attr_type type;
    /* How the attribute is handled if its value is known only at run time. By default all output
     * sizes become unknown. */
    bool open; /* infer accepts DF_OPEN: only sizes that depend on the attribute are unknown */
    bool axis; /* an axis: infer runs for every possible value, and the run chooses one */
} df_attr_spec;

typedef struct {
    const int64_t *v;
    int64_t n;
} df_ints;

/* A run uses one thread if input `input` has at most `rows` rows; 0: see df_op.serial. */
typedef struct {
    uint8_t input, rows;
} df_serial_for;

/* An attribute; the record's spec determines the member (INT, BOOL and DTYPE use `i`). */
typedef union {
    int64_t i;
    double f;
    df_ints list;
} df_attr;

/* Invalid input values of an elementwise op: those for which it raises, for any other input. */
typedef struct {
    int input;       /* index of the input that is checked */
    uint32_t dtypes; /* bit d: df_dtype d is checked */
    int64_t (*first)(const df_tensor *x); /* flat index of the first invalid value, or -1 */
    const char *want;
} df_value_check;

/* How autocast changes the common dtype of the inputs named by `promote`. */
typedef enum {
    DF_AUTOCAST_NONE,
    DF_AUTOCAST_LOWER, /* float32 becomes the 16-bit float of the region: matrix products and what
                        * consists of them */
    DF_AUTOCAST_FLOAT32 /* 16-bit floats become float32: losses */
} df_autocast_rule;

typedef struct df_op df_op;

/* Data pointer of an operand of a body in iteration t: at[t % 2] + t * step. */
struct df_loop_operand {
    char *at[2];
    int64_t step;
};

/* The bodies of a node, prepared for execution, as its op sees them. exec/bodies.c implements the
 * callbacks. */
typedef struct {
    int n; /* number of bodies */
    const struct df_body_type {
        int n_in, n_out;
        bool fixed; /* all shapes are known, and the caller provides the memory of all outputs */
        const int64_t *in_bytes;  /* bytes of each input that the body accesses; 0: none; -1: known
                                   * only at run time */
        const df_tensor *out;     /* dtypes and shapes, with unknown dimensions if they depend on
                                   * data */
        const int *aliased_input;  /* the input whose memory each output reuses, or -1 */
    } *types;
    void *context;
    /* Runs body k. Outputs of known shape have memory; the others get a buffer. */
    df_status (*run)(void *context, int k, const df_tensor *const *in, df_tensor *const *out,
                     df_error *err);
    /* Runs body 0, which must be fixed, for iterations *t to end - 1 while *keep_going is true.
     * `in` and `out` describe the data pointers. On return *t is the iteration that failed, or the
     * next one. */
    df_status (*repeat)(void *context, const struct df_loop_operand *in,
                        const struct df_loop_operand *out,
                        const bool *keep_going, int64_t *t, int64_t end, df_error *err);
} df_bodies;

/* One application of an op. For run, `in` are complete tensors; for infer, data may be NULL and
 * dimensions unknown. */
typedef struct {
    const df_op *op;
    int n_in, n_out;
    const df_tensor *const *in;
    df_tensor *const *out;
    const df_attr *attrs; /* in the order of the record's specs */
    void *workspace;      /* of the size that the record's workspace() returns, 64-byte aligned */
    const void *prepared; /* result of the record's prepare() for these shapes, or NULL */
    const df_bodies *bodies; /* of an op with bodies */
} df_call;

/* Computes a formula over `n` elements. All operands are dense arrays of n elements; `out` may be
 * one of them but may not overlap one partly. */
typedef void (*df_tile_fn)(int64_t n, void *out, const void *const *in, const df_attr *attrs);

/* out[i] = reduction of row i of x, shape (rows, n). */
typedef void (*df_reduce_fn)(int64_t rows, int64_t n, void *out, const void *x);

/* Callee of compiled code: a tile function with its attributes, or a reduction. */
typedef struct {
    df_tile_fn tile;
    df_reduce_fn reduce;
    const df_attr *attrs;
} df_called;

/* The steps of a cluster compiled to one function, see fuse/cluster.h. */
typedef void (*df_compiled_fn)(int64_t units, void *const *at, const df_called *calls);

typedef enum {
    DF_ELEMENTWISE, /* has only a tile function; the tile loader broadcasts its inputs */
    DF_REDUCTION,
    DF_VIEW,   /* may share the buffer of its input, see `view` */
    DF_GENERAL /* any other op */
} df_op_kind;

/* Operands and result of a formula over vectors. */
typedef enum {
    DF_FORM_NONE,   /* the op has no formula */
    DF_FORM_VECTOR, /* vectors of the op's inputs -> a vector of the same dtype. An attribute that
                     * is a float is the last operand */
    DF_FORM_MASK,   /* the same -> a mask */
    DF_FORM_CHOICE, /* a mask and two vectors -> a vector; 16-bit floats are selected as int16 */
    DF_FORM_REDUCTION /* <name>_identity(), <name>_map(x), <name>_combine(a, b), for floats */
} df_form;

/* The formula of an op in ops/formulas.h, for generated code. Names have no suffix of a dtype. */
typedef struct {
    df_form form;
    const char *name;     /* NULL: the name of the op */
    const char *if_true;  /* used instead if attribute 0, a bool, is true; or NULL */
    const char *of_bools; /* used instead for bools, or NULL */
    const char *finish;   /* DF_FORM_REDUCTION: applied to each result, or NULL */
} df_formula;

/* Role of an op in an asynchronous operation, which continues after run returns; see
 * ops/control_flow/host.c. */
typedef enum {
    DF_NOT_ASYNC,
    DF_ASYNC_START, /* output 0 is a handle; the operation reads the inputs and fills the other
                     * outputs until the instruction that waits for the handle */
    DF_ASYNC_WAIT  /* inputs: a handle, the filled outputs, the inputs of the start; output k is
                    * input k + 1, in the same memory */
} df_async_role;

struct df_op {
    const char *name;
    df_op_kind kind;
    int n_in;  /* or DF_VARIADIC: one or more; with bodies: any number */
    int n_out; /* or DF_VARIADIC: determined by `count_out` */
    int n_attrs;
    df_attr_spec attrs[DF_MAX_ATTRS];
    /* Number of bodies of a node, or DF_VARIADIC: one or more. The bodies determine the outputs, so
     * infer only checks the outputs it is given. */
    int n_bodies;

    /* Bit i: input i takes part in dtype promotion; the others keep their dtype. For a variadic op
     * any set bit means all inputs. */
    uint32_t promote;
    /* Integer and bool inputs named by `promote` are cast to float32 (int64: float64) first. */
    bool promote_to_float;
    df_autocast_rule autocast;
    bool wraps_op; /* attribute 0 is the registry index of another op, which it applies */
    /* Bit i: run writes the memory of input i (a variable). An op with writes is an effect: it is
     * never dropped, merged or moved past a reader. */
    uint32_t writes;
    bool internal; /* created by passes and the backward pass, not by users */
    bool effect; /* never dropped or merged although it writes no input */
    bool host;   /* calls an object of this process by id, so it cannot be saved to a file */
    df_async_role async_role;
    uint8_t version; /* version of its semantics; program files store it. Increment it when the
                      * semantics change */
    uint32_t shape_only; /* bit i: run reads only dtype and shape of input i */
    bool cannot_fail; /* DF_GENERAL: run cannot fail on inputs that infer accepted */
    bool serial; /* run uses one thread, whatever the size */
    df_serial_for serial_for;
    bool data_dependent_shape; /* output sizes may depend on data: run allocates such outputs */
    bool commutative; /* bit-identical when swapped, except for which of two NaNs is returned */
    /* Bit i: an output may be computed in the memory of input i if it has the same number of bytes
     * and no input without the bit shares that memory. A run that fails because of the
     * values of its inputs must fail before it writes: the memory may belong to a variable. */
    uint32_t may_alias;
    /* Output 0 consists of the inputs along the axis in attribute 0. If the dimensions before the
     * axis are 1, an input may be in the memory of the output, at its position there. */
    bool joins;

    /* Sets output dtypes and shapes from inputs and attributes, and checks all of them. Must accept
     * unknown dimensions and propagate them. A dimension that depends on data stays unknown, see
     * data_dependent_shape. */
    df_status (*infer)(const df_call *call, df_error *err);
    int (*count_out)(const df_call *call);
    /* The kernel. Outputs are allocated and overlap inputs only as may_alias allows. */
    df_status (*run)(const df_call *call, df_error *err);
    /* For ops whose run has no kernel for 16-bit floats: DF_SYM(df_run_in_float), which
     * computes in float32 and rounds the result once. infer, workspace and run then see float32
     * instead. NULL: these dtypes have kernels. Tile functions convert by themselves. */
    df_status (*run_half)(const df_call *call, df_error *err);
    int64_t (*workspace)(const df_call *call);
    /* For an op that applies another: sets `applied` to that application with the attributes of
     * this run, and infers its outputs, which are the outputs of `call`. `attrs` (DF_MAX_ATTRS
     * entries) receives the attributes, the workspace of `call` their lists. The last input holds
     * the numbers from which the attributes are read. */
    df_status (*apply)(const df_call *call, df_call *applied, df_attr *attrs, df_error *err);
    /* Precomputes state for repeated calls with the same shapes. `run` must also work without
     * it. */
    df_status (*prepare)(const df_call *call, void **prepared, df_error *err);
    void (*release)(void *prepared);
    /* For clusters: switches `prepared` to compiled code (df_cluster_compile). Other threads may be
     * running it. */
    df_status (*compile)(const df_call *call, void *prepared, df_ints layout, df_compiled_fn fn,
                         df_error *err);
    /* DF_REDUCTION: reduces `rows` whole rows of n <= DF_CLUSTER_ROW_MAX elements as run does. One
     * per input dtype; NULL if clusters cannot use it. */
    df_reduce_fn reduce[DF_N_DTYPES];
    df_column_reducer column[DF_N_DTYPES]; /* DF_REDUCTION of other dimensions; all NULL likewise */
    /* DF_VIEW: byte offset of the output in input 0, or -1 if run must copy. */
    int64_t (*view)(const df_call *call);

    /* DF_ELEMENTWISE: a tile function per dtype of input `tile_key`, NULL if unsupported; or
     * `select`, if one dtype does not determine it. */
    df_tile_fn tile[DF_N_DTYPES];
    int tile_key;
    /* The formula of `tile` or `reduce`. Generated code evaluates it in place if `cost` is below
     * DF_INLINE_COST; otherwise it calls the tile function. */
    df_formula formula;
    /* Two inputs of one dtype: the variant of `tile` in which operand 0, or operand 1, is a single
     * element that is combined with every element of the other. NULL: callers repeat the element
     * first. */
    df_tile_fn tile_scalar[2][DF_N_DTYPES];
    /* checked before computing; apart from this only DF_GENERAL ops can fail */
    df_value_check value_check;
    df_tile_fn (*select)(const df_call *call);
    /* Number of arithmetic operations of a run, for reports. NULL: one per element that an
     * elementwise op computes or a reduction reads, otherwise none. */
    double (*flops)(const df_call *call);
#define DF_INLINE_COST 2.0
    double cost; /* estimated ns per output element, for the thread pool; 0: cheap (0.2) */
};

/* Symbols of code compiled once per SIMD level carry its suffix: DF_SYM(gemm) -> gemm_avx512. */
#define DF_SYM(name) DF_CAT(name, DF_ISA)
#define DF_OP(name) const df_op DF_SYM(df_op_##name)

/* DF_ONCE(type, name, (parameters)) begins the definition of a function that is the same at every
 * SIMD level, such as a shape rule. A build for several levels has only one copy: DF_FIRST_LEVEL
 * is 1 at the level that defines it; at the others, where it is 0, the name refers to that copy and
 * the body is dropped. In a build for one level the function is static. The body must use nothing
 * that depends on the level (vectors, DF_SYM, kernels), also not through other functions, and its
 * loops over data must not gain from SIMD. The name must be unique in csrc. Files that setup.py
 * compiles for size at the baseline level have no such functions that ops of less than 1 us use. */
#if !defined DF_FIRST_LEVEL
#define DF_ONCE(type, name, parameters) static type name parameters
#elif DF_FIRST_LEVEL
#define DF_ONCE(type, name, parameters) \
    type name parameters;               \
    type name parameters
#else
#define DF_ONCE(type, name, parameters) \
    type name parameters;               \
    static __attribute__((unused)) type DF_SYM(name) parameters
#endif

/* Shape rules shared by families (infer.c). Messages use call->op->name. */
/* All inputs broadcast; the dtype is that of input tile_key. */
df_status df_infer_broadcast(const df_call *call, df_error *err);
df_status df_infer_compare(const df_call *call, df_error *err);    /* same, with a bool result */
df_status df_infer_same(const df_call *call, df_error *err);       /* output 0 is like input 0 */

/* Broadcasts two shapes of equal or different rank; unknown dimensions propagate. */
df_status df_broadcast_shape(const df_tensor *a, const df_tensor *b, df_tensor *out,
                             const char *op, df_error *err);
/* Fails with "add: input 1 is bool (2,), expected ..." and the supported dtypes. */
df_status df_fail_dtype(const df_call *call, int input, const char *wanted, df_error *err);

/* Checks attributes against their specs: an existing dtype, a bool that is 0 or 1, a list whose
 * length is not negative. For callers whose attributes were not created by Python. */
df_status df_op_check_attrs(const df_op *op, const df_attr *attrs, df_error *err);
/* Checks the numbers of inputs and outputs of a call. The number of outputs of some ops follows
 * from shapes; it is not checked while these are unknown. */
df_status df_op_check_arity(const df_call *call, df_error *err);
/* Checks the inputs, then calls infer. Outputs are described, not allocated. */
df_status df_op_infer(const df_call *call, df_error *err);
/* Same, for a call that runs next: a size may be unknown only if it depends on data. A -1 among the
 * attributes would leave one unknown. */
df_status df_op_infer_for_run(const df_call *call, df_error *err);
/* Bytes of workspace of a run; 0: none; -1: more than 64 bits can count. */
int64_t df_op_workspace(const df_call *call);
/* Runs a call whose outputs are allocated (or unknown, if they depend on data): elementwise ops
 * through the tile loader, others through run or run_half. */
df_status df_op_run(const df_call *call, df_error *err);
/* True if df_op_run uses run_half: an operand has a reduced-precision dtype, and so do all float
 * operands (except in ops that write: variables, slots and gradients may differ). */
bool df_op_in_float(const df_call *call);

/* True if an elementwise op raises on some values of a dtype. */
bool df_op_may_raise(const df_op *op, df_dtype dtype);

/* Fails if a run has produced a NaN or an infinity. Infinities are accepted if an input is not
 * finite (a mask passes them through); a NaN is reported by the first op that reads or produces
 * it. */
df_status df_op_check_numerics(const df_call *call, df_error *err);

#endif
