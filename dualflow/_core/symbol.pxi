# Symbol: a tensor of a graph, whose data exists only while the program runs. Also the graph in
# which a thread records. A trace creates Symbols; they are valid only in it (`check_alive`).


SIZE_HINT = 5040     # the hint of any size in a graph for all sizes: it has many divisors, and
                     # other sizes rarely equal it, so that ops do not confuse two sizes

cdef extern from *:
    """
    /* The graph in which this thread records ops (borrowed), or NULL: ops are executed. */
    static DF_THREAD_LOCAL void *df_trace_top = NULL;
    """
    void *df_trace_top


@cython.final
cdef class Symbol(Tensor):
    """A tensor of a graph: dtype, shape and the node that computes it, without data.

    Attributes
    ----------
    node : Node
    index : int
        The index among the outputs of the node.
    graph : Graph
    data_dependent : bool
        Whether it depends on a size that is known only at run time.
    data_dependent_shape : bool
        Whether its own sizes may be known only at run time.
    row : Symbol or None
        If a loop stacks or packs one value per iteration in the Symbol: a Symbol like one value.
    """
    @property
    def shape(self):
        """The dimensions, with a Dim for each size that may differ from call to call."""
        if self.unknown is not None and self.graph is not None:
            self.graph.sizes_seen = True
        if has_methods(self) and not asked_by_us():
            return self.graph.methods.shape_of(self, sizes_of(self))
        return sizes_of(self) if asked_by_us() else as_shape(sizes_of(self))

    @property
    def known_shape(self):
        """The dimensions as ints, with None for each size that may differ from call to call."""
        cdef int64_t dims[254]
        cdef int d
        if self.unknown is None:
            return shape_tuple(&self.t)
        for d in range(self.t.ndim):
            dims[d] = DF_UNKNOWN if self.unknown[d] else self.t.shape[d]
        return dims_tuple(self.t.ndim, dims)

    @property
    def hints(self):
        """The dimensions as ints, with the hint of each size that may differ from call to call.
        If sizes may depend on data, None for each unknown size."""
        cdef int64_t dims[254]
        cdef int d
        if self.unknown is None or not self.data_dependent_shape:
            return shape_tuple(&self.t)
        for d in range(self.t.ndim):
            dims[d] = DF_UNKNOWN if self.unknown[d] else self.t.shape[d]
        return dims_tuple(self.t.ndim, dims)

    def know(self, shape, hints=None):
        """Set the shape. None is a size that is still unknown; `hints` has its hint, by default the
        current one, or None if it depends on data."""
        cdef int64_t dims[254]
        cdef df_error err
        cdef int d, n = <int>len(shape)
        for d in range(n):
            if shape[d] is None:
                hint = self.t.shape[d] if hints is None else hints[d]
                dims[d] = DATA_HINT if hint is None else hint
                if hint is None:
                    self.data_dependent = self.data_dependent_shape = True
            else:
                dims[d] = shape[d]
        check(df_tensor_set(&self.t, self.t.dtype, n, dims, b"set_shape", &err), &err)
        cdef list unknown = [False] * n
        for d in range(n):
            unknown[d] = shape[d] is None
        self.unknown = tuple(unknown) if True in unknown else None
        self.dims = None

    @property
    def is_dynamic(self):
        """True if a size depends on data and has no hint."""
        cdef int d
        for d in range(self.t.ndim):
            if self.t.shape[d] < 0:
                return True
        return False

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
        """The name `node:index`, as in TensorFlow."""
        return f"{self.node.name}:{self.index}"

    @property
    def op(self):
        """The node that computes it."""
        return self.node

    def __len__(self):
        if has_methods(self) and not asked_by_us():
            raise TypeError(f"len is not well defined for symbolic Tensors. ({self.name}) Please "
                            "call `x.shape` rather than `len(x)` for shape information.")
        if self.t.ndim == 0:
            raise TypeError("len() of a tensor with shape ()")
        if self.data_dependent_shape and self.known_shape[0] is None:
            self.graph.no_value(self, "len()", "dualflow.shape(x)[0], a tensor")
        return self.shape[0].__index__()

    def __format__(self, spec):
        if spec.endswith(tuple("bcdeEfFgGnoxX%")) and not has_methods(self):
            self.graph.no_value(self, "formatting as a number", (
                "dualflow.print(x), which prints each time the function runs, or "
                "return it from the function"))
        return str(self)

    def __getattr__(self, str name):
        """Return an attribute that the face of the graph adds to its tensors."""
        found = getattr(getattr(self.graph, "methods", None), name, None)
        if found is None:
            message = _late_binding.late("no_attribute")("Symbol", name)
            raise AttributeError(message, name=name, obj=self)
        return found.__get__(self)

    def __str__(self):
        return self.graph.methods.text(self) if has_methods(self) else repr(self)

    def __repr__(self):
        if has_methods(self):
            return self.graph.methods.representation(self)
        return f"<dualflow.Symbol {self.name!r} shape={self.known_shape} dtype={self.dtype}>"


