# Tape records (csrc/tape/tape.h), written by `record_all` and read by the backward pass. For each
# op with an input that depends on a watched value, a tape keeps the op, its attributes, the ids of
# its operands, the operands that the gradient rule declares to read, and the specs of the others.

cdef extern from *:
    """
    /* The innermost tape that records in this thread (a borrowed Tape). */
    static DF_THREAD_LOCAL void *df_tape_top = NULL;
    /* The op record of functions that consist only of a gradient rule: see function_op. */
    static const df_op df_function_op = {
        .name = "function", .kind = DF_GENERAL, .n_in = DF_VARIADIC, .n_out = DF_VARIADIC};
    """
    void *df_tape_top
    const df_op df_function_op

cdef enum:
    SAVE_OUTPUTS = 1 << 31
    FEW_IDS = 6


cdef list int_list(const int64_t *numbers, Py_ssize_t n):
    cdef list out = [None] * n
    cdef Py_ssize_t k
    for k in range(n):
        out[k] = numbers[k]
    return out


cdef inline int keep_id(df_id_set *ids, uint64_t id) except -1:
    if not df_id_set_put(ids, id):
        raise MemoryError()
    return 0


@cython.final
@cython.freelist(16)
cdef class Record:
    """One recorded application of an op, for the gradient rule and the backward pass.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple of Tensor or TensorSpec
        A spec stands for an operand that the gradient rule does not read.
    input_ids, output_ids : tuple of int
        0 for an operand that depends on no watched value.
    attrs : dict
    """
    cdef readonly Op op
    cdef Attrs packed
    cdef readonly tuple inputs
    cdef readonly tuple outputs
    cdef uint64_t *ids                 # of the inputs, then of the outputs
    cdef uint64_t few_ids[FEW_IDS]

    def __dealloc__(self):
        if self.ids != self.few_ids:
            PyMem_Free(self.ids)

    cdef int reserve_ids(self, Py_ssize_t n) except -1:
        self.ids = self.few_ids
        if n > FEW_IDS:
            self.ids = <uint64_t *>PyMem_Malloc(n * sizeof(uint64_t))
            if self.ids == NULL:
                raise MemoryError()
        return 0

    @property
    def input_ids(self):
        return tuple(int_list(<int64_t *>self.ids, len(self.inputs)))

    @property
    def output_ids(self):
        return tuple(int_list(<int64_t *>self.ids + len(self.inputs), len(self.outputs)))

    @property
    def attrs(self):
        return self.packed.as_dict() if self.packed is not None else {}

    def __repr__(self):
        return f"<Record {self.op.name} {self.input_ids} -> {self.output_ids}>"


cdef TensorSpec last_spec = TensorSpec(())     # reused: the next operand often has equal dims


cdef object operand_object(df_operand *o):
    global last_spec
    cdef TensorSpec spec = last_spec
    cdef int d
    if not o.spec:
        return <object>o.stored
    if spec.dtype is DTYPES[<int>o.dtype] and len(spec.dims) == o.ndim:
        for d in range(o.ndim):
            if <object>PyTuple_GET_ITEM(spec.dims, d) != (<int64_t *>o.stored)[d]:
                break
        else:
            return spec
    spec = TensorSpec.__new__(TensorSpec)
    spec.dtype = DTYPES[<int>o.dtype]
    spec.dims = dims_tuple(o.ndim, <int64_t *>o.stored)
    last_spec = spec
    return spec


cdef Record record_of(df_tape_record *e):
    cdef Record r = Record.__new__(Record)
    cdef int k
    r.reserve_ids(e.n_in + e.n_out)
    for k in range(e.n_in + e.n_out):
        r.ids[k] = e.operands[k].id
    r.op = <Op>e.op
    r.packed = <Attrs>e.attrs if e.attrs != NULL else None
    r.inputs = operand_objects(e.operands, e.n_in)
    r.outputs = operand_objects(e.operands + e.n_in, e.n_out)
    return r


cdef tuple operand_objects(df_operand *o, int n):
    cdef tuple objects = PyTuple_New(n)
    cdef int k
    for k in range(n):
        x = operand_object(o + k)
        Py_INCREF(x)                # SET_ITEM takes the reference
        PyTuple_SET_ITEM(objects, k, x)
    return objects


