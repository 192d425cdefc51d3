# Uninitialised tensors with a writable buffer, and the reduction of buffers along a tree
# (op/tree.h). Called by dualflow.distribute. A tensor may be written only before it is shared.

def empty_with_buffer(dtype not None, shape):
    """Return an uninitialised Tensor and a memoryview of its bytes, writable until it is shared."""
    cdef Tensor x = empty(<df_dtype><int>dtype.index, list(shape)), flat
    cdef int64_t n = df_tensor_bytes(&x.t)
    cdef WritableBuffer exporter = WritableBuffer.__new__(WritableBuffer)
    exporter.x = share(x, 0, DF_U8, 1, &n, b"empty_with_buffer")
    return x, memoryview(exporter)


def combine(Op op not None, dtype not None, list inputs not None, list spans not None, out):
    """Combine all inputs with `op`, along the tree in which they are the nodes `spans`.

    Parameters
    ----------
    op : Op
        Elementwise, of two inputs.
    dtype : DType
    inputs : list of buffers, dense
    spans : list of (first leaf, last leaf + 1)
    out : writable buffer, of the length of an input, that overlaps no input
    """
    cdef Py_buffer views[1025]
    cdef const void *data[1024]
    cdef df_span nodes[1024]
    cdef df_error err
    cdef df_status status
    cdef df_dtype d = <df_dtype><int>dtype.index
    cdef int held = 0, k, n = <int>len(inputs)
    if n > 1024 or n != len(spans):
        raise _errors.InvalidArgumentError(f"combine: {n} arrays and {len(spans)} spans, expected "
                                           "as many spans as arrays, at most 1024")
    try:
        for k in range(n + 1):
            PyObject_GetBuffer(inputs[k] if k < n else out, &views[k],
                               PyBUF_SIMPLE if k < n else PyBUF_WRITABLE)
            held += 1
            if views[k].len != views[0].len or views[k].len % df_dtypes[<int>d].bytes:
                raise _errors.ShapeError(f"combine: arrays of {views[0].len} and {views[k].len} "
                                         f"bytes of {dtype}, expected equal lengths")
        for k in range(n):
            data[k] = views[k].buf
            nodes[k].first, nodes[k].end = spans[k]
        with nogil:
            status = df_tree_combine(op.c, d, views[n].len // df_dtypes[<int>d].bytes, n, data,
                                     nodes, views[n].buf, &err)
        check(status, &err)
    finally:
        for k in range(held):
            PyBuffer_Release(&views[k])
