"""Run one program or the cells of one notebook with `tensorflow` bound to dualflow.

`python -m tests.public.cells PATH SECONDS` prints a JSON line for each cell: its number, its state
and the beginning of its error. A program counts as one cell. The last line of the output lists
the names that dualflow lacks. `tests/public/report.py` starts the process and reads these lines.

Files that use names of TensorFlow 1 find the name `tensorflow` bound to `dualflow.compat.v1`.

States: "runs"; "fails"; "follows" if an earlier cell that did not run defines the missing name;
"needs" if the cell needs the network or a package that is not installed; "time" after SECONDS.
"""

import ast
import contextlib
import json
import os
import re
import runpy
import signal
import socket
import sys
from functools import partial

import dualflow.tensorflow

OUTPUT = os.fdopen(os.dup(1), "w")      # a cell may print whatever it likes
FIRST = re.compile(r"tf\.(Session|placeholder|get_variable|contrib|enable_eager_execution|"
                   r"random_normal|train\.AdamOptimizer)\b|tensorflow\.contrib")
OFFLINE = "no network in this process"


class _Time(BaseException):
    """The time limit of a cell."""


def stop(*_):
    raise _Time


def offline(*_, **__):
    raise OSError(OFFLINE)


def say(**line):
    print(json.dumps(line), file=OUTPUT, flush=True)


def is_first(path):
    """Return True if a file is written for TensorFlow 1."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return FIRST.search(text) is not None and not re.search(r"compat\.v1|tf\.function", text)


def names(source):
    """Return the names that a cell binds."""
    found = set()
    with contextlib.suppress(SyntaxError):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.alias):
                found.add(node.asname or node.name.partition(".")[0])
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def chain(error):
    """Return an error and the errors that it was raised from or while handling."""
    found = []
    while error is not None and error not in found:
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def state(error, unbound):
    """Return the state of a cell that raised `error`."""
    for part in chain(error):
        if isinstance(part, _Time):
            return "time"
        if OFFLINE in str(part):
            return "needs"
        if isinstance(part, ModuleNotFoundError) and part.name:
            root = part.name.partition(".")[0]
            return "fails" if root in ("tensorflow", "keras", "dualflow") else "needs"
        if isinstance(part, NameError) and part.name in unbound:
            return "follows"
    return "fails"


def execute(source, scope, file):
    """Run a cell as a notebook does: the value of a last expression is shown."""
    tree = ast.parse(source, file)
    shown = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        shown = ast.Expression(tree.body.pop().value)
    exec(compile(tree, file, "exec"), scope)
    if shown is not None:
        print(repr(eval(compile(shown, file, "eval"), scope)))


def attempt(number, source, call, unbound, seconds):
    """Call `call` and report its state; add the names of a cell that did not run to `unbound`."""
    error = None
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        call()
    except (SystemExit, KeyboardInterrupt) as end:
        error = end if getattr(end, "code", 1) else None
    except BaseException as caught:
        error = caught
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if error is None:
        unbound -= names(source)
        say(cell=number, state="runs", error="")
        return
    unbound |= names(source)
    lines = [line for line in f"{type(error).__name__}: {error}".splitlines() if line.strip()]
    n = 2 if lines[0].endswith((":", "call().")) else 1      # Keras names the cause later
    say(cell=number, state=state(error, unbound), error=" ".join(lines[:n]).strip())


def run(path, seconds):
    """Run a file; see the head of this module."""
    signal.signal(signal.SIGALRM, stop)
    socket.getaddrinfo = socket.create_connection = socket.socket.connect = offline
    sys.argv = [path]
    sys.path.insert(0, os.path.dirname(path))
    unbound = set()
    if is_first(path):
        dualflow.tensorflow.bind(1)
    if path.endswith(".ipynb"):
        scope = sys.modules["__main__"].__dict__
        for number, source in enumerate(dualflow.tensorflow.cells(path)):
            file = f"{path}.{number}.py"
            with open(os.path.basename(file), "w", encoding="utf-8") as copy:
                copy.write(source)      # traced functions read their source
            attempt(number, source, partial(execute, source, scope, os.path.abspath(copy.name)),
                    unbound, seconds)
    else:
        attempt(0, "", partial(runpy.run_path, path, run_name="__main__"), unbound, seconds)
    say(missing=dict(dualflow.tensorflow.missing))


if __name__ == "__main__":
    run(sys.argv[1], float(sys.argv[2]))
    os._exit(0)                         # without waiting for threads of the program
