"""Text from numbers and numbers from text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dualflow._core import Tensor, TensorBase, as_tensor
from dualflow._util.arguments import integer, shown
from dualflow.dtypes import as_dtype, float32, int64
from dualflow.errors import DTypeError, InvalidArgumentError
from dualflow.ops.display import values_text
from dualflow.ops.string_tensor import StringTensor, elementwise, string, whole
from dualflow.ops.strings.fingerprint import fingerprint64, murmur64, siphash64
from dualflow.ops.types import DTypeLike

__all__ = ["as_string", "format", "to_hash_bucket", "to_hash_bucket_fast",
           "to_hash_bucket_strong", "to_number"]

LONGEST = 1 << 16       # characters of a number


def number_format(precision: int, scientific: bool, shortest: bool, width: int,
                  fill: str) -> Callable[[Any], bytes]:
    """Return the function of `as_string` from a number to its text."""
    digits = integer(precision, "as_string: precision")
    width = integer(width, "as_string: width")
    if max(digits, width) > LONGEST:
        raise InvalidArgumentError(f"as_string: precision is {digits} and width {width}, expected "
                                   f"at most {LONGEST}")
    form = f".{6 if digits < 0 else digits}{'e' if scientific else 'g' if shortest else 'f'}"

    def text_of(value: Any) -> bytes:
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, bool):
            found = "true" if value else "false"
        elif isinstance(value, complex):
            found = f"({value.real:{form}},{value.imag:{form}})"
        else:
            found = str(value) if isinstance(value, int) else f"{float(value):{form}}"
        return (found.zfill(width) if fill == "0" else found.rjust(width, fill or " ")).encode()

    return text_of


def as_string(input: Any, precision: int = -1, scientific: bool = False, shortest: bool = False,
              width: int = -1, fill: str = "", name: str | None = None) -> StringTensor:
    """Convert numbers to text.

    Parameters
    ----------
    input : Tensor
    precision : int, optional
        Number of digits after the decimal point; by default 6.
    scientific, shortest : bool, default False
        Whether to use exponent notation, or the shorter of both notations.
    width : int, optional
        Minimal length of each text.
    fill : str, default " "
        Character for padding on the left.

    Raises
    ------
    InvalidArgumentError
        If the precision or the width is above 65,536.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.as_string([3., 0.5], precision=1).tolist()
    [b'3.0', b'0.5']
    """
    import numpy as np

    one = number_format(precision, scientific, shortest, width, fill)
    x = as_tensor(input, None, "as_string")
    made: list[StringTensor] = whole("as_string", lambda array: [np.asarray(
        np.frompyfunc(one, 1, 1)(np.asarray(array)), object)], [x], [(string, tuple(x.shape))])
    return made[0]


def format(template: str, inputs: Any, placeholder: str = "{}", summarize: int | None = 3,
           name: str | None = None) -> StringTensor:
    """Fill the placeholders of a template with values in the format of `dualflow.print`.

    Parameters
    ----------
    template : str
    inputs : Tensor, Python value, or list or tuple of them
        One value per placeholder.
    placeholder : str, default "{}"
    summarize : int, default 3
        Number of elements to print at both ends of a dimension.

    Raises
    ------
    InvalidArgumentError
        If the number of placeholders differs from the number of values.
    TracedValueError
        If a value is traced; `dualflow.print` prints it in each run.

    Examples
    --------
    >>> import dualflow as df
    >>> print(df.strings.format("loss {} after {}", (df.constant(0.5), 3)))
    loss 0.5 after 3
    """
    for what, given in (("template", template), ("placeholder", placeholder)):
        if not isinstance(given, str):
            raise DTypeError(f"format: {what} is {shown(given)}, expected a str")
    if not placeholder:
        raise InvalidArgumentError("format: placeholder is '', expected at least one character")
    values = list(inputs) if isinstance(inputs, list | tuple) else [inputs]
    parts = template.split(placeholder)
    if len(parts) != len(values) + 1:
        raise InvalidArgumentError(f"format: {shown(template)} has {len(parts) - 1} placeholders, "
                                   f"got {len(values)} values")
    texts = [values_text(as_tensor(x.numpy()), summarize) if isinstance(x, TensorBase) else str(x)
             for x in values]
    return StringTensor("".join([a + b for a, b in zip(parts, [*texts, ""], strict=True)]))


def to_number(input: Any, out_type: DTypeLike = float32, name: str | None = None) -> Tensor:
    """Parse texts as numbers.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    out_type : dtype, default float32

    Raises
    ------
    InvalidArgumentError
        If a text is not a number, or the number does not fit the dtype.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.to_number(["1.5", "-2"]).tolist()
    [1.5, -2.0]
    """
    dtype = as_dtype(out_type)
    if dtype.is_complex:
        raise DTypeError(f"to_number: out_type is {dtype.name}, expected a real dtype")
    parse: Any = float if dtype.is_floating else int

    def read(x: bytes) -> Any:
        try:
            if b"_" in x:                   # Python's syntax only
                raise ValueError
            value = parse(x)
        except ValueError:
            value = None
        if value is None or (parse is int and not dtype.min <= value <= dtype.max):
            raise InvalidArgumentError(f"to_number: got {shown(x)}, expected a number of dtype "
                                       f"{dtype.name}")
        return value

    made: Tensor = elementwise("to_number", read, [input], dtype)
    return made


def _bucket(hashed: Callable[[bytes], int], input: Any, num_buckets: int, op: str) -> Tensor:
    n = integer(num_buckets, f"{op}: num_buckets")
    if n < 1:
        raise InvalidArgumentError(f"{op}: num_buckets is {n}, expected at least 1")
    made: Tensor = elementwise(op, lambda x: hashed(x) % n, [input], int64)
    return made


def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Return the hash of each text, modulo `num_buckets`, as int64.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    num_buckets : int
        At least 1.

    Notes
    -----
    The hash is FarmHash's Fingerprint64, as in TensorFlow.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.to_hash_bucket_fast(["Hello", "TensorFlow", "2.x"], 3).tolist()
    [0, 2, 2]
    """
    return _bucket(fingerprint64, input, num_buckets, "to_hash_bucket_fast")


