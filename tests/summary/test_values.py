"""Summaries of values, read back with TensorBoard's own reader."""

import io
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import dualflow as df
from tests.summary.events import numbers, read, tensors
from tests.threads.child import run


@pytest.fixture
def writer(tmp_path):
    with df.summary.create_file_writer(tmp_path / "run") as made:
        yield made


@pytest.fixture
def logdir(tmp_path):
    return tmp_path / "run"


def both(f):
    """Return a function, and the function traced."""
    return [f, df.function(f)]


def test_scalar(writer, logdir):
    with writer.as_default():
        assert df.summary.scalar("loss", .5, step=3).item() is True
        assert df.summary.scalar("count", df.constant(7), step=df.constant(4)).item() is True
        df.summary.scalar("wide", df.constant(.1, df.float64), step=2 ** 40, description="*wide*")
    assert numbers(logdir, "loss") == [(3, .5)] and numbers(logdir, "count") == [(4, 7.)]
    assert numbers(logdir, "wide") == [(2 ** 40, np.float32(.1))]
    metadata = read(logdir).SummaryMetadata("wide")
    assert metadata.plugin_data.plugin_name == "scalars"
    assert metadata.summary_description == "*wide*"


def test_traced(writer, logdir):
    """Each run writes the summaries of eager mode, in program order."""
    def f(x, step):
        df.summary.scalar("first", df.reduce_sum(x), step=step)
        for k in df.range(3):
            df.summary.scalar("rounds", x[0] * df.cast(k, df.float32), step=step * 10 + k)
        if step % 2 == 0:
            df.summary.scalar("even", x[1], step=step)
        return x * 2.

    for g in both(f):
        with writer.as_default():
            for step in range(3):
                g(df.constant([1., step]), df.constant(step))
    first = [(k, 1. + k) for k in range(3)]
    rounds = [(10 * s + k, float(k)) for s in range(3) for k in range(3)]
    assert numbers(logdir, "first") == first * 2
    assert numbers(logdir, "rounds") == rounds * 2
    assert numbers(logdir, "even") == [(0, 0.), (2, 2.)] * 2


def test_gradients_write_nothing(writer, logdir):
    def f(x):
        df.summary.scalar("inside", x, step=1)
        return x * x

    with writer.as_default():
        for g in both(f):
            assert df.grad(g)(3.).item() == 6.
    assert numbers(logdir, "inside") == [(1, 3.)] * 2


def test_writer_is_bound_to_the_enclosing_function(tmp_path):
    inside, outside = [df.summary.create_file_writer(tmp_path / name) for name in "ab"]

    @df.function
    def f(x):
        with inside.as_default(step=5):
            df.summary.scalar("x", x)
        return x

    @df.function
    def g(x, step):
        df.summary.scalar("y", x, step=step)

    f(df.constant(1.))
    with outside.as_default():
        f(df.constant(2.))
        g(df.constant(3.), 1)
    with inside.as_default():
        g(df.constant(4.), 2)       # where eager mode would write
    g(df.constant(5.), 3)
    assert numbers(tmp_path / "a", "x") == [(5, 1.), (5, 2.)]
    assert numbers(tmp_path / "b", "y") == [(1, 3.)]
    assert numbers(tmp_path / "a", "y") == [(2, 4.)]


def test_default_steps(writer, logdir):
    step = df.Variable(7, dtype=df.int64, trainable=False)
    try:
        for f in both(lambda x: df.summary.scalar("x", x)):
            with writer.as_default():
                df.summary.experimental.set_step(3)
                f(df.constant(1.))
                df.summary.experimental.set_step(4)
                f(df.constant(2.))
                df.summary.experimental.set_step(step)
                f(df.constant(3.))
                step.assign_add(1)
                f(df.constant(4.))
            with writer.as_default(step=9):
                f(df.constant(5.))
            assert df.summary.experimental.get_step() is step
            step.assign(7)
    finally:
        df.summary.experimental.set_step(None)
    assert numbers(logdir, "x") == [(3, 1.), (4, 2.), (7, 3.), (8, 4.), (9, 5.)] * 2


def test_record_if(writer, logdir):
    def f(x, step):
        with df.summary.record_if(df.equal(step % 2, 0)):
            df.summary.scalar("even", x, step=step)
        df.summary.scalar("if outside", x, step=step)

    for g in both(f):
        with writer.as_default():
            for step in range(4):
                with df.summary.record_if(lambda step=step: step > 1):
                    assert df.summary.should_record_summaries() is (step > 1)
                    g(df.constant(1.), df.constant(step))
    assert [k for k, _ in numbers(logdir, "even")] == [0, 2] * 2
    assert [k for k, _ in numbers(logdir, "if outside")] == [2, 3] * 2


def test_nothing_is_written_without_a_writer():
    for f in both(lambda x: df.summary.scalar("x", x)):
        assert f(df.constant(1.)).item() is False
    assert not df.summary.should_record_summaries()


def test_set_as_default(writer, logdir):
    def work():
        writer.set_as_default(step=2)
        df.summary.scalar("x", 1.)
        df.summary.flush()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert numbers(logdir, "x") == [(2, 1.)]
    assert not df.summary.should_record_summaries()         # defaults are per thread


