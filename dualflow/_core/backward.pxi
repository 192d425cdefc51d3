# The backward pass over tape records, newest first, called by dualflow.autodiff. It calls the rule
# of each record once, un-broadcasts the results and accumulates them. It never recurses.
#
# The cotangents of a value are summed in order of arrival: from its last use to its first. While a
# tape or trace records the sums, each is computed as soon as it has two terms. A call of a traced
# function continues the accumulators, so it performs the same additions in the same order.

cdef extern from "Python.h":
    object PyObject_Vectorcall(object f, PyObject **args, size_t n, PyObject *names)

cdef enum:
    PARTIALS = 8               # cotangents of one value that are collected and then summed at once
    FEW_ARGS = 16


@cython.final
cdef class MaskedGradient:
    """A gradient of a graph that is connected or not depending on data, for example on a branch.

    Attributes
    ----------
    value : Tensor
        Undefined where the flag is False, unless `clean`: then it is -0.0 there, which is neutral
        in additions.
    flag : Tensor, bool
        True if the gradient is connected: of shape (), or one element for each row of the value.
    """
    cdef readonly object value, flag
    cdef readonly bint clean

    def __init__(self, value, flag, bint clean=False):
        self.value = value
        self.flag = flag
        self.clean = clean

    @property
    def dtype(self):
        return self.value.dtype

    @property
    def shape(self):
        return self.value.shape


