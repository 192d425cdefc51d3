"""Flags of the command line and the main function, each in a program of its own."""

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import dualflow.compat.v1 as tf

ROOT = Path(__file__).resolve().parents[2]
needs_absl = pytest.mark.skipif(importlib.util.find_spec("absl") is None, reason="needs absl-py")

DEFINITIONS = """
import sys
import dualflow.compat.v1 as tf
flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_string("folder", "/tmp/x", "Where files are.")
flags.DEFINE_integer(flag_name="steps", default_value=3, docstring="Number of steps.")
flags.DEFINE_float("rate", 0.5, "Learning rate.")
tf.flags.DEFINE_bool("train", True, "Whether to train.")
tf.flags.DEFINE_boolean("fast", False, "Whether to be fast.")
tf.flags.DEFINE_enum("mode", "a", ["a", "b"], "Mode.")
tf.flags.DEFINE_list("sizes", "1,2", "Sizes.")
tf.flags.DEFINE_multi_string("file", None, "Files.")
tf.flags.DEFINE_multi_integer("device", [0], "Devices.")
"""
SHOW = """
print(FLAGS.folder, FLAGS.steps, FLAGS.rate, FLAGS.train, FLAGS.fast, FLAGS.mode, FLAGS.sizes,
      FLAGS.file, FLAGS.device)
"""
DEFAULTS = "/tmp/x 3 0.5 True False a ['1', '2'] None [0]\n"


def run(tmp_path, code, *args):
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(code))
    return subprocess.run([sys.executable, str(path), *args], capture_output=True, text=True,
                          env={"PYTHONPATH": str(ROOT)})


@needs_absl
@pytest.mark.parametrize("args, says", [
    ((), DEFAULTS),
    (("--folder=a", "--steps", "7", "--rate=1e-3", "--notrain", "--fast", "--mode=b",
      "--sizes=3,4,5", "--file=x", "--file", "y", "--device=1", "--device=2"),
     "a 7 0.001 False True b ['3', '4', '5'] ['x', 'y'] [1, 2]\n"),
    (("-steps=4", "--train=false", "--fast=true"),
     "/tmp/x 4 0.5 False True a ['1', '2'] None [0]\n"),
    (("--unknown=1", "--other", "word"), DEFAULTS),
])
def test_the_first_access_parses_the_command_line(tmp_path, args, says):
    done = run(tmp_path, DEFINITIONS + SHOW, *args)
    assert done.stdout == says, done.stderr


@needs_absl
@pytest.mark.parametrize("args", [("--steps=x",), ("--mode=c",), ("--train=perhaps",),
                                  ("--steps",)])
def test_invalid_values_raise(tmp_path, args):
    done = run(tmp_path, DEFINITIONS + SHOW, *args)
    assert done.returncode and args[0].strip("-").partition("=")[0] in done.stderr


@needs_absl
def test_flags_behave_as_a_mapping(tmp_path):
    done = run(tmp_path, DEFINITIONS + """
assert "steps" in FLAGS and "absent" not in FLAGS and FLAGS.flag_values_dict()["steps"] == 9
assert {"steps", "rate"} <= {*FLAGS} and len(FLAGS) >= 9 and "steps" in dir(FLAGS)
assert FLAGS["steps"].default == 3 and FLAGS["steps"].help == "Number of steps."
FLAGS.steps = 12
assert FLAGS.steps == 12 and FLAGS["steps"].value == 12
assert FLAGS(["program", "--steps=5", "word"]) == ["program", "word"] and FLAGS.steps == 5
from absl import flags as theirs
assert theirs.FLAGS.steps == 5 and flags.IllegalFlagValueError is theirs.IllegalFlagValueError
assert {f.name for f in theirs.FLAGS.get_key_flags_for_module("__main__")} >= {"steps", "fast"} or (
    {f.name for f in theirs.FLAGS.get_key_flags_for_module(sys.argv[0])} >= {"steps", "fast"})
for use in (lambda: FLAGS.absent, lambda: flags.absent, lambda: FLAGS(["program", "--absent"])):
    try:
        use()
    except (AttributeError, flags.UnrecognizedFlagError):
        continue
    raise AssertionError
del FLAGS.fast
assert "fast" not in FLAGS
print("done")
""", "--steps=9")
    assert done.stdout == "done\n", done.stderr


MAIN = """
def main(argv):
    print(argv[1:], FLAGS.steps)
    return 4

if __name__ == "__main__":
    tf.app.run()
"""


@needs_absl
def test_run_calls_main_with_the_other_arguments(tmp_path):
    done = run(tmp_path, DEFINITIONS + MAIN, "--steps=8", "word", "--unknown")
    assert done.stdout == "['word', '--unknown'] 8\n" and done.returncode == 4, done.stderr


@needs_absl
def test_run_takes_main_and_arguments(tmp_path):
    done = run(tmp_path, DEFINITIONS + """
tf.app.run(main=lambda argv: print(argv, FLAGS.steps), argv=["name", "--steps=2", "x"])
""", "--steps=8")
    assert done.stdout == "['name', 'x'] 2\n" and done.returncode == 0, done.stderr


@needs_absl
def test_help_lists_the_flags_of_the_program(tmp_path):
    done = run(tmp_path, DEFINITIONS + MAIN, "--help")
    assert done.returncode and "--steps: Number of steps." in done.stdout
    assert "--[no]train: Whether to train." in done.stdout


@needs_absl
def test_required_flags(tmp_path):
    code = DEFINITIONS + """
flags.DEFINE_string("needed", None, "Needed.")
flags.mark_flag_as_required("needed")
flags.mark_flags_as_required(["steps", "file"])
""" + MAIN
    done = run(tmp_path, code, "--file=x")
    assert done.returncode and "--needed" in done.stderr
    assert run(tmp_path, code, "--file=x", "--needed=y").returncode == 4


@needs_absl
def test_messages_are_logged_once(tmp_path):
    """`absl.app` adds a handler to the root logger."""
    done = run(tmp_path, DEFINITIONS + """
def main(argv):
    tf.logging.warning("a message")

tf.logging.set_verbosity(tf.logging.INFO)
tf.app.run()
""")
    assert done.stderr.count("a message") == 1, done.stderr


def test_without_the_package(tmp_path):
    done = run(tmp_path, """
import sys
sys.modules["absl"] = None
import dualflow.compat.v1 as tf
for use in (lambda: tf.flags.DEFINE_string("a", "b", "c"), lambda: tf.flags.FLAGS.a,
            lambda: tf.app.run(print)):
    try:
        use()
    except ImportError as error:
        print(error)
""")
    assert done.stdout.count("pip install absl-py") == 3, done.stderr


def test_listed_names():
    assert tf.app.flags is tf.flags and "run" in dir(tf.app) and "DEFINE_string" in dir(tf.flags)
    assert tf.flags.FLAGS is tf.app.flags.FLAGS and not hasattr(tf.flags, "__wrapped__")
