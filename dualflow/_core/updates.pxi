# An op that writes variables, applied to several of them in one call, once or repeatedly. Called by
# dualflow.optimizers. Checks come before the first write, and the locks cover all writes: other
# threads see all updates or none.

def apply_each(str name not None, list rows not None, dict attrs not None):
    """Apply an op that writes variables to each of several tuples of inputs, eagerly.

    All inputs are checked before the first write, and other threads see all updates or none.
    """
    cdef Op op = find_op(name)
    cdef Attrs packed = pack_attrs(op, attrs) if attrs or op.c.n_attrs else None
    cdef Py_ssize_t i, n = len(rows), n_writes = 0
    cdef int k, each = 0
    cdef list ready = [None] * n
    cdef PyObject **variables
    cdef LockRequest request
    for k in range(MAX_WRITTEN):
        each += op.c.writes >> k & 1
    variables = <PyObject **>PyMem_Malloc((n * each + 1) * sizeof(PyObject *))
    if variables == NULL:
        raise MemoryError()
    try:
        for i in range(n):
            ready[i] = checked_row(op, <tuple?>rows[i], packed, variables + n_writes)
            n_writes += each
        request.n_reads, request.n_writes = 0, <int>n_writes
        request.writes = variables
        acquire_variables(&request)
        try:
            for i in range(n):
                run_row(op, <list>ready[i], packed, variables + i * each)
                ready[i] = None            # one more reference would force a copy
        finally:
            release_variables(&request)
    finally:
        PyMem_Free(variables)


cdef list checked_row(Op op, tuple inputs, Attrs attrs, PyObject **variables):
    """Check the inputs of one application and return them: tensors, None for written variables."""
    cdef PyObject *args[INLINE_OPERANDS]
    cdef Py_ssize_t k, n = len(inputs)
    cdef Pointers p
    cdef df_call call
    cdef df_error err
    cdef list ins
    if n > INLINE_OPERANDS:
        raise ValueError(f"{op.name}: {n} inputs, expected at most {INLINE_OPERANDS}")
    for k in range(n):
        args[k] = <PyObject *>inputs[k]
    ins = convert_inputs(op, args, n)
    if ins is None:
        raise TypeError(f"{op.name}: got an operand that is not a tensor")
    for x in ins:
        if type(x) is not Tensor:
            raise TypeError(f"{op.name}: got a {type(x).__name__}, expected a Tensor")
    memset(&call, 0, sizeof(call))
    call.op = op.c
    call.attrs = attrs.c if attrs is not None else NULL
    point_at(&p, ins)
    call.n_in = p.n
    call.in_ = <const df_tensor *const *>p.tensors
    check(df_op_infer(&call, &err), &err)
    for k in range(n):
        if op.c.writes >> k & 1:
            variables[0] = <PyObject *><Variable?>inputs[k]
            variables += 1
            ins[k] = None
    return ins


cdef int run_row(Op op, list ins, Attrs attrs, PyObject **variables) except -1:
    cdef Variable v
    cdef Py_ssize_t k
    for k in range(len(ins)):
        if op.c.writes >> k & 1:
            v = <Variable>variables[0]
            make_exclusive(v)
            ins[k] = v.value_
            variables += 1
    run(op, ins, attrs)
    return 0


