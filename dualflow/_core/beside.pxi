# Asynchronous host calls: the callbacks behind `host_start` and `host_wait`, which C calls while a
# program runs (base/host.h), and the views of its memory that the started operations use.
# Invariant: the memory under a view lives until the run has waited for the operation or, if the
# run fails before, until the view is gone.

@cython.final
@cython.no_gc_clear         # the program must outlive the frame
cdef class RunMemory:
    """The memory of a failed run that outstanding operations may still use: frame, arguments and
    results (csrc/exec/program.h, df_left). The views of it keep it alive."""
    cdef df_left left
    cdef object program
    cdef df_program *c
    cdef df_frame *frame
    cdef list tensors

    def __dealloc__(self):
        if self.frame != NULL:
            df_program_leave(self.c, self.frame)
        free(self.left.tickets)

    cdef void take(self, df_frame *frame) noexcept:
        """Make the views keep this memory alive. Preserves the exception of a callback."""
        cdef PyObject *error[3]
        cdef int k
        self.frame = frame
        PyErr_Fetch(&error[0], &error[1], &error[2])
        try:
            for k in range(self.left.n):
                for item in TICKETS.pop(self.left.tickets[k], NOBODY)[1]:
                    (<Borrowed>item).memory = self
        except MemoryError:
            Py_INCREF(self)         # leak the memory: it must not be reused
        PyErr_Restore(error[0], error[1], error[2])


cdef RunMemory memory_of_run(object program, df_program *c, list tensors):
    """Return a RunMemory. Called before the run, because nothing may be allocated after a failure.
    """
    cdef RunMemory memory = RunMemory.__new__(RunMemory)
    memory.program, memory.c, memory.tensors = program, c, tensors
    memory.left.tickets = <int64_t *>malloc(df_program_pairs(c) * sizeof(int64_t))
    if memory.left.tickets == NULL:
        raise MemoryError()
    return memory


@cython.final
cdef class Borrowed:
    """Exporter of the bytes of a tensor of a run, valid until the run has waited for the operation
    that uses them. If the run fails before, `memory` keeps them alive."""
    cdef void *data
    cdef Py_ssize_t n
    cdef bint filled
    cdef RunMemory memory

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.n, not self.filled, flags)


cdef tuple borrow(const df_tensor *t, bint filled, list borrowed):
    cdef Borrowed item = Borrowed.__new__(Borrowed)
    item.data, item.n, item.filled = t.data, df_tensor_bytes(t), filled
    borrowed.append(item)
    return DTYPES[<int>t.dtype], shape_tuple(t), memoryview(item)


cdef dict TICKETS = {}              # handle -> [object with result(), list of Borrowed]
cdef tuple NOBODY = (None, ())
cdef int64_t n_tickets = 0


cdef df_status start_beside(int64_t id, int n, const df_tensor *const *ins, int n_out,
                            df_tensor *const *outs, int64_t *ticket,
                            df_error *err) except DF_UNIMPLEMENTED with gil:
    global n_tickets
    cdef list reads = [], fills = [], borrowed = [], entry
    cdef object number
    cdef Aside aside
    cdef int k
    for k in range(n):
        reads.append(borrow(ins[k], False, borrowed))
    for k in range(n_out):
        fills.append(borrow(outs[k], True, borrowed))
    n_tickets += 1
    ticket[0] = n_tickets
    number = ticket[0]
    entry = TICKETS[number] = [None, borrowed]      # before the start, after which nothing may fail
    aside = step_aside()
    try:
        entry[0] = (<HostFunction?>HOST[id]).call(reads, fills)
    except BaseException:
        del TICKETS[number]
        raise
    finally:
        step_back(aside)
    return DF_OK


cdef df_status wait_beside(int64_t ticket, df_error *err) except DF_UNIMPLEMENTED with gil:
    cdef Aside aside = step_aside()
    try:
        TICKETS[ticket][0].result()
    finally:
        step_back(aside)
    del TICKETS[ticket]
    return DF_OK


cdef df_host THE_HOST
THE_HOST.call = <df_host_call_fn>enter_host
THE_HOST.start = <df_host_start_fn>start_beside
THE_HOST.wait = <df_host_wait_fn>wait_beside
df_set_host(&THE_HOST)
