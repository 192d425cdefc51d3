import dualflow.compat.v1 as tf
import numpy as np

rng = np.random.RandomState(1)
train_x = rng.uniform(0., 10., 20)
train_y = 0.4 * train_x + 1.5 + rng.randn(20) * 0.1

X = tf.placeholder("float")
Y = tf.placeholder("float")
W = tf.Variable(rng.randn(), name="weight")
b = tf.Variable(rng.randn(), name="bias")

prediction = tf.add(tf.multiply(X, W), b)
cost = tf.reduce_sum(tf.pow(prediction - Y, 2)) / (2 * len(train_x))
optimizer = tf.train.GradientDescentOptimizer(0.01).minimize(cost)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for epoch in range(1500):
        for x, y in zip(train_x, train_y):
            sess.run(optimizer, feed_dict={X: x, Y: y})
        if (epoch + 1) % 500 == 0:
            c = sess.run(cost, feed_dict={X: train_x, Y: train_y})
            print("epoch", epoch + 1, "cost", "{:.5f}".format(c),
                  "W =", sess.run(W), "b =", sess.run(b))
    training_cost = sess.run(cost, feed_dict={X: train_x, Y: train_y})
    found = sess.run([W, b])
