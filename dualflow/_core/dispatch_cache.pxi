# The dispatch cache of traced functions. An entry holds guards on the arguments and the executable
# to run if they pass. A call without an entry takes the slow path, which also raises the errors.

cdef bint fast_calls = True        # False: each call takes the slow path, which reads the settings

cdef enum:
    MAX_CACHE_ENTRIES = 8


def set_fast_calls(bint fast):
    """Set whether a call may use the dispatch cache instead of searching for its trace."""
    global fast_calls
    fast_calls = fast


@cython.final
cdef class CacheEntry:
    """An entry of the dispatch cache: guards on the arguments of a call, and the executable.

    Parameters
    ----------
    executable : Executable
    n_leaves : int
    args : list of ArgumentGuard
        Guards on the positional arguments.
    kwargs : dict of str to ArgumentGuard
        Guards on the keyword arguments, in the order of the call.
    defaults : list of (object, ArgumentGuard)
        Default values of missing arguments and their guards: a value such as a list may change.
    any_number : bool
        Whether some leaves are numbers that are inputs of the program.
    numbers : callable (leaves) -> list, or None
        Returns the Python numbers among the results.
    pack : callable (list of outputs, list of numbers) -> result, tuple (of the outputs), or None
        None: the result is the only output.
    state_guards : StateGuards, optional
        What must be as it was.
    held : list of (StateGuard, ArgumentGuard)
        Places whose tensors are the last leaves.
    """
    cdef Executable executable
    cdef StateGuards state_guards
    cdef int autocast              # of the calls that it accepts
    cdef Py_ssize_t n_leaves, n_args
    cdef tuple guard           # of the arguments by position, then of those by name
    cdef tuple names
    cdef list defaults
    cdef list held
    cdef bint plain            # all arguments are positional leaves, without containers
    cdef bint any_number
    cdef object numbers
    cdef object pack

    def __cinit__(self, Executable executable not None, Py_ssize_t n_leaves, list args not None,
                  dict kwargs not None, list defaults not None, bint any_number, numbers, pack,
                  StateGuards state_guards=None, list held not None=[]):
        cdef list used = []
        self.executable = executable
        self.n_leaves = n_leaves
        self.n_args = len(args)
        self.guard = (*args, *kwargs.values())
        self.names = tuple(kwargs)
        self.defaults = defaults
        self.any_number = any_number
        self.numbers = numbers
        self.pack = pack
        self.state_guards = state_guards if state_guards is not None and len(state_guards) else None
        self.autocast = df_autocast
        self.held = held
        self.plain = not kwargs and not defaults and not held
        for k, guard in enumerate(self.guard):
            list_guard_leaves(guard, used)
            self.plain = (self.plain and isinstance(guard, LeafGuard)
                          and (<LeafGuard>guard).leaf == k)
        for _, guard in (*defaults, *held):
            list_guard_leaves(guard, used)
        if sorted(used) != list(range(n_leaves)):
            raise TypeError(f"CacheEntry: guards on leaves {used}, expected each of {n_leaves} "
                            "once")

    def leaves(self, tuple args not None, dict kwargs not None):
        """Return the leaves of a call if its arguments pass the guards, else None."""
        return self.match(args, kwargs)

    cdef tuple match(self, tuple args, dict kwargs):
        cdef tuple leaves
        cdef PyObject *name
        cdef PyObject *value
        cdef Py_ssize_t k, at = 0
        if len(args) != self.n_args or len(kwargs) != len(self.names):
            return None
        if self.plain:
            return args if check_guards(self.guard, args, None) else None
        leaves = PyTuple_New(self.n_leaves)
        for k in range(self.n_args):
            if not check_guard(<ArgumentGuard>PyTuple_GET_ITEM(self.guard, k),
                               PyTuple_GET_ITEM(args, k), leaves):
                return None
        k = 0
        while PyDict_Next(kwargs, &at, &name, &value):
            if not (same_key(name, PyTuple_GET_ITEM(self.names, k))
                    and check_guard(<ArgumentGuard>PyTuple_GET_ITEM(self.guard, self.n_args + k),
                                    value, leaves)):
                return None
            k += 1
        for default, guard in self.defaults:
            if not check_guard(<ArgumentGuard>guard, <PyObject *>default, leaves):
                return None
        for location, guard in self.held:
            value = (<StateGuard>location).content()
            if value == NULL or not check_guard(<ArgumentGuard>guard, value, leaves):
                return None
        return leaves

    cdef object run(self, tuple leaves):
        cdef object numbers = None if self.numbers is None else self.numbers(leaves)
        cdef list made = self.executable.execute(leaves, NULL, False)
        if self.pack is None:
            return made[0]
        return tuple(made) if self.pack is tuple else self.pack(made, numbers)


cdef int list_guard_leaves(guard, list places) except -1:
    """Append the indices of the leaves of a guard to `state_guards`."""
    if isinstance(guard, ContainerGuard):
        for part in (<ContainerGuard>guard).parts:
            list_guard_leaves(part, places)
    else:
        places.append((<LeafGuard?>guard).leaf)
    return 0


cdef class Dispatcher:
    """Base class of traced functions: a call that an entry of the cache accepts is run, any other
    call goes to ``self.call_slow_path(args, kwargs)``."""
    cdef list entries              # the entries, newest first
    cdef readonly dict methods     # id of an instance -> (reference to the instance, its function)

    def __cinit__(self, *args, **kwargs):
        self.entries = []
        self.methods = {}

    def __call__(self, *args, **kwargs):
        return self.dispatch(args, kwargs)

    cdef object dispatch(self, tuple args, dict kwargs):
        cdef CacheEntry call
        cdef tuple leaves
        if fast_calls and not checking_numerics and df_trace_top == NULL and df_tape_top == NULL:
            for entry in self.entries:
                call = <CacheEntry>entry
                if call.autocast != df_autocast:
                    continue
                leaves = call.match(args, kwargs)
                if leaves is None or not (call.state_guards is None or call.state_guards.hold()):
                    continue
                if not call.any_number:
                    return call.run(leaves)
                try:
                    return call.run(leaves)
                except GuardError:
                    break
        return self.call_slow_path(args, kwargs)

    def call_slow_path(self, tuple args, dict kwargs):
        raise NotImplementedError

    def __get__(self, instance, owner):
        """Return the bound method. Each instance has its own traces, freed with the instance."""
        cdef BoundFunction made
        cdef PyObject *found
        if instance is None:
            return self
        found = df_item(self.methods, <size_t><PyObject *>instance)
        made = BoundFunction.__new__(BoundFunction)
        made.__self__ = instance
        made.function = <Dispatcher?>(self.of_instance(instance) if found == NULL
                                      else (<tuple?>found)[1])
        return made

    def of_instance(self, instance):
        """Return the function of an instance, at its first use."""
        raise NotImplementedError

    def remember(self, CacheEntry call not None):
        """Add an entry to the cache."""
        self.entries.insert(0, call)
        del self.entries[MAX_CACHE_ENTRIES:]

    def forget(self):
        """Empty the cache."""
        self.entries.clear()


@cython.final
cdef class BoundFunction:
    """A traced function bound to an instance. Other attributes come from the function."""
    cdef readonly object __self__
    cdef readonly Dispatcher function

    def __call__(self, *args, **kwargs):
        return self.function.dispatch(args, kwargs)

    def get_concrete_function(self, *args, **kwargs):
        """Return the concrete function for these arguments and this instance."""
        return self.function.get_concrete_function(*args, **kwargs)

    def __getattr__(self, str name):
        return getattr(self.function, name)

    def __reduce__(self):
        return getattr, (self.__self__, self.function.__name__)
