# Declarations of the C core for Cython: externs only.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef extern from "stdbool.h" nogil:
    ctypedef bint c_bool "bool"        # for function pointers, which must return exactly bool

cdef extern from "base/local.h":
    pass                               # DF_THREAD_LOCAL, for C code in the .pxi files

cdef extern from "base/status.h" nogil:
    ctypedef enum df_status:
        DF_OK
        DF_INVALID_ARGUMENT
        DF_BAD_SHAPE
        DF_BAD_DTYPE
        DF_OUT_OF_MEMORY
        DF_OVERFLOW
        DF_UNIMPLEMENTED
        DF_CANCELLED
    ctypedef struct df_error:
        df_status status
        char text[1000]
    df_status df_fail(df_error *err, df_status status, const char *format, ...) noexcept

cdef extern from "base/dtype.h" nogil:
    ctypedef enum df_dtype:
        DF_BOOL
        DF_U8
        DF_U16
        DF_U32
        DF_U64
        DF_I8
        DF_I16
        DF_I32
        DF_I64
        DF_F16
        DF_BF16
        DF_F32
        DF_F64
        DF_C64
        DF_C128
        DF_N_DTYPES
    ctypedef enum df_kind:
        DF_KIND_BOOL
        DF_KIND_INT
        DF_KIND_FLOAT
        DF_KIND_COMPLEX
    ctypedef struct df_dtype_info:
        const char *name
        const char *format
        int bytes
        df_kind kind
    const df_dtype_info df_dtypes[]
    df_dtype df_promote(df_dtype a, df_dtype b) noexcept
    bint df_is_float(df_dtype d) noexcept
    bint df_is_complex(df_dtype d) noexcept
    bint df_is_inexact(df_dtype d) noexcept
    df_dtype df_real_dtype(df_dtype d) noexcept
    bint df_is_reduced_float(df_dtype d) noexcept
    bint df_is_unsigned(df_dtype d) noexcept

cdef extern from "base/tensor.h" nogil:
    int DF_MAX_NDIM
    int DF_INLINE_NDIM
    int64_t DF_UNKNOWN
    int64_t DF_OPEN
    int64_t DF_TOO_MANY
    ctypedef struct df_buffer:
        int32_t bucket
        int64_t bytes
        void *data
    ctypedef struct df_tensor:
        void *data
        int64_t size
        int64_t *shape
        df_buffer *buffer
        df_dtype dtype
        int ndim
        int64_t dims[8]
    ctypedef struct df_memory_stats:
        int64_t cached
        int64_t live
        int64_t peak
        int64_t allocations
    df_buffer *df_buffer_new(int64_t bytes) noexcept
    df_buffer *df_buffer_wrap(void *data, int64_t bytes, void (*release)(void *) noexcept,
                              void *owner) noexcept
    void df_buffer_retain(df_buffer *buffer) noexcept
    void df_buffer_release(df_buffer *buffer) noexcept
    int32_t df_buffer_refs(const df_buffer *buffer) noexcept
    bint df_buffer_is_exclusive(const df_buffer *buffer) noexcept
    df_memory_stats df_memory() noexcept
    ctypedef struct df_thread_memory:
        uint64_t thread
        int64_t live
    enum:
        DF_MEMORY_THREADS
    int df_memory_by_thread(df_thread_memory *all) noexcept
    void df_memory_trim() noexcept
    void df_memory_reset_peak() noexcept
    void df_tensor_init(df_tensor *t) noexcept
    df_status df_tensor_set(df_tensor *t, df_dtype dtype, int ndim, const int64_t *shape,
                            const char *op, df_error *err) noexcept
    df_status df_tensor_alloc(df_tensor *t, const char *op, df_error *err) noexcept
    void df_tensor_clear(df_tensor *t) noexcept
    int64_t df_tensor_bytes(const df_tensor *t) noexcept
    bint df_same_shape(const df_tensor *a, const df_tensor *b) noexcept

cdef extern from "base/layout.h" nogil:
    void df_copy_strided(void *to, const void *source, int bytes, int ndim, const int64_t *shape,
                         const int64_t *strides) noexcept
    void df_swap_bytes(void *data, int64_t n, int bytes) noexcept
    bint df_are_bools(const uint8_t *p, int64_t n) noexcept
    void df_normalize_bools(uint8_t *p, int64_t n) noexcept

