"""Tensors of ONNX files: their data is copied once, from the mapped file into the tensor.

https://onnx.ai/onnx/repo-docs/IR.html, sections on tensors and external tensor data.
"""

from __future__ import annotations

import math
import mmap
import os
import stat
from array import array

from dualflow._core import constant, empty_with_buffer
from dualflow.dtypes import DType
from dualflow.errors import DataLossError, InvalidArgumentError, UnimplementedError
from dualflow.onnx.narrow import NarrowTensor, NarrowType
from dualflow.onnx.package import EXTERNAL, dtype_of, name_of
from dualflow.ops.array.shape import reshape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The fields that may hold the numbers of a dtype; of any other dtype, `int32_data`.
FIELDS = {"float32": "float_data", "float64": "double_data", "int64": "int64_data",
          "uint32": "uint64_data", "uint64": "uint64_data"}
TRUTH = bytes([0] + [1] * 255)
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}            # of array.array, by itemsize


def to_tensor(proto: Any, folder: str | None = None) -> Any:
    """Return a TensorProto as a Tensor or NarrowTensor.

    Parameters
    ----------
    proto : TensorProto
    folder : str or None
        The directory of the model, where external data is; None if the model is not a file.
    """
    dtype = dtype_of(proto.data_type)
    if dtype is None:
        raise UnimplementedError(f"onnx.load: the tensor {proto.name!r} is "
                                 f"{name_of(proto.data_type)}, which has no dtype here")
    shape = tuple(proto.dims)
    if proto.segment:
        raise _damaged(proto, "segments are not supported")
    if isinstance(dtype, NarrowType):
        return _narrow(proto, dtype, shape, folder)
    data = _bytes_of(proto, dtype, folder)
    size = dtype.itemsize * math.prod(shape)
    if len(data) != size or min(shape, default=0) < 0:
        raise _damaged(proto, f"{len(data)} bytes of data for {dtype.name} {shape}, expected "
                              f"{size}")
    tensor, buffer = empty_with_buffer(dtype, shape)
    buffer[:] = bytes(data).translate(TRUTH) if dtype.is_bool else data
    if size > 1 << 16 and isinstance(data.obj, mmap.mmap):
        data.obj.madvise(mmap.MADV_DONTNEED)    # releases the pages that have been read
    return tensor


def to_dense(proto: Any, folder: str | None = None) -> Any:
    """Return a SparseTensorProto as a dense Tensor."""
    import numpy as np

    values, indices = to_tensor(proto.values, folder), to_tensor(proto.indices, folder).numpy()
    try:
        dense = np.zeros(tuple(proto.dims), values.dtype.as_numpy_dtype)
        if indices.ndim == 1:           # flat indices
            dense.reshape(-1)[indices] = values.numpy()
        else:
            dense[tuple(indices.T)] = values.numpy()
    except (LookupError, MemoryError, ValueError) as error:
        raise _damaged(proto.values, str(error)) from None
    return constant(dense, values.dtype)


def _damaged(proto: Any, why: str) -> DataLossError:
    return DataLossError(f"onnx.load: the tensor {proto.name!r} is damaged: {why}")


def _bytes_of(proto: Any, dtype: DType | NarrowType, folder: str | None) -> memoryview:
    """Return the elements of a TensorProto as bytes; those of narrow dtypes may be packed."""
    if proto.data_location == EXTERNAL:
        return _external(proto, folder)
    if "raw_data" in vars(proto):
        return memoryview(proto.raw_data)
    numbers = getattr(proto, FIELDS.get(dtype.name, "int32_data"))
    if not isinstance(numbers, array):  # integers, which stand for the bits of floats
        mask = (1 << 8 * dtype.itemsize) - 1
        numbers = array(CODES[dtype.itemsize], [n & mask for n in numbers])
    return memoryview(numbers).cast("B")


def _narrow(proto: Any, dtype: NarrowType, shape: tuple[int, ...],
            folder: str | None) -> NarrowTensor:
    import numpy as np

    data = np.frombuffer(_bytes_of(proto, dtype, folder), np.uint8)
    n, bits = math.prod(shape), dtype.bits
    if bits == 6 and proto.data_location != EXTERNAL and "raw_data" not in vars(proto):
        bits = 8                        # an element in each number
    if len(data) < -(-n * bits // 8) or min(shape, default=0) < 0:
        raise _damaged(proto, f"{len(data)} bytes of data for {dtype.name} {shape}")
    if bits < 8:                        # packed, lowest bits first
        flat = np.unpackbits(data, count=n * bits, bitorder="little").reshape(n, bits)
        data = np.packbits(flat, axis=1, bitorder="little").reshape(n)
    codes = (data[:n] & (1 << dtype.bits) - 1).view(dtype.as_numpy_dtype)
    return NarrowTensor(reshape(constant(codes.astype(dtype.kept_as.name)), shape), dtype)


# --- files ---


def mapped(path: str) -> Any:
    """Return the bytes of a file, mapped into memory if possible."""
    with open(path, "rb", buffering=0) as file:
        about = os.fstat(file.fileno())
        if not stat.S_ISREG(about.st_mode) or not about.st_size:    # cannot be mapped
            return file.readall()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _external(proto: Any, folder: str | None) -> memoryview:
    """Return the data of a tensor that is stored in another file."""
    if folder is None:
        raise InvalidArgumentError(f"onnx.load: the tensor {proto.name!r} is stored in another "
                                   "file: load the model by its path")
    entries = {entry.key: entry.value for entry in proto.external_data}
    location = entries.get("location", "")
    path = os.path.realpath(os.path.join(folder, location))
    if (os.path.isabs(location) or os.pardir in location.replace("\\", "/").split("/")
            or not path.startswith(os.path.join(os.path.realpath(folder), ""))):
        raise InvalidArgumentError(f"onnx.load: the data of the tensor {proto.name!r} is in "
                                   f"{location!r}, which is not below the directory of the model")
    if not os.path.isfile(path):
        raise InvalidArgumentError(f"onnx.load: the data of the tensor {proto.name!r} is in "
                                   f"{location!r}, which is not a file")
    try:
        data = memoryview(mapped(path))
        start = int(entries.get("offset", 0))
        size = int(entries.get("length", len(data) - start))
    except (OSError, ValueError) as error:
        raise _damaged(proto, f"its external data cannot be read: {error}") from None
    if start < 0 or size < 0 or start + size > len(data):
        raise _damaged(proto, f"bytes {start} to {start + size} of {location!r}, which has "
                              f"{len(data)}")
    return data[start:start + size]
