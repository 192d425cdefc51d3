"""Checkpoints are saved and restored atomically; training continues bit for bit."""

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from dualflow.io import checkpoint as saving_of, content, files, object_graph
from tests.io.programs import Batches, Net, Training


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "ckpt")


# --- saved contents ---

def test_every_dtype_and_shape(prefix):
    values = [df.constant([[1, 0, 3]], dtype) for dtype in df.dtypes.ALL]
    values += [df.zeros([0, 3]), df.constant(float("nan")), df.constant(-0.), df.ones([1] * 70)]
    variables = [df.Variable(x) for x in values]
    checkpoint = df.train.Checkpoint(v=variables)
    path = checkpoint.save(prefix)
    for v in variables:
        v.assign(df.zeros_like(v))
    checkpoint.restore(path).assert_consumed()
    for v, x in zip(variables, values, strict=True):
        assert bytes(df._core.memory_of(v.value())) == bytes(df._core.memory_of(x))
        assert v.dtype is x.dtype and v.shape == x.shape


def test_safetensors_can_read_checkpoints(prefix):
    from safetensors.numpy import load_file

    checkpoint = df.train.Checkpoint(net=Net(), half=df.Variable(df.ones([3], df.float16)))
    found = load_file(checkpoint.save(prefix) + ".safetensors")
    assert found["net/layers/0/w"].tobytes() == checkpoint.net.layers[0]["w"].numpy().tobytes()
    assert found["half"].dtype == "float16" and found["save_counter"] == 1
    assert sorted(os.listdir(os.path.dirname(prefix))) == ["checkpoint", "ckpt-1.safetensors"]


def test_all_kinds_of_objects(prefix):
    class Old:
        def __init__(self):
            self.variables = [df.Variable([1., 2.]), df.Variable(3)]

    def make(k):
        return df.train.Checkpoint(
            v=df.Variable(k), nest={"a": [df.Variable(k), (df.Variable(k),)]}, old=Old(),
            random=df.random.Generator(k), batches=Batches(8, 2), array=np.full(3, k), epoch=k,
            best=float("inf"), name=f"run {k}", flag=bool(k), module=Net(k),
            inner=df.train.Checkpoint(v=df.Variable(k)))

    one, two = make(1), make(2)
    next(one.batches)
    drawn = one.random.normal([2]).tolist(), one.random.normal([2]).tolist()
    one.random.counter -= 1
    one.old.variables[1].assign(9)
    path = one.save(prefix)
    two.restore(path).assert_consumed().assert_existing_objects_matched().assert_nontrivial_match()
    assert (two.v.item(), two.nest["a"][1][0].item(), two.old.variables[1].item()) == (1, 1, 9)
    assert two.random.normal([2]).tolist() == drawn[1]
    assert two.batches.state() == one.batches.state()
    assert (two.array.tolist(), two.epoch, two.name, two.flag) == ([1, 1, 1], 1, "run 1", True)
    assert two.best == float("inf") and two.inner.v.item() == 1 and two.save_counter.item() == 1
    assert [v.numpy().tobytes() for v in two.module.variables] == [
        v.numpy().tobytes() for v in one.module.variables]


@pytest.mark.parametrize("value", [
    ["a", "bé", ""], "x", [[b"\xff\x00", b"b"], [b"", b""]], np.empty([0, 3], object)],
    ids=["vector", "scalar", "bytes", "empty"])
def test_text(prefix, value):
    text, v = df.strings.StringTensor(value), df.Variable(1.)
    checkpoint = df.train.Checkpoint(text=text, v=v)
    path = checkpoint.save(prefix)
    checkpoint.text = df.constant("other")
    v.assign(2.)
    checkpoint.restore(path).assert_consumed()
    assert checkpoint.text.shape == text.shape and checkpoint.text.tolist() == text.tolist()
    fresh = df.train.Checkpoint(text=df.constant(["no"]), v=df.Variable(0.))
    fresh.restore(path)
    assert fresh.text.tolist() == text.tolist() and fresh.v.item() == 1.


@pytest.mark.parametrize("state", [
    {}, [1], {"shape": [2], "text": 5}, {"shape": [3], "text": ["a", "b"]},
    {"shape": [-4], "text": ["a"]}, {"shape": "a", "text": ["a"]}, {"shape": [1], "text": [1]},
    {"shape": [1], "text": ["\u1234"]}])
