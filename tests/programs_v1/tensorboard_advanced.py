import dualflow.compat.v1 as tf
import os

from tests.programs_v1.digits import digits

train = digits(400)
logs_path = os.path.join(os.getcwd(), "logs")
tf.set_random_seed(12)

x = tf.placeholder(tf.float32, [None, 784], name="InputData")
y = tf.placeholder(tf.float32, [None, 10], name="LabelData")


def multilayer_perceptron(x, weights, biases):
    layer_1 = tf.nn.relu(tf.add(tf.matmul(x, weights["w1"]), biases["b1"]))
    tf.summary.histogram("relu1", layer_1)
    layer_2 = tf.nn.relu(tf.add(tf.matmul(layer_1, weights["w2"]), biases["b2"]))
    tf.summary.histogram("relu2", layer_2)
    return tf.add(tf.matmul(layer_2, weights["w3"]), biases["b3"])


weights = {
    "w1": tf.Variable(tf.random_normal([784, 32], stddev=0.05), name="W1"),
    "w2": tf.Variable(tf.random_normal([32, 16], stddev=0.2), name="W2"),
    "w3": tf.Variable(tf.random_normal([16, 10], stddev=0.2), name="W3"),
}
biases = {
    "b1": tf.Variable(tf.zeros([32]), name="b1"),
    "b2": tf.Variable(tf.zeros([16]), name="b2"),
    "b3": tf.Variable(tf.zeros([10]), name="b3"),
}
with tf.name_scope("Model"):
    pred = multilayer_perceptron(x, weights, biases)
with tf.name_scope("Loss"):
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
with tf.name_scope("SGD"):
    optimizer = tf.train.GradientDescentOptimizer(0.2)
    grads = tf.gradients(loss, tf.trainable_variables())
    grads = list(zip(grads, tf.trainable_variables()))
    apply_grads = optimizer.apply_gradients(grads_and_vars=grads)
with tf.name_scope("Accuracy"):
    acc = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1)), tf.float32))

tf.summary.scalar("loss", loss)
tf.summary.scalar("accuracy", acc)
tf.summary.image("input", tf.reshape(x, [-1, 28, 28, 1]), max_outputs=2)
for var in tf.trainable_variables():
    tf.summary.histogram(var.name.replace(":", "_"), var)
for grad, var in grads:
    tf.summary.histogram(var.name.replace(":", "_") + "/gradient", grad)
merged_summary_op = tf.summary.merge_all()

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    summary_writer = tf.summary.FileWriter(logs_path, graph=tf.get_default_graph())
    for step in range(30):
        batch_xs, batch_ys = train.next_batch(100)
        _, c, summary = sess.run([apply_grads, loss, merged_summary_op],
                                 feed_dict={x: batch_xs, y: batch_ys})
        summary_writer.add_summary(summary, step)
    summary_writer.close()
    print("cost", c)
