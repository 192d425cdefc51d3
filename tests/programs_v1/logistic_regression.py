import dualflow.compat.v1 as tf

from tests.programs_v1.digits import digits

train, test = digits(1000), digits(300, seed=1)
batch_size = 100

x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.float32, [None, 10])
W = tf.Variable(tf.zeros([784, 10]))
b = tf.Variable(tf.zeros([10]))

pred = tf.nn.softmax(tf.matmul(x, W) + b)
cost = tf.reduce_mean(-tf.reduce_sum(y * tf.log(pred + 1e-9), reduction_indices=1))
optimizer = tf.train.GradientDescentOptimizer(0.1).minimize(cost)
init = tf.global_variables_initializer()

with tf.Session() as sess:
    sess.run(init)
    for epoch in range(8):
        avg_cost = 0.
        for i in range(len(train.images) // batch_size):
            batch_xs, batch_ys = train.next_batch(batch_size)
            _, c = sess.run([optimizer, cost], feed_dict={x: batch_xs, y: batch_ys})
            avg_cost += c * batch_size / len(train.images)
        print("epoch:", "%02d" % (epoch + 1), "cost =", "{:.5f}".format(avg_cost))

    correct_prediction = tf.equal(tf.argmax(pred, 1), tf.argmax(y, 1))
    accuracy = tf.reduce_mean(tf.cast(correct_prediction, tf.float32))
    found = accuracy.eval({x: test.images, y: test.labels})
    print("accuracy:", found)
