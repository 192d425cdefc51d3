import dualflow.compat.v1 as tf
import numpy as np

tf.set_random_seed(10)
rng = np.random.RandomState(10)
seq_max_len, n_hidden = 12, 24


def sequences(n):
    """Return rising and random sequences of different lengths, padded with zeros."""
    data, labels, lengths = np.zeros([n, seq_max_len, 1]), np.zeros([n, 2]), []
    for k in range(n):
        length = rng.randint(4, seq_max_len + 1)
        rises = rng.rand() < 0.5
        start = rng.rand() * 0.5
        data[k, :length, 0] = start + np.arange(length) * 0.05 if rises else rng.rand(length)
        labels[k] = [1., 0.] if rises else [0., 1.]
        lengths.append(length)
    return data, labels, lengths


x = tf.placeholder("float", [None, seq_max_len, 1])
y = tf.placeholder("float", [None, 2])
seqlen = tf.placeholder(tf.int32, [None])
weights = tf.Variable(tf.random_normal([n_hidden, 2]))
biases = tf.Variable(tf.random_normal([2]))

cell = tf.nn.rnn_cell.GRUCell(n_hidden)
outputs, state = tf.nn.dynamic_rnn(cell, x, sequence_length=seqlen, dtype=tf.float32)
batch_size = tf.shape(outputs)[0]
index = tf.range(0, batch_size) * seq_max_len + (seqlen - 1)
last = tf.gather(tf.reshape(outputs, [-1, n_hidden]), index)
pred = tf.matmul(last, weights) + biases

cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
optimizer = tf.train.AdamOptimizer(0.02)
gradients, variables = zip(*optimizer.compute_gradients(cost))
gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
train_op = optimizer.apply_gradients(zip(gradients, variables))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1)), tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(100):
        data, labels, lengths = sequences(64)
        sess.run(train_op, feed_dict={x: data, y: labels, seqlen: lengths})
    data, labels, lengths = sequences(300)
    found, a, b = sess.run([accuracy, last, state], feed_dict={x: data, y: labels,
                                                               seqlen: lengths})
    print("accuracy:", found)
