# Arguments whose memory a run frees early (csrc/exec/program.h, df_donation).

@cython.final
cdef class DonatedArguments:
    """References to the arguments of a run, dropped when it begins. From then on the run owns the
    buffers: it frees an argument after its last reader and allocates a result at its first writer.
    """
    cdef list held
    cdef Tape tape

    cdef int release(self) except -1:
        self.held.clear()
        if self.tape is not None:
            self.tape.free_records()
        return 0
