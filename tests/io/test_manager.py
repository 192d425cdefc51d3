"""CheckpointManager: retained checkpoints, and processes killed during a save."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import dualflow as df
from dualflow import errors
from dualflow.io import manager as module
from tests.io.programs import Training


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "run")


def names(folder):
    return sorted(n.removesuffix(".safetensors") for n in os.listdir(folder) if n != "checkpoint")


def manager_of(folder, v=None, **options):
    options.setdefault("max_to_keep", 2)
    checkpoint = df.train.Checkpoint(v=df.Variable(0.) if v is None else v)
    return df.train.CheckpointManager(checkpoint, folder, **options)


def test_most_recent_checkpoints_are_kept(folder):
    manager = manager_of(folder)
    assert manager.checkpoints == [] and manager.latest_checkpoint is None
    paths = [manager.save() for _ in range(4)]
    assert paths == [os.path.join(folder, f"ckpt-{k}") for k in (1, 2, 3, 4)]
    assert manager.checkpoints == paths[2:] and names(folder) == ["ckpt-3", "ckpt-4"]
    assert manager.latest_checkpoint == df.train.latest_checkpoint(folder) == paths[3]
    state = df.train.get_checkpoint_state(folder)
    assert state.all_model_checkpoint_paths == paths[2:] and "ckpt-4" in repr(state)
    assert manager.save(checkpoint_number=77) == os.path.join(folder, "ckpt-77")
    assert names(folder) == ["ckpt-4", "ckpt-77"]
    other = manager_of(folder, checkpoint_name="best", max_to_keep=None)
    for _ in range(3):
        other.save()
    assert len(other.checkpoints) == 3 and names(folder) == [
        "best-1", "best-2", "best-3", "ckpt-4", "ckpt-77"]


def test_another_program_continues(folder):
    v = df.Variable(0.)
    manager = manager_of(folder, v)
    for k in range(3):
        v.assign(k + 1.)
        manager.save()
    w = df.Variable(0.)
    again = manager_of(folder, w, init_fn=lambda: pytest.fail("there is a checkpoint"))
    assert again.checkpoints == manager.checkpoints
    assert again.restore_or_initialize() == manager.latest_checkpoint
    assert w.item() == 3. and again.checkpoint.save_counter.item() == 3
    again.save()
    assert names(folder) == ["ckpt-3", "ckpt-4"]
    os.unlink(again.latest_checkpoint + ".safetensors")         # deleted by the user
    assert manager_of(folder).latest_checkpoint == os.path.join(folder, "ckpt-3")
    os.rename(folder, folder + "-moved")
    assert df.train.latest_checkpoint(folder + "-moved") == f"{folder}-moved/ckpt-3"


def test_nothing_to_restore(folder):
    called = []
    manager = manager_of(folder, init_fn=lambda: called.append(1))
    assert manager.restore_or_initialize() is None and called == [1]
    assert not os.path.exists(folder)


def test_keep_checkpoint_every_n_hours(folder, monkeypatch):
    now = [1e9]
    monkeypatch.setattr(module.time, "time", lambda: now[0])
    monkeypatch.setattr(module.os.path, "getmtime", lambda path: now[0])
    manager = manager_of(folder, max_to_keep=1, keep_checkpoint_every_n_hours=2)
    for _ in range(4):                          # at 1, 2, 3 and 4 hours
        now[0] += 3600
        manager.save()
    assert names(folder) == ["ckpt-2", "ckpt-4"] and manager.checkpoints == [
        os.path.join(folder, "ckpt-4")]
    again = manager_of(folder, max_to_keep=1, keep_checkpoint_every_n_hours=2)
    again.restore_or_initialize()
    for _ in range(3):
        now[0] += 3600
        again.save()
    assert names(folder) == ["ckpt-2", "ckpt-4", "ckpt-6", "ckpt-7"]


def test_checkpoint_interval(folder):
    step = df.Variable(0)
    manager = manager_of(folder, step, step_counter=step, checkpoint_interval=5)
    assert manager.checkpoint_interval == 5
    made = []
    for k in range(12):
        step.assign(k)
        if manager.save() is not None:
            made.append(k)
    assert made == [0, 5, 10] and manager.save() is None
    assert manager.save(check_interval=False) is not None
    again = manager_of(folder, step, step_counter=step, checkpoint_interval=5)
    again.restore_or_initialize()
    assert again.save() is None
    known = manager_of(folder + "2", step, step_counter=step, checkpoint_interval=5,
                       last_checkpoint_step=step.item() - 3)
    assert known.restore_or_initialize() is None and known.save() is None
    step.assign_add(2)
    assert known.save() is not None


def test_save_without_waiting(folder):
    v = df.Variable(np.zeros(10_000))
    manager = manager_of(folder, v, max_to_keep=3)
    savings = []
    for _ in range(10):
        v.assign_add(df.ones_like(v))
        savings.append(manager.save(wait=False))
    assert savings[-1].wait() == manager.latest_checkpoint and all(s.done() for s in savings)
    assert names(folder) == ["ckpt-10", "ckpt-8", "ckpt-9"]
    for k in (8, 9, 10):
        manager.checkpoint.restore(os.path.join(folder, f"ckpt-{k}"))
        assert set(v.tolist()) == {float(k)}


def test_invalid_arguments_raise(folder):
    checkpoint = df.train.Checkpoint(v=df.Variable(0.))
    for options, message in (({"max_to_keep": 0}, "max_to_keep is 0"),
                             ({"max_to_keep": 2.}, "max_to_keep is 2.0"),
                             ({"checkpoint_name": "a/b"}, "expected a name without a folder"),
                             ({"checkpoint_interval": 3}, "requires a step_counter")):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            df.train.CheckpointManager(checkpoint, folder, **{"max_to_keep": 3, **options})
    with pytest.raises(errors.InvalidArgumentError, match="expected a Checkpoint"):
        df.train.CheckpointManager(df.Variable(1.), folder, 3)


def test_failed_save_changes_nothing(folder, monkeypatch):
    manager = manager_of(folder)
    manager.save()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        manager.save()
    monkeypatch.undo()
    assert manager.checkpoints == [os.path.join(folder, "ckpt-1")] and names(folder) == ["ckpt-1"]
    assert manager.save() == os.path.join(folder, "ckpt-2")


KILLED = """
import sys
import numpy as np
import dualflow as df
v = df.Variable(np.zeros(int(sys.argv[2])), name="v")
w = df.Variable(0, dtype=df.int64)
checkpoint = df.train.Checkpoint(v=v, w=w)
manager = df.train.CheckpointManager(checkpoint, sys.argv[1], max_to_keep=2)
manager.restore_or_initialize()
while True:
    v.assign_add(df.ones_like(v))
    w.assign_add(1)
    path = manager.save(wait=sys.argv[3] == "wait")
    if sys.argv[3] == "wait":
        print(w.item(), flush=True)
