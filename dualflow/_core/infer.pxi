# Shape inference: the outputs of an op, from the shape rule of its record. Called while Python is
# traced, and by graph passes. A size is known, may differ from call to call, or depends on data. If
# a shape rule needs to know a size, the trace gets a guard on that size.

cdef bint has_dims(Attrs attrs):
    return attrs is not None and attrs.symbolic


cdef list infer_call(Op op, list ins, Attrs attrs, bint hide):
    """Return the outputs of one application as new Symbols without a graph. `hide`: unknown
    dimensions of the inputs are -1 instead of their hints."""
    cdef Pointers p_in, p_out
    cdef df_call call
    cdef df_error err
    cdef list outs, plain = ins
    cdef int k
    if hide:
        plain = []
        for x in ins:
            plain.append(hidden_copy(x))
    memset(&call, 0, sizeof(call))
    call.op = op.c
    call.attrs = attrs.c if attrs is not None else NULL
    init_pointers(&p_in)
    init_pointers(&p_out)
    try:
        point_at(&p_in, plain)
        call.n_in = p_in.n
        call.in_ = <const df_tensor *const *>p_in.tensors
        call.n_out = op.c.n_out
        if call.n_out == DF_VARIADIC:
            call.n_out = op.c.count_out(&call)
        outs = [None] * call.n_out
        for k in range(call.n_out):
            outs[k] = Symbol.__new__(Symbol)
        point_at(&p_out, outs)
        call.out = <df_tensor *const *>p_out.tensors
        check(df_op_infer(&call, &err), &err)
    finally:
        free_pointers(&p_in)
        free_pointers(&p_out)
    return outs


cdef Tensor hidden_copy(Tensor x):
    """Return a description of `x` with -1 for each unknown dimension."""
    cdef int64_t dims[254]
    cdef int d
    cdef tuple unknown = (<Symbol>x).unknown if type(x) is Symbol else None
    if unknown is None:
        return x
    for d in range(x.t.ndim):
        dims[d] = -1 if unknown[d] else x.t.shape[d]
    return new_symbol(None, x.t.dtype, x.t.ndim, dims, None)


def infer(Op op, list inputs, Attrs attrs, graph):
    """Return the outputs of an op as Symbols of `graph`. The caller sets their node and index.

    A dimension that is computed from a size of -1 is -1.
    """
    cdef list outs = infer_call(op, inputs, attrs, False)
    for x in outs:
        (<Symbol>x).graph = graph
    return outs


cdef list infer_traced(Op op, list ins, Attrs attrs, graph):
    """Return the outputs of a traced op, with hints for all sizes and the unknown ones marked."""
    cdef list outs, hidden
    cdef Symbol y
    cdef bint some = has_dims(attrs)
    cdef bint data_dependent = attrs is not None and attrs.data_dependent
    cdef bint data_dependent_shape = data_dependent
    cdef Attrs given = with_open(op, attrs, False) if data_dependent else attrs
    cdef Attrs differing = with_open(op, attrs, True) if some else attrs
    cdef int k, d
    for x in ins:
        if type(x) is Symbol:
            data_dependent |= (<Symbol>x).data_dependent
            if (<Symbol>x).unknown is not None:
                some = True
                data_dependent_shape |= (<Symbol>x).data_dependent_shape
    try:
        outs = infer_call(op, ins if not cuts_rows(op, ins, attrs, graph) else
                          [of_this_shape(op, ins[0], attrs)], given, False)
    except _errors.DualflowError as error:
        try:
            if not data_dependent_shape and not (some and graph.methods is not None):
                raise
            outs = infer_without_hint(op, ins, given, error)
        except _errors.DualflowError:
            bind_all(ins, attrs)            # Python may catch the error and take another path
            raise
        some = False
    hidden = infer_hidden(op, ins, differing) if some and not has_dims(differing) else None
    for k in range(<int>len(outs)):
        y = <Symbol>outs[k]
        y.graph = graph
        if y.t.size < 0:
            outs[k] = y = data_sized(y, y if hidden is None else <Symbol>hidden[k])
            data_dependent = data_dependent_shape = True
        elif has_dims(differing):
            unknown = unfixed(op, attrs, y.t.ndim)
            y.unknown = unknown if True in unknown else None
        elif some:
            unknown = unknown_dims(&(<Symbol>hidden[k]).t)
            y.unknown = unknown if True in unknown else None
        y.data_dependent = data_dependent
        y.data_dependent_shape = data_dependent_shape
    return outs


cdef list infer_without_hint(Op op, list ins, Attrs attrs, error):
    """Return the outputs if the hint for sizes that depend on data contradicts known sizes: try
    unknown sizes, then each known size, in place of the hint."""
    cdef list plain
    cdef set sizes = {0, 1}
    for x in ins:
        sizes.update(shape_tuple(&(<Tensor>x).t))
    for n in (-1, *sorted(sizes, reverse=True)):
        plain = []
        for x in ins:
            plain.append(hidden_copy(x) if n < 0 else with_size(x, n))
        try:
            fixed = attrs
            if has_dims(attrs):
                fixed = map_attrs(op, attrs, lambda d: dim_for_size(d, n))
            return infer_call(op, plain, fixed, False)
        except _errors.DualflowError:
            if not has_dims(attrs):
                raise
    if "shape" not in op.attrs or len(ins) != 1:
        raise error
    return infer_call(op, [of_this_shape(op, ins[0], attrs)], attrs, False)


