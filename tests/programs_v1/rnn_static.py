import dualflow.compat.v1 as tf

from tests.programs_v1.digits import digits

rnn = tf.contrib.rnn
train, test = digits(800), digits(200, seed=1)
tf.set_random_seed(9)
num_input, timesteps, num_hidden, num_classes = 28, 28, 32, 10

X = tf.placeholder("float", [None, timesteps, num_input])
Y = tf.placeholder("float", [None, num_classes])
weights = {"out": tf.Variable(tf.random_normal([num_hidden, num_classes]))}
biases = {"out": tf.Variable(tf.random_normal([num_classes]))}


def RNN(x, weights, biases):
    x = tf.unstack(x, timesteps, 1)
    lstm_cell = rnn.BasicLSTMCell(num_hidden, forget_bias=1.0)
    outputs, states = rnn.static_rnn(lstm_cell, x, dtype=tf.float32)
    return tf.matmul(outputs[-1], weights["out"]) + biases["out"]


logits = RNN(X, weights, biases)
prediction = tf.nn.softmax(logits)
loss_op = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(logits=logits, labels=Y))
train_op = tf.train.AdamOptimizer(0.02).minimize(loss_op)
correct_pred = tf.equal(tf.argmax(prediction, 1), tf.argmax(Y, 1))
accuracy = tf.reduce_mean(tf.cast(correct_pred, tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(60):
        batch_x, batch_y = train.next_batch(64)
        batch_x = batch_x.reshape((64, timesteps, num_input))
        sess.run(train_op, feed_dict={X: batch_x, Y: batch_y})
        if step % 20 == 0:
            print("step", step, "loss",
                  sess.run(loss_op, feed_dict={X: batch_x, Y: batch_y}))
    found = sess.run(accuracy, feed_dict={
        X: test.images.reshape((-1, timesteps, num_input)), Y: test.labels})
    print("accuracy:", found)
