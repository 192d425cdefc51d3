"""GradientTape: records ops while they run and differentiates the recorded ops."""

from __future__ import annotations

from dualflow._core import (
    Recorder,
    RecordingStopped,
    Tensor,
    TensorBase,
    TensorSpec,
    Variable,
    as_tensor,
    tensor_id,
    variables_of,
)
from dualflow._util.arguments import shown
from dualflow._util.frames import warn
from dualflow._util.late_binding import late, late_method
from dualflow.autodiff.backward import ones, unbroadcast, zeros
from dualflow.autodiff.compiled_backward import TAPES, compute_gradients, report
from dualflow.errors import DTypeError, GradientWarning, InvalidArgumentError, ShapeError
from dualflow.nest import flatten_tensors, flatten_up_to, pack_sequence_as, rebuild
from dualflow.ops.array.shape import broadcast_to, expand_dims, reshape, same_shape, transpose
from dualflow.ops.indexing.gather import gather
from dualflow.ops.indexing.indexed_slices import IndexedSlices
from dualflow.tracebacks import filtered, hide_frames

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["GradientTape", "UnconnectedGradients"]


class UnconnectedGradients:
    """Values of `unconnected_gradients`, for targets that do not depend on the source.

    Examples
    --------
    >>> import dualflow as df
    >>> df.UnconnectedGradients.ZERO
    'zero'
    """

    NONE = "none"
    ZERO = "zero"


def constructor(self: Any, persistent: bool = False,
                watch_accessed_variables: bool = True) -> None:
    """The signature of the constructor, which is in C: one in Python would take 50 ns more."""


class Signature:
    """A descriptor for the signature of a class: of its constructor, or of the tape's."""

    def __init__(self, constructor: Callable[..., None]) -> None:
        self.constructor = constructor

    def __get__(self, tape: Any, owner: type) -> Any:
        import inspect  # its import takes longer than importing dualflow

        own: Any = vars(owner).get("__init__", self.constructor)
        return inspect.Signature(list(inspect.signature(own).parameters.values())[1:])


