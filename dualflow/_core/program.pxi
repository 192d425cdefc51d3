# Program: the Python handle of a C program (csrc/exec), built from a specification and run on
# tensors by Executable. Arguments and results outlive a run, except arguments in a Lent.

cdef extern from "Python.h":
    PyObject **PySequence_Fast_ITEMS(object o)     # of a list or tuple

cdef enum:
    INLINE_POINTERS = 48       # more arguments and results of a run need an allocation

cdef double NOGIL_NS = 20000   # for shorter programs, releasing the GIL costs more than it gains


cdef struct Returned:
    df_slot_kind kind
    int index
    df_dtype dtype
    int ndim
    int64_t *shape
    int64_t size                   # elements


def _counted_from(first, on_error):
    """Return `on_error` for a body whose instructions are numbered from `first` on."""
    return None if on_error is None else lambda failed, exc: on_error(first + failed, exc)


@cython.final
@cython.no_gc_clear         # bodies must outlive it: its frames contain theirs
cdef class Program:
    """A flat list of instructions over planned memory (csrc/exec/program.h), and its results.

    Parameters
    ----------
    spec : ProgramSpec
        See dualflow.graph.program.spec. The fields are read here, once.
    on_error : callable (instruction, exception) -> exception, optional
        Converts an exception of an instruction, during the build or a run, to the one to raise.
        Instructions of bodies are numbered after the program's own (csrc/exec/program.h).
    is_body : bool, default False
        Whether the program is the body of an instruction.
    lent_bytes : int, default 0
        Arguments from this size on may be freed, and results allocated, during a run; 0: none.

    Attributes
    ----------
    cost : float
        Estimated ns of a run. Runs over 20,000 ns release the GIL.
    """
    cdef df_program *c
    cdef int n_args, n_results, n_returned, n_instructions
    cdef int64_t *needed           # bytes of each argument that instructions access
    cdef int64_t *dims
    cdef Returned *returned
    cdef bint keeps_dynamic
    cdef tuple constants
    cdef readonly tuple bodies     # the Programs of instructions; the collector may clear a list
    cdef list unsized              # (slot, argument, dtype, dims) of arguments of unknown size
    cdef object on_error
    cdef readonly double cost
    cdef bint donates              # a run may free some arguments early or allocate results late

    def __cinit__(self, spec, on_error=None, is_body=False, int64_t donation_min_bytes=0):
        cdef ProgramParts parts
        cdef df_error err
        cdef df_status status
        cdef int failed = -1
        self.constants = spec.constants
        self.on_error = on_error
        self.bodies = tuple(self.build_bodies(spec))
        parts = ProgramParts(spec, <int>len(self.bodies), is_body)
        for k, body in enumerate(self.bodies):
            parts.bodies[<int>k] = (<Program>body).c
        for result in spec.results:
            parts.c.n_results += is_body or result.kind == DF_SLOT_RESULT
        parts.c.donation_min_bytes = donation_min_bytes
        status = df_program_new(&parts.c, &self.c, &failed, &err)
        if status != DF_OK:
            self.fail(status, failed, &err, NULL)
        self.n_args = parts.c.n_args
        self.n_results = parts.c.n_results
        self.n_instructions = df_program_size(self.c)
        self.cost = 0
        for instruction in spec.instructions:
            self.cost += instruction.cost_ns
        self.unsized = []
        for k, slot in enumerate(spec.slots):
            if slot.kind == DF_SLOT_ARG and None in slot.shape:
                self.unsized.append((k, slot.number, slot.dtype.index, slot.shape))
        self.measure_args(parts)
        for k in range(self.n_args if donation_min_bytes > 0 else 0):
            self.donates |= self.needed[<int>k] >= donation_min_bytes
        for k in range(self.n_results):
            self.donates |= df_program_allocates_result(self.c, <int>k)
        # OutstandingRun keeps all memory alive
        self.donates &= not df_program_max_outstanding(self.c)
        if not is_body:                    # the outer program stores the results of a body
            self.copy_results(parts, spec.results)

    def __dealloc__(self):
        df_program_free(self.c)
        free(self.needed)
        free(self.dims)
        free(self.returned)

    cdef list build_bodies(self, spec):
        """Return the programs of bodies. Their errors have the instruction numbers of this one."""
        cdef list made = []
        cdef Program program
        cdef Py_ssize_t first = len(spec.instructions)
        for instruction in spec.instructions:
            for body in instruction.bodies:
                program = Program(body, _counted_from(first, self.on_error), True)
                made.append(program)
                first += program.n_instructions
        return made

    cdef int measure_args(self, ProgramParts parts) except -1:
        """Find how many bytes of each argument the slots cover. Overflow was checked before."""
        cdef df_slot *s
        cdef int k
        self.needed = <int64_t *>calloc(self.n_args + 1, sizeof(int64_t))
        if self.needed == NULL:
            raise MemoryError()
        for k in range(parts.c.n_slots):
            s = &parts.slots[k]
            if s.kind == DF_SLOT_ARG and slot_bytes(s) > 0:
                self.needed[s.index] = max(self.needed[s.index], s.offset + slot_bytes(s))
        return 0

    cdef int copy_results(self, ProgramParts parts, tuple results) except -1:
        cdef int64_t *dims
        cdef Returned *r
        cdef Py_ssize_t n_dims = 0
        cdef list fresh = []
        for result in results:
            n_dims += len(result.shape)
            if result.kind == DF_SLOT_RESULT:
                fresh.append(result.number)
        if sorted(fresh) != list(range(self.n_results)):
            raise _errors.InvalidArgumentError(
                f"program: each of the {self.n_results} results must be returned once")
        self.dims = <int64_t *>calloc(n_dims + 1, sizeof(int64_t))
        self.returned = <Returned *>calloc(len(results) + 1, sizeof(Returned))
        if self.dims == NULL or self.returned == NULL:
            raise MemoryError()
        dims = self.dims
        r = self.returned
        for result in results:
            r.kind = <df_slot_kind>(<int>result.kind)
            r.index = result.number
            r.dtype = <df_dtype>(<int>result.dtype.index)
            r.ndim = <int>len(result.shape)
            r.shape = dims
            for d in result.shape:
                dims[0] = DF_UNKNOWN if d is None else d
                dims += 1
            self.check_result(parts, r)
            self.keeps_dynamic |= r.kind == DF_SLOT_DYNAMIC
            r += 1
            self.n_returned += 1
        return 0

    cdef int check_result(self, ProgramParts parts, Returned *r) except -1:
        """Raise if a returned value does not exist, or a slot exceeds the memory of its result."""
        cdef df_slot *s
        cdef df_slot as_slot
        cdef bint good = r.index >= 0
        cdef int k
        if r.kind == DF_SLOT_ARG:
            good = good and r.index < self.n_args
        elif r.kind == DF_SLOT_CONSTANT:
            good = good and r.index < len(self.constants)
        elif r.kind == DF_SLOT_DYNAMIC:
            good = good and r.index < parts.c.n_slots and \
                parts.slots[r.index].kind == DF_SLOT_DYNAMIC and \
                parts.slots[r.index].last_use == parts.c.n_instructions
        elif r.kind == DF_SLOT_RESULT:
            r.size = checked_size(r)
            as_slot.dtype, as_slot.ndim, as_slot.shape = r.dtype, r.ndim, r.shape
            for k in range(parts.c.n_slots):
                s = &parts.slots[k]
                if s.kind == DF_SLOT_RESULT and s.index == r.index:
                    good = good and s.offset + slot_bytes(s) <= slot_bytes(&as_slot)
        else:
            good = False
        if not good:
            raise _errors.InvalidArgumentError(
                f"program: cannot return value {r.index} of kind {<int>r.kind}, shape "
                f"{dims_tuple(r.ndim, r.shape)}")
        return 0

    cdef int point_at_args(self, PyObject **args, void **pointers) except -1:
        cdef Tensor x
        cdef int k
        for k in range(self.n_args):
            if type(<object>args[k]) is Tensor:
                x = <Tensor>args[k]
                if df_tensor_bytes(&x.t) < self.needed[k]:
                    raise _errors.ShapeError(
                        f"program: argument {k} is {describe(x)}, {df_tensor_bytes(&x.t)} bytes, "
                        f"expected {self.needed[k]}")
                pointers[k] = x.t.data
            elif self.needed[k] or <object>args[k] is not None:
                raise TypeError(f"program: argument {k} must be a Tensor, "
                                f"got {type(<object>args[k]).__name__}")
            else:
                pointers[k] = NULL
        return 0

    cdef int take_sizes(self, df_frame *frame, PyObject **args) except -1:
        """Set the sizes of slots of unknown size from their arguments."""
        cdef df_error err
        cdef Tensor x
        cdef bint fits
        cdef int d
        for slot, k, dtype, dims in self.unsized:
            x = <Tensor?><object>args[<Py_ssize_t>k]
            fits = <int>x.t.dtype == dtype and x.t.ndim == len(dims)
            for d in range(x.t.ndim if fits else 0):
                fits = fits and (dims[d] is None or dims[d] == x.t.shape[d])
            if not fits:
                raise _errors.ShapeError(f"program: argument {k} is {describe(x)}, expected "
                                         f"{DTYPES[<int>dtype]} {dims}")
            check(df_tensor_set(df_frame_tensor(frame, slot), x.t.dtype, x.t.ndim, x.t.shape,
                                b"program", &err), &err)
        return 0

    cdef int make_results(self, PyObject **args, void **pointers, list results,
                          bint lends) except -1:
        """Append the returned values to `results`, with None for results that are set after the
        run: dynamic results and, if it `donates`, those that the run allocates."""
        cdef Returned *r
        cdef Tensor x
        cdef int k
        for k in range(self.n_returned):
            r = &self.returned[k]
            if r.kind == DF_SLOT_RESULT and lends and df_program_allocates_result(self.c, r.index):
                pointers[r.index] = NULL
                results.append(None)
            elif r.kind == DF_SLOT_RESULT:
                x = new_result(r)
                pointers[r.index] = x.t.data
                results.append(x)
            elif r.kind == DF_SLOT_ARG:
                results.append(<object>args[r.index])
            else:
                results.append(self.constants[r.index] if r.kind == DF_SLOT_CONSTANT else None)
        return 0

    cdef int take_dynamic(self, df_frame *frame, list results, Py_ssize_t first) except -1:
        cdef df_error err
        cdef df_tensor *t
        cdef Tensor x
        cdef int k
        for k in range(self.n_returned):
            if self.returned[k].kind != DF_SLOT_DYNAMIC:
                continue
            t = df_frame_tensor(frame, self.returned[k].index)
            x = blank()
            check(df_tensor_set(&x.t, t.dtype, t.ndim, t.shape, b"program", &err), &err)
            df_buffer_retain(t.buffer)
            x.t.buffer = t.buffer
            x.t.data = t.data
            results[first + k] = x
        return 0

    cdef int take_memory(self, PyObject **args, df_donation *donation) except -1:
        """Take references to the memory of all arguments; reserve space for allocated results."""
        cdef int k
        donation.args = <df_buffer **>calloc(self.n_args + self.n_results + 1, sizeof(df_buffer *))
        if donation.args == NULL:
            raise MemoryError()
        donation.results = donation.args + self.n_args
        for k in range(self.n_args):
            if type(<object>args[k]) is Tensor and (<Tensor>args[k]).t.buffer != NULL:
                df_buffer_retain((<Tensor>args[k]).t.buffer)
                donation.args[k] = (<Tensor>args[k]).t.buffer
        return 0

    cdef int take_lent(self, df_donation *donation, list results, Py_ssize_t first) except -1:
        """Create tensors for the results that the run has allocated."""
        cdef Returned *r
        cdef Tensor x
        cdef df_error err
        cdef int k
        for k in range(self.n_returned):
            r = &self.returned[k]
            if r.kind == DF_SLOT_RESULT and donation.results[r.index] != NULL:
                x = blank()
                check(df_tensor_set(&x.t, r.dtype, r.ndim, r.shape, b"program", &err), &err)
                x.t.buffer = donation.results[r.index]
                x.t.data = x.t.buffer.data
                donation.results[r.index] = NULL
                results[first + k] = x
        return 0

    cdef void end_loan(self, df_donation *donation) noexcept:
        cdef int k
        for k in range(self.n_args + self.n_results if donation.args != NULL else 0):
            df_buffer_release(donation.args[k])
        free(donation.args)

    cdef int execute(self, PyObject **args, list results, const df_profile *profile,
                     bint check_numerics, LockRequest *request,
                     DonatedArguments donated=None) except -1:
        """Run on n_args borrowed tensors and append the returned values to `results`. `request`
        holds the locks of the variables that the run writes; `donated` owns the tensors until the
        run begins."""
        cdef void *few[INLINE_POINTERS]
        cdef void **pointers = few
        cdef df_frame *frame = NULL
        cdef df_run run
        cdef df_donation donation
        cdef df_error err
        cdef df_status status
        cdef int failed = -1
        cdef Py_ssize_t first = len(results)
        cdef OutstandingRun memory = None
        donation.args = NULL
        if self.n_args + self.n_results > INLINE_POINTERS:
            pointers = <void **>PyMem_Malloc((self.n_args + self.n_results) * sizeof(void *))
            if pointers == NULL:
                raise MemoryError()
        try:
            self.point_at_args(args, pointers)
            self.make_results(args, pointers + self.n_args, results, donated is not None)
            frame = df_program_enter(self.c)
            if frame == NULL:
                raise _errors.ResourceExhaustedError("program: no memory for a run")
            if self.unsized:
                self.take_sizes(frame, args)
            run.args = pointers
            run.results = pointers + self.n_args
            run.poll = POLL
            run.context = NULL
            run.stop = NULL
            run.profile = profile
            run.check_numerics = check_numerics
            run.donation = NULL
            run.outstanding = NULL
            if df_program_max_outstanding(self.c):
                memory = outstanding_run(self, self.c, results[first:])
                for k in range(self.n_args):
                    memory.tensors.append(<object>args[k])
                run.outstanding = &memory.outstanding
            if donated is not None:
                self.take_memory(args, &donation)
                run.donation = &donation
                donated.release()
            if request != NULL:
                begin_work(request)
            if self.cost > NOGIL_NS:
                with nogil:
                    status = df_program_run(self.c, frame, &run, &failed, &err)
            else:
                status = df_program_run(self.c, frame, &run, &failed, &err)
            if request != NULL:
                request.working = False
            if status == DF_OK and self.keeps_dynamic:
                self.take_dynamic(frame, results, first)
            if status == DF_OK and donated is not None:
                self.take_lent(&donation, results, first)
        finally:
            if memory is not None and memory.outstanding.n:
                memory.take(frame)
            else:
                self.end_loan(&donation)
                if frame != NULL:
                    df_program_leave(self.c, frame)
            if pointers != few:
                PyMem_Free(pointers)
        if status != DF_OK:
            self.fail(status, failed, &err, request)
        return 0

    cdef int fail(self, df_status status, int failed, df_error *err,
                  LockRequest *request) except -1:
        """Raise the exception of a callback, else the error of C. Locks are released before
        `on_error` is called, because it may write the variables."""
        try:
            raise_pending()
            check(status, err)
        except Exception as exc:           # raised again, with the details of `on_error`
            if self.on_error is None or failed < 0 or status == DF_CANCELLED:
                raise                      # no instruction is to blame for a signal
            if request != NULL:
                release_variables(request)
                request.n_writes = 0       # nothing is left to release
            raise self.on_error(failed, exc)
        finally:
            if FAILURE_HOOK is not None:
                FAILURE_HOOK(df_host_depth + 1)

    cdef tuple hold(self, args):
        """Return the arguments as a tuple, which keeps them alive while the GIL is released."""
        cdef tuple held = tuple(args)
        if self.c == NULL or len(held) != self.n_args:
            raise TypeError(f"program: got {len(held)} arguments, expected {self.n_args}")
        return held

    def run(self, args, bint check_numerics=False):
        """Run the program.

        Parameters
        ----------
        args : sequence of Tensor or None
            None for arguments that no instruction reads. Ops that write inputs write these tensors.
        check_numerics : bool, default False
            Stop at the first instruction that returns a NaN or an infinity.

        Returns
        -------
        list of Tensor
        """
        cdef list results = []
        cdef tuple held = self.hold(args)
        self.execute(PySequence_Fast_ITEMS(held), results, NULL, check_numerics, NULL)
        return results

    def compile(self, int instruction, layout, size_t address):
        """Switch an instruction of this program, not of a body, to compiled code, also during runs.

        Parameters
        ----------
        instruction : int
        layout : sequence of int
            See csrc/fuse/cluster.h.
        address : int
            The address of the function, which must stay loaded.
        """
        cdef df_error err
        cdef df_ints numbers
        cdef Py_ssize_t k
        cdef int64_t *v = <int64_t *>PyMem_Malloc((len(layout) + 1) * sizeof(int64_t))
        if v == NULL:
            raise MemoryError()
        try:
            for k, number in enumerate(layout):
                v[k] = number
            numbers.v, numbers.n = v, len(layout)
            check(df_program_compile(self.c, instruction, numbers, <df_compiled_fn>address, &err),
                  &err)
        finally:
            PyMem_Free(v)

    def profile(self, args):
        """Run the program. Return the results, the ns of each instruction, and its start on the
        monotonic clock in ns."""
        cdef list results = []
        cdef tuple held = self.hold(args)
        cdef df_profile profile
        cdef int n = self.n_instructions
        cdef int64_t *times = <int64_t *>calloc(2 * n + 1, sizeof(int64_t))
        if times == NULL:
            raise MemoryError()
        profile.ns = times
        profile.start = times + n
        try:
            self.execute(PySequence_Fast_ITEMS(held), results, &profile, False, NULL)
            return results, int_list(times, n), int_list(times + n, n)
        finally:
            free(times)