cdef extern from "tape/ids.h" nogil:
    ctypedef struct df_id_map:
        uint64_t *keys
        void **values
        int64_t n_slots
    ctypedef struct df_id_set:
        uint64_t base
    int64_t df_id_map_find(const df_id_map *m, uint64_t id) noexcept
    int64_t df_id_map_put(df_id_map *m, uint64_t id) noexcept
    void df_id_map_remove(df_id_map *m, int64_t at) noexcept
    void df_id_map_free(df_id_map *m) noexcept
    bint df_id_set_has(const df_id_set *s, uint64_t id) noexcept
    bint df_id_set_put(df_id_set *s, uint64_t id) noexcept
    void df_id_set_free(df_id_set *s) noexcept

cdef extern from "tape/tape.h" nogil:
    ctypedef struct df_operand:
        uint64_t id
        void *stored
        int ndim
        uint8_t dtype
        bint spec
    ctypedef struct df_tape_record:
        df_tape_record *before
        void *op
        void *attrs
        int n_in
        int n_out
        bint may_lead_further
        df_operand operands[1]
    ctypedef struct df_tape:
        df_tape_record *last
        int64_t n
        df_id_set ids
    df_tape_record *df_tape_reserve(df_tape *tape, int n_in, int n_out, int64_t n_dims) noexcept
    int64_t *df_tape_record_dims(df_tape_record *e) noexcept
    int64_t *df_operand_describe(df_operand *o, const df_tensor *t, const df_operand *like,
                                 int64_t *dims) noexcept
    void df_tape_append(df_tape *tape, df_tape_record *e, const int64_t *end) noexcept
    void df_tape_drop(df_tape *tape) noexcept
    bint df_tape_mark_reachable(const df_tape *tape, df_id_set *reach) noexcept
    bint df_tape_record_has_cotangent(const df_tape_record *e, const df_id_map *pending) noexcept

cdef extern from "tape/signature.h" nogil:
    int64_t DF_SIGNATURE_OPERANDS
    ctypedef struct df_signature:
        uint64_t *words
        void **saved
        int32_t *argument_of
        int64_t n
        int64_t n_saved
        int64_t n_operands
        int32_t generation
    void df_signature_begin(df_signature *s) noexcept
    bint df_signature_word(df_signature *s, uint64_t word) noexcept
    bint df_signature_value(df_signature *s, uint64_t id, const df_tensor *like) noexcept
    bint df_signature_argument(df_signature *s, void *object) noexcept
    bint df_signature_operand(df_signature *s, const df_operand *o, const df_tensor *stored,
                              uint64_t stored_id) noexcept
    uint64_t df_signature_hash(const df_signature *s) noexcept

