"""What an eager op and its record cost where data is small."""

import dualflow as df


class Dispatch:
    def setup(self):
        self.a = df.constant([1.0, 2.0, 3.0, 4.0])
        self.b = df.constant([5.0, 6.0, 7.0, 8.0])

    def time_add(self):
        self.a + self.b

    def time_multiply_by_number(self):
        self.a * 1.01

    def time_function(self):
        df.tanh(self.a)

    def time_index(self):
        self.a[0]


class Methods:
    """Those of NumPy's names, and the assignment of a part."""

    def setup(self):
        self.x = df.ones([4, 4])
        self.v = df.Variable(self.x)
        self.row = df.zeros([4])

    def time_sum(self):
        self.x.sum()

    def time_mean(self):
        self.x.mean(axis=0)

    def time_numpy(self):
        self.x.numpy()

    def time_assign_part(self):
        self.v[1:3].assign(self.row)


class Tape:
    def setup(self):
        self.x = df.Variable([0.1] * 16)
        self.step()

    def step(self):
        with df.GradientTape() as tape:
            y = self.x
            for _ in range(10):
                y = df.tanh(y * 1.01)
            loss = df.reduce_sum(y)
        return tape.gradient(loss, self.x)

    def time_ten_tanh(self):
        self.step()


class LongTape:
    timeout = 120

    def time_chain_of_100000(self):
        x = df.Variable(1.0)
        with df.GradientTape() as tape:
            y = x
            for _ in range(100_000):
                y = y + 1.0
        tape.gradient(y, x)
