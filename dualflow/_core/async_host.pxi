# Asynchronous host calls: the callbacks behind `host_start` and `host_wait`, which C calls while a
# program runs (base/host.h), and the views of its memory that the started operations use.
# Invariant: the memory under a view lives until the run has waited for the operation or, if the
# run fails before, until the view is gone.

@cython.final
@cython.no_gc_clear         # the program must outlive the frame
cdef class OutstandingRun:
    """The memory of a failed run that outstanding operations may still use: frame, arguments and
    results (csrc/exec/program.h, df_outstanding). The views of it keep it alive."""
    cdef df_outstanding outstanding
    cdef object program
    cdef df_program *c
    cdef df_frame *frame
    cdef list tensors

    def __dealloc__(self):
        if self.frame != NULL:
            df_program_leave(self.c, self.frame)
        free(self.outstanding.handles)

    cdef void take(self, df_frame *frame) noexcept:
        """Make the views keep this memory alive. Preserves the exception of a callback."""
        cdef PyObject *error[3]
        cdef int k
        self.frame = frame
        PyErr_Fetch(&error[0], &error[1], &error[2])
        try:
            for k in range(self.outstanding.n):
                for item in OPERATIONS.pop(self.outstanding.handles[k], NO_OPERATION)[1]:
                    (<RunBuffer>item).memory = self
        except MemoryError:
            Py_INCREF(self)         # leak the memory: it must not be reused
        PyErr_Restore(error[0], error[1], error[2])


cdef OutstandingRun outstanding_run(object program, df_program *c, list tensors):
    """Return an OutstandingRun. Called before the run, because nothing may be allocated after a
    failure.
    """
    cdef OutstandingRun memory = OutstandingRun.__new__(OutstandingRun)
    memory.program, memory.c, memory.tensors = program, c, tensors
    memory.outstanding.handles = <int64_t *>malloc(df_program_max_outstanding(c) * sizeof(int64_t))
    if memory.outstanding.handles == NULL:
        raise MemoryError()
    return memory


@cython.final
cdef class RunBuffer:
    """Exporter of the bytes of a tensor of a run, valid until the run has waited for the operation
    that uses them. If the run fails before, `memory` keeps them alive."""
    cdef void *data
    cdef Py_ssize_t n
    cdef bint filled
    cdef OutstandingRun memory

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.n, not self.filled, flags)


cdef tuple expose(const df_tensor *t, bint filled, list exposed):
    cdef RunBuffer item = RunBuffer.__new__(RunBuffer)
    item.data, item.n, item.filled = t.data, df_tensor_bytes(t), filled
    exposed.append(item)
    return DTYPES[<int>t.dtype], shape_tuple(t), memoryview(item)


cdef dict OPERATIONS = {}           # handle -> [object with result(), list of Borrowed]
cdef tuple NO_OPERATION = (None, ())
cdef int64_t n_operations = 0


cdef df_status start_async(int64_t id, int n, const df_tensor *const *ins, int n_out,
                           df_tensor *const *outs, int64_t *handle,
                           df_error *err) except DF_UNIMPLEMENTED with gil:
    global n_operations
    cdef list reads = [], fills = [], exposed = [], entry
    cdef object number
    cdef Aside aside
    cdef int k
    for k in range(n):
        reads.append(expose(ins[k], False, exposed))
    for k in range(n_out):
        fills.append(expose(outs[k], True, exposed))
    n_operations += 1
    handle[0] = n_operations
    number = handle[0]
    entry = OPERATIONS[number] = [None, exposed]    # before the start, after which nothing may fail
    aside = step_aside()
    try:
        entry[0] = (<HostFunction?>HOST[id]).call(reads, fills)
    except BaseException:
        del OPERATIONS[number]
        raise
    finally:
        step_back(aside)
    return DF_OK


cdef df_status wait_async(int64_t handle, df_error *err) except DF_UNIMPLEMENTED with gil:
    cdef Aside aside = step_aside()
    try:
        OPERATIONS[handle][0].result()
    finally:
        step_back(aside)
    del OPERATIONS[handle]
    return DF_OK


cdef df_host THE_HOST
THE_HOST.call = <df_host_call_fn>enter_host
THE_HOST.start = <df_host_start_fn>start_async
THE_HOST.wait = <df_host_wait_fn>wait_async
df_set_host(&THE_HOST)