def test_states_that_are_no_text_raise(state):
    checkpoint = df.train.Checkpoint(text=df.constant(["a", "b"]))
    found = object_graph.Tracked(checkpoint).states["text"]
    with pytest.raises(errors.InvalidArgumentError, match="text is"):
        found.put(state)
    assert checkpoint.text.tolist() == [b"a", b"b"]


@pytest.mark.parametrize("bits", ["PCG64", "MT19937", "Philox", "SFC64"])
def test_numpy_generators(prefix, bits):
    generator = np.random.Generator(getattr(np.random, bits)(3))
    generator.random(3, dtype="float32")
    checkpoint = df.train.Checkpoint(texts=generator)
    path = checkpoint.save(prefix)
    expected = generator.random(5).tolist()
    checkpoint.restore(path).assert_consumed()
    assert generator.random(5).tolist() == expected


def test_shared_objects_are_saved_once(prefix):
    net = Net()
    net.itself, net.first = net, net.layers[0]["w"]
    checkpoint = df.train.Checkpoint(net=net, w=net.first, again=[net, net])
    path = checkpoint.save(prefix)
    with content.checkpoint_at(path) as found:
        assert sorted(found.tensors) == [
            "net/layers/0/b", "net/layers/1/b", "net/layers/1/w", "save_counter", "w"]


def test_keys_with_slashes_stay_apart(prefix):
    a, b = df.Variable(1.), df.Variable(2.)
    checkpoint = df.train.Checkpoint(d={"x/y": a, "x": {"y": b}, 3: df.Variable(3.)})
    path = checkpoint.save(prefix)
    a.assign(0.)
    b.assign(0.)
    checkpoint.restore(path)
    assert (a.item(), b.item()) == (1., 2.)
    with pytest.raises(errors.InvalidArgumentError, match="there are two objects d/1"):
        df.train.Checkpoint(d={1: df.Variable(1.), "1": df.Variable(1.)})


def test_modules_are_imported_lazily():
    code = ("import sys, dualflow; sys.exit(any(name.startswith(('dualflow.io', 'dualflow.train', "
            "'dualflow.modules', 'safetensors')) for name in sys.modules))")
    subprocess.run([sys.executable, "-c", code], check=True)


# --- training continues ---

@pytest.mark.parametrize("make", [
    lambda: df.optimizers.Adam(0.01), lambda: df.optimizers.SGD(0.1, momentum=0.9),
    lambda: df.optimizers.RMSprop(0.01, centered=True), lambda: df.optimizers.Adagrad(0.1)])
@pytest.mark.parametrize("traced", [True, False])
def test_every_optimizer_continues_bit_for_bit(prefix, make, traced):
    whole = Training(3, make(), traced)
    whole.run(4)
    path = whole.checkpoint.save(prefix)
    losses = whole.run(4)
    again = Training(8, make(), traced)          # not built yet
    status = again.checkpoint.restore(path)
    with pytest.raises(AssertionError, match=r"not used: slots of optimizer"):
        status.assert_consumed()
    assert again.run(4) == losses
    assert again.weights() == whole.weights()
    status.assert_consumed()


@pytest.mark.parametrize("k", range(1, 11))
def test_resume_from_every_batch_of_two_epochs(prefix, k):
    whole = Training(5)
    losses = whole.run(12)
    part = Training(5)
    assert part.run(k) == losses[:k]
    path = part.checkpoint.save(prefix)
    again = Training(99)
    again.run(k % 3)                            # built or not
    again.checkpoint.restore(path).assert_existing_objects_matched()
    assert again.run(12 - k) == losses[k:]
    assert again.weights() == whole.weights()


@pytest.mark.parametrize("k", range(1, 10))
def test_resume_of_a_pipeline_from_every_batch(prefix, k):
    def batches():
        rows = df.data.Dataset.range(40).shuffle(40, seed=3).map(lambda row: row * 1)
        return iter(rows.batch(12).repeat().prefetch(2))

    whole = Training(5, batches=batches())
    losses = whole.run(12)
    part = Training(5, batches=batches())
    assert part.run(k) == losses[:k]
    path = part.checkpoint.save(prefix)
    again = Training(99, batches=batches())
    again.run(k % 3)
    again.checkpoint.restore(path).assert_existing_objects_matched()
    assert again.run(12 - k) == losses[k:]
    assert again.weights() == whole.weights()


