# Guards on the values that Python code read while it was traced: a global name, a cell, an
# attribute, an item. Each is checked before a trace is used again. The check runs no Python code
# and allocates no memory.

cdef extern from *:
    """
    static PyObject *df_of_type(PyObject *type, PyObject *name)
    {
        return _PyType_Lookup((PyTypeObject *)type, name);
    }
    /* An item of a dict whose keys can be compared without running Python code; borrowed. */
    static PyObject *df_item(PyObject *mapping, PyObject *key)
    {
        PyObject *x = PyDict_GetItemWithError(mapping, key);
        if (!x && PyErr_Occurred()) PyErr_Clear();
        return x;
    }
    /* An attribute of an instance, borrowed; NULL if it does not exist. */
    static PyObject *df_attribute(PyObject *owner, PyObject *name, PyObject *descriptor,
                                  int is_member, int has_dict)
    {
        PyObject **held, *x;
        if (is_member) {
            if (!(x = PyObject_GenericGetAttr(owner, name))) PyErr_Clear();
            Py_XDECREF(x); /* the owner keeps it */
            return x;
        }
        if (has_dict && (held = _PyObject_GetDictPtr(owner)) && *held &&
            (x = df_item(*held, name)))
            return x;
        return descriptor == Py_None ? NULL : descriptor;
    }
    """
    PyObject *df_of_type(object kind, object name) noexcept
    PyObject *df_item(object mapping, object key) noexcept
    PyObject *df_attribute(object owner, object name, object descriptor, bint is_member,
                           bint has_dict) noexcept

cdef extern from "Python.h":
    PyObject *PyCell_GET(object cell) noexcept

cdef enum:
    IN_DICT            # owner[key]
    IN_GLOBALS         # owner[key] or, if it does not exist, builtins[key]
    IN_LIST            # owner[key]
    IN_CELL
    ATTRIBUTE          # of an instance or a module
    OF_TYPE            # an attribute of a type
    LENGTH             # of a list
    KEYS               # of a dict, in their order

class _Slotted:
    __slots__ = "x",


cdef object MEMBER = type(_Slotted.x)
cdef object MODULE = type(_os)
cdef object FUNCTION = type(_os.path.join)


@cython.final
cdef class StateGuard:
    """One location that Python code read, and the guard on its value.

    Attributes
    ----------
    what : str
        The expression in the traced code, and its line.
    """
    cdef readonly str what
    cdef int kind
    cdef bint weak                 # `owner` is a weak reference
    cdef object owner
    cdef object key
    cdef object other              # of globals: builtins; of an attribute: the class
    cdef object descriptor         # of an attribute: the class attribute of that name, or None
    cdef bint is_member            # the descriptor is a slot
    cdef bint has_dict
    cdef ExpectedValue expected

    cdef bint holds(self) noexcept:
        cdef PyObject *owner = <PyObject *>self.owner
        if self.weak:
            owner = PyWeakref_GET_OBJECT(self.owner)
            if owner == <PyObject *>None:
                return True            # the owner was freed
        if self.kind == LENGTH:
            return len(<list>owner) == <Py_ssize_t>self.key
        if self.kind == KEYS:
            return self.has_keys(<object>owner)
        if self.kind == ATTRIBUTE and not self.is_same_class(<object>owner):
            return False
        return self.expected.accepts(self.found(<object>owner))

    cdef bint is_same_class(self, owner) noexcept:
        cdef PyObject *now
        if type(owner) is not self.other:
            return False
        now = df_of_type(self.other, self.key)
        return now == (NULL if self.descriptor is None else <PyObject *>self.descriptor)

    cdef PyObject *content(self) noexcept:
        """Return the current value, borrowed; NULL if there is none."""
        cdef PyObject *owner = <PyObject *>self.owner
        if self.weak:
            owner = PyWeakref_GET_OBJECT(self.owner)
        return NULL if owner == <PyObject *>None else self.found(<object>owner)

    def tensor(self):
        """Return the current value if it is a tensor, else None."""
        cdef PyObject *x = self.content()
        return <object>x if x != NULL and type(<object>x) is Tensor else None

    @property
    def mark(self):
        """A key that is equal for the same place of another trace."""
        return self.kind, id(self.owner() if self.weak else self.owner), type(self.key), self.key

    cdef PyObject *found(self, owner) noexcept:
        """Return the current value, borrowed, or NULL if it does not exist."""
        cdef PyObject *x
        if self.kind == IN_DICT or self.kind == IN_GLOBALS:
            x = df_item(owner, self.key)
            return df_item(self.other, self.key) if (
                x == NULL and self.kind == IN_GLOBALS) else x
        if self.kind == IN_LIST:
            k = <Py_ssize_t>self.key
            k += len(<list>owner) if k < 0 else 0
            return PyList_GET_ITEM(owner, k) if 0 <= k < len(<list>owner) else NULL
        if self.kind == IN_CELL:
            return PyCell_GET(owner)
        if self.kind == OF_TYPE:
            return df_of_type(owner, self.key)
        return df_attribute(owner, self.key, self.descriptor, self.is_member, self.has_dict)

    cdef bint has_keys(self, owner) noexcept:
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t at = 0, k = 0
        if len(<dict>owner) != len(<tuple>self.key):
            return False
        while PyDict_Next(owner, &at, &key, &value):
            if not same_key(key, PyTuple_GET_ITEM(self.key, k)):
                return False
            k += 1
        return True

    def change(self):
        """What it held, and what it holds now."""
        cdef PyObject *now
        if self.kind == LENGTH or self.kind == KEYS:
            return f"{self.what} has other items"
        now = self.content()
        after = "nothing" if now == NULL else brief(<object>now)
        before = self.expected.described()
        if before == after:
            return f"{self.what} is another {'one' if now == NULL else type(<object>now).__name__}"
        return f"{self.what}: {before} -> {after}"


