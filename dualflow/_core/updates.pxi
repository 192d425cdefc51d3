# An op that writes variables, applied to several in one call.

def apply_each(str name not None, list rows not None, dict attrs not None):
    """Applies an op that writes variables to each of several tuples of inputs, now.

    All are checked before anything is written, and other threads see all of it or nothing.
    """
    cdef Op op = find_op(name)
    cdef Attrs packed = pack_attrs(op, attrs) if attrs or op.c.n_attrs else None
    cdef Py_ssize_t i, n = len(rows), n_writes = 0
    cdef int k, each = 0
    cdef list ready = [None] * n
    cdef PyObject **variables
    cdef Claim claim
    for k in range(MAX_WRITTEN):
        each += op.c.writes >> k & 1
    variables = <PyObject **>PyMem_Malloc((n * each + 1) * sizeof(PyObject *))
    if variables == NULL:
        raise MemoryError()
    try:
        for i in range(n):
            ready[i] = checked_row(op, <tuple?>rows[i], packed, variables + n_writes)
            n_writes += each
        claim.n_reads, claim.n_writes = 0, <int>n_writes
        claim.writes = variables
        stake(&claim)
        try:
            for i in range(n):
                run_row(op, <list>ready[i], packed, variables + i * each)
                ready[i] = None            # one more reference would force a copy
        finally:
            let_go(&claim)
    finally:
        PyMem_Free(variables)


cdef list checked_row(Op op, tuple inputs, Attrs attrs, PyObject **variables):
    """What the op is given: tensors, and None in the places of the variables that it writes."""
    cdef PyObject *args[INLINE_OPERANDS]
    cdef Py_ssize_t k, n = len(inputs)
    cdef Pointers p
    cdef df_call call
    cdef df_error err
    cdef list ins
    if n > INLINE_OPERANDS:
        raise ValueError(f"{op.name}: {n} inputs, want at most {INLINE_OPERANDS}")
    for k in range(n):
        args[k] = <PyObject *>inputs[k]
    ins = convert_inputs(op, args, n)
    for x in ins:
        if type(x) is not Tensor:
            raise TypeError(f"{op.name}: got a {type(x).__name__} to compute with at once")
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