def test_slots_are_matched_by_variable_in_any_order(prefix):
    v, w = df.Variable([1.]), df.Variable([2.])
    one = df.optimizers.Adam(0.1)
    one.apply_gradients([(df.constant([1.]), v), (df.constant([5.]), w)])
    path = df.train.Checkpoint(a=v, b=w, optimizer=one).save(prefix)
    two = df.optimizers.Adam(0.1)
    df.train.Checkpoint(a=v, b=w, optimizer=two).restore(path)
    two.build([w, v])
    assert [s["m"].item() for s in (two.slots[v], two.slots[w])] == [
        s["m"].item() for s in (one.slots[v], one.slots[w])]
    three = df.optimizers.Adam(0.1)
    three.build([w, v])
    df.train.Checkpoint(a=v, b=w, optimizer=three).restore(path).assert_consumed()
    assert three.slots[v]["v"].item() == one.slots[v]["v"].item()


def test_restored_slots_are_matched_in_build_order(prefix):
    v, w = df.Variable([1.]), df.Variable([2., 2.])
    one = df.optimizers.Adam(0.1)
    one.apply_gradients([(df.constant([1.]), v), (df.constant([5., 5.]), w)])
    path = df.train.Checkpoint(optimizer=one).save(prefix)
    two = df.optimizers.Adam(0.1)
    status = df.train.Checkpoint(optimizer=two).restore(path)
    two.build([v])
    with pytest.raises(AssertionError):
        status.assert_consumed()
    two.build([w])
    status.assert_consumed()
    assert two.slots[w]["m"].tolist() == one.slots[w]["m"].tolist()
    three = df.optimizers.Adam(0.1)
    df.train.Checkpoint(optimizer=three).restore(path)
    with pytest.raises(errors.InvalidArgumentError, match=r"float32 \(1,\) as m of .* "
                                                          r"expected float32 \(2,\)"):
        three.build([w])


def test_optimizer_copy_has_the_pending_slots(prefix):
    import copy

    v = df.Variable([1.])
    one = df.optimizers.SGD(0.1, momentum=0.5)
    one.apply_gradients([(df.constant([4.]), v)])
    path = df.train.Checkpoint(v=v, optimizer=one).save(prefix)
    two = df.optimizers.SGD(0.1, momentum=0.5)
    df.train.Checkpoint(v=v, optimizer=two).restore(path)
    u, three = copy.deepcopy((v, two))
    three.build([u])
    assert three.slots[u]["momentum"].item() == one.slots[v]["momentum"].item() != 0.


# --- mismatches ---

def test_all_mismatches_are_listed_and_nothing_is_assigned(prefix):
    saved = df.train.Checkpoint(a=df.Variable([1., 2.]), b=df.Variable(1), c=df.Variable(3.),
                                epoch=4, batches=Batches(8, 2))
    path = saved.save(prefix)
    a, b, d = df.Variable([[5.]]), df.Variable(5.), df.Variable(7.)
    mine = df.train.Checkpoint(a=a, b=b, d=d, random=df.random.Generator(1))
    with pytest.raises(errors.InvalidArgumentError) as caught:
        mine.restore(path, partial=False)
    assert str(caught.value).split("\n  ")[1:] == [
        "the checkpoint has no d", "the checkpoint has no random", "there is no batches here",
        "there is no epoch here", "there is no c here",
        "a is float32 (2,) in the checkpoint, float32 (1, 1) here",
        "b is int32 () in the checkpoint, float32 () here"]
    assert (a.tolist(), b.item(), d.item(), mine.save_counter.item()) == ([[5.]], 5., 7., 0)
    with pytest.raises(errors.InvalidArgumentError, match=r"b is int32 \(\) in the checkpoint"):
        mine.restore(path, partial=True)        # shapes and dtypes must always match


