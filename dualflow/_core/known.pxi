# Calls of traced functions that were seen before: patterns that the arguments of a call fit or not,
# and what ran. No Python code runs while they are compared, so nothing changes meanwhile. A call
# that fits none takes the slow path, which also raises the errors.

cdef bint fast_calls = True        # False: every call takes the slow path, which knows the settings

cdef extern from "Python.h":
    PyObject *PyList_GET_ITEM(object x, Py_ssize_t i) noexcept
    bint PyDict_Next(object d, Py_ssize_t *at, PyObject **k, PyObject **v) noexcept
    int PyUnicode_Compare(object a, object b) noexcept

cdef enum:
    KNOWN_CALLS = 8


def set_fast_calls(bint fast):
    """Whether calls seen before may skip the search for their trace."""
    global fast_calls
    fast_calls = fast


cdef bint is_small(x) noexcept:
    cdef int overflow = 0
    cdef long long n = PyLong_AsLongLongAndOverflow(x, &overflow)
    return overflow == 0 and -SMALL <= n <= SMALL


# --- patterns ------------------------------------------------------------------------------------

cdef class Like:
    """What an argument, or a part of one, must be."""


cdef class LikeLeaf(Like):
    cdef Py_ssize_t leaf       # its number among the leaves of the call


@cython.final
cdef class LikeTensor(LikeLeaf):
    """A tensor of this dtype and shape."""
    cdef df_tensor t

    def __cinit__(self):
        df_tensor_init(&self.t)

    def __dealloc__(self):
        df_tensor_clear(&self.t)

    cdef inline bint fits(self, Tensor x) noexcept:
        return x.t.dtype == self.t.dtype and df_same_shape(&x.t, &self.t)


@cython.final
cdef class AnyNumber(LikeLeaf):
    """Any number of a type; ints stay on one side of SMALL."""
    cdef object kind
    cdef bint small

    cdef bint fits(self, x) noexcept:
        return type(x) is self.kind and (type(x) is not int or is_small(x) == self.small)


@cython.final
cdef class SameValue(LikeLeaf):
    """This object, or a number or text that no program can tell from it."""
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
            return memcmp(&a, &b, sizeof(double)) == 0          # 0.0 and -0.0 are two values
        if type(x) is int:
            return is_small(x) and is_small(self.value) and (
                PyLong_AsLongLongAndOverflow(x, &overflow)
                == PyLong_AsLongLongAndOverflow(self.value, &overflow))
        return type(x) is str and PyUnicode_Compare(x, self.value) == 0


@cython.final
cdef class LikeNest(Like):
    """A list, tuple, named tuple or dict with parts like these."""
    cdef object kind
    cdef tuple parts           # those of a dict in the order of its keys
    cdef tuple keys            # of a dict


cdef inline bint is_like(Like like, PyObject *x, tuple leaves) noexcept:
    """Whether a value fits. Its leaves are put into their places in `leaves`, if given."""
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
    """Whether a dict of as many keys has these in this order, and values like these."""
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
    """Whether keys are the same object or, as mostly, the same text."""
    return a == b or (type(<object>a) is str and type(<object>b) is str
                      and PyUnicode_Compare(<object>a, <object>b) == 0)


def like_leaf(Py_ssize_t leaf, value, bint any_number):
    """The pattern of values that may take the place of a leaf."""
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
    """The pattern of a list, tuple or named tuple; with keys, in their order, that of a dict."""
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


# --- calls ---------------------------------------------------------------------------------------

