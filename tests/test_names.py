"""The most used TensorFlow names: at least 90 % of them exist, and each works."""

import copy
import logging
import pickle

import numpy as np
import pytest

import dualflow as df
from tests.tensorflow_names import MISSING, NAMES

PATHS = [f"{space}.{name}".lstrip(".") for space, names in NAMES.items() for name in names.split()]
ABSENT = set(MISSING.split())
X, V = df.constant([1., 4.]), df.Variable([1., 2.])


def found(path):
    thing = df
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("path", [p for p in PATHS if p not in ABSENT])
def test_name_exists(path):
    assert found(path) is not None or path == "newaxis"


def test_at_most_a_tenth_is_absent():
    assert set(PATHS) >= ABSENT and len(ABSENT) <= 0.1 * len(PATHS)


@pytest.mark.parametrize("path", sorted(ABSENT))
def test_absent_names_raise_attribute_error(path):
    with pytest.raises(AttributeError):
        found(path)


WORKS = {                            # calls of names that have no other test, and their results
    "bool": (lambda: df.zeros([1], df.bool).tolist(), [False]),
    "newaxis": (lambda: X[df.newaxis].shape, (1, 2)),
    "is_tensor": (lambda: [df.is_tensor(x) for x in (X, V, 1.0)], [True, True, False]),
    "Operation": (lambda: isinstance(df.Operation, type), True),
    "device": (lambda: inside(df.device("/CPU:0"), lambda: 1), 1),
    "control_dependencies": (lambda: inside(df.control_dependencies([X]), lambda: 1), 1),
    "group": (lambda: df.group(X, [V]), None),
    "no_op": (lambda: df.no_op(), None),
    "get_static_value": (lambda: df.get_static_value(X).tolist(), [1, 4]),
    "get_logger": (lambda: df.get_logger() is logging.getLogger("dualflow"), True),
    "timestamp": (lambda: df.timestamp().dtype, df.float64),
    "constant_initializer": (lambda: df.constant_initializer([1, 2])([2]).tolist(), [1, 2]),
    "zeros_initializer": (lambda: df.zeros_initializer()([1], df.int32).tolist(), [0]),
    "ones_initializer": (lambda: df.ones_initializer()([1]).tolist(), [1]),
    "random_normal_initializer": (lambda: df.random_normal_initializer(0., 1., 3)([2]).shape, (2,)),
    "random_uniform_initializer": (lambda: df.random_uniform_initializer(1., 1.)([1]).tolist(),
                                   [1]),
    "sequence_mask": (lambda: df.sequence_mask([0, 2]).tolist(), [[False] * 2, [True] * 2]),
    "dynamic_partition": (lambda: [p.tolist() for p in df.dynamic_partition(X, [1, 1], 3)],
                          [[], [1, 4], []]),
    "broadcast_dynamic_shape": (lambda: df.broadcast_dynamic_shape([2, 1], [4, 1, 3]).tolist(),
                                [4, 2, 3]),
    "Assert": (lambda: df.Assert(X > 0., ["x", X]), None),
    "assert_equal": (lambda: df.assert_equal(X, X), None),
    "VariableAggregation": (lambda: df.Variable(
        1., aggregation=df.VariableAggregation.SUM,
        synchronization=df.VariableSynchronization.ON_READ).item(), 1),
    "linalg.matrix_transpose": (lambda: df.linalg.matrix_transpose([[1, 2]]).tolist(), [[1], [2]]),
    "linalg.adjoint": (lambda: df.linalg.adjoint([[1, 2]]).tolist(), [[1], [2]]),
    "linalg.tensor_diag_part": (lambda: df.linalg.tensor_diag_part(df.eye(2)).tolist(), [1, 1]),
    "config": (lambda: [len(df.config.list_logical_devices(kind)) for kind in (None, "CPU", "TPU")],
               [1, 1, 0]),
    "debugging.set_log_device_placement": (lambda: df.debugging.set_log_device_placement(False),
                                           None),
    "nn.compute_average_loss": (lambda: df.nn.compute_average_loss(X, [2., 1.], 3).item(), 2),
    "nn.scale_regularization_loss": (lambda: df.nn.scale_regularization_loss(X).item(), 5),
    "version": (lambda: df.version.VERSION, df.__version__),
    "dtypes": (lambda: [df.as_dtype(n).name for n in ("half", "float", "double", "int", "bool")],
               ["float16", "float32", "float64", "int32", "bool"]),
    "dtype sizes": (lambda: (df.int8.min, df.int8.max, df.float64.size, df.half.max),
                    (-128, 127, 8, 65504)),
    "rgb_to_grayscale": (lambda: df.image.rgb_to_grayscale(
        df.constant([[[255, 255, 255]]], df.uint8)).tolist(), [[[255]]]),
    "gather": (lambda: df.gather(X, [1], True, 0).tolist(), [4]),
    "matmul": (lambda: df.matmul(X[None], X[None], adjoint_b=True).tolist(), [[17]]),
    "clip_by_norm": (lambda: df.clip_by_norm([[3., 4.], [.3, .4]], 1., [1]).numpy().round(
        4).tolist(), np.float32([[.6, .8], [.3, .4]]).tolist()),
    "embedding_lookup": (lambda: df.nn.embedding_lookup([[3., 4.]], [0], 1.).numpy().round(
        4).tolist(), np.float32([[.6, .8]]).tolist()),
    "convert_to_tensor": (lambda: df.convert_to_tensor([1, 2], dtype_hint=df.float64).dtype,
                          df.float64),
    "swish": (lambda: df.nn.swish([1.], 2.).numpy().round(4).tolist(), [np.float32(0.8808)]),
    "top_k": (lambda: df.math.top_k(X, 1, index_type=df.int64).indices.dtype, df.int64),
}


