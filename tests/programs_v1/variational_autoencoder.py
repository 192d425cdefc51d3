import dualflow.compat.v1 as tf
import numpy as np

from tests.programs_v1.digits import digits

train = digits(600)
tf.set_random_seed(4)
image_dim, hidden_dim, latent_dim = 784, 96, 2


def glorot_init(shape):
    return tf.random_normal(shape=shape, stddev=1. / tf.sqrt(shape[0] / 2.))


weights = {
    "encoder_h1": tf.Variable(glorot_init([image_dim, hidden_dim])),
    "z_mean": tf.Variable(glorot_init([hidden_dim, latent_dim])),
    "z_std": tf.Variable(glorot_init([hidden_dim, latent_dim])),
    "decoder_h1": tf.Variable(glorot_init([latent_dim, hidden_dim])),
    "decoder_out": tf.Variable(glorot_init([hidden_dim, image_dim])),
}
biases = {
    "encoder_b1": tf.Variable(glorot_init([hidden_dim])),
    "z_mean": tf.Variable(glorot_init([latent_dim])),
    "z_std": tf.Variable(glorot_init([latent_dim])),
    "decoder_b1": tf.Variable(glorot_init([hidden_dim])),
    "decoder_out": tf.Variable(glorot_init([image_dim])),
}

input_image = tf.placeholder(tf.float32, shape=[None, image_dim])
encoder = tf.nn.tanh(tf.matmul(input_image, weights["encoder_h1"]) + biases["encoder_b1"])
z_mean = tf.matmul(encoder, weights["z_mean"]) + biases["z_mean"]
z_std = tf.matmul(encoder, weights["z_std"]) + biases["z_std"]
eps = tf.random_normal(tf.shape(z_std), dtype=tf.float32, mean=0., stddev=1.0, name="epsilon")
z = z_mean + tf.exp(z_std / 2) * eps


def decode(z):
    h = tf.nn.tanh(tf.matmul(z, weights["decoder_h1"]) + biases["decoder_b1"])
    return tf.nn.sigmoid(tf.matmul(h, weights["decoder_out"]) + biases["decoder_out"])


def vae_loss(x_reconstructed, x_true):
    encode_decode_loss = x_true * tf.log(1e-10 + x_reconstructed) \
        + (1 - x_true) * tf.log(1e-10 + 1 - x_reconstructed)
    encode_decode_loss = -tf.reduce_sum(encode_decode_loss, 1)
    kl_div_loss = 1 + z_std - tf.square(z_mean) - tf.exp(z_std)
    kl_div_loss = -0.5 * tf.reduce_sum(kl_div_loss, 1)
    return tf.reduce_mean(encode_decode_loss + kl_div_loss)


loss_op = vae_loss(decode(z), input_image)
train_op = tf.train.RMSPropOptimizer(learning_rate=0.003).minimize(loss_op)
noise_input = tf.placeholder(tf.float32, shape=[None, latent_dim])
generated = decode(noise_input)

losses = []
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(200):
        batch_x, _ = train.next_batch(64)
        _, l = sess.run([train_op, loss_op], feed_dict={input_image: batch_x})
        losses.append(l)
    grid = np.array([[a, b] for a in (-1., 0., 1.) for b in (-1., 0., 1.)])
    pictures = sess.run(generated, feed_dict={noise_input: grid})
    print("loss", losses[0], "to", losses[-1])
