# The one way an op is applied: inputs in, promotion, shape rule, allocation, kernel, record.

cdef enum:
    INLINE_OPERANDS = 8
    FAST_ELEMENTS = 8192       # beyond it the tile loader may use threads
    SPLAT_ELEMENTS = 1024      # up to here a scalar operand is copied out rather than broadcast
    NOGIL_ELEMENTS = 16384     # releasing the GIL costs more than smaller kernels

cdef bint checking_numerics = False        # whether every op's result is looked at


def set_check_numerics(bint on):
    """Whether an op that makes a NaN or an infinity raises; of ops that run at once."""
    global checking_numerics
    checking_numerics = on


def checks_numerics():
    return checking_numerics


def apply(op, *inputs, name=None, **attrs):
    """Applies the op called `op`.

    Parameters
    ----------
    op : str
    *inputs : Tensor, Variable, number, array or nested lists
        Python numbers take the dtype of the tensors beside them.
    name : str, optional
        Name of the node where the op becomes one of a graph; eager ops have none.
    **attrs
        The op's attributes, all of them.

    Returns
    -------
    Tensor, tuple of Tensor, or None for an op without outputs
    """
    return apply_by_name(op, inputs, attrs, name)


cdef object apply_by_name(op, tuple inputs, dict attrs, name=None):
    cdef Op found = find_op(op)
    cdef PyObject *few[INLINE_OPERANDS]
    cdef PyObject **args = few
    cdef Py_ssize_t i, n = len(inputs)
    if n > INLINE_OPERANDS:
        args = <PyObject **>PyMem_Malloc(n * sizeof(PyObject *))
        if args == NULL:
            raise MemoryError()
    try:
        for i in range(n):
            args[i] = <PyObject *>inputs[i]
        return apply_op(found, args, n,
                        pack_attrs(found, attrs) if attrs or found.c.n_attrs else None, name)
    finally:
        if args != few:
            PyMem_Free(args)


cdef object binary(Op op, a, b):
    cdef PyObject *args[2]
    args[0] = <PyObject *>a
    args[1] = <PyObject *>b
    return apply_op(op, args, 2, None)


cdef object unary(Op op, x):
    cdef PyObject *args[1]
    args[0] = <PyObject *>x
    return apply_op(op, args, 1, None)


cdef object equality(Op op, a, b):
    """== and != compare elements; what is no tensor and cannot become one is simply different."""
    if b is None or isinstance(b, (str, bytes, type)):
        return NotImplemented
    return binary(op, a, b)


cdef object apply_op(Op op, PyObject **args, Py_ssize_t n, Attrs attrs, name=None):
    cdef Tensor out
    cdef list ins
    if df_trace_top != NULL:
        return trace_op(op, args, n, attrs, name)
    if op.fast != FAST_NONE and not checking_numerics:
        out = fast_elementwise(op, args, n, attrs)
        if out is not None:
            return out
    ins = convert_inputs(op, args, n)
    return run_writing(op, args, ins, attrs) if op.c.writes else run(op, ins, attrs)


cdef object run_writing(Op op, PyObject **args, list ins, Attrs attrs):
    """Runs an op that writes variables, which no other thread does meanwhile."""
    cdef PyObject *variables[MAX_WRITTEN]
    cdef int places[MAX_WRITTEN]
    cdef Claim claim
    cdef Variable v
    cdef int k
    claim.n_reads = claim.n_writes = 0
    claim.writes = variables
    for k in range(<int>min(len(ins), MAX_WRITTEN)):
        if op.c.writes >> k & 1:
            variables[claim.n_writes] = args[k]
            places[claim.n_writes] = k
            claim.n_writes += 1
            ins[k] = None              # a reference more, and there would be a copy
    stake(&claim)
    try:
        for k in range(claim.n_writes):
            v = <Variable>variables[k]
            v.make_exclusive()
            ins[places[k]] = v.value_
        return run(op, ins, attrs)
    finally:
        let_go(&claim)


