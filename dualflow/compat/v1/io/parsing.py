"""Numbers from text: records, lines and bytes parsed before each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dualflow as df
from dualflow import io
from dualflow.compat.v1.default_graph import recorded, runs_at_once
from dualflow.compat.v1.dtypes import as_dtype, float32, int64, string
from dualflow.compat.v1.shapes import TensorShape
from dualflow.compat.v1.text_ops import text_of
from dualflow.compat.v1.text_values import computed
from dualflow.io.features import FixedLenSequenceFeature, VarLenFeature
from dualflow.ops.sparse.sparse_tensor import SparseTensor

__all__ = ["decode_csv", "decode_raw", "parse_example", "parse_single_example",
           "string_to_number"]


def plain(x: Any) -> Any:
    """Return a tensor of text as arrays of Python bytes, and any other tensor unchanged."""
    return x.numpy() if hasattr(x, "numpy") and not isinstance(x, df.Tensor) else x


def parsed(parse: Any, serialized: Any, features: Mapping[str, Any], rows: Sequence[Any]) -> Any:
    """Return the features as tensors of the graph; `rows` are the leading sizes."""
    specs = []
    for spec in features.values():
        if isinstance(spec, VarLenFeature):     # the indices, values and sizes of a sparse tensor
            rank = len(rows) + 1
            dtype = as_dtype(spec.dtype)
            specs += [(int64, [None, rank]), (dtype, [None]), (int64, [rank])]
            continue
        length = [None] if isinstance(spec, FixedLenSequenceFeature) else []
        specs.append((as_dtype(spec.dtype), [*rows, *length, *TensorShape(spec.shape)]))
    names = list(features)

    def values(data: Any) -> list[Any]:
        found = parse(data, features)
        made: list[Any] = []
        for name in names:
            x = found[name]
            made += [x.indices, x.values, x.dense_shape] if isinstance(x, SparseTensor) else [
                plain(x)]
        return made

    made = iter(computed([text_of(serialized)], specs, "ParseExample", values))
    return {name: SparseTensor(next(made), next(made), next(made))
            if isinstance(features[name], VarLenFeature) else next(made) for name in names}


@recorded
def parse_single_example(serialized: Any, features: Mapping[str, Any], name: str | None = None,
                         example_names: Any = None) -> dict[str, Any]:
    """Parse one serialized Example into a dict of tensors.

    Parameters
    ----------
    serialized : text tensor, shape ()
    features : dict of FixedLenFeature, FixedLenSequenceFeature or VarLenFeature
    name, example_names : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> ints = tf.train.Feature(int64_list=tf.train.Int64List(value=[3]))
    >>> example = tf.train.Example(features=tf.train.Features(feature={"n": ints}))
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     found = tf.parse_single_example(example.SerializeToString(),
    ...                                     {"n": tf.FixedLenFeature([], tf.int64)})
    ...     print(sess.run(found["n"] + 1))
    4
    """
    if runs_at_once():
        return io.parse_single_example(serialized, features)
    return parsed(io.parse_single_example, serialized, features, [])


@recorded
def parse_example(serialized: Any, features: Mapping[str, Any], name: str | None = None,
                  example_names: Any = None) -> dict[str, Any]:
    """Parse a vector of serialized Examples into a dict of tensors.

    Parameters
    ----------
    serialized : text tensor, shape (n,)
    features : dict of FixedLenFeature, FixedLenSequenceFeature or VarLenFeature
    name, example_names : ignored

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     found = tf.parse_example([b"", b""], {"n": tf.FixedLenFeature([], tf.int64, 7)})
    ...     print(sess.run(found["n"]))
    [7 7]
    """
    if runs_at_once():
        return io.parse_example(serialized, features)
    x = text_of(serialized)
    return parsed(io.parse_example, x, features, x.shape.as_list()[:1] or [None])


@recorded
def decode_csv(records: Any, record_defaults: Sequence[Any], field_delim: str = ",",
               use_quote_delim: bool = True, name: str | None = None, na_value: str = "",
               select_cols: Sequence[int] | None = None) -> list[Any]:
    """Return the fields of lines of comma-separated values, one tensor per column.

    Parameters
    ----------
    records : text tensor
    record_defaults : list of tensor, list or dtype
        Value of an empty field and dtype of each column; a dtype or an empty list for a column
        without empty fields.
    field_delim : str, default ","
    use_quote_delim : bool, default True
        Whether quotes enclose fields.
    na_value : str, default ""
        Further text of an empty field.
    select_cols : list of int, optional
        Indices of the columns to return.

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.decode_csv("3,0.5", [[0], [1.]])))
    [np.int32(3), np.float32(0.5)]
    """
    options = field_delim, use_quote_delim, na_value, select_cols
    if runs_at_once():
        return io.decode_csv(records, record_defaults, *options)
    x = text_of(records)
    kinds = [dtype_of(default) for default in record_defaults]
    return computed([x], [(dtype, x.shape) for dtype in kinds], "DecodeCSV", lambda lines: [
        plain(column) for column in io.decode_csv(lines, record_defaults, *options)])


def dtype_of(default: Any) -> Any:
    """Return the dtype of a column."""
    if isinstance(default, list | tuple | str | bytes):
        items = [default] if isinstance(default, str | bytes) else list(default)
        if items and isinstance(items[0], str | bytes):
            return string
        return df.constant(items or 0., None).dtype if items else float32
    return as_dtype(getattr(default, "dtype", default))


@recorded
def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True,
               name: str | None = None) -> Any:
    """Return the bytes of each text as a vector of numbers.

    Parameters
    ----------
    input_bytes : text tensor
    out_type : dtype
    little_endian : bool, default True

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.decode_raw(b"abc", tf.uint8)))
    [97 98 99]
    """
    if runs_at_once():
        return io.decode_raw(input_bytes, out_type, little_endian)
    x = text_of(input_bytes)
    return computed([x], [(as_dtype(out_type), [*x.shape, None])], "DecodeRaw",
                    lambda data: [io.decode_raw(data, out_type, little_endian)])[0]


@recorded
def string_to_number(string_tensor: Any, out_type: Any = float32, name: str | None = None) -> Any:
    """Convert text to numbers.

    Parameters
    ----------
    string_tensor : text tensor
    out_type : dtype, default float32

    Examples
    --------
    >>> import dualflow.compat.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(sess.run(tf.string_to_number(["1", "2.5"])))
    [1.  2.5]
    """
    if runs_at_once():
        return df.strings.to_number(string_tensor, out_type)
    x = text_of(string_tensor)
    return computed([x], [(as_dtype(out_type), x.shape)], "StringToNumber",
                    lambda data: [df.strings.to_number(data, out_type)])[0]
