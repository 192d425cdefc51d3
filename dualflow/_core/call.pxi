# Execution of a program from Python: argument sources, variable locks, cached values, results.
# Called by the dispatch cache and by concrete functions.
#
# Here and in every class with C fields, `__cinit__` sets the fields: neither `__new__` without
# `__init__` nor a second `__init__` leaves an object half-initialised.

class GuardError(Exception):
    """The numbers of a call do not satisfy the trace: Python would take other decisions than while
    it was traced. Raised before the program runs."""


@cython.final
cdef class NumberArgument:
    """A source that passes a number among the leaves of a call to the program.

    Parameters
    ----------
    leaf : int
    kind : type
        The required type, int or float.
    dtype : DType
    """
    cdef Py_ssize_t leaf
    cdef object kind
    cdef df_dtype dtype

    def __cinit__(self, Py_ssize_t leaf, kind, dtype):
        self.leaf = leaf
        self.kind = kind
        self.dtype = <df_dtype>(<int>dtype.index)

    def __call__(self, leaves):
        return self.make(leaves[self.leaf])

    cdef Tensor make(self, value):
        if type(value) is not self.kind:
            raise GuardError(f"{value!r} is not of type {self.kind.__name__}")
        try:
            return scalar_tensor(value, self.dtype, "constant")
        except _errors.DualflowError as error:
            raise GuardError(str(error)) from error


cdef Tensor source_tensor(source, tuple leaves):
    cdef Py_ssize_t at
    if type(source) is NumberArgument:
        at = (<NumberArgument>source).leaf
        if 0 <= at < len(leaves):
            return (<NumberArgument>source).make(leaves[at])
    return <Tensor?>source(leaves)