def test_partial_restore(prefix):
    path = df.train.Checkpoint(a=df.Variable(1.), c=df.Variable(3.), n=1).save(prefix)
    a, d = df.Variable(5.), df.Variable(7.)
    mine = df.train.Checkpoint(a=a, d=d, m=2)
    with pytest.raises(errors.InvalidArgumentError, match="partial=True restores the rest"):
        mine.restore(path, partial=False)
    status = mine.restore(path, partial=True)
    assert (a.item(), d.item(), mine.m) == (1., 7., 2)
    assert (status.unused, status.unmatched) == (["n", "c"], ["d", "m"])
    status.expect_partial().assert_nontrivial_match()
    with pytest.raises(AssertionError, match=r"has no values for: d, m"):
        status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match=r"has no values for: d, m"):
        status.assert_consumed()
    less = df.train.Checkpoint(a=a)
    with pytest.raises(AssertionError, match=r"values that are not used: n, c"):
        less.restore(path, partial=True).assert_consumed()


def test_incompatible_slots_raise(prefix):
    v = df.Variable([1.])
    adam = df.optimizers.Adam(0.1)
    adam.build([v])
    path = df.train.Checkpoint(v=v, optimizer=adam).save(prefix)
    for other in (df.optimizers.SGD(0.1, momentum=0.5), df.optimizers.RMSprop(0.1)):
        for built in (False, True):
            if built:
                other.build([v])
            with pytest.raises(errors.InvalidArgumentError, match=r"no optimizer/slots/m/v here"):
                df.train.Checkpoint(v=v, optimizer=other).restore(path, partial=False)
    rms = df.optimizers.RMSprop(0.1, centered=True)
    path = df.train.Checkpoint(v=v, optimizer=df.optimizers.RMSprop(0.1)).save(prefix)
    rms.build([v])
    with pytest.raises(errors.InvalidArgumentError, match=r"no optimizer/slots/.*/v"):
        df.train.Checkpoint(v=v, optimizer=rms).restore(path, partial=False)
    plain = df.optimizers.RMSprop(0.1)
    plain.build([v])
    path = df.train.Checkpoint(v=v, optimizer=plain).save(prefix)
    with pytest.raises(errors.InvalidArgumentError, match=r"checkpoint has no optimizer/slots/"):
        df.train.Checkpoint(v=v, optimizer=df.optimizers.RMSprop(0.1, centered=True)).restore(
            path, partial=False)
    with pytest.raises(errors.InvalidArgumentError, match=r"slots/\w+/v is float32 \(1,\) in"):
        df.train.Checkpoint(v=df.Variable([1., 2.]), optimizer=df.optimizers.RMSprop(0.1)).restore(
            path)


def test_iterator_that_rejects_its_state_changes_nothing(prefix):
    path = df.train.Checkpoint(a=3, b=Batches(8, 2), v=df.Variable(1.)).save(prefix)
    mine = df.train.Checkpoint(a=4, b=Batches(9, 2), v=df.Variable(2.))
    with pytest.raises(ValueError, match=r"another pipeline") as caught:
        mine.restore(path)
    assert "while b was restored" in caught.value.__notes__[0]
    assert (mine.a, mine.v.item()) == (4, 2.)


def test_unsupported_objects_raise(prefix):
    for bad in (None, object(), df.constant(1.), Net, [1, 2], {"a": object()}):
        with pytest.raises(errors.DTypeError, match=r"Checkpoint: thing(/\w+)? is .*expected a V"):
            df.train.Checkpoint(thing=bad)
    for name in ("save", "restore", "_x", "save_counter"):
        with pytest.raises(errors.InvalidArgumentError, match=f"{name} is not a perm"):
            df.train.Checkpoint(**{name: df.Variable(1.)})

    class Odd(Batches):
        def state(self):
            return {"x": object()}

    checkpoint = df.train.Checkpoint(odd=Odd(4, 2))
    with pytest.raises(errors.DTypeError, match=r"the state of odd is .*expected numbers, s"):
        checkpoint.save(prefix)
    assert checkpoint.save_counter.item() == 0 and os.listdir(os.path.dirname(prefix)) == []
    checkpoint = df.train.Checkpoint(v=df.Variable(1.))

    @df.function
    def f(x):
        checkpoint.save(prefix)
        return x

    with pytest.raises(errors.InvalidArgumentError, match="a traced function cannot save"):
        f(df.constant(1.))


# --- files ---

