# Memory that is lent to a run of a program (csrc/exec/program.h, df_loan).

@cython.final
cdef class Lent:
    """What holds the arguments of a run and lets them go when it begins: the run then holds their
    memory, each as long as an instruction reads it, and a result's from when one writes it."""
    cdef list held
    cdef RecordLog log

    cdef int let_go(self) except -1:
        self.held.clear()
        if self.log is not None:
            self.log.free_entries()
        return 0
