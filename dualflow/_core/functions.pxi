# Records of things other than ops: functions with their own gradient, calls of traced functions.


def record_function(str name, rule, list inputs, list outputs, mark=None):
    """Records outputs as made from inputs by something with a gradient rule of its own.

    Parameters
    ----------
    name : str
        What messages call it.
    rule : callable (g, y, *inputs)
        Like the rule of an op with several outputs; of `y` and the inputs it gets specs only.
    inputs : list of Tensor
    outputs : list of Tensor
        They are returned under new identities, so that nothing flows back through what computed
        them.
    mark : int, optional
        In a trace: where that begins.

    Returns
    -------
    list of Tensor
    """
    cdef Op op = function_op(name, rule)
    cdef list fresh
    if df_trace_top != NULL:
        inputs, fresh = (<object>df_trace_top).record_function(op, inputs, outputs, mark)
    else:
        fresh = renewed(outputs)
    record_outputs(op, inputs, fresh)
    return fresh


def record_call(str name, rule, list inputs, list outputs):
    """Records outputs as made from inputs by a call, whose rule continues the sums of what flows
    into the inputs, as if each op of the call had been recorded.

    Parameters
    ----------
    name : str
    rule : callable (g, sums, wanted) -> list of Tensor or None
        Gets what flows into each output from outside, or None; the sum so far of what flows into
        each input, or None; and which are wanted of the sums for the inputs and of all that flows
        into the outputs, inside the call too. Returns those.
    inputs : list of Tensor
        Each once.
    outputs : list of Tensor

    Returns
    -------
    list of Tensor
        The outputs under new identities.
    """
    cdef Op op = function_op(name, rule)
    cdef list fresh = renewed(outputs)
    op.sums = True
    record_outputs(op, inputs, fresh)
    return fresh


def record_owner(str name, rule, list inputs, list outputs):
    """Records outputs as made from inputs by branches or a loop: a call, see `record_call`, whose
    outputs exist already. Returns the op."""
    cdef Op op = function_op(name, rule)
    op.sums = True
    record_outputs(op, inputs, outputs)
    return op


cdef Op function_op(str name, rule):
    """An op that consists only of its rule."""
    cdef Op op = Op.__new__(Op)
    op.c = &df_function_op
    op.name = name
    op.attrs = ()
    op.gradient_rule = rule
    return op


def renewed(list tensors):
    """The same values under new identities: no tape knows them."""
    cdef Tensor x
    cdef list fresh = []
    for x in tensors:
        fresh.append(share(x, 0, x.t.dtype, x.t.ndim, x.t.shape, b"record_function"))
    return fresh


cdef int record_outputs(Op op, list inputs, list fresh) except -1:
    """Keeps an application of something with a rule of its own in all logs."""
    cdef RecordLog log = <RecordLog>df_log_top if df_log_top != NULL else None
    cdef Pointers p_in, p_out
    cdef int64_t n
    if log is None or not inputs or not fresh:
        return 0
    init_pointers(&p_in)
    init_pointers(&p_out)
    try:
        point_at(&p_in, inputs)
        point_at(&p_out, fresh)
        while log is not None:
            n = log.c.n
            log.append(op, None, p_in.objects, p_in.n, p_out.objects, p_out.n)
            if log.c.n > n:
                if log.functions is None:
                    log.functions = []
                log.functions.append(op)
            log = log.outer
    finally:
        free_pointers(&p_in)
        free_pointers(&p_out)
    return 0


def recorded(list tensors):
    """Which of the tensors, by index, some log that records in this thread watches."""
    cdef RecordLog log
    cdef PyObject *one
    cdef bint found
    cdef Py_ssize_t k
    cdef list places = []
    for k in range(len(tensors)):
        if not is_tensor(tensors[k]):
            raise TypeError(f"want a Tensor, got {type(tensors[k]).__name__}")
        one = <PyObject *>tensors[k]
        found = False
        log = <RecordLog>df_log_top if df_log_top != NULL else None
        while log is not None:
            found |= log.touches(&one, 1)
            log = log.outer
        if found:
            places.append(k)
    return places
