# Calls from a running program back into Python: a table of callables by number.

cdef extern from *:
    """
    /* What a callback left behind: Python keeps the exception with the thread. */
    static int raise_pending(void) { return PyErr_Occurred() ? -1 : 0; }
    """
    int raise_pending() except -1

ctypedef c_bool (*poll_fn)(void *context) noexcept nogil

cdef Op OP_HOST_CALL = find_op("host_call")
# id -> HostFunction. Weak: a callable may hold values of the graph that calls it, so only the graph
# may hold the callable.
cdef object HOST = _weakref.WeakValueDictionary()
cdef int64_t n_host_functions = 0


cdef class HostFunction:
    """Makes a callable known to the op `host_call`, for as long as this object lives.

    Parameters
    ----------
    call : callable
        Gets a Tensor for each input of the op, copies. What it raises comes out of the run.

    Attributes
    ----------
    id : int
        The op's attribute; numbers are never used again.
    """
    cdef readonly object call
    cdef readonly int64_t id
    cdef object __weakref__

    def __init__(self, call):
        global n_host_functions
        n_host_functions += 1
        self.call, self.id = call, n_host_functions
        HOST[self.id] = self


def host_function(Op op, Attrs attrs):
    """The callable that an application of `host_call` calls; None of another op."""
    return HOST[attrs.values[0]].call if op is OP_HOST_CALL else None


cdef df_status enter_host(int64_t id, int n, const df_tensor *const *ins,
                          df_error *err) except DF_UNIMPLEMENTED with gil:
    cdef list args = []
    cdef Tensor x
    cdef int k
    cdef bint working = pause_work()
    try:
        for k in range(n):
            x = new_tensor(ins[k].dtype, ins[k].ndim, ins[k].shape, b"host_call")
            if x.t.size:
                memcpy(x.t.data, ins[k].data, df_tensor_bytes(&x.t))
            args.append(x)
        HOST[id].call(*args)
    finally:
        resume_work(working)
    return DF_OK


cdef c_bool ask_signals(void *context) except True with gil:
    cdef bint working = pause_work()
    try:
        PyErr_CheckSignals()
    finally:
        resume_work(working)
    return False


# C learns of a failure by the status; the exception stays with the thread for `raise_pending`.
df_set_host(<df_host_fn>enter_host)
cdef poll_fn POLL = <poll_fn>ask_signals
