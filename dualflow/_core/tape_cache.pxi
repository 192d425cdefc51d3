# The cache of tapes by signature, with their compiled backward passes. Called by dualflow.autodiff.
# No Python code runs between the writing and the lookup of a signature, so nothing changes then.

cdef enum:
    MAX_RECORDS = 10000        # of a tape that is looked up: longer ones would fill the cache
    MAX_PROGRAMS = 64          # cached tapes with a program
    MAX_COUNTED = 64           # cached tapes without a program, yet: each lookup scans them
    PATIENCE = 64              # consecutive misses after which only one tape of SOME is looked up
    SOME = 8
    FEW_GIVEN = 64             # more arguments of a program need an allocation

cdef df_signature signature    # of the tape that was looked up last


@cython.final
cdef class CachedTape:
    """A cached tape: the signature of its backward pass, counters and, if compiled, the program.

    Attributes
    ----------
    n_records : int
    ops : tuple of str
        The ops of the newest entries, at most three.
    backward_passes, spent_ns, compile_ns : int
        The number of interpreted backward passes, their total time, and the time to compile.
    runs : int
        The number of runs of the program.
    why : str or None
        The reason why the tape will not be compiled.
    program : Program or None
    """
    cdef uint64_t *words
    cdef int64_t n_words, n_saved
    cdef uint64_t hash
    cdef readonly int64_t n_records, backward_passes, spent_ns, runs
    cdef readonly tuple ops
    cdef public object why
    cdef readonly Program program
    cdef tuple given               # for each argument of the program, the index of the tape's
    cdef object results            # for each source the index of a result or None; or a function
    cdef bint all_plain            # each source has a result
    cdef public int64_t compile_ns

    def __dealloc__(self):
        free(self.words)

    def count_backward_pass(self, int64_t ns):
        """Count an interpreted backward pass."""
        self.backward_passes += 1
        self.spent_ns += ns

    def set_program(self, Program program not None, given, results):
        """Set the compiled program.

        Parameters
        ----------
        program : Program
        given : sequence of int
            For each argument of the program, the index of the argument of the tape.
        results : sequence of int or None, or callable (list) -> list
            For each source, the index of a result; or converts the list that the program returns to
            the list of gradients.
        """
        cdef tuple places = tuple(given)
        cdef object chosen = results if callable(results) else tuple(results)
        if len(places) != program.n_args:
            raise TypeError(f"a program of {program.n_args} arguments gets {len(places)}")
        for k in places:
            if not 0 <= k < self.n_saved:
                raise IndexError(f"argument {k} of a tape that has {self.n_saved}")
        for k in () if callable(results) else chosen:
            if k is not None and not 0 <= k < program.n_returned:
                raise IndexError(f"result {k} of a program that returns {program.n_returned}")
        self.given = places
        self.results = chosen
        self.all_plain = not callable(results) and None not in self.results
        self.program = program
        tape_cache.keep(self)

    cdef list execute(self, PyObject **saved, DonatedArguments donated):
        """Return the gradients for the tape's arguments, which `donated` or the caller owns."""
        cdef PyObject *few[FEW_GIVEN]
        cdef PyObject **args = few
        cdef list made = [], found
        cdef Program program = self.program     # another thread may replace it during the run
        cdef tuple given = self.given
        cdef object results = self.results
        cdef Py_ssize_t k, n = len(given)
        if n > FEW_GIVEN:
            args = <PyObject **>PyMem_Malloc(n * sizeof(PyObject *))
            if args == NULL:
                raise MemoryError()
        try:
            for k in range(n):
                args[k] = saved[<Py_ssize_t><object>PyTuple_GET_ITEM(given, k)]
            program.execute(args, made, NULL, False, NULL, donated)
        finally:
            if args != few:
                PyMem_Free(args)
        self.runs += 1
        if type(results) is not tuple:
            return results(made)
        found = [None] * len(<tuple>results)
        for k in range(len(found)):
            result = <object>PyTuple_GET_ITEM(results, k)
            if result is not None:
                found[k] = made[<Py_ssize_t>result]
        return found


