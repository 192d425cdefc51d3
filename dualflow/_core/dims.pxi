# Dim: a number that a traced function may meet with another value next time: an unknown dimension,
# or a Python number that changes from call to call.

import operator as _operator

cdef dict DIM_OPS = {
    "add": _operator.add, "sub": _operator.sub, "mul": _operator.mul, "pow": _operator.pow,
    "floordiv": _operator.floordiv, "truediv": _operator.truediv, "mod": _operator.mod,
    "neg": _operator.neg, "abs": _operator.abs, "max": max, "min": min, "int": int, "float": float,
    "eq": _operator.eq, "ne": _operator.ne, "lt": _operator.lt, "le": _operator.le,
    "gt": _operator.gt, "ge": _operator.ge, "bool": bool,
}

cdef str OF_A_SHAPE = "size"       # the kind of a Dim that stands in a shape


cdef object hint_of(x):
    return (<Dim>x).hint if type(x) is Dim else x


cdef list hints_of(tuple args):
    cdef list hints = []
    for x in args:
        hints.append(hint_of(x))
    return hints


@cython.final
cdef class Dim:
    """A number known by how it was computed, with the value of the first call as a hint.

    Arithmetic gives a Dim again. What decides by its value (comparison, `int`, use as an index)
    gets the hint, and the graph notes a guard: the trace holds only where the answer is the same.

    Attributes
    ----------
    hint : int or float
    kind : str
        "size" (dimension `args[1]` of Symbol `args[0]`), "argument" (leaf `args[0]` of the call),
        "element" (of an integer Symbol), or a key of the table of operators, of Dims and numbers.
    args : tuple
    graph : object
        Is told of guards: ``graph.guard(op, args, result)``.
    from_data : bool
        Whether it depends on the size of a value whose size depends on data.

    Notes
    -----
    It equals None, as TensorFlow writes an unknown dimension, and prints as None.
    """
    cdef readonly object hint
    cdef readonly str kind
    cdef readonly tuple args
    cdef readonly object graph
    cdef readonly bint from_data

    def __init__(self, hint, str op, tuple args, graph):
        self.hint = hint
        self.kind = op
        self.args = args
        self.graph = graph
        for x in args:
            if type(x) is Dim:
                self.from_data |= (<Dim>x).from_data
            elif type(x) is Symbol:
                self.from_data |= ((<Symbol>x).sized_by_data if op == OF_A_SHAPE
                                   else (<Symbol>x).from_data)

    cdef object make(self, str op, tuple args):
        cdef object value
        for x in args:
            if not (type(x) is Dim or isinstance(x, (int, float))):
                return NotImplemented
        value = DIM_OPS[op](*hints_of(args))
        return Dim(value, op, args, self.graph)

    cdef object decide(self, str op, tuple args):
        cdef object result
        for x in args:
            if not (type(x) is Dim or isinstance(x, (int, float))):
                return NotImplemented
        result = DIM_OPS[op](*hints_of(args))
        self.graph.guard(op, args, result)
        return result

    def __add__(self, other): return self.make("add", (self, other))
    def __radd__(self, other): return self.make("add", (other, self))
    def __sub__(self, other): return self.make("sub", (self, other))
    def __rsub__(self, other): return self.make("sub", (other, self))
    def __mul__(self, other): return self.make("mul", (self, other))
    def __rmul__(self, other): return self.make("mul", (other, self))
    def __pow__(self, other, modulo): return self.make("pow", (self, other))
    def __rpow__(self, other, modulo): return self.make("pow", (other, self))
    def __floordiv__(self, other): return self.make("floordiv", (self, other))
    def __rfloordiv__(self, other): return self.make("floordiv", (other, self))
    def __truediv__(self, other): return self.make("truediv", (self, other))
    def __rtruediv__(self, other): return self.make("truediv", (other, self))
    def __mod__(self, other): return self.make("mod", (self, other))
    def __rmod__(self, other): return self.make("mod", (other, self))
    def __neg__(self): return self.make("neg", (self,))
    def __abs__(self): return self.make("abs", (self,))
    def __pos__(self): return self
    def __divmod__(self, other): return self // other, self % other
    def __rdivmod__(self, other): return other // self, other % self

    def __round__(self, digits=None):
        return self if isinstance(self.hint, int) and digits is None else round(float(self), digits)

    def __eq__(self, other):
        if other is None or other is self:
            return True
        return self.decide("eq", (self, other))

    def __ne__(self, other):
        if other is None or other is self:
            return False
        return self.decide("ne", (self, other))

    def __lt__(self, other): return self.decide("lt", (self, other))
    def __le__(self, other): return self.decide("le", (self, other))
    def __gt__(self, other): return self.decide("gt", (self, other))
    def __ge__(self, other): return self.decide("ge", (self, other))
    def __bool__(self): return self.decide("bool", (self,))

    def __index__(self):
        if not isinstance(self.hint, int):
            raise TypeError("a float cannot be an index")
        self.want_known("an int")
        self.graph.guard("eq", (self, self.hint), True)
        return self.hint

    cdef int want_known(self, str what) except -1:
        if self.from_data:
            raise _errors.TracedValueError(
                f"a size that depends on data is wanted as {what} while {self.graph.name} is "
                "traced, and is known only when it runs; use it in shapes, in arithmetic with "
                "tensors, or dualflow.shape(x)")
        return 0

    def __int__(self):
        self.want_known("an int")
        self.graph.guard("int", (self,), int(self.hint))
        return int(self.hint)

    def __float__(self):
        self.want_known("a float")
        self.graph.guard("float", (self,), float(self.hint))
        return float(self.hint)

    def __hash__(self):
        return hash(self.hint)

    def __repr__(self):
        return "None" if self.kind == OF_A_SHAPE else f"<{self.hint}, may change>"


def larger(a, b):
    """The larger of two numbers; where one may change from call to call, a Dim."""
    if type(a) is Dim or type(b) is Dim:
        return (<Dim>a if type(a) is Dim else <Dim>b).make("max", (a, b))
    return max(a, b)


def smaller(a, b):
    """The smaller of two numbers; where one may change from call to call, a Dim."""
    if type(a) is Dim or type(b) is Dim:
        return (<Dim>a if type(a) is Dim else <Dim>b).make("min", (a, b))
    return min(a, b)


def dim_value(str op, *args):
    """The value of one operator of a Dim on numbers."""
    return DIM_OPS[op](*args)
