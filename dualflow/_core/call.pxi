# Running a program from Python: arguments to slots, variables held, results back.
#
# Here and in every class with C fields, what they depend on is made in __cinit__: then neither
# `__new__` without `__init__` nor a second `__init__` leaves an object half made.

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
    cdef readonly tuple variables
    cdef tuple sources
    cdef tuple written
    cdef int n_sources
    cdef int n_args
    cdef int n_reads
    cdef PyObject **of_claim           # variables it reads, then those it writes
    cdef int *places                   # theirs among the arguments

    def __cinit__(self, Program program not None, sources, variables, written):
        self.program = program
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
        if self.of_claim == NULL or self.places == NULL:
            raise MemoryError()
        self.n_reads = self.list_variables(False, 0)
        self.list_variables(True, self.n_reads)

    def __dealloc__(self):
        free(self.of_claim)
        free(self.places)

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
        """Runs; time of each instruction and its start on the monotonic clock, in ns."""
        cdef df_profile profile
        cdef int n = self.program.n_instructions
        cdef int64_t *times = <int64_t *>calloc(2 * n + 1, sizeof(int64_t))
        if times == NULL:
            raise MemoryError()
        profile.ns = times
        profile.start = times + n
        try:
            self.execute(tuple(leaves), &profile, False)
            return int_list(times, n), int_list(times + n, n)
        finally:
            free(times)

    cdef list execute(self, tuple leaves, const df_profile *profile, bint check_numerics):
        cdef PyObject *few[32]
        cdef PyObject **args = few
        cdef list held = []            # keeps alive what `args` borrows
        cdef list made = []
        cdef Tensor x
        cdef Py_ssize_t at
        cdef int k
        if self.n_args + self.n_reads > 32:
            args = <PyObject **>PyMem_Malloc((self.n_args + self.n_reads) * sizeof(PyObject *))
            if args == NULL:
                raise MemoryError()
        try:
            for k in range(self.n_sources):
                source = self.sources[k]
                if type(source) is int:
                    at = source
                    if not 0 <= at < len(leaves):
                        raise IndexError(f"a call of {len(leaves)} leaves, wanted number {at}")
                    x = <Tensor?>leaves[at]
                else:
                    x = <Tensor?>source(leaves)
                    held.append(x)
                args[k] = <PyObject *>x
            if self.n_args == self.n_sources:
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


# --- calls seen before --------------------------------------------------------------------------

class Unfit(Exception):
    """The numbers of a call do not fit the program: Python would not compute with them as it did
    while it was traced. Raised before anything runs."""


cdef bint fast_calls = True        # False: every call takes the slow path, which knows the settings

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object x, int *overflow) noexcept

cdef enum:
    KNOWN_CALLS = 8
    MAX_SMALL = 1 << 24        # SMALL, of dims.pxi


def set_fast_calls(bint fast):
    """Whether calls seen before may skip the search for their trace."""
    global fast_calls
    fast_calls = fast


@cython.final
cdef class KnownCall:
    """A call by position, without structures: what its arguments were, and what ran then."""
    cdef Executable executable
    cdef bint any_number
    cdef tuple like            # a LikeTensor, an AnyNumber, or the value itself
    cdef object numbers        # callable (args) -> Python numbers to be returned, or None
    cdef object pack           # callable (list of outputs, those numbers) -> result, or tuple (of
                               # the outputs), or None: the one output itself

    cdef bint matches(self, tuple args) noexcept:
        cdef Py_ssize_t k, n = len(args)
        cdef PyObject *a
        cdef PyObject *b
        if n != len(self.like):
            return False
        for k in range(n):
            a = PyTuple_GET_ITEM(args, k)
            b = PyTuple_GET_ITEM(self.like, k)
            if type(<object>a) is Tensor:
                if type(<object>b) is not LikeTensor:
                    return False
                if not (<LikeTensor><object>b).fits(<Tensor>a):
                    return False
            elif a != b and not (type(<object>b) is AnyNumber
                                 and (<AnyNumber><object>b).fits(<object>a)):
                return False
        return True


@cython.final
cdef class AnyNumber:
    """An argument that may be any number of a type; ints stay on one side of MAX_SMALL."""
    cdef object kind
    cdef bint small

    cdef bint fits(self, x) noexcept:
        return type(x) is self.kind and (type(x) is not int or is_small(x) == self.small)


cdef bint is_small(x) noexcept:
    cdef int overflow = 0
    cdef long long n = PyLong_AsLongLongAndOverflow(x, &overflow)
    return overflow == 0 and -MAX_SMALL <= n <= MAX_SMALL


@cython.final
cdef class LikeTensor:
    """The dtype and shape of an argument."""
    cdef df_tensor t

    def __cinit__(self):
        df_tensor_init(&self.t)

    def __dealloc__(self):
        df_tensor_clear(&self.t)

    cdef bint fits(self, Tensor x) noexcept:
        return x.t.dtype == self.t.dtype and df_same_shape(&x.t, &self.t)


cdef class Dispatcher:
    """Takes the calls of a traced function: calls seen before run at once, others go to
    ``self.find_and_run(args, kwargs)``."""
    cdef list known

    def __cinit__(self, *args, **kwargs):
        self.known = []

    def __call__(self, *args, **kwargs):
        cdef KnownCall call
        cdef list made
        if (fast_calls and not checking_numerics and df_trace_top == NULL and df_log_top == NULL
                and not kwargs):
            for entry in self.known:
                call = <KnownCall>entry
                if call.matches(args):
                    if call.any_number:
                        return self.run_numbers(call, args)
                    made = call.executable.execute(args, NULL, False)
                    if call.pack is None:
                        return made[0]
                    return tuple(made) if call.pack is tuple else call.pack(made, None)
        return self.find_and_run(args, kwargs)

    cdef object run_numbers(self, KnownCall call, tuple args):
        """Runs a call with numbers that are inputs."""
        cdef list made
        try:
            numbers = None if call.numbers is None else call.numbers(args)
            made = call.executable.execute(args, NULL, False)
        except Unfit:
            return self.find_and_run(args, {})
        if call.pack is None:
            return made[0]
        return tuple(made) if call.pack is tuple else call.pack(made, numbers)

    def find_and_run(self, tuple args, dict kwargs):
        raise NotImplementedError

    def remember(self, tuple args, numbers, Executable executable, returned, pack):
        """Runs later calls with arguments like these by `executable`.

        `numbers` are the positions of Python numbers that are inputs of the program; any number of
        their type will do.
        """
        cdef KnownCall call = KnownCall.__new__(KnownCall)
        cdef LikeTensor like
        cdef Tensor x
        cdef list kinds = []
        cdef df_error err
        for k, value in enumerate(args):
            if type(value) is Tensor:
                x = <Tensor>value
                like = LikeTensor.__new__(LikeTensor)
                check(df_tensor_set(&like.t, x.t.dtype, x.t.ndim, x.t.shape, b"call", &err), &err)
                kinds.append(like)
            else:
                number = AnyNumber.__new__(AnyNumber)
                (<AnyNumber>number).kind = type(value)
                (<AnyNumber>number).small = type(value) is int and is_small(value)
                kinds.append(number if k in numbers else value)
        call.like = tuple(kinds)
        call.any_number = len(numbers) > 0
        call.executable = executable
        call.numbers = returned
        call.pack = pack
        self.known.insert(0, call)
        del self.known[KNOWN_CALLS:]

    def forget(self):
        """Drops all calls seen before."""
        self.known.clear()
