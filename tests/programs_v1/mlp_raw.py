import dualflow.compat.v1 as tf

from tests.programs_v1.digits import digits

train, test = digits(1000), digits(300, seed=1)
n_hidden_1, n_hidden_2, n_input, n_classes = 64, 32, 784, 10
tf.set_random_seed(3)

X = tf.placeholder("float", [None, n_input])
Y = tf.placeholder("float", [None, n_classes])
weights = {
    "h1": tf.Variable(tf.random_normal([n_input, n_hidden_1], stddev=0.05)),
    "h2": tf.Variable(tf.random_normal([n_hidden_1, n_hidden_2], stddev=0.1)),
    "out": tf.Variable(tf.random_normal([n_hidden_2, n_classes], stddev=0.1)),
}
biases = {
    "b1": tf.Variable(tf.random_normal([n_hidden_1])),
    "b2": tf.Variable(tf.random_normal([n_hidden_2])),
    "out": tf.Variable(tf.random_normal([n_classes])),
}


def multilayer_perceptron(x):
    layer_1 = tf.nn.relu(tf.add(tf.matmul(x, weights["h1"]), biases["b1"]))
    layer_2 = tf.nn.relu(tf.add(tf.matmul(layer_1, weights["h2"]), biases["b2"]))
    return tf.matmul(layer_2, weights["out"]) + biases["out"]


logits = multilayer_perceptron(X)
loss_op = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=Y))
train_op = tf.train.AdamOptimizer(learning_rate=0.005).minimize(loss_op)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for step in range(80):
        batch_x, batch_y = train.next_batch(100)
        _, c = sess.run([train_op, loss_op], feed_dict={X: batch_x, Y: batch_y})
        if step % 20 == 0:
            print("step", step, "cost", c)
    correct = tf.equal(tf.argmax(tf.nn.softmax(logits), 1), tf.argmax(Y, 1))
    found = tf.reduce_mean(tf.cast(correct, "float")).eval({X: test.images, Y: test.labels})
    print("accuracy:", found)
