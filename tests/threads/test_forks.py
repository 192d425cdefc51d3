"""Forks during other work: the child process has complete values and can continue."""

from tests.threads.child import run


def test_fork_during_a_program_of_another_thread(request):
    """The child has the value before or after a run, and can read, write and run."""
    run("""
n = 1 << 18
v, w = df.Variable(df.zeros([n])), df.Variable(df.zeros([n]))
one = df.ones([n])
@df.function
def step(x):
    v.assign_add(x)
    y = v * 1.
    for _ in range(4):
        y = df.sin(y)
    w.assign_add(x + y * 0.)
    return df.reduce_sum(y)
step(one)
stop = threading.Event()
def work():
    while not stop.is_set():
        step(one)
thread = threading.Thread(target=work, daemon=True)
thread.start()
time.sleep(0.05)
for k in range(FORKS):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        try:
            a, b = v.numpy(), w.numpy()
            assert a.min() == a.max() == b.min() == b.max()
            before = a[0]
            step(one)
            v.assign_add(one)
            assert (v.numpy() == before + 2).all()
        except BaseException as error:
            print("child", repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    time.sleep(0.003)
stop.set()
thread.join()
""".replace("FORKS", "500" if request.config.getoption("exhaustive") else "12"), timeout=300)


def test_fork_inside_a_program():
    """From a handler or a print function: parent and child both complete the run."""
    run("""
v = df.Variable([1.])
class Stream:
    def write(self, text):
        children.append(os.fork())
    def flush(self):
        pass
children, stream = [], Stream()
@df.function
def step(x):
    v.assign_add(x)
    df.print(x, output_stream=stream)
    v.assign_add(x)
step(df.constant([1.]))
assert v.numpy().tolist() == [3.]
v.assign([0.])
if children[0] == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 7
""")


def test_fork_while_another_thread_prints():
    """The variable has the value from when the other thread's program called Python."""
    run("""
v = df.Variable([1.])
inside, go = threading.Event(), threading.Event()
class Stream:
    def write(self, text):
        inside.set()
        go.wait()
    def flush(self):
        pass
@df.function
def step(x):
    v.assign_add(x)
    df.print(x, output_stream=Stream())
    v.assign_add(x)
thread = threading.Thread(target=step, args=(df.constant([1.]),))
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    good = v.numpy().tolist() == [2.]
    v.assign_add([5.])
    os._exit(0 if good and v.numpy().tolist() == [7.] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
go.set()
thread.join()
assert v.numpy().tolist() == [3.]
""")


def test_fork_while_other_threads_trace_draw_and_print(request):
    """No dualflow lock stays held in the child."""
    run("""
tracing = threading.Event()
@df.function
def slow(x, k):
    tracing.set()
    time.sleep(0.002)
    print(x)
    return x + k
class Null:
    def write(self, text): pass
    def flush(self): pass
out, sys.stdout = sys.stdout, Null()
generator = df.random.Generator(1)
stop = threading.Event()
def trace():
    k = 0
    while not stop.is_set():
        k += 1
        slow(df.ones([k % 50 + 1]), str(k) and "a" * 0 and k or k % 40)
def draw():
    while not stop.is_set():
        generator.normal([2])
threads = [threading.Thread(target=f, daemon=True) for f in (trace, draw)]
for t in threads:
    t.start()
tracing.wait()
for _ in range(FORKS):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        slow(df.ones([77]), 3)
        generator.normal([2])
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.set()
for t in threads:
    t.join()
""".replace("FORKS", "500" if request.config.getoption("exhaustive") else "15"), timeout=300)


def test_fork_waits_for_imports_of_other_threads(tmp_path):
    """The child could not load a module whose lock another thread of the parent held. Imports of
    the thread that forks do not matter, nor nested imports."""
    load = "from dualflow._util.imports import import_modules"
    for name, text in {
            "shared": "import threading; inside, done = threading.Event(), []",
            "outer": f"{load}; import_modules('slow')",
            "slow": "import shared, time; shared.inside.set(); time.sleep(.3); "
                    "shared.done.append(True)",
            "forks": f"""
import os, signal, shared
{load}
child = os.fork()
if child == 0:
    signal.alarm(20)
    import_modules("quick")
    os._exit(not shared.done)
""",
            "quick": ""}.items():
        (tmp_path / f"{name}.py").write_text(text)
    run(f"""
sys.path.insert(0, {str(tmp_path)!r})
import shared
{load}
thread = threading.Thread(target=import_modules, args=["outer"])
thread.start()
shared.inside.wait()
child = import_modules("forks").child
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
thread.join()
import_modules("quick")
""")


def test_fork_while_another_thread_computes_a_property():
    """The child computes the property of another object of the class."""
    run("""
from dualflow._util.cached import cached_property
inside, go = threading.Event(), threading.Event()
class Owner:
    def __init__(self, waits):
        self.waits = waits
    @cached_property
    def value(self):
        if self.waits:
            inside.set()
            go.wait()
        return []
slow = Owner(True)
thread = threading.Thread(target=lambda: slow.value)
thread.start()
inside.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    quick = Owner(False)
    os._exit(0 if quick.value is quick.value and slow.waits else 1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go.set()
thread.join()
assert code == 0 and slow.value is slow.value
""")