@cython.final
cdef class BackwardPass:
    cdef df_id_map accumulators    # accumulators: id -> owned Tensor, or list of terms to be summed
    cdef df_id_set source_ids    # ids of the sources
    cdef df_id_set active_ids    # ids of values that depend on a source
    cdef bint prune            # only values in `active_ids` get cotangents
    cdef bint at_once          # terms are summed as soon as there are two
    cdef dict found
    cdef object sum_cotangents, unbroadcast, zeros, resolve_flags, with_flag, with_fresh_id
    cdef PyObject *observer    # the Watch to resume in rules of the user, or NULL

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.accumulators.n_slots):
            if self.accumulators.keys[i] and self.accumulators.values[i] != NULL:
                Py_DECREF(<object>self.accumulators.values[i])
        df_id_map_free(&self.accumulators)
        df_id_set_free(&self.source_ids)
        df_id_set_free(&self.active_ids)

    cdef int accum(self, uint64_t id, g) except -1:
        """Add a cotangent to the accumulator of a value."""
        cdef int64_t at = df_id_map_put(&self.accumulators, id)
        cdef PyObject *old
        if at < 0:
            raise MemoryError()
        old = <PyObject *>self.accumulators.values[at]
        if old == NULL:
            Py_INCREF(g)
            self.accumulators.values[at] = <PyObject *>g
        elif type(<object>old) is list:
            (<list>old).append(g)
            if len(<list>old) == PARTIALS:
                (<list>old)[:] = [self.sum_cotangents(<list>old)]
        else:
            both = [<object>old, g]
            if self.at_once:
                both = self.sum_cotangents(<list>both)
            Py_INCREF(both)
            self.accumulators.values[at] = <PyObject *>both
            Py_DECREF(<object>old)
        return 0

    cdef object pop_accumulator(self, uint64_t id):
        """Remove the accumulator of a value and return its sum; return None without one."""
        cdef int64_t at = df_id_map_find(&self.accumulators, id) if id else -1
        cdef object g
        if at < 0:
            return None
        g = <object>self.accumulators.values[at]
        Py_DECREF(g)
        df_id_map_remove(&self.accumulators, at)
        return self.sum_cotangents(g) if type(g) is list else g

    cdef object pop_cotangent(self, uint64_t id):
        """Pop the cotangent of a value, or None, and store it if the value is a source."""
        cdef object g = self.pop_accumulator(id)
        if g is not None and df_id_set_has(&self.source_ids, id):
            self.found[id] = g
        return g

    cdef object pop_dense_cotangent(self, uint64_t id, y):
        """Pop the cotangent of output `y` for a rule: a tensor, Maybe or None, never IndexedSlices.
        """
        cdef object g = self.pop_cotangent(id)
        return (g if g is None or is_tensor(g) or type(g) is MaskedGradient
                else self.unbroadcast(g, y))

    cdef bint is_active(self, uint64_t id) noexcept:
        return id != 0 and (not self.prune or df_id_set_has(&self.active_ids, id))

    cdef int step(self, Record r) except -1:
        """Apply the rule of a record: pop the output cotangents, accumulate the input cotangents.
        """
        cdef Py_ssize_t k, n_in = len(r.inputs), n_out = len(r.outputs)
        cdef uint64_t *ids = r.ids
        cdef bint useful = False
        cdef object g, results, graph = <object>df_trace_top if df_trace_top != NULL else None
        cdef bint uncertain = False
        cdef uint64_t known
        cdef object flag = None             # True if connected, if data decides
        for k in range(n_out):
            useful |= ids[n_in + k] != 0 and df_id_map_find(&self.accumulators, ids[n_in + k]) >= 0
        if not useful:
            return 0
        useful = False
        for k in range(n_in):
            useful |= self.is_active(ids[k])
        if r.op.sums:
            return self.visit_call(r)
        if r.op.c.n_out == 1:
            g = self.pop_dense_cotangent(ids[n_in], r.outputs[0])
            if type(g) is MaskedGradient and useful:
                (g,), flag = self.resolve_flags([g])
        else:
            g = [None] * n_out
            for k in range(n_out):
                g[k] = self.pop_dense_cotangent(ids[n_in + k], r.outputs[k])
                uncertain |= type(g[k]) is MaskedGradient
            if uncertain and useful:
                g, flag = self.resolve_flags(g)
        if not useful:
            return 0
        if r.op.gradient_rule is None:
            raise _errors.UnimplementedError(f"{r.op.name}: there is no gradient rule for this op")
        if r.op.c.n_out != 1:
            for k in range(n_out):
                if g[k] is None and r.outputs[k].dtype.is_inexact:
                    g[k] = self.zeros(r.outputs[k])
            g = tuple(g)
        of = graph.differentiate(r.op.name, r.outputs[0]) if graph is not None else None
        try:
            known = last_id
            results = call_rule(r, g, self.observer)
            g = None
            self.accumulate_results(r, results, flag, known)
        except Exception as error:
            error.add_note(f"in the gradient of {r.op.name}")
            raise
        finally:
            if graph is not None:
                graph.differentiate(of, None)
        return 0

    cdef int visit_call(self, Record r) except -1:
        """Apply the rule of a record that continues accumulators itself: see `record_call`."""
        cdef Py_ssize_t k, n_in = len(r.inputs), n = len(r.inputs) + len(r.outputs)
        cdef uint64_t *ids = r.ids
        cdef list wanted = [False] * n
        cdef list sums = [None] * n
        for k in range(n):
            wanted[k] = bool(self.is_active(ids[k]) if k < n_in
                             else ids[k] and df_id_set_has(&self.source_ids, ids[k]))
        for k in range(n):
            if wanted[k] or k >= n_in:
                sums[k] = self.pop_accumulator(ids[k])
                if getattr(sums[k], "is_deferred", False):
                    sums[k] = sums[k].__df_tensor__()
        if True not in wanted:
            return 0
        try:
            for k, s in enumerate(self.apply_call_rule(r, sums, wanted)):
                if s is not None and k < n_in:
                    self.accum(ids[k], s)
                elif s is not None:
                    self.found[ids[k]] = s
        except Exception as error:
            error.add_note(f"in the gradient of {r.op.name}")
            raise
        return 0

    cdef object apply_call_rule(self, Record r, list sums, list wanted):
        cdef Py_ssize_t n_in = len(r.inputs)
        resume_observer(self.observer)
        try:
            return list(r.op.gradient_rule(sums[n_in:], sums[:n_in], wanted))
        finally:
            if self.observer != NULL:
                pause_observer()

    cdef int accumulate_results(self, Record r, results, flag, uint64_t known) except -1:
        """Accumulate the results of a rule; `known` is the last id from before the rule ran.

        While the backward pass is recorded, each cotangent needs a new tensor id. A rule may return
        its argument, or one tensor for two inputs; with a shared id, second-order gradients would
        be summed in another order than in graph mode."""
        cdef Py_ssize_t k, n_in = len(r.inputs)
        cdef object g, x, value
        if type(results) is not tuple and type(results) is not list:
            results = (results,)
        if len(results) != n_in:
            raise ValueError(f"{r.op.name}: its gradient rule returned {len(results)} results "
                             f"for {n_in} inputs")
        for k in range(n_in):
            if not self.is_active(r.ids[k]):
                continue
            g = results[k]
            if type(g) is not Tensor:
                if callable(g):
                    g = g()
                if g is None:
                    continue
            x = r.inputs[k]
            if flag is not None or type(g) is MaskedGradient:
                g = self.with_flag(self.unbroadcast, flag, g, x)
            elif not fits(g, x, n_in == 1 and r.op.c.kind == DF_ELEMENTWISE):
                g = self.unbroadcast(g, x)
            value = g.value if type(g) is MaskedGradient else g
            if self.at_once and is_tensor(value):
                if (<Tensor>value).id <= known:
                    value = self.with_fresh_id(value)
                    g = (MaskedGradient(value, g.flag, g.clean) if type(g) is MaskedGradient
                         else value)
                known = max(known, (<Tensor>value).id)
            self.accum(r.ids[k], g)
        return 0

    cdef int visit_tape(self, Tape tape, bint free) except -1:
        """Process a tape, newest entry first; if `free`, drop each entry before its rule runs."""
        cdef df_tape_record *e = tape.c.last
        while e != NULL:
            record = record_of(e) if df_tape_record_has_cotangent(e, &self.accumulators) else None
            if free:
                tape.drop_last()
                e = tape.c.last
            else:
                e = e.before
            if record is not None:
                self.step(record)
        return 0


