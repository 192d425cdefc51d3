import dualflow.compat.v1 as tf

from tests.programs_v1.digits import digits

train, test = digits(800), digits(200, seed=1)
tf.set_random_seed(2)


def conv_net(images, n_classes, dropout, reuse, is_training):
    with tf.variable_scope("ConvNet", reuse=reuse):
        x = tf.reshape(images, shape=[-1, 28, 28, 1])
        conv1 = tf.layers.conv2d(x, 8, 5, activation=tf.nn.relu)
        conv1 = tf.layers.max_pooling2d(conv1, 2, 2)
        conv2 = tf.layers.conv2d(conv1, 16, 3, activation=tf.nn.relu)
        conv2 = tf.layers.max_pooling2d(conv2, 2, 2)
        fc1 = tf.layers.flatten(conv2)
        fc1 = tf.layers.dense(fc1, 64)
        fc1 = tf.layers.dropout(fc1, rate=dropout, training=is_training)
        out = tf.layers.dense(fc1, n_classes)
    return out


X = tf.placeholder(tf.float32, [None, 784])
Y = tf.placeholder(tf.float32, [None, 10])
logits_train = conv_net(X, 10, 0.25, reuse=False, is_training=True)
logits_test = conv_net(X, 10, 0.25, reuse=True, is_training=False)

loss_op = tf.losses.softmax_cross_entropy(Y, logits_train)
global_step = tf.train.get_or_create_global_step()
train_op = tf.train.AdamOptimizer(0.003).minimize(loss_op, global_step=global_step)
hits = tf.equal(tf.argmax(logits_test, axis=1), tf.argmax(Y, axis=1))
accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for step in range(30):
        batch_x, batch_y = train.next_batch(64)
        _, loss = sess.run([train_op, loss_op], feed_dict={X: batch_x, Y: batch_y})
    found = sess.run(accuracy, feed_dict={X: test.images, Y: test.labels})
    n_variables = len(tf.trainable_variables())
    print("loss", loss, "accuracy", found, "after", sess.run(global_step), "steps")
