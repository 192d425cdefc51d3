# What a tape keeps: for each op that touched something watched, the op, its attributes, the ids of
# its operands, and the operands themselves only where the gradient rule declared to need them;
# of the rest, dtype and shape. Entries are packed one after another in chunks of plain memory.

cdef extern from *:
    """
    /* The innermost log that records in this thread (a borrowed RecordLog). */
    static _Thread_local void *df_log_top = NULL;
    /* Stands behind ops whose rule is all there is of them: see function_op. */
    static const df_op df_function_op = {
        .name = "function", .kind = DF_GENERAL, .n_in = DF_VARIADIC, .n_out = DF_VARIADIC};
    """
    void *df_log_top
    const df_op df_function_op

cdef enum:
    SAVE_OUTPUTS = 1 << 31
    CHUNK = 1 << 15
    MAX_SPARE = 256            # chunks kept for the next tape: faulting in fresh pages costs
                               # as much as everything else about an entry
    FEW_IDS = 6


cdef struct Operand:
    uint64_t id                # 0: nothing watched flows through it
    void *kept                 # an owned Tensor, or where `spec` the dimensions
    uint8_t dtype
    bint spec
    int ndim


cdef struct Entry:
    Entry *before
    PyObject *op               # borrowed: of the module, or of the log's `functions`
    PyObject *attrs            # owned, or NULL
    int64_t bytes
    int n_in
    int n_out
    Operand operands[1]        # n_in + n_out of them, then dimensions


cdef struct Chunk:
    Chunk *before
    Chunk *next
    int64_t used
    int64_t size


cdef Chunk *spare_chunks = NULL
cdef int n_spare = 0


