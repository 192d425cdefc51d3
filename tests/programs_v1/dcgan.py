import dualflow.compat.v1 as tf
import numpy as np

from tests.programs_v1.digits import digits

train = digits(256)
tf.set_random_seed(6)


def generator(x, training, reuse=False):
    with tf.variable_scope("Generator", reuse=reuse):
        x = tf.layers.dense(x, units=7 * 7 * 8)
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=training))
        x = tf.reshape(x, shape=[-1, 7, 7, 8])
        x = tf.layers.conv2d_transpose(x, 4, 5, strides=2, padding="same")
        x = tf.nn.relu(tf.layers.batch_normalization(x, training=training))
        x = tf.layers.conv2d_transpose(x, 1, 5, strides=2, padding="same")
        return tf.nn.tanh(x)


def discriminator(x, training, reuse=False):
    with tf.variable_scope("Discriminator", reuse=reuse):
        x = tf.nn.leaky_relu(tf.layers.conv2d(x, 4, 5, strides=2, padding="same"))
        x = tf.layers.conv2d(x, 8, 5, strides=2, padding="same")
        x = tf.nn.leaky_relu(tf.layers.batch_normalization(x, training=training))
        return tf.layers.dense(tf.layers.flatten(x), 2)


noise = tf.placeholder(tf.float32, shape=[None, 20])
real_image = tf.placeholder(tf.float32, shape=[None, 28, 28, 1])
is_training = tf.placeholder(tf.bool)
gen_sample = generator(noise, is_training)
disc_real = discriminator(real_image, is_training)
disc_fake = discriminator(gen_sample, is_training, reuse=True)


def loss(logits, kind):
    labels = tf.fill([tf.shape(logits)[0]], kind)
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
        logits=logits, labels=labels))


disc_loss = loss(disc_real, 1) + loss(disc_fake, 0)
gen_loss = loss(disc_fake, 1)
gen_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Generator")
disc_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="Discriminator")
gen_updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="Generator")
disc_updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope="Discriminator")
with tf.control_dependencies(gen_updates):
    train_gen = tf.train.AdamOptimizer(0.002, 0.5, 0.999).minimize(gen_loss, var_list=gen_vars)
with tf.control_dependencies(disc_updates):
    train_disc = tf.train.AdamOptimizer(0.002, 0.5, 0.999).minimize(disc_loss, var_list=disc_vars)

disc_losses, gen_losses = [], []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(15):
        batch_x = train.next_batch(32)[0].reshape([-1, 28, 28, 1]) * 2. - 1.
        z = np.random.RandomState(i).uniform(-1., 1., size=[32, 20])
        _, dl = sess.run([train_disc, disc_loss],
                         feed_dict={real_image: batch_x, noise: z, is_training: True})
        _, gl = sess.run([train_gen, gen_loss], feed_dict={noise: z, is_training: True})
        disc_losses.append(dl)
        gen_losses.append(gl)
    pictures = sess.run(gen_sample, feed_dict={noise: z, is_training: False})
    print("discriminator", disc_losses[0], "to", disc_losses[-1])