def inside(scope, function):
    with scope:
        return function()


@pytest.mark.parametrize("name", WORKS)
def test_name_works(name):
    call, want = WORKS[name]
    got = call()
    assert got == want if want is not None else got is None


def test_inside_a_traced_function():
    seen = []

    @df.function
    def f(x):
        seen.append((df.executing_eagerly(), df.is_symbolic_tensor(x), df.get_static_value(x)))
        with df.init_scope():
            seen.append(df.executing_eagerly())
        with df.control_dependencies([df.group(x)]), df.device("/CPU:0"):
            df.Assert(df.reduce_all(x > 0.), ["positive", x])
            mask = df.sequence_mask(df.cast(x, df.int32), 5, df.float32)
        return mask, df.broadcast_dynamic_shape(df.shape(mask), [1]), df.timestamp(), *\
            df.dynamic_partition(x, [1, 0], 2)

    mask, shape, now, *parts = f(X)
    assert seen == [(False, True, None), True] and df.executing_eagerly()
    assert mask.tolist() == [[1, 0, 0, 0, 0], [1, 1, 1, 1, 0]] and shape.tolist() == [2, 5]
    assert f(X)[2].item() > now.item() and [p.tolist() for p in parts] == [[4], [1]]
    with pytest.raises(df.errors.InvalidArgumentError, match="positive"):
        f(-X)


def test_control_dependencies_of_a_graph():
    g = df.Graph()
    with g.as_default():
        x = df.identity(1.)
        with df.control_dependencies([x]):
            y = df.identity(x)
        both = df.group(x, y)
    assert y.op.control_inputs == (x.op,) and set(both.control_inputs) == {x.op, y.op}


