"""Every public name of compat.v1 appears in a test; dtypes, errors, logging and older names."""

import operator
import re
from pathlib import Path

import pytest

import dualflow as df
import dualflow.compat.v1 as tf

HERE = Path(__file__).parent
SOURCES = "\n".join(p.read_text() for p in sorted(HERE.glob("*.py")))
NAMESPACES = ["initializers", "nn", "math", "losses", "metrics", "train", "errors", "logging",
              "random", "layers", "nn.rnn_cell", "contrib.rnn", "contrib.layers", "contrib.eager",
              "contrib.framework", "app", "gfile", "io", "io.gfile", "test", "debugging", "image",
               "strings", "summary", "saved_model", "python_io"]
PUBLIC = sorted([name for name, value in vars(tf).items() if not name.startswith("_")
                 and not isinstance(value, type(tf))])
SPACES = {space: operator.attrgetter(space)(tf) for space in NAMESPACES}
PUBLIC += [f"{name}.{public}" for name, space in SPACES.items()
           for public in getattr(space, "__all__", vars(space))
           if not public.startswith("_") and not isinstance(getattr(space, public), type(tf))]


@pytest.mark.parametrize("name", PUBLIC)
def test_name_appears_in_a_test(name):
    word = name.rpartition(".")[2]
    assert re.search(rf"\b{re.escape(word)}\b", SOURCES), f"no test in {HERE.name} names {name}"


def test_types():
    assert tf.as_dtype("float") is tf.float32 and tf.as_dtype("double") is tf.double is tf.float64
    assert tf.as_dtype("half") is tf.half is tf.float16 and tf.as_dtype(str) is tf.string
    assert tf.as_dtype(bool) is tf.bool and tf.float32.base_dtype is tf.float32
    assert tf.string == "string" and tf.string != tf.float32
    assert repr(tf.string) == "dualflow.string"
    assert tf.string.base_dtype is tf.string and not tf.string.is_floating
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                 "bfloat16"):
        assert getattr(tf, name).name == name and tf.as_dtype(name) is getattr(tf, name)
    assert isinstance(tf.constant(1.), tf.Tensor) and tf.GradientTape is df.GradientTape
    assert tf.IndexedSlices is df.IndexedSlices and tf.TensorArray is df.TensorArray
    assert tf.print is df.print
    assert isinstance(tf.constant(1.), tf.Tensor) and tf.newaxis is None
    assert isinstance(tf.float32, tf.DType) and len({tf.string, tf.string}) == 1


def test_errors():
    for name in ("InvalidArgumentError", "OutOfRangeError", "ResourceExhaustedError",
                 "UnimplementedError", "CancelledError", "FailedPreconditionError",
                 "NotFoundError", "DataLossError", "AlreadyExistsError", "UnknownError"):
        error = getattr(tf.errors, name)("what happened", None)
        assert isinstance(error, tf.errors.OpError) and error.message == "what happened"
        assert error.op is None and error.node_def is None


def test_logging(caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    assert tf.logging.get_verbosity() == tf.logging.INFO
    for level, log in (("DEBUG", tf.logging.debug), ("INFO", tf.logging.info),
                       ("WARN", tf.logging.warn), ("WARN", tf.logging.warning),
                       ("ERROR", tf.logging.error), ("FATAL", tf.logging.fatal)):
        log("%s is 3", level)
        tf.logging.log(getattr(tf.logging, level), "again")
    logged = [record.getMessage() for record in caplog.records if record.name == "tensorflow"]
    assert logged[::2] == [f"{level} is 3" for level in ("INFO", "WARN", "WARN", "ERROR", "FATAL")]
    tf.logging.set_verbosity(tf.logging.WARN)


def test_older_names(session):
    assert tf.all_variables is tf.global_variables and tf.__version__.split(".")[0] == "1"
    x = tf.reshape(tf.range(8.), [1, 2, 2, 2])
    y = tf.space_to_depth(x, 2)
    assert y.shape.as_list() == [1, 1, 1, 8]
    assert session.run(tf.depth_to_space(y, 2)).tolist() == session.run(x).tolist()
    assert session.run(tf.saturate_cast([-1., 300.], tf.uint8)).tolist() == [0, 255]