cdef Tensor fast_elementwise(Op op, PyObject **args, Py_ssize_t n, Attrs attrs):
    """Small elementwise calls straight to the tile function: tensors and variables of one dtype and
    shape, one of two operands perhaps a scalar or a Python number.

    None where that does not apply.
    """
    cdef PyObject *ins[4]
    cdef const void *data[4]
    cdef int64_t room[SPLAT_ELEMENTS]
    cdef Tensor x = None, other, number = None, out
    cdef df_tile_fn fn
    cdef Py_ssize_t i
    cdef PyObject *result
    if n != op.c.n_in or n > 4 or op.c.promote != (<uint32_t>1 << n) - 1:
        return None
    for i in range(n):
        if type(<object>args[i]) is Tensor:
            ins[i] = args[i]
        elif type(<object>args[i]) is Variable:
            if (<Variable>args[i]).writer != NULL:
                return None
            ins[i] = <PyObject *>(<Variable>args[i]).value_
        elif n == 2 and (type(<object>args[i]) is float or type(<object>args[i]) is int):
            ins[i] = NULL
            continue
        else:
            return None
        other = <Tensor>ins[i]
        if x is None or (x.t.ndim == 0 and other.t.ndim > 0):
            x = other
    if x is None or x.t.size > FAST_ELEMENTS or x.t.ndim > DF_INLINE_NDIM:
        return None
    fn = op.quick[<int>x.t.dtype]
    if fn == NULL:
        return None
    for i in range(n):
        if ins[i] == NULL:
            if x.t.size > SPLAT_ELEMENTS or not splat_number(room, <object>args[i], x):
                return None
            data[i] = room
            if df_log_top != NULL:
                number = scalar_tensor(<object>args[i], x.t.dtype, op.name)
                ins[i] = <PyObject *>number
            continue
        other = <Tensor>ins[i]
        if other.t.dtype != x.t.dtype:
            return None
        if same_inline_dims(&other.t, &x.t):
            data[i] = other.t.data
        elif other.t.ndim == 0 and n == 2 and x.t.size <= SPLAT_ELEMENTS:
            splat(room, other.t.data, df_dtypes[<int>x.t.dtype].bytes, x.t.size)
            data[i] = room
        else:
            return None
    out = new_like(x, x.t.dtype if op.fast == FAST_SAME else DF_BOOL, op)
    fn(x.t.size, out.t.data, data, attrs.c if attrs is not None else NULL)
    if df_log_top != NULL:
        result = <PyObject *>out
        record_all(op, attrs, ins, <int>n, &result, 1)
    return out


cdef inline bint same_inline_dims(const df_tensor *a, const df_tensor *b) noexcept:
    cdef int d
    if a.ndim != b.ndim:
        return False
    for d in range(a.ndim):
        if a.dims[d] != b.dims[d]:
            return False
    return True


cdef inline Tensor new_like(Tensor x, df_dtype dtype, Op op):
    """An uninitialised tensor of the shape of `x`, whose dimensions are inline."""
    cdef Tensor out = Tensor.__new__(Tensor)
    cdef df_buffer *buffer = df_buffer_new(x.t.size * df_dtypes[<int>dtype].bytes)
    cdef int d
    if buffer == NULL:
        raise _errors.ResourceExhaustedError(f"{op.name}: no memory for {describe(x)}")
    out.t.dtype = dtype
    out.t.size = x.t.size
    out.t.ndim = x.t.ndim
    for d in range(x.t.ndim):
        out.t.dims[d] = x.t.dims[d]
    out.t.shape = out.t.dims
    out.t.buffer = buffer
    out.t.data = buffer.data
    return out


