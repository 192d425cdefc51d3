"""Parsing of serialized examples into tensors. Text is constant, so parsing runs in Python at once;
in a traced function the results are constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dualflow._util.arguments import shown
from dualflow.errors import DTypeError, InvalidArgumentError, ShapeError
from dualflow.io.features import Selection
from dualflow.io.message import parsed
from dualflow.io.ragged_feature import RaggedFeature, RaggedSelection
from dualflow.ops.string_tensor import StringTensor, text

__all__ = ["parse_example", "parse_single_example", "parse_single_sequence_example"]


def parse_single_example(serialized: Any, features: Mapping[str, Any],
                         example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """Return the features of one serialized `dualflow.train.Example`.

    Parameters
    ----------
    serialized : bytes, or scalar StringTensor
    features : dict of str to FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or \
RaggedFeature
    example_names
        Accepted for compatibility with TensorFlow; no effect.

    Returns
    -------
    dict of str to Tensor, StringTensor, SparseTensor or RaggedTensor
        float32 or int64 tensors, and StringTensors, of the shape of each feature; a
        FixedLenSequenceFeature has the number of rows in front.

    Raises
    ------
    InvalidArgumentError
        If the bytes are not an Example, or a feature is missing or has a different number of
        values.
    DTypeError
        If a feature has values of a different kind.

    Examples
    --------
    >>> import dualflow as df
    >>> ints = df.train.Int64List(value=[1, 2])
    >>> example = df.train.Example(features=df.train.Features(
    ...     feature={"a": df.train.Feature(int64_list=ints)}))
    >>> found = df.io.parse_single_example(example.SerializeToString(), {
    ...     "a": df.io.FixedLenFeature([2], df.int64),
    ...     "b": df.io.FixedLenFeature([], df.float32, default_value=0.5)})
    >>> found["a"].tolist(), found["b"].item()
    ([1, 2], 0.5)
    """
    caller = "parse_single_example"
    chosen = selections(features, caller)
    example = parsed("Example", scalar(serialized, caller), caller)
    return context(by_name(example.features.feature), chosen)


def parse_example(serialized: Any, features: Mapping[str, Any], example_names: Any = None,
                  name: str | None = None) -> dict[str, Any]:
    """Return the features of a batch of serialized examples.

    Parameters
    ----------
    serialized : StringTensor, or list of bytes
        One dimension; a single example is parsed as `parse_single_example` does.
    features : dict of str to FixedLenFeature, FixedLenSequenceFeature, VarLenFeature or \
