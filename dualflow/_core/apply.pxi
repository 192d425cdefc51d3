# Application of an op to operands of any kind: conversion, promotion, then execution or recording.
# Operators and functions of ops end in `apply_op`; its fast paths return the bits of the slow one.

cdef enum:
    FAST_ELEMENTS = 8192       # larger calls go to the tile loader, which may use threads
    SPLAT_ELEMENTS = 1024      # up to this size a scalar operand is repeated into an array


def apply(op, *inputs, name=None, **attrs):
    """Apply the op named `op`.

    Parameters
    ----------
    op : str
    *inputs : Tensor, Variable, number, array or nested lists
        Python numbers take the dtype of the tensor operands.
    name : str, optional
        Name of the node if the op is recorded in a graph; ignored in eager mode.
    **attrs
        All attributes of the op.

    Returns
    -------
    Tensor, tuple of Tensor, or None for an op without outputs
    """
    return apply_by_name(op, inputs, attrs, name)


@cython.binding(False)
def apply_ordered(Op op not None, tuple inputs not None, tuple attrs not None, name=None):
    """Apply an op with its attributes in the order of its record. Without a dict and the lookup of
    a name, a small call takes 0.1 us less."""
    return apply_tuple(op, inputs, pack_given(op, attrs) if attrs or op.c.n_attrs else None, name)


# Without a dict of attributes a small call takes 50 ns less; ``binding(False)`` saves another 10.
@cython.binding(False)
def apply_unary(str op not None, x, name=None):
    """Apply an op of one input without attributes."""
    cdef PyObject *args[1]
    args[0] = <PyObject *>x
    return apply_op(find_op(op), args, 1, None, name)


@cython.binding(False)
def apply_binary(str op not None, x, y, name=None):
    """Apply an op of two inputs without attributes."""
    cdef PyObject *args[2]
    args[0] = <PyObject *>x
    args[1] = <PyObject *>y
    return apply_op(find_op(op), args, 2, None, name)


cdef object apply_by_name(op, tuple inputs, dict attrs, name=None):
    cdef Op found = find_op(op)
    return apply_tuple(found, inputs,
                       pack_attrs(found, attrs) if attrs or found.c.n_attrs else None, name)


cdef object apply_tuple(Op op, tuple inputs, Attrs attrs, name):
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
        return apply_op(op, args, n, attrs, name)
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
    """Compare elements with == or !=. None, text and types are unequal to every tensor."""
    if b is None or isinstance(b, (str, bytes, type)):
        return NotImplemented
    if has_methods(a) and not asked_by_us():
        return (a is b) == (op is OP_EQUAL)
    return binary(op, a, b)


cdef list convert_inputs(Op op, PyObject **args, Py_ssize_t n):
    """Return the inputs as tensors; promotion casts those that take part in it to one dtype.
    Return None if one of them is an Operand."""
    cdef list ins = [None] * n
    cdef Py_ssize_t i
    cdef bint same_dtype = not (op.c.promote_to_float or autocasts(op))
    cdef object async_role = dtype_beside(op, args, n)
    for i in range(n):
        a = <object>args[i]
        if type(a) is Tensor and not op.c.writes:
            ins[i] = a
            same_dtype = same_dtype and (<Tensor>a).t.dtype == (<Tensor>ins[0]).t.dtype
            continue
        same_dtype = False
        if op.c.writes >> i & 1 if i < 32 else False:
            a = unwrapped(a)
            if not isinstance(a, Variable) and not is_version(a):
                raise _errors.DTypeError(f"{op.name}: input {i} is written, expected a Variable, "
                                         f"got {type(a).__name__}")
        if type(a) is Tensor:
            ins[i] = a
        elif type(a) is Symbol:
            check_alive(<Symbol>a, op.name)
            ins[i] = a
        elif isinstance(a, Variable):
            ins[i] = read_variable(<Variable>a)
        elif not (promotes(op, i) and is_number(a)):
            if has_operand(args, n):
                return None
            ins[i] = to_tensor(a, async_role if promotes(op, i) else None, op.name)
    return ins if same_dtype else promoted(op, args, ins)


