"""The content of a checkpoint: variables, arrays and states, found by walking objects, with names.

The name of an object is its path: attributes, keys and indices, separated by slashes. An object
with several paths has the shortest one. Slots of an optimizer are named after their variables, so
that names do not depend on the order of updates. Layers of Keras are walked like modules, by their
public names; their remaining variables have their indices in `variables` as names.
"""

from __future__ import annotations

import functools
import json
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dualflow._core import Operand, Variable, unwrapped
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.modules import Module, attributes, inner, is_variable
from dualflow.ops.array.creation import convert_to_tensor
from dualflow.ops.array.shape import reshape
from dualflow.ops.random.random_generator import Generator
from dualflow.optimizers import Optimizer

NUMBERS = bool, int, float, str
SLOTS = "slots"


class Found(NamedTuple):
    """An object found by the walk.

    Attributes
    ----------
    path : str
    x : object
    owner : object or None
        The owner to which the user assigned it, directly or in a list; then it must be trackable.
    name : str
        Its attribute name in the owner.
    """

    path: str
    x: Any
    owner: Any = None
    name: str = ""


class State(NamedTuple):
    """Access to a state that is not a tensor, in a form that JSON can represent."""

    get: Callable[[], Any]
    put: Callable[[Any], None]


class Slot(NamedTuple):
    """A slot that does not exist yet: the path of its optimizer, and its variable or the variable's
    index among the optimizer's variables."""

    optimizer: str
    of: Variable | int
    name: str