@cython.final
cdef class Tape:
    """The records of one tape, and the ids of the values that depend on watched ones.

    Parameters
    ----------
    auto_watch : bool
        Whether values of trainable variables are watched as soon as an op reads them.
    keeps_records : bool
        Whether to keep records; if False, the tape only collects older values in `met`.
    """
    cdef df_tape c
    cdef bint auto_watch
    cdef readonly list met              # older values that ops read; None if it keeps records
    cdef readonly bint active
    cdef int backward_passes            # backward passes that read the entries
    cdef readonly Tape outer            # the next tape on the stack of the thread
    cdef readonly set watched           # ids passed to `watch`, and of variables that ops read
    cdef readonly dict blocked          # name of an op without a gradient -> reason
    cdef list functions                 # ops of `function_op` in entries; only the tape owns them

    def __cinit__(self, bint auto_watch=True, bint keeps_records=True):
        self.auto_watch = auto_watch
        self.met = None if keeps_records else []
        self.c.ids.base = last_id + 1
        self.watched = set()
        self.blocked = {}

    def __dealloc__(self):
        self.free_records()
        df_id_set_free(&self.c.ids)

    def __len__(self):
        return self.c.n

    cdef void drop_last(self) noexcept:
        """Free the newest entry and its references."""
        cdef df_tape_record *e = self.c.last
        cdef int k
        if e.attrs != NULL:
            Py_DECREF(<object>e.attrs)
        for k in range(e.n_in + e.n_out):
            if not e.operands[k].spec:
                Py_DECREF(<object>e.operands[k].stored)
        if self.functions and e.op == <void *>self.functions[len(self.functions) - 1]:
            self.functions.pop()
        df_tape_drop(&self.c)

    cdef void free_records(self) noexcept:
        while self.c.last != NULL:
            self.drop_last()

    def clear(self):
        """Drop all records and their references, but not the ids."""
        if self.backward_passes:
            raise RuntimeError("a tape cannot drop its records during a backward pass over them")
        self.free_records()

    def watch(self, x):
        """Track the values that depend on a Tensor or Variable."""
        cdef uint64_t id = id_of(x)
        keep_id(&self.c.ids, id)
        self.watched.add(id)

    def tracks(self, x):
        """Return True if `x` depends on a watched value."""
        return df_id_set_has(&self.c.ids, id_of(x))

    # --- the stack of the thread ---

    def push(self):
        """Start recording in this thread."""
        self.begin()

    def pop(self):
        """Stop recording. The log need not be the innermost one of the thread."""
        self.end()

    cdef int begin(self) except -1:
        if self.active:
            raise RuntimeError("this tape records already")
        if self.backward_passes:
            raise RuntimeError("a tape cannot record during a backward pass over its records")
        self.outer = <Tape>df_tape_top if df_tape_top != NULL else None
        Py_INCREF(self)
        set_tape_top(self)
        self.active = True
        return 0

    cdef int end(self) except -1:
        cdef Tape tape
        if not self.active:
            return 0
        if df_tape_top == <void *>self:
            set_tape_top(self.outer)
        else:
            tape = <Tape>df_tape_top if df_tape_top != NULL else None
            while tape is not None and tape.outer is not self:
                tape = tape.outer
            if tape is None:
                raise RuntimeError("a tape must stop in the thread that started it")
            tape.outer = self.outer
        self.outer = None
        self.active = False
        Py_DECREF(self)
        return 0

    # --- records ---

    cdef bint touches(self, PyObject **ins, int n_in) except -1:
        """Return True if an input depends on a watched value. Watches the variables among them."""
        cdef bint touched = False
        cdef Tensor x
        cdef int k
        for k in range(n_in):
            x = <Tensor>ins[k]
            if df_id_set_has(&self.c.ids, x.id):
                touched = True
            elif x.watch and self.auto_watch:
                keep_id(&self.c.ids, x.id)
                self.watched.add(x.id)
                if self.met is not None:
                    self.met.append(x)
                touched = True
            elif self.met is not None and x.id < self.c.ids.base and df_is_inexact(x.t.dtype):
                keep_id(&self.c.ids, x.id)
                self.met.append(x)
        return touched

    cdef int append(self, Op op, Attrs attrs, PyObject **ins, int n_in, PyObject **outs,
                    int n_out) except -1:
        """Keep the application if an input depends on a watched value."""
        cdef int k
        cdef int64_t n_dims = 0
        cdef bint floats = False
        cdef Tensor x
        cdef df_tape_record *e
        if not self.touches(ins, n_in) or self.met is not None:
            return 0
        if op.gradient_rule is None and op.why_no_gradient is None:
            _late_binding.late("gradient_rules")        # the module of the op may not be loaded
        if op.why_no_gradient is not None:
            self.blocked[op.name] = op.why_no_gradient
            return 0
        for k in range(n_out):
            x = <Tensor>outs[k]
            n_dims += x.t.ndim
            if may_be_active(x, op.sums):
                floats = True
                keep_id(&self.c.ids, x.id)
        if not floats:
            self.blocked[op.name] = f"its result has dtype {dtype_of(<Tensor>outs[0])}"
            return 0
        for k in range(n_in):
            n_dims += (<Tensor>ins[k]).t.ndim
        e = df_tape_reserve(&self.c, n_in, n_out, n_dims)
        if e == NULL:
            raise MemoryError()
        e.op = <void *>op
        e.may_lead_further = op.sums
        if attrs is not None:
            e.attrs = <void *>attrs
            Py_INCREF(attrs)
        df_tape_append(&self.c, e, self.fill(e, op.saves, ins, outs))
        return 0

    cdef int64_t *fill(self, df_tape_record *e, uint32_t saves, PyObject **ins,
                       PyObject **outs) noexcept:
        """Write the operands and their dimensions; return the end of the dimensions. Never fails: a
        log has no half-written entry."""
        cdef int64_t *dims = df_tape_record_dims(e)
        cdef df_operand *o = e.operands
        cdef df_operand *like = NULL            # the last spec: its dimensions are often shared
        cdef bint keeps_records
        cdef Tensor x
        cdef int k
        for k in range(e.n_in + e.n_out):
            if k < e.n_in:
                x = <Tensor>ins[k]
                o.id = x.id if df_id_set_has(&self.c.ids, x.id) else 0
                keeps_records = (saves & 0x7FFFFFFF) >> min(k, 31) & 1
            else:
                x = <Tensor>outs[k - e.n_in]
                o.id = x.id if may_be_active(x, e.may_lead_further) else 0
                keeps_records = saves & SAVE_OUTPUTS != 0
            if keeps_records or type(x) is Symbol:
                o.spec = False
                o.stored = <void *>x
                Py_INCREF(x)
            else:
                dims = df_operand_describe(o, &x.t, like, dims)
                like = o
            o += 1
        return dims

    def add(self, Op op, Attrs attrs, tuple inputs, tuple outputs, dict known_as=None):
        """Keep an application of a graph if an input depends on a watched value.

        `known_as` maps ids of some values to the ids to record in their place.
        """
        cdef Pointers p_in, p_out
        cdef int64_t n = self.c.n
        cdef df_operand *o
        cdef int k
        init_pointers(&p_in)
        init_pointers(&p_out)
        try:
            point_at(&p_in, list(inputs))
            point_at(&p_out, list(outputs))
            if p_out.n:
                self.append(op, attrs, p_in.objects, p_in.n, p_out.objects, p_out.n)
            if known_as and self.c.n > n:
                for k in range(self.c.last.n_in + self.c.last.n_out):
                    o = &self.c.last.operands[k]
                    if o.id:
                        o.id = known_as.get(o.id, o.id)
        finally:
            free_pointers(&p_in)
            free_pointers(&p_out)

    def records(self):
        """Return the records, newest first."""
        cdef df_tape_record *e = self.c.last
        cdef list out = []
        while e != NULL:
            out.append(record_of(e))
            e = e.before
        return out