cdef inline bint splat_number(void *room, value, Tensor x) except -1:
    """Fills `room` with a Python number in the dtype of `x`; False where the slow path must."""
    cdef float narrow
    cdef double wide
    cdef uint16_t half
    if x.t.dtype == DF_F32:
        narrow = <float><double>value
        splat(room, &narrow, 4, x.t.size)
        return True
    if x.t.dtype == DF_F64:
        wide = value
        splat(room, &wide, 8, x.t.size)
        return True
    if x.t.dtype == DF_F16 or x.t.dtype == DF_BF16:
        half = df_f64_to_half(value, x.t.dtype)
        splat(room, &half, 2, x.t.size)
        return True
    return False


cdef void splat(void *room, const void *value, int bytes, int64_t n) noexcept nogil:
    """n copies of one element."""
    cdef int64_t i
    cdef int32_t four
    cdef int64_t eight
    if bytes == 4:
        memcpy(&four, value, 4)
        for i in range(n):
            (<int32_t *>room)[i] = four
    elif bytes == 8:
        memcpy(&eight, value, 8)
        for i in range(n):
            (<int64_t *>room)[i] = eight
    else:
        for i in range(n):
            memcpy(<char *>room + i * bytes, value, bytes)


cdef list convert_inputs(Op op, PyObject **args, Py_ssize_t n):
    """Inputs as tensors; those that take part in promotion all of one dtype."""
    cdef list ins = [None] * n
    cdef Py_ssize_t i
    cdef int common = -1
    cdef uint32_t mask = op.c.promote
    cdef bint all_promote = op.c.n_in == DF_VARIADIC and mask != 0
    cdef Tensor x
    cdef df_dtype dtype
    for i in range(n):
        a = <object>args[i]
        if op.c.writes >> i & 1 if i < 32 else False:
            a = unwrapped(a)
            if not isinstance(a, Variable):
                raise _errors.DTypeError(f"{op.name}: input {i} is written, want a Variable, "
                                         f"got {type(a).__name__}")
        if type(a) is Tensor:
            x = <Tensor>a
        elif type(a) is Symbol:
            check_alive(<Symbol>a, op.name)
            x = <Tensor>a
        elif isinstance(a, Variable):
            x = read_variable(<Variable>a)
        elif is_number(a):
            continue
        else:
            x = to_tensor(a, None, op.name)
        ins[i] = x
        if all_promote or (i < 32 and mask >> i & 1):
            common = x.t.dtype if common < 0 else df_promote(<df_dtype>common, x.t.dtype)
    for i in range(n):                          # numbers: weak beside tensors
        if ins[i] is None and (all_promote or (i < 32 and mask >> i & 1)):
            a = <object>args[i]
            dtype = number_dtype(a) if common < 0 else weak_dtype(a, <df_dtype>common)
            common = dtype if common < 0 else df_promote(<df_dtype>common, dtype)
    if common >= 0 and op.c.promote_to_float and not df_is_float(<df_dtype>common):
        common = DF_F64 if common == DF_I64 else DF_F32
    for i in range(n):
        a = ins[i]
        if all_promote or (i < 32 and mask >> i & 1):
            if a is None:
                ins[i] = number_tensor(<object>args[i], <df_dtype>common, op.name)
            elif (<Tensor>a).t.dtype != <df_dtype>common:
                ins[i] = cast_to(<Tensor>a, <df_dtype>common)
        elif a is None:
            ins[i] = to_tensor(<object>args[i], None, op.name)
    return ins


cdef Tensor number_tensor(value, df_dtype dtype, str who):
    if type(value) is Dim:
        return traced_number(value, dtype)
    return scalar_tensor(value, dtype, who)


cdef Tensor traced_number(value, df_dtype dtype):
    """A Dim as a tensor of the graph."""
    (<Dim>value).want_alive()
    if (df_trace_top != <void *>(<Dim>value).graph
            and not (<Dim>value).graph.goes_on_in(current_graph())):
        raise _errors.TracedValueError(
            f"a number that changes from call to call ({value!r}) was used outside its function")
    return <Tensor?>(<object>df_trace_top).number(value, DTYPES[<int>dtype])