@cython.final
cdef class KnownCall:
    """What the arguments of a call are like, and what runs.

    Parameters
    ----------
    executable : Executable
    n_leaves : int
    args : list of Like
        Of the arguments by position.
    kwargs : dict of str to Like
        Of those by name, in the order of the call.
    defaults : list of (object, Like)
        Of arguments not given: the objects may change, as lists do.
    any_number : bool
        Whether some leaves are numbers that are inputs.
    numbers : callable (leaves) -> list, or None
        Gives the Python numbers that are returned.
    pack : callable (list of outputs, those numbers) -> result, tuple (of the outputs), or None
        None: the only output itself.
    """
    cdef Executable executable
    cdef Py_ssize_t n_leaves, n_args
    cdef tuple like            # of the arguments by position, then of those by name
    cdef tuple names
    cdef list defaults
    cdef bint plain            # the arguments are the leaves: all by position, without structures
    cdef bint any_number
    cdef object numbers
    cdef object pack

    def __cinit__(self, Executable executable not None, Py_ssize_t n_leaves, list args not None,
                  dict kwargs not None, list defaults not None, bint any_number, numbers, pack):
        cdef list places = []
        self.executable = executable
        self.n_leaves = n_leaves
        self.n_args = len(args)
        self.like = (*args, *kwargs.values())
        self.names = tuple(kwargs)
        self.defaults = defaults
        self.any_number = any_number
        self.numbers = numbers
        self.pack = pack
        self.plain = not kwargs and not defaults
        for k, like in enumerate(self.like):
            list_leaves(like, places)
            self.plain = self.plain and isinstance(like, LikeLeaf) and (<LikeLeaf>like).leaf == k
        for _, like in defaults:
            list_leaves(like, places)
        if sorted(places) != list(range(n_leaves)):
            raise TypeError(f"KnownCall: patterns of leaves {places}, want each of {n_leaves} once")

    def leaves(self, tuple args not None, dict kwargs not None):
        """The leaves of a call like this one, else None."""
        return self.match(args, kwargs)

    cdef tuple match(self, tuple args, dict kwargs):
        cdef tuple leaves
        cdef PyObject *name
        cdef PyObject *value
        cdef Py_ssize_t k, at = 0
        if len(args) != self.n_args or len(kwargs) != len(self.names):
            return None
        if self.plain:
            return args if are_like(self.like, args, None) else None
        leaves = PyTuple_New(self.n_leaves)
        for k in range(self.n_args):
            if not is_like(<Like>PyTuple_GET_ITEM(self.like, k), PyTuple_GET_ITEM(args, k), leaves):
                return None
        k = 0
        while PyDict_Next(kwargs, &at, &name, &value):
            if not (same_key(name, PyTuple_GET_ITEM(self.names, k))
                    and is_like(<Like>PyTuple_GET_ITEM(self.like, self.n_args + k), value, leaves)):
                return None
            k += 1
        for default, like in self.defaults:
            if not is_like(<Like>like, <PyObject *>default, leaves):
                return None
        return leaves

    cdef object run(self, tuple leaves):
        cdef object numbers = None if self.numbers is None else self.numbers(leaves)
        cdef list made = self.executable.execute(leaves, NULL, False)
        if self.pack is None:
            return made[0]
        return tuple(made) if self.pack is tuple else self.pack(made, numbers)


cdef int list_leaves(like, list places) except -1:
    """Appends the numbers of the leaves of a pattern."""
    if isinstance(like, LikeNest):
        for part in (<LikeNest>like).parts:
            list_leaves(part, places)
    else:
        places.append((<LikeLeaf?>like).leaf)
    return 0


cdef class Dispatcher:
    """Takes the calls of a traced function: calls seen before run at once, others go to
    ``self.find_and_run(args, kwargs)``."""
    cdef list known

    def __cinit__(self, *args, **kwargs):
        self.known = []

    def __call__(self, *args, **kwargs):
        cdef KnownCall call
        cdef tuple leaves
        if fast_calls and not checking_numerics and df_trace_top == NULL and df_log_top == NULL:
            for entry in self.known:
                call = <KnownCall>entry
                leaves = call.match(args, kwargs)
                if leaves is None:
                    continue
                if not call.any_number:
                    return call.run(leaves)
                try:
                    return call.run(leaves)
                except Unfit:
                    break
        return self.find_and_run(args, kwargs)

    def find_and_run(self, tuple args, dict kwargs):
        raise NotImplementedError

    def remember(self, KnownCall call not None):
        """Runs later calls like this one at once."""
        self.known.insert(0, call)
        del self.known[KNOWN_CALLS:]

    def forget(self):
        """Drops all calls seen before."""
        self.known.clear()