cdef bint has_operand(PyObject **args, Py_ssize_t n) noexcept:
    """Return True if one of the inputs is an Operand."""
    cdef Py_ssize_t i
    for i in range(n):
        if isinstance(<object>args[i], Operand):
            return True
    return False


cdef object apply_by_operand(Op op, PyObject **args, Py_ssize_t n, Attrs attrs, name):
    """Return the result of the op from the first Operand among the inputs that accepts the op."""
    cdef list inputs = []
    cdef Py_ssize_t i
    for i in range(n):
        inputs.append(<object>args[i])
    given = {}
    for i in range(op.c.n_attrs):
        value = attrs.values[i]
        if op.c.attrs[i].type == DF_ATTR_DTYPE:
            value = _dtypes.ALL[value]
        given[op.attrs[i]] = value
    for x in inputs:
        if isinstance(x, Operand):
            made = x._apply_op(op.name, tuple(inputs), given, name)
            if made is not NotImplemented:
                return made
    for x in inputs:
        if isinstance(x, Operand):
            to_tensor(x, None, op.name)             # raises an error


cdef object trace_converted(Op op, PyObject **args, Py_ssize_t n, Attrs attrs, name):
    """Record an op in the graph of this thread, with operands of any kind."""
    cdef list ins = convert_inputs(op, args, n)
    if ins is None:
        return apply_by_operand(op, args, n, attrs, name)
    return trace_op(op, ins, attrs, name)


cdef object dtype_beside(Op op, PyObject **args, Py_ssize_t n):
    """Return the dtype for arrays and lists among the operands: in a graph with a face (compat.v1),
    the dtype of the first tensor; else None, so that they keep their own."""
    cdef Py_ssize_t i
    if df_trace_top != NULL and (<object>df_trace_top).methods is not None:
        for i in range(n):
            if promotes(op, i):
                a = unwrapped(<object>args[i])
                if isinstance(a, TensorBase):
                    return a.dtype
    return None


cdef bint is_version(x):
    """Return True if `x` is a Symbol of a variable's value, which an op may write."""
    return type(x) is Symbol and (<Symbol>x).graph.variable_of(x) is not None


cdef object apply_op(Op op, PyObject **args, Py_ssize_t n, Attrs attrs, name=None):
    cdef Pointers p
    cdef Tensor out
    cdef list ins
    cdef Tape tape
    if df_trace_top != NULL:
        graph = other_graph(args, n)
        if graph is not None:
            top = <object>df_trace_top
            tape = begin_in_graph(graph)
            try:
                return trace_converted(op, args, n, attrs, name)
            finally:
                end_in_graph(tape)
                set_trace_top(top)
        return trace_converted(op, args, n, attrs, name)
    if op.fast != FAST_NONE and not checking_numerics:
        out = fast_elementwise(op, args, n, attrs)
        if out is not None:
            return out
    graph = graph_of_sizes(attrs) if attrs is not None and attrs.symbolic else None
    if graph is None and are_ready(op, args, n, &p):
        return run_ready(op, &p, attrs)
    ins = convert_inputs(op, args, n)
    if ins is None:
        return apply_by_operand(op, args, n, attrs, name)
    if graph is None:
        graph = graph_among(ins)
    if graph is not None:              # open: the conversion has checked that
        tape = begin_in_graph(graph)
        try:
            return trace_converted(op, args, n, attrs, name)
        finally:
            end_in_graph(tape)
    return run_writing(op, args, ins, attrs) if op.c.writes else run(op, ins, attrs)


cdef object graph_of_sizes(Attrs attrs):
    """Return the open graph that a Dim among the attributes belongs to, or None. The op is recorded
    there; a Dim of a suspended trace counts as its hint."""
    cdef object d
    for value in attrs.values:
        for d in (value if type(value) is tuple else (value,)):
            if type(d) is Dim:
                (<Dim>d).want_alive()
                if (<Dim>d).graph.is_open:
                    return (<Dim>d).graph
    return None