class Tracked:
    """The content of an object's public attributes.

    Parameters
    ----------
    owner : object
        The object whose public attributes are walked.

    Attributes
    ----------
    variables : dict of str to Variable
    arrays : dict of str to ndarray
    states : dict of str to State
    optimizers : dict of str to Optimizer
    same : dict of str to str
        For objects with several paths: the path in the file by each other path.
    indices : dict of str to str
        The paths of Keras's variables by their names in files of earlier versions, which are
        indices.
    optional : set of str
        Names of counters that restored objects need not have.
    nested : list
        The objects inside of the owner's type.
    """

    def __init__(self, owner: Any) -> None:
        self.variables: dict[str, Variable] = {}
        self.arrays: dict[str, Any] = {}
        self.states: dict[str, State] = {}
        self.optimizers: dict[str, Optimizer] = {}
        self.same: dict[str, str] = {}
        self.indices: dict[str, str] = {}
        self.optional: set[str] = set()
        self.nested: list[Any] = []
        self._seen: dict[int, tuple[Any, str]] = {}     # visited objects, kept alive, and paths
        self._layers: list[tuple[str, Any]] = []
        pending = deque(parts_of("", owner))
        while pending:
            found = pending.popleft()
            x = unwrapped(found.x)
            if id(x) in self._seen and not isinstance(x, NUMBERS):
                self.same[found.path] = self._seen[id(x)][1]
                continue
            self._seen[id(x)] = x, found.path
            if not self._take(found):
                pending += self._inside(found)
        for path, layer in self._layers:
            for k, v in enumerate(map(unwrapped, layer.variables)):
                name = join(path, str(k))
                if id(v) not in self._seen:
                    self._seen[id(v)] = v, name
                    self._place(name, v, self.variables)
                self.indices[name] = self._seen[id(v)][1]
        self.names: dict[Variable, str] = {v: path for path, v in self.variables.items()}
        for path, optimizer in self.optimizers.items():
            self._take_slots(path, optimizer)
        starts = {"/".join(parts[:k]) for name in (*self.variables, *self.arrays)
                  for parts in [name.split("/")] for k in range(len(parts) + 1)}
        self.same = {path: of for path, of in self.same.items() if of in starts}

    def _take(self, found: Found) -> bool:
        """Add an object that is a leaf; return False if it is not."""
        path, x, owner, name = found
        if is_variable(x):
            self._place(path, unwrapped(x), self.variables)
        elif owner is not None and name and isinstance(x, NUMBERS):
            self._place(path, number(owner, name), self.states)
        elif owner is not None and name and is_text(x):
            self._place(path, text(owner, name), self.states)
        elif isinstance(x, Generator):
            self._place(path, State(x.__getstate__, lambda state: continued(x, state)),
                        self.states)
        elif has_bits(x):
            self._place(path, State(lambda: x.bit_generator.state,
                                    functools.partial(setattr, x.bit_generator, "state")),
                        self.states)
        elif owner is not None and is_array(x):
            self._place(path, x, self.arrays)
        elif not isinstance(x, Optimizer | Module) and has_state(x):
            self._place(path, State(x.state, x.restore), self.states)
        else:
            return False
        return True

    def _inside(self, found: Found) -> list[Found]:
        """Return the parts of an object."""
        path, x, owner, _ = found
        if owner is not None and type(x) is type(owner):
            self.optional.add(join(path, "save_counter"))
            self.nested.append(x)
            return parts_of(path, x)
        if owner is not None and inner(x) is not None:  # a list assigned by the user
            return [Found(join(path, name), y, owner, "") for name, y in inner(x) or ()]
        if isinstance(x, Optimizer):
            self._place(path, x, self.optimizers)
            parts: Any = x.numbers.items()
        else:
            parts = attributes(x) if isinstance(x, Module) else inner(x)
        if parts is None and hasattr(x, "add_loss"):
            self._layers.append((path, x))
            parts = inside_layer(x)
        if parts is None and isinstance(getattr(x, "variables", None), list | tuple):
            parts = inner(x.variables)
        if parts is None and owner is not None:
            raise DTypeError(
                f"Checkpoint: {path} is {x!r}, expected a Variable, a Module, an optimizer, a "
                "random generator, a dataset's iterator (or another object with state() and "
                "restore()), an object with `variables`, a list or dict of these, an array, or, "
                "directly, a number, a string or a tensor of text")
        return [Found(join(path, name), y) for name, y in parts or ()]

    def _take_slots(self, path: str, optimizer: Optimizer) -> None:
        for k, (variable, slots) in enumerate(optimizer.slots.items()):
            of = self.names.get(variable, f"@{k}")
            for slot, value in slots.items():
                self._place(join(path, f"{SLOTS}/{slot}/{of}"), value, self.variables)

    def _place(self, path: str, x: Any, among: dict[str, Any]) -> None:
        if path in among:
            raise InvalidArgumentError(f"Checkpoint: there are two objects {path}")
        among[path] = x

    # --- slots in a file that an optimizer has not created yet ---

    def slot_in(self, name: str) -> Slot | None:
        """Return the slot with a name in a file, or None if no optimizer can create it."""
        for path, optimizer in self.optimizers.items():
            start = join(path, f"{SLOTS}/")
            slot, _, of = name.removeprefix(start).partition("/")
            if not name.startswith(start) or slot not in (*optimizer.next_layout(),
                                                          optimizer.master):
                continue
            if of.startswith("@") and of[1:].isdigit():
                return Slot(path, int(of[1:]), slot)
            if of in self.variables:
                return Slot(path, self.variables[of], slot)
        return None

    def resolved_slot(self, name: str, same: Mapping[str, str]) -> str:
        """Return the name of a slot after replacing the path of its variable; other names as they
        are."""
        for path in self.optimizers:
            start = join(path, f"{SLOTS}/")
            slot, _, of = name.removeprefix(start).partition("/")
            if name.startswith(start):
                return f"{start}{slot}/{resolved(of, same)}"
        return name


def parts_of(path: str, owner: Any) -> list[Found]:
    """Return the root of a checkpoint, if it has one, and its public attributes."""
    root = vars(owner).get("_root")
    return [*([] if root is None else [Found(path, root, owner, "")]),
            *[Found(join(path, name), x, owner, name) for name, x in public(owner)]]


