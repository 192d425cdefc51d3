# Application of an op to tensors: promotion, then execution or recording in the graph of this
# thread. Called by apply.pxi and by conversions. While an op is recorded, the Watch is paused.

cdef Op OP_CAST = find_op("cast")


cdef object apply_to_tensors(Op op, list ins, Attrs attrs, name=None):
    """Apply an op to tensors of the dtypes that it requires."""
    cdef object graph
    cdef Tape tape
    if df_trace_top != NULL:
        return trace_op(op, ins, attrs, name)
    graph = graph_among(ins)
    if graph is None:
        return run(op, ins, attrs)
    tape = begin_in_graph(graph)
    try:
        return trace_op(op, ins, attrs, name)
    finally:
        end_in_graph(tape)


cdef Tape begin_in_graph(graph):
    """Make this thread record in an open graph and on no tape. Return the argument for
    `end_in_graph`, after which no graph records: the caller restores an outer one."""
    cdef Tape tape = <Tape>df_tape_top if df_tape_top != NULL else None
    set_trace_top(graph)
    set_tape_top(None)
    return tape


cdef void end_in_graph(Tape tape) noexcept:
    set_trace_top(None)
    set_tape_top(tape)


cdef object trace_op(Op op, list ins, Attrs attrs, name):
    """Record an application in the graph of this thread instead of running it."""
    cdef PyObject *observer = pause_observer()
    try:
        return record_op(op, ins, attrs, name)
    finally:
        resume_observer(observer)


cdef object record_op(Op op, list ins, Attrs attrs, name):
    cdef object graph = <object>df_trace_top
    cdef Pointers p_in, p_out
    cdef list outs
    ins = graph.to_symbols(op, ins)
    if attrs is not None and attrs.data_dependent:
        axes = open_axes(op, attrs)
        if axes:
            return graph.by_axes(op, ins, attrs, axes, name)
    outs = infer_traced(op, ins, attrs, graph)
    graph.record(op, ins, attrs, outs, name)
    if df_tape_top != NULL and outs:
        init_pointers(&p_in)
        init_pointers(&p_out)
        try:
            point_at(&p_in, ins)
            point_at(&p_out, outs)
            record_all(op, attrs, p_in.objects, p_in.n, p_out.objects, p_out.n)
        finally:
            free_pointers(&p_in)
            free_pointers(&p_out)
    if len(outs) == 1 and op.c.n_out != DF_VARIADIC:
        return outs[0]
    return tuple(outs) if outs else None


cdef Tensor cast_to(Tensor x, df_dtype dtype):
    if x.t.dtype == dtype:
        return x
    return <Tensor>apply_to_tensors(OP_CAST, [x], pack_values(OP_CAST, (<int>dtype,)))


cdef inline bint promotes(Op op, Py_ssize_t i) noexcept:
    """Return True if input i takes part in promotion."""
    cdef uint32_t mask = op.c.promote
    return mask != 0 and (op.c.n_in == DF_VARIADIC or (i < 32 and mask >> i & 1))


cdef list promoted(Op op, PyObject **args, list ins):
    """Cast the tensors that take part in promotion to one dtype, which autocast may change. A None
    in `ins` is replaced by a tensor of the number at the same index of `args`, which is weakly
    typed."""
    cdef Py_ssize_t i, n = len(ins)
    cdef int common = -1
    cdef df_dtype dtype
    for i in range(n):
        if ins[i] is not None and promotes(op, i):
            dtype = (<Tensor>ins[i]).t.dtype
            common = dtype if common < 0 else df_promote(<df_dtype>common, dtype)
    for i in range(n):
        if ins[i] is None:
            a = <object>args[i]
            dtype = number_dtype(a) if common < 0 else weak_dtype(a, <df_dtype>common)
            common = dtype if common < 0 else df_promote(<df_dtype>common, dtype)
    if common >= 0 and op.c.promote_to_float and not df_is_inexact(<df_dtype>common):
        common = DF_F64 if common in (DF_I64, DF_U64) or (
            common in (DF_I32, DF_U32) and df_trace_top != NULL
            and (<object>df_trace_top).methods is not None) else DF_F32
    if common >= 0 and autocasts(op):
        common = autocast_dtype(op, common)
    for i in range(n):
        if ins[i] is None:
            ins[i] = number_tensor(<object>args[i], <df_dtype>common, op.name)
        elif promotes(op, i) and (<Tensor>ins[i]).t.dtype != <df_dtype>common:
            ins[i] = cast_to(<Tensor>ins[i], <df_dtype>common)
    return ins


def result_dtype(Op op not None, dtype not None):
    """Return the dtype of the result of an elementwise op for promoted operands of `dtype`. An op
    with attributes, other than cast, keeps the dtype."""
    cdef list ins = []
    cdef Py_ssize_t i
    if op.c.n_attrs:
        return dtype
    for i in range(op.c.n_in):
        ins.append(new_tensor(<df_dtype><int>dtype.index if promotes(op, i) else DF_BOOL, 0, NULL,
                              b"result_dtype"))
    return dtype_of(<Tensor>infer_call(op, ins, None, False)[0])
