"""Variables written by one thread and read by others: no thread waits forever or sees a partially
written value."""

import pytest

from tests.threads.child import run

# A step of some ms that writes v without the GIL, and then continues to work.
STEP = """
n = 1 << 18
v = df.Variable(df.zeros([n]))
one = df.ones([n])

@df.function
def step(x):
    v.assign_add(x)
    y = v * 1.
    for _ in range(4):
        y = df.sin(y)
    return df.reduce_sum(y)

step(one)
"""


def test_looping_writer_starves_no_thread():
    """Readers, programs and assignments make progress while a thread writes continuously."""
    run(STEP + """
stop = threading.Event()
def write():
    while not stop.is_set():
        step(one)
writer = threading.Thread(target=write)
writer.start()
read = df.function(lambda: v * 2.)
two = df.Variable(0.)
@df.function
def both():
    two.assign_add(1.)
    v.assign_sub(v * 0.)
    return df.reduce_max(v) - df.reduce_min(v)
for _ in range(20):
    value = v.numpy()
    assert value.min() == value.max() >= 1
    assert (v + 1.).numpy().min() >= 2
    y = read().numpy()
    assert y.min() == y.max()
    assert both().item() == 0
    v.assign_add(one)
stop.set()
writer.join()
assert two.item() == 20
""")


def test_two_writers_take_turns():
    run(STEP + """
counts, stop = [0, 0], threading.Event()
def write(k):
    while not stop.is_set():
        step(one)
        counts[k] += 1
threads = [threading.Thread(target=write, args=(k,)) for k in range(2)]
for t in threads:
    t.start()
while min(counts) < 20:
    time.sleep(0.01)
stop.set()
for t in threads:
    t.join()
assert (v.numpy() == sum(counts) + 1).all()
""")


def test_lock_request_for_many_variables_does_not_starve():
    """A thread locks several variables that other threads write in turn."""
    run("""
n = 1 << 16
vs = [df.Variable(df.zeros([n])) for _ in range(4)]
one, stop, rounds = df.ones([n]), threading.Event(), [0]
def writer(k):
    @df.function
    def step(x):
        for w in (vs[k], vs[(k + 1) % 4]):
            w.assign_add(x)
            x = x + df.sin(w) * 0.
        return df.reduce_sum(x)
    step(one)
    while not stop.is_set():
        step(one)
@df.function
def spread():
    s = df.stack([df.reduce_max(w) - df.reduce_min(w) for w in vs])
    vs[0].assign_add(one)
    return s
@df.function
def total():
    return df.stack([w[0] for w in vs])
spread()
threads = [threading.Thread(target=writer, args=(k,)) for k in range(4)]
for t in threads:
    t.start()
for _ in range(50):
    assert not spread().numpy().any()
    assert total().numpy().min() >= 0
stop.set()
for t in threads:
    t.join()
""")


def test_ctrl_c_ends_waiting():
    run("""
v = df.Variable([1.])
class Stream:
    def write(self, text):
        inside.set()
        go.wait()
    def flush(self):
        pass
inside, go = threading.Event(), threading.Event()
@df.function
def step(x):
    v.assign_add(x)
    df.print(x, output_stream=Stream())
    v.assign_add(x)
signal.signal(signal.SIGINT, signal.default_int_handler)
thread = threading.Thread(target=step, args=(df.constant([1.]),))
thread.start()
inside.wait()
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    v.assign([7.])
except KeyboardInterrupt:
    pass
else:
    raise SystemExit("not interrupted")
go.set()
thread.join()
v.assign_add([1.])
assert v.numpy().tolist() == [4.]
""")


# --- during a program ----------------------------------------------------------------------------

PRINTER = """
v = df.Variable([1.])
class Stream:
    def __init__(self, act):
        self.act = act
    def write(self, text):
        self.act()
    def flush(self):
        pass
"""