cdef bint cuts_rows(Op op, list ins, Attrs attrs, graph):
    """Return True if a graph for all sizes reshapes a vector to a shape with a negative hint, so
    that SIZE_HINT elements may not divide into the other sizes."""
    if not (has_dims(attrs) and graph.for_any_size and "shape" in op.attrs and len(ins) == 1
            and (<Tensor>ins[0]).t.ndim == 1):
        return False
    for n in attrs.values[op.attrs.index("shape")]:
        if hint_of(n) < 0:
            return True
    return False


cdef Tensor of_this_shape(Op op, Tensor x, Attrs attrs):
    """Return a description of `x` in the shape of attribute `shape`, SIZE_HINT for negative sizes.
    """
    cdef int64_t dims[254]
    cdef int d
    cdef tuple shape = attrs.values[op.attrs.index("shape")]
    for d in range(len(shape)):
        dims[d] = SIZE_HINT if hint_of(shape[d]) < 0 else hint_of(shape[d])
    return new_symbol(None, x.t.dtype, <int>len(shape), dims, None)


cdef Tensor with_size(Tensor x, int64_t n):
    """Return a description of `x` with `n` for each size that depends on data."""
    cdef int64_t dims[254]
    cdef int d
    if type(x) is not Symbol or not (<Symbol>x).data_dependent_shape:
        return x
    for d in range(x.t.ndim):
        dims[d] = n if x.t.shape[d] == DATA_HINT else x.t.shape[d]
    return new_symbol(None, x.t.dtype, x.t.ndim, dims, None)


cdef object dim_for_size(Dim d, n):
    """Return the value of a Dim if `n` is each size that depends on data, and each element of a
    tensor in a graph for all sizes. -1 is an unknown size."""
    cdef bint leaf = d.kind == OF_A_SHAPE or d.kind == OF_THE_CALL or d.kind == "element"
    if d.kind == "element" and d.graph.for_any_size:
        return n
    if leaf and not d.data_dependent:
        return d.hint
    if d.data_dependent and (n < 0 or d.hint == DATA_HINT):
        return n
    if leaf:
        return d.hint
    args = []
    for x in d.args:
        args.append(dim_for_size(x, n) if type(x) is Dim else x)
    return dim_value(d.kind, *args)


cdef list infer_hidden(Op op, list ins, Attrs attrs):
    """Return the outputs with -1 for unknown sizes. If the rule needs to know a size, guard the
    trace on its hint: on one size if that is enough, else on all."""
    cdef list known, places
    try:
        return infer_call(op, ins, attrs, True)
    except _errors.DualflowError:
        places = []
        for k, x in enumerate(ins):
            if type(x) is Symbol:
                for d, hidden in enumerate((<Symbol>x).unknown or ()):
                    if hidden and not (<Dim>sizes_of(<Symbol>x)[d]).data_dependent:
                        places.append((k, d))
        if not places:
            raise
    for k, d in places:
        known = list(ins)
        known[k] = with_known(<Symbol>ins[k], d)
        try:
            outs = infer_call(op, known, attrs, True)
        except _errors.DualflowError:
            continue
        bind_size(sizes_of(<Symbol>ins[k])[d])
        return outs
    for k, d in places:
        bind_size(sizes_of(<Symbol>ins[k])[d])
    return infer_call(op, ins, attrs, False)


cdef object bind_size(Dim d):
    """Guard the trace on the current size of a dimension."""
    d.graph.guard("eq", (d, d.hint), True)


cdef int bind_all(list ins, Attrs attrs) except -1:
    """Guard the trace on the current sizes and numbers of an application."""
    for x in ins:
        if type(x) is Symbol and (<Symbol>x).unknown is not None:
            bind_each(sizes_of(<Symbol>x))
    if has_dims(attrs):
        for value in attrs.values:
            bind_each(value if isinstance(value, tuple) else (value,))
    return 0


cdef int bind_each(tuple values) except -1:
    for d in values:
        if type(d) is Dim and not (<Dim>d).data_dependent:
            bind_size(<Dim>d)
    return 0


cdef Symbol with_known(Symbol x, int d):
    """Return a description of `x` in which dimension d is known."""
    cdef list unknown = list(x.unknown)
    unknown[d] = False
    return new_symbol(x.graph, x.t.dtype, x.t.ndim, x.t.shape, tuple(unknown))


cdef tuple unfixed(Op op, Attrs attrs, int ndim):
    """Return, for an op with Dims among the attributes, which output dimensions may differ from
    call to call: if attribute `shape` lists them, those that are not plain ints; else all."""
    cdef tuple sizes = attrs.values[op.attrs.index("shape")] if "shape" in op.attrs else ()
    cdef list differ = [True] * ndim
    cdef int d
    if len(sizes) == ndim:
        for d in range(ndim):
            differ[d] = type(sizes[d]) is Dim or sizes[d] < 0
    return tuple(differ)


cdef Symbol data_sized(Symbol y, Symbol hidden):
    """Return a copy of `y`, whose size depends on data, with a hint in place of each unknown size.
    The sizes that are unknown in `hidden` are marked: they may differ from call to call as well."""
    cdef int64_t dims[254]
    cdef int d
    for d in range(y.t.ndim):
        dims[d] = DATA_HINT if y.t.shape[d] < 0 else y.t.shape[d]
    return new_symbol(y.graph, y.t.dtype, y.t.ndim, dims, unknown_dims(&hidden.t))


cdef tuple unknown_dims(const df_tensor *t):
    """Return a bool per dimension: True if unknown."""
    cdef list unknown = [None] * t.ndim
    cdef int d
    for d in range(t.ndim):
        unknown[d] = t.shape[d] < 0
    return tuple(unknown)
