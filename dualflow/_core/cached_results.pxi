# Cached results of programs: values that depend only on variables. Used by Executable (call.pxi).
# Cached values are returned only for the current value of each variable, at its cached version.

cdef enum:
    FROM_CACHE = -2            # in place of the leaf of a source: the source is a cached value


@cython.final
cdef class CachedResults:
    """The results of a program that reads only variables, cached until a variable changes.

    Parameters
    ----------
    program : Program
        Its arguments are the variables, none of which it writes.
    variables : list of Variable

    Attributes
    ----------
    runs : int
        The number of runs of the program.
    """
    cdef readonly Program program
    cdef readonly tuple variables
    cdef readonly int64_t runs
    cdef list values                   # None: not computed yet
    cdef uint64_t *versions            # of the variables, when the values were computed

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

    cdef list values_for(self, PyObject **values):
        """Return the results for these values of the variables, recomputed if one has changed.

        A value may be older than the current one of its variable, or a copy made during a write:
        results of such values are not cached.
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
            self.values = None         # free the memory for the new values
            for known in self.variables:
                versions.append((<Variable>known).version)
        self.program.execute(values, made, NULL, False, NULL)
        self.runs += 1
        if lasts:
            self.values = made
            for k in range(n):
                self.versions[k] = versions[k]
        return made