"""


def test_kill_during_a_save(folder, request):
    """After kill -9 at any time the last reported checkpoint, or a later one, is complete, and
    temporary files are removed."""
    times = 100 if request.config.getoption("--exhaustive") else 8
    random = np.random.default_rng(request.config.getoption("--seed") or 3)
    v, w = df.Variable(np.zeros(200_000)), df.Variable(0, dtype=df.int64)
    last = 0
    for k in range(times):
        mode = "wait" if k % 2 else "go on"
        child = subprocess.Popen([sys.executable, "-c", KILLED, folder, str(v.size), mode],
                                 stdout=subprocess.PIPE, text=True)
        if mode == "wait":
            child.stdout.readline()             # it has started to work
        else:
            while df.train.latest_checkpoint(folder) in (None, f"{folder}/ckpt-{last}"):
                assert child.poll() is None
                time.sleep(0.001)
        time.sleep(random.uniform(0, 0.03))
        child.send_signal(signal.SIGKILL)
        printed = [int(line) for line in child.stdout.read().split()]
        child.wait()
        manager = df.train.CheckpointManager(df.train.Checkpoint(v=v, w=w), folder, 2)
        manager.checkpoint.restore(manager.latest_checkpoint).assert_consumed()
        assert set(v.tolist()) == {float(w.item())} and w.item() >= max([last, *printed])
        last = w.item()
        for path in manager.checkpoints:
            manager.checkpoint.restore(path)
    manager.save()
    left = [name for name in os.listdir(folder) if name.endswith("unfinished")]
    assert left == []


TRAINING = """
import sys
from tests.io.programs import Training
import dualflow as df
training = Training(5)
manager = df.train.CheckpointManager(training.checkpoint, sys.argv[1], max_to_keep=3)
manager.restore_or_initialize()
while training.optimizer.iterations.item() < 12:
    loss, = training.run(1)
    manager.save()
    print(training.optimizer.iterations.item(), loss, flush=True)
"""


def test_killed_training_ends_as_if_uninterrupted(folder):
    whole = Training(5)
    losses = dict(enumerate(whole.run(12), 1))
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    reached = 0
    while reached < 12:
        child = subprocess.Popen([sys.executable, "-c", TRAINING, folder], cwd=root,
                                 stdout=subprocess.PIPE, text=True)
        lines = 0
        for line in child.stdout:
            step, loss = line.split()
            assert losses[int(step)] == float(loss)
            reached, lines = int(step), lines + 1
            if lines == 5:
                child.kill()
        child.wait()
    again = Training(1)
    again.checkpoint.restore(df.train.latest_checkpoint(folder))
    again.optimizer.build(again.net.trainable_variables)
    again.run(12 - again.optimizer.iterations.item())
    assert again.weights() == whole.weights()


INJECTED = """
import os, signal, sys
import dualflow as df
from dualflow.io import files, manager as module

folder, point, saves = sys.argv[1], sys.argv[2], int(sys.argv[3])
v = df.Variable(0.)
checkpoint = df.train.Checkpoint(v=v)
manager = df.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
manager.restore_or_initialize()

def killed_in(place, name, before):
    function = getattr(place, name)
    def call(*args, **kwargs):
        if before(*args):
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    setattr(place, name, call)