def test_missing_file_lists_existing_checkpoints(prefix):
    checkpoint = df.train.Checkpoint(v=df.Variable(1.))
    folder = os.path.dirname(prefix)
    assert checkpoint.restore(None).path is None
    with pytest.raises(AssertionError):
        checkpoint.restore(None).assert_nontrivial_match()
    with pytest.raises(errors.NotFoundError, match=r"no checkpoint .*/ckpt-7 .* has none"):
        checkpoint.restore(prefix + "-7")
    with pytest.raises(FileNotFoundError, match=r"/no/such has none"):
        checkpoint.restore("/no/such/ckpt-7")
    path = checkpoint.save(prefix)
    with pytest.raises(errors.NotFoundError, match=r"the latest of .* is .*/ckpt-1"):
        checkpoint.restore(folder)
    os.rename(path + ".safetensors", prefix + "-old.safetensors")
    with pytest.raises(errors.NotFoundError, match=r"no checkpoint .*ckpt-1 .* has .*/?ckpt-old"):
        checkpoint.restore(path)
    checkpoint.restore(prefix + "-old").assert_consumed()     # a renamed file is unchanged
    checkpoint.restore(prefix + "-old.safetensors").assert_consumed()
    assert df.train.latest_checkpoint(folder) is None


def test_every_damaged_byte_is_detected(prefix, request):
    v = df.Variable([1., 2., 3.])
    checkpoint = df.train.Checkpoint(v=v, epoch=1, random=df.random.Generator(1))
    path = checkpoint.save(prefix) + ".safetensors"
    with open(path, "rb") as file:
        good = file.read()
    v.assign([7., 7., 7.])
    random = np.random.default_rng(0)
    harmless = 0
    for k in range(0, len(good), 1 if request.config.getoption("--exhaustive") else 3):
        bad = bytearray(good)
        bad[k] ^= 1 << random.integers(8)
        with open(path, "wb") as file:
            file.write(bad)
        try:
            checkpoint.restore(path)
        except errors.DataLossError:
            assert v.tolist() == [7., 7., 7.] and checkpoint.epoch == 1
        else:                               # at most white space between numbers
            assert v.tolist() == [1., 2., 3.] and good[k:k + 1].isspace(), k
            v.assign([7., 7., 7.])
            harmless += 1
    assert harmless < 8


def test_every_truncation_is_detected(prefix, request):
    v = df.Variable([1., 2., 3.])
    checkpoint = df.train.Checkpoint(v=v)
    path = checkpoint.save(prefix) + ".safetensors"
    with open(path, "rb") as file:
        good = file.read()
    v.assign([7., 7., 7.])
    step = 1 if request.config.getoption("--exhaustive") else 3
    for bad in [good[:k] for k in range(0, len(good), step)] + [good + b"\0", b"\0" * len(good)]:
        with open(path, "wb") as file:
            file.write(bad)
        with pytest.raises(errors.DataLossError, match=r"ckpt-1.safetensors (is damaged|has no)"):
            checkpoint.restore(path)
    assert v.tolist() == [7., 7., 7.]


def test_other_files_raise(prefix):
    from safetensors.numpy import save_file

    checkpoint = df.train.Checkpoint(v=df.Variable(1.))
    save_file({"v": np.zeros(2)}, prefix + ".safetensors")
    with pytest.raises(errors.DataLossError, match=r"has no manifest: it is not a dualflow c"):
        checkpoint.restore(prefix)
    content.write_content(prefix + ".safetensors", "dualflow module 1", {}, {})
    with pytest.raises(errors.DataLossError, match=r"is a dualflow module 1, expected a"):
        checkpoint.restore(prefix)
    index = os.path.join(os.path.dirname(prefix), "checkpoint")
    for text in ("", "{", "[]", "{}", '{"model_checkpoint_path": 3}'):
        with open(index, "w") as file:
            file.write(text)
        with pytest.raises(errors.DataLossError, match=r"the index .* is damaged"):
            df.train.latest_checkpoint(os.path.dirname(prefix))


def test_missing_safetensors_is_named(prefix):
    code = """
import sys
sys.modules["safetensors"] = None
import dualflow as df
c = df.train.Checkpoint(v=df.Variable(1.))
for f in (lambda: c.save(sys.argv[1]), lambda: c.restore(sys.argv[1])):
    try:
        f()
    except ImportError as error:
        assert "pip install 'dualflow[safetensors]'" in str(error)
    except df.errors.NotFoundError:
        pass
    else:
        raise SystemExit(1)
assert c.save_counter.item() == 0
"""
    subprocess.run([sys.executable, "-c", code, prefix], check=True)


