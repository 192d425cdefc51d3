import dualflow.compat.v1 as tf

from tests.programs_v1.digits import digits

train, test = digits(800), digits(200, seed=1)
tf.set_random_seed(2)

X = tf.placeholder(tf.float32, [None, 784])
Y = tf.placeholder(tf.float32, [None, 10])
keep_prob = tf.placeholder(tf.float32)


def conv2d(x, W, b, strides=1):
    x = tf.nn.conv2d(x, W, strides=[1, strides, strides, 1], padding="SAME")
    return tf.nn.relu(tf.nn.bias_add(x, b))


def maxpool2d(x, k=2):
    return tf.nn.max_pool(x, ksize=[1, k, k, 1], strides=[1, k, k, 1], padding="SAME")


def conv_net(x, weights, biases, dropout):
    x = tf.reshape(x, shape=[-1, 28, 28, 1])
    conv1 = maxpool2d(conv2d(x, weights["wc1"], biases["bc1"]), k=2)
    conv2 = maxpool2d(conv2d(conv1, weights["wc2"], biases["bc2"]), k=2)
    fc1 = tf.reshape(conv2, [-1, weights["wd1"].get_shape().as_list()[0]])
    fc1 = tf.nn.relu(tf.add(tf.matmul(fc1, weights["wd1"]), biases["bd1"]))
    fc1 = tf.nn.dropout(fc1, dropout)
    return tf.add(tf.matmul(fc1, weights["out"]), biases["out"])


def weight(shape):
    return tf.Variable(tf.truncated_normal(shape, stddev=0.1))


weights = {"wc1": weight([5, 5, 1, 8]), "wc2": weight([5, 5, 8, 16]),
           "wd1": weight([7 * 7 * 16, 64]), "out": weight([64, 10])}
biases = {"bc1": tf.Variable(tf.zeros([8])), "bc2": tf.Variable(tf.zeros([16])),
          "bd1": tf.Variable(tf.zeros([64])), "out": tf.Variable(tf.zeros([10]))}

logits = conv_net(X, weights, biases, keep_prob)
prediction = tf.nn.softmax(logits)
loss_op = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=Y))
train_op = tf.train.AdamOptimizer(0.003).minimize(loss_op)
correct_pred = tf.equal(tf.argmax(prediction, 1), tf.argmax(Y, 1))
accuracy = tf.reduce_mean(tf.cast(correct_pred, tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(1, 31):
        batch_x, batch_y = train.next_batch(64)
        sess.run(train_op, feed_dict={X: batch_x, Y: batch_y, keep_prob: 0.8})
        if step % 10 == 0:
            loss, acc = sess.run([loss_op, accuracy],
                                 feed_dict={X: batch_x, Y: batch_y, keep_prob: 1.0})
            print("step", step, "loss", loss, "accuracy", acc)
    found = sess.run(accuracy, feed_dict={X: test.images, Y: test.labels, keep_prob: 1.0})
