# Op: the Python handles of the C op records (csrc/op/op.h), created at import, one for each op. The
# gradient registry sets the rule of a handle; everything else is read from the record.

cdef tuple DTYPES = _dtypes.ALL        # DType objects by df_dtype
cdef uint64_t rules_version = 0        # incremented when an op gets a gradient rule

# The output of an elementwise op for inputs of one dtype and shape: no fast path, dtype of the
# inputs, or bool.
cdef enum FastPath:
    FAST_NONE
    FAST_SAME
    FAST_BOOL


@cython.final
cdef class Op:
    """The handle of a C op record, with the gradient rule.

    Attributes
    ----------
    name : str
    index : int
        Its index in the registry.
    attrs : tuple of str
        Attribute names in the record's order.
    rule : callable or None
        The gradient rule, set by ``dualflow.gradient_registry``.
    why_no_gradient : str or None
        The reason given if the op was declared to have no gradient.
    saves : int
        Bit i: tape records keep input i; bit 31: they keep the outputs.
    """
    cdef const df_op *c
    cdef FastPath fast
    cdef df_tile_fn run_cached[DF_N_DTYPES]  # by dtype; NULL if the op rejects some values
    cdef bint sums                     # the rule continues accumulators: see record_call
    cdef readonly str name
    cdef readonly int64_t index
    cdef readonly tuple attrs
    cdef object gradient_rule
    cdef public object why_no_gradient
    cdef public uint32_t saves
    cdef tuple recent                  # the last Attrs and their unpacked values: see pack_given

    @property
    def rule(self):
        return self.gradient_rule

    @rule.setter
    def rule(self, rule):
        global rules_version
        rules_version += 1
        self.gradient_rule = rule

    @property
    def attr_types(self):
        """The type of each attribute: "int", "float", "bool", "dtype" or "ints"."""
        cdef list types = [None] * self.c.n_attrs
        for k in range(self.c.n_attrs):
            types[k] = ("int", "float", "bool", "dtype", "ints")[<int>self.c.attrs[k].type]
        return tuple(types)

    @property
    def n_in(self):
        return self.c.n_in

    @property
    def n_out(self):
        return self.c.n_out

    @property
    def n_bodies(self):
        """The number of graphs that a node of the op owns."""
        return self.c.n_bodies

    @property
    def kind(self):
        return ("elementwise", "reduction", "view", "general")[<int>self.c.kind]

    @property
    def writes(self):
        """Bit i: input i is a variable that is written."""
        return self.c.writes

    @property
    def effect(self):
        """True if a graph pass may neither drop nor merge the op."""
        return bool(self.c.effect or self.c.writes)

    @property
    def async_role(self):
        """The role in an asynchronous pair, "starts" or "waits"; "" for a synchronous op."""
        return ("", "start", "wait")[<int>self.c.async_role]

    @property
    def internal(self):
        """True if only graph passes and the backward pass apply the op."""
        return bool(self.c.internal)

    @property
    def version(self):
        """The version of the semantics of the op, stored in program files."""
        return self.c.version

    @property
    def wraps_op(self):
        """True if the first attribute is the registry index of an op to apply."""
        return bool(self.c.wraps_op)

    @property
    def shape_only(self):
        """Bit i: only dtype and shape of input i are read."""
        return self.c.shape_only

    @property
    def may_fail(self):
        """True if the kernel may fail on inputs that the shape rule accepts."""
        return self.c.kind == DF_GENERAL and not self.c.cannot_fail

    def may_raise(self, dtype, Tensor x=None):
        """Return True if an elementwise op rejects some values of a dtype in input `checked_input`;
        given this input, return True if it contains such a value."""
        if not df_op_may_raise(self.c, <df_dtype><int>dtype.index):
            return False
        return x is None or self.c.value_check.first(&x.t) >= 0

    @property
    def checked_input(self):
        """The index of the input that `may_raise` checks."""
        return self.c.value_check.input

    def is_serial(self, inputs):
        """Return True if the kernel uses one thread for these inputs."""
        if self.c.serial or self.c.serial_for.rows == 0:
            return bool(self.c.serial)
        rows = inputs[self.c.serial_for.input].known_shape[0]
        return rows is not None and rows <= self.c.serial_for.rows

    @property
    def commutative(self):
        return bool(self.c.commutative)

    @property
    def may_alias(self):
        """Bit i: an output may share the memory of input i, if both have equally many bytes."""
        return -1 if self.c.kind == DF_ELEMENTWISE else self.c.may_alias

    @property
    def joins(self):
        """True if output 0 consists of the inputs along the axis in attribute 0."""
        return bool(self.c.joins)

    @property
    def cost(self):
        """Estimated time per output element in ns."""
        return self.c.cost if self.c.cost > 0 else 0.2

    @property
    def key(self):
        """The index of the input whose dtype selects the kernel of an elementwise op."""
        return self.c.tile_key

    @property
    def dtypes(self):
        """Names of the dtypes of input `key` for which an elementwise op has a kernel."""
        cdef list names = []
        for d in range(<int>DF_N_DTYPES):
            if self.c.tile[d] != NULL:
                names.append(df_dtypes[d].name.decode())
        return tuple(names)

    @property
    def formula(self):
        """The formula that generated code evaluates in place of the kernel, or None: its form, its
        name in C, the names used if attribute 0 is true, and for bools, and the function applied to
        the result of a reduction. Names are without the suffix of the dtype; "" if there is
        none."""
        cdef df_formula f = self.c.formula
        if f.form == DF_FORM_NONE or self.c.cost >= DF_INLINE_COST:
            return None
        form = ("", "vector", "mask", "choice", "reduction")[<int>f.form]
        return (form, self.name if f.name == NULL else f.name.decode(),
                "" if f.if_true == NULL else f.if_true.decode(),
                "" if f.of_bools == NULL else f.of_bools.decode(),
                "" if f.finish == NULL else f.finish.decode())

    @property
    def reduces(self):
        """Names of the dtypes whose rows a cluster can reduce with the op."""
        cdef list names = []
        for d in range(<int>DF_N_DTYPES):
            if self.c.reduce[d] != NULL:
                names.append(df_dtypes[d].name.decode())
        return tuple(names)

    @property
    def folds(self):
        """Names of the dtypes whose other dimensions a cluster can reduce with the op."""
        cdef list names = []
        for d in range(<int>DF_N_DTYPES):
            if self.c.column[d].part != NULL:
                names.append(df_dtypes[d].name.decode())
        return tuple(names)

    def __repr__(self):
        return f"<dualflow op {self.name}>"