cdef extern from "op/op.h" nogil:
    int DF_MAX_ATTRS
    int DF_VARIADIC
    ctypedef enum df_attr_type:
        DF_ATTR_INT
        DF_ATTR_FLOAT
        DF_ATTR_BOOL
        DF_ATTR_DTYPE
        DF_ATTR_INTS
    ctypedef struct df_attr_spec:
        const char *name
        df_attr_type type
        bint open
        bint axis
    ctypedef struct df_ints:
        const int64_t *v
        int64_t n
    ctypedef union df_attr:
        int64_t i
        double f
        df_ints list
    ctypedef enum df_op_kind:
        DF_ELEMENTWISE
        DF_REDUCTION
        DF_VIEW
        DF_GENERAL
    ctypedef struct df_op
    ctypedef struct df_call:
        const df_op *op
        int n_in
        int n_out
        const df_tensor *const *in_ "in"
        df_tensor *const *out
        const df_attr *attrs
        void *workspace
        const void *prepared
    ctypedef void (*df_tile_fn)(int64_t n, void *out, const void *const *in_,
                                const df_attr *attrs) noexcept nogil
    ctypedef struct df_called
    ctypedef void (*df_compiled_fn)(int64_t units, void *const *at,
                                    const df_called *calls) noexcept nogil
    ctypedef void (*df_reduce_fn)(int64_t rows, int64_t n, void *out, const void *x) noexcept nogil
    ctypedef struct df_column_reducer:
        void (*part)(int64_t rows, int64_t cols, void *out, const void *x) noexcept nogil
    ctypedef struct df_value_check:
        int input
        uint32_t dtypes
        int64_t (*first)(const df_tensor *x) noexcept nogil
    ctypedef df_status (*df_infer_fn)(const df_call *call, df_error *err) noexcept nogil
    ctypedef enum df_async_role:
        DF_NOT_ASYNC
    ctypedef enum df_form:
        DF_FORM_NONE
    ctypedef struct df_serial_for:
        uint8_t input
        uint8_t rows

    ctypedef struct df_formula:
        df_form form
        const char *name
        const char *if_true
        const char *of_bools
        const char *finish
    double DF_INLINE_COST
    ctypedef enum df_autocast_rule:
        DF_AUTOCAST_NONE
        DF_AUTOCAST_LOWER
        DF_AUTOCAST_FLOAT32
    ctypedef struct df_op:
        const char *name
        df_op_kind kind
        int n_in
        int n_out
        int n_attrs
        df_attr_spec attrs[12]
        int n_bodies
        uint32_t promote
        bint promote_to_float
        df_autocast_rule autocast
        uint32_t writes
        bint internal
        int version
        bint wraps_op
        bint effect
        uint32_t shape_only
        bint cannot_fail
        bint host
        df_async_role async_role
        bint serial
        df_serial_for serial_for
        bint commutative
        uint32_t may_alias
        bint joins
        df_infer_fn infer
        int (*count_out)(const df_call *call) noexcept nogil
        int64_t (*workspace)(const df_call *call) noexcept nogil
        double (*flops)(const df_call *call) noexcept nogil
        int64_t (*view)(const df_call *call) noexcept nogil
        df_reduce_fn reduce[DF_N_DTYPES]
        df_column_reducer column[DF_N_DTYPES]
        df_tile_fn tile[DF_N_DTYPES]
        int tile_key
        df_formula formula
        df_value_check value_check
        double cost
    df_status df_infer_broadcast(const df_call *call, df_error *err) noexcept
    df_status df_infer_compare(const df_call *call, df_error *err) noexcept
    df_status df_op_infer(const df_call *call, df_error *err) noexcept
    df_status df_op_infer_for_run(const df_call *call, df_error *err) noexcept
    bint df_op_may_raise(const df_op *op, df_dtype dtype) noexcept
    int64_t df_op_workspace(const df_call *call) noexcept
    df_status df_op_run(const df_call *call, df_error *err) noexcept
    df_status df_op_check_numerics(const df_call *call, df_error *err) noexcept

cdef extern from "base/half.h" nogil:
    uint16_t df_f64_to_half(double x, df_dtype half) noexcept
    float df_half_to_f32(uint16_t h, df_dtype half) noexcept

ctypedef df_status (*df_host_call_fn)(int64_t id, int n, const df_tensor *const *in_, int n_out,
                                      df_tensor *const *out, df_error *err) noexcept nogil
ctypedef df_status (*df_host_start_fn)(int64_t id, int n, const df_tensor *const *in_, int n_out,
                                       df_tensor *const *out, int64_t *handle,
                                       df_error *err) noexcept nogil
ctypedef df_status (*df_host_wait_fn)(int64_t handle, df_error *err) noexcept nogil

cdef extern from "base/host.h" nogil:
    ctypedef struct df_host:
        df_host_call_fn call
        df_host_start_fn start
        df_host_wait_fn wait
    void df_set_host(const df_host *host) noexcept

