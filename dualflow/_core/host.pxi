# Calls from a running program back into Python: a table of callables by number.

ctypedef c_bool (*poll_fn)(void *context) noexcept nogil

# id -> HostFunction. Weak: a callable may hold values of the graph that calls it, so only the graph
# may hold the callable.
cdef object HOST = _weakref.WeakValueDictionary()
cdef int64_t n_host_functions = 0


cdef class HostFunction:
    """Makes a callable known to the ops that call the host, for as long as this object lives.

    Parameters
    ----------
    call : callable
        Gets a Tensor for each input of the op, copies; for `host_compute` it gives a sequence with
        a value for each output. What it raises comes out of the run. Of `host_start` it gets two
        lists of (dtype, shape, memoryview of the bytes), of what it may read and what it is to
        fill, until ``result()`` of what it gives has returned; what that raises comes out of
        `host_wait`.
    name : str
        What messages call it.

    Attributes
    ----------
    id : int
        The ops' attribute; numbers are never used again.
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
    """The HostFunction that an application calls; None of an op that calls none, and if it is gone
    with its graph."""
    return HOST.get(attrs.values[0]) if op.c.host else None


def as_promised(str name, values, list promised):
    """What a Python function gave for an op, as Tensors.

    Parameters
    ----------
    name : str
    values : sequence
        Numbers and lists of them take the dtype promised; tensors and arrays must have it.
    promised : list of (dtype, shape)

    Returns
    -------
    list of Tensor
    """
    cdef list made = []
    cdef Tensor y
    if len(values) != len(promised):
        raise _errors.InvalidArgumentError(
            f"{name}: the function gave {len(values)} results, promised were {len(promised)}")
    for k, (dtype, shape) in enumerate(promised):
        weak = not hasattr(values[k], "dtype")
        try:
            y = <Tensor>as_tensor(values[k], dtype if weak else None, name)
        except _errors.DualflowError as error:
            error.add_note(f"in result {k} of {name}, promised {dtype} {shape}")
            raise
        if type(y) is not Tensor:
            raise _errors.TracedValueError(f"{name}: result {k} of the function is {y!r}, a tensor "
                                           "of a graph; want a value")
        if dtype_of(y) is not dtype:
            raise _errors.DTypeError(f"{name}: result {k} of the function is {describe(y)}, "
                                     f"promised was {dtype} {shape}")
        if not is_of_shape(y, shape):
            raise _errors.ShapeError(f"{name}: result {k} of the function is {describe(y)}, "
                                     f"promised was {dtype} {shape}")
        made.append(y)
    return made


cdef bint is_of_shape(Tensor x, tuple shape):
    """Whether it has that shape, where None stands for any size."""
    cdef int d
    if x.t.ndim != len(shape):
        return False
    for d in range(x.t.ndim):
        if shape[d] is not None and shape[d] != x.t.shape[d]:
            return False
    return True


cdef int hand_in(df_tensor *out, Tensor y) except -1:
    """Copies a result to where the program wants it."""
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
        promised = [(DTYPES[<int>outs[k].dtype], shape_tuple(outs[k])) for k in range(n_out)]
        for k, y in enumerate(as_promised(host.name, made, promised)):
            hand_in(outs[k], <Tensor>y)
    return 0


cdef struct Aside:
    bint working
    void *log
    void *graph


cdef Aside step_aside() noexcept:
    """What Python does now is part of no trace and no tape that this thread has begun."""
    global df_log_top, df_trace_top
    cdef Aside aside = Aside(pause_work(), df_log_top, df_trace_top)
    df_log_top = df_trace_top = NULL
    return aside


cdef void step_back(Aside aside) noexcept:
    global df_log_top, df_trace_top
    df_log_top, df_trace_top = aside.log, aside.graph
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


# C learns of a failure by the status; the exception stays with the thread for `raise_pending`.
cdef poll_fn POLL = <poll_fn>ask_signals
