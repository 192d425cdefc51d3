"""Single ops as expressions of each library, for `side_by_side.py --ops`.

Sizes are numbers of elements of the inputs; matrices are square, with at most that many elements.
The letters of an expression are the inputs that `inputs` returns.
"""

import math

import numpy as np

from .work import Work

SMALL, LARGE = 1_000, 262_144


def inputs(letters, n):
    """Return the inputs of an expression as arrays, by letter."""
    rng = np.random.default_rng(0)
    side = math.isqrt(n)
    shape = (side, side)
    make = {
        "x": lambda: rng.normal(size=n), "y": lambda: rng.normal(size=n),
        "o": lambda: np.sort(rng.normal(size=n)), "p": lambda: rng.uniform(.1, 3, n),
        "q": lambda: rng.uniform(.1, 3, n), "u": lambda: rng.uniform(-.99, .99, n),
        "t": lambda: rng.uniform(.01, .99, n),
        "i": lambda: rng.integers(1, 100, n, dtype=np.int32),
        "j": lambda: rng.integers(1, 20, n, dtype=np.int32),
        "b": lambda: rng.random(n) < .5, "c": lambda: rng.random(n) < .5,
        "m": lambda: rng.normal(size=shape), "k": lambda: rng.normal(size=shape),
        "s": lambda: spd(rng.normal(size=shape)), "r": lambda: rng.normal(size=side),
        "v": lambda: rng.normal(size=(side, 1)),
        "l": lambda: rng.integers(0, side, side, dtype=np.int32),
        "z": lambda: rng.normal(size=(1, side // 8, side // 8, 64)),
        "w": lambda: rng.normal(size=(max(n // 64, 1), 8, 8)),
        "f": lambda: rng.normal(size=(n, 2)) @ (1, 1j),
        "g": lambda: rng.normal(size=(n, 2)) @ (1, 1j),
        "d": lambda: rng.normal(size=(*shape, 2)) @ (1, 1j),
        "e": lambda: rng.normal(size=(*shape, 2)) @ (1, 1j),
    }
    found = {letter: np.asarray(make[letter]()) for letter in letters}
    single = {"f": np.float32, "c": np.complex64}
    return {letter: a.astype(single.get(a.dtype.kind, a.dtype)) for letter, a in found.items()}


def spd(a):
    """Return a symmetric, positive definite matrix."""
    return a @ a.T / len(a) + np.eye(len(a))


def parse(text, names, values):
    """Return an expression as a function, and the arguments."""
    return eval(f"lambda {', '.join(values)}: {text}", names), list(values.values())


def op(name, letters, sizes=(SMALL, LARGE), **texts):
    """Return a row per size; `texts` are the expressions of the libraries that have the op."""
    return [Work(f"{name}, {n:,}", "expression", {"texts": texts, "letters": letters, "n": n})
            for n in sizes]


def same(names, letters):
    """Return the rows of functions with the same name in all libraries."""
    arguments = ", ".join(letters)
    return [row for name in names.split()
            for row in op(name, letters, dualflow=f"df.math.{name}({arguments})",
                          torch=f"torch.{name}({arguments})", jax=f"jnp.{name}({arguments})")]


def special(name, letters, torch=None):
    arguments = ", ".join(letters)
    return op(name, letters, dualflow=f"df.math.{name}({arguments})",
              torch=f"torch.special.{torch or name}({arguments})",
              jax=f"jax.scipy.special.{torch or name}({arguments})")


def activation(name):
    return op(name, "x", dualflow=f"df.nn.{name}(x)", torch=f"F.{name}(x)",
              jax=f"jax.nn.{name}(x)")


def renamed(name, letters, torch, jax):
    arguments = ", ".join(letters)
    return op(name, letters, dualflow=f"df.math.{name}({arguments})",
              torch=f"torch.{torch}({arguments})", jax=f"jnp.{jax}({arguments})")


def reduction(name, torch, jax):
    return [row for axis in (0, 1) for row in op(
        f"{name}, axis {axis}", "m", dualflow=f"df.{name}(m, axis={axis})",
        torch=f"torch.{torch}(m, dim={axis})", jax=f"{jax}(m, axis={axis})")]


def everywhere(text, letters, name=None):
    """Return the rows of an expression that all libraries accept."""
    return op(name or text, letters, dualflow=text, torch=text, jax=text)


ELEMENTWISE = [
    *same("abs negative sign square exp expm1 sin cos tan tanh sinh cosh floor ceil round trunc "
          "asinh", "x"),
    *same("log log1p sqrt", "p"), *same("asin acos atan atanh", "u"),
    *same("add subtract multiply divide maximum minimum greater_equal", "xy"),
    *renamed("atan2", "xy", "atan2", "arctan2"), *renamed("pow", "px", "pow", "power"),
    *renamed("floormod", "xy", "remainder", "mod"),
    *op("floordiv", "xy", dualflow="df.math.floordiv(x, y)", torch="torch.floor_divide(x, y)",
        jax="jnp.floor_divide(x, y)"),
    *renamed("reciprocal", "p", "reciprocal", "reciprocal"),
    *op("rsqrt", "p", dualflow="df.math.rsqrt(p)", torch="torch.rsqrt(p)", jax="lax.rsqrt(p)"),
    *op("sigmoid", "x", dualflow="df.sigmoid(x)", torch="torch.sigmoid(x)",
        jax="jax.nn.sigmoid(x)"),
    *everywhere("x ** 2", "x"),
    *everywhere("x ** 3", "x"),
    *op("p ** 0.5", "p", dualflow="p ** .5", torch="p ** .5", jax="p ** .5"),
    *everywhere("p ** 2.5", "p"),
    *op("clip", "x", dualflow="df.clip_by_value(x, -1., 1.)", torch="torch.clamp(x, -1., 1.)",
        jax="jnp.clip(x, -1., 1.)"),
    *special("erf", "x"), *special("erfc", "x"), *special("digamma", "p"),
    *special("lgamma", "p", "gammaln"), *special("igamma", "pq", "gammainc"),
    *special("igammac", "pq", "gammaincc"), *special("ndtri", "t"), *special("xlogy", "xp"),
    *special("xlog1py", "xp"), *op("erfinv", "u", dualflow="df.math.erfinv(u)",
                                   torch="torch.erfinv(u)", jax="jax.scipy.special.erfinv(u)"),
    *op("polygamma", "p", dualflow="df.math.polygamma(1., p)", torch="torch.polygamma(1, p)",
        jax="jax.scipy.special.polygamma(1, p)"),
    *op("zeta", "pq", sizes=(SMALL,), dualflow="df.math.zeta(p + 1.5, q)",
        torch="torch.special.zeta(p + 1.5, q)", jax="jax.scipy.special.zeta(p + 1.5, q)"),
    *op("betainc", "pqt", sizes=(SMALL,), dualflow="df.math.betainc(p, q, t)",
        jax="jax.scipy.special.betainc(p, q, t)"),
    *renamed("is_nan", "x", "isnan", "isnan"), *renamed("is_inf", "x", "isinf", "isinf"),
    *renamed("is_finite", "x", "isfinite", "isfinite"),
    *op("less", "xy", dualflow="x < y", torch="x < y", jax="x < y"),
    *op("equal", "xy", dualflow="df.equal(x, y)", torch="x == y", jax="x == y"),
    *op("where", "bxy", dualflow="df.where(b, x, y)", torch="torch.where(b, x, y)",
        jax="jnp.where(b, x, y)"),
    *same("logical_and logical_or logical_xor", "bc"), *same("logical_not", "b"),
    *everywhere("i // j", "ij"),
    *everywhere("i % j", "ij"),
    *everywhere("i & j", "ij"),
    *everywhere("i ^ j", "ij"),
    *op("i << 3", "i", dualflow="df.bitwise.left_shift(i, 3)", torch="i << 3", jax="i << 3"),
    *same("gcd lcm", "ij"),
    *op("cast, float32 to int32", "x", dualflow="df.cast(x, df.int32)", torch="x.to(torch.int32)",
        jax="x.astype(jnp.int32)"),
    *op("cast, int32 to float32", "i", dualflow="df.cast(i, df.float32)",
        torch="i.to(torch.float32)", jax="i.astype(jnp.float32)"),
    *op("cast, float32 to bfloat16", "x", dualflow="df.cast(x, df.bfloat16)",
        torch="x.to(torch.bfloat16)", jax="x.astype(jnp.bfloat16)"),
    *op("cast, float32 to float16", "x", dualflow="df.cast(x, df.float16)",
        torch="x.to(torch.float16)", jax="x.astype(jnp.float16)"),
    *op("cast, bool to float32", "b", dualflow="df.cast(b, df.float32)",
        torch="b.to(torch.float32)", jax="b.astype(jnp.float32)"),
    *everywhere("m + r", "mr", "row broadcast"),
    *everywhere("m + v", "mv", "column broadcast"),
    *everywhere("x + 2.", "x", "number broadcast"),
]
COMPLEX = [
    *[row for text in ("f + g", "f * g", "f / g") for row in everywhere(
        text, "fg", f"complex {text}")],
    *[row for name in ("abs", "exp", "square", "angle") for row in op(
        f"complex {name}", "f", dualflow=f"df.math.{name}(f)", torch=f"torch.{name}(f)",
        jax=f"jnp.{name}(f)")],
    *op("complex sum", "f", dualflow="df.reduce_sum(f)", torch="torch.sum(f)", jax="jnp.sum(f)"),
    *everywhere("d @ e", "de", "complex matmul"),
    *op("gradient of abs(f g)", "fg",
        dualflow="df.grad(lambda z: df.reduce_sum(df.abs(z * g)))(f)",
        torch="torch.func.grad(lambda z: torch.sum(torch.abs(z * g)))(f)",
        jax="jax.grad(lambda z: jnp.sum(jnp.abs(z * g)))(f)"),
]
ACTIVATIONS = [
    *activation("relu"), *activation("relu6"), *activation("leaky_relu"), *activation("elu"),
    *activation("selu"), *activation("silu"), *activation("softplus"), *activation("gelu"),
    *op("softsign", "x", dualflow="df.nn.softsign(x)", torch="F.softsign(x)",
        jax="jax.nn.soft_sign(x)"),
    *op("gelu by tanh", "x", dualflow="df.nn.gelu(x, approximate=True)",
        torch="F.gelu(x, approximate='tanh')", jax="jax.nn.gelu(x, approximate=True)"),
    *op("log_sigmoid", "x", dualflow="df.math.log_sigmoid(x)", torch="F.logsigmoid(x)",
        jax="jax.nn.log_sigmoid(x)"),
    *op("softmax", "m", dualflow="df.nn.softmax(m)", torch="torch.softmax(m, 1)",
        jax="jax.nn.softmax(m)"),
    *op("softmax, axis 0", "m", dualflow="df.nn.softmax(m, axis=0)", torch="torch.softmax(m, 0)",
        jax="jax.nn.softmax(m, axis=0)"),
    *op("log_softmax", "m", dualflow="df.nn.log_softmax(m)", torch="torch.log_softmax(m, 1)",
        jax="jax.nn.log_softmax(m)"),
    *op("sparse cross-entropy", "ml",
        dualflow="df.nn.sparse_softmax_cross_entropy_with_logits(l, m)",
        torch="F.cross_entropy(m, l.long(), reduction='none')",
        jax="-jnp.take_along_axis(jax.nn.log_softmax(m), l[:, None], -1)"),
    *op("layer_norm", "mr", dualflow="df.nn.layer_norm(m, r, r)",
        torch="F.layer_norm(m, r.shape, r, r)",
        jax="(m - m.mean(-1, keepdims=True)) * lax.rsqrt(m.var(-1, keepdims=True) + 1e-5) * r + r"),
    *op("rms_norm", "mr", dualflow="df.nn.rms_norm(m, r)", torch="F.rms_norm(m, r.shape, r)",
        jax="m * lax.rsqrt((m * m).mean(-1, keepdims=True) + 1e-6) * r"),
    *op("l2_normalize", "m", dualflow="df.math.l2_normalize(m, axis=1)",
        torch="F.normalize(m, dim=1)",
        jax="m * lax.rsqrt(jnp.maximum((m * m).sum(1, keepdims=True), 1e-12))"),
]
REDUCTIONS = [
    *reduction("reduce_sum", "sum", "jnp.sum"), *reduction("reduce_mean", "mean", "jnp.mean"),
    *reduction("reduce_max", "amax", "jnp.max"), *reduction("reduce_min", "amin", "jnp.min"),
    *reduction("reduce_prod", "prod", "jnp.prod"), *reduction("argmax", "argmax", "jnp.argmax"),
    *reduction("argmin", "argmin", "jnp.argmin"),
    *reduction("reduce_logsumexp", "logsumexp", "jax.scipy.special.logsumexp"),
    *reduction("math.reduce_variance", "var", "jnp.var"),
    *reduction("math.reduce_std", "std", "jnp.std"), *reduction("cumsum", "cumsum", "jnp.cumsum"),
    *reduction("math.cumprod", "cumprod", "jnp.cumprod"),
    *reduction("math.cumulative_logsumexp", "logcumsumexp", "lax.cumlogsumexp"),
    *op("reduce_sum of all", "x", dualflow="df.reduce_sum(x)", torch="torch.sum(x)",
        jax="jnp.sum(x)"),
    *op("reduce_max of all", "x", dualflow="df.reduce_max(x)", torch="torch.max(x)",
        jax="jnp.max(x)"),
    *op("reduce_any", "b", dualflow="df.reduce_any(b)", torch="torch.any(b)", jax="jnp.any(b)"),
    *op("count_nonzero", "x", dualflow="df.math.count_nonzero(x)", torch="torch.count_nonzero(x)",
        jax="jnp.count_nonzero(x)"),
    *op("norm", "x", dualflow="df.norm(x)", torch="torch.linalg.vector_norm(x)",
        jax="jnp.linalg.norm(x)"),
    *[row for rows, sizes in (("1", (1_024, 1 << 20)), ("64", (65_536,))) for row in op(
        f"fft of {rows} rows", "x", sizes=sizes, dualflow=f"df.signal.fft(x.reshape({rows}, -1))",
        torch=f"torch.fft.fft(x.reshape({rows}, -1))", jax=f"jnp.fft.fft(x.reshape({rows}, -1))")],
    *op("rfft of 64 rows", "x", (65_536,), dualflow="df.signal.rfft(x.reshape(64, -1))",
        torch="torch.fft.rfft(x.reshape(64, -1))", jax="jnp.fft.rfft(x.reshape(64, -1))"),
    *op("irfft of 64 rows", "x", (65_664,), dualflow="df.signal.irfft(x.reshape(64, -1))",
        torch="torch.fft.irfft(x.reshape(64, -1))", jax="jnp.fft.irfft(x.reshape(64, -1))"),
    *op("rfft2d", "m", dualflow="df.signal.rfft2d(m)", torch="torch.fft.rfft2(m)",
        jax="jnp.fft.rfft2(m)"),
    *op("stft", "x", dualflow="df.signal.stft(x, 256, 128)",
        torch="torch.stft(x, 256, 128, window=torch.hann_window(256), center=False, "
        "return_complex=True)"),
    *op("cumsum of all", "x", dualflow="df.cumsum(x)", torch="torch.cumsum(x, 0)",
        jax="jnp.cumsum(x)"),
]
ARRAYS = [
    *op("transpose", "m", dualflow="df.transpose(m)", torch="m.t().contiguous()",
        jax="jnp.transpose(m)"),
    *op("concat, axis 0", "mk", dualflow="df.concat([m, k], 0)", torch="torch.cat([m, k], 0)",
        jax="jnp.concatenate([m, k], 0)"),
    *op("concat, axis 1", "mk", dualflow="df.concat([m, k], 1)", torch="torch.cat([m, k], 1)",
        jax="jnp.concatenate([m, k], 1)"),
    *op("stack, axis 0", "mk", dualflow="df.stack([m, k], 0)", torch="torch.stack([m, k], 0)",
        jax="jnp.stack([m, k], 0)"),
    *op("stack, last axis", "mk", dualflow="df.stack([m, k], -1)", torch="torch.stack([m, k], -1)",
        jax="jnp.stack([m, k], -1)"),
    *op("tile", "m", dualflow="df.tile(m, [2, 2])", torch="m.tile(2, 2)",
        jax="jnp.tile(m, (2, 2))"),
    *op("repeat", "m", dualflow="df.repeat(m, 2, axis=0)",
        torch="torch.repeat_interleave(m, 2, 0)", jax="jnp.repeat(m, 2, axis=0)"),
    *op("reverse", "x", dualflow="df.reverse(x, [0])", torch="x.flip(0)", jax="jnp.flip(x, 0)"),
    *op("reverse columns", "m", dualflow="df.reverse(m, [1])", torch="m.flip(1)",
        jax="jnp.flip(m, 1)"),
    *op("roll", "m", dualflow="df.roll(m, 3, 1)", torch="m.roll(3, 1)", jax="jnp.roll(m, 3, 1)"),
    *op("pad", "m", dualflow="df.pad(m, [[1, 1], [1, 1]])", torch="F.pad(m, (1, 1, 1, 1))",
        jax="jnp.pad(m, 1)"),
    *op("slice of columns", "m", dualflow="m[:, 3:20]", torch="m[:, 3:20].contiguous()",
        jax="m[:, 3:20]"),
    *op("every second column", "m", dualflow="m[:, ::2]", torch="m[:, ::2].contiguous()",
        jax="m[:, ::2]"),
    *op("tril", "m", dualflow="df.linalg.tril(m)", torch="torch.tril(m)", jax="jnp.tril(m)"),
    *op("diag_part", "m", dualflow="df.linalg.diag_part(m)", torch="torch.diagonal(m).clone()",
        jax="jnp.diagonal(m)"),
    *op("gather rows", "ml", dualflow="df.gather(m, l)", torch="m[l]", jax="m[l]"),
    *op("gather columns", "ml", dualflow="df.gather(m, l, axis=1)", torch="m[:, l]",
        jax="m[:, l]"),
    *op("scatter-add of rows", "mlk", dualflow="df.tensor_scatter_nd_add(m, l[:, None], k)",
        torch="m.index_add(0, l, k)", jax="m.at[l].add(k)"),
    *op("update of rows", "mlk", dualflow="df.tensor_scatter_nd_update(m, l[:, None], k)",
        torch="m.index_copy(0, l.long(), k)", jax="m.at[l].set(k)"),
    *op("boolean_mask", "xb", dualflow="df.boolean_mask(x, b)", torch="x[b]"),
    *op("where, indices", "b", dualflow="df.where(b)", torch="torch.nonzero(b)"),
    *op("one_hot", "l", dualflow="df.one_hot(l, 100)", jax="jax.nn.one_hot(l, 100)",
        torch="F.one_hot(l.long() % 100, 100).float()"),
    *op("sort", "x", dualflow="df.sort(x)", torch="torch.sort(x).values", jax="jnp.sort(x)"),
    *op("sort rows", "m", dualflow="df.sort(m)", torch="torch.sort(m).values", jax="jnp.sort(m)"),
    *op("argsort", "x", dualflow="df.argsort(x)", torch="torch.argsort(x)", jax="jnp.argsort(x)"),
    *op("top_k, 10", "x", dualflow="df.math.top_k(x, 10)", torch="torch.topk(x, 10)",
        jax="lax.top_k(x, 10)"),
    *op("unique", "i", dualflow="df.unique(i)", torch="torch.unique(i, return_inverse=True)"),
    *op("bincount", "i", dualflow="df.math.bincount(i)", torch="torch.bincount(i)",
        jax="jnp.bincount(i, length=100)"),
    *op("searchsorted", "oy", dualflow="df.searchsorted(o, y)", torch="torch.searchsorted(o, y)",
        jax="jnp.searchsorted(o, y)"),
    *op("range", "", dualflow="df.range(100_000)", torch="torch.arange(100_000)", sizes=(SMALL,)),
    *op("zeros", "", dualflow="df.zeros([100_000])", torch="torch.zeros(100_000)", sizes=(SMALL,)),
    *op("random normal", "", dualflow="df.random.normal([100_000])", torch="torch.randn(100_000)",
        sizes=(SMALL,)),
    *op("random uniform", "", dualflow="df.random.uniform([100_000])", torch="torch.rand(100_000)",
        sizes=(SMALL,)),
    *op("max_pool 3x3", "z", dualflow="df.nn.max_pool2d(z, 3, 2, 'VALID')",
        jax="lax.reduce_window(z, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), 'VALID')",
        torch="F.max_pool2d(z.permute(0, 3, 1, 2), 3, 2)", sizes=(LARGE,)),
    *op("avg_pool 2x2", "z", dualflow="df.nn.avg_pool2d(z, 2, 2, 'VALID')",
        torch="F.avg_pool2d(z.permute(0, 3, 1, 2), 2)", sizes=(LARGE,)),
]
MATRICES = [
    *everywhere("m @ k", "mk", "matrix by matrix"),
    *op("matrix by transpose", "mk", dualflow="df.matmul(m, k, transpose_b=True)",
        torch="m @ k.t()", jax="m @ k.T"),
    *op("matrix by vector", "mr", dualflow="df.linalg.matvec(m, r)", torch="m @ r", jax="m @ r"),
    *everywhere("w @ w", "w", "8 x 8 matrices"),
    *op("einsum ij,ij->i", "mk", dualflow="df.einsum('ij,ij->i', m, k)",
        torch="torch.einsum('ij,ij->i', m, k)", jax="jnp.einsum('ij,ij->i', m, k)"),
    *op("trace", "m", dualflow="df.linalg.trace(m)", torch="torch.trace(m)", jax="jnp.trace(m)"),
    *op("cholesky", "s", dualflow="df.linalg.cholesky(s)", torch="torch.linalg.cholesky(s)",
        jax="jnp.linalg.cholesky(s)"),
    *op("inv", "s", dualflow="df.linalg.inv(s)", torch="torch.linalg.inv(s)",
        jax="jnp.linalg.inv(s)"),
    *op("det", "s", dualflow="df.linalg.det(s)", torch="torch.linalg.det(s)",
        jax="jnp.linalg.det(s)"),
    *op("solve", "sm", dualflow="df.linalg.solve(s, m)", torch="torch.linalg.solve(s, m)",
        jax="jnp.linalg.solve(s, m)"),
    *op("qr", "m", dualflow="df.linalg.qr(m)", torch="torch.linalg.qr(m)",
        jax="jnp.linalg.qr(m)"),
    *op("eigh", "s", dualflow="df.linalg.eigh(s)", torch="torch.linalg.eigh(s)",
        jax="jnp.linalg.eigh(s)"),
    *op("svd", "m", dualflow="df.linalg.svd(m)", jax="jnp.linalg.svd(m, full_matrices=False)",
        torch="torch.linalg.svd(m, full_matrices=False)"),
    *op("pinv", "m", dualflow="df.linalg.pinv(m)", torch="torch.linalg.pinv(m)",
        jax="jnp.linalg.pinv(m)"),
]
OPS = [*ELEMENTWISE, *COMPLEX, *ACTIVATIONS, *REDUCTIONS, *ARRAYS, *MATRICES]