def test_histogram(writer, logdir):
    x = df.random.stateless_normal([1000], seed=[1, 2])
    with writer.as_default(step=1):
        for f in both(lambda x: df.summary.histogram("h", x)):
            f(x)
        df.summary.histogram("few", x, buckets=5)
        df.summary.histogram("same", df.ones([4], df.int32))
        df.summary.histogram("none", df.zeros([0]))
    made = tensors(logdir, "h")[1]
    assert made.shape == (30, 3) and made[:, 2].sum() == 1000
    counts, edges = np.histogram(x.numpy().astype(np.float64), 30)
    assert made[:, 2].tolist() == counts.tolist()
    assert np.allclose(made[:, 0], edges[:-1]) and np.allclose(made[:, 1], edges[1:])
    assert tensors(logdir, "few")[1].shape == (5, 3)
    assert tensors(logdir, "same")[1][:, 2].sum() == 4
    assert len(read(logdir).Tensors("h")) == 2


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_image(writer, logdir, channels):
    from PIL import Image

    x = df.random.stateless_uniform([5, 6, 7, channels], seed=[1, 2])
    ints = df.constant((x.numpy() * 255.5).astype("uint8"))
    with writer.as_default(step=1):
        for f in both(lambda x: df.summary.image("im", x, max_outputs=2)):
            f(x)
        df.summary.image("ints", ints)
    (width, height, *pictures) = tensors(logdir, "im")[1]
    assert (width, height, len(pictures)) == (b"7", b"6", 2)
    for k, data in enumerate(pictures):
        got = np.array(Image.open(io.BytesIO(data))).reshape(6, 7, channels)
        assert (got == ints.numpy()[k]).all()
    assert tensors(logdir, "ints")[1][2:4].tolist() == pictures


def test_text(writer, logdir):
    with writer.as_default(step=1):
        for f in both(lambda: df.summary.text("note", [["a", "b"], ["c", "dé"]])):
            f()
        df.summary.text("one", "**bold**")
    assert tensors(logdir, "note")[1].tolist() == [[b"a", b"b"], [b"c", "dé".encode()]]
    assert tensors(logdir, "one")[1].item() == b"**bold**"


def test_write(writer, logdir):
    with writer.as_default(step=1):
        df.summary.write("any", df.constant([[1, 2]], df.int16))
    assert tensors(logdir, "any")[1].tolist() == [[1, 2]]


# --- errors -------------------------------------------------------------------------------------

def test_no_step(writer):
    with writer.as_default():
        for f in both(lambda x: df.summary.scalar("loss", x)):
            with pytest.raises(ValueError, match="scalar: 'loss' has no step; give step="):
                f(df.constant(1.))


@pytest.mark.parametrize(("call", "text"), [
    (lambda: df.summary.scalar("s", [1., 2.], step=1), r"scalar: 's' is float32 \(2,\), expected"),
    (lambda: df.summary.image("i", df.ones([2, 2, 3]), step=1), "image: 'i' is float32"),
    (lambda: df.summary.image("i", df.ones([1, 2, 2, 5]), step=1), "1 to 4 channels"),
    (lambda: df.summary.text("t", 3, step=1), "text: 't' is 3, expected a str"),
    (lambda: df.summary.text("t", df.ones([2]), step=1), "text: 't' is"),
])
def test_invalid_values_raise(writer, call, text):
    with writer.as_default(), pytest.raises(df.errors.DualflowError, match=text):
        call()


@pytest.mark.parametrize("millis", ["a", -1, np.datetime64("2000", "ms")])
def test_time_between_flushes_is_a_number(tmp_path, millis):
    with pytest.raises(df.errors.DualflowError, match="create_file_writer: flush_millis is"):
        df.summary.create_file_writer(tmp_path, flush_millis=millis)


def test_closed_writer(tmp_path):
    writer = df.summary.create_file_writer(tmp_path / "run")
    writer.close()
    writer.close()
    writer.flush()
    with writer.as_default(), pytest.raises(ValueError, match="run'> is closed"):
        df.summary.scalar("x", 1., step=1)
    writer.reopen()
    with writer.as_default():
        df.summary.scalar("x", 1., step=1)
    writer.close()
    assert numbers(tmp_path / "run", "x") == [(1, 1.)]


HIDDEN = "import sys\nfor name in ('tensorboard', 'tensorflow'): sys.modules[name] = None\n"


def test_missing_tensorboard_is_named():
    code = HIDDEN + """
import dualflow as df
df.summary.trace_on(), df.summary.trace_off()
print(df.summary.scalar("x", 1., step=1).item())
try:
    df.summary.create_file_writer("nowhere")
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    written, said = done.stdout.splitlines()
    assert written == "False" and said.startswith("df.summary writes event files with")
    assert said.endswith("not installed: pip install 'dualflow[tensorboard]'")
    assert not os.path.exists("nowhere")


def test_tensorboard_is_imported_lazily():
    code = ("import sys, dualflow; assert 'dualflow.summary' not in sys.modules; dualflow.summary;"
            "sys.exit('tensorboard' in sys.modules)")
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- threads and forks --------------------------------------------------------------------------

def test_threads(writer, logdir):
    @df.function
    def f(x, step):
        df.summary.scalar("x", x, step=step)

    def work(k):
        with writer.as_default():
            for step in range(50):
                f(df.constant(float(k)), df.constant(step))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(numbers(logdir, "x")) == sorted(
        (step, float(k)) for k in range(4) for step in range(50))


def test_fork(tmp_path):
    """A forked process writes a separate file."""
    run(f"""
writer = df.summary.create_file_writer({str(tmp_path)!r})
with writer.as_default():
    df.summary.scalar("x", 1., step=1)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        for step in range(100):
            df.summary.scalar("x", 2., step=100 + step)
        writer.close()
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
writer.close()
""")
    assert sorted(os.listdir(tmp_path)) and len(os.listdir(tmp_path)) == 2
    steps = sorted(step for path in os.listdir(tmp_path)
                   for step, _ in numbers(tmp_path / path, "x"))
    assert steps == [1, *range(100, 200)]


@pytest.mark.parametrize("writer", [[], "runs", 3])
def test_flush_of_another_object_raises(writer):
    with pytest.raises(TypeError, match="flush: writer is"):
        df.summary.flush(writer)