class GradientTape(Recorder):
    """Records ops for differentiation.

    An op that runs in the ``with`` block is recorded if one of its inputs depends on a watched
    tensor. Trainable variables are watched when an op reads them, tensors by `watch`.

    Parameters
    ----------
    persistent : bool, default False
        Whether `gradient` may be called more than once; the records then live as long as the tape.
        Otherwise memory is freed during the first backward pass.
    watch_accessed_variables : bool, default True
        If False, only the arguments of `watch` are watched.

    Notes
    -----
    Tapes nest: the `gradient` of an inner tape, called inside an outer tape, is recorded by the
    outer tape and can be differentiated again, to any order. Each thread has a separate stack of
    tapes. Values are captured when an op runs; later assignments to variables do not change a
    gradient.

    Examples
    --------
    >>> import dualflow as df
    >>> x = df.constant(3.)
    >>> with df.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = x * x
    >>> tape.gradient(y, x).item()
    6.0
    """

    __signature__: Any = Signature(constructor)
    __repr__ = late_method("dualflow.autodiff.tape_text")
    _repr_html_ = late_method("dualflow.autodiff.tape_text")

    # --- recording ---

    def watch(self, tensor: Any) -> None:
        """Watch a tensor or variable, or nested lists of them. Of a composite tensor, such as a
        `RaggedTensor` or a `QuantizedMatrix`, the floating parts are watched.

        Warns
        -----
        GradientWarning
            If a tensor or all parts of a composite are not floating: integers have no gradients.
        """
        known = isinstance(tensor, TensorBase) and tensor.dtype.is_floating
        for x in [tensor] if known else late("composites").watchable(tensor):
            self._tape.watch(x)

    def stop_recording(self) -> RecordingStopped:
        """Return a context in which ops are not recorded on this tape.

        Examples
        --------
        >>> import dualflow as df
        >>> x = df.Variable(2.)
        >>> with df.GradientTape() as tape:
        ...     y = x * x
        ...     with tape.stop_recording():
        ...         z = y * 100.
        >>> tape.gradient(y, x).item()
        4.0
        """
        if not self._tape.active:
            raise InvalidArgumentError("GradientTape.stop_recording: the tape is not recording")
        return RecordingStopped(self)

    def watched_variables(self) -> tuple[Variable, ...]:
        """Return the watched variables in the order of their creation.

        Examples
        --------
        >>> import dualflow as df
        >>> x, unused = df.Variable(2., name="x"), df.Variable(3.)
        >>> with df.GradientTape() as tape:
        ...     y = x * x
        >>> [v.name for v in tape.watched_variables()]
        ['x']
        """
        return tuple(variables_of(self._tape.watched))

    # --- differentiating ---

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None,
                 unconnected_gradients: str = UnconnectedGradients.NONE) -> Any:
        """Return the gradient of the sum of `target` with respect to each source.

        Parameters
        ----------
        target : Tensor, Variable, IndexedSlices, or nested lists, tuples, dicts of them
        sources : Tensor, Variable, composite tensor, or nested lists, tuples, dicts of them
        output_gradients : Tensor or the structure of `target`, optional
            Factors for the elements of the target before summation; None means ones.
        unconnected_gradients : {"none", "zero"}
            Whether missing gradients are None or zeros.

        Returns
        -------
        The structure of `sources`, of Tensors with the same shapes and dtypes; `IndexedSlices` for
        a source of which only rows were read, by `gather` or `nn.embedding_lookup`. The gradient of
        a composite has the parts of the source that are not floating.

        Raises
        ------
        RuntimeError
            If called a second time on a tape that is not persistent.

        Warns
        -----
        GradientWarning
            If a gradient is None, with the reason.
        """
        try:
            zero = unconnected_gradients != "none" and wants_zero(unconnected_gradients)
            known = 0
            if output_gradients is not None:
                self._start("gradient")
            elif type(known := TAPES.run_cached(self, target, sources)) is not int:
                return known
            target, output_gradients = without_slices(target, output_gradients)
            targets = [target] if type(target) is Tensor else flatten_tensors(target)
            alone = isinstance(sources, TensorBase)
            wanted = [sources] if alone else flatten_tensors(sources)
            flat = alone or all([isinstance(x, TensorBase) and x.dtype.is_floating for x in wanted])
            if not flat:
                wanted = late("composites").source_tensors(sources)
            check_tensors("target", targets)
            check_tensors("source", wanted)
            ids = [tensor_id(x) for x in wanted]
            plain = output_gradients is None and len(targets) == 1 and targets[0].dtype.is_inexact
            seeds = None if plain else seed_gradients(targets, target, output_gradients)
            results, self._how = compute_gradients(self._tape, targets, seeds, ids,
                                                   not self._persistent, known)
            for k, g in enumerate(results):
                if g is None:
                    results[k] = zeros(wanted[k]) if zero else self._missing(targets, wanted[k])
            return results[0] if alone else (
                pack_sequence_as if flat else late("composites").pack_gradients)(sources, results)
        except BaseException as error:
            hide_frames(error)
            raise

    @filtered
    def jacobian(self, target: Any, sources: Any,
                 unconnected_gradients: str = UnconnectedGradients.NONE) -> Any:
        """Return the derivative of each element of `target` by each element of each source.

        Parameters
        ----------
        target : Tensor or Variable, shape (t...)
        sources : Tensor, Variable, or nested lists, tuples, dicts of them
        unconnected_gradients : {"none", "zero"}

        Returns
        -------
        The structure of `sources`, of Tensors of shape (t..., s...)

        Examples
        --------
        >>> import dualflow as df
        >>> x = df.Variable([1., 2.])
        >>> with df.GradientTape() as tape:
        ...     y = x * x
        >>> tape.jacobian(y, x).numpy().tolist()
        [[2.0, 0.0], [0.0, 4.0]]
        """
        y = as_tensor(target)
        rows = late("batched_vjp").directions(y.shape, y.dtype)
        return self._by_rows("jacobian", y, sources, rows, unconnected_gradients,
                             lambda x, g: reshape(g, (*y.shape, *x.shape)))

    @filtered
    def batch_jacobian(self, target: Any, source: Any,
                       unconnected_gradients: str = UnconnectedGradients.NONE) -> Any:
        """Return the Jacobian of each batch element with respect to its own source.

        Parameters
        ----------
        target : Tensor or Variable, shape (b, t...)
            Row i may depend only on row i of the source.
        source : Tensor or Variable, shape (b, s...)
        unconnected_gradients : {"none", "zero"}

        Returns
        -------
        Tensor, shape (b, t..., s...)

        Examples
        --------
        >>> import dualflow as df
        >>> x = df.Variable([[1., 2.], [3., 4.]])
        >>> with df.GradientTape() as tape:
        ...     y = x * x
        >>> tape.batch_jacobian(y, x).numpy().tolist()
        [[[2.0, 0.0], [0.0, 4.0]], [[6.0, 0.0], [0.0, 8.0]]]
        """
        y = as_tensor(target)
        if not isinstance(source, TensorBase):
            raise DTypeError(f"batch_jacobian: source is {shown(source)}, expected a tensor")
        if y.ndim < 1 or source.ndim < 1 or y.shape[0] != source.shape[0]:
            raise ShapeError(f"GradientTape.batch_jacobian: target {y.shape} and source "
                             f"{source.shape}, expected the same first dimension")
        one = late("batched_vjp").directions(y.shape[1:], y.dtype)
        rows = broadcast_to(expand_dims(one, 1), (one.shape[0], *y.shape))

        def joined(x: Any, g: Any) -> Tensor:
            return reshape(transpose(g, [1, 0, *range(2, g.ndim)]), (*y.shape, *x.shape[1:]))

        return self._by_rows("batch_jacobian", y, source, rows, unconnected_gradients, joined)

    def report(self) -> str:
        """Describe whether the last gradient was interpreted, and why, or computed by a compiled
        program. Also list the cached tapes, the most recently used first.

        Examples
        --------
        >>> import dualflow as df
        >>> print(df.GradientTape().report().splitlines()[0])
        this tape has not computed a gradient
        """
        return report(self._how)

    def _by_rows(self, caller, y, sources, rows, unconnected, joined):
        zero = wants_zero(unconnected)
        tape = self._start(caller)
        wanted = flatten_tensors(sources)
        check_tensors("source", wanted)
        results = []
        found: list[Any] = [None] * len(wanted)
        if y.size:
            found, self._how = late("batched_vjp").backward_rows(tape, y, rows, wanted)
        for x, g in zip(wanted, found, strict=True):
            if g is None and y.size and not zero:
                results.append(self._missing([y], x))
            else:
                n = rows.shape[0]
                results.append(joined(x, zeros(as_spec(x, (n, *x.shape))) if g is None else g))
        if not self._persistent:
            tape.clear()
        return pack_sequence_as(sources, results)

    def _missing(self, targets: list[Any], x: Any) -> Any:
        """Warn that the gradient with respect to `x` is None, and why; return None."""
        tape = self._tape
        caller = f"{x.name}, a Variable" if isinstance(x, Variable) else "a Tensor"
        head = f"no gradient with respect to {caller} of dtype {x.dtype} and shape {x.shape}: "
        blocked = "; ".join(f"{op} ({why})" for op, why in tape.blocked.items())
        if not x.dtype.is_inexact:
            why = f"its dtype is {x.dtype}; only floating values have gradients"
        elif not tape.tracks(x):
            why = ("the tape does not watch it; call tape.watch(x) before it is used, and use it "
                   "inside the tape's block")
            if isinstance(x, Variable):
                why = "no op read this variable inside the tape's block"
                if not self._auto_watch:
                    why += ", or the tape was created with watch_accessed_variables=False"
                elif not x.trainable:
                    why += ", or it was not watched because trainable=False"
        else:
            integer = [t for t in targets if not t.dtype.is_inexact]
            untracked = [t for t in targets if not tape.tracks(t)]
            if integer:
                why = f"the target has dtype {integer[0].dtype}, which has no gradients"
            elif untracked and len(untracked) == len(targets):
                why = ("the target does not depend on a watched value: it was computed outside the "
                       "tape's block, or while recording was stopped")
            else:
                why = "the target does not depend on it"
            if blocked:
                why += f"; watched values were inputs of ops without gradient: {blocked}"
        warn(head + why, GradientWarning)
        return None