@cython.final
cdef class TapeCache:
    """The LRU cache of tapes, most recently used first."""
    cdef readonly list programs, counted
    cdef public bint on
    cdef int64_t new, passed           # consecutive misses; tapes since `new` reached PATIENCE

    def __cinit__(self):
        self.programs = []
        self.counted = []
        self.on = True

    def clear(self):
        """Empty the cache."""
        self.programs.clear()
        self.counted.clear()
        self.new = 0

    def find(self, Tape tape not None, list targets not None, dict seeds, list ids not None):
        """Return the CachedTape of a backward pass, added to the cache if new; or a str with the
        reason why the pass cannot be cached.

        Parameters
        ----------
        tape : Tape
        targets : list of Tensor or Variable
        seeds : dict of id to Tensor, or None
            The initial cotangents; None: ones for the only target.
        ids : list of int
            The ids of the sources.
        """
        why = self.write(tape, targets, seeds, ids)
        return self.look_up(tape) if why is None else why

    def run(self, Tape tape not None, list targets not None, dict seeds, list ids not None,
            bint free, int written=0):
        """Return a list of gradients, one for each source, if there is a program; else the result
        of `find`. `free`: drop the records; `written`: the result of `run_cached` for the same
        tape.

        After an error the tape is unchanged or empty.
        """
        cdef CachedTape known
        why = None
        if self.new >= PATIENCE:
            self.passed += 1
            if self.passed % SOME:
                return "no tape was seen twice lately"
        if not written or written != signature.generation:
            why = self.write(tape, targets, seeds, ids)
        if why is not None:
            return why
        known = self.look_up(tape)
        if known.program is None:
            return known
        found = self.execute(known, tape, free and known.program.donates)
        if free:
            tape.free_records()
        return found

    def run_cached(self, Recorder recorder not None, target, sources):
        """Fast path of ``recorder.gradient`` for `sources`, a tensor or a list or tuple of tensors:
        return the gradients if a program computes all of them; else an int for `run`, which
        identifies the signature written here. The general path takes as long as a small program."""
        cdef Tape tape = recorder.start("gradient")
        cdef bint free = not recorder._persistent
        cdef CachedTape known
        cdef list ids = []
        cdef bint alone = isinstance(sources, TensorBase)
        if not self.programs or self.new >= PATIENCE or type(target) is not Tensor or not (
                alone or type(sources) is list or type(sources) is tuple) or (
                not df_is_float((<Tensor>target).t.dtype)):
            return 0
        for x in (sources,) if alone else sources:
            if not isinstance(x, TensorBase):
                return 0
            ids.append(id_of(x))
        if self.write(tape, [target], None, ids) is not None:
            return 0
        known = among(self.programs, df_signature_hash(&signature))
        if known is None or known.program is None or not known.all_plain:
            return signature.generation
        self.new = 0
        try:
            found = self.execute(known, tape, free and known.program.donates)
        except Exception:                  # the general path raises it again
            if tape.c.n == 0:
                raise
            return 0
        if free:
            tape.free_records()
        recorder._how = None
        return found[0] if alone else found if type(sources) is list else tuple(found)

    cdef list execute(self, CachedTape known, Tape tape, bint lends):
        """Run with references to the arguments, because another thread may write `signature`. If it
        `donates`, the references are dropped when the run begins."""
        cdef list held = []
        cdef DonatedArguments donated = None
        cdef Py_ssize_t k
        for k in range(signature.n_saved):
            held.append(<object>signature.saved[k])
        if lends:
            donated = DonatedArguments.__new__(DonatedArguments)
            donated.held, donated.tape = held, tape
        tape.backward_passes += 1
        try:
            return known.execute(PySequence_Fast_ITEMS(held), donated)
        finally:
            tape.backward_passes -= 1

    cdef str write(self, Tape tape, list targets, dict seeds, list ids):
        """Write the signature of a backward pass; return None, or why it cannot be cached."""
        cdef df_tape_record *e = tape.c.last
        cdef Tensor x
        cdef Op op
        if not self.on:
            return "switched off"
        if df_trace_top != NULL:
            return "in a trace"
        if df_tape_top != NULL:
            return "another tape records it"
        if checking_numerics:
            return "numerics are checked"
        if tape.functions:
            return f"{(<Op>tape.functions[0]).name} has a custom gradient"
        if tape.backward_passes:
            return "another backward pass reads its records"
        if tape.c.n > MAX_RECORDS:
            return f"{tape.c.n} records, more than {<int>MAX_RECORDS}"
        df_signature_begin(&signature)
        put(df_signature_word(&signature, rules_version))
        put(df_signature_word(&signature, 0 if seeds is None else 1 + len(seeds)))
        if seeds is None:
            x = targets[0] if is_tensor(targets[0]) else (<Variable?>targets[0]).value_
            put(df_signature_value(&signature, id_of(targets[0]), &x.t))
        else:
            for key, g in seeds.items():
                if type(g) is not Tensor:
                    return "an initial cotangent is traced"
                put(df_signature_value(&signature, key, &(<Tensor>g).t))
                put(df_signature_argument(&signature, <void *>g))
        put(df_signature_word(&signature, len(ids)))
        for key in ids:
            put(df_signature_value(&signature, key, NULL))
        while e != NULL:
            if not write_record(e):
                return f"{(<Op>e.op).name} has traced operands, or too many"
            e = e.before
        return None

    cdef CachedTape look_up(self, Tape tape):
        cdef uint64_t hash = df_signature_hash(&signature)
        cdef CachedTape known = among(self.programs, hash)
        if known is None:
            known = among(self.counted, hash)
        if known is None:
            known = self.add(tape, hash)
            self.new += 1
        else:
            self.new = 0
        return known

    cdef CachedTape add(self, Tape tape, uint64_t hash):
        cdef CachedTape known = CachedTape.__new__(CachedTape)
        cdef df_tape_record *e = tape.c.last
        cdef list ops = []
        known.words = <uint64_t *>malloc(signature.n * sizeof(uint64_t))
        if known.words == NULL:
            raise MemoryError()
        memcpy(known.words, signature.words, signature.n * sizeof(uint64_t))
        known.n_words = signature.n
        known.n_saved = signature.n_saved
        known.hash = hash
        known.n_records = tape.c.n
        while e != NULL and len(ops) < 3:
            ops.append((<Op>e.op).name)
            e = e.before
        known.ops = tuple(ops)
        self.counted.insert(0, known)
        del self.counted[MAX_COUNTED:]
        return known

    cdef int keep(self, CachedTape known) except -1:
        """Move a tape that now has a program."""
        if known in self.counted:
            self.counted.remove(known)
        if known not in self.programs:
            self.programs.insert(0, known)
            del self.programs[MAX_PROGRAMS:]
        return 0

    def replay(self, Tape tape not None, list targets not None, dict seeds, list ids not None,
               given, absent):
        """Return the records, newest first, with Symbols for the operands.

        Parameters
        ----------
        given : callable (number, Tensor) -> Symbol
            Returns the Symbol for an argument of the tape.
        absent : callable (DType, shape) -> Symbol
            Returns the Symbol for an operand that is not stored.

        Returns
        -------
        records : list of Record
            Inputs that depend on no source have id 0.
        seeds : dict of id to Symbol, or None
        """
        cdef df_tape_record *e = tape.c.last
        cdef df_id_set reach
        cdef list saved = [], numbers, records = []
        cdef Py_ssize_t k, at = 0
        why = self.write(tape, targets, seeds, ids)
        if why is not None:
            raise ValueError(why)
        for k in range(signature.n_saved):
            saved.append(<object>signature.saved[k])
        numbers = [None] * signature.n_operands
        for k in range(signature.n_operands):
            numbers[k] = signature.argument_of[k]
        for k in range(len(saved)):
            saved[k] = given(k, saved[k])
        memset(&reach, 0, sizeof(reach))
        reach.base = tape.c.ids.base
        try:
            for key in ids:
                keep_id(&reach, key)
            if not df_tape_mark_reachable(&tape.c, &reach):
                raise MemoryError()
            while e != NULL:
                records.append(replaced_record(e, &reach, saved, numbers, at, absent))
                at += e.n_in + e.n_out
                e = e.before
        finally:
            df_id_set_free(&reach)
        return records, None if seeds is None else dict(zip(seeds, saved))