cdef object other_graph(PyObject **args, Py_ssize_t n):
    """Return the open graph of all traced inputs if this thread records in another open graph: an
    op is recorded in the graph of its inputs. None: record in the graph of this thread."""
    cdef object top = <object>df_trace_top, found = None
    cdef Py_ssize_t i
    for i in range(n):
        x = unwrapped(<object>args[i]) if type(<object>args[i]) is not Symbol else <object>args[i]
        if type(x) is not Symbol:
            continue
        if (<Symbol>x).graph is top or not (<Symbol>x).graph.is_open or (
                found is not None and found is not (<Symbol>x).graph):
            return None
        found = (<Symbol>x).graph
    return None if found is None or not top.is_open or found.goes_on_in(top) else found


cdef bint are_ready(Op op, PyObject **args, Py_ssize_t n, Pointers *p) noexcept:
    """Return True, with the operands in `p`, if no input needs conversion: a few tensors, and
    variables that no thread writes, those that take part in promotion of one dtype."""
    cdef Py_ssize_t i
    cdef PyObject *o
    cdef df_tensor *x
    cdef df_tensor *first = NULL
    if (op.c.writes or op.c.promote_to_float or not 0 < n <= INLINE_OPERANDS
            or autocasts(op)):
        return False
    init_pointers(p)
    p.n = <int>n
    for i in range(n):
        o = args[i]
        if type(<object>o) is Variable and (<Variable>o).writer == NULL and (
                (<Variable>o).value_ is not None):
            o = <PyObject *>(<Variable>o).value_
        elif type(<object>o) is not Tensor:
            return False
        x = &(<Tensor>o).t
        if promotes(op, i):
            if first != NULL and x.dtype != first.dtype:
                return False
            first = x
        p.tensors[i] = x
        p.objects[i] = o
    return True


cdef object run_ready(Op op, const Pointers *p, Attrs attrs):
    """Run with references to the inputs, because another thread may assign to a variable."""
    cdef int i
    for i in range(p.n):
        Py_INCREF(<object>p.objects[i])
    try:
        return run_at(op, p, attrs)
    finally:
        for i in range(p.n):
            Py_DECREF(<object>p.objects[i])


cdef object run_writing(Op op, PyObject **args, list ins, Attrs attrs):
    """Run an op that writes variables, with their write locks held."""
    cdef PyObject *variables[MAX_WRITTEN]
    cdef int places[MAX_WRITTEN]
    cdef LockRequest request
    cdef Variable v
    cdef int k
    request.n_reads = request.n_writes = 0
    request.writes = variables
    for k in range(<int>min(len(ins), MAX_WRITTEN)):
        if op.c.writes >> k & 1:
            variables[request.n_writes] = args[k]
            places[request.n_writes] = k
            request.n_writes += 1
            ins[k] = None              # one more reference would force a copy
    acquire_variables(&request)
    try:
        for k in range(request.n_writes):
            v = <Variable>variables[k]
            make_exclusive(v)
            ins[places[k]] = v.value_
        return run(op, ins, attrs)
    finally:
        release_variables(&request)


