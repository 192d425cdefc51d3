# Arguments whose memory a run frees early (csrc/exec/program.h, df_loan).

@cython.final
cdef class Lent:
    """References to the arguments of a run, dropped when it begins. From then on the run owns the
    buffers: it frees an argument after its last reader and allocates a result at its first writer.
    """
    cdef list held
    cdef RecordLog log

    cdef int let_go(self) except -1:
        self.held.clear()
        if self.log is not None:
            self.log.free_entries()
        return 0
