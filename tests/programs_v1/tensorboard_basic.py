import dualflow.compat.v1 as tf
import os

from tests.programs_v1.digits import digits

train = digits(400)
logs_path = os.path.join(os.getcwd(), "logs")

x = tf.placeholder(tf.float32, [None, 784], name="InputData")
y = tf.placeholder(tf.float32, [None, 10], name="LabelData")
W = tf.Variable(tf.zeros([784, 10]), name="Weights")
b = tf.Variable(tf.zeros([10]), name="Bias")
with tf.name_scope("Model"):
    pred = tf.nn.softmax(tf.matmul(x, W) + b)
with tf.name_scope("Loss"):
    cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(pred + 1e-9), reduction_indices=1))
with tf.name_scope("SGD"):
    optimizer = tf.train.GradientDescentOptimizer(0.1).minimize(cost)
with tf.name_scope("Accuracy"):
    acc = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    acc = tf.reduce_mean(tf.cast(acc, tf.float32))
init = tf.global_variables_initializer()
tf.summary.scalar("loss", cost)
tf.summary.scalar("accuracy", acc)
merged_summary_op = tf.summary.merge_all()

with tf.Session() as sess:
    sess.run(init)
    summary_writer = tf.summary.FileWriter(logs_path, graph=tf.get_default_graph())
    for step in range(20):
        batch_xs, batch_ys = train.next_batch(100)
        _, c, summary = sess.run([optimizer, cost, merged_summary_op],
                                 feed_dict={x: batch_xs, y: batch_ys})
        summary_writer.add_summary(summary, step)
    summary_writer.close()
    print("cost", c)
