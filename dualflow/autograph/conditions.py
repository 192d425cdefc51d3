"""Path conditions over traced bools: facts that hold at the current point, and their implications.

A `Formula` is a bool, an `Atom` or a `Choice` between two formulas by a third. The operators for
branches and loops in `operators.py` and `loops.py` define the formulas of the bools they produce;
`assigned.py` proves that a variable has a value. An answer of True must be sound; False means
unknown, and an unknown variable is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dualflow._core import Symbol, Tensor, current_graph, get_op, unwrapped
from dualflow._util.named_tuple import NamedTuple

NOT, AND, OR = get_op("logical_not"), get_op("logical_and"), get_op("logical_or")
DEPTH = 8           # of expressions that are compared by structure
STEPS = 10000       # limit of one proof


class Atom:
    """A condition without known structure."""

    __slots__ = ()


class Choice(NamedTuple):
    """`first if test else second`"""

    test: Any
    first: Any
    second: Any


Formula = bool | Atom | Choice


def choice(test: Formula, first: Formula, second: Formula) -> Formula:
    """Return `first if test else second`, simplified."""
    if isinstance(test, bool):
        return first if test else second
    if first is True and second is False:
        return test
    return first if first is second else Choice(test, first, second)


def negation(x: Formula) -> Formula:
    return choice(x, False, True)


def disjunction(x: Formula, y: Formula) -> Formula:
    return choice(x, True, y)


class Same:
    """A wrapper that compares objects by identity."""

    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.held is other.held

    def __hash__(self) -> int:
        return id(self.held)


class Conditions:
    """The conditions of one trace.

    Attributes
    ----------
    facts : list of Formula
        Formulas that hold in all branches that are being recorded.
    """

    def __init__(self) -> None:
        self.facts: list[Formula] = []
        self._formulas: dict[Symbol, Formula] = {}
        self._atoms: dict[Any, Atom] = {}

    def define(self, x: Any, formula: Formula) -> None:
        """Store the formula of a traced bool."""
        if isinstance(x, Symbol):
            self._formulas[x] = formula

    def of(self, x: Any) -> Formula:
        """Return the formula of a bool or a traced bool."""
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
        """Add a fact inside the block."""
        self.facts.append(fact)
        try:
            yield
        finally:
            self.facts.pop()

    def implies(self, goal: Formula) -> bool:
        """Return True if a formula follows from the facts."""
        return Proof().holds(self.facts, goal, {})

    def decided(self, x: Any) -> bool | None:
        """Return the value of a traced bool if the facts imply it, else None. A branch that is
        never taken need not be recorded, and its code may read variables that have no value
        there."""
        formula = self.of(x)
        if isinstance(formula, bool) or not self.facts:
            return formula if isinstance(formula, bool) else None
        return True if self.implies(formula) else False if self.implies(negation(formula)) else None


def conditions() -> Conditions:
    """Return the conditions of the current trace."""
    outliner = current_graph().outliner
    if outliner.conditions is None:
        outliner.conditions = Conditions()
    found: Conditions = outliner.conditions
    return found


def _structure(x: Any, depth: int) -> Any:
    """Return a key shared by equal computations. Anything but a pure op is compared by identity."""
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
    """A proof by case distinction, in a bounded number of steps, that facts imply a formula."""

    def __init__(self) -> None:
        self.steps = 0

    def holds(self, facts: Sequence[Formula], goal: Formula, known: dict[Atom, bool]) -> bool:
        """Return True if the goal is true whenever all facts are; False if that is unknown."""
        while True:
            done: dict[int, Formula] = {}
            goal = self._simplified(goal, known, done)
            facts = [self._simplified(x, known, done) for x in facts]
            if goal is True or False in facts:
                return True
            facts = [x for x in facts if x is not True]
            if self.steps > STEPS or (goal is False and not facts):
                return False
            more = dict([_unit(x) for x in facts if _is_unit(x)])
            if not more:
                break
            known = {**known, **more}
        atom = _first(facts[0] if isinstance(goal, bool) else goal)
        return all([self.holds(facts, goal, {**known, atom: value}) for value in (True, False)])

    def _simplified(self, x: Formula, known: dict[Atom, bool], done: dict[int, Formula],
                    ) -> Formula:
        """Substitute known atoms in a formula; `done` caches results by id, as formulas share
        parts.
        """
        if isinstance(x, Atom):
            return known.get(x, x)
        if not isinstance(x, Choice):
            return x
        found = done.get(id(x))
        if found is None:
            self.steps += 1
            if self.steps > STEPS:
                return x
            test = self._simplified(x.test, known, done)
            if isinstance(test, bool):
                found = self._simplified(x.first if test else x.second, known, done)
            else:
                found = choice(test, self._simplified(x.first, known, done),
                               self._simplified(x.second, known, done))
                if isinstance(found, Choice) and all(map(operator.is_, found, x)):
                    found = x
            done[id(x)] = found
        return found


def _is_unit(x: Formula) -> bool:
    """Return True if a fact is an atom or the negation of one."""
    return isinstance(x, Atom) or (isinstance(x, Choice) and isinstance(x.test, Atom)
                                   and isinstance(x.first, bool) and isinstance(x.second, bool))


def _unit(x: Any) -> tuple[Atom, bool]:
    """Return the atom that a fact determines, and its value."""
    return (x, True) if isinstance(x, Atom) else (x.test, x.first)


def _first(x: Any) -> Atom:
    """Return the atom that is tested first."""
    while isinstance(x, Choice):
        x = x.test
    atom: Atom = x
    return atom
