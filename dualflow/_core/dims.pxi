# Dim: a symbolic Python number of a traced function: an unknown dimension, or a numeric argument
# that changes from call to call. Created by traces and Symbols. Every method that lets Python code
# observe the value must use `decide` or `known`, which record a guard.

import math as _math
import operator as _operator
import sys as _sys

from dualflow._util import frames as _frames


def exactly_equal(a, b):
    """Return True if two numbers have one type and are equal, zeros in sign too, or both NaN."""
    if type(a) is not type(b):
        return False
    if a == b:
        return a != 0 or not isinstance(a, float) or (
            _math.copysign(1., a) == _math.copysign(1., b))
    return a != a and b != b


cdef object fits_32_bits(n):
    return -0x80000000 <= n <= 0x7fffffff


cdef dict DIM_OPS = {
    "add": _operator.add, "sub": _operator.sub, "mul": _operator.mul, "pow": _operator.pow,
    "floordiv": _operator.floordiv, "truediv": _operator.truediv, "mod": _operator.mod,
    "neg": _operator.neg, "abs": _operator.abs, "max": max, "min": min, "int": int, "float": float,
    "eq": _operator.eq, "ne": _operator.ne, "lt": _operator.lt, "le": _operator.le,
    "gt": _operator.gt, "ge": _operator.ge, "bool": bool,
    "and": _operator.and_, "or": _operator.or_, "xor": _operator.xor,
    "lshift": _operator.lshift, "rshift": _operator.rshift,
    "same": exactly_equal, "narrow": fits_32_bits,
}

# The NumPy functions that implement the operators of NumPy scalars.
cdef dict DIM_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv",
    "floor_divide": "floordiv", "remainder": "mod", "power": "pow",
}
cdef dict DIM_COMPARISONS = {
    "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
    "greater_equal": "ge",
}

# Upper bounds of the absolute value of an int, from the bounds of its operands.
cdef dict DIM_BOUNDS = {
    "add": _operator.add, "sub": _operator.add, "mul": _operator.mul, "neg": lambda a: a,
    "abs": lambda a: a, "floordiv": lambda a, b: a, "mod": lambda a, b: b, "max": max, "min": max,
}

cdef str OF_A_SHAPE = "size"       # the kind of a Dim that is part of a shape
cdef str OF_THE_CALL = "argument"  # the kind of a Dim that is an argument of the call

cdef enum:
    DATA_HINT = 997        # the hint of a size or number that depends on data, for shape rules

cdef enum:
    SMALL = 1 << 24        # ints up to this and larger ones are arguments of different kinds: with
                           # a known bound, an expression of ints has one dtype in all calls


cdef object hint_of(x):
    return (<Dim>x).hint if type(x) is Dim else x


cdef list hints_of(tuple args):
    cdef list hints = []
    for x in args:
        hints.append(hint_of(x))
    return hints

cdef bint is_scalar_of_numpy(x):
    """Return True for a NumPy bool, int or float. NumPy's bool is not a `numbers.Number`."""
    numpy = _sys.modules.get("numpy")
    return numpy is not None and isinstance(x, numpy.generic) and x.dtype.kind in "biuf"


cdef bint is_of_numbers(x):
    """Return True for a `numbers.Number`. The module is loaded if `x` is of a class that registers
    itself as one."""
    if isinstance(x, (int, float, complex)):
        return True
    numbers = _sys.modules.get("numbers")
    return numbers is not None and isinstance(x, numbers.Number)


cdef bint is_plain(x):
    """Return True for a real number of Python or NumPy, or a Dim."""
    return type(x) is Dim or isinstance(x, (int, float)) or is_scalar_of_numpy(x)


cdef bint are_scalars(tuple args):
    """Return True for numbers with at least one of NumPy, so that NumPy's operators apply."""
    cdef bint found = False
    for x in args:
        if not is_plain(x):
            return False
        found |= is_scalar_of_numpy(hint_of(x))
    return found


cdef bint any_data_dependent(tuple args):
    for x in args:
        if type(x) is Dim and (<Dim>x).data_dependent:
            return True
    return False


cdef bint asked_by_us():
    """Return True if the caller is Python code of the package, for example to build a message."""
    return _sys._getframe().f_code.co_filename.startswith(_frames.PACKAGE)


