# What goes on beside a program: memory of its run that is read and filled meanwhile, and tickets.

@cython.final
@cython.no_gc_clear         # the program must outlive the frame
cdef class RunMemory:
    """What a run that failed left in use (csrc/exec/program.h, df_left): frame, arguments and
    results, for as long as somebody can see them."""
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
        """Hands all that over to those who can see it. A callback may have left an exception."""
        cdef PyObject *error[3]
        cdef int k
        self.frame = frame
        PyErr_Fetch(&error[0], &error[1], &error[2])
        try:
            for k in range(self.left.n):
                for item in TICKETS.pop(self.left.tickets[k], NOBODY)[1]:
                    (<Borrowed>item).memory = self
        except MemoryError:
            Py_INCREF(self)         # better lost than given to others
        PyErr_Restore(error[0], error[1], error[2])


cdef RunMemory memory_of_run(object program, df_program *c, list tensors):
    """To be made before the run: when it has failed, nothing is allocated."""
    cdef RunMemory memory = RunMemory.__new__(RunMemory)
    memory.program, memory.c, memory.tensors = program, c, tensors
    memory.left.tickets = <int64_t *>malloc(df_program_pairs(c) * sizeof(int64_t))
    if memory.left.tickets == NULL:
        raise MemoryError()
    return memory


@cython.final
cdef class Borrowed:
    """The bytes of a tensor of a run, until that has waited for what reads or fills them. If it
    fails before, whoever has a view of them keeps them."""
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


cdef dict TICKETS = {}              # number -> [what was started, what it borrows]
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
    entry = TICKETS[number] = [None, borrowed]      # once it has started nothing may fail
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
