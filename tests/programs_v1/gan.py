import dualflow.compat.v1 as tf
import numpy as np

tf.set_random_seed(6)
rng = np.random.RandomState(6)
batch_size, noise_dim = 64, 4


def generator(z, reuse=None):
    with tf.variable_scope("generator", reuse=reuse):
        h = tf.layers.dense(z, 16, activation=tf.nn.leaky_relu)
        return tf.layers.dense(h, 2)


def discriminator(x, reuse=None):
    with tf.variable_scope("discriminator", reuse=reuse):
        h = tf.layers.dense(x, 32, activation=tf.nn.leaky_relu)
        h = tf.layers.dense(h, 16, activation=tf.nn.leaky_relu)
        return tf.layers.dense(h, 1)


gen_input = tf.placeholder(tf.float32, shape=[None, noise_dim], name="noise")
real_input = tf.placeholder(tf.float32, shape=[None, 2], name="real")
gen_sample = generator(gen_input)
disc_real = discriminator(real_input)
disc_fake = discriminator(gen_sample, reuse=True)

disc_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
    logits=disc_real, labels=tf.ones_like(disc_real))) + tf.reduce_mean(
        tf.nn.sigmoid_cross_entropy_with_logits(
            logits=disc_fake, labels=tf.zeros_like(disc_fake)))
gen_loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
    logits=disc_fake, labels=tf.ones_like(disc_fake)))

gen_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
disc_vars = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="discriminator")
train_gen = tf.train.AdamOptimizer(0.003, beta1=0.5).minimize(gen_loss, var_list=gen_vars)
train_disc = tf.train.AdamOptimizer(0.003, beta1=0.5).minimize(disc_loss, var_list=disc_vars)

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(1000):
        real = rng.randn(batch_size, 2) * 0.3 + [2., -1.]
        noise = rng.uniform(-1., 1., size=[batch_size, noise_dim])
        feed_dict = {real_input: real, gen_input: noise}
        _, _, gl, dl = sess.run([train_gen, train_disc, gen_loss, disc_loss],
                                feed_dict=feed_dict)
        if i % 250 == 0:
            print("step", i, "generator", gl, "discriminator", dl)
    samples = sess.run(gen_sample, {gen_input: rng.uniform(-1., 1., size=[500, noise_dim])})
    print("mean of samples", samples.mean(0))