@cython.final
cdef class Dim:
    """A symbolic number: how it is computed, with the value in the first call as a hint.

    To Python it looks like its hint. Arithmetic returns a Dim. Every other use (comparison, hash,
    text, index, any method) returns the result for the hint and adds a guard to the graph: the
    trace is valid only for calls with the same result.

    Attributes
    ----------
    hint : int, float or NumPy scalar
        The constructor takes None for a number that is known only at run time.
    kind : str
        "size" (dimension `args[1]` of Symbol `args[0]`), "argument" (leaf `args[0]` of the call),
        "element" (of an integer Symbol), or a key of DIM_OPS with operands `args`.
    args : tuple
    graph : object
        Receives the guards, by ``graph.guard(op, args, result)``, while ``graph.alive``.
    data_dependent : bool
        Whether it depends on data: on an element, or on a size that depends on data.

    Notes
    -----
    Messages of the package and printed graphs show a size that may change as None. User code gets
    the digits, and the trace becomes specific to that size. In a graph built by hand, which has no
    call to take a size from, the size prints as None and equals None, and conversions to a number
    raise TypeError.
    """
    cdef readonly object hint
    cdef readonly str kind
    cdef readonly tuple args
    cdef readonly object graph
    cdef readonly bint data_dependent
    cdef double bound              # an upper bound of the absolute value of an int

    def __init__(self, hint, str op, tuple args, graph):
        self.data_dependent = hint is None
        self.hint = DATA_HINT if hint is None else hint
        self.kind = op
        self.args = args
        self.graph = graph
        for x in args:
            if type(x) is Dim:
                self.data_dependent |= (<Dim>x).data_dependent
            elif type(x) is Symbol:
                self.data_dependent |= ((<Symbol>x).data_dependent_shape if op == OF_A_SHAPE
                                        else (<Symbol>x).data_dependent)
        self.bound = self.find_bound()

    cdef double find_bound(self):
        if type(self.hint) is not int:
            return _math.inf
        if self.kind == OF_THE_CALL:
            return SMALL if -SMALL <= self.hint <= SMALL else _math.inf
        bound = DIM_BOUNDS.get(self.kind)
        return _math.inf if bound is None else bound(*map(_bound_of, self.args))

    cdef object make(self, str op, tuple args):
        """Return the result of an operator as a Dim."""
        cdef object value
        for x in args:
            if not is_plain(x):
                return self.at_once(op, args)
        value = DIM_OPS[op](*hints_of(args))
        if isinstance(value, complex):
            return self.at_once(op, args)
        return Dim(value, op, args, self.graph)

    cdef object decide(self, str op, tuple args):
        """Return the result of a comparison or conversion for the hints, and guard it."""
        cdef object result
        for x in args:
            if not is_plain(x):
                return self.at_once(op, args)
        self.want_alive()
        if self.asked_in_vain():
            return self.undecided(op)
        if any_data_dependent(args):
            result = self.graph.decision(op, args)
            if result is not None:
                return result
        result = DIM_OPS[op](*hints_of(args))
        self.graph.guard(op, args, result)
        return result

    cdef bint asked_in_vain(self):
        """Return True if user code needs the number, but the graph is for all sizes."""
        return self.graph.for_any_size and not asked_by_us()

    cdef object undecided(self, str op):
        """Return the result of an unknown dimension of TensorFlow."""
        if op == "bool":
            return False
        if op == "int" or op == "float":
            raise TypeError(f"__{op}__ returned non-{op} (type NoneType): the size is known only "
                            "when the graph runs")
        return None

    cdef object at_once(self, str op, tuple args):
        """Return the result of an operator on the current values; NotImplemented if an operand is
        a tensor or an array, whose own operator applies."""
        for x in args:
            if isinstance(x, TensorBase) or not is_of_numbers(hint_of(x)):
                return NotImplemented
        return DIM_OPS[op](*map(known, args))

    cdef object bits(self, str op, tuple args):
        """Return the result of a bitwise operator on the hints, and guard it."""
        for x in args:
            if not is_plain(x):
                return self.at_once(op, args)
        self.want_known("an int")
        return self.decide(op, args)

    cdef object known(self, str what="a number"):
        """Return the current value; the trace becomes specific to this value."""
        self.want_alive()
        self.want_known(what)
        if self.asked_in_vain():
            raise TypeError(f"a size that is known only when the graph runs is used as {what}: "
                            "__index__ returned non-int (type NoneType)")
        self.graph.guard("same", (self, self.hint), True)
        return self.hint

    cdef int want_alive(self) except -1:
        if not self.graph.alive:
            raise _errors.TracedValueError(
                f"a number of a call of {self.graph.name} ({self.description()}) was kept while "
                "the function was traced and is used outside: its value differs from call to call; "
                "return it from the function")
        return 0

    cdef int want_known(self, str what) except -1:
        if self.data_dependent:
            self.graph.ask_to_convert()
            raise _errors.TracedValueError(
                f"{self.origin()} is used as {what} while {self.graph.name} is "
                "traced, and is known only when it runs; use it in shapes, in arithmetic with "
                "tensors, or dualflow.shape(x)")
        return 0

    cdef str origin(self):
        """Return a description for a message."""
        if self.kind == "element" and type(self.args[0]) is Symbol:
            return f"the value of {self.args[0].name}, made at {self.args[0].node.line},"
        return "a size that depends on data"

    cdef str description(self):
        if self.kind == OF_A_SHAPE or self.graph.for_any_size:
            return "None"
        if self.data_dependent:
            return "<known when it runs>"
        return f"<{self.hint}, may change>"

    cdef bint described(self):
        """Return True if the text is a description instead of digits."""
        return not self.graph.alive or self.graph.for_any_size or asked_by_us()

    @property
    def __class__(self):
        return type(self.hint)

    def __getattr__(self, str name):
        if name == "value" and self.graph.for_any_size:
            return None                 # like an unknown dimension of TensorFlow
        if not hasattr(type(self.hint), name):
            raise AttributeError(f"'{type(self.hint).__name__}' object has no attribute '{name}'")
        return getattr(self.known(), name)

    # --- arithmetic ---

    def __add__(self, other): return self.make("add", (self, other))
    def __radd__(self, other): return self.make("add", (other, self))
    def __sub__(self, other): return self.make("sub", (self, other))
    def __rsub__(self, other): return self.make("sub", (other, self))
    def __mul__(self, other): return self.make("mul", (self, other))
    def __rmul__(self, other): return self.make("mul", (other, self))
    def __floordiv__(self, other): return self.make("floordiv", (self, other))
    def __rfloordiv__(self, other): return self.make("floordiv", (other, self))
    def __truediv__(self, other): return self.make("truediv", (self, other))
    def __rtruediv__(self, other): return self.make("truediv", (other, self))
    def __mod__(self, other): return self.make("mod", (self, other))
    def __rmod__(self, other): return self.make("mod", (other, self))
    def __neg__(self): return self.make("neg", (self,))
    def __abs__(self): return self.make("abs", (self,))
    def __pos__(self): return self

    def __pow__(self, other, modulo):
        if modulo is not None:
            return pow(known(self), known(other), known(modulo))
        return self.make("pow", (self, other))

    def __rpow__(self, other, modulo):
        if modulo is not None:
            return pow(known(other), known(self), known(modulo))
        return self.make("pow", (other, self))

    def __divmod__(self, other):
        if not is_plain(other):
            return NotImplemented
        return self // other, self % other

    def __rdivmod__(self, other):
        if not is_plain(other):
            return NotImplemented
        return other // self, other % self

    # --- bits ---

    def __and__(self, other): return self.bits("and", (self, other))
    def __rand__(self, other): return self.bits("and", (other, self))
    def __or__(self, other): return self.bits("or", (self, other))
    def __ror__(self, other): return self.bits("or", (other, self))
    def __xor__(self, other): return self.bits("xor", (self, other))
    def __rxor__(self, other): return self.bits("xor", (other, self))
    def __rlshift__(self, other): return self.bits("lshift", (other, self))
    def __rrshift__(self, other): return self.bits("rshift", (other, self))

    def __lshift__(self, other):
        if type(self.hint) is int and type(other) is int and 0 <= other < 64:
            return self.make("mul", (self, 1 << other))
        return self.bits("lshift", (self, other))

    def __rshift__(self, other):
        if type(self.hint) is int and type(other) is int and 0 <= other < 64:
            return self.make("floordiv", (self, 1 << other))
        return self.bits("rshift", (self, other))

    def __invert__(self):
        if type(self.hint) is int:
            return self.make("sub", (-1, self))
        return ~self.known()

    # --- comparisons and conversions ---

    def __eq__(self, other):
        if other is self and isinstance(self.hint, int):
            return True
        if other is None:
            return bool(self.graph.for_any_size)
        return self.decide("eq", (self, other)) if self.graph.alive else NotImplemented

    def __ne__(self, other):
        if other is self and isinstance(self.hint, int):
            return False
        if other is None:
            return not self.graph.for_any_size
        return self.decide("ne", (self, other)) if self.graph.alive else NotImplemented

    def __lt__(self, other): return self.decide("lt", (self, other))
    def __le__(self, other): return self.decide("le", (self, other))
    def __gt__(self, other): return self.decide("gt", (self, other))
    def __ge__(self, other): return self.decide("ge", (self, other))
    def __bool__(self): return self.decide("bool", (self,))

    def __int__(self):
        self.want_known("an int")
        return self.decide("int", (self,))

    def __float__(self):
        self.want_known("a float")
        return self.decide("float", (self,))

    def __index__(self):
        return _operator.index(self.known("an int"))

    def __complex__(self):
        return complex(self.known("a complex number"))

    def __round__(self, digits=None):
        if type(self.hint) is int and digits is None:
            return self
        return round(self.known()) if digits is None else round(self.known(), digits)

    def __trunc__(self):
        return self if type(self.hint) is int else _math.trunc(self.known())

    def __floor__(self):
        return self if type(self.hint) is int else _math.floor(self.known())

    def __ceil__(self):
        return self if type(self.hint) is int else _math.ceil(self.known())

    def __hash__(self):
        return hash(self.known("a key")) if self.graph.alive else hash(self.hint)

    def __repr__(self):
        return self.description() if self.described() else repr(self.known("text"))

    def __str__(self):
        return self.description() if self.described() else str(self.known("text"))

    def __format__(self, spec):
        return self.description() if self.described() else format(self.known("text"), spec)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __reduce_ex__(self, protocol):
        value = self.known("a pickle")
        return value.__reduce_ex__(protocol) if hasattr(value, "dtype") else (type(value), (value,))

    # --- NumPy ---

    def __array__(self, dtype=None, copy=None):
        return _sys.modules["numpy"].array(self.known("an array"), dtype=dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        # NumPy converts a scalar to an array before it compares it
        array = _sys.modules["numpy"].ndarray
        numbers = tuple(map(lambda x: x[()] if type(x) is array else x, inputs))
        if method == "__call__" and not kwargs and are_scalars(numbers):
            name = ufunc.__name__
            if name in DIM_UFUNCS:
                return self.make(DIM_UFUNCS[name], numbers)
            if name in DIM_COMPARISONS:
                return self.decide(DIM_COMPARISONS[name], numbers)
            if name == "divmod":
                return self.make("floordiv", numbers), self.make("mod", numbers)
        return getattr(ufunc, method)(*map(known, inputs),
                                      **dict(zip(kwargs, map(known, kwargs.values()))))


def _bound_of(x):
    """Return an upper bound of the absolute value of a number."""
    if type(x) is Dim:
        return (<Dim>x).bound
    return abs(x) if abs(x) < SMALL else _math.inf


def known(x):
    """Return `x`, for a Dim its current value."""
    return (<Dim>x).known() if type(x) is Dim else x


def larger(a, b):
    """Return the larger of two numbers, as a Dim if one of them is a Dim."""
    if type(a) is Dim or type(b) is Dim:
        return (<Dim>a if type(a) is Dim else <Dim>b).make("max", (a, b))
    return max(a, b)


def smaller(a, b):
    """Return the smaller of two numbers, as a Dim if one of them is a Dim."""
    if type(a) is Dim or type(b) is Dim:
        return (<Dim>a if type(a) is Dim else <Dim>b).make("min", (a, b))
    return min(a, b)


def dim_value(str op, *args):
    """Return the result of an operator of DIM_OPS on numbers."""
    return DIM_OPS[op](*args)