for k in range(saves + 1):
    if k == saves:
        if point == "rename":
            killed_in(os, "replace", lambda a, b: b.endswith(".safetensors"))
        elif point == "index":
            killed_in(module, "write_index", lambda *args: True)
        elif point == "rename of the index":
            killed_in(os, "replace", lambda a, b: b.endswith("checkpoint"))
        else:
            killed_in(os, "unlink", lambda path: path.endswith(".safetensors"))
    v.assign_add(1.)
    manager.save()
"""


@pytest.mark.parametrize("point", ["rename", "index", "rename of the index", "unlink"])
def test_no_files_are_left_by_a_kill_at_each_point(folder, point):
    """After kills at the same point of a save, the next save leaves only the files in the index."""
    done = 0
    for k in range(1, 4):
        saves = k + (point == "unlink")             # a file must be old
        child = subprocess.run([sys.executable, "-c", INJECTED, folder, point, str(saves)],
                               check=False)
        assert child.returncode == -signal.SIGKILL
        complete = saves + (point != "rename")      # a file counts once it has its name
        done += complete
        v = df.Variable(0.)
        manager = manager_of(folder, v)
        assert manager.restore_or_initialize() == os.path.join(folder, f"ckpt-{done}")
        assert v.item() == done
        assert manager.latest_checkpoint == manager.checkpoints[-1]
    v.assign_add(1.)
    manager.save()
    assert names(folder) == sorted(os.path.basename(path) for path in manager.checkpoints)
    assert manager.checkpoints == [os.path.join(folder, f"ckpt-{k}") for k in (done, done + 1)]
    assert manager_of(folder).checkpoints == manager.checkpoints


def test_files_of_other_programs_are_not_removed(folder):
    manager = manager_of(folder, max_to_keep=1, keep_checkpoint_every_n_hours=0)
    for _ in range(3):
        manager.save()                              # each older one is preserved permanently
    manager.checkpoint.write(os.path.join(folder, "ckpt-best"))
    manager.checkpoint.write(os.path.join(folder, "ckpt-2-copy"))
    manager.checkpoint.write(os.path.join(folder, "other-9"))
    again = manager_of(folder, max_to_keep=1)
    assert again.checkpoints == [os.path.join(folder, "ckpt-3")]
    again.restore_or_initialize()
    again.save()
    assert names(folder) == ["ckpt-1", "ckpt-2", "ckpt-2-copy", "ckpt-4", "ckpt-best", "other-9"]


EACH_POINT = """
import json, os, shutil, signal, sys
import dualflow as df

root = sys.argv[1]
before, killed, after = json.loads(sys.argv[2])     # numbers of checkpoints to save
CHANGES = ("open", "os.rename", "os.remove", "os.mkdir")


def manager_of(folder):
    manager = df.train.CheckpointManager(df.train.Checkpoint(v=df.Variable(1.)), folder, 2)
    manager.restore_or_initialize()
    return manager


def in_child(call):
    child = os.fork()
    if not child:
        call()
        os._exit(0)
    return os.waitpid(child, 0)[1]


def killing_save(folder, point):
    manager, seen = manager_of(folder), [0]

    def hook(event, args):
        if event in CHANGES:
            seen[0] += 1
            if seen[0] == point:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    manager.save(checkpoint_number=killed)


manager_of(root)                        # loads the modules
point, ended, found = 0, False, []
while not ended:
    point += 1
    folder = os.path.join(root, str(point))
    manager = manager_of(folder)
    for number in before:
        manager.save(checkpoint_number=number)
    ended = in_child(lambda: killing_save(folder, point)) == 0
    state = df.train.get_checkpoint_state(folder)
    exist = state is None or all(map(df.train.checkpoint_exists, state.all_model_checkpoint_paths))
    manager = manager_of(folder)
    latest = manager.latest_checkpoint
    manager.save(checkpoint_number=after)
    names = [os.path.basename(path) for path in manager.checkpoints]
    found.append([exist, state is None or os.path.basename(state.model_checkpoint_path),
                  latest and os.path.basename(latest), names, sorted(os.listdir(folder))])
print(json.dumps(found))
"""


@pytest.mark.parametrize(("before", "killed", "after"), [
    ([], None, None), ([], 7, 9), ([], 7, 3), ([5, 6], 3, 7), ([5, 6], 3, 4), ([5, 6], 8, 9),
    ([5, 6], 5, 9)])
def test_a_kill_before_each_change_of_the_folder(tmp_path, before, killed, after):
    """No file is left out of the index, from the first save on and for any numbers."""
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EACH_POINT, str(tmp_path),
         json.dumps([before, killed, after])], capture_output=True, text=True, check=True)
    found = json.loads(child.stdout)
    assert len(found) > 5
    path = f"ckpt-{killed or 1}"
    old = f"ckpt-{before[-1]}" if before else None
    for exist, model, latest, names, files in found:
        assert exist and model is not False and latest in (old, path)
        assert model in ((True, path) if old is None else (old, path))
        assert files == sorted(["checkpoint", *[f"{name}.safetensors" for name in names]])
        assert len(names) <= 2
    assert [x[2] for x in found] == sorted([x[2] for x in found], key=lambda x: x == path)
    assert found[0][2] == old and found[-1][2] == path
