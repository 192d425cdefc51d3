# Running a program from Python: arguments to slots, variables held, results back.
#
# Here and in every class with C fields, what they depend on is made in __cinit__: then neither
# `__new__` without `__init__` nor a second `__init__` leaves an object half made.

class Unfit(Exception):
    """The numbers of a call do not fit the program: Python would not compute with them as it did
    while it was traced. Raised before anything runs."""


@cython.final
cdef class GivenNumber:
    """A number among the leaves of a call, as an input of the program.

    Parameters
    ----------
    leaf : int
    kind : type
        The type it must have, int or float.
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
            raise Unfit(f"{value!r} is no {self.kind.__name__}")
        try:
            return scalar_tensor(value, self.dtype, "constant")
        except _errors.DualflowError as error:
            raise Unfit(str(error)) from error


cdef Tensor source_tensor(source, tuple leaves):
    cdef Py_ssize_t at
    if type(source) is GivenNumber:
        at = (<GivenNumber>source).leaf
        if 0 <= at < len(leaves):
            return (<GivenNumber>source).make(leaves[at])
    return <Tensor?>source(leaves)


@cython.final
cdef class Executable:
    """A program with what it is bound to: where parameters come from, and its variables.

    Parameters
    ----------
    program : Program
    sources : list
        For each parameter: a leaf's index, a callable (leaves) -> Tensor, or None: the next one of
        what is kept.
    variables : list of Variable
        The arguments after the parameters.
    written : list of bool
        Which of them it writes.
    kept : Kept, optional
        Its variables are among those that are not written.
    """
    cdef readonly Program program
    cdef readonly Kept kept
    cdef readonly tuple variables
    cdef tuple sources
    cdef tuple written
    cdef Py_ssize_t *leaf_of           # of each source; -1: it is a callable; KEPT
    cdef int n_sources
    cdef int n_args
    cdef int n_reads
    cdef PyObject **of_claim           # variables it reads, then those it writes
    cdef int *places                   # theirs among the arguments
    cdef int *kept_reads               # which of those it reads each variable of `kept` is

    def __cinit__(self, Program program not None, sources, variables, written, Kept kept=None):
        self.program = program
        self.kept = kept
        self.sources = tuple(sources)
        self.variables = tuple(variables)
        self.written = tuple(written)
        self.n_sources = <int>len(self.sources)
        self.n_args = self.n_sources + <int>len(self.variables)
        for v in self.variables:
            if type(v) is not Variable:
                raise TypeError(f"a program's variable is a {type(v).__name__}")
        if len(self.written) != len(self.variables) or self.n_args != program.n_args:
            raise TypeError(f"a program of {program.n_args} arguments got {self.n_args}, and what "
                            f"is written of {len(self.written)} variables")
        self.of_claim = <PyObject **>calloc(len(self.variables) + 1, sizeof(PyObject *))
        self.places = <int *>calloc(len(self.variables) + 1, sizeof(int))
        self.leaf_of = <Py_ssize_t *>calloc(self.n_sources + 1, sizeof(Py_ssize_t))
        self.kept_reads = <int *>calloc(len(self.variables) + 1, sizeof(int))
        if self.of_claim == NULL or self.places == NULL or self.leaf_of == NULL \
                or self.kept_reads == NULL:
            raise MemoryError()
        for k, source in enumerate(self.sources):
            self.leaf_of[k] = source if type(source) is int else KEPT if source is None else -1
            if type(source) is int and source < 0:
                raise IndexError(f"a program's argument {k} is leaf {source}")
        self.n_reads = self.list_variables(False, 0)
        self.list_variables(True, self.n_reads)
        self.find_kept()

    def __dealloc__(self):
        free(self.of_claim)
        free(self.places)
        free(self.leaf_of)
        free(self.kept_reads)

    cdef int find_kept(self) except -1:
        cdef int k, j
        cdef int n = 0 if self.kept is None else self.kept.program.n_returned
        if self.sources.count(None) != n:
            raise TypeError(f"a program wants {self.sources.count(None)} kept values, got {n}")
        for k in range(0 if self.kept is None else <int>len(self.kept.variables)):
            for j in range(self.n_reads):
                if self.of_claim[j] == <PyObject *>self.kept.variables[k]:
                    self.kept_reads[k] = j
                    break
            else:
                raise TypeError("a value is kept of a variable that the program does not read")
        return 0

    cdef int list_variables(self, bint written, int n) except -1:
        """Lists those that are written, or not, from place n on; returns where the list ends."""
        cdef int k
        for k in range(<int>len(self.variables)):
            if bool(self.written[k]) == written:
                self.of_claim[n] = <PyObject *>self.variables[k]
                self.places[n] = self.n_sources + k
                n += 1
        return n

    def run(self, leaves, bint check_numerics=False):
        """The outputs, a list, for the leaves of a call's arguments (Tensors and numbers)."""
        return self.execute(tuple(leaves), NULL, check_numerics)

    def profile(self, leaves):
        """Runs; results, time of each instruction, and its start on the monotonic clock, in ns."""
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
        cdef list held = None          # keeps alive what `args` borrows
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
                if at == KEPT:
                    continue
                if at < 0:
                    x = source_tensor(self.sources[k], leaves)
                    if held is None:
                        held = []
                    held.append(x)
                elif at < len(leaves):
                    x = <Tensor?>leaves[at]
                else:
                    raise IndexError(f"a call of {len(leaves)} leaves, wanted number {at}")
                args[k] = <PyObject *>x
            if self.n_args == self.n_sources and self.kept is None:
                self.program.execute(args, made, profile, check_numerics, NULL)
            else:
                self.execute_claimed(args, made, profile, check_numerics)
            return made
        finally:
            if args != few:
                PyMem_Free(args)

    cdef int execute_claimed(self, PyObject **args, list made, const df_profile *profile,
                             bint check_numerics) except -1:
        """Runs with its variables, which come after the other arguments."""
        cdef Claim claim
        cdef Variable v
        cdef list kept                 # keeps alive what `args` borrows
        cdef int k
        claim.n_reads = self.n_reads
        claim.n_writes = self.n_args - self.n_sources - self.n_reads
        claim.reads = self.of_claim
        claim.writes = self.of_claim + self.n_reads
        claim.values = args + self.n_args
        stake(&claim)
        try:
            for k in range(claim.n_reads):
                args[self.places[k]] = claim.values[k]
            if self.kept is not None:
                kept = self.take_kept(args, claim.values)
            for k in range(claim.n_writes):
                v = <Variable>claim.writes[k]
                make_exclusive(v)
                args[self.places[self.n_reads + k]] = <PyObject *>v.value_
            self.program.execute(args, made, profile, check_numerics,
                                 &claim if claim.n_writes else NULL)
        finally:
            if claim.n_writes:
                let_go(&claim)
            for k in range(claim.n_reads):
                Py_DECREF(<object>claim.values[k])
        return 0

    cdef list take_kept(self, PyObject **args, PyObject **values):
        """Sets the arguments that are kept; `values` are those of the variables it reads."""
        cdef PyObject **of_kept = values + self.n_reads
        cdef list kept
        cdef Py_ssize_t k, n = 0
        for k in range(<Py_ssize_t>len(self.kept.variables)):
            of_kept[k] = values[self.kept_reads[k]]
        kept = self.kept.of(of_kept)
        for k in range(self.n_sources):
            if self.leaf_of[k] == KEPT:
                args[k] = PyList_GET_ITEM(kept, n)
                n += 1
        return kept

