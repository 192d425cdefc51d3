"""Conditions over traced bools: which of them hold where Python is, and what follows from them.

A `Formula` is a bool, an `Atom` or a `Choice` between two formulas by a third. The rules for
branches and loops in `operators.py` and `loops.py` define the formulas of the bools that they make,
and `assigned.py` asks whether a variable has a value. An answer of True must be sound; False means
unknown, and an unknown variable is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from dualflow._core import Symbol, Tensor, current_graph, get_op, unwrapped

NOT, AND, OR = get_op("logical_not"), get_op("logical_and"), get_op("logical_or")
DEPTH = 8           # of the expressions that are compared by structure
STEPS = 4000        # of one proof


class Atom:
    """A condition that is not taken apart."""

    __slots__ = ()


class Choice(NamedTuple):
    """`first if test else second`"""

    test: Any
    first: Any
    second: Any


Formula = bool | Atom | Choice


def choice(test: Formula, first: Formula, second: Formula) -> Formula:
    """`first if test else second`, simplified."""
    if isinstance(test, bool):
        return first if test else second
    return first if first is second else Choice(test, first, second)


def negation(x: Formula) -> Formula:
    return choice(x, False, True)


def disjunction(x: Formula, y: Formula) -> Formula:
    return choice(x, True, y)


class Same:
    """An object, equal to itself only."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)


class Conditions:
    """Those of one trace.

    Attributes
    ----------
    facts : list of Formula
        What holds in the branches that are recorded now.
    """

    def __init__(self) -> None:
        self.facts: list[Formula] = []
        self._formulas: dict[Symbol, Formula] = {}
        self._atoms: dict[Any, Atom] = {}

    def define(self, x: Any, formula: Formula) -> None:
        """Note the formula of a traced bool."""
        if isinstance(x, Symbol):
            self._formulas[x] = formula

    def of(self, x: Any) -> Formula:
        """Return the formula of a bool, a traced one or not."""
        x = unwrapped(x)
        if isinstance(x, bool):
            return x
        if not isinstance(x, Symbol):
            known = isinstance(x, Tensor) and x.size == 1
            return bool(x.item()) if known else Atom()
        if x not in self._formulas:
            self._formulas[x] = self._taken_apart(x)
        return self._formulas[x]

    def _taken_apart(self, x: Symbol) -> Formula:
        node = x.node
        if node is not None and node.op is NOT:
            return negation(self.of(node.inputs[0]))
        if node is not None and (node.op is AND or node.op is OR):
            a, b = map(self.of, node.inputs)
            return choice(a, b, False) if node.op is AND else disjunction(a, b)
        if node is not None and isinstance(node.data, Tensor) and not node.inputs:
            return self.of(node.data)
        return self._atoms.setdefault(_structure(x, DEPTH), Atom())

    @contextmanager
    def given(self, fact: Formula) -> Iterator[None]:
        """Inside the block, a fact holds."""
        self.facts.append(fact)
        try:
            yield
        finally:
            self.facts.pop()

    def implies(self, goal: Formula) -> bool:
        """Return True if a formula follows from the facts."""
        return Proof().holds([x for x in self.facts if x is not True], goal, {})


def conditions() -> Conditions:
    """The conditions of the trace that is recorded."""
    enclosed = current_graph().enclosed
    if enclosed.conditions is None:
        enclosed.conditions = Conditions()
    found: Conditions = enclosed.conditions
    return found


def _structure(x: Any, depth: int) -> Any:
    """A key that equal computations share. Anything but a pure op is equal to itself only."""
    node = x.node
    if node is None or not depth or node.effect or node.writes or node.bodies or (
            node.attrs is not None and node.attrs.symbolic):
        return Same(x)
    if node.inputs:
        return (node.op.name, node.attrs, x.index,
                tuple([_structure(y, depth - 1) for y in node.inputs]))
    if isinstance(node.data, Tensor) and node.data.size == 1:
        return node.data.dtype.name, node.data.shape, repr(node.data.tolist())
    return Same(x)


class Proof:
    """Decides by cases whether a formula follows from others, in a bounded number of steps."""

    def __init__(self) -> None:
        self.steps = 0

    def holds(self, facts: list[Formula], goal: Formula, known: dict[Atom, bool]) -> bool:
        """Return True if the goal is true wherever all facts are; False if that is unknown."""
        goal = self._simplified(goal, known)
        if goal is True:
            return True
        left: list[Formula] = []
        for fact in facts:
            fact = self._simplified(fact, known)
            if fact is False:
                return True
            if fact is not True:
                left.append(fact)
        if self.steps > STEPS or (goal is False and not left):
            return False
        atom = self._next(left, goal)
        return all([self.holds(left, goal, {**known, atom: value}) for value in (True, False)])

    def _next(self, facts: list[Formula], goal: Formula) -> Atom:
        """The atom whose value is assumed next: the one that decides a fact, if there is one."""
        simple = [x for x in facts if isinstance(x, Atom) or (
            isinstance(x, Choice) and isinstance(x.test, Atom)
            and isinstance(x.first, bool) and isinstance(x.second, bool))]
        x: Formula = simple[0] if simple else facts[0] if isinstance(goal, bool) else goal
        while isinstance(x, Choice):
            x = x.test
        assert isinstance(x, Atom)
        return x

    def _simplified(self, x: Formula, known: dict[Atom, bool]) -> Formula:
        self.steps += 1
        if self.steps > STEPS:
            return x
        if isinstance(x, Atom):
            return known.get(x, x)
        if not isinstance(x, Choice):
            return x
        test = self._simplified(x.test, known)
        if isinstance(test, bool):
            return self._simplified(x.first if test else x.second, known)
        return choice(test, self._simplified(x.first, known), self._simplified(x.second, known))