cdef bint has_methods(x):
    """Return True for a Symbol whose graph has a face: attributes for users, as in compat.v1."""
    return type(x) is Symbol and (<Symbol>x).graph is not None and (
        <Symbol>x).graph.methods is not None


cdef tuple sizes_of(Symbol x):
    """Return the shape for internal use: unlike `shape`, it does not count as seen by Python."""
    cdef list dims
    cdef int d
    if x.unknown is None:
        return shape_tuple(&x.t)
    if x.dims is None:
        dims = list(shape_tuple(&x.t))
        for d in range(x.t.ndim):
            if x.unknown[d] and dims[d] is not None:
                dims[d] = Dim(dims[d], OF_A_SHAPE, (x, d), x.graph)
        x.dims = tuple(dims)
    return x.dims


cdef tuple dims_of(x):
    """Return the shape of a tensor, a variable or a TensorSpec as a plain tuple."""
    if type(x) is Tensor:
        return shape_tuple(&(<Tensor>x).t)
    if type(x) is Symbol:
        return sizes_of(<Symbol>x)
    return (<TensorSpec>x).dims if type(x) is TensorSpec else tuple(x.shape)


cdef Symbol new_symbol(graph, df_dtype dtype, int ndim, const int64_t *shape, tuple unknown):
    cdef df_error err
    cdef Symbol x = Symbol.__new__(Symbol)
    check(df_tensor_set(&x.t, dtype, ndim, shape, b"symbol", &err), &err)
    x.graph = graph
    x.unknown = unknown if unknown is not None and True in unknown else None
    return x


def symbol(graph, node, int index, dtype, shape, hints=None, stands_for=None, row=None):
    """Return a Symbol for output `index` of `node`.

    Parameters
    ----------
    shape : sequence of int or None
    hints : sequence of int or None, optional
        The sizes to use for unknown ones in shape rules; None for a size that depends on data.
    stands_for : Variable or Tensor, or an object with `__df_tensor__`, optional
        Its tensor id is used, so that a tape that tracks the object tracks the Symbol.
    row : Symbol, optional
        See `Symbol.row`.
    """
    cdef int64_t dims[254]
    cdef int d, n = <int>len(shape)
    cdef list unknown = [False] * n
    cdef bint data_dependent = False
    cdef Symbol x
    if n > 254:
        raise _errors.ShapeError(f"a shape of {n} dimensions, expected at most 254")
    for d in range(n):
        size = shape[d] if hints is None else hints[d]
        dims[d] = (DF_UNKNOWN if hints is None else DATA_HINT) if size is None else size
        unknown[d] = hints is not None and shape[d] is None
        data_dependent |= hints is not None and size is None
    x = new_symbol(graph, <df_dtype>(<int>dtype.index), n, dims, tuple(unknown))
    x.data_dependent = x.data_dependent_shape = data_dependent
    x.node = node
    x.index = index
    x.row = row
    if not isinstance(stands_for, TensorBase) and stands_for is not None:
        stands_for = stands_for.__df_tensor__()
    if isinstance(stands_for, Variable):
        x.id = (<Variable>stands_for).id
        x.watch = (<Variable>stands_for).trainable and df_is_inexact(x.t.dtype)
    elif stands_for is not None:
        x.id = (<Tensor?>stands_for).id
    return x


cdef void set_trace_top(graph) noexcept:
    """Set the graph in which this thread records. The caller keeps the graph alive."""
    global df_trace_top
    df_trace_top = <void *>graph if graph is not None else NULL


def current_graph():
    """Return the graph in which this thread records, or None."""
    return <object>df_trace_top if df_trace_top != NULL else None


cdef int check_alive(Symbol x, str caller) except -1:
    """Raise if a Symbol is used outside its graph, unless the thread records nothing and the graph
    is open: then ops on its tensors are recorded there."""
    if df_trace_top != <void *>x.graph and not (df_trace_top == NULL and x.graph.is_open):
        x.graph.raise_leaked(x, caller)
    return 0


cdef object graph_among(list tensors):
    """Return the graph of the first Symbol among tensors, or None."""
    for x in tensors:
        if type(x) is Symbol:
            return (<Symbol>x).graph
    return None


cdef inline bint is_tensor(x):
    return type(x) is Tensor or type(x) is Symbol


def symbol_like(graph, node, int index, Symbol y):
    """Return a Symbol for output `index` of `node` with the dtype and sizes of `y`."""
    cdef Symbol x = new_symbol(graph, y.t.dtype, y.t.ndim, y.t.shape, y.unknown)
    x.node = node
    x.index = index
    x.dims = sizes_of(y)
    x.data_dependent = y.data_dependent
    x.data_dependent_shape = y.data_dependent_shape
    x.row = y.row
    return x


def twin(graph, node, int index, Symbol y):
    """Like `symbol_like`, but with the tensor id of `y`: tapes treat both as one value."""
    cdef Symbol x = symbol_like(graph, node, index, y)
    x.id = y.id
    x.watch = y.watch
    return x
