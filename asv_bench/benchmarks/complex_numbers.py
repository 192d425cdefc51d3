"""Complex numbers: elementwise ops in L1 and in memory, sums, products and gradients."""

import dualflow as df

N = {"16 k": 1 << 14, "4 M": 1 << 22}


def numbers(dtype, *shape):
    return df.random.normal(shape, dtype=dtype, seed=1)


class Elementwise:
    params = [["complex64", "complex128"], [*N],
              ["add", "multiply", "divide", "square", "abs", "conj", "exp", "equal", "reduce_sum"]]
    param_names = ["dtype", "elements", "op"]

    def setup(self, dtype, elements, op):
        x, y = numbers(dtype, N[elements]), numbers(dtype, N[elements])
        function = getattr(df.math, op)
        two = op in ("add", "multiply", "divide", "equal")
        self.call = (lambda: function(x, y)) if two else lambda: function(x)
        self.call()

    def time_op(self, dtype, elements, op):
        self.call()


class Products:
    params = [["complex64", "complex128"], [64, 512]]
    param_names = ["dtype", "n"]

    def setup(self, dtype, n):
        self.a, self.b = numbers(dtype, n, n), numbers(dtype, n, n)
        self.gradient = df.function(df.grad(lambda a: df.reduce_sum(df.abs(a @ self.b))))
        self.gradient(self.a)

    def time_matmul(self, dtype, n):
        df.matmul(self.a, self.b)

    def time_gradient(self, dtype, n):
        self.gradient(self.a)


class Gradients:
    """A fused chain of elementwise ops and its gradient."""

    params = ["complex64", "complex128"]
    param_names = ["dtype"]

    def setup(self, dtype):
        self.x = numbers(dtype, 1 << 16)
        self.traced = df.function(df.grad(
            lambda z: df.reduce_sum(df.abs(df.exp(z * (0.1 + 0.2j)) / (2 + z)))))
        self.traced(self.x)

    def time_traced(self, dtype):
        self.traced(self.x)