@cython.final
@cython.freelist(16)
cdef class Record:
    """One recorded application of an op, as a gradient rule and the backward walker see it.

    Attributes
    ----------
    op : Op
    inputs, outputs : tuple of Tensor or TensorSpec
        A spec stands for an operand that the op's rule did not ask to keep.
    input_ids, output_ids : tuple of int
        0 where nothing watched flows.
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


cdef object operand_object(Operand *o):
    cdef TensorSpec spec
    if not o.spec:
        return <object>o.kept
    spec = TensorSpec.__new__(TensorSpec)
    spec.dtype = DTYPES[<int>o.dtype]
    spec.shape = dims_tuple(o.ndim, <int64_t *>o.kept)
    return spec


cdef Record record_of(Entry *e):
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


cdef tuple operand_objects(Operand *o, int n):
    cdef tuple objects = PyTuple_New(n)
    cdef int k
    for k in range(n):
        x = operand_object(o + k)
        Py_INCREF(x)                # SET_ITEM takes the reference
        PyTuple_SET_ITEM(objects, k, x)
    return objects


@cython.final
cdef class RecordLog:
    """The records of one tape, and the set of ids that something watched flows into.

    Parameters
    ----------
    auto_watch : bool
        Whether values of trainable variables are watched as soon as an op reads them.
    keeps : bool
        Whether it keeps records; False: it only notes variables.
    """
    cdef Entry *last
    cdef Py_ssize_t n
    cdef Chunk *first
    cdef Chunk *chunk
    cdef IdSet ids
    cdef bint auto_watch
    cdef readonly list met              # values of variables it noted, or None where it keeps
    cdef readonly bint active
    cdef int walks                      # walkers that look at the entries
    cdef RecordLog outer                # the log around this one on the thread's stack
    cdef readonly set watched           # ids somebody asked to watch, and variables met
    cdef readonly dict blocked          # op name -> why nothing flows through it: ops met
    cdef list functions                 # ops of entries that only the log knows

    def __cinit__(self, bint auto_watch=True, bint keeps=True):
        self.auto_watch = auto_watch
        self.met = None if keeps else []
        self.ids.base = last_id + 1
        self.watched = set()
        self.blocked = {}

    def __dealloc__(self):
        self.free_entries()
        set_free(&self.ids)

    def __len__(self):
        return self.n

    cdef void drop_last(self) noexcept:
        """Frees the newest entry and what it keeps alive."""
        cdef Entry *e = self.last
        cdef Chunk *c = self.chunk
        cdef int k
        self.last = e.before
        self.n -= 1
        if e.attrs != NULL:
            Py_DECREF(<object>e.attrs)
        for k in range(e.n_in + e.n_out):
            if not e.operands[k].spec:
                Py_DECREF(<object>e.operands[k].kept)
        if self.functions and e.op == <PyObject *>self.functions[len(self.functions) - 1]:
            self.functions.pop()
        c.used -= e.bytes
        if c.used == <int64_t>sizeof(Chunk):
            self.chunk = c.before
            if self.chunk != NULL:
                self.chunk.next = NULL
            else:
                self.first = NULL
            free_chunk(c)

    cdef void free_entries(self) noexcept:
        while self.last != NULL:
            self.drop_last()

    def clear(self):
        """Forgets all records and what they keep alive; ids stay known."""
        if self.walks:
            raise RuntimeError("a tape can't forget its records while they are walked back")
        self.free_entries()

    def watch(self, x):
        """Tracks what flows from a Tensor or Variable."""
        cdef uint64_t id = id_of(x)
        set_put(&self.ids, id)
        self.watched.add(id)

    def tracks(self, x):
        """Whether something watched flows into `x`."""
        return set_has(&self.ids, id_of(x))

    # --- the stack of the thread ---

    def push(self):
        """Starts recording in this thread."""
        if self.active:
            raise RuntimeError("this tape records already")
        if self.walks:
            raise RuntimeError("a tape can't start to record while its records are walked back")
        self.outer = <RecordLog>df_log_top if df_log_top != NULL else None
        Py_INCREF(self)
        set_log_top(self)
        self.active = True

    def pop(self):
        """Stops recording; a log inside another may stop before it."""
        cdef RecordLog log
        if not self.active:
            return
        if df_log_top == <void *>self:
            set_log_top(self.outer)
        else:
            log = <RecordLog>df_log_top if df_log_top != NULL else None
            while log is not None and log.outer is not self:
                log = log.outer
            if log is None:
                raise RuntimeError("a tape must stop in the thread that started it")
            log.outer = self.outer
        self.outer = None
        self.active = False
        Py_DECREF(self)

    # --- records ---

    cdef void *reserve(self, int64_t size) except NULL:
        cdef Chunk *c = self.chunk
        cdef void *p
        if c == NULL or c.used + size > c.size:
            c = new_chunk(size + sizeof(Chunk))
            c.before = self.chunk
            if self.chunk != NULL:
                self.chunk.next = c
            else:
                self.first = c
            self.chunk = c
        p = <char *>c + c.used
        c.used += size
        return p

    cdef bint touches(self, PyObject **ins, int n_in) except -1:
        """Whether something watched flows into one of the inputs; watches variables it meets."""
        cdef bint touched = False
        cdef Tensor x
        cdef int k
        for k in range(n_in):
            x = <Tensor>ins[k]
            if set_has(&self.ids, x.id):
                touched = True
            elif x.watch and self.auto_watch:
                set_put(&self.ids, x.id)
                self.watched.add(x.id)
                if self.met is not None:
                    self.met.append(x)
                touched = True
        return touched

    cdef int append(self, Op op, Attrs attrs, PyObject **ins, int n_in, PyObject **outs,
                    int n_out) except -1:
        """Keeps the application if something watched flows into it."""
        cdef int k
        cdef int64_t n_dims = 0
        cdef bint floats = False
        cdef Tensor x
        cdef Entry *e
        cdef int64_t *dims
        if not self.touches(ins, n_in) or self.met is not None:
            return 0
        if op.why_no_gradient is not None:
            self.blocked[op.name] = op.why_no_gradient
            return 0
        for k in range(n_out):
            x = <Tensor>outs[k]
            n_dims += x.t.ndim
            if df_is_float(x.t.dtype):
                floats = True
                set_put(&self.ids, x.id)
        if not floats:
            self.blocked[op.name] = f"its result has dtype {(<Tensor>outs[0]).dtype}"
            return 0
        for k in range(n_in):
            n_dims += (<Tensor>ins[k]).t.ndim
        e = <Entry *>self.reserve(sizeof(Entry) + (n_in + n_out - 1) * sizeof(Operand)
                                  + n_dims * sizeof(int64_t))
        dims = self.fill(e, op.saves, ins, n_in, outs, n_out)
        self.chunk.used = <char *>dims - <char *>self.chunk        # shared dimensions took none
        e.bytes = <char *>dims - <char *>e
        e.before = self.last
        e.op = <PyObject *>op
        e.attrs = <PyObject *>attrs if attrs is not None else NULL
        if attrs is not None:
            Py_INCREF(attrs)
        self.last = e
        self.n += 1
        return 0

    cdef int64_t *fill(self, Entry *e, uint32_t saves, PyObject **ins, int n_in, PyObject **outs,
                       int n_out) noexcept:
        """Writes the operands and their dimensions; the end of what was written. Never fails: a
        reserved entry half written would mislead whoever goes through the chunk."""
        cdef int64_t *dims = <int64_t *>&e.operands[n_in + n_out]
        cdef Operand *o = e.operands
        cdef Operand *like = NULL               # the last spec: its dimensions are often shared
        cdef Tensor x
        cdef int k
        e.n_in = n_in
        e.n_out = n_out
        for k in range(n_in + n_out):
            if k < n_in:
                x = <Tensor>ins[k]
                o.id = x.id if set_has(&self.ids, x.id) else 0
                o.spec = not (saves & 0x7FFFFFFF) >> min(k, 31) & 1 and type(x) is not Symbol
            else:
                x = <Tensor>outs[k - n_in]
                o.id = x.id if df_is_float(x.t.dtype) else 0
                o.spec = not saves & SAVE_OUTPUTS and type(x) is not Symbol
            o.dtype = <uint8_t>x.t.dtype
            o.ndim = x.t.ndim
            if not o.spec:
                o.kept = <void *>x
                Py_INCREF(x)
            elif like != NULL and same_dims(like, &x.t):
                o.kept = like.kept
            else:
                o.kept = dims
                memcpy(dims, x.t.shape, x.t.ndim * sizeof(int64_t))
                dims += x.t.ndim
                like = o
            o += 1
        return dims

    def add(self, Op op, Attrs attrs, tuple inputs, tuple outputs, dict known_as=None):
        """Keeps an application that a graph holds, if something watched flows into it.

        `known_as` gives ids by which some values are known in place of their own.
        """
        cdef Pointers p_in, p_out
        cdef Py_ssize_t n = self.n
        cdef Operand *o
        cdef int k
        init_pointers(&p_in)
        init_pointers(&p_out)
        try:
            point_at(&p_in, list(inputs))
            point_at(&p_out, list(outputs))
            if p_out.n:
                self.append(op, attrs, p_in.objects, p_in.n, p_out.objects, p_out.n)
            if known_as and self.n > n:
                for k in range(self.last.n_in + self.last.n_out):
                    o = &self.last.operands[k]
                    if o.id:
                        o.id = known_as.get(o.id, o.id)
        finally:
            free_pointers(&p_in)
            free_pointers(&p_out)

    def records(self):
        """The records, newest first."""
        cdef Entry *e = self.last
        cdef list out = []
        while e != NULL:
            out.append(record_of(e))
            e = e.before
        return out


cdef inline bint same_dims(const Operand *o, const df_tensor *t) noexcept:
    cdef int d
    if o.ndim != t.ndim:
        return False
    for d in range(t.ndim):
        if (<int64_t *>o.kept)[d] != t.shape[d]:
            return False
    return True


cdef Chunk *new_chunk(int64_t want) except NULL:
    global spare_chunks, n_spare
    cdef Chunk *c
    if want <= CHUNK and spare_chunks != NULL:
        c = spare_chunks
        spare_chunks = c.before
        n_spare -= 1
    else:
        want = max(want, <int64_t>CHUNK)
        c = <Chunk *>PyMem_Malloc(want)
        if c == NULL:
            raise MemoryError()
        c.size = want
    c.before = NULL
    c.next = NULL
    c.used = sizeof(Chunk)
    return c


cdef void free_chunk(Chunk *c) noexcept:
    global spare_chunks, n_spare
    if c.size == CHUNK and n_spare < MAX_SPARE:
        c.before = spare_chunks
        spare_chunks = c
        n_spare += 1
    else:
        PyMem_Free(c)


cdef void set_log_top(RecordLog log) noexcept:
    global df_log_top
    df_log_top = <void *>log if log is not None else NULL


cdef uint64_t id_of(x) except 0:
    if is_tensor(x):
        return (<Tensor>x).id
    if isinstance(x, Variable):
        return (<Variable>x).id
    raise TypeError(f"want a Tensor or Variable, got {type(x).__name__}")


def tensor_id(x):
    """The number by which records know a Tensor or Variable."""
    return id_of(x)


def current_log():
    """The innermost log that records in this thread, or None."""
    return <object>df_log_top if df_log_top != NULL else None


cdef int record_all(Op op, Attrs attrs, PyObject **ins, int n_in, PyObject **outs,
                    int n_out) except -1:
    cdef RecordLog log = <RecordLog>df_log_top
    while log is not None:
        log.append(op, attrs, ins, n_in, outs, n_out)
        log = log.outer
    return 0