cdef bint fits(g, x, bint preserves_shape):
    """Return True if a gradient has the dtype and shape of its operand (Tensor or TensorSpec).
    `preserves_shape`: the op has one input and preserves its shape."""
    cdef Tensor a, b
    cdef int d
    if type(g) is Tensor and type(x) is Tensor:
        a = <Tensor>g
        b = <Tensor>x
        return a.t.dtype == b.t.dtype and df_same_shape(&a.t, &b.t)
    if type(g) is Tensor and type(x) is TensorSpec:
        a = <Tensor>g
        shape = (<TensorSpec>x).dims
        if len(<tuple>shape) != a.t.ndim or (<TensorSpec>x).dtype is not DTYPES[<int>a.t.dtype]:
            return False
        for d in range(a.t.ndim):
            if <object>PyTuple_GET_ITEM(shape, d) != a.t.shape[d]:
                return False
        return True
    return equal_dims(dims_of(g), dims_of(x), preserves_shape) and g.dtype is x.dtype


cdef bint equal_dims(tuple a, tuple b, bint preserves_shape):
    """Return True if two shapes are certainly equal. A size is uncertain if it depends on data, or
    belongs to a graph for all sizes, in which any size may be 1."""
    cdef Py_ssize_t d
    if len(a) != len(b):
        return False
    for d in range(len(a)):
        if a[d] is b[d]:
            continue
        if is_open_size(a[d]) or is_open_size(b[d]):
            if not (preserves_shape and type(a[d]) is Dim and type(b[d]) is Dim):
                return False
        elif a[d] != b[d]:
            return False
    return True


cdef bint is_open_size(d):
    """Return True if a size depends on data or belongs to a graph for all sizes."""
    return type(d) is Dim and ((<Dim>d).data_dependent or (<Dim>d).graph.for_any_size)


cdef object call_rule(Record r, g, PyObject *observer):
    """Return rule(g, y, *inputs, **attrs); in a rule of the user, `observer` is resumed."""
    if observer == NULL or not is_users_rule(r.op):
        return apply_rule(r, g)
    resume_observer(observer)
    try:
        return apply_rule(r, g)
    finally:
        pause_observer()


cdef bint is_users_rule(Op op):
    """Return True if a rule may call functions of the user."""
    return op.c == &df_function_op or not str(
        getattr(op.gradient_rule, "__module__", "")).startswith("dualflow.")


