import dualflow.compat.v1 as tf
import numpy as np

from tests.programs_v1.digits import digits

train, test = digits(500), digits(50, seed=1)

xtr = tf.placeholder("float", [None, 784])
xte = tf.placeholder("float", [784])

distance = tf.reduce_sum(tf.abs(tf.add(xtr, tf.negative(xte))), reduction_indices=1)
pred = tf.argmin(distance, 0)

accuracy = 0.
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for i in range(len(test.images)):
        nn_index = sess.run(pred, feed_dict={xtr: train.images, xte: test.images[i, :]})
        if np.argmax(train.labels[nn_index]) == np.argmax(test.labels[i]):
            accuracy += 1. / len(test.images)
print("accuracy:", accuracy)
