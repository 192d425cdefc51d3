# What programs compute once and keep, until a variable changes.

cdef enum:
    KEPT = -2                  # where a source is no leaf of a call


@cython.final
cdef class Kept:
    """What a program computes of variables that it does not write, kept from run to run.

    Parameters
    ----------
    program : Program
        Computes it of the variables alone.
    variables : list of Variable

    Attributes
    ----------
    runs : int
        How often it was computed.
    """
    cdef readonly Program program
    cdef readonly tuple variables
    cdef readonly int64_t runs
    cdef list values                   # None: not computed yet
    cdef uint64_t *versions            # of the variables, when it was

    def __cinit__(self, Program program not None, variables):
        self.program = program
        self.variables = tuple(variables)
        for v in self.variables:
            if type(v) is not Variable:
                raise TypeError(f"a program's variable is a {type(v).__name__}")
        if len(self.variables) != program.n_args:
            raise TypeError(f"a program of {program.n_args} arguments got {len(self.variables)}")
        self.versions = <uint64_t *>calloc(len(self.variables) + 1, sizeof(uint64_t))
        if self.versions == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.versions)

    cdef list of(self, PyObject **values):
        """What is kept, for these values of the variables; computed again if one has changed.

        A value may be an older one than the variable's, or a copy of one that is being written:
        what is computed of such is not kept.
        """
        cdef list made = []
        cdef Variable v
        cdef Py_ssize_t k, n = len(self.variables)
        cdef bint lasts = True, fresh = self.values is not None
        cdef list versions = []
        for k in range(n):
            v = <Variable>PyTuple_GET_ITEM(self.variables, k)
            lasts = lasts and values[k] == <PyObject *>v.value_
            fresh = fresh and self.versions[k] == v.version
        if lasts and fresh:
            return self.values
        if lasts:
            self.values = None         # its memory is used again
            for known in self.variables:
                versions.append((<Variable>known).version)
        self.program.execute(values, made, NULL, False, NULL)
        self.runs += 1
        if lasts:
            self.values = made
            for k in range(n):
                self.versions[k] = versions[k]
        return made