def test_invalid_paths_raise(prefix, tmp_path):
    checkpoint = df.train.Checkpoint(v=df.Variable(1.))
    for bad in (str(tmp_path), str(tmp_path) + "/", ""):
        with pytest.raises(errors.InvalidArgumentError, match=r"is a folder|expected a string"):
            checkpoint.save(bad)
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match=r"cannot write .*/file/ckpt-1.*unchanged"):
        checkpoint.save(tmp_path / "file" / "ckpt")
    (tmp_path / "ckpt-1.safetensors").mkdir()
    with pytest.raises(IsADirectoryError, match=r"cannot write .*ckpt-1.safetensors: it is a fold"):
        checkpoint.save(prefix)
    assert checkpoint.save_counter.item() == 0
    deep = checkpoint.save(tmp_path / "new" / "folders" / "ckpt")
    assert df.train.latest_checkpoint(tmp_path / "new" / "folders") == deep


@pytest.mark.parametrize("where", ["write", "flush", "fsync", "replace", "open"])
def test_full_disk_keeps_the_old_checkpoint(prefix, monkeypatch, where):
    v = df.Variable(np.arange(100_000.))
    checkpoint = df.train.Checkpoint(v=v)
    path = checkpoint.write(prefix)
    v.assign_add(df.ones_like(v))

    def full(*_):
        raise OSError(28, "No space left on device")

    if where in ("fsync", "replace"):
        monkeypatch.setattr(os, where, full)
    elif where == "open":
        monkeypatch.setattr(files, "_locked", full)
    else:
        locked = files._locked

        class Full:
            def __init__(self, file):
                self.file = file

            def __getattr__(self, name):
                return full if name == where else getattr(self.file, name)

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.file.close()

        monkeypatch.setattr(files, "_locked", lambda path: (
            lambda file, name: (Full(file), name))(*locked(path)))
    with pytest.raises(OSError, match=r"cannot write .*No space left on device.*unchanged") as got:
        checkpoint.write(prefix)
    assert got.value.errno == 28
    saving = checkpoint.write(prefix, wait=False)
    with pytest.raises(OSError, match=r"No space left"):
        saving.wait()
    monkeypatch.undo()
    assert os.listdir(os.path.dirname(prefix)) == ["ckpt.safetensors"]
    checkpoint.restore(path)
    assert v.numpy()[1] == 1.


def test_file_size_limit_keeps_the_old_checkpoint(prefix):
    code = """
import resource, sys
import dualflow as df
v = df.Variable(df.zeros([1000]))
c = df.train.Checkpoint(v=v)
path = c.save(sys.argv[1])
big = df.train.Checkpoint(v=df.Variable(df.zeros([10_000_000])))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    big.write(path)
except OSError as error:
    assert error.errno == 27, error
else:
    raise SystemExit(1)
c.restore(path).assert_consumed()
"""
    subprocess.run([sys.executable, "-c", code, prefix], check=True)
    assert sorted(os.listdir(os.path.dirname(prefix))) == ["checkpoint", "ckpt-1.safetensors"]


def test_stale_temporary_files_are_removed_and_active_ones_kept(tmp_path):
    left = tmp_path / "ckpt-1.safetensors.0123abcd.unfinished"
    left.write_bytes(b"x")
    (tmp_path / "notes.unfinished").write_bytes(b"mine")
    file, name = files._locked(str(tmp_path / "ckpt-2.safetensors"))
    with file:
        df.train.Checkpoint(v=df.Variable(1.)).write(tmp_path / "a")
        assert not left.exists() and os.path.exists(name)
    df.train.Checkpoint(v=df.Variable(1.)).write(tmp_path / "b")
    assert sorted(os.listdir(tmp_path)) == ["a.safetensors", "b.safetensors", "notes.unfinished"]


# --- concurrency ---

