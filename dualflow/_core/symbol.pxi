# Symbol: a tensor whose numbers exist only when the traced program runs; and the one question that
# decides between running an op and recording it.

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
    hints : sequence of int, optional
        Sizes that stand for the unknown ones while shape rules run.
    stands_for : Variable or Tensor, optional
        Whose identity it takes, so that a tape that watches that watches it.
    """
    cdef int64_t dims[254]
    cdef int d, n = <int>len(shape)
    cdef list unknown = [False] * n
    cdef Symbol x
    if n > 254:
        raise _errors.ShapeError(f"a shape of {n} dimensions, want at most 254")
    for d in range(n):
        size = shape[d] if hints is None else hints[d]
        dims[d] = DF_UNKNOWN if size is None else size
        unknown[d] = hints is not None and shape[d] is None
    x = new_symbol(graph, <df_dtype>(<int>dtype.index), n, dims, tuple(unknown))
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


DATA_HINT = 997      # stands for a size that depends on data while shape rules run


cdef bint has_dims(Attrs attrs):
    return attrs is not None and attrs.symbolic


cdef list infer_call(Op op, list ins, Attrs attrs, bint hide):
    """Output descriptions of one application: fresh Symbols without a graph. `hide`: unknown
    dimensions are -1 instead of their hints."""
    cdef Pointers p_in, p_out
    cdef df_call call
    cdef df_error err
    cdef list outs, plain = ins
    cdef int k
    if hide:
        plain = []
        for x in ins:
            plain.append(hidden_copy(x))
    memset(&call, 0, sizeof(call))
    call.op = op.c
    call.attrs = attrs.c if attrs is not None else NULL
    init_pointers(&p_in)
    init_pointers(&p_out)
    try:
        point_at(&p_in, plain)
        call.n_in = p_in.n
        call.in_ = <const df_tensor *const *>p_in.tensors
        call.n_out = op.c.n_out
        if call.n_out == DF_VARIADIC:
            call.n_out = op.c.count_out(&call)
        outs = [None] * call.n_out
        for k in range(call.n_out):
            outs[k] = Symbol.__new__(Symbol)
        point_at(&p_out, outs)
        call.out = <df_tensor *const *>p_out.tensors
        check(df_op_infer(&call, &err), &err)
    finally:
        free_pointers(&p_in)
        free_pointers(&p_out)
    return outs


cdef Tensor hidden_copy(Tensor x):
    """A description of `x` with -1 where its dimensions are unknown."""
    cdef int64_t dims[254]
    cdef int d
    cdef tuple unknown = (<Symbol>x).unknown if type(x) is Symbol else None
    if unknown is None:
        return x
    for d in range(x.t.ndim):
        dims[d] = -1 if unknown[d] else x.t.shape[d]
    return new_symbol(None, x.t.dtype, x.t.ndim, dims, None)


def infer(Op op, list inputs, Attrs attrs, graph):
    """The outputs of an op as Symbols of `graph`, whose node and index are still to be set.

    Dimensions are -1 where they depend on sizes that are.
    """
    cdef list outs = infer_call(op, inputs, attrs, False)
    for x in outs:
        (<Symbol>x).graph = graph
    return outs


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


cdef list infer_traced(Op op, list ins, Attrs attrs, graph):
    """Outputs of an op while Python is traced: hints for all sizes, and which are unknown."""
    cdef list outs, hidden
    cdef Symbol y
    cdef bint some = has_dims(attrs)
    cdef bint from_data = attrs is not None and attrs.from_data
    cdef bint sized_by_data = from_data
    cdef int k, d
    for x in ins:
        if type(x) is Symbol:
            from_data |= (<Symbol>x).from_data
            if (<Symbol>x).unknown is not None:
                some = True
                sized_by_data |= (<Symbol>x).sized_by_data
    try:
        outs = infer_call(op, ins, attrs, False)
    except _errors.DualflowError:
        if not sized_by_data or has_dims(attrs):
            raise
        outs = infer_call(op, ins, attrs, True)      # the hint does not fit; what is there may
        some = False
    hidden = infer_hidden(op, ins, attrs, graph) if some and not has_dims(attrs) else None
    for k in range(<int>len(outs)):
        y = <Symbol>outs[k]
        y.graph = graph
        if y.t.size < 0:
            outs[k] = y = data_sized(y)
            from_data = sized_by_data = True
        elif has_dims(attrs):
            y.unknown = tuple([True] * y.t.ndim) if y.t.ndim else None
        elif some:
            unknown = unknown_dims(&(<Symbol>hidden[k]).t)
            y.unknown = unknown if True in unknown else None
        y.from_data = from_data
        y.sized_by_data = sized_by_data
    return outs


cdef list infer_hidden(Op op, list ins, Attrs attrs, graph):
    """Outputs with -1 for what is unknown. Where the rule wants a size known, the trace is bound to
    its hint: one size if that is enough, else all."""
    cdef list known, places
    try:
        return infer_call(op, ins, attrs, True)
    except _errors.DualflowError:
        places = []
        for k, x in enumerate(ins):
            if type(x) is Symbol:
                for d, hidden in enumerate((<Symbol>x).unknown or ()):
                    if hidden:
                        places.append((k, d))
    for k, d in places:
        known = list(ins)
        known[k] = with_known(<Symbol>ins[k], d)
        try:
            outs = infer_call(op, known, attrs, True)
        except _errors.DualflowError:
            continue
        bind_size((<Symbol>ins[k]).shape[d])
        return outs
    for k, d in places:
        bind_size((<Symbol>ins[k]).shape[d])
    return infer_call(op, ins, attrs, False)


cdef object bind_size(Dim d):
    """Makes the trace hold only for the size that a dimension has now."""
    d.graph.guard("eq", (d, d.hint), True)


cdef Symbol with_known(Symbol x, int d):
    """A description of `x` whose dimension d is known."""
    cdef list unknown = list(x.unknown)
    unknown[d] = False
    return new_symbol(x.graph, x.t.dtype, x.t.ndim, x.t.shape, tuple(unknown))


cdef Symbol data_sized(Symbol y):
    """`y`, whose size depends on data, with a hint in place of each size that is not known."""
    cdef int64_t dims[254]
    cdef int d
    for d in range(y.t.ndim):
        dims[d] = DATA_HINT if y.t.shape[d] < 0 else y.t.shape[d]
    return new_symbol(y.graph, y.t.dtype, y.t.ndim, dims, unknown_dims(&y.t))


cdef tuple unknown_dims(const df_tensor *t):
    """A bool per dimension."""
    cdef list unknown = [None] * t.ndim
    cdef int d
    for d in range(t.ndim):
        unknown[d] = t.shape[d] < 0
    return tuple(unknown)


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