cdef Tensor fast_elementwise(Op op, PyObject **args, Py_ssize_t n, Attrs attrs):
    """Call the tile function of an elementwise op directly on small tensors and variables of one
    dtype and shape. One of two operands may be a scalar, a number, or a row of the other.

    Return None if the operands do not qualify.
    """
    cdef PyObject *ins[4]
    cdef const void *data[4]
    cdef int64_t buffer[2 * SPLAT_ELEMENTS]      # elements have at most 16 bytes
    cdef Tensor x = None, other, number = None, out
    cdef df_tile_fn fn
    cdef Py_ssize_t i
    cdef PyObject *result
    if n != op.c.n_in or n > 4 or op.c.promote != (<uint32_t>1 << n) - 1 or autocasts(op):
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
        if x is None or x.t.ndim < other.t.ndim:
            x = other
    if x is None or x.t.size > FAST_ELEMENTS or x.t.ndim > DF_INLINE_NDIM:
        return None
    fn = op.run_cached[<int>x.t.dtype]
    if fn == NULL:
        return None
    for i in range(n):
        if ins[i] == NULL:
            if x.t.size > SPLAT_ELEMENTS or not splat_number(buffer, <object>args[i], x):
                return None
            data[i] = buffer
            if df_tape_top != NULL:
                number = scalar_tensor(<object>args[i], x.t.dtype, op.name)
                ins[i] = <PyObject *>number
            continue
        other = <Tensor>ins[i]
        if other.t.dtype != x.t.dtype:
            return None
        if df_same_shape(&other.t, &x.t):
            data[i] = other.t.data
        elif other.t.ndim == 0 and n == 2 and x.t.size <= SPLAT_ELEMENTS:
            splat(buffer, other.t.data, df_dtypes[<int>x.t.dtype].bytes, x.t.size)
            data[i] = buffer
        elif other.t.ndim == 1 and n == 2 and 0 < x.t.size <= SPLAT_ELEMENTS and (
                other.t.size == x.t.shape[x.t.ndim - 1]):
            repeat_row(buffer, other, x.t.size)
            data[i] = buffer
        else:
            return None
    out = new_like(x, x.t.dtype if op.fast == FAST_SAME else DF_BOOL, op)
    fn(x.t.size, out.t.data, data, attrs.c if attrs is not None else NULL)
    if df_tape_top != NULL:
        result = <PyObject *>out
        record_all(op, attrs, ins, <int>n, &result, 1)
    return out


cdef void repeat_row(void *buffer, Tensor row, int64_t n) noexcept:
    """Write n elements: copies of a row."""
    cdef int64_t i, bytes = df_tensor_bytes(&row.t)
    for i in range(n // row.t.size):
        memcpy(<char *>buffer + i * bytes, row.t.data, bytes)


cdef inline Tensor new_like(Tensor x, df_dtype dtype, Op op):
    """Return an uninitialised tensor of the shape of `x`, whose rank is at most DF_INLINE_NDIM."""
    cdef Tensor out = blank()
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


def filled(value, like):
    """Return a tensor with the dtype and shape of a Tensor or TensorSpec, filled with `value`."""
    cdef int64_t dims[254]
    cdef int ndim, d
    cdef df_dtype dtype
    cdef Tensor x
    cdef char *data
    cdef int64_t i, step
    if df_trace_top != NULL and type(like) is Symbol and (<Symbol>like).data_dependent:
        return filled_like(value, <Symbol>like)
    if df_trace_top != NULL and isinstance(like, (Symbol, Variable)):
        x = scalar_tensor(value, <df_dtype>(<int>like.dtype.index), "filled")
        return apply_by_name("broadcast_to", (x,), {"shape": dims_of(like)})
    if type(like) is Tensor:
        x = <Tensor>like
        x = new_tensor(x.t.dtype, x.t.ndim, x.t.shape, b"filled")
    else:
        shape = dims_of(like)
        ndim = <int>len(shape)
        for d in range(ndim):
            dims[d] = shape[d]
        x = new_tensor(<df_dtype>(<int>(like.dtype.index)), ndim, dims, b"filled")
    if x.t.size == 0:
        return x
    dtype = x.t.dtype
    store_number(x, 0, value, "filled")
    step = df_dtypes[<int>dtype].bytes
    data = <char *>x.t.data
    for i in range(1, x.t.size):
        memcpy(data + i * step, data, step)
    return x


cdef Tensor filled_like(value, Symbol like):
    """Return 0 or 1 for each element of `like`, whose sizes are known only at run time."""
    same = apply_by_name("equal", (like, like), {})              # False for a NaN
    bits = apply_by_name("equal" if value else "not_equal", (same, same), {})
    return cast_to(bits, like.t.dtype)
