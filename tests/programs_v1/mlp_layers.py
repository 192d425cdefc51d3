import dualflow.compat.v1 as tf

from tests.programs_v1.digits import digits

train, test = digits(1000), digits(300, seed=1)
tf.set_random_seed(1)

x = tf.placeholder(tf.float32, [None, 784], name="images")
labels = tf.placeholder(tf.int64, [None], name="labels")
training = tf.placeholder_with_default(False, shape=(), name="training")

with tf.variable_scope("network", initializer=tf.glorot_uniform_initializer()):
    h = tf.layers.dense(x, 64, name="hidden1")
    h = tf.nn.relu(tf.layers.batch_normalization(h, training=training))
    h = tf.layers.dropout(h, rate=0.2, training=training)
    h = tf.layers.dense(h, 32, activation=tf.nn.elu, name="hidden2")
    logits = tf.layers.dense(h, 10, name="outputs")

loss = tf.reduce_mean(
    tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits), name="loss")
global_step = tf.Variable(0, trainable=False, name="global_step")
rate = tf.train.exponential_decay(0.01, global_step, 50, 0.8)
optimizer = tf.train.MomentumOptimizer(rate, momentum=0.9, use_nesterov=True)
with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
    grads_and_vars = optimizer.compute_gradients(loss)
    clipped = [(tf.clip_by_value(g, -1., 1.), v) for g, v in grads_and_vars]
    train_op = optimizer.apply_gradients(clipped, global_step=global_step)
accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(logits, labels, 1), tf.float32))

with tf.Session() as sess:
    tf.global_variables_initializer().run()
    for step in range(120):
        images, one_hot = train.next_batch(50)
        sess.run(train_op, {x: images, labels: one_hot.argmax(1), training: True})
    found = accuracy.eval({x: test.images, labels: test.labels.argmax(1)})
    steps, last_rate = sess.run([global_step, rate])
    print("accuracy:", found, "after", steps, "steps")