def test_save_without_waiting(prefix, monkeypatch):
    v = df.Variable(np.zeros(1000))
    array = np.zeros(3)
    checkpoint = df.train.Checkpoint(v=v, array=array, list=[1] and Batches(8, 2))
    free, write = threading.Event(), files.write_tensors

    def slow(*args):
        assert free.wait(60)
        write(*args)

    monkeypatch.setattr(content, "write_tensors", slow)
    first = checkpoint.save(prefix, wait=False)
    v.assign_add(df.ones_like(v))               # in place if there is no reader
    array += 1
    next(checkpoint.list)
    second = checkpoint.save(prefix, wait=False)
    assert not first.done() and not second.done() and "done" not in repr(first)
    with pytest.raises(TimeoutError, match=r"ckpt-1 is not saved after 0.001 s"):
        first.wait(0.001)
    assert df.train.latest_checkpoint(os.path.dirname(prefix)) is None
    free.set()
    assert second.wait() == second.path == f"{prefix}-2"
    assert first.done() and first.wait() == f"{prefix}-1"   # in order
    assert df.train.latest_checkpoint(os.path.dirname(prefix)) == f"{prefix}-2"
    for k in (1, 2):
        checkpoint.restore(f"{prefix}-{k}")
        assert v.numpy().tolist() == [k - 1.] * 1000 and array.tolist() == [k - 1.] * 3
        assert checkpoint.list.at == 2 * (k - 1) and checkpoint.save_counter.item() == k


def test_snapshot_is_copy_on_write(prefix, monkeypatch):
    v, w = (df.Variable(np.zeros(1_000_000, "float32")) for _ in range(2))
    checkpoint = df.train.Checkpoint(v=v, w=w)
    free = threading.Event()
    monkeypatch.setattr(saving_of, "write_content", lambda *_: free.wait(60) and None)
    before = df._core.memory_stats()["live"]
    saving = checkpoint.write(prefix, wait=False)
    assert df._core.memory_stats()["live"] - before < 100_000
    v.assign_add(df.ones_like(v))
    v.assign_add(df.ones_like(v))
    assert 4e6 <= df._core.memory_stats()["live"] - before < 5e6
    free.set()
    saving.wait()


def test_unobserved_error_is_a_warning(prefix, tmp_path):
    (tmp_path / "file").write_text("x")
    checkpoint = df.train.Checkpoint(v=df.Variable(1.))
    saving = checkpoint.save(tmp_path / "file" / "ckpt", wait=False)
    while not saving.done():
        time.sleep(0.001)
    with pytest.warns(RuntimeWarning, match=r"ckpt-1 was not saved: .*cannot write"):
        del saving
        assert checkpoint.save(prefix) == f"{prefix}-2"


def test_process_exit_waits_for_saves(prefix):
    code = """
import sys
import dualflow as df
df.train.Checkpoint(v=df.Variable(df.zeros([1_000_000]))).save(sys.argv[1], wait=False)
"""
    subprocess.run([sys.executable, "-c", code, prefix], check=True)
    df.train.Checkpoint(v=df.Variable(df.zeros([1_000_000]))).restore(f"{prefix}-1")


def test_save_is_a_consistent_snapshot(prefix):
    """Another thread runs a program that keeps two variables equal."""
    v, w = df.Variable(df.zeros([50_000])), df.Variable(df.zeros([50_000]))

    @df.function
    def step():
        v.assign_add(df.ones([50_000]))
        w.assign_add(df.ones([50_000]))

    over = threading.Event()

    def train():
        while not over.is_set():
            step()

    step()
    thread = threading.Thread(target=train)
    thread.start()
    try:
        for k in range(200):
            a, b = df._core.snapshot_values([v, w])
            assert a.numpy()[0] == b.numpy()[-1], k
    finally:
        over.set()
        thread.join()


def test_concurrent_saves_of_the_same_name(prefix):
    code = """
import sys
import dualflow as df
c = df.train.Checkpoint(v=df.Variable(df.fill([20_000], float(sys.argv[2]))))
for _ in range(30):
    c.write(sys.argv[1])
"""
    children = [subprocess.Popen([sys.executable, "-c", code, prefix, str(k)]) for k in range(2)]
    mine = [df.train.Checkpoint(v=df.Variable(df.fill([20_000], 5.))) for _ in range(2)]
    threads = [threading.Thread(target=lambda c=c: [c.write(prefix) for _ in range(30)])
               for c in mine]
    for thread in threads:
        thread.start()
    reader = df.train.Checkpoint(v=df.Variable(df.zeros([20_000])))
    while any(thread.is_alive() for thread in threads):
        if os.path.exists(prefix + ".safetensors"):
            reader.restore(prefix)
            assert len(set(reader.v.tolist())) == 1
    for child in children:
        assert child.wait(60) == 0
    reader.restore(prefix)
    assert len(set(reader.v.tolist())) == 1
    assert os.listdir(os.path.dirname(prefix)) == ["ckpt.safetensors"]
