"""Connectionist temporal classification: labels without known positions in time."""

from __future__ import annotations

from dualflow._core import Tensor, apply, as_tensor
from dualflow.dtypes import int64
from dualflow.errors import ShapeError, UnimplementedError
from dualflow.gradient_registry import gradient, no_gradient
from dualflow.ops.array.creation import fill, range as range_, zeros_like
from dualflow.ops.array.join import concat, stack, unstack
from dualflow.ops.array.shape import expand_dims, static_shape, transpose
from dualflow.ops.elementwise.bitwise import logical_and, logical_not
from dualflow.ops.elementwise.cast import cast
from dualflow.ops.elementwise.compare import equal, less, not_equal, where
from dualflow.ops.elementwise.complex import check_real
from dualflow.ops.indexing.gather import tensor_scatter_nd_max
from dualflow.ops.reduction.cumulative import cumsum
from dualflow.ops.reduction.reduce import reduce_max, reduce_sum
from dualflow.ops.reduction.reduce_arg import argmax

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dualflow.ops.types import TensorLike

__all__ = ["ctc_beam_search_decoder", "ctc_greedy_decoder", "ctc_loss"]


def ctc_loss(labels: TensorLike, logits: TensorLike, label_length: TensorLike,
             logit_length: TensorLike, logits_time_major: bool = True, unique: None = None,
             blank_index: int | None = None, name: str | None = None) -> Tensor:
    """Return ``-log(p)`` of the labels, over all alignments with the time steps.

    Parameters
    ----------
    labels : Tensor, int32 or int64, shape (batch, max_labels)
    logits : Tensor, floating, shape (time, batch, classes)
        Or (batch, time, classes), if `logits_time_major` is False.
    label_length : Tensor, int32 or int64, shape (batch,)
        The number of labels of each row.
    logit_length : Tensor, int32 or int64, shape (batch,)
        The number of steps of each row.
    logits_time_major : bool
    unique : None
        Accepted for compatibility with TensorFlow and ignored.
    blank_index : int, optional
        The class of the blank, by default 0; a negative one counts from the end.

    Returns
    -------
    Tensor, dtype of `logits`, shape (batch,); inf where there are too few steps

    Raises
    ------
    OutOfRangeError
        If a label is not a class, or a length is out of range.

    Notes
    -----
    Repeated labels are merged unless a blank separates them. Computed forward and backward in
    float64 logarithms; bit-identical for any thread count. A row of infinite loss has gradient 0.
    There are no second derivatives. Source: A. Graves et al., "Connectionist temporal
    classification", ICML 2006, equations 6 to 16.

    Examples
    --------
    >>> import dualflow as df
    >>> logits = df.zeros([3, 1, 2])
    >>> df.nn.ctc_loss([[1]], logits, [1], [3]).numpy().round(4)
    array([0.2877], dtype=float32)

    Six of the eight paths of three steps decode to 1: all except 0 0 0 and 1 0 1.
    """
    blank = 0 if blank_index is None else blank_index
    return apply("ctc_loss", labels, logits, label_length, logit_length, name=name,
                 blank_index=blank, time_major=bool(logits_time_major))


@gradient("ctc_loss", saves="inputs")
def _(g, y, labels, logits, label_length, logit_length, blank_index, time_major):
    def slope():
        return ctc_loss_grad(labels, logits, label_length, logit_length, g, blank_index,
                             time_major)

    return None, slope, None, None


def ctc_loss_grad(labels: TensorLike, logits: TensorLike, label_length: TensorLike,
                  logit_length: TensorLike, g: TensorLike, blank_index: int,
                  time_major: bool) -> Tensor:
    """Return the gradient of the logits: g (softmax - the share of each class among the paths)."""
    return apply("ctc_loss_grad", labels, logits, label_length, logit_length, g,
                 blank_index=blank_index, time_major=time_major)


@gradient("ctc_loss_grad", saves="none")
def _(g, y, *inputs, **attrs):
    raise UnimplementedError("ctc_loss: it has no second derivatives")


