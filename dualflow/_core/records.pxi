# What a tape keeps: for each op that touched something watched, the op, its attributes, the ids of
# its operands, and the operands themselves only where the gradient rule declared to need them;
# of the rest, dtype and shape. Entries are packed one after another in chunks of plain memory.

cdef extern from *:
    """
    /* The innermost log that records in this thread (a borrowed RecordLog). */
    static _Thread_local void *df_log_top = NULL;
    """
    void *df_log_top

cdef enum:
    SAVE_OUTPUTS = 1 << 31
    FIRST_CHUNK = 8192
    INLINE_IDS = 64


cdef struct Operand:
    uint64_t id            # 0: nothing watched flows through it
    PyObject *tensor       # owned, or NULL: dtype and shape only
    int64_t *shape         # in the same chunk
    df_dtype dtype
    int ndim


cdef struct Entry:
    PyObject *op           # borrowed: ops live as long as the module
    PyObject *attrs        # owned, or NULL
    int n_in
    int n_out
    Operand operands[1]    # n_in + n_out of them, then their shapes


cdef struct Chunk:
    Chunk *before
    int64_t used
    int64_t size


@cython.final
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
    cdef readonly tuple inputs
    cdef readonly tuple outputs
    cdef readonly tuple input_ids
    cdef readonly tuple output_ids
    cdef readonly dict attrs

    def __repr__(self):
        return f"<Record {self.op.name} {self.input_ids} -> {self.output_ids}>"


cdef object operand_object(Operand *o):
    cdef TensorSpec spec
    cdef int d
    if o.tensor != NULL:
        return <object>o.tensor
    spec = TensorSpec.__new__(TensorSpec)
    spec.dtype = _dtypes.ALL[<int>o.dtype]
    spec.shape = tuple([PyLong_FromLongLong(o.shape[d]) for d in range(o.ndim)])
    return spec