@cython.final
cdef class Executable:
    """A program bound to the sources of its parameters and to its variables.

    Parameters
    ----------
    program : Program
    sources : list
        For each parameter: the index of a leaf, a callable (leaves) -> Tensor, or None for the next
        cached value.
    variables : list of Variable
        The arguments after the parameters.
    written : list of bool
        For each variable, whether the program writes it.
    cached : CachedResults, optional
        The cached values. They depend only on variables that are not written.
    """
    cdef readonly Program program
    cdef readonly CachedResults cached
    cdef readonly tuple variables
    cdef tuple sources
    cdef tuple written
    cdef Py_ssize_t *leaf_of           # for each source: a leaf, -1 for a callable, or FROM_CACHE
    cdef int n_sources
    cdef int n_args
    cdef int n_reads
    cdef PyObject **locked_variables   # the variables that it reads, then those that it writes
    cdef int *places                   # for each of these, the index of its argument
    # for each variable of `cached`, its index in `locked_variables`
    cdef int *cached_reads

    def __cinit__(self, Program program not None, sources, variables, written,
                  CachedResults cached=None):
        self.program = program
        self.cached = cached
        self.sources = tuple(sources)
        self.variables = tuple(variables)
        self.written = tuple(written)
        self.n_sources = <int>len(self.sources)
        self.n_args = self.n_sources + <int>len(self.variables)
        for v in self.variables:
            if type(v) is not Variable:
                raise TypeError(f"a program's variable is a {type(v).__name__}")
        if len(self.written) != len(self.variables) or self.n_args != program.n_args:
            raise TypeError(f"a program of {program.n_args} arguments got {self.n_args}, and write "
                            f"flags of {len(self.written)} variables")
        self.locked_variables = <PyObject **>calloc(len(self.variables) + 1, sizeof(PyObject *))
        self.places = <int *>calloc(len(self.variables) + 1, sizeof(int))
        self.leaf_of = <Py_ssize_t *>calloc(self.n_sources + 1, sizeof(Py_ssize_t))
        self.cached_reads = <int *>calloc(len(self.variables) + 1, sizeof(int))
        if self.locked_variables == NULL or self.places == NULL or self.leaf_of == NULL \
                or self.cached_reads == NULL:
            raise MemoryError()
        for k, source in enumerate(self.sources):
            self.leaf_of[k] = (source if type(source) is int else FROM_CACHE if source is None
                               else -1)
            if type(source) is int and source < 0:
                raise IndexError(f"a program's argument {k} is leaf {source}")
        self.n_reads = self.list_variables(False, 0)
        self.list_variables(True, self.n_reads)
        self.match_cached()

    def __dealloc__(self):
        free(self.locked_variables)
        free(self.places)
        free(self.leaf_of)
        free(self.cached_reads)

    cdef int match_cached(self) except -1:
        cdef int k, j
        cdef int n = 0 if self.cached is None else self.cached.program.n_returned
        if self.sources.count(None) != n:
            raise TypeError(f"a program takes {self.sources.count(None)} cached values, got {n}")
        for k in range(0 if self.cached is None else <int>len(self.cached.variables)):
            for j in range(self.n_reads):
                if self.locked_variables[j] == <PyObject *>self.cached.variables[k]:
                    self.cached_reads[k] = j
                    break
            else:
                raise TypeError("a cached value depends on a variable that is not read")
        return 0

    cdef int list_variables(self, bint written, int n) except -1:
        """List the variables that are written, or not, from index n on; return the end index."""
        cdef int k
        for k in range(<int>len(self.variables)):
            if bool(self.written[k]) == written:
                self.locked_variables[n] = <PyObject *>self.variables[k]
                self.places[n] = self.n_sources + k
                n += 1
        return n

    def run(self, leaves, bint check_numerics=False):
        """Return the list of outputs for the leaves of a call (Tensors and numbers)."""
        return self.execute(tuple(leaves), NULL, check_numerics)

    def profile(self, leaves):
        """Run. Return the results, and for each instruction its time and its start on the monotonic
        clock, in ns."""
        cdef df_profile profile
        cdef int n = self.program.n_instructions
        cdef int64_t *times = <int64_t *>calloc(2 * n + 1, sizeof(int64_t))
        if times == NULL:
            raise MemoryError()
        profile.ns = times
        profile.start = times + n
        try:
            made = self.execute(tuple(leaves), &profile, False)
            return made, int_list(times, n), int_list(times + n, n)
        finally:
            free(times)

    cdef list execute(self, tuple leaves, const df_profile *profile, bint check_numerics):
        cdef PyObject *few[32]
        cdef PyObject **args = few
        cdef list held = None          # owns the tensors that `args` borrows
        cdef list made = []
        cdef Tensor x
        cdef Py_ssize_t at
        cdef int k
        if self.n_args + 2 * self.n_reads > 32:
            args = <PyObject **>PyMem_Malloc((self.n_args + 2 * self.n_reads) *
                                             sizeof(PyObject *))
            if args == NULL:
                raise MemoryError()
        try:
            for k in range(self.n_sources):
                at = self.leaf_of[k]
                if at == FROM_CACHE:
                    continue
                if at < 0:
                    x = source_tensor(self.sources[k], leaves)
                    if held is None:
                        held = []
                    held.append(x)
                elif at < len(leaves):
                    x = <Tensor?>leaves[at]
                else:
                    raise IndexError(f"a call of {len(leaves)} leaves has no leaf {at}")
                args[k] = <PyObject *>x
            if self.n_args == self.n_sources and self.cached is None:
                self.program.execute(args, made, profile, check_numerics, NULL)
            else:
                self.execute_locked(args, made, profile, check_numerics)
            return made
        finally:
            if args != few:
                PyMem_Free(args)

    cdef int execute_locked(self, PyObject **args, list made, const df_profile *profile,
                            bint check_numerics) except -1:
        """Run with the variables, which come after the other arguments, locked."""
        cdef LockRequest request
        cdef Variable v
        cdef list cached               # owns the tensors that `args` borrows
        cdef int k
        request.n_reads = self.n_reads
        request.n_writes = self.n_args - self.n_sources - self.n_reads
        request.reads = self.locked_variables
        request.writes = self.locked_variables + self.n_reads
        request.values = args + self.n_args
        acquire_variables(&request)
        try:
            for k in range(request.n_reads):
                args[self.places[k]] = request.values[k]
            if self.cached is not None:
                cached = self.take_cached(args, request.values)
            for k in range(request.n_writes):
                v = <Variable>request.writes[k]
                make_exclusive(v)
                args[self.places[self.n_reads + k]] = <PyObject *>v.value_
            self.program.execute(args, made, profile, check_numerics,
                                 &request if request.n_writes else NULL)
        finally:
            if request.n_writes:
                release_variables(&request)
            for k in range(request.n_reads):
                Py_DECREF(<object>request.values[k])
        return 0

    cdef list take_cached(self, PyObject **args, PyObject **values):
        """Set the arguments that are cached values, given the values of the variables it reads."""
        cdef PyObject **cached_inputs = values + self.n_reads
        cdef list cached
        cdef Py_ssize_t k, n = 0
        for k in range(<Py_ssize_t>len(self.cached.variables)):
            cached_inputs[k] = values[self.cached_reads[k]]
        cached = self.cached.values_for(cached_inputs)
        for k in range(self.n_sources):
            if self.leaf_of[k] == FROM_CACHE:
                args[k] = PyList_GET_ITEM(cached, n)
                n += 1
        return cached