def ctc_greedy_decoder(inputs: TensorLike, sequence_length: TensorLike,
                       merge_repeated: bool = True, blank_index: int | None = None,
                       name: str | None = None) -> tuple[list[Tensor], Tensor]:
    """Return the labels along the most likely path.

    Parameters
    ----------
    inputs : Tensor, floating, shape (time, batch, classes)
        Logits.
    sequence_length : Tensor, int32 or int64, shape (batch,)
        The number of steps of each row.
    merge_repeated : bool
        Whether consecutive equal classes are merged.
    blank_index : int, optional
        The class of the blank, by default the last.

    Returns
    -------
    decoded : list of one Tensor, int64 (batch, time)
        The labels of each row, padded with -1. (TensorFlow's are sparse.)
    neg_sum_logits : Tensor, dtype of `inputs`, (batch, 1)
        Minus the sum of the largest logits.

    Examples
    --------
    >>> import dualflow as df
    >>> best = df.one_hot([[1], [1], [2], [0], [0]], 3)
    >>> decoded, _ = df.nn.ctc_greedy_decoder(best, [5])
    >>> decoded[0].tolist()
    [[1, 0, -1, -1, -1]]
    """
    logits = as_tensor(inputs, None, "ctc_greedy_decoder")
    if logits.ndim != 3:
        raise ShapeError(f"ctc_greedy_decoder: inputs have shape {logits.shape}, expected 3 "
                         "dimensions: (time, batch, classes)")
    n_steps, n_rows, n_classes = static_shape(logits)
    blank = n_classes - 1 if blank_index is None else blank_index
    steps = range_(n_steps, dtype=int64)[:, None]
    lengths = check_real("ctc_greedy_decoder", sequence_length, "sequence_length")
    counts = less(steps, cast(lengths, int64))
    best = argmax(logits, -1)
    kept = logical_and(counts, not_equal(best, blank))
    if merge_repeated:
        before = concat([zeros_like(best[:1]) - 1, best[:-1]], 0)
        kept = logical_and(kept, logical_not(equal(best, before)))
    # Each kept label is written to its position in the row, the others to an extra last column.
    place = where(kept, cumsum(cast(kept, int64), 0) - 1, n_steps)
    row = zeros_like(place) + range_(n_rows, dtype=int64)
    at = stack([transpose(row), transpose(place)], -1)
    empty = fill([n_rows, n_steps + 1], cast(-1, int64))
    found = tensor_scatter_nd_max(empty, at, transpose(where(kept, best, -1)))
    total = reduce_sum(where(counts, reduce_max(logits, -1), 0), 0)
    return [found[:, :n_steps]], expand_dims(-total, 1)


def ctc_beam_search_decoder(inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100,
                            top_paths: int = 1, blank_index: int | None = None,
                            name: str | None = None) -> tuple[list[Tensor], Tensor]:
    """Return the most likely labels over all alignments with the time steps, by beam search.

    Parameters
    ----------
    inputs : Tensor, floating, shape (time, batch, classes)
        Logits.
    sequence_length : Tensor, int32 or int64, shape (batch,)
        The number of steps of each row.
    beam_width : int
        The number of label sequences to keep after each step.
    top_paths : int, at most `beam_width`
        The number of sequences to return.
    blank_index : int, optional
        The class of the blank, by default the last; a negative one counts from the end.

    Returns
    -------
    decoded : list of `top_paths` Tensors, int64 (batch, time)
        The labels of each row, padded with -1, most likely first. (TensorFlow's are sparse.)
    log_probabilities : Tensor, dtype of `inputs`, (batch, top_paths)
        -inf where there are fewer sequences.

    Raises
    ------
    OutOfRangeError
        If a length is not in 0 to time.

    Notes
    -----
    The probability of a sequence is summed over the alignments in the beam; with a wide enough beam
    it is ``exp(-ctc_loss)``. Of equally likely sequences the first found is kept. Computed in
    float64 logarithms; bit-identical for any thread count. No gradient. Source: A. Graves,
    "Sequence transduction with recurrent neural networks", 2012, algorithm 1.

    Examples
    --------
    Blank is the best class of both steps, but the labels [0] are likelier than no labels:

    >>> import dualflow as df
    >>> decoded, log_p = df.nn.ctc_beam_search_decoder(df.math.log([[[.4, .6]], [[.4, .6]]]), [2])
    >>> decoded[0].tolist(), round(df.exp(log_p).item(), 2)
    ([[0, -1]], 0.64)
    """
    paths, log_p = apply("ctc_beam_search", inputs, sequence_length, name=name,
                         blank_index=-1 if blank_index is None else blank_index,
                         beam_width=beam_width, top_paths=top_paths)
    return list(unstack(paths)), log_p


no_gradient("ctc_beam_search", why="integer result, selected by comparisons")