@cython.final
cdef class RecordLog:
    """The records of one tape, and the set of ids that something watched flows into.

    Parameters
    ----------
    auto_watch : bool
        Whether values of trainable variables are watched as soon as an op reads them.
    """
    cdef Entry **entries
    cdef Py_ssize_t n, capacity
    cdef Chunk *chunk
    cdef uint64_t *ids                  # open addressing, 0 is free; n_slots is a power of two
    cdef uint64_t inline_ids[INLINE_IDS]
    cdef Py_ssize_t n_ids, n_slots
    cdef bint auto_watch
    cdef readonly bint active
    cdef RecordLog outer                # the log around this one on the thread's stack
    cdef readonly set watched           # ids somebody asked to watch, and variables met
    cdef readonly dict blocked          # op name -> reason: ops without gradient that were met

    def __cinit__(self, bint auto_watch=True):
        self.auto_watch = auto_watch
        self.ids = self.inline_ids
        self.n_slots = INLINE_IDS
        memset(self.inline_ids, 0, sizeof(self.inline_ids))
        self.watched = set()
        self.blocked = {}

    def __dealloc__(self):
        self.free_entries()
        if self.ids != self.inline_ids:
            PyMem_Free(self.ids)

    def __len__(self):
        return self.n

    cdef void free_entries(self) noexcept:
        cdef Py_ssize_t i
        cdef int k
        cdef Entry *e
        cdef Chunk *c
        for i in range(self.n):
            e = self.entries[i]
            if e.attrs != NULL:
                Py_DECREF(<object>e.attrs)
            for k in range(e.n_in + e.n_out):
                if e.operands[k].tensor != NULL:
                    Py_DECREF(<object>e.operands[k].tensor)
        self.n = 0
        PyMem_Free(self.entries)
        self.entries = NULL
        self.capacity = 0
        while self.chunk != NULL:
            c = self.chunk.before
            PyMem_Free(self.chunk)
            self.chunk = c

    def clear(self):
        """Forgets all records and what they keep alive; ids stay known."""
        self.free_entries()

    # --- the set of ids ---

    cdef inline bint has(self, uint64_t id) noexcept:
        cdef uint64_t mask = self.n_slots - 1
        cdef uint64_t slot = (id * <uint64_t>0x9E3779B97F4A7C15) >> 32
        while True:
            slot &= mask
            if self.ids[slot] == id:
                return True
            if self.ids[slot] == 0:
                return False
            slot += 1

    cdef int put(self, uint64_t id) except -1:
        cdef uint64_t mask, slot
        cdef uint64_t *old = self.ids
        cdef Py_ssize_t i, n_old = self.n_slots
        if self.n_ids * 2 >= self.n_slots:
            self.ids = <uint64_t *>PyMem_Malloc(n_old * 4 * sizeof(uint64_t))
            if self.ids == NULL:
                self.ids = old
                raise MemoryError()
            memset(self.ids, 0, n_old * 4 * sizeof(uint64_t))
            self.n_slots = n_old * 4
            self.n_ids = 0
            for i in range(n_old):
                if old[i]:
                    self.put(old[i])
            if old != self.inline_ids:
                PyMem_Free(old)
        mask = self.n_slots - 1
        slot = (id * <uint64_t>0x9E3779B97F4A7C15) >> 32
        while True:
            slot &= mask
            if self.ids[slot] == id:
                return 0
            if self.ids[slot] == 0:
                break
            slot += 1
        self.ids[slot] = id
        self.n_ids += 1
        return 0

    def watch(self, x):
        """Tracks what flows from a Tensor or Variable."""
        cdef uint64_t id = id_of(x)
        self.put(id)
        self.watched.add(id)

    def tracks(self, x):
        """Whether something watched flows into `x`."""
        return self.has(id_of(x))

    # --- the stack of the thread ---

    def push(self):
        """Starts recording in this thread."""
        if self.active:
            raise RuntimeError("this log records already")
        self.outer = <RecordLog>df_log_top if df_log_top != NULL else None
        Py_INCREF(self)
        global_set_top(self)
        self.active = True

    def pop(self):
        """Stops recording; a log inside another may stop before it."""
        cdef RecordLog log
        if not self.active:
            return
        if df_log_top == <void *>self:
            global_set_top(self.outer)
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
        cdef int64_t want
        cdef void *p
        if c == NULL or c.used + size > c.size:
            want = FIRST_CHUNK if c == NULL else min(c.size * 2, 1 << 20)
            if want < size + <int64_t>sizeof(Chunk):
                want = size + <int64_t>sizeof(Chunk)
            c = <Chunk *>PyMem_Malloc(want)
            if c == NULL:
                raise MemoryError()
            c.before = self.chunk
            c.used = sizeof(Chunk)
            c.size = want
            self.chunk = c
        p = <char *>c + c.used
        c.used += size
        return p

    cdef int append(self, Op op, Attrs attrs, PyObject **ins, int n_in, PyObject **outs,
                    int n_out) except -1:
        """Keeps the application if something watched flows into it."""
        cdef int k, n_dims = 0
        cdef bint touched = False
        cdef Tensor x
        cdef Entry *e
        cdef Operand *o
        cdef int64_t *dims
        cdef Entry **grown
        cdef uint32_t saves = op.saves
        for k in range(n_in):
            x = <Tensor>ins[k]
            n_dims += x.t.ndim
            if self.has(x.id):
                touched = True
            elif x.watch and self.auto_watch:
                self.put(x.id)
                self.watched.add(x.id)
                touched = True
        if not touched:
            return 0
        if op.why_no_gradient is not None:
            self.blocked[op.name] = op.why_no_gradient
            return 0
        for k in range(n_out):
            n_dims += (<Tensor>outs[k]).t.ndim
        if self.n == self.capacity:
            grown = <Entry **>PyMem_Realloc(self.entries,
                                            max(64, self.capacity * 2) * sizeof(Entry *))
            if grown == NULL:
                raise MemoryError()
            self.entries = grown
            self.capacity = max(64, self.capacity * 2)
        e = <Entry *>self.reserve(sizeof(Entry) + (n_in + n_out) * sizeof(Operand)
                                  + n_dims * sizeof(int64_t))
        e.op = <PyObject *>op
        e.attrs = <PyObject *>attrs if attrs is not None else NULL
        if attrs is not None:
            Py_INCREF(attrs)
        e.n_in = n_in
        e.n_out = n_out
        dims = <int64_t *>&e.operands[n_in + n_out]
        for k in range(n_in + n_out):
            o = &e.operands[k]
            x = <Tensor>(ins[k] if k < n_in else outs[k - n_in])
            if k < n_in:
                o.id = x.id if self.has(x.id) else 0
                o.tensor = <PyObject *>x if saves >> k & 1 else NULL
            else:
                o.id = x.id if df_is_float(x.t.dtype) else 0
                if o.id:
                    self.put(o.id)
                o.tensor = <PyObject *>x if saves & SAVE_OUTPUTS else NULL
            if o.tensor != NULL:
                Py_INCREF(x)
            o.dtype = x.t.dtype
            o.ndim = x.t.ndim
            o.shape = dims
            memcpy(dims, x.t.shape, x.t.ndim * sizeof(int64_t))
            dims += x.t.ndim
        self.entries[self.n] = e
        self.n += 1
        return 0

    def record(self, Py_ssize_t i):
        """The i-th record, oldest first."""
        cdef Record r
        cdef Entry *e
        cdef int k
        if i < 0 or i >= self.n:
            raise IndexError(i)
        e = self.entries[i]
        r = Record.__new__(Record)
        r.op = <Op>e.op
        r.attrs = (<Attrs>e.attrs).as_dict() if e.attrs != NULL else {}
        r.inputs = tuple([operand_object(&e.operands[k]) for k in range(e.n_in)])
        r.input_ids = tuple([e.operands[k].id for k in range(e.n_in)])
        r.outputs = tuple([operand_object(&e.operands[k])
                           for k in range(e.n_in, e.n_in + e.n_out)])
        r.output_ids = tuple([e.operands[k].id for k in range(e.n_in, e.n_in + e.n_out)])
        return r


cdef extern from "Python.h":
    void *PyMem_Realloc(void *p, size_t n)


cdef void global_set_top(RecordLog log) noexcept:
    global df_log_top
    df_log_top = <void *>log if log is not None else NULL


cdef uint64_t id_of(x) except 0:
    if type(x) is Tensor:
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
