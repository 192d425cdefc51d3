# Guards on the arguments of a call, for the dispatch cache. No Python code may run while guards are
# checked, so that neither arguments nor guards change.

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object x, Py_ssize_t i) noexcept
    bint PyDict_Next(object d, Py_ssize_t *at, PyObject **k, PyObject **v) noexcept
    int PyUnicode_Compare(object a, object b) noexcept

cdef bint is_small(x) noexcept:
    cdef int overflow = 0
    cdef long long n = PyLong_AsLongLongAndOverflow(x, &overflow)
    return overflow == 0 and -SMALL <= n <= SMALL


cdef class Like:
    """A guard on an argument, or on a part of an argument."""


cdef class LikeLeaf(Like):
    cdef Py_ssize_t leaf       # the index among the leaves of the call


@cython.final
cdef class LikeTensor(LikeLeaf):
    """A guard for tensors of a dtype and shape."""
    cdef df_tensor t

    def __cinit__(self):
        df_tensor_init(&self.t)

    def __dealloc__(self):
        df_tensor_clear(&self.t)

    cdef inline bint fits(self, Tensor x) noexcept:
        return x.t.dtype == self.t.dtype and df_same_shape(&x.t, &self.t)


@cython.final
cdef class AnyNumber(LikeLeaf):
    """A guard for numbers of a type; for ints, up to SMALL or beyond it."""
    cdef object kind
    cdef bint small

    cdef bint fits(self, x) noexcept:
        return type(x) is self.kind and (type(x) is not int or is_small(x) == self.small)


@cython.final
cdef class SameValue(LikeLeaf):
    """A guard for an object, or for an identical number or text."""
    cdef object value

    cdef bint fits(self, x) noexcept:
        cdef int overflow = 0
        cdef double a, b
        if x is self.value:
            return True
        if type(x) is not type(self.value):
            return False
        if type(x) is float:
            a, b = x, self.value
            return memcmp(&a, &b, sizeof(double)) == 0          # 0.0 and -0.0 differ
        if type(x) is int:
            return is_small(x) and is_small(self.value) and (
                PyLong_AsLongLongAndOverflow(x, &overflow)
                == PyLong_AsLongLongAndOverflow(self.value, &overflow))
        return type(x) is str and PyUnicode_Compare(x, self.value) == 0


@cython.final
cdef class LikeNest(Like):
    """A guard for a list, tuple, named tuple or dict with guarded parts."""
    cdef object kind
    cdef tuple parts           # for a dict, in the order of its keys
    cdef tuple keys            # for a dict, else None


cdef inline bint is_like(Like like, PyObject *x, tuple leaves) noexcept:
    """Return True if a value passes a guard. Its leaves are stored in `leaves`, unless None."""
    if type(like) is LikeTensor:
        if type(<object>x) is not Tensor or not (<LikeTensor>like).fits(<Tensor>x):
            return False
    elif type(like) is LikeNest:
        return is_like_nest(<LikeNest>like, x, leaves)
    elif type(like) is SameValue:
        if not (<SameValue>like).fits(<object>x):
            return False
    elif not (<AnyNumber>like).fits(<object>x):
        return False
    if leaves is not None:
        Py_INCREF(<object>x)                # SET_ITEM takes the reference
        PyTuple_SET_ITEM(leaves, (<LikeLeaf>like).leaf, <object>x)
    return True


cdef bint is_like_nest(LikeNest like, PyObject *x, tuple leaves) noexcept:
    cdef Py_ssize_t k, n = len(like.parts)
    if type(<object>x) is not like.kind:
        return False
    if like.keys is not None:
        return len(<dict>x) == n and is_like_dict(like, <object>x, leaves)
    if like.kind is list:
        if len(<list>x) != n:
            return False
        for k in range(n):
            if not is_like(<Like>PyTuple_GET_ITEM(like.parts, k), PyList_GET_ITEM(<object>x, k),
                        leaves):
                return False
        return True
    return are_like(like.parts, <tuple>x, leaves)


cdef bint are_like(tuple parts, tuple given, tuple leaves) noexcept:
    cdef Py_ssize_t k
    if len(given) != len(parts):
        return False
    for k in range(len(parts)):
        if not is_like(<Like>PyTuple_GET_ITEM(parts, k), PyTuple_GET_ITEM(given, k), leaves):
            return False
    return True


cdef bint is_like_dict(LikeNest like, x, tuple leaves) noexcept:
    """Return True if a dict, of the right length, has the keys in order and values that pass."""
    cdef PyObject *key
    cdef PyObject *value
    cdef Py_ssize_t at = 0, k = 0
    while PyDict_Next(x, &at, &key, &value):
        if not (same_key(key, PyTuple_GET_ITEM(like.keys, k))
                and is_like(<Like>PyTuple_GET_ITEM(like.parts, k), value, leaves)):
            return False
        k += 1
    return True


cdef inline bint same_key(PyObject *a, PyObject *b) noexcept:
    """Return True if two keys are the same object or, as is common, the same text."""
    return a == b or (type(<object>a) is str and type(<object>b) is str
                      and PyUnicode_Compare(<object>a, <object>b) == 0)


