"""Functions of sparse tensors, under TensorFlow's names."""

from dualflow.ops.sparse.combine import (
    add as add,
    concat as concat,
    reduce_max as reduce_max,
    reduce_sum as reduce_sum,
    softmax as softmax,
)
from dualflow.ops.sparse.convert import (
    eye as eye,
    from_dense as from_dense,
    map_values as map_values,
    to_dense as to_dense,
)
from dualflow.ops.sparse.matmul import sparse_dense_matmul as sparse_dense_matmul
from dualflow.ops.sparse.select import (
    expand_dims as expand_dims,
    reorder as reorder,
    reset_shape as reset_shape,
    reshape as reshape,
    retain as retain,
    slice as slice,
    transpose as transpose,
)
from dualflow.ops.sparse.sparse_tensor import SparseTensor as SparseTensor
