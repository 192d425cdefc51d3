"""Ctrl-C at any time leaves no graph or tape recording, no lock held and the garbage collector
enabled."""

import builtins
import gc

import pytest

import dualflow as df
from dualflow._core import current_graph, current_tape
from tests.threads.child import run
from tests.threads.interrupt import interrupt, places

# Modules that enter and leave contexts.
FILES = ("tape.py", "trace.py", "printing.py", "graph.py", "names.py", "concrete.py",
         "function.py", "contexts.py", "contextlib.py", "test_ctrl_c.py")
made = []


class Null:
    def write(self, text):
        pass

    def flush(self):
        pass


def traces():
    """Trace a function that uses many features, and run it."""
    w = df.Variable([[1.], [2.]])
    optimizer = df.optimizers.SGD(0.1)
    inner = df.function(lambda x: df.tanh(x) * df.cast(df.range(2), df.float32))

    @df.function
    def step(x):
        with df.name_scope("loss"), df.GradientTape() as tape:
            y = inner(x) @ w
            with tape.stop_recording():
                df.print("y", y, output_stream=Null())
            loss = df.reduce_mean(y * y) + df.reduce_sum(df.random.uniform([2]))
        optimizer.minimize(loss, [w], tape=tape)
        return loss

    assert step(df.ones([3, 2])).shape == ()


def around_a_call():
    w = df.Variable(2.)
    f = df.function(lambda x: x * w)
    with df.GradientTape() as tape:
        y = f(df.constant(3.))
    assert tape.gradient(y, w).item() == 3.


def tapes():
    x = df.Variable([1., 2.])
    with df.GradientTape(persistent=True) as outer:
        with df.GradientTape() as tape:
            tape.watch(x)
            y = x * x
            with tape.stop_recording():
                y * 2.
            tape.reset()
            y = x * x * x
        g = tape.gradient(y, x)
    assert outer.gradient(g, x).tolist() == [6., 12.]
    assert df.grad(lambda x: df.reduce_sum(x * x))(df.ones([2])).tolist() == [2., 2.]


def graphs():
    g = df.Graph()
    made[:] = [g]
    with g.as_default():
        x = g.placeholder([None], name="x")
        with df.name_scope("a"), g.name_scope("b"):
            v = df.Variable(lambda: df.ones([2]))
            y = df.range(3)[0] + df.cast(df.size(x), df.int32) + df.cast(v[0], df.int32)
            (d,) = df.gradients(df.reduce_sum(x * x), [x])
    assert g.run([y, d], {x: [1., 2.]})[1].tolist() == [2., 4.]


def draws():
    before = df.random.Generator(3)
    assert before.normal([2]).shape == (2,)
    assert df.function(lambda: before.uniform([2]))().shape == (2,)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("work", [traces, around_a_call, tapes, graphs, draws],
                         ids=lambda f: f.__name__)
def test_interrupt_at_every_position(work, request):
    """Interrupt at each line of code that checks for signals: all lines of the contexts, and a
    share of the other lines."""
    work(), work()
    share = 1 if request.config.getoption("exhaustive") else 15
    own_print, kept = builtins.print, []
    for n in places(work, FILES, share):
        error = interrupt(work, n)
        kept.append(error)                      # keeps its frames alive, and their objects
        assert current_graph() is None, f"a graph is open after {error!r}"
        assert current_tape() is None, f"a tape is recording after {error!r}"
        assert builtins.print is own_print, f"print is still patched after {error!r}"
        assert not any(g.names._scopes for g in made), f"a scope is open after {error!r}"
        assert gc.isenabled(), f"the collector is suspended after {error!r}"
    work()


def test_interrupts_at_random_times(request):
    """Send signals, as users do, while functions are traced."""
    seconds = 60 if request.config.getoption("exhaustive") else 1
    out = run(f"""
import builtins, gc, random, warnings
from dualflow._core import current_graph, current_tape
from tests.threads.test_ctrl_c import traces, around_a_call, tapes, graphs
warnings.simplefilter("ignore")
def handler(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, handler)
traces()
own_print, kept, works = builtins.print, [], (traces, around_a_call, tapes, graphs)
took, n = [], 0
for work in works:
    work()
    start = time.perf_counter()
    work()
    took.append(time.perf_counter() - start)
random.seed(1)
end = time.monotonic() + {seconds}
while time.monotonic() < end:
    k = random.randrange(4)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, took[k]))
            works[k]()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as error:
        kept[:] = [error, *kept[:20]]
        n += 1
    assert current_graph() is None and current_tape() is None
    assert builtins.print is own_print and gc.isenabled()
for work in works:
    work()
print(n)
""", timeout=seconds + 60)
    assert int(out) > 20
