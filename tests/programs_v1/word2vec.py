import dualflow.compat.v1 as tf
import numpy as np

from tests.programs_v1.digits import numbered_text

words = numbered_text()
tf.set_random_seed(8)
rng = np.random.RandomState(8)
vocabulary_size, embedding_size, num_sampled, batch_size = 50, 16, 8, 128


def next_batch():
    at = rng.randint(1, len(words) - 1, batch_size)
    return words[at], words[at + rng.choice([-1, 1], batch_size)].reshape(-1, 1)


X = tf.placeholder(tf.int32, shape=[None])
Y = tf.placeholder(tf.int32, shape=[None, 1])
with tf.device("/cpu:0"):
    embedding = tf.Variable(tf.random_uniform([vocabulary_size, embedding_size], -1.0, 1.0))
    X_embed = tf.nn.embedding_lookup(embedding, X)
    weights = tf.Variable(tf.truncated_normal([vocabulary_size, embedding_size], stddev=0.25))
    biases = tf.Variable(tf.zeros([vocabulary_size]))

nce = tf.reduce_mean(tf.nn.nce_loss(weights=weights, biases=biases, labels=Y, inputs=X_embed,
                                    num_sampled=num_sampled, num_classes=vocabulary_size))
sampled = tf.reduce_mean(tf.nn.sampled_softmax_loss(
    weights=weights, biases=biases, labels=Y, inputs=X_embed, num_sampled=num_sampled,
    num_classes=vocabulary_size))
train_op = tf.train.GradientDescentOptimizer(1.0).minimize(nce)
train_sampled = tf.train.AdagradOptimizer(0.5).minimize(sampled)

X_embed_norm = X_embed / tf.sqrt(tf.reduce_sum(tf.square(X_embed)))
embedding_norm = embedding / tf.sqrt(tf.reduce_sum(tf.square(embedding), 1, keepdims=True))
cosine_sim_op = tf.matmul(X_embed_norm, embedding_norm, transpose_b=True)

found = {}
for name, step, cost in [("nce", train_op, nce), ("sampled", train_sampled, sampled)]:
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        losses = []
        for _ in range(1200):
            x, y = next_batch()
            losses.append(sess.run([step, cost], feed_dict={X: x, Y: y})[1])
        near = 0
        for word in range(vocabulary_size):
            sim = sess.run(cosine_sim_op, feed_dict={X: [word]})[0]
            nearest = (-sim).argsort()[1:4]
            near += np.mean(nearest // 5 == word // 5) / vocabulary_size
        found[name] = np.mean(losses[:50]), np.mean(losses[-50:]), near
        print(name, "loss %.3f to %.3f, neighbours of the same group: %.2f" % found[name])
