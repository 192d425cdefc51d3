# Rows of several tensors at once: a batch of a dataset in any order. Called by dualflow.data, also
# from its threads. No trace or tape records the op.

cdef Op OP_GATHER = find_op("gather")
cdef Attrs FIRST_AXIS = pack_values(OP_GATHER, (0, 0))


def gather_rows(list tensors not None, Tensor order not None, int64_t begin, int64_t end):
    """Return, for each tensor, its rows ``order[begin:end]`` as a new Tensor, outside any graph and
    tape."""
    cdef Pointers p
    cdef Tensor x, picked
    cdef int64_t n = end - begin
    cdef list rows = []
    cdef void *tape = df_tape_top
    cdef void *graph = df_trace_top
    global df_tape_top, df_trace_top
    if order.t.dtype != DF_I64 or order.t.ndim != 1 or begin < 0 or n < 0 or end > order.t.size:
        raise _errors.InvalidArgumentError(
            f"gather_rows: {begin} to {end} of {describe(order)}, expected a range of int64 (n,)")
    picked = share(order, begin * <int64_t>sizeof(int64_t), DF_I64, 1, &n, b"gather_rows")
    init_pointers(&p)
    p.n = 2
    p.objects[1], p.tensors[1] = <PyObject *>picked, &picked.t
    df_tape_top = NULL
    df_trace_top = NULL
    try:
        for item in tensors:
            x = <Tensor?>item
            want_memory(x)
            p.objects[0], p.tensors[0] = <PyObject *>x, &x.t
            rows.append(run_at(OP_GATHER, &p, FIRST_AXIS))
    finally:
        df_tape_top = tape
        df_trace_top = graph
    return rows
