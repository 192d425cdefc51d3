# Execution of one op on tensors: shape rule, allocation, kernel, tape record. Called by apply.pxi
# and dispatch.pxi. Also queries of op records, for graph passes. Ops that write variables keep the
# GIL, so no other thread reads a half-written value.

cdef enum:
    NOGIL_ELEMENTS = 16384     # for fewer elements, releasing the GIL costs more than it gains

cdef bint checking_numerics = False        # whether every op's result is checked


def set_check_numerics(bint on):
    """Set whether eager ops raise an error if they return a NaN or an infinity."""
    global checking_numerics
    checking_numerics = on


def checks_numerics():
    return checking_numerics


cdef object run(Op op, list ins, Attrs attrs):
    """Infer, allocate, execute and record an op. `ins` are tensors of the dtypes it requires."""
    cdef Pointers p
    init_pointers(&p)
    try:
        point_at(&p, ins)
        return run_at(op, &p, attrs)
    finally:
        free_pointers(&p)


cdef object run_at(Op op, const Pointers *p_in, Attrs attrs):
    """Like `run`, for inputs in C form, which the caller keeps alive."""
    cdef Pointers p_out
    cdef df_call call
    cdef Tensor out
    cdef df_tensor *c_out
    cdef PyObject *o_out
    cdef list outs
    cdef int k
    call.op = op.c
    call.attrs = attrs.c if attrs is not None else NULL
    call.workspace = NULL
    call.prepared = NULL
    call.n_in = p_in.n
    call.in_ = <const df_tensor *const *>p_in.tensors
    call.n_out = op.c.n_out
    if call.n_out == 1:
        out = blank()
        c_out, o_out = &out.t, <PyObject *>out
        call.out = &c_out
        run_call(op, &call, p_in.objects, &o_out, attrs)
        return out
    if call.n_out == DF_VARIADIC:
        call.n_out = op.c.count_out(&call)
    outs = [None] * call.n_out
    for k in range(call.n_out):
        outs[k] = blank()
    init_pointers(&p_out)
    try:
        point_at(&p_out, outs)
        call.out = <df_tensor *const *>p_out.tensors
        run_call(op, &call, p_in.objects, p_out.objects, attrs)
    finally:
        free_pointers(&p_out)
    return tuple(outs) if outs else None


cdef int run_call(Op op, df_call *call, PyObject **ins, PyObject **outs, Attrs attrs) except -1:
    cdef df_error err
    check(df_op_infer_for_run(call, &err), &err)
    if not share_view(op, call):
        compute(op, call)
        if checking_numerics:
            check(df_op_check_numerics(call, &err), &err)
    if df_tape_top != NULL and call.n_out:
        record_all(op, attrs, ins, call.n_in, outs, call.n_out)
    return 0


cdef bint share_view(Op op, df_call *call) noexcept:
    """Make the output of a view share the memory of its input; False if the op must compute."""
    cdef int64_t offset
    cdef df_tensor *y
    if op.c.view == NULL:
        return False
    offset = op.c.view(call)
    if offset < 0:
        return False
    y = <df_tensor *>call.out[0]
    y.buffer = call.in_[0].buffer
    y.data = <char *>call.in_[0].data + offset
    df_buffer_retain(y.buffer)
    return True


cdef int compute(Op op, df_call *call) except -1:
    cdef df_error err
    cdef df_status status
    cdef df_buffer *workspace = NULL
    cdef int64_t n_bytes, elements = 0
    cdef int k
    for k in range(call.n_out):
        if call.out[k].size >= 0:            # else it depends on data: the kernel allocates
            check(df_tensor_alloc(<df_tensor *>call.out[k], op.c.name, &err), &err)
            elements += call.out[k].size
    for k in range(call.n_in):
        elements += call.in_[k].size
    n_bytes = df_op_workspace(call) if op.c.workspace != NULL else 0
    if n_bytes != 0:
        workspace = df_buffer_new(n_bytes) if n_bytes > 0 else NULL
        if workspace == NULL:
            raise _errors.ResourceExhaustedError(
                f"{op.name}: no memory for {n_bytes} bytes of workspace")
        call.workspace = workspace.data
    if elements > NOGIL_ELEMENTS and not op.c.writes:   # no thread may read a half-written variable
        with nogil:
            status = df_op_run(call, &err)
    else:
        status = df_op_run(call, &err)
    df_buffer_release(workspace)
    if status != DF_OK:
        raise_pending()
    return check(status, &err)


def evaluate(Op op, list inputs, Attrs attrs):
    """Run an op outside any graph and tape; return a tuple of Tensors.

    An input may be a Symbol if the op reads only its shape.
    """
    cdef Op o = op
    cdef int k
    cdef void *tape = df_tape_top
    cdef void *graph = df_trace_top
    global df_tape_top, df_trace_top
    for k in range(<int>len(inputs)):
        if type(inputs[k]) is not Tensor and not (k < 32 and o.c.shape_only >> k & 1):
            raise TypeError(
                f"{o.name}: input {k} is a {type(inputs[k]).__name__}, expected a Tensor")
    df_tape_top = NULL
    df_trace_top = NULL
    try:
        outs = run(o, inputs, attrs)
    finally:
        df_tape_top = tape
        df_trace_top = graph
    return outs if type(outs) is tuple else () if outs is None else (outs,)


cdef enum Question:
    ASK_VIEW
    ASK_WORKSPACE
    ASK_FLOPS


cdef double ask_call(Op op, list ins, list outs, Attrs attrs, Question what) except -2:
    """Query the op record about described operands; return a number below 2^53, -1 for no answer.
    """
    cdef Pointers p_in, p_out
    cdef df_call call
    memset(&call, 0, sizeof(call))
    call.op = op.c
    call.attrs = attrs.c if attrs is not None else NULL
    init_pointers(&p_in)
    init_pointers(&p_out)
    try:
        point_at(&p_in, ins)
        point_at(&p_out, outs)
        call.n_in = p_in.n
        call.in_ = <const df_tensor *const *>p_in.tensors
        call.n_out = p_out.n
        call.out = <df_tensor *const *>p_out.tensors
        if what == ASK_VIEW:
            return op.c.view(&call) if op.c.view != NULL else -1
        if what == ASK_WORKSPACE:
            return df_op_workspace(&call) if op.c.workspace != NULL else -1
        return op.c.flops(&call) if op.c.flops != NULL else -1
    finally:
        free_pointers(&p_in)
        free_pointers(&p_out)


def view_offset(Op op, inputs, outputs, Attrs attrs):
    """Return the byte of input 0 at which the output of a view begins; -1 if it must be computed.
    """
    return <int64_t>ask_call(op, list(inputs), list(outputs), attrs, ASK_VIEW)


def workspace_bytes(Op op, inputs, outputs, Attrs attrs):
    """Return the bytes of scratch memory of an application, or -1 if it needs none."""
    return <int64_t>ask_call(op, list(inputs), list(outputs), attrs, ASK_WORKSPACE)


def own_flops(Op op, inputs, outputs, Attrs attrs):
    """Return the flops of an application by its op record; -1 if the kind of the op defines them.
    """
    return ask_call(op, list(inputs), list(outputs), attrs, ASK_FLOPS)
