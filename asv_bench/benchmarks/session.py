"""The cost of a session's run: a small one, a training step, and a first run of many nodes."""

import numpy as np

import dualflow.compat.v1 as tf


class Run:
    def setup(self):
        with tf.Graph().as_default():
            self.x, self.v = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [2])
            self.y, self.z = self.x + 1.0, self.v * 2.0
            self.session = tf.Session()
        self.array = np.array([1.0, 2.0], np.float32)
        self.time_number_fed()
        self.time_array_fed()

    def time_number_fed(self):
        self.session.run(self.y, {self.x: 3.0})

    def time_array_fed(self):
        self.session.run(self.z, {self.v: self.array})


class Step:
    def setup(self):
        rng = np.random.RandomState(0)
        images = rng.rand(64, 784).astype(np.float32)
        labels = np.eye(10, dtype=np.float32)[rng.randint(10, size=64)]
        with tf.Graph().as_default():
            x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.float32, [None, 10])
            w1, b1 = tf.get_variable("w1", [784, 128]), tf.Variable(tf.zeros([128]))
            w2, b2 = tf.get_variable("w2", [128, 10]), tf.Variable(tf.zeros([10]))
            logits = tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2
            self.loss = tf.losses.softmax_cross_entropy(y, logits)
            self.step = tf.train.GradientDescentOptimizer(0.1).minimize(self.loss)
            self.session = tf.Session()
            self.session.run(tf.global_variables_initializer())
        self.feed = {x: images, y: labels}
        self.time_step()

    def time_step(self):
        self.session.run([self.step, self.loss], self.feed)


class FirstRun:
    def setup(self):
        with tf.Graph().as_default() as self.graph:
            self.x = self.y = tf.placeholder(tf.float32, [4])
            for _ in range(10_000):
                self.y = tf.tanh(self.y)

    def time_first_run_of_10000_nodes(self):
        self.graph.programs = type(self.graph.programs)(self.graph)
        tf.Session(graph=self.graph).run(self.y, {self.x: [1.0, 2.0, 3.0, 4.0]})
