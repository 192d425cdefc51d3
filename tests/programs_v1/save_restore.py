import dualflow.compat.v1 as tf
import os

from tests.programs_v1.digits import digits

train = digits(400)
tf.set_random_seed(11)
model_path = os.path.join(os.getcwd(), "model.ckpt")

x = tf.placeholder("float", [None, 784])
y = tf.placeholder("float", [None, 10])
hidden = tf.layers.dense(x, 32, tf.nn.relu, name="hidden")
pred = tf.layers.dense(hidden, 10, name="out")
cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=pred, labels=y))
global_step = tf.Variable(0, name="global_step", trainable=False)
optimizer = tf.train.AdamOptimizer(0.005).minimize(cost, global_step=global_step)
init = tf.global_variables_initializer()
saver = tf.train.Saver(max_to_keep=2)


def learn(sess, steps):
    for _ in range(steps):
        batch_x, batch_y = train.next_batch(100)
        sess.run(optimizer, feed_dict={x: batch_x, y: batch_y})


print("first session")
with tf.Session() as sess:
    sess.run(init)
    for _ in range(3):
        learn(sess, 10)
        save_path = saver.save(sess, model_path, global_step=global_step)
        print("saved in", os.path.basename(save_path))
    before = sess.run(cost, {x: train.images, y: train.labels})

print("second session")
with tf.Session() as sess:
    load_path = tf.train.latest_checkpoint(os.getcwd())
    saver.restore(sess, load_path)
    restored = sess.run(cost, {x: train.images, y: train.labels})
    learn(sess, 20)
    after = sess.run(cost, {x: train.images, y: train.labels})
    steps = sess.run(global_step)
kept = [os.path.basename(p) for p in saver.last_checkpoints]
print("cost", before, "restored", restored, "then", after)