cdef int64_t checked_size(const Returned *r) except -1:
    """Return the number of elements of a result; raise if it is unknown or overflows."""
    cdef df_error err
    cdef df_tensor t
    cdef int64_t size
    df_tensor_init(&t)
    check(df_tensor_set(&t, r.dtype, r.ndim, r.shape, b"program", &err), &err)
    size = t.size
    df_tensor_clear(&t)
    if size < 0:
        raise _errors.ShapeError(f"program: result {r.index} has unknown dimensions")
    return size


cdef inline Tensor new_result(const Returned *r):
    """Return an uninitialised tensor. Sizes were checked when the program was built."""
    cdef Tensor x
    cdef df_buffer *buffer
    cdef int d
    if r.ndim > DF_INLINE_NDIM:
        return new_tensor(r.dtype, r.ndim, r.shape, b"program")
    x = blank()
    buffer = df_buffer_new(r.size * df_dtypes[<int>r.dtype].bytes)
    if buffer == NULL:
        raise _errors.ResourceExhaustedError(
            f"program: no memory for {DTYPES[<int>r.dtype]} {dims_tuple(r.ndim, r.shape)}")
    x.t.dtype = r.dtype
    x.t.ndim = r.ndim
    x.t.size = r.size
    for d in range(r.ndim):
        x.t.dims[d] = r.shape[d]
    x.t.buffer = buffer
    x.t.data = buffer.data
    return x
