# Symbol: a tensor whose numbers exist only when the traced program runs; and the one question that
# decides between running an op and recording it.

DATA_HINT = 997      # stands for a size that depends on data while shape rules run

cdef extern from *:
    """
    /* The graph that this thread's ops are recorded in (borrowed), or NULL: ops run. */
    static _Thread_local void *df_trace_top = NULL;
    """
    void *df_trace_top


@cython.final
cdef class Symbol(Tensor):
    """A tensor of a graph: dtype, shape and the node that makes it, no data.

    Attributes
    ----------
    node : Node
    index : int
        Which output of the node it is.
    graph : Graph
    from_data : bool
        Whether a size it depends on is known only when the program runs.
    sized_by_data : bool
        Whether some of its own sizes may be.
    """
    cdef public object node
    cdef public int index
    cdef readonly object graph
    cdef readonly bint from_data
    cdef readonly bint sized_by_data
    cdef tuple unknown          # a bool per dimension; None: all are known
    cdef tuple dims             # what `shape` gives where some are unknown

    @property
    def shape(self):
        """The dimensions; a Dim where a size may differ from call to call."""
        cdef list dims
        cdef int d
        if self.unknown is None:
            return shape_tuple(&self.t)
        if self.dims is None:
            dims = list(shape_tuple(&self.t))
            for d in range(self.t.ndim):
                if self.unknown[d] and dims[d] is not None:
                    dims[d] = Dim(dims[d], OF_A_SHAPE, (self, d), self.graph)
            self.dims = tuple(dims)
            if self.graph is not None:
                self.graph.sizes_seen = True
        return self.dims

    @property
    def known_shape(self):
        """The dimensions as plain numbers; None where a size may differ from call to call."""
        cdef int64_t dims[254]
        cdef int d
        if self.unknown is None:
            return shape_tuple(&self.t)
        for d in range(self.t.ndim):
            dims[d] = DF_UNKNOWN if self.unknown[d] else self.t.shape[d]
        return dims_tuple(self.t.ndim, dims)

    @property
    def size(self):
        """The number of elements."""
        cdef object n = 1
        if self.unknown is None and self.t.size != DF_TOO_MANY:
            return self.t.size
        for d in self.shape:
            n = n * d
        return n

    @property
    def nbytes(self):
        return self.size * df_dtypes[<int>self.t.dtype].bytes

    @property
    def name(self):
        """`node:index`, as TensorFlow writes it."""
        return f"{self.node.name}:{self.index}"

    @property
    def op(self):
        """The node that makes it."""
        return self.node

    def __len__(self):
        if self.t.ndim == 0:
            raise TypeError("len() of a tensor with shape ()")
        return self.shape[0].__index__()

    def __iter__(self):
        return self.no_value("iteration", "dualflow.unstack(x), or ops on the whole tensor")

    def __contains__(self, item):
        self.no_value("`in`", "dualflow.reduce_any(x == item)")
        return False

    def __bool__(self):
        self.no_value("bool()", "dualflow.where(condition, a, b) to choose between values, "
                      "logical_and, logical_or and logical_not for `and`, `or` and `not`, "
                      "maximum and minimum for max() and min(), debugging.assert_true for an "
                      "assertion, or decide by a Python value")
        return False

    def __int__(self):
        return self.no_value("int()", "dualflow.cast(x, dualflow.int64), or a Python number")

    def __float__(self):
        return self.no_value("float()", "dualflow.cast(x, dualflow.float32), or a Python number")

    def __index__(self):
        return self.no_value("use as an index, a length or in range()",
                             "dualflow.gather(x, i), dualflow.range(n), or a Python int")

    def __complex__(self):
        return self.no_value("complex()", "ops on the tensor")

    def item(self):
        return self.no_value(".item()", "the tensor itself, or return it from the function")

    def numpy(self):
        return self.no_value(".numpy()", "ops of dualflow in its place; to see the numbers, "
                             "dualflow.print(x), or return it from the function")

    def tolist(self):
        return self.no_value(".tolist()", "the tensor itself, or return it from the function")

    def __array__(self, dtype=None, copy=None):
        return self.no_value("a NumPy function", "the op of the same name in dualflow")

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        return self.no_value("DLPack", "ops of dualflow, or return it from the function")

    def __getbuffer__(self, Py_buffer *view, int flags):
        self.no_value("its memory (the buffer protocol)", "ops of dualflow, or return it "
                      "from the function")

    def __releasebuffer__(self, Py_buffer *view):
        pass

    def __reduce_ex__(self, protocol):
        return self.no_value("pickling", "a result of the function")

    def __format__(self, spec):
        return repr(self)

    def __repr__(self):
        return f"<dualflow.Symbol {self.name!r} shape={self.known_shape} dtype={self.dtype}>"

    cdef object no_value(self, str asked, str instead):
        self.graph.no_value(self, asked, instead)


cdef Symbol new_symbol(graph, df_dtype dtype, int ndim, const int64_t *shape, tuple unknown):
    cdef df_error err
    cdef Symbol x = Symbol.__new__(Symbol)
    check(df_tensor_set(&x.t, dtype, ndim, shape, b"symbol", &err), &err)
    x.graph = graph
    x.unknown = unknown if unknown is not None and True in unknown else None
    return x


