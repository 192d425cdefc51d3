# Tape records of functions that are not ops: functions with a custom gradient, calls of traced
# functions, branches and loops. Called by the gradient functions of dualflow.autodiff and by graph
# calls. The ops of these records live as long as the tape.


def record_function(str name, rule, list inputs, list outputs, mark=None):
    """Record that a function with a custom gradient rule computed `outputs` from `inputs`.

    Parameters
    ----------
    name : str
        The name in messages.
    rule : callable (g, y, *inputs)
        Like the rule of an op with several outputs; `y` and the inputs are specs.
    inputs : list of Tensor
    outputs : list of Tensor
        Returned under new tensor ids, so that no gradient reaches the ops that computed them.
    mark : int, optional
        In a trace: the position at which the function begins.

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
    """Record a call whose rule continues the accumulators of the inputs, as if each op of the call
    had been recorded.

    Parameters
    ----------
    name : str
    rule : callable (g, sums, wanted) -> list of Tensor or None
        Called with the accumulated cotangent of each output and of each input (or None), and with
        a bool for each input, then each output: True if its result is used. Returns the new
        accumulator of each input, then the gradient of each output with uses inside the call.
    inputs : list of Tensor
        Without duplicates.
    outputs : list of Tensor

    Returns
    -------
    list of Tensor
        The outputs under new tensor ids.
    """
    cdef Op op = function_op(name, rule)
    cdef list fresh = renewed(outputs)
    op.sums = True
    record_outputs(op, inputs, fresh)
    return fresh


def record_owner(str name, rule, list inputs, list outputs):
    """Record branches or a loop like a call, see `record_call`, whose outputs keep their tensor
    ids. Return the op."""
    cdef Op op = function_op(name, rule)
    op.sums = True
    record_outputs(op, inputs, outputs)
    return op


cdef Op function_op(str name, rule):
    """Return an op that consists only of its rule."""
    cdef Op op = Op.__new__(Op)
    op.c = &df_function_op
    op.name = name
    op.attrs = ()
    op.gradient_rule = rule
    return op


def renewed(list tensors):
    """Return the same values under new tensor ids, which no tape tracks."""
    cdef Tensor x
    cdef list fresh = []
    for x in tensors:
        fresh.append(share(x, 0, x.t.dtype, x.t.ndim, x.t.shape, b"record_function"))
    return fresh


cdef int record_outputs(Op op, list inputs, list fresh) except -1:
    """Append an application of an op of `function_op` to all tapes of this thread."""
    cdef Tape tape = <Tape>df_tape_top if df_tape_top != NULL else None
    cdef Pointers p_in, p_out
    cdef int64_t n
    if tape is None or not inputs or not fresh:
        return 0
    init_pointers(&p_in)
    init_pointers(&p_out)
    try:
        point_at(&p_in, inputs)
        point_at(&p_out, fresh)
        while tape is not None:
            n = tape.c.n
            tape.append(op, None, p_in.objects, p_in.n, p_out.objects, p_out.n)
            if tape.c.n > n:
                if tape.functions is None:
                    tape.functions = []
                tape.functions.append(op)
            tape = tape.outer
    finally:
        free_pointers(&p_in)
        free_pointers(&p_out)
    return 0


def recorded(list tensors):
    """Return the indices of the tensors that a tape of this thread tracks."""
    cdef Tape tape
    cdef PyObject *one
    cdef bint found
    cdef Py_ssize_t k
    cdef list places = []
    for k in range(len(tensors)):
        if not is_tensor(tensors[k]):
            raise TypeError(f"expected a Tensor, got {type(tensors[k]).__name__}")
        one = <PyObject *>tensors[k]
        found = False
        tape = <Tape>df_tape_top if df_tape_top != NULL else None
        while tape is not None:
            found |= tape.touches(&one, 1)
            tape = tape.outer
        if found:
            places.append(k)
    return places