cdef struct Pointers:
    # Operands of a call as C wants them, in memory of its own where there are many.
    int n
    df_tensor **tensors
    PyObject **objects
    df_tensor *few_tensors[8]
    PyObject *few_objects[8]


cdef inline void init_pointers(Pointers *p) noexcept:
    p.tensors = p.few_tensors
    p.objects = p.few_objects


cdef int point_at(Pointers *p, list tensors) except -1:
    cdef int i
    p.n = <int>len(tensors)
    init_pointers(p)
    if p.n > INLINE_OPERANDS:
        p.tensors = <df_tensor **>PyMem_Malloc(p.n * sizeof(df_tensor *))
        p.objects = <PyObject **>PyMem_Malloc(p.n * sizeof(PyObject *))
        if p.tensors == NULL or p.objects == NULL:
            free_pointers(p)
            raise MemoryError()
    for i in range(p.n):
        p.objects[i] = <PyObject *>tensors[i]
        p.tensors[i] = &(<Tensor>tensors[i]).t
    return 0


cdef void free_pointers(Pointers *p) noexcept:
    if p.tensors != p.few_tensors:
        PyMem_Free(p.tensors)
    if p.objects != p.few_objects:
        PyMem_Free(p.objects)
    init_pointers(p)


cdef object run(Op op, list ins, Attrs attrs):
    """Infers, allocates, runs and records. `ins` are tensors of the right dtypes."""
    cdef Pointers p_in, p_out
    cdef df_call call
    cdef df_error err
    cdef list outs
    cdef int k
    call.op = op.c
    call.attrs = attrs.c if attrs is not None else NULL
    call.workspace = NULL
    call.prepared = NULL
    init_pointers(&p_in)
    init_pointers(&p_out)
    try:
        point_at(&p_in, ins)
        call.n_in = p_in.n
        call.in_ = <const df_tensor *const *>p_in.tensors
        call.n_out = op.c.n_out
        if call.n_out == DF_VARIADIC:
            call.n_out = op.c.count_out(&call)
        outs = [None] * call.n_out
        for k in range(call.n_out):
            outs[k] = Tensor.__new__(Tensor)
        point_at(&p_out, outs)
        call.out = <df_tensor *const *>p_out.tensors
        check(df_op_infer(&call, &err), &err)
        if not share_view(op, &call, ins, outs):
            compute(op, &call)
            if checking_numerics:
                check(df_op_check_numerics(&call, &err), &err)
        if df_log_top != NULL and call.n_out:
            record_all(op, attrs, p_in.objects, p_in.n, p_out.objects, p_out.n)
    finally:
        free_pointers(&p_in)
        free_pointers(&p_out)
    if len(outs) == 1 and op.c.n_out != DF_VARIADIC:
        return outs[0]
    return tuple(outs) if outs else None


cdef bint share_view(Op op, df_call *call, list ins, list outs):
    """Lets a view look at its input's memory; False where the op must compute."""
    cdef int64_t offset
    cdef Tensor x, y
    if op.c.view == NULL:
        return False
    offset = op.c.view(call)
    if offset < 0:
        return False
    x = <Tensor>ins[0]
    y = <Tensor>outs[0]
    y.t.buffer = x.t.buffer
    y.t.data = <char *>x.t.data + offset
    df_buffer_retain(y.t.buffer)
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
    if op.c.workspace != NULL:
        n_bytes = df_op_workspace(call)
        workspace = df_buffer_new(n_bytes) if n_bytes >= 0 else NULL
        if workspace == NULL:
            raise _errors.ResourceExhaustedError(
                f"{op.name}: no memory for {n_bytes} bytes of workspace")
        call.workspace = workspace.data
    if elements > NOGIL_ELEMENTS and not op.c.writes:   # nobody may look at a half-written variable
        with nogil:
            status = df_op_run(call, &err)
    else:
        status = df_op_run(call, &err)
    df_buffer_release(workspace)
    return check(status, &err)
