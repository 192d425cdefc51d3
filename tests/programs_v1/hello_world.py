import dualflow.compat.v1 as tf

hello = tf.constant("Hello, TensorFlow!")
a = tf.constant(2)
b = tf.constant(3)
x = tf.placeholder(tf.int16)
y = tf.placeholder(tf.int16)
add, mul = tf.add(x, y), tf.multiply(x, y)
product = tf.matmul(tf.constant([[3., 3.]]), tf.constant([[2.], [2.]]))

with tf.Session() as sess:
    said = sess.run(hello)
    print(said)
    print("a: %i" % sess.run(a), "b: %i" % sess.run(b))
    sums = sess.run(a + b), sess.run(a * b)
    fed = sess.run([add, mul], feed_dict={x: 2, y: 3})
    matrix = sess.run(product)
    print(matrix)