cdef dict OPS = {}


cdef _load_ops():
    cdef Op op
    cdef list names
    cdef int64_t i
    cdef int k, d
    for i in range(df_registry_size()):
        op = Op.__new__(Op)
        op.c = df_registry_op(i)
        op.index = i
        op.name = op.c.name.decode()
        names = [None] * op.c.n_attrs
        for k in range(op.c.n_attrs):
            names[k] = op.c.attrs[k].name.decode()
        op.attrs = tuple(names)
        op.fast = FAST_NONE
        for d in range(<int>DF_N_DTYPES):
            op.run_cached[d] = NULL if df_op_may_raise(op.c, <df_dtype>d) else op.c.tile[d]
        if op.c.kind == DF_ELEMENTWISE and op.c.n_out == 1:
            if op.c.infer == df_infer_broadcast:
                op.fast = FAST_SAME
            elif op.c.infer == df_infer_compare:
                op.fast = FAST_BOOL
        OPS[op.name] = op


_load_ops()


cdef extern from *:
    """
    /* The 16-bit dtype of the autocast region that this thread is in, or 0. */
    static DF_THREAD_LOCAL int df_autocast = 0;
    """
    int df_autocast


cdef inline bint autocasts(Op op) noexcept:
    """Return True if this thread is in an autocast region that concerns the op."""
    return op.c.autocast != DF_AUTOCAST_NONE and df_autocast != 0


cdef inline int autocast_dtype(Op op, int common) noexcept:
    """Return the dtype to cast the promoted operands of an op to, whose common dtype is `common`.
    """
    if op.c.autocast == DF_AUTOCAST_LOWER:
        return df_autocast if common == DF_F32 else common
    return DF_F32 if df_is_reduced_float(<df_dtype>common) else common


cdef Op find_op(name):
    op = OPS.get(name)
    if op is None:
        raise _errors.InvalidArgumentError(f"no op is called {name!r}")
    return <Op>op


# The ops of Python's operators.
cdef Op OP_ADD = find_op("add")
cdef Op OP_SUBTRACT = find_op("subtract")
cdef Op OP_MULTIPLY = find_op("multiply")
cdef Op OP_DIVIDE = find_op("divide")
cdef Op OP_FLOORDIV = find_op("floordiv")
cdef Op OP_FLOORMOD = find_op("floormod")
cdef Op OP_POW = find_op("pow")
cdef Op OP_SQUARE = find_op("square")
cdef Op OP_LEFT_SHIFT = find_op("left_shift")
cdef Op OP_RIGHT_SHIFT = find_op("right_shift")
cdef Op OP_NEGATIVE = find_op("negative")
cdef Op OP_ABS = find_op("abs")
cdef Op OP_LESS = find_op("less")
cdef Op OP_LESS_EQUAL = find_op("less_equal")
cdef Op OP_GREATER = find_op("greater")
cdef Op OP_GREATER_EQUAL = find_op("greater_equal")
cdef Op OP_EQUAL = find_op("equal")
cdef Op OP_NOT_EQUAL = find_op("not_equal")


def get_op(name):
    """Return the handle of the op named `name`."""
    return find_op(name)


def ops():
    """Return the names of all ops, in the order of csrc/op/ops.def."""
    return tuple(OPS)

cdef extern from *:
    """
    /* For values that no kernel computes: see docs/graph.md. */
    static const df_op df_leaf_ops[3] = {
        {.name = "parameter", .kind = DF_GENERAL, .n_in = 0, .n_out = 1},
        {.name = "constant", .kind = DF_GENERAL, .n_in = 0, .n_out = 1},
        {.name = "variable", .kind = DF_GENERAL, .n_in = 0, .n_out = 1}};
    """
    const df_op df_leaf_ops[3]


def leaf_ops():
    """Return the handles of parameter, constant and variable: values that no kernel computes."""
    cdef list handles = []
    cdef Op op
    cdef int i
    for i in range(3):
        op = Op.__new__(Op)
        op.c = &df_leaf_ops[i]
        op.name = op.c.name.decode()
        op.attrs = ()
        handles.append(op)
    return tuple(handles)