cdef extern from "exec/program.h" nogil:
    ctypedef enum df_slot_kind:
        DF_SLOT_ARENA
        DF_SLOT_CONSTANT
        DF_SLOT_ARG
        DF_SLOT_RESULT
        DF_SLOT_DYNAMIC
    ctypedef struct df_slot:
        df_slot_kind kind
        df_dtype dtype
        int ndim
        const int64_t *shape
        int64_t offset
        int index
        const void *data
        int last_use
    ctypedef struct df_program
    ctypedef struct df_frame
    ctypedef struct df_instruction:
        const df_op *op
        int n_in
        int n_out
        int n_attrs
        int n_bodies
        df_program *const *bodies
        const int *in_ "in"
        const int *out
        const df_attr *attrs
        int64_t workspace
        bint dynamic
        bint poll
        int wave
        double cost
    ctypedef struct df_program_parts:
        int n_slots
        int n_instructions
        int n_args
        int n_results
        const df_slot *slots
        const df_instruction *instructions
        int64_t arena_bytes
        const int *returned
        int64_t donation_min_bytes
    df_status df_program_new(const df_program_parts *parts, df_program **out, int *failed,
                             df_error *err) noexcept
    void df_program_free(df_program *p) noexcept
    df_status df_program_compile(df_program *p, int instruction, df_ints layout, df_compiled_fn fn,
                                 df_error *err) noexcept
    int df_program_size(const df_program *p) noexcept
    ctypedef struct df_profile:
        int64_t *ns
        int64_t *start
    bint df_program_allocates_result(const df_program *p, int result) noexcept
    ctypedef struct df_donation:
        df_buffer **args
        df_buffer **results
    ctypedef struct df_outstanding:
        int64_t *handles
        int n
    ctypedef struct df_run:
        void *const *args
        void *const *results
        c_bool (*poll)(void *context) noexcept nogil
        void *context
        const void *stop
        const df_profile *profile
        bint check_numerics
        const df_donation *donation
        df_outstanding *outstanding
    int df_program_max_outstanding(const df_program *p) noexcept
    df_frame *df_program_enter(df_program *p) noexcept
    df_status df_program_run(df_program *p, df_frame *frame, const df_run *run, int *failed,
                             df_error *err) noexcept
    df_tensor *df_frame_tensor(df_frame *frame, int slot) noexcept
    void df_program_leave(df_program *p, df_frame *frame) noexcept

cdef extern from "file/file.h" nogil:
    enum:
        DF_WORKSPACE_APPENDED
    ctypedef struct df_model
    ctypedef struct df_model_variable:
        const char *name
        df_dtype dtype
        int ndim
        const int64_t *shape
    ctypedef struct df_model_instruction:
        int op
        int n_in
        int n_out
        int n_attrs
        int n_bodies
        const int *slots
        const df_attr *attrs
        const df_model_program *const *bodies
        int64_t workspace
        bint dynamic
        bint poll
        int wave
        double cost
    ctypedef struct df_model_program:
        int n_slots
        int n_instructions
        int n_args
        int n_results
        const df_slot *slots
        const df_model_instruction *instructions
        int64_t arena_bytes
        const int *returned
    ctypedef struct df_model_source:
        int origin
        int index
        const void *data
        int64_t bytes
    ctypedef struct df_model_return:
        int kind
        int index
        int64_t bytes
        const void *data
    ctypedef struct df_model_entry:
        const char *name
        const df_model_program *program
        int n_in
        int n_out
        const df_model_source *sources
        const df_model_return *returns
        const df_model_entry *cached
    ctypedef struct df_model_tables:
        int n_variables
        const df_model_variable *variables
        const df_model_entry *entries
        const char *level
    df_buffer *df_model_value_of(const df_model *m, int variable) noexcept
    ctypedef struct df_file:
        const df_model_tables *tables
        df_model *model
        int n_in
        int n_out
        const df_model_variable *inputs
        const df_model_variable *outputs
        const char *structure
        int64_t structure_bytes
    df_status df_file_open(const char *path, df_file **out, df_error *err) noexcept
    void df_file_close(df_file *file) noexcept

cdef extern from "file/crc32c.h" nogil:
    unsigned int df_crc32c(const unsigned char *data, int64_t bytes) noexcept

cdef extern from "op/tree.h" nogil:
    ctypedef struct df_span:
        int64_t first
        int64_t end
    df_status df_tree_combine(const df_op *op, df_dtype dtype, int64_t n, int count,
                              const void *const *data, const df_span *spans, void *out,
                              df_error *err) noexcept

cdef extern from "op/registry.h" nogil:
    df_status df_registry_init(df_error *err) noexcept
    const char *df_registry_isa() noexcept
    int64_t df_registry_size() noexcept
    const df_op *df_registry_op(int64_t index) noexcept

cdef extern from "base/thread_counts.h" nogil:
    ctypedef struct df_thread_counts:
        int64_t jobs
        int64_t chunks
        int64_t by_workers
        int64_t refused
    df_thread_counts df_count_threads() noexcept

cdef extern from "base/thread.h" nogil:
    int df_num_threads() noexcept
    df_status df_set_num_threads(int n, df_error *err) noexcept

cdef extern from "base/environment.h" nogil:
    df_status df_check_num_threads(df_error *err) noexcept
    df_status df_check_bfloat16(df_error *err) noexcept

cdef extern from "base/cpu.h" nogil:
    int df_cpu_cores() noexcept