cdef bint is_computed(kind, descriptor):
    """Return True if the lookup of an attribute runs Python code of its class."""
    if kind.__getattribute__ is not object.__getattribute__ and (
            kind.__getattribute__ is not MODULE.__getattribute__):
        return True
    if descriptor is None or type(descriptor) is MEMBER:
        return False
    return hasattr(type(descriptor), "__set__") or (
        hasattr(type(descriptor), "__get__")
        and not isinstance(descriptor, (FUNCTION, classmethod, staticmethod, type)))


@cython.final
cdef class StateGuards:
    """The locations that a trace depends on, without duplicates, and the autocast dtype of its
    thread."""
    cdef list guards
    cdef dict known                # owners, kept alive until `settle`: by kind, id and key
    cdef int autocast

    def __cinit__(self):
        self.guards = []
        self.known = {}
        self.autocast = df_autocast

    def __len__(self):
        return len(self.guards)

    cdef bint hold(self) noexcept:
        cdef Py_ssize_t k
        if self.autocast != df_autocast:
            return False
        for k in range(len(self.guards)):
            if not (<StateGuard>PyList_GET_ITEM(self.guards, k)).holds():
                return False
        return True

    def holds(self):
        """Return True if all guards pass."""
        return self.hold()

    def broken(self):
        """Return a description of the first location that has changed, or None."""
        for guard in self.guards:
            if not (<StateGuard>guard).holds():
                return (<StateGuard>guard).change()
        return None

    @property
    def autocast_dtype(self):
        """The dtype of the autocast region of the trace, or None."""
        return _dtypes.ALL[self.autocast] if self.autocast else None

    def replaced_tensors(self):
        """Return the places that held a tensor and now hold another one."""
        cdef list found = []
        for entry in self.guards:
            guard = <StateGuard>entry
            if guard.expected is not None and guard.expected.is_tensor and not guard.holds() and (
                    guard.tensor() is not None):
                found.append(guard)
        return found

    def relax(self, marks not None, captured not None, values_read not None):
        """Let the places of these marks hold any tensor of the dtype and shape that they hold now.

        Excluded are a tensor that is not captured, that is found in a second place as well, and one
        whose elements Python has read. `captured`, `values_read`: containers of ids.
        """
        cdef list relaxed = []
        for guard in self.guards:
            x = (<StateGuard>guard).tensor()
            if id(x) in captured and id(x) not in values_read and (
                    (<StateGuard>guard).mark in marks and self.count(x) == 1):
                relaxed.append((guard, x))
        for guard, x in relaxed:
            (<StateGuard>guard).expected = ExpectedValue.__new__(ExpectedValue)
            (<StateGuard>guard).expected.how = TENSOR
            (<StateGuard>guard).expected.value = leaf_guard(0, x, False)

    cdef Py_ssize_t count(self, x):
        """Return how many places hold this object, or a tuple with this object in it."""
        cdef Py_ssize_t n = 0
        for guard in self.guards:
            if (<StateGuard>guard).expected is not None:
                n += (<StateGuard>guard).expected.count(<PyObject *>x)
        return n

    def texts(self):
        """Return (expression, value) for each location of a number, text, bool or None."""
        cdef list found = []
        for guard in self.guards:
            if (<StateGuard>guard).expected is not None and (<StateGuard>guard).expected.is_plain():
                found.append((guard.what, (<StateGuard>guard).expected.described()))
        return found

    def settle(self):
        """Drop locations that have changed already; return (expression, change) of each."""
        cdef list gone = [], left = []
        for guard in self.guards:
            if (<StateGuard>guard).holds():
                left.append(guard)
            else:
                gone.append((guard.what, (<StateGuard>guard).change()))
        self.guards = left
        self.known = {}
        return gone

    cdef StateGuard add(self, int kind, owner, key, str text):
        """Add a location and return it; None if it was added before."""
        cdef StateGuard guard
        mark = kind, id(owner), None if kind == KEYS else (type(key), key)
        if mark in self.known:
            return None
        self.known[mark] = owner
        guard = StateGuard.__new__(StateGuard)
        guard.kind, guard.owner, guard.key, guard.what = kind, owner, key, text
        if kind == ATTRIBUTE or kind == OF_TYPE:
            try:
                guard.owner = _weakref.ref(owner)
                guard.weak = True
            except TypeError:
                pass
        self.guards.append(guard)
        return guard

    def name(self, dict names not None, dict builtins not None, str name not None, str text):
        """Add a global name or builtin. Return a tuple with its value, or () without a value."""
        cdef PyObject *x = df_item(names, name)
        cdef StateGuard guard = self.add(IN_GLOBALS, names, name, text)
        if x == NULL:
            x = df_item(builtins, name)
        if guard is not None:
            guard.other = builtins
            guard.expected = expected_value(x)
        return () if x == NULL else (<object>x,)

    def cell(self, cell, str text):
        """Add the content of a cell. The result is as for `name`."""
        cdef PyObject *x = PyCell_GET(cell)
        cdef StateGuard guard = self.add(IN_CELL, cell, None, text)
        if guard is not None:
            guard.expected = expected_value(x)
        return () if x == NULL else (<object>x,)

    def attribute(self, owner, str name not None, str text):
        """Add an attribute. The result is as for `name`; None if the lookup runs Python code."""
        cdef PyObject *x
        cdef StateGuard guard
        kind = type(owner)
        if isinstance(owner, type):
            x = df_of_type(owner, name)
            if df_of_type(kind, name) != NULL and x == NULL:
                return None
            guard = self.add(OF_TYPE, owner, name, text)
            if guard is not None:
                guard.expected = expected_value(x)
            return () if x == NULL else (<object>x,)
        x = df_of_type(kind, name)
        descriptor = None if x == NULL else <object>x
        if is_computed(kind, descriptor):
            return None
        has_dict = hasattr(owner, "__dict__") and type(owner.__dict__) is dict
        is_member = type(descriptor) is MEMBER
        x = df_attribute(owner, name, descriptor, is_member, has_dict)
        if x == NULL and hasattr(kind, "__getattr__"):
            return None
        guard = self.add(ATTRIBUTE, owner, name, text)
        if guard is not None:
            guard.other, guard.descriptor = kind, descriptor
            guard.is_member, guard.has_dict = is_member, has_dict
            guard.expected = expected_value(x)
        return () if x == NULL else (<object>x,)

    def item(self, owner, key, str text):
        """Add an item of a dict or a list. The result is as for `name`; None for other owners."""
        cdef StateGuard guard
        cdef PyObject *x = NULL
        if type(owner) is dict and type(key) in (str, int, bool, float, type(None)):
            x = df_item(owner, key)
            guard = self.add(IN_DICT, owner, key, text)
        elif type(owner) is list and type(key) is int:
            guard = self.add(IN_LIST, owner, key, text)
            k = key + len(owner) if key < 0 else key
            if 0 <= k < len(owner):
                x = PyList_GET_ITEM(owner, k)
        else:
            return None
        if guard is not None:
            guard.expected = expected_value(x)
        return () if x == NULL else (<object>x,)

    def items(self, owner, str text):
        """Add the length of a list or the keys of a dict, to complete the guards on its items."""
        if type(owner) is list:
            self.add(LENGTH, owner, len(owner), text)
        elif type(owner) is dict:
            self.add(KEYS, owner, tuple(owner), text)
