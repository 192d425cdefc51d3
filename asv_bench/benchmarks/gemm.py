"""Matrix products. The limit is the FMA rate of the cores in use."""

import dualflow as df


class Matmul:
    params = ["256x256x256", "1024x1024x1024", "64x1024x1024", "1x1024x1024", "32x784x128",
              "8x16x32"]
    param_names = ["m_k_n"]

    def setup(self, m_k_n):
        m, k, n = map(int, m_k_n.split("x"))
        self.a = df.random.normal([m, k], seed=1)
        self.b = df.random.normal([k, n], seed=2)
        self.halves = [df.cast(x, "bfloat16") for x in (self.a, self.b)]
        w = df.Variable(df.transpose(self.b))
        self.kept = df.function(lambda a: df.matmul(a, w, transpose_b=True))
        df.matmul(self.a, self.b), df.matmul(*self.halves), self.kept(self.a)

    def time_float32(self, m_k_n):
        df.matmul(self.a, self.b)

    def time_bfloat16(self, m_k_n):
        df.matmul(*self.halves)

    def time_transposed_and_kept(self, m_k_n):
        """Multiply by a constant matrix, which is packed once."""
        self.kept(self.a)


class Integers:
    """Products and convolutions of uint8 with int8 and int32 sums."""

    params = ["1024x1024x1024", "128x768x3072", "8x1024x1024", "1x1024x1024"]
    param_names = ["m_k_n"]

    def setup(self, m_k_n):
        m, k, n = map(int, m_k_n.split("x"))
        self.a = df.cast(df.random.uniform([m, k], 0, 255, seed=1), df.uint8)
        self.b = df.cast(df.random.uniform([k, n], -127, 127, seed=2), df.int8)
        self.kept = df.function(lambda a: df.matmul(a, self.b, output_type=df.int32))
        self.kept(self.a)

    def time_product(self, m_k_n):
        df.matmul(self.a, self.b, output_type=df.int32)

    def time_constant_matrix(self, m_k_n):
        """Multiply by a constant matrix, which is packed once if there are few rows."""
        self.kept(self.a)


class IntegerConvolutions:
    """Images of uint8 and filters of int8: 3 x 3, 1 x 1 and depthwise."""

    params = ["3x3x64x64", "1x1x64x256", "3x3x1x64"]
    param_names = ["filters"]

    def setup(self, filters):
        shape = [*map(int, filters.split("x"))]
        self.x = df.cast(df.random.uniform([1, 56, 56, 64], 0, 255, seed=1), df.uint8)
        self.w = df.cast(df.random.uniform(shape, -127, 127, seed=2), df.int8)

    def time_convolution(self, filters):
        df.nn.conv_int32(self.x, self.w, padding="SAME", zero_point=128)


class ColdConstants:
    """Products of few rows with 48 MB of constant matrices, which are not in a cache."""

    params = [[16, 64, 128]]
    param_names = ["rows"]

    def setup(self, rows):
        constants = [df.random.normal([1024, 1024]) for _ in range(12)]
        self.x = df.random.normal([rows, 1024])
        self.products = df.function(lambda x: [x @ w for w in constants])
        self.products(self.x)

    def time_products(self, rows):
        self.products(self.x)


class QuantizedWeights:
    """Products with matrices of 8 and 4 bits: of one row, the limit is the memory bandwidth."""

    params = [[8, 4], ["1x4096x4096", "1x768x3072", "4x768x3072", "256x768x3072"]]
    param_names = ["bits", "m_k_n"]

    def setup(self, bits, m_k_n):
        m, k, n = map(int, m_k_n.split("x"))
        self.x = df.random.normal([m, k], seed=1)
        self.w = df.random.normal([k, n], seed=2)
        self.q = df.quantization.quantize_weights(self.w, bits)

    def time_product(self, bits, m_k_n):
        df.matmul(self.x, self.q)

    def time_quantize(self, bits, m_k_n):
        df.quantization.quantize_weights(self.w, bits)