def test_print_reads_variables_that_the_program_writes():
    """The printed value is eager mode's at that point, and does not change later."""
    run(PRINTER + """
seen = []
twice = df.function(lambda: v * 2.)
def look():
    seen.append((v.value(), v + 0., twice(), v.numpy(), str(v)))
stream = Stream(look)
def step(x):
    v.assign(x)
    df.print(x, output_stream=stream)
    v.assign_add(x)
    y = df.exp(v * 0.)
    df.print(x, output_stream=stream)
    v.assign_add(y)
    v.assign(v * v)
    df.print(x, output_stream=stream)
    return v.value()
def outcome(f):
    v.assign([1.])
    seen.clear()
    result = [f(df.constant([float(k)])).tolist() for k in range(1, 4)]
    return result, [(a.tolist(), b.tolist(), c.tolist(), d.tolist(), e) for a, b, c, d, e in seen]
want = outcome(step)
assert outcome(df.function(step)) == want, (outcome(df.function(step)), want)
assert outcome(df.function(step, passes=False)) == want
""")


def test_value_read_during_a_print_is_differentiable():
    run(PRINTER + """
w, f = df.Variable([2.]), df.Variable([3.], trainable=False)
product = df.function(lambda: w * f)
seen = []
def look():
    with df.GradientTape() as tape:
        y = product()
    seen.append([g if g is None else g.tolist() for g in tape.gradient(y, [w, f])])
stream = Stream(look)
@df.function
def step(x):
    w.assign(x)
    f.assign(x + 1.)
    df.print(x, output_stream=stream)
    w.assign_add(x)
    f.assign_add(x)
step(df.constant([5.]))
assert seen == [[[6.], None]], seen
""")


def test_print_must_not_write_variables_of_the_program():
    run(PRINTER + """
u = df.Variable([5.])
def write():
    u.assign_add([1.])                 # another one it may
    for act in (lambda: v.assign([9.]), lambda: add()):
        try:
            act()
        except RuntimeError as error:
            errors.append(str(error))
add = df.function(lambda: [v.assign_add([1.]), None][1])
add()
errors = []
stream = Stream(write)
@df.function
def step(x):
    v.assign(x)
    df.print(x, output_stream=stream)
    v.assign_add(x)
step(df.constant([2.]))
assert v.numpy().tolist() == [4.] and u.numpy().tolist() == [6.]
assert len(errors) == 2 and all("Variable_" in e and "program" in e for e in errors), errors
""")


def test_other_threads_read_while_a_program_prints():
    """A lock around printing and reading causes no deadlock, as in eager mode."""
    run(PRINTER + """
lock, inside, seen = threading.Lock(), threading.Event(), []
def locked():
    inside.set()
    time.sleep(0.05)
    with lock:
        pass
stream = Stream(locked)
@df.function
def step(x):
    v.assign_add(x)
    df.print(x, output_stream=stream)
    v.assign_add(x)
def read():
    inside.wait()
    with lock:
        time.sleep(0.1)
        seen.append(v.numpy().tolist())
thread = threading.Thread(target=read)
thread.start()
step(df.constant([1.]))
thread.join()
assert seen == [[2.]] and v.numpy().tolist() == [3.], seen
""")


def test_deadlocked_programs_raise():
    run("""
a, b = df.Variable([0.]), df.Variable([0.])
meet = threading.Barrier(2)
errors = []
class Stream:
    def __init__(self, other):
        self.other = other
    def write(self, text):
        meet.wait()
        try:
            self.other.assign_add([1.])
        except RuntimeError as error:
            errors.append(str(error))
    def flush(self):
        pass
def stepper(mine, other):
    stream = Stream(other)
    @df.function
    def step(x):
        mine.assign_add(x)
        df.print(x, output_stream=stream)
        mine.assign_add(x)
    return step
steps = [stepper(a, b), stepper(b, a)]
threads = [threading.Thread(target=s, args=(df.constant([10.]),)) for s in steps]
for t in threads:
    t.start()
for t in threads:
    t.join()
assert len(errors) == 1, errors
assert sorted([a.item(), b.item()]) == [20., 21.]
""")


