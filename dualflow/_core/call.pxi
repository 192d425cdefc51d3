# Running a program from Python: arguments to slots, variables held, results back.

@cython.final
cdef class Executable:
    """A program with what it is bound to: where parameters come from, and its variables.

    Parameters
    ----------
    program : Program
    sources : list
        For each parameter: a leaf's index, or a callable (leaves) -> Tensor.
    variables : list of Variable
        The arguments after the parameters.
    written : list of bool
        Which of them it writes.
    """
    cdef readonly Program program
    cdef readonly list variables
    cdef list sources
    cdef list written
    cdef int n_sources
    cdef int n_args
    cdef bint plain            # every source is a leaf

    def __init__(self, Program program, list sources, list variables, list written):
        self.program = program
        self.sources = sources
        self.variables = variables
        self.written = written
        self.n_sources = <int>len(sources)
        self.n_args = self.n_sources + <int>len(variables)
        self.plain = all([isinstance(s, int) for s in sources])

    def run(self, list leaves, bint check_numerics=False):
        """The outputs, a list, for the leaves of a call's arguments (Tensors and numbers)."""
        return self.execute(leaves, NULL, check_numerics)

    def profile(self, list leaves):
        """Runs; time of each instruction and its start on the monotonic clock, in ns."""
        cdef df_profile profile
        cdef int n = self.program.n_instructions, k
        cdef int64_t *times = <int64_t *>calloc(2 * n + 1, sizeof(int64_t))
        if times == NULL:
            raise MemoryError()
        profile.ns = times
        profile.start = times + n
        try:
            self.execute(leaves, &profile, False)
            return [times[k] for k in range(n)], [times[n + k] for k in range(n)]
        finally:
            free(times)

    cdef list execute(self, list leaves, const df_profile *profile, bint check_numerics):
        cdef PyObject *few[32]
        cdef PyObject **args = few
        cdef list held = []            # keeps alive what `args` borrows
        cdef list made = []
        cdef Variable v
        cdef Tensor x
        cdef int k
        cdef bint locked = False
        if self.n_args > 32:
            args = <PyObject **>PyMem_Malloc(self.n_args * sizeof(PyObject *))
            if args == NULL:
                raise MemoryError()
        try:
            for k in range(self.n_sources):
                source = self.sources[k]
                if type(source) is int:
                    x = <Tensor?>(<list>leaves)[<Py_ssize_t>source]
                else:
                    x = <Tensor?>source(leaves)
                    held.append(x)
                args[k] = <PyObject *>x
            locked = self.hold()
            for k in range(<int>len(self.variables)):
                v = <Variable>self.variables[k]
                if self.written[k]:
                    v.make_exclusive()
                x = v.value_
                if not self.written[k]:
                    held.append(x)
                args[self.n_sources + k] = <PyObject *>x
            self.program.execute(args, made, profile, check_numerics)
            return made
        finally:
            if locked:
                self.let_go()
            if args != few:
                PyMem_Free(args)

    cdef bint hold(self) except -1:
        """Waits until nobody writes the variables; where the run lets other threads in, marks those
        it writes."""
        cdef Variable v
        cdef int k
        cdef bint free = False
        while not free:
            free = True
            for k in range(<int>len(self.variables)):
                v = <Variable>self.variables[k]
                if v.busy:
                    v.wait()
                    free = False
                    break
        if self.program.cost <= NOGIL_NS:
            return False
        for k in range(<int>len(self.variables)):
            if self.written[k]:
                (<Variable>self.variables[k]).busy = True
        return True

    cdef void let_go(self) noexcept:
        cdef int k
        for k in range(<int>len(self.variables)):
            if self.written[k]:
                (<Variable>self.variables[k]).busy = False