def test_invalid_arguments_raise():
    with pytest.raises(df.errors.InvalidArgumentError, match="do not broadcast"):
        df.broadcast_dynamic_shape([2], [3])
    with pytest.raises(ValueError, match="do not broadcast"):
        df.broadcast_static_shape([2], [3])
    with pytest.raises(df.errors.InvalidArgumentError, match="transpose_a and adjoint_a"):
        df.matmul(df.eye(2), df.eye(2), transpose_a=True, adjoint_a=True)
    with pytest.raises(df.errors.ShapeError, match="initial value"):
        df.Variable([1.], shape=[2])
    with pytest.raises(TypeError, match="keyword"):
        df.group(X, names="a")
    with pytest.raises(df.errors.UnimplementedError, match="ThreeFry is not implemented"):
        df.random.stateless_uniform([1], [1, 2], alg="threefry")
    with pytest.raises(df.errors.InvalidArgumentError, match="alg is 'sfc'"):
        df.random.stateless_uniform([1], [1, 2], alg="sfc")
    cpu, = df.config.list_physical_devices()
    with pytest.raises(df.errors.InvalidArgumentError, match="cannot be partitioned"):
        df.config.set_logical_device_configuration(
            cpu, [df.config.LogicalDeviceConfiguration()] * 2)


def test_shapes_of_tensors_have_the_attributes_of_tensor_shapes():
    x = df.zeros([2, 3])
    for shape in (x.shape, df.Variable(x).shape, df.TensorSpec([2, 3]).shape):
        assert shape == (2, 3) and isinstance(shape, tuple) and hash(shape) == hash((2, 3))
        assert shape.as_list() == [2, 3] and shape.rank == shape.ndims == 2
        assert shape.num_elements() == 6 and shape.is_compatible_with([None, 3])
        assert shape[1:].as_list() == [3] and shape[-1] == 3 and repr(shape) == "(2, 3)"
        assert shape[:1] + [4] == (2, 4) and (shape + (4,)).rank == 3 and [1] + shape == (1, 2, 3)
        assert pickle.loads(pickle.dumps(shape)) == copy.deepcopy(shape) == (2, 3)
        assert df.zeros(shape).shape == df.reshape(x, shape).shape == (2, 3)
        with pytest.raises(AttributeError, match="dimensions"):
            print(shape.dimensions)
    assert df.TensorSpec([None, 3]).shape.as_list() == [None, 3]
    seen = []

    @df.function
    def f(x):
        kept = df.boolean_mask(x, x > 0)
        seen.append((x.shape.as_list(), kept.shape.as_list()))
        return df.reshape(x, x.shape[:1] + [-1])

    for n in (2, 3):
        assert f(df.ones([n, 2, 2])).shape == (n, 4)
    assert seen[0] == ([2, 2, 2], [None])


def test_tensor_shapes():
    shape = df.TensorShape([None, 3])
    assert shape.merge_with([2, None]) == (2, 3) and shape.most_specific_compatible_shape(
        [2, 3]) == shape
    assert shape + [1] == (None, 3, 1) and shape.concatenate([1]).rank == 3
    assert df.TensorShape(None).rank is None and not df.TensorShape(None).is_fully_defined()
    assert shape.is_subtype_of(None) and not df.TensorShape(None).is_subtype_of(shape)
    assert repr(shape) == "TensorShape([None, 3])" and str(df.TensorShape(2)) == "(2,)"
    assert df.zeros(df.TensorShape([2])).get_shape().as_list() == [2]
    assert V.get_shape() == (2,) and df.TensorShape(None).with_rank(2) == (None, None)
    for fails in (lambda: shape.with_rank(3), lambda: shape.assert_is_fully_defined(),
                  lambda: shape.merge_with([1]), lambda: shape.assert_is_compatible_with([1, 4]),
                  lambda: shape.with_rank_at_least(3), lambda: shape.with_rank_at_most(1),
                  lambda: df.TensorShape(None).as_list()):
        with pytest.raises(ValueError):
            fails()
    seen = []
    df.function(lambda x: seen.append(x.get_shape().as_list()),
                input_signature=[df.TensorSpec([None, 2])])(df.zeros([1, 2]))
    assert seen == [[None, 2]]


def test_an_index_out_of_range_is_an_invalid_argument():
    with pytest.raises(df.errors.InvalidArgumentError, match="gather"):
        df.gather(X, [7])
    with pytest.raises(IndexError):
        df.gather(X, [7])