# Takes about 100 ms in many instructions; checks for signals every 50.
LONG = """
import functools
from dualflow.errors import InUseError
n = 1 << 19
v, w = df.Variable(df.zeros([n])), df.Variable(df.zeros([n]))
one = df.ones([n])

@functools.partial(df.function, passes=False)
def long(x):
    for _ in range(12):
        v.assign_add(x)
        y = df.sin(v)
        for _ in range(15):
            y = df.sin(y)
        w.assign(y)
    return df.reduce_sum(y)

long(one)
"""


def test_signal_handler_during_a_program():
    """A checkpoint on SIGTERM: reads return complete values, writes raise."""
    run(LONG + """
read = df.function(lambda: v * 1.)
add = df.function(lambda: [v.assign_add(one), None][1])
read(), add()
refused, written, turn = [], 0, 0
def handler(number, frame):
    global turn, written
    if len(refused) > 1:
        return
    turn += 1
    for value in (v.numpy(), read().numpy(), (v + 0.).numpy()):
        assert value.min() == value.max()
    assert w.numpy().min() == w.numpy().max()
    try:
        add() if turn % 2 else v.assign_add(one)
        written += 1
    except InUseError as error:
        refused.append(error)
signal.signal(signal.SIGTERM, handler)
stop = threading.Event()
def ring():
    while not stop.wait(0.03):
        os.kill(os.getpid(), signal.SIGTERM)
thread = threading.Thread(target=ring)
thread.start()
calls = 0
while len(refused) < 2:
    long(one)
    calls += 1
stop.set()
thread.join()
assert (v.numpy() == 12 * (calls + 1) + 1 + written).all()
""")


def test_handler_that_waits_for_a_reader():
    """The handler waits for a thread that waits for the interrupted program."""
    run(LONG + """
stop = threading.Event()
def watch():
    while not stop.is_set():
        value = v.numpy()
        assert value.min() == value.max()
reader = threading.Thread(target=watch)
reader.start()
joined = []
def handler(number, frame):
    stop.set()
    reader.join()
    joined.append(True)
signal.signal(signal.SIGTERM, handler)
threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGTERM)).start()
while not joined:
    long(one)
""")


# --- atomic values -------------------------------------------------------------------------------

@pytest.mark.parametrize("size", [16, 1 << 18])
def test_intermediate_values_are_never_visible(size):
    """Readers of all kinds see a variable before or after a run. Small variables are read on the
    fast path."""
    run(f"""
import functools
n = {size}
v = df.Variable(df.zeros([n]))
big = df.ones([1 << 17])
@functools.partial(df.function, passes=False)      # which drop an assignment nobody reads
def step(x):
    v.assign(df.ones([n]) + v)
    y = x
    for _ in range(6):
        y = df.sin(y)
    v.assign(v * df.reduce_max(y) * 0.)
    return y
step(big)
stop = time.monotonic() + 0.5
read = df.function(lambda: v * 1.)
def reader(k):
    look = (v.value, lambda: v + 0., read, v.numpy)[k]
    while time.monotonic() < stop:
        y = np.asarray(look())
        if y.any():
            bad.append((k, y.min(), y.max()))
bad = []
threads = [threading.Thread(target=reader, args=(k,)) for k in range(4)]
for t in threads:
    t.start()
while time.monotonic() < stop:
    step(big)
for t in threads:
    t.join()
assert not bad, bad[:3]
""")


def test_eager_writes_are_atomic():
    run("""
n = 1 << 19
v = df.Variable(df.zeros([n]))
stop = time.monotonic() + 0.5
def writer(k):
    x = df.fill([n], float(k))
    while time.monotonic() < stop:
        v.assign(x)
        v.assign_add(np.ones(n, "int32"))       # cast without the GIL, then written
def reader():
    while time.monotonic() < stop:
        x = v.value()
        y = x.numpy()
        first = y.copy()
        assert first.min() == first.max()
        assert (x.numpy() == first).all()
def go(f, *args):
    try:
        f(*args)
    except BaseException as error:
        bad.append(error)
bad = []
threads = [threading.Thread(target=go, args=(writer, k)) for k in range(2)]
threads.append(threading.Thread(target=go, args=(reader,)))
for t in threads:
    t.start()
for t in threads:
    t.join()
assert not bad, bad
""")
