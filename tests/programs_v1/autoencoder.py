import dualflow.compat.v1 as tf

from tests.programs_v1.digits import digits

train = digits(600)
tf.set_random_seed(5)
num_hidden_1, num_hidden_2, num_input = 64, 24, 784

X = tf.placeholder("float", [None, num_input])
init = tf.random_normal_initializer(stddev=0.1)
weights = {
    "encoder_h1": tf.get_variable("e1", [num_input, num_hidden_1], initializer=init),
    "encoder_h2": tf.get_variable("e2", [num_hidden_1, num_hidden_2], initializer=init),
    "decoder_h1": tf.get_variable("d1", [num_hidden_2, num_hidden_1], initializer=init),
    "decoder_h2": tf.get_variable("d2", [num_hidden_1, num_input], initializer=init),
}
biases = {name: tf.Variable(tf.zeros([n])) for name, n in [
    ("encoder_b1", num_hidden_1), ("encoder_b2", num_hidden_2), ("decoder_b1", num_hidden_1),
    ("decoder_b2", num_input)]}


def encoder(x):
    layer_1 = tf.nn.sigmoid(tf.add(tf.matmul(x, weights["encoder_h1"]), biases["encoder_b1"]))
    return tf.nn.sigmoid(tf.add(tf.matmul(layer_1, weights["encoder_h2"]), biases["encoder_b2"]))


def decoder(x):
    layer_1 = tf.nn.sigmoid(tf.add(tf.matmul(x, weights["decoder_h1"]), biases["decoder_b1"]))
    return tf.nn.sigmoid(tf.add(tf.matmul(layer_1, weights["decoder_h2"]), biases["decoder_b2"]))


y_pred = decoder(encoder(X))
loss = tf.reduce_mean(tf.pow(X - y_pred, 2))
optimizer = tf.train.RMSPropOptimizer(0.005).minimize(loss)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1, 401):
        batch_x, _ = train.next_batch(100)
        _, l = sess.run([optimizer, loss], feed_dict={X: batch_x})
        losses.append(l)
        if i % 100 == 0:
            print("step", i, "loss", l)