cdef inline bint may_be_active(Tensor x, bint may_lead_further) noexcept:
    """Return True if an operand may have a gradient. Loops pack rows of floats into bytes."""
    return df_is_inexact(x.t.dtype) or (may_lead_further and x.t.dtype == DF_U8)


cdef void set_tape_top(Tape tape) noexcept:
    global df_tape_top
    df_tape_top = <void *>tape if tape is not None else NULL


cdef uint64_t id_of(x) except 0:
    if is_tensor(x):
        return (<Tensor>x).id
    if isinstance(x, Variable):
        return (<Variable>x).id
    raise TypeError(f"expected a Tensor or Variable, got {type(x).__name__}")


def tensor_id(x):
    """Return the id of a Tensor or Variable in tape records."""
    return id_of(x)


def current_tape():
    """Return the innermost tape that records in this thread, or None."""
    return <object>df_tape_top if df_tape_top != NULL else None


cdef int record_all(Op op, Attrs attrs, PyObject **ins, int n_in, PyObject **outs,
                    int n_out) except -1:
    cdef Tape tape = <Tape>df_tape_top
    while tape is not None:
        tape.append(op, attrs, ins, n_in, outs, n_out)
        tape = tape.outer
    return 0


# --- garbage collection ---------------------------------------------------------------------------

cdef traverseproc traverse_attributes = (<PyTypeObject *>Tape).tp_traverse


cdef int traverse_tape(PyObject *self, visitproc visit, void *arg) noexcept:
    """Visit the references of entries, so that the collector can free cycles such as a graph whose
    gradient rule refers to a tape. Changes no reference count."""
    cdef df_tape_record *e = (<Tape>self).c.last
    cdef int k, stop = 0
    while e != NULL and not stop:
        if e.attrs != NULL:
            stop = visit(<PyObject *>e.attrs, arg)
        for k in range(e.n_in + e.n_out):
            if not stop and not e.operands[k].spec:
                stop = visit(<PyObject *>e.operands[k].stored, arg)
        e = e.before
    return stop or traverse_attributes(self, visit, arg)


(<PyTypeObject *>Tape).tp_traverse = traverse_tape