cdef object apply_rule(Record r, g):
    cdef Py_ssize_t k, n_in = len(r.inputs)
    cdef Py_ssize_t n_attrs = len(r.packed.values) if r.packed is not None else 0
    cdef PyObject *few[FEW_ARGS]
    cdef PyObject **args = few
    cdef object y = r.outputs if r.op.c.n_out != 1 else r.outputs[0]
    if 2 + n_in + n_attrs > FEW_ARGS:
        return r.op.gradient_rule(g, y, *r.inputs, **r.attrs)
    args[0] = <PyObject *>g
    args[1] = <PyObject *>y
    for k in range(n_in):
        args[2 + k] = PyTuple_GET_ITEM(r.inputs, k)
    for k in range(n_attrs):
        args[2 + n_in + k] = PyTuple_GET_ITEM(r.packed.values, k)
    return PyObject_Vectorcall(r.op.gradient_rule, args, 2 + n_in,
                               <PyObject *>r.packed.names if n_attrs else NULL)


def backward_pass(records, dict gradients, sources, sum_cotangents, unbroadcast, zeros,
                  resolve_flags, with_flag,
                  with_fresh_id, bint free=False, bint eagerly=False):
    """Return the gradients of the sources, by id.

    Parameters
    ----------
    records : Tape, or iterable of Record, newest first
    gradients : dict of id to Tensor
        The initial cotangents.
    sources : iterable of int
        Ids of the values to differentiate with respect to.
    sum_cotangents : callable (list of Tensor) -> Tensor
        Returns the sum.
    unbroadcast : callable (gradient, operand) -> Tensor
        Returns the gradient with the dtype and, broadcast dimensions summed, shape of the operand.
    zeros : callable (operand) -> Tensor
    resolve_flags : callable (list of Tensor, MaskedGradient or None) -> (list of Tensor or None,
    flag or None)
        Returns the cotangents to pass to a rule and, if data decides, the flag of its results.
    with_flag : callable (fit, flag, gradient, operand) -> MaskedGradient
        Returns the result of a rule, connected only where the flag (or its own, if None) holds.
    with_fresh_id : callable (Tensor) -> Tensor
        Returns the same value under a new tensor id.
    free : bool
        Whether to drop each record from the tape before its rule runs.
    eagerly : bool
        In a trace: sum in the order of eager mode, and let cotangents share tensor ids.

    Returns
    -------
    dict of id to Tensor, without the sources that are not connected
    """
    global df_autocast
    cdef BackwardPass w = BackwardPass.__new__(BackwardPass)
    cdef int outer = df_autocast
    df_autocast = 0                # rules compute in the dtypes of the recorded operands
    w.observer = pause_observer()
    try:
        return run_backward(w, records, gradients, sources,
                            (sum_cotangents, unbroadcast, zeros, resolve_flags, with_flag,
                             with_fresh_id),
                            free, eagerly)
    finally:
        resume_observer(w.observer)
        df_autocast = outer


cdef dict run_backward(BackwardPass w, records, dict gradients, sources, tuple helpers, bint free,
                       bint eagerly):
    cdef Tape tape
    cdef uint64_t id
    (w.sum_cotangents, w.unbroadcast, w.zeros, w.resolve_flags, w.with_flag,
     w.with_fresh_id) = helpers
    w.at_once = not eagerly and (df_tape_top != NULL or df_trace_top != NULL)
    w.found = {}
    sources = set(sources)
    w.source_ids.base = w.active_ids.base = last_id + 1
    for id in sources:
        keep_id(&w.source_ids, id)
    for key, g in gradients.items():
        w.accum(key, g)
    if type(records) is Tape:
        tape = <Tape>records
        w.prune = not tape.watched <= sources
        if free and tape.backward_passes:
            raise RuntimeError("a backward pass over the records of this tape is running already")
        if w.prune:
            w.active_ids.base = tape.c.ids.base
            for id in sources:
                keep_id(&w.active_ids, id)
            if not df_tape_mark_reachable(&tape.c, &w.active_ids):
                raise MemoryError()
        tape.backward_passes += 1
        try:
            w.visit_tape(tape, free)
        finally:
            tape.backward_passes -= 1
            if free:
                tape.free_records()
    else:
        for record in records:
            w.step(<Record?>record)
    for id in sources:
        if df_id_map_find(&w.accumulators, id) >= 0:
            w.pop_cotangent(id)
    return w.found