RaggedFeature
    example_names
        Accepted for compatibility with TensorFlow; no effect.

    Returns
    -------
    dict of str to Tensor, StringTensor, SparseTensor or RaggedTensor
        The size of the batch is the first dimension. Rows of a FixedLenSequenceFeature are padded
        to the longest example of the batch.

    Raises
    ------
    InvalidArgumentError
        If the bytes are not an Example, or a feature is missing or has a different number of
        values.
    DTypeError
        If a feature has values of a different kind.

    Examples
    --------
    >>> import dualflow as df
    >>> data = [df.train.Example(features=df.train.Features(feature={"a": df.train.Feature(
    ...     int64_list=df.train.Int64List(value=v))})).SerializeToString() for v in ([1], [2, 3])]
    >>> spec = df.io.FixedLenSequenceFeature([], df.int64, allow_missing=True)
    >>> df.io.parse_example(data, {"a": spec})["a"].tolist()
    [[1, 0], [2, 3]]
    """
    caller = "parse_example"
    batch = texts(serialized, caller)
    if batch.ndim == 0:
        return parse_single_example(batch, features)
    if batch.ndim != 1:
        raise ShapeError(f"{caller}: serialized has shape {batch.shape}, expected one dimension")
    chosen = selections(features, caller)
    found: dict[str, list[Any]] = {key: [] for key in chosen}
    for k, data in enumerate(batch.tolist()):
        try:
            features_of = by_name(parsed("Example", data, caller).features.feature)
            for key, one in chosen.items():
                found[key].append(one.read(features_of))
        except (InvalidArgumentError, DTypeError) as error:
            error.add_note(f"in example {k} of the batch")
            raise
    return {key: one.batch(found[key]) for key, one in chosen.items()}


def parse_single_sequence_example(serialized: Any,
                                  context_features: Mapping[str, Any] | None = None,
                                  sequence_features: Mapping[str, Any] | None = None,
                                  example_name: Any = None, name: str | None = None
                                  ) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the features of one serialized `dualflow.train.SequenceExample`.

    Parameters
    ----------
    serialized : bytes, or scalar StringTensor
    context_features : dict, optional
        Features of the whole example, described as for `parse_single_example`.
    sequence_features : dict of str to FixedLenSequenceFeature, optional
        Features of the steps: a tensor with the number of steps as first dimension.
    example_name
        Accepted for compatibility with TensorFlow; no effect.

    Returns
    -------
    tuple of two dicts
        Features of the whole example, and of the steps.

    Raises
    ------
    InvalidArgumentError
        If the bytes are not a SequenceExample, or a feature is missing or has a different number of
        values.
    DTypeError
        If a feature has values of a different kind.

    Examples
    --------
    >>> import dualflow as df
    >>> example = df.train.SequenceExample()
    >>> example.context.feature["size"].int64_list.value.append(2)
    >>> steps = example.feature_lists.feature_list["x"].feature
    >>> for x in (0.5, 1.5):
    ...     steps.append(df.train.Feature(float_list=df.train.FloatList(value=[x])))
    >>> context, steps = df.io.parse_single_sequence_example(
    ...     example.SerializeToString(), {"size": df.io.FixedLenFeature([], df.int64)},
    ...     {"x": df.io.FixedLenSequenceFeature([], df.float32)})
    >>> context["size"].item(), steps["x"].tolist()
    (2, [0.5, 1.5])
    """
    caller = "parse_single_sequence_example"
    whole = selections(context_features or {}, caller)
    steps = selections(sequence_features or {}, caller)
    example = parsed("SequenceExample", scalar(serialized, caller), caller)
    lists = by_name(example.feature_lists.feature_list)
    made: dict[str, Any] = {}
    for key, one in steps.items():
        if one.sparse or not one.many:
            kind = type((sequence_features or {})[key]).__name__
            raise DTypeError(f"{one.what} is a {kind}, expected a "
                             "FixedLenSequenceFeature for the steps of a sequence")
        if key not in lists and not one.allow_missing:
            raise InvalidArgumentError(f"{one.what} is missing in the example and does not allow "
                                       "missing values")
        parts = [one.row(feature) for feature in lists[key].feature] if key in lists else []
        made[key] = one.tensor(parts, (len(parts), *one.shape))
    return context(by_name(example.context.feature), whole), made


def context(features: Mapping[str, Any], chosen: Mapping[str, Selection]) -> dict[str, Any]:
    """Return the tensors of one example."""
    return {key: one.single(one.read(features)) for key, one in chosen.items()}


def by_name(entries: Any) -> dict[str, Any]:
    """Return the values of a map; of equal keys, the last one."""
    return {entry.key: entry.value for entry in entries}


def selections(features: Any, caller: str) -> dict[str, Selection]:
    """Return the validated descriptions of features."""
    if not isinstance(features, Mapping):
        raise DTypeError(f"{caller}: features is {shown(features)}, expected a dict")
    return {key: (RaggedSelection if isinstance(x, RaggedFeature) else Selection)(key, x, caller)
            for key, x in features.items()}


def texts(value: Any, caller: str) -> StringTensor:
    """Return text; an empty list is no text in particular, and has no examples."""
    if isinstance(value, list) and not value:
        import numpy as np

        return StringTensor(np.empty(0, object))
    return text(value, caller)


def scalar(value: Any, caller: str) -> bytes:
    """Return the bytes of a scalar string."""
    found = text(value, caller)
    if found.ndim:
        raise ShapeError(f"{caller}: serialized has shape {found.shape}, expected a scalar; "
                         "parse_example parses batches")
    return bytes(found.numpy())
