# Callbacks from a running program into Python: a table of callables by id, and the functions that C
# calls (base/host.h). A callback runs outside the traces and tapes of its thread, and other threads
# can read the variables that the run writes.

ctypedef c_bool (*poll_fn)(void *context) noexcept nogil

cdef extern from *:
    """
    static DF_THREAD_LOCAL int df_host_depth;   /* runs of this thread that are calling Python */
    """
    int df_host_depth

cdef object FAILURE_HOOK = None


def host_depth():
    """Return the number of runs of this thread that are calling Python."""
    return df_host_depth


def set_failure_hook(hook):
    """Call `hook` with the `host_depth` of the callbacks of a run when the run has failed."""
    global FAILURE_HOOK
    FAILURE_HOOK = hook

# id -> HostFunction. Weak: a callable may refer to values of the graph that calls it, so only the
# graph may own the callable.
cdef object HOST = _weakref.WeakValueDictionary()
cdef int64_t n_host_functions = 0


cdef class HostFunction:
    """A callable for the ops `host_call`, `host_compute` and `host_start`, while this object lives.

    Parameters
    ----------
    call : callable
        Called with a copy of each input as a Tensor. For `host_compute` it returns a sequence with
        a value for each output. An exception propagates out of the run.

        For `host_start` it is called with two lists of (dtype, shape, memoryview of the bytes),
        inputs to read and outputs to fill, and returns an object whose ``result()`` waits for the
        operation. The memoryviews are valid until ``result()`` has returned. `host_wait` raises the
        exception of ``result()``.
    name : str
        The name in messages.

    Attributes
    ----------
    id : int
        The attribute of the ops. An id is never reused.
    """
    cdef readonly object call
    cdef readonly str name
    cdef readonly int64_t id
    cdef object __weakref__

    def __init__(self, call, str name="host_call"):
        global n_host_functions
        n_host_functions += 1
        self.call, self.name, self.id = call, name, n_host_functions
        HOST[self.id] = self


def host_function(Op op, Attrs attrs):
    """Return the HostFunction that an application calls; None if the op calls none, or if the
    function was freed with its graph."""
    return HOST.get(attrs.values[0]) if op.c.host else None


def check_callback_results(str name, values, list expected):
    """Check the results of a Python function for an op and return them as Tensors.

    Parameters
    ----------
    name : str
    values : sequence
        Python numbers and lists take the declared dtype; tensors and arrays must have it.
    expected : list of (dtype, shape)
        The shape is None if any shape is accepted.

    Returns
    -------
    list of Tensor
    """
    cdef list made = []
    cdef Tensor y
    if len(values) != len(expected):
        raise _errors.InvalidArgumentError(
            f"{name}: the function returned {len(values)} results, expected {len(expected)}")
    for k, (dtype, shape) in enumerate(expected):
        weak = not hasattr(values[k], "dtype")
        try:
            y = <Tensor>as_tensor(values[k], dtype if weak else None, name)
        except _errors.DualflowError as error:
            error.add_note(f"in result {k} of {name}, expected {dtype} {shape}")
            raise
        if type(y) is not Tensor:
            raise _errors.TracedValueError(f"{name}: result {k} of the function is {y!r}, a tensor "
                                           "of a graph; expected a value")
        if dtype_of(y) is not dtype:
            raise _errors.DTypeError(f"{name}: result {k} of the function is {describe(y)}, "
                                     f"expected {dtype} {shape}")
        if not is_of_shape(y, shape):
            raise _errors.ShapeError(f"{name}: result {k} of the function is {describe(y)}, "
                                     f"expected {dtype} {shape}")
        made.append(y)
    return made


cdef bint is_of_shape(Tensor x, tuple shape):
    """Return True if a tensor has a shape, in which None matches any size. None matches any
    shape."""
    cdef int d
    if shape is None:
        return True
    if x.t.ndim != len(shape):
        return False
    for d in range(x.t.ndim):
        if shape[d] is not None and shape[d] != x.t.shape[d]:
            return False
    return True


cdef int store_result(df_tensor *out, Tensor y) except -1:
    """Copy a result to an output of the program, which gets memory here if its size is unknown."""
    cdef df_error err
    if out.size < 0:
        check(df_tensor_set(out, y.t.dtype, y.t.ndim, y.t.shape, b"host_compute", &err), &err)
        check(df_tensor_alloc(out, b"host_compute", &err), &err)
    if y.t.size:
        memcpy(out.data, y.t.data, df_tensor_bytes(&y.t))
    return 0


cdef int call_host(HostFunction host, int n, const df_tensor *const *ins, int n_out,
                   df_tensor *const *outs) except -1:
    cdef list args = []
    cdef Tensor x
    cdef int k
    for k in range(n):
        x = new_tensor(ins[k].dtype, ins[k].ndim, ins[k].shape, b"host_call")
        if x.t.size:
            memcpy(x.t.data, ins[k].data, df_tensor_bytes(&x.t))
        args.append(x)
    made = host.call(*args)
    if n_out:
        expected = [(DTYPES[<int>outs[k].dtype], shape_tuple(outs[k])) for k in range(n_out)]
        for k, y in enumerate(check_callback_results(host.name, made, expected)):
            store_result(outs[k], <Tensor>y)
    return 0


cdef struct Aside:
    bint working
    void *tape
    void *graph
    int autocast


cdef Aside step_aside() noexcept:
    """Leave the trace, the tapes, the run and the autocast region of this thread, so that Python
    code can be called. Return the state for `step_back`."""
    global df_tape_top, df_trace_top, df_host_depth, df_autocast
    cdef Aside aside = Aside(pause_work(), df_tape_top, df_trace_top, df_autocast)
    df_host_depth += 1
    df_tape_top = df_trace_top = NULL
    df_autocast = 0
    return aside


cdef void step_back(Aside aside) noexcept:
    global df_tape_top, df_trace_top, df_host_depth, df_autocast
    df_host_depth -= 1
    df_tape_top, df_trace_top, df_autocast = aside.tape, aside.graph, aside.autocast
    resume_work(aside.working)


cdef df_status enter_host(int64_t id, int n, const df_tensor *const *ins, int n_out,
                          df_tensor *const *outs, df_error *err) except DF_UNIMPLEMENTED with gil:
    cdef Aside aside = step_aside()
    try:
        call_host(<HostFunction?>HOST[id], n, ins, n_out, outs)
    finally:
        step_back(aside)
    return DF_OK


cdef c_bool ask_signals(void *context) except True with gil:
    cdef bint working = pause_work()
    try:
        PyErr_CheckSignals()
    finally:
        resume_work(working)
    return False


# C gets a failure as a status; the exception stays in the thread state for `raise_pending`.
cdef poll_fn POLL = <poll_fn>ask_signals