def inside_layer(layer: Any) -> list[tuple[str, Any]]:
    """Return the attributes of a layer of Keras that may contain variables, sorted by name. A
    private variable, such as the one behind the property `kernel`, has its public name."""
    has = vars(layer)
    found = [(name if name.lstrip("_") in has else name.lstrip("_"), x)
             for name, x in sorted(has.items())
             if is_variable(x) or hasattr(x, "add_loss") or not (
                 name.startswith("_") or name == "variables" or hasattr(x, "apply_gradients"))]
    inner_layers = getattr(layer, "layers", None)
    return [*found, *([("layers", inner_layers)] if isinstance(inner_layers, list) else [])]


def join(path: str, name: str) -> str:
    """Return the path of a part; the path of the root is empty."""
    return f"{path}/{name}" if path else name


def resolved(name: str, same: Mapping[str, str]) -> str:
    """Return a path in which each start that is another path of an object is replaced."""
    at = ""
    for part in name.split("/") if same else ():
        at = join(at, part)
        at = same.get(at, at)
    return at if same else name


def public(owner: Any) -> list[tuple[str, Any]]:
    """Return the public attributes of an object, sorted by name."""
    return sorted([(name, x) for name, x in vars(owner).items() if not name.startswith("_")],
                  key=lambda item: item[0])


def number(owner: Any, name: str) -> State:
    """Return the state of a number or string that is an attribute of an object."""
    def put(value: Any) -> None:
        was = getattr(owner, name)
        kinds = {type(value), type(was)}
        if len(kinds) > 1 and kinds != {int, float}:
            raise InvalidArgumentError(f"{name} is {value!r}, expected {type(was).__name__}")
        setattr(owner, name, value)

    return State(lambda: getattr(owner, name), put)


def text(owner: Any, name: str) -> State:
    """Return the state of a tensor of text that is an attribute of an object. Bytes are
    represented by the characters with their numbers."""
    def get() -> Any:
        array = getattr(owner, name).numpy()
        flat = [array] if isinstance(array, bytes) else array.ravel().tolist()
        return {"shape": list(getattr(array, "shape", ())),
                "text": [x.decode("latin-1") for x in flat]}

    def put(value: Any) -> None:
        was = getattr(owner, name)
        try:
            made = [x.encode("latin-1") for x in value["text"]]
            setattr(owner, name, reshape(convert_to_tensor(made or [""])[:len(made)],
                                         value["shape"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidArgumentError(f"{name} is {value!r}, expected {was!r}") from error

    return State(get, put)


def is_text(x: Any) -> bool:
    """Return True if an object is a tensor of text."""
    return isinstance(x, Operand) and getattr(x, "dtype", None) == "string"


def continued(generator: Generator, state: Mapping[str, int]) -> None:
    """Set the state of a generator."""
    if set(state) != {"seed", "counter"} or not all(type(n) is int for n in state.values()):
        raise InvalidArgumentError(f"{state!r} is not a state of a random generator")
    generator.seed, generator.counter = state["seed"], state["counter"]


def has_bits(x: Any) -> bool:
    """Return True if an object is a random generator of NumPy."""
    return hasattr(x, "bit_generator") and hasattr(x.bit_generator, "state")


def is_array(x: Any) -> bool:
    """Return True if an object is a writable array."""
    return hasattr(x, "__array_interface__") and hasattr(x, "__setitem__")


def has_state(x: Any) -> bool:
    """Return True if an object has `state` and `restore`, like iterators of datasets."""
    return callable(getattr(x, "state", None)) and callable(getattr(x, "restore", None))


def copied_state(path: str, state: Any) -> Any:
    """Return a state after conversion to JSON and back."""
    try:
        return json.loads(json.dumps(state, default=lambda x: x.tolist()))      # arrays
    except (TypeError, ValueError, AttributeError) as error:
        raise DTypeError(f"Checkpoint: the state of {path} is {state!r}: {error}; expected "
                         "numbers, strings, lists and dicts") from error