def symbol(graph, node, int index, dtype, shape, hints=None, stands_for=None):
    """A Symbol that is output `index` of `node`.

    Parameters
    ----------
    shape : sequence of int or None
    hints : sequence of int or None, optional
        Sizes that stand for the unknown ones while shape rules run; None: it depends on data.
    stands_for : Variable or Tensor, optional
        Whose identity it takes, so that a tape that watches that watches it.
    """
    cdef int64_t dims[254]
    cdef int d, n = <int>len(shape)
    cdef list unknown = [False] * n
    cdef bint from_data = False
    cdef Symbol x
    if n > 254:
        raise _errors.ShapeError(f"a shape of {n} dimensions, want at most 254")
    for d in range(n):
        size = shape[d] if hints is None else hints[d]
        dims[d] = (DF_UNKNOWN if hints is None else DATA_HINT) if size is None else size
        unknown[d] = hints is not None and shape[d] is None
        from_data |= hints is not None and size is None
    x = new_symbol(graph, <df_dtype>(<int>dtype.index), n, dims, tuple(unknown))
    x.from_data = x.sized_by_data = from_data
    x.node = node
    x.index = index
    if isinstance(stands_for, Variable):
        x.id = (<Variable>stands_for).id
        x.watch = (<Variable>stands_for).trainable and df_is_float(x.t.dtype)
    elif stands_for is not None:
        x.id = (<Tensor?>stands_for).id
    return x


cdef void set_trace_top(graph) noexcept:
    """Whoever sets it keeps the graph alive."""
    global df_trace_top
    df_trace_top = <void *>graph if graph is not None else NULL


def current_graph():
    """The graph this thread records in, or None."""
    return <object>df_trace_top if df_trace_top != NULL else None


def evaluate(Op op, list inputs, Attrs attrs):
    """Runs an op outside any graph and tape: a tuple of Tensors.

    An input of which the op reads only the shape may be a Symbol.
    """
    cdef Op o = op
    cdef int k
    cdef void *log = df_log_top
    cdef void *graph = df_trace_top
    global df_log_top, df_trace_top
    for k in range(<int>len(inputs)):
        if type(inputs[k]) is not Tensor and not (k < 32 and o.c.shape_only >> k & 1):
            raise TypeError(f"{o.name}: input {k} is a {type(inputs[k]).__name__}, want a Tensor")
    df_log_top = NULL
    df_trace_top = NULL
    try:
        outs = run(o, inputs, attrs)
    finally:
        df_log_top = log
        df_trace_top = graph
    return outs if type(outs) is tuple else () if outs is None else (outs,)


cdef enum Question:
    ASK_VIEW
    ASK_WORKSPACE
    ASK_FLOPS


cdef double ask_call(Op op, list ins, list outs, Attrs attrs, Question what) except -2:
    """What the record says of described operands (numbers below 2^53); -1 where it says nothing."""
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
    """Byte at which the output of a view begins in input 0, or -1 where it must be computed."""
    return <int64_t>ask_call(op, list(inputs), list(outputs), attrs, ASK_VIEW)


def workspace_bytes(Op op, inputs, outputs, Attrs attrs):
    """Bytes of scratch memory of an application, or -1 where it needs none."""
    return <int64_t>ask_call(op, list(inputs), list(outputs), attrs, ASK_WORKSPACE)


def own_flops(Op op, inputs, outputs, Attrs attrs):
    """Arithmetic of an application as its record counts it; -1 where that is left to its kind."""
    return ask_call(op, list(inputs), list(outputs), attrs, ASK_FLOPS)


cdef object trace_op(Op op, PyObject **args, Py_ssize_t n, Attrs attrs, name):
    """Records an application in this thread's graph instead of running it."""
    cdef object graph = <object>df_trace_top
    cdef Pointers p_in, p_out
    cdef list ins, outs
    ins = graph.adopt(op, convert_inputs(op, args, n))
    outs = infer_traced(op, ins, attrs, graph)
    graph.record(op, ins, attrs, outs, name)
    if df_log_top != NULL and outs:
        init_pointers(&p_in)
        init_pointers(&p_out)
        try:
            point_at(&p_in, ins)
            point_at(&p_out, outs)
            record_all(op, attrs, p_in.objects, p_in.n, p_out.objects, p_out.n)
        finally:
            free_pointers(&p_in)
            free_pointers(&p_out)
    if len(outs) == 1 and op.c.n_out != DF_VARIADIC:
        return outs[0]
    return tuple(outs) if outs else None


cdef Tensor read_variable(Variable v):
    """The value of a variable: now, or while a graph records, the Symbol of its current version."""
    if df_trace_top != NULL:
        return <Tensor?>(<object>df_trace_top).read(v)
    return v.value_ if v.writer == NULL else value_when_possible(v)


cdef int check_alive(Symbol x, str who) except -1:
    """A Symbol is good only in its own graph, while that records."""
    if df_trace_top != <void *>x.graph:
        x.graph.escaped(x, who)
    return 0


cdef inline bint is_tensor(x):
    return type(x) is Tensor or type(x) is Symbol
