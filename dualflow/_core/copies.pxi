# Copies of memory in any layout.

cdef enum:
    NOGIL_BYTES = 1 << 18      # releasing the GIL costs more than smaller copies


cdef void copy_row(char *to, const char *source, int bytes, int64_t n,
                   int64_t stride) noexcept nogil:
    """n elements of `bytes` bytes that lie `stride` bytes apart; memory may be unaligned."""
    cdef int64_t i
    if stride == bytes:
        memcpy(to, source, n * bytes)
    elif bytes == 1:
        for i in range(n):
            to[i] = source[i * stride]
    elif bytes == 2:
        for i in range(n):
            memcpy(to + 2 * i, source + i * stride, 2)
    elif bytes == 4:
        for i in range(n):
            memcpy(to + 4 * i, source + i * stride, 4)
    else:
        for i in range(n):
            memcpy(to + 8 * i, source + i * stride, 8)


cdef void copy_rows(char *to, const char *source, int bytes, int ndim, const int64_t *shape,
                    const int64_t *strides) noexcept nogil:
    """All elements in row-major order; every dimension is at least 1."""
    cdef int64_t index[254]
    cdef int64_t row = shape[ndim - 1]
    cdef int d
    memset(index, 0, sizeof(index))
    while True:
        copy_row(to, source, bytes, row, strides[ndim - 1])
        to += row * bytes
        d = ndim - 2
        while d >= 0:
            index[d] += 1
            source += strides[d]
            if index[d] < shape[d]:
                break
            source -= strides[d] * shape[d]
            index[d] = 0
            d -= 1
        if d < 0:
            return


cdef int copy_strided(char *to, const char *source, int bytes, int ndim, const int64_t *shape,
                      const int64_t *strides) except -1:
    """A dense copy of strided memory (strides in bytes, possibly 0 or negative), with neighbouring
    dimensions merged where they go on evenly. Big copies let other threads run."""
    cdef int64_t dims[255]
    cdef int64_t steps[255]
    cdef int64_t size = 1
    cdef int d, at = 0
    dims[0] = 1
    steps[0] = bytes
    for d in range(ndim):
        size *= shape[d]
        if shape[d] == 1:
            continue
        if at and steps[at - 1] == strides[d] * shape[d]:
            dims[at - 1] *= shape[d]
            steps[at - 1] = strides[d]
        else:
            dims[at] = shape[d]
            steps[at] = strides[d]
            at += 1
    if size * bytes > NOGIL_BYTES:
        with nogil:
            copy_rows(to, source, bytes, at if at else 1, dims, steps)
    elif size:
        copy_rows(to, source, bytes, at if at else 1, dims, steps)
    return 0


cdef void swap_bytes(char *p, int64_t n, Py_ssize_t itemsize) noexcept nogil:
    cdef int64_t i
    cdef Py_ssize_t a, b
    cdef char c
    for i in range(n):
        a = 0
        b = itemsize - 1
        while a < b:
            c = p[a]
            p[a] = p[b]
            p[b] = c
            a += 1
            b -= 1
        p += itemsize


cdef void normalize_bools(uint8_t *p, int64_t n) noexcept nogil:
    """Foreign bool arrays may hold any byte; kernels rely on 0 and 1."""
    cdef int64_t i
    for i in range(n):
        p[i] = p[i] != 0


cdef bint are_bools(const uint8_t *p, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef uint8_t seen = 0
    for i in range(n):
        seen |= p[i]
    return seen <= 1