def to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """Return another hash of each text, modulo `num_buckets`, as int64.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    num_buckets : int
        At least 1.

    Notes
    -----
    The hash is MurmurHash64A with TensorFlow's seed. `to_hash_bucket_fast` distributes better.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.to_hash_bucket(["Hello", "TensorFlow", "2.x"], 3).tolist()
    [2, 0, 1]
    """
    return _bucket(murmur64, input, num_buckets, "to_hash_bucket")


def to_hash_bucket_strong(input: Any, num_buckets: int, key: Sequence[int],
                          name: str | None = None) -> Tensor:
    """Return a keyed hash of each text, modulo `num_buckets`, as int64.

    Parameters
    ----------
    input : StringTensor, str or nested lists
    num_buckets : int
        At least 1.
    key : sequence of two int
        Without the key, texts with equal hashes are hard to find.

    Notes
    -----
    The hash is SipHash-2-4, as in TensorFlow.

    Raises
    ------
    InvalidArgumentError
        If `key` does not have two numbers.

    Examples
    --------
    >>> import dualflow as df
    >>> df.strings.to_hash_bucket_strong(["Hello", "TF"], 3, [1, 2]).tolist()
    [2, 0]
    """
    found = [integer(k, "to_hash_bucket_strong: key") for k in key]
    if len(found) != 2:
        raise InvalidArgumentError(f"to_hash_bucket_strong: key has {len(found)} numbers, "
                                   "expected 2")
    return _bucket(lambda x: siphash64(x, (found[0], found[1])), input, num_buckets,
                   "to_hash_bucket_strong")
