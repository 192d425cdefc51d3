"""Random programs whose values are composites: sparse and ragged tensors, text and a class with
typed fields, as arguments, results, loop variables, results of branches and of inner functions.

They run as plain Python, traced, and traced without passes. Results and the variable must agree bit
for bit. Gradients must be close: those of tensors that control flow returns unchanged may be added
in another order.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import dualflow as df
from tests import sampling
from tests.programs.program import difference

LARGEST = 200               # elements; larger results are skipped
DEPTH = 2
WORDS = ["", "a", "b c", "Zoë", "3", "-1.5", "to be or", "x" * 20]
NESTED = {"cond": 2, "while": 1, "loop": 1, "branch": 1, "inner": 1}      # number of blocks


class Pair(df.experimental.ExtensionType):
    """A value with fields of each kind."""

    x: df.Tensor
    s: df.SparseTensor
    r: df.RaggedTensor
    t: df.strings.StringTensor
    name: str = "pair"
    n: int = 2


class Step(NamedTuple):
    kind: str
    i: int
    j: int
    k: int
    number: int
    blocks: tuple[Any, ...] = ()


def kind_of(x: Any) -> str:
    """Return the name of the pool that a value belongs to."""
    if isinstance(x, df.RaggedTensor):
        return "ragged text" if x.dtype == df.string else "ragged"
    kinds = {"sparse": df.SparseTensor, "text": df.strings.StringTensor, "pair": Pair}
    return next((name for name, one in kinds.items() if isinstance(x, one)), "dense")


def mean(x: Any) -> Any:
    """Return a number that depends on all elements of a value; from -1 to 1."""
    kind = kind_of(x)
    if kind == "pair":
        return (mean(x.x) + mean(x.s) + mean(x.r) + mean(x.t)) / 4.
    if kind == "text":
        x = df.cast(df.strings.to_hash_bucket_fast(x, 7), df.float32)
    elif kind == "ragged text":
        return mean(x.flat_values)
    elif kind == "sparse":
        x = x.values
    elif kind == "ragged":
        x = x.flat_values
    if x.dtype != df.float64:
        x = df.cast(x, df.float32)
    return df.tanh(df.reduce_sum(df.tanh(x)))


def settled(x: Any, like: Any) -> Any:
    """Return a value computed from `x` of the kind and the structure of `like`."""
    kind, m = kind_of(like), mean(x)
    if kind == "dense":
        return df.tanh(like) + df.cast(m, like.dtype)
    if kind in ("text", "ragged text"):
        more = df.where(m > 0., df.constant("+"), df.constant("-"))
        if kind == "text":
            return like + more
        return like.with_flat_values(df.strings.substr(like.flat_values + more, 0, 5))
    if kind == "sparse":
        return like.with_values(df.tanh(like.values) + df.cast(m, like.dtype))
    if kind == "ragged":
        return like.with_flat_values(df.tanh(like.flat_values) * df.cast(m, like.dtype))
    return Pair(settled(x, like.x), settled(x, like.s), settled(x, like.r), settled(x, like.t),
                like.name, like.n)


def number(x: Any, most: int) -> Any:
    """Return a data-dependent int32 from 0 to `most`."""
    return df.cast(df.abs(mean(x)) * 7., df.int32) % (most + 1)


def pick(k: int, *functions: Callable[[], Any]) -> Any:
    return functions[k % len(functions)]()


def sparse_with(s: Any, other: Any) -> Any:
    """Return the sparse tensor `s` with the number of columns of `other`."""
    return df.sparse.slice(s, [0, 0], [s.shape[0], other.shape[1]])


# name: (kinds of the operands, function of the operands and an integer k). Dense operands have any
# rank. A step that rejects its operands is skipped in every mode, because only shapes decide.
STEPS: dict[str, tuple[list[str], Callable[..., Any]]] = {
    "smooth": (["dense"], lambda x, k: [df.tanh, df.sin, df.nn.softplus][k % 3](x)),
    "binary": (["dense", "dense"], lambda x, y, k: [x + y, x * y, df.maximum(x, y)][k % 3]),
    "matrix": (["dense"], lambda x, k: df.reshape(x, [-1, 2 + k % 2])),
    "reduce": (["dense"], lambda x, k: df.reduce_sum(x, k % max(x.ndim, 1))),
    "from dense": (["dense"], lambda x, k: df.sparse.from_dense(df.nn.relu(x))),
    "to dense": (["sparse"], lambda s, k: df.sparse.to_dense(s)),
    "product": (["sparse", "dense"], lambda s, x, k: df.sparse.sparse_dense_matmul(
        s, x, adjoint_a=k % 2 == 1, adjoint_b=k % 3 == 1)),
    "sparse sum": (["sparse"], lambda s, k: [df.sparse.reduce_sum, df.sparse.reduce_max][k % 2](
        s, [None, 0, 1][k // 2 % 3], keepdims=k % 5 == 0)),
    "sparse elements": (["sparse"], lambda s, k: pick(
        k, lambda: s * 1.5, lambda: -s, lambda: s / 3., lambda: df.sparse.map_values(df.tanh, s),
        lambda: df.tanh(s), lambda: df.cast(df.cast(s * 3., df.int32), df.float32))),
    "sparse add": (["sparse", "sparse"], lambda s, t, k: df.sparse.add(s, t)),
    "sparse and dense": (["sparse", "dense"], lambda s, x, k: pick(
        k, lambda: df.sparse.add(s, x), lambda: s * x)),
    "sparse concat": (["sparse", "sparse"], lambda s, t, k: df.sparse.concat(k % 2, [s, t])),
    "sparse moves": (["sparse"], lambda s, k: pick(
        k, lambda: df.sparse.transpose(s), lambda: df.sparse.reorder(s),
        lambda: df.sparse.reshape(s, [-1, 2]), lambda: df.sparse.slice(s, [0, 1], [2, 2]),
        lambda: df.sparse.retain(s, s.values > 0.), lambda: df.sparse.softmax(s),
        lambda: df.sparse.reset_shape(s, [s.dense_shape[0] + 1, s.dense_shape[1]]))),
    "sparse rows": (["sparse"], lambda s, k: df.RaggedTensor.from_sparse(
        df.sparse.from_dense(df.sparse.to_dense(s) * 0. + 1.))),
    "ragged of rows": (["dense", "dense"], lambda x, y, k: df.ragged.stack(
        [df.reshape(x, [-1]), df.reshape(y, [-1])][:1 + k % 2])),
    "ragged of tensor": (["dense"], lambda x, k: df.RaggedTensor.from_tensor(
        x, lengths=[k % 3] * x.shape[0] if k % 2 else None)),
    "ragged of ids": (["dense"], lambda x, k: df.RaggedTensor.from_value_rowids(
        x, df.range(x.shape[0]) // (1 + k % 2), nrows=x.shape[0] + 1)),
    "ragged to tensor": (["ragged"], lambda r, k: r.to_tensor(k / 8.) if k % 2 else r.to_tensor()),
    "ragged to sparse": (["ragged"], lambda r, k: r.to_sparse()),
    "ragged elements": (["ragged"], lambda r, k: pick(
        k, lambda: r * 2., lambda: df.tanh(r), lambda: 1. - r, lambda: df.where(r > 0., r, -r),
        lambda: df.ragged.map_flat_values(df.sin, r), lambda: df.cast(r, df.float64) * .5)),
    "ragged binary": (["ragged", "ragged"], lambda r, q, k: [r + q, r * q][k % 2]),
    "ragged and dense": (["ragged", "dense"], lambda r, x, k: [r * x, x - r][k % 2]),
    "ragged reductions": (["ragged"], lambda r, k: [
        df.reduce_sum, df.reduce_max, df.reduce_mean, df.math.reduce_std][k % 3](
            r, [None, 0, 1, -1][k // 3 % 4])),
    "ragged moves": (["ragged"], lambda r, k: pick(
        k, lambda: r[1:], lambda: r[:, :2], lambda: r[0], lambda: df.concat([r, r], k % 3),
        lambda: df.stack([r, r]), lambda: df.gather(r, [0, k % 2, 0]), lambda: r.merge_dims(0, 1),
        lambda: df.tile(r, [2] + [1] * (r.ndim - 1)), lambda: df.expand_dims(r, k % 2),
        lambda: df.ragged.boolean_mask(r, r > 0.), lambda: df.reverse(r, [0]), lambda: r.values)),
    "ragged shape": (["ragged", "dense"], lambda r, x, k: pick(
        k, lambda: df.broadcast_to(df.reduce_sum(x), df.shape(r)), lambda: df.reshape(
            r.flat_values, df.shape(r)), lambda: df.ones(df.shape(r)) * r)),
    "ragged lengths": (["ragged"], lambda r, k: df.cast(pick(
        k, r.row_lengths, r.nrows, r.value_rowids, lambda: r.row_splits), df.float32)),
    "map rows": (["ragged"], lambda r, k: df.map_fn(
        lambda row: df.reduce_sum(df.tanh(row)), r, fn_output_signature=df.TensorSpec([]))),
    "text elements": (["text"], lambda t, k: pick(
        k, lambda: df.strings.upper(t), lambda: df.strings.strip(t), lambda: t + "!",
        lambda: df.strings.substr(t, 0, 3), lambda: df.strings.regex_replace(t, "[a-c]", "<>"),
        lambda: df.strings.join([t, t], "-"))),
    "text moves": (["text"], lambda t, k: pick(
        k, lambda: df.reshape(t, [-1]), lambda: df.gather(t, [0, 0]), lambda: t[:1],
        lambda: df.concat([t, t], 0), lambda: df.stack([t, t]), lambda: df.reverse(t, [0]),
        lambda: df.expand_dims(t, 0), lambda: df.tile(t, [2] * t.ndim), lambda: df.identity(t),
        lambda: df.strings.reduce_join(t), lambda: df.transpose(t))),
    "text choice": (["text", "text"], lambda t, u, k: df.where(df.equal(t, u), t, u)),
    "text numbers": (["text"], lambda t, k: df.cast(pick(
        k, lambda: df.strings.length(t), lambda: df.strings.to_hash_bucket_fast(t, 5),
        lambda: t == "a", lambda: df.strings.to_number(df.strings.as_string(
            df.strings.length(t)))), df.float32)),
    "number texts": (["dense"], lambda x, k: df.strings.as_string(df.cast(x * 4., df.int32))),
    "split": (["text"], lambda t, k: df.strings.split(df.reshape(t, [-1]))),
    "ragged text": (["ragged text"], lambda r, k: pick(
        k, lambda: r[1:], lambda: r.to_tensor("."), lambda: df.cast(
            df.strings.length(r), df.float32), lambda: df.strings.upper(r), lambda: r[0],
        lambda: df.concat([r, r], 0), lambda: r.flat_values,
        lambda: df.cast(r.row_lengths(), df.float32), lambda: df.concat([r, r + "-"], 1),
        lambda: r[:, :1], lambda: df.reverse(r, [1]), lambda: df.where(r == "a", "b", r),
        lambda: df.ragged.boolean_mask(r, r != ""), lambda: df.gather(r, [0]),
        lambda: df.RaggedTensor.from_tensor(r.to_tensor(), padding=""))),
    "pair": (["dense", "sparse", "ragged", "text"], lambda x, s, r, t, k: Pair(
        x, s, r, t, "ab"[k % 2], k % 3)),
    "field": (["pair"], lambda p, k: [p.x, p.s, p.r, p.t][k % 4]),
    "fields": (["pair"], lambda p, k: Pair(
        p.x * 2., -p.s, p.r + 1., p.t + "c", p.name + "c", p.n + 1)),
    "number field": (["pair"], lambda p, k: df.tile(df.reshape(p.x, [-1]), [p.n]) * float(p.n)),
}


def block(rng: np.random.Generator, depth: int, least: int, most: int) -> tuple[Step, ...]:
    """Return random steps, which may own blocks."""
    table, nested = sorted(STEPS), sorted(NESTED)
    made = []
    for _ in range(int(rng.integers(least, most))):
        kind = str(rng.choice(nested if depth < DEPTH and rng.random() < .3 else table))
        blocks = tuple([block(rng, depth + 1, 1, 4) for _ in range(NESTED.get(kind, 0))])
        made.append(Step(kind, *[int(x) for x in rng.integers(0, 60, 3)],
                         int(rng.integers(1 << 60)), blocks))
    return tuple(made)


def size(x: Any) -> int:
    """Return the number of stored elements of a value, of which one field is dense."""
    return sum([y.size for y in df.nest.flatten(leaves(x)) if isinstance(y, df.Tensor)])


class Program:
    """The program of a seed.

    The first runs, in plain Python, find the steps that are valid in each call; later runs skip
    all others, because a trace cannot skip a step whose shapes depend on data.
    """

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 41])
        self.seed = seed
        self.steps = block(rng, 0, 4, 11)
        self.inside = bool(rng.integers(2))         # whether the function computes the gradients
        rows = int(rng.integers(1, 4))
        self.args = [self._args(rng, rows) for _ in range(3)]
        self.valid: dict[int, bool] = {}            # by the number of a step
        self.learns = True

    def _args(self, rng: np.random.Generator, n: int) -> list[Any]:
        def floats(*shape: int) -> np.ndarray:
            return rng.normal(size=shape).astype("float32")

        a = floats(n, 3) * (rng.random((n, 3)) < .5)
        lengths = rng.integers(0, 4, n)
        r = df.RaggedTensor.from_row_lengths(df.constant(floats(lengths.sum())), lengths)
        s = df.sparse.from_dense(a)
        return [df.constant(floats(3, 3)), s, r,
                df.constant([str(w) for w in rng.choice(WORDS, n)]),
                Pair(floats(3), s * 2., r * .5, df.constant(["p", "q"]))]

    def body(self, wrap: Any, v: Any, *args: Any) -> list[Any]:
        """The function that is traced."""
        pool = [v.value(), *args]
        self.do(wrap, self.steps, pool)
        v.assign_add(df.zeros_like(v) + df.cast(mean(pool[-1]), v.dtype))
        return pool[-5:]

    def do(self, wrap: Any, steps: tuple[Step, ...], pool: list[Any]) -> Any:
        """Append the results of the valid steps to the pool, and return the last one."""
        for step in steps:
            if step.kind in NESTED:
                n = len(pool)
                more = [pool[-1 - k % n] for k in (step.j, step.i)] if step.kind in (
                    "loop", "while") else []
                for inside in step.blocks if self.learns and step.kind != "inner" else ():
                    self.do(wrap, inside, [*pool, *more])    # a trace records each branch
                made = getattr(self, step.kind)(wrap, step, pool)
            elif self.valid.setdefault(step.number, self.learns):
                try:
                    made = self.apply(step, pool)
                except (df.errors.DualflowError, IndexError):
                    if not self.learns:
                        raise
                    made = None
                self.valid[step.number] &= made is not None
            else:
                continue
            if made is not None:
                pool.append(made)
        return pool[-1]

    def apply(self, step: Step, pool: list[Any]) -> Any:
        """Return the result of a step of the table, or None if it has no operands."""
        kinds, function = STEPS[step.kind]
        operands = []
        for kind, i in zip(kinds, (step.i, step.j, step.k, step.i + step.j), strict=False):
            found = [x for x in pool if kind_of(x) == kind]
            if not found:
                return None
            operands.append(found[-1 - i % len(found)])
        made = function(*operands, step.k)
        return None if self.learns and size(made) > LARGEST else made

    # --- steps with blocks ---

    def cond(self, wrap: Any, step: Step, pool: list[Any]) -> Any:
        like = pool[-1 - step.i % len(pool)]

        def branch(k: int) -> Any:
            return settled(self.do(wrap, step.blocks[k], list(pool)), like)

        return df.cond(df.equal(number(pool[-1], 1), step.k % 2), lambda: branch(0),
                       lambda: branch(1) if step.j % 2 else like)

    def branch(self, wrap: Any, step: Step, pool: list[Any]) -> Any:
        x = pool[-1 - step.i % len(pool)]
        if number(pool[-1], 3) > 1:
            x = settled(self.do(wrap, step.blocks[0], list(pool)), x)
        return x

    def loop(self, wrap: Any, step: Step, pool: list[Any]) -> Any:
        x, y = pool[-1 - step.i % len(pool)], pool[-1 - step.j % len(pool)]
        for k in df.range(number(pool[-1], 3)):
            x = settled(self.do(wrap, step.blocks[0], [*pool, y, x]), x)
            if k > step.k % 4:
                break
        return x

    def inner(self, wrap: Any, step: Step, pool: list[Any]) -> Any:
        """Call an inner function with values of all kinds, once or twice."""
        def function(*values: Any) -> Any:
            return self.do(wrap, step.blocks[0], list(values))

        f, values = self.wrapped(wrap, function, step, pool[-4:]), pool[-4:]
        made = f(*values)
        return settled(f(*values[:-1], settled(made, values[-1])), made) if step.j % 3 else made

    def wrapped(self, wrap: Any, function: Any, step: Step, values: list[Any]) -> Any:
        """Return the traced inner function of a step, which is called with values like these."""
        return wrap(function)

    def while_(self, wrap: Any, step: Step, pool: list[Any]) -> Any:
        x, y = pool[-1 - step.i % len(pool)], pool[-1 - step.j % len(pool)]
        n = number(y, 3)

        def body(i: Any, x: Any, y: Any) -> Any:
            return i + 1, settled(self.do(wrap, step.blocks[0], [*pool, y, x]), x), settled(x, y)

        return df.while_loop(lambda i, x, y: i < n, body, (0, x, y))[1 + step.k % 2]

    # --- execution ---

    def run(self, wrap: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
        """Return the results of the calls and the variable after each, and the gradients."""
        v = df.Variable(np.linspace(-1., 1., 9, dtype="float32").reshape(3, 3))
        f = self.outer(wrap, lambda *args: self.body(wrap, v, *args))

        def graded(*args: Any) -> Any:
            x, s, r, _, p = args
            sources = [x, s.values, r.flat_values, p.x, p.s.values, v]
            with df.GradientTape() as tape:
                tape.watch(sources[:-1])
                made = (plain if self.inside else f)(*args)
                loss = df.add_n([df.cast(mean(y), df.float32) for y in made])
            gradients = tape.gradient(loss, sources, unconnected_gradients="zero")
            return made, loss, [df.convert_to_tensor(g) for g in gradients]

        plain = lambda *args: self.body(wrap, v, *args)  # noqa: E731
        whole = self.outer(wrap, graded) if self.inside else graded
        seen: list[Any] = []
        slopes: list[Any] = []
        for args in self.args:
            made, loss, gradients = whole(*args)
            seen += [leaves(made), loss, v.value()]
            slopes += gradients
        return seen, slopes

    def outer(self, wrap: Any, f: Any) -> Any:
        """Return the traced function of the program."""
        return wrap(f)

    def reference(self) -> tuple[list[Any], list[Any]]:
        """Return the results of plain Python, after it has found the valid steps."""
        known = None
        while known != self.valid:
            known = dict(self.valid)
            made = self.run(lambda f, signature=None: f)
        self.learns = False
        return made


setattr(Program, "while", Program.while_)


def leaves(x: Any) -> Any:
    """Return the parts of a value, with the types of composites, for comparison."""
    if isinstance(x, list | tuple):
        return [leaves(y) for y in x]
    kind = kind_of(x)
    if kind == "pair":
        return [kind, x.name, x.n, leaves(x.x), leaves(x.s), leaves(x.r), leaves(x.t)]
    if kind == "sparse":
        return [kind, x.indices, x.values, x.dense_shape]
    if kind == "text":
        return [kind, x.tolist()]
    if kind == "dense":
        return x
    return [kind, leaves(x.flat_values), *x.nested_row_splits]


def check(seed: int, kind: Any = Program) -> None:
    """Check that the program of a seed, traced with or without passes, matches plain Python."""
    program = kind(seed)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        want, slopes = program.reference()
        for passes in sampling.passes(seed):
            made, found = program.run(lambda f, signature=None, on=passes: df.function(
                f, input_signature=signature, passes=on))
            wrong = difference(made, want)
            assert wrong is None, f"seed {seed}, passes={passes}: {wrong}"
            for g, w in zip(found, slopes, strict=True):
                np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5, err_msg=f"seed {seed}")
