"""Containers that contain themselves, or are nested too deeply, are rejected by every function that
takes nested structures."""

from tests.threads.child import run


def test_cyclic_containers_are_rejected():
    run("""
import dataclasses, io, resource
resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))        # a loop that grows ends, too
x = df.Variable(1.)
a_list = [x]
a_list += [a_list, a_list]
a_dict = {"a": x}
a_dict["d"] = a_dict
a_tuple = ([x],)
a_tuple[0].append(a_tuple)
@dataclasses.dataclass
class Pair:
    a: object
    b: object
pair = Pair(x, None)
pair.b = pair
deep = x
for _ in range(100_000):
    deep = [deep]
def watch(nest):
    with df.GradientTape() as tape:
        tape.watch(nest)
def gradient(target, sources, seeds=None):
    with df.GradientTape() as tape:
        y = x * x
    tape.gradient(target or y, sources, output_gradients=seeds)
def in_a_graph(ask):
    g = df.Graph()
    with g.as_default():
        y = x * x
        ask(g, y)
sgd = df.optimizers.SGD(0.1)
doors = {
    "watch": watch, "sources": lambda n: gradient(None, n), "targets": lambda n: gradient(n, x),
    "seeds": lambda n: gradient(None, x, n), "argument": df.function(lambda n: x * 1.),
    "keyword": lambda n: df.function(lambda n: x * 1.)(n=n),
    "result": lambda n: df.function(lambda: n)(), "constant": df.constant,
    "convert": df.convert_to_tensor, "Variable": df.Variable, "assign": x.assign,
    "signature": lambda n: df.function(lambda n: x, input_signature=[n])(x),
    "apply_gradients": sgd.apply_gradients, "apply_pairs": lambda n: sgd.apply_gradients([(n, x)]),
    "apply_to": lambda n: sgd.apply_gradients([(df.constant(1.), n)]),
    "minimize": lambda n: sgd.minimize(lambda: x * x, n), "build": sgd.build,
    "grad": df.grad(lambda n: x * 1.), "value_and_grad": df.value_and_grad(lambda n: x * 1.),
    "custom_gradient": df.custom_gradient(lambda n: (x * 1., lambda g: g)),
    "operator": lambda n: x + n, "stack": df.stack, "concat": lambda n: df.concat(n, 0),
    "add_n": df.add_n, "run": df.Graph().run,
    "gradients": lambda n: in_a_graph(lambda g, y: df.gradients(y, n)),
    "of": lambda n: in_a_graph(lambda g, y: df.gradients(n, x)),
    "clip": lambda n: df.clip_by_global_norm(n, 1.),
    "print": lambda n: df.print(n, output_stream=io.StringIO()),
}
def too_long(number, frame):
    raise BaseException("hangs")
signal.signal(signal.SIGALRM, too_long)
nests = {"list": a_list, "dict": a_dict, "tuple": a_tuple, "pair": pair, "deep": deep}
for door, fn in doors.items():
    for kind, nest in nests.items():
        if (door, kind) == ("print", "pair"):
            continue                       # a leaf like any other
        signal.alarm(5)
        try:
            fn(nest)
        except (TypeError, ValueError) as error:
            assert len(str(error)) < 1000
        except BaseException as error:
            raise SystemExit(f"{door} of {kind}: {error!r}"[:500])
        else:
            raise SystemExit(f"{door} of {kind}: taken")
        finally:
            signal.alarm(0)
""", timeout=120)


def test_repeated_list_is_not_a_cycle():
    run("""
x = df.Variable(1.)
one = [x]
with df.GradientTape() as tape:
    y = x * x
assert [[g.item() for g in part] for part in tape.gradient(y, [one, one])] == [[2.], [2.]]
f = df.function(lambda n: n[0][0] * n[1][0] + 0.)
assert f([one, one]).item() == 1.
""")


def test_python_print_accepts_cyclic_containers():
    assert run("""
cycle = [1]
cycle.append(cycle)
f = df.function(lambda x: (print(cycle), x * 1.)[1])
f(df.ones([2]))
""") == "[1, [...]]\n"