cdef Record replaced_record(df_tape_record *e, df_id_set *reach, list saved, list numbers,
                            Py_ssize_t at,
                            absent):
    """Return the record of an entry with operands from `saved`, by the indices ``numbers[at:]``."""
    cdef Record r = record_of(e)
    cdef list operands = []
    cdef int k
    for k in range(e.n_in + e.n_out):
        x = r.inputs[k] if k < e.n_in else r.outputs[k - e.n_in]
        operands.append(absent(x.dtype, dims_of(x)) if numbers[at + k] < 0
                        else saved[numbers[at + k]])
        if k < e.n_in and r.ids[k] and not df_id_set_has(reach, r.ids[k]):
            r.ids[k] = 0
    r.inputs, r.outputs = tuple(operands[:e.n_in]), tuple(operands[e.n_in:])
    return r


cdef inline int put(bint done) except -1:
    if not done:
        raise MemoryError()
    return 0


cdef bint write_record(df_tape_record *e) except -1:
    """Write an entry to `signature`; return False if it cannot be cached."""
    cdef Op op = <Op>e.op
    cdef Attrs attrs
    cdef df_operand *o = e.operands
    cdef Tensor x
    cdef Py_ssize_t j
    cdef int k
    if signature.n_operands + e.n_in + e.n_out > DF_SIGNATURE_OPERANDS or e.may_lead_further:
        return False
    put(df_signature_word(&signature, <uint64_t>op.index | <uint64_t>e.n_in << 20 |
                          <uint64_t>e.n_out << 42))
    if e.attrs != NULL:
        attrs = <Attrs>e.attrs
        if attrs.symbolic:
            return False
        for k in range(op.c.n_attrs):
            if op.c.attrs[k].type == DF_ATTR_INTS:
                put(df_signature_word(&signature, attrs.c[k].list.n))
                for j in range(attrs.c[k].list.n):
                    put(df_signature_word(&signature, <uint64_t>attrs.c[k].list.v[j]))
            else:                      # a float by its bits
                put(df_signature_word(&signature, <uint64_t>attrs.c[k].i))
    for k in range(e.n_in + e.n_out):
        if o.spec:
            put(df_signature_operand(&signature, o, NULL, 0))
        elif type(<object>o.stored) is Tensor:
            x = <Tensor>o.stored
            put(df_signature_operand(&signature, o, &x.t, x.id))
        else:
            return False
        o += 1
    return True


cdef CachedTape among(list tapes, uint64_t hash):
    """Return the cached tape with the words of `signature`, moved to the front, or None."""
    cdef CachedTape known
    cdef Py_ssize_t k
    for k in range(len(tapes)):
        known = <CachedTape>PyList_GET_ITEM(tapes, k)
        if known.hash == hash and known.n_words == signature.n and memcmp(
                known.words, signature.words, signature.n * sizeof(uint64_t)) == 0:
            if k:
                del tapes[k]
                tapes.insert(0, known)
            return known
    return None


cdef TapeCache tape_cache = TapeCache()


def get_tape_cache():
    """Return the cache of this process."""
    return tape_cache