def wants_zero(unconnected: str) -> bool:
    if unconnected not in ("none", "zero"):
        raise InvalidArgumentError(
            f"unconnected_gradients is {unconnected!r}, expected 'none' or 'zero'")
    return unconnected == "zero"


def without_slices(target: Any, given: Any) -> tuple[Any, Any]:
    """Replace IndexedSlices in a target by their values, and its output gradient accordingly. The
    sum of the values equals the sum of the dense tensor; each value has the gradient of its row."""
    if isinstance(target, TensorBase):
        return target, given
    leaves: list[Any] = []

    def values(x: Any) -> Any:
        leaves.append(x)
        return x.values if isinstance(x, IndexedSlices) else x

    plain = rebuild(target, values, lambda x: isinstance(x, IndexedSlices))
    if given is not None and any([isinstance(x, IndexedSlices) for x in leaves]):
        parts = [gather(g, x.indices) if isinstance(x, IndexedSlices) and g is not None else g
                 for x, g in zip(leaves, flatten_up_to(plain, given), strict=True)]
        given = pack_sequence_as(plain, parts)
    return plain, given


def check_tensors(what: str, items: list[Any]) -> None:
    for x in items:
        if not isinstance(x, TensorBase):
            raise DTypeError(f"GradientTape: a {what} is a {type(x).__name__}, "
                             "expected a Tensor or Variable")


def seed_gradients(targets: list[Any], structure: Any, given: Any) -> dict[int, Tensor]:
    """Return the cotangent of each floating target, by id; summed if a target is repeated."""
    if given is None and len(targets) == 1:
        return {tensor_id(targets[0]): ones(targets[0])} if targets[0].dtype.is_inexact else {}
    parts = [None] * len(targets) if given is None else flatten_up_to(structure, given)
    seeds: dict[int, Tensor] = {}
    for y, g in zip(targets, parts, strict=True):
        if not y.dtype.is_inexact:
            continue
        if g is None:
            g = ones(y)
        else:
            g = as_tensor(g)
            if not same_shape(g.shape, y.shape):
                raise ShapeError(f"GradientTape: an output gradient has shape {g.shape}, "
                                 f"its target {y.shape}")
            g = unbroadcast(g, y)
        key = tensor_id(y)
        seeds[key] = seeds[key] + g if key in seeds else g
    return seeds


def as_spec(like: Any, shape: tuple[int, ...]) -> TensorSpec:
    return TensorSpec(shape, like.dtype)