@cython.final
cdef class Updates:
    """A call of `apply_each` that can be repeated with other gradients. Variables keep their dtypes
    and shapes, so most checks are done once.

    Parameters
    ----------
    name, rows, attrs
        As for `apply_each`. In each row, the written variables come first, then the gradient, then
        `rest`.
    rest : tuple of Variable
        Variables that are read, the same in each row.
    count : Variable, int64, shape ()
        Incremented by each call.
    """
    cdef Op op
    cdef Attrs attrs
    cdef tuple variables               # the first of each row
    cdef tuple held                    # owns the variables in `written`
    cdef tuple rest
    cdef PyObject **written            # row by row, then the count
    cdef int n, each

    def __cinit__(self, str name not None, list rows not None, dict attrs not None,
                  tuple rest not None, Variable count not None):
        cdef PyObject *given[MAX_WRITTEN]
        cdef list firsts = [], held = []
        cdef Py_ssize_t k
        self.op = find_op(name)
        self.attrs = pack_attrs(self.op, attrs) if attrs or self.op.c.n_attrs else None
        self.n = <int>len(rows)
        for k in range(MAX_WRITTEN):
            self.each += self.op.c.writes >> k & 1
        if not self.each or self.op.c.writes != (<uint64_t>1 << self.each) - 1 or (
                count.value_.t.dtype != DF_I64 or count.value_.t.size != 1):
            raise TypeError(f"{name} is not an update op, or {count.name} is not an int64 counter")
        for row in rows:
            checked_row(self.op, <tuple?>row, self.attrs, given)
            end = row[self.each + 1:]
            if len(row) != self.each + 1 + len(rest) or not is_same(<PyObject *>end,
                                                                    <PyObject *>rest):
                raise TypeError(f"{name}: its inputs are not variables, gradient and {rest}")
            firsts.append(row[0])
            for k in range(self.each):
                held.append(row[k])
        held.append(count)
        for x in rest:
            if type(x) is not Variable:
                raise TypeError(f"{name}: {type(x).__name__} may change, expected a Variable")
        self.variables, self.held, self.rest = tuple(firsts), tuple(held), rest
        self.written = <PyObject **>PyMem_Malloc(len(held) * sizeof(PyObject *))
        if self.written == NULL:
            raise MemoryError()
        for k in range(len(held)):
            self.written[k] = <PyObject *>held[k]

    def __dealloc__(self):
        PyMem_Free(self.written)

    def again(self, list pairs not None):
        """Update with `pairs` of (gradient, variable). Return False, without any change, unless the
        variables are the same and each gradient is a Tensor with the dtype and shape of its
        variable."""
        cdef LockRequest request
        cdef Variable v
        cdef list read = []
        cdef int i
        if df_trace_top != NULL or checking_numerics or len(pairs) != self.n:
            return False
        for i in range(self.n):
            if not is_pair_of(<object>PyList_GET_ITEM(pairs, i),
                              <Variable>PyTuple_GET_ITEM(self.variables, i)):
                return False
        for v in self.rest:
            read.append(read_variable(v))
        request.n_reads, request.n_writes = 0, self.n * self.each + 1
        request.writes = self.written
        acquire_variables(&request)
        try:
            for i in range(self.n):
                self.update(i, (<tuple>PyList_GET_ITEM(pairs, i))[0], read)
            read = None                # may hold the count: one more reference would force a copy
            v = <Variable>self.written[self.n * self.each]
            make_exclusive(v)
            (<uint64_t *>v.value_.t.data)[0] += 1
        finally:
            release_variables(&request)
        return True

    cdef int update(self, int i, Tensor grad, list read) except -1:
        cdef df_tensor *ins[INLINE_OPERANDS]
        cdef df_call call
        cdef Variable v
        cdef int k
        for k in range(self.each):
            v = <Variable>self.written[i * self.each + k]
            make_exclusive(v)
            ins[k] = &v.value_.t
        ins[self.each] = &grad.t
        for k in range(<int>len(read)):
            ins[self.each + 1 + k] = &(<Tensor>PyList_GET_ITEM(read, k)).t
        memset(&call, 0, sizeof(call))
        call.op = self.op.c
        call.attrs = self.attrs.c if self.attrs is not None else NULL
        call.n_in = self.each + 1 + <int>len(read)
        call.in_ = <const df_tensor *const *>ins
        return compute(self.op, &call)


cdef bint is_pair_of(pair, Variable v):
    """Return True for (gradient, v) with a gradient of the dtype and shape of `v`."""
    cdef Tensor g
    if type(pair) is not tuple or len(<tuple>pair) != 2 or (
            PyTuple_GET_ITEM(pair, 1) != <PyObject *>v) or type((<tuple>pair)[0]) is not Tensor:
        return False
    g = <Tensor>(<tuple>pair)[0]
    return g.t.dtype == v.value_.t.dtype and df_same_shape(&g.t, &v.value_.t)