def like_leaf(Py_ssize_t leaf, value, bint any_number):
    """Return the guard for a leaf: for a tensor its dtype and shape, for a number its type if
    `any_number`, else the value."""
    cdef LikeTensor like
    cdef AnyNumber number
    cdef SameValue same
    cdef df_error err
    cdef Tensor x
    if type(value) is Tensor:
        x = <Tensor>value
        like = LikeTensor.__new__(LikeTensor)
        like.leaf = leaf
        check(df_tensor_set(&like.t, x.t.dtype, x.t.ndim, x.t.shape, b"call", &err), &err)
        return like
    if any_number:
        number = AnyNumber.__new__(AnyNumber)
        number.leaf = leaf
        number.kind = type(value)
        number.small = type(value) is int and is_small(value)
        return number
    same = SameValue.__new__(SameValue)
    same.leaf = leaf
    same.value = value
    return same


def like_nest(kind, parts, keys=None):
    """Return the guard for a list, tuple or named tuple or, with ordered keys, for a dict."""
    cdef LikeNest like = LikeNest.__new__(LikeNest)
    like.kind = kind
    like.parts = tuple(parts)
    like.keys = None if keys is None else tuple(keys)
    for part in like.parts:
        if not isinstance(part, Like):
            raise TypeError(f"like_nest: a part is a {type(part).__name__}")
    if not (kind is dict if keys is not None else kind is list or issubclass(kind, tuple)) or (
            keys is not None and len(like.keys) != len(like.parts)):
        raise TypeError(f"like_nest: a {kind.__name__} of {len(like.parts)} parts, keys {keys}")
    return like


cdef enum:
    ABSENT
    IDENTICAL
    ALIVE              # identical; only a weak reference is kept
    EQUAL              # a number or text
    ITEMS              # a tuple of such
    TENSOR             # any tensor of the same dtype and shape


@cython.final
cdef class Wanted:
    """What a place must hold."""
    cdef int how
    cdef object value
    cdef tuple parts
    cdef bint is_tensor                # `value` is a weak reference to a tensor

    cdef bint fits(self, PyObject *x) noexcept:
        cdef Py_ssize_t k
        if x == NULL or self.how == ABSENT:
            return x == NULL and self.how == ABSENT
        if self.how == IDENTICAL:
            return x == <PyObject *>self.value
        if self.how == ALIVE:
            return x == PyWeakref_GET_OBJECT(self.value)
        if self.how == EQUAL:
            return (<SameValue>self.value).fits(<object>x)
        if self.how == TENSOR:
            return type(<object>x) is Tensor and (<LikeTensor>self.value).fits(<Tensor>x)
        if type(<object>x) is not self.value or len(<tuple>x) != len(self.parts):
            return False
        for k in range(len(self.parts)):
            if not (<Wanted>PyTuple_GET_ITEM(self.parts, k)).fits(PyTuple_GET_ITEM(<object>x, k)):
                return False
        return True

    cdef Py_ssize_t count(self, PyObject *x) noexcept:
        """Return how often a value is this object, or a part of it."""
        cdef Py_ssize_t n = 0, k
        if self.how == ALIVE:
            return x == PyWeakref_GET_OBJECT(self.value)
        if self.how == ITEMS:
            for k in range(len(self.parts)):
                n += (<Wanted>PyTuple_GET_ITEM(self.parts, k)).count(x)
        return n

    cdef bint is_plain(self):
        return self.how == EQUAL or (self.how == IDENTICAL and isinstance(
            self.value, (bool, type(None))))

    cdef str described(self):
        if self.how == ABSENT:
            return "nothing"
        if self.how == EQUAL:
            return repr((<SameValue>self.value).value)
        if self.how == TENSOR or self.is_tensor:
            return "<Tensor>"
        return brief(self.value() if self.how == ALIVE else self.value)


cdef str brief(x):
    """A value in a message."""
    if x is None or type(x) in (bool, int, float, str):
        return repr(x)
    name = None if type(x) is Dim else getattr(x, "__qualname__", None)
    return name if type(name) is str else f"<{type(x).__name__}>"


cdef Wanted wanted(PyObject *x):
    """What a place holds that must hold this."""
    cdef Wanted want = Wanted.__new__(Wanted)
    cdef SameValue same
    if x == NULL:
        want.how = ABSENT
        return want
    value = <object>x
    want.how, want.value = IDENTICAL, value
    if type(value) in (int, float, str):
        same = SameValue.__new__(SameValue)
        same.value = value
        want.how, want.value = EQUAL, same
    elif isinstance(value, tuple) and type(value).__iter__ is tuple.__iter__:
        want.how, want.value = ITEMS, type(value)
        want.parts = wanted_items(value)
    elif value is not None and type(value) is not bool:
        try:
            want.value = _weakref.ref(value)
            want.how, want.is_tensor = ALIVE, type(value) is Tensor
        except TypeError:
            pass
    return want


cdef tuple wanted_items(values):
    cdef list parts = []
    for value in values:
        parts.append(wanted(<PyObject *>value))
    return tuple(parts)
