"""Short idioms of programs for TensorFlow, run under the name `tensorflow`: one per gap that the
programs of other people once met. The idioms of a version run in one process.
"""

import importlib.util
import json
import re
import subprocess
import sys

import pytest

SECOND = """
# expand_dims of a list of one axis
assert tf.expand_dims(tf.zeros([2, 3]), axis=[-1]).shape == [2, 3, 1]
# restore before the variables exist
net = tf.Module()
net.w = tf.Variable([1., 2.])
path = tf.train.Checkpoint(net=net, step=tf.Variable(3)).write("early")
late = tf.Module()
status = tf.train.Checkpoint(net=late).read(path).expect_partial()
late.w = tf.Variable([0., 0.])
assert late.w.numpy().tolist() == [1., 2.]
status.assert_existing_objects_matched()
tf.train.Checkpoint(net=late, step=tf.Variable(0)).read(path).assert_consumed()
# the latest checkpoint of a manager
manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.)), "many", max_to_keep=2)
paths = [manager.save() for _ in range(3)]
assert manager.checkpoints == paths[1:] and tf.train.latest_checkpoint("many") == paths[2]
# signature of an unknown rank
total = tf.function(tf.reduce_sum, input_signature=[tf.TensorSpec(None, tf.float32)])
assert total(tf.ones([2])) == 2 and total(tf.ones([2, 3])) == 6
# signatures of the traces
double = tf.function(lambda x: 2 * x)
double(tf.constant(1))
assert "int32" in double.pretty_printed_concrete_signatures()
# a loop over a dataset inside a function
@tf.function
def add_up(data):
    total = tf.constant(0, tf.int64)
    for x in data:
        total += x
    return total
assert add_up(tf.data.Dataset.range(5)) == 10
# text as an argument of a function
@tf.function
def greet(name):
    return tf.strings.join(["hello ", name])
assert [greet(tf.constant(x)).numpy() for x in "ab"] == [b"hello a", b"hello b"]
# an assignment to an argument
@tf.function
def count(v):
    return v.assign_add(1)
v = tf.Variable(1)
first, second = count(v), count(v)
assert (int(first), int(second), int(v)) == (2, 3, 3)
# an assignment to a variable of the closure
w = tf.Variable(1)
step = tf.function(lambda: w.assign_add(1))
first, second = step(), step()
assert (int(first), int(second)) == (2, 3)
# attributes of a shape
shape = tf.zeros([2, 3]).shape
assert shape.as_list() == [2, 3] and shape.rank == shape.ndims == 2
assert shape.is_compatible_with([None, 3]) and shape[1:].num_elements() == 3
tf.zeros([2, 3]).set_shape([2, None])
# checks of the version
assert tf.__version__ >= "2.8" and tf.version.VERSION.split(".")[0] == "2"
# compat.v1 without an import
assert tf.compat.v1.placeholder and tf.compat.v1.Session
# CSV files as columns
with open("table.csv", "w") as file:
    file.write("a,b\\n1,2.5\\n3,4.5\\n")
rows = tf.data.experimental.CsvDataset("table.csv", [tf.int32, tf.float32], header=True)
assert [(a.numpy(), b.numpy()) for a, b in rows] == [(1, 2.5), (3, 4.5)]
x, y = next(iter(tf.data.experimental.make_csv_dataset(
    "table.csv", 2, label_name="b", num_epochs=1, shuffle=False)))
assert x["a"].numpy().tolist() == [1, 3] and y.numpy().tolist() == [2.5, 4.5]
# lines parsed by a traced function
with open("lines.csv", "w") as file:
    file.write("title\\n1,2,3\\n4,,6\\n")
@tf.function
def parse(line):
    fields = tf.io.decode_csv(line, [0.] * 2 + [tf.constant([], tf.float32)])
    return tf.stack(fields[:-1]), tf.stack(fields[-1:])
files = tf.data.Dataset.list_files("lines*.csv")
lines = files.interleave(lambda f: tf.data.TextLineDataset(f).skip(1), cycle_length=2)
assert [x.numpy().tolist() for x, y in lines.map(parse)] == [[1, 2], [4, 0]]
# sparse elements of datasets
x = tf.sparse.from_dense([[1., 0.], [0., 2.], [3., 0.]])
batch = next(iter(tf.data.Dataset.from_tensor_slices(x).batch(2)))
assert tf.sparse.to_dense(batch).numpy().tolist() == [[1, 0], [0, 2]]
# records and examples
features = {"n": tf.train.Feature(int64_list=tf.train.Int64List(value=[7]))}
example = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
with tf.io.TFRecordWriter("records") as writer:
    writer.write(example)
spec = {"n": tf.io.FixedLenFeature([], tf.int64), "s": tf.io.FixedLenFeature([], tf.string, "?")}
for one in tf.data.TFRecordDataset(["records"]).map(lambda x: tf.io.parse_single_example(x, spec)):
    assert one["n"] == 7 and one["s"].numpy() == b"?"
for many in tf.data.TFRecordDataset("records").batch(1):
    assert tf.io.parse_example(many, spec)["n"].shape == [1]
# augmentation in a pipeline
def augment(image):
    image = tf.image.resize_with_crop_or_pad(image, 6, 6)
    image = tf.image.random_crop(image, [4, 4, 3])
    image = tf.image.random_flip_left_right(tf.image.rot90(image))
    image = tf.image.random_contrast(tf.image.random_brightness(image, 0.1), 0.5, 1.5)
    return tf.image.random_hue(tf.image.random_saturation(image, 0.5, 1.5), 0.1)
images = tf.data.Dataset.from_tensors(tf.random.uniform([4, 4, 3])).repeat(2).map(augment)
assert [x.shape for x in images.batch(2)] == [[2, 4, 4, 3]]
# scan, sample_from_datasets, rejection_resample and options
D = tf.data.Dataset
sums = D.range(4).scan(tf.constant(0, tf.int64), lambda state, x: (state + x, state + x))
assert list(sums.as_numpy_iterator()) == [0, 1, 3, 6]
assert len(list(D.sample_from_datasets([D.range(3), D.range(3)], [0.5, 0.5], seed=1))) <= 6
even = D.range(40).rejection_resample(lambda x: tf.cast(x % 4 == 0, tf.int32), [0.5, 0.5])
assert {int(kind) for kind, _ in even} == {0, 1}
options = tf.data.Options()
options.deterministic = True
assert len(list(D.range(2).with_options(options))) == 2
# datasets saved, loaded and in snapshots
D.range(3).save("saved")
for found in (D.load("saved"), D.range(3).snapshot("shot"), D.range(3).cache("cache")):
    assert list(found.as_numpy_iterator()) == [0, 1, 2]
# generators without shapes
rows = D.from_generator(lambda: ([k] * k for k in range(3)), tf.int32)
assert [x.shape[0] for x in rows] == [0, 1, 2]
# random generators
g = tf.random.Generator.from_seed(1, alg="philox")
one, other = g.split(2)
g.skip(3)
draw = tf.function(lambda: g.normal([2]))
assert draw().shape == one.uniform([2], 0, 5, tf.int32).shape == [2]
tf.random.set_global_generator(tf.random.Generator.from_non_deterministic_state())
assert tf.random.get_global_generator().make_seeds(2).shape[1] == 2
x = tf.random.stateless_uniform([2], tf.random.experimental.stateless_fold_in([1, 2], 3))
assert x.shape == [2]
# sparse tensors
x = tf.SparseTensor([[0, 3], [2, 4]], [10., 20.], [3, 10])
assert tf.sparse.sparse_dense_matmul(x, tf.ones([10, 1])).numpy().ravel().tolist() == [10, 0, 20]
x = tf.sparse.concat(1, [tf.sparse.add(x, x), tf.sparse.map_values(tf.square, x)])
assert tf.sparse.slice(x, [0, 0], [2, 5]).values.numpy().tolist() == [20]
assert tf.sparse.retain(x, x.values > 300).shape == [3, 20]
with tf.GradientTape() as tape:
    v = tf.constant([1., 2.])
    tape.watch(v)
    loss = tf.reduce_sum(tf.sparse.to_dense(tf.SparseTensor([[0, 0], [1, 1]], v, [2, 2])) ** 2)
assert tape.gradient(loss, v).numpy().tolist() == [2, 4]
# ragged tensors
x = tf.ragged.constant([[3, 1], [], [5, 9, 2]])
assert (x + 3)[:, :1].to_list() == [[6], [], [8]] and x[0].numpy().tolist() == [3, 1]
assert tf.reduce_sum(x, axis=1).numpy().tolist() == [4, 0, 16] and x.to_tensor().shape == [3, 3]
assert tf.concat([x, x], axis=1).row_lengths().numpy().tolist() == [4, 0, 6]
assert tf.ragged.map_flat_values(tf.square, tf.ragged.range([1, 2])).to_list() == [[0], [0, 1]]
made = [tf.RaggedTensor.from_row_splits([1, 2], [0, 0, 2]),
        tf.RaggedTensor.from_row_lengths([1, 2], [0, 2]),
        tf.RaggedTensor.from_value_rowids([1, 2], [1, 1]), tf.ragged.stack([[], [1, 2]])]
assert all(x.to_list() == [[], [1, 2]] for x in made)
rows = D.range(3).map(tf.range).apply(tf.data.experimental.dense_to_ragged_batch(3))
assert next(iter(rows)).to_list() == [[], [0], [0, 1]]
# extension types
class Masked(tf.experimental.ExtensionType):
    values: tf.Tensor
    mask: tf.Tensor
    def __validate__(self):
        tf.debugging.assert_equal(tf.shape(self.values), tf.shape(self.mask))
    def __add__(self, other):
        return Masked(self.values + other.values, self.mask & other.mask)
x = Masked([1, 2], [True, False])
assert tf.function(lambda x: x + x)(x).values.numpy().tolist() == [2, 4]
assert Masked.Spec(tf.TensorSpec([2], tf.int32), tf.TensorSpec([2], tf.bool)).values.shape == [2]
try:
    x.values = 3
    raise SystemError("the field changed")
except AttributeError:
    pass
# saved models with signatures and unknown sizes
class Net(tf.Module):
    @tf.function(input_signature=[tf.TensorSpec([None, 28, 28], tf.float32)])
    def __call__(self, x):
        return tf.reshape(x, [-1, 784])
net = Net()
tf.saved_model.save(net, "model", signatures=net.__call__.get_concrete_function())
loaded = tf.saved_model.load("model")
assert loaded(tf.ones([3, 28, 28])).shape == [3, 784]
flat = loaded.signatures["serving_default"](tf.ones([2, 28, 28]))
assert [x.shape for x in flat.values()] == [[2, 784]]
# text as tensors
x = tf.constant(["Gray wolf", "Lazy dog"])
assert tf.strings.split(x).to_list() == [[b"Gray", b"wolf"], [b"Lazy", b"dog"]]
assert tf.strings.to_number(tf.strings.split("1 10", " ")).numpy().tolist() == [1, 10]
assert tf.gather(tf.concat([x, ["cat"]], 0), [2]).numpy().tolist() == [b"cat"]
assert tf.strings.unicode_decode("aü", "UTF-8").numpy().tolist() == [97, 252]
# tables
names = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
assert tf.lookup.StaticHashTable(names, -1).lookup(tf.constant(["b", "z"])).numpy().tolist() == [
    1, -1]
assert tf.lookup.StaticVocabularyTable(names, 2).lookup(tf.constant(["z"])).numpy()[0] in (2, 3)
"""

KERAS = """
# optimizers of Keras over plain variables
v = tf.Variable(1.)
tf.keras.optimizers.Adam(0.1).apply_gradients([(tf.constant(1.), v)])
assert v.numpy() < 1
# an optimizer as an argument of a traced step
w = tf.Variable([1., 2.])
@tf.function
def train(optimizer, x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(w * x)
    optimizer.apply_gradients([(tape.gradient(loss, w), w)])
    return loss
train(tf.keras.optimizers.SGD(0.5), tf.ones([2]))
assert w.numpy().tolist() == [0.5, 1.5]
# a layer whose call is a function
class Twice(tf.keras.layers.Layer):
    @tf.function
    def call(self, x):
        return 2 * x
import inspect
assert list(inspect.signature(Twice().call).parameters) == ["x"]
assert tf.keras.Sequential([Twice()])(tf.ones([1, 2])).numpy().tolist() == [[2, 2]]
# losses, reductions and the backend of Keras
assert tf.keras.losses.MSE is tf.losses.MSE
loss = tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.SUM)
assert loss(tf.zeros([2, 1]), tf.ones([2, 1])) == 2
K = tf.keras.backend
assert K.sum(K.square(K.cast(2, "float32"))) == 4 and K.floatx() == "float32"
assert K.get_value(K.ones([])) == 1 and K.int_shape(K.flatten(tf.ones([2, 3]))) == (6,)
# generators of images and of indices of words
images = tf.keras.preprocessing.image.ImageDataGenerator(rescale=0.5, horizontal_flip=True)
x, y = next(images.flow(np.ones([4, 8, 8, 3]), np.arange(4), batch_size=2))
assert x.shape == (2, 8, 8, 3) and x.max() == 0.5
words = tf.keras.preprocessing.text.Tokenizer()
words.fit_on_texts(["a b a"])
assert words.texts_to_sequences(["b a"]) == [[2, 1]]
assert tf.keras.preprocessing.sequence.pad_sequences([[1]], 3).tolist() == [[0, 0, 1]]
# operators of symbolic tensors
x = tf.keras.Input((2,))
model = tf.keras.Model(x, tf.keras.layers.Concatenate()([2 * x + 1, x[:, :1] - x[:, 1:]]))
assert model(tf.constant([[1., 2.]])).numpy().tolist() == [[3, 5, -1]]
# mixed precision
tf.keras.mixed_precision.set_global_policy("mixed_float16")
layer = tf.keras.layers.Dense(3)
assert layer(tf.ones([1, 4])).dtype == tf.float16 and layer.kernel.dtype == "float32"
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))
with tf.GradientTape() as tape:
    loss = optimizer.scale_loss(tf.reduce_sum(tf.cast(layer(tf.ones([1, 4])), tf.float32)))
variables = layer.trainable_variables
optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
tf.keras.mixed_precision.set_global_policy("float32")
"""

FIRST = """
# expand_dims of a list of one axis
x = tf.placeholder(tf.float32, [None, 3])
assert tf.expand_dims(x, axis=[-1]).shape.as_list() == [None, 3, 1]
# test cases
class Case(tf.test.TestCase):
    def test_sum(self):
        with self.test_session() as session:
            self.assertAllClose(session.run(tf.add(1., 2.)), 3.)
import unittest
result = unittest.TestResult()
unittest.defaultTestLoader.loadTestsFromTestCase(Case).run(result)
assert result.testsRun and result.wasSuccessful()
# slots and powers of Adam
w = tf.get_variable("w", [2])
tf.train.AdamOptimizer().minimize(tf.reduce_sum(w))
assert [v.op.name for v in tf.global_variables()] == [
    "w", "beta1_power", "beta2_power", "w/Adam", "w/Adam_1"]
assert {v.dtype.base_dtype for v in tf.global_variables()} == {tf.float32}
# a static shape of noise
mu = tf.layers.dense(tf.placeholder(tf.float32, [None, 3]), 2)
assert tf.random_normal(tf.shape(mu)).shape.as_list() == [None, 2]
assert tf.zeros(tf.stack([tf.shape(mu)[0], 4])).shape.as_list() == [None, 4]
# a model saved with one call
y = tf.layers.dense(tf.placeholder(tf.float32, [None, 2], name="x"), 1)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    tf.saved_model.simple_save(session, "model", {"x": y}, {"y": y})
# sparse placeholders
x = tf.sparse_placeholder(tf.float32)
y = tf.sparse_tensor_dense_matmul(tf.sparse_retain(x, [True, False]) * 2., tf.ones([3, 2]))
with tf.Session() as session:
    value = np.array([[0, 0], [1, 2]]), np.ones(2, "f"), np.array([2, 3])
    assert session.run(y, {x: value}).tolist() == [[2, 2], [0, 0]]
# a recurrent state that is fed
cell = tf.nn.rnn_cell.BasicLSTMCell(3)
state = cell.zero_state(2, tf.float32)
_, last = tf.nn.dynamic_rnn(cell, tf.ones([2, 4, 1]), initial_state=state)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run(last, {state: session.run(last)}).c.shape == (2, 3)
# queues of lines
with open("numbers.csv", "w") as file:
    file.write("".join(f"{k},{k}.5\\n" for k in range(6)))
names = tf.train.string_input_producer(["numbers.csv"], shuffle=False)
_, line = tf.TextLineReader().read(names)
batch = tf.train.batch(tf.decode_csv(line, [[0], [0.]]), 3)
with tf.Session() as session:
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    assert session.run(batch)[0].tolist() == [0, 1, 2]
    coordinator.request_stop()
    coordinator.join(threads)
# summaries of variables
w = tf.Variable(tf.zeros([2]), name="W1")
assert tf.summary.histogram("W1:0", w).op.name == "W1_0"
# losses and metrics
y = tf.constant([[1., 2.]])
assert tf.losses.mean_squared_error(tf.zeros_like(y), y).shape == () and tf.metrics.accuracy
# flags and files
assert tf.VERSION == tf.__version__ == "1.15.0"
tf.flags.DEFINE_integer("steps", 3, "number of steps")
assert tf.app.flags.FLAGS.steps == 3
tf.gfile.MakeDirs("folder")
with tf.gfile.Open("folder/a", "w") as file:
    file.write("text")
assert tf.gfile.Exists("folder/a") and tf.gfile.GFile("folder/a").read() == "text"
"""

RUN = """
import json, sys, traceback
import numpy as np
import dualflow.tensorflow
tf = dualflow.tensorflow.bind({major})
sys.argv = ["idioms"]
for k, (name, source) in enumerate(json.load(open("idioms.json"))):
    if {major} == 1:
        tf.reset_default_graph()
    path = f"idiom_{{k}}.py"
    with open(path, "w") as file:       # traced functions read their source
        file.write(source)
    try:
        exec(compile(source, path, "exec"), dict(tf=tf, np=np, D=tf.data.Dataset))
        print(json.dumps([name, ""]))
    except Exception:
        print(json.dumps([name, traceback.format_exc()]))
"""


def idioms(text):
    """Return the pairs of name and source: each idiom begins with a line `# name`."""
    parts = re.split(r"(?m)^# (.*)\n", text)
    return list(zip(parts[1::2], parts[2::2], strict=True))


GROUPS = {"second": (2, idioms(SECOND)), "keras": (2, idioms(KERAS)), "first": (1, idioms(FIRST))}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return the traceback of each idiom of a group, or ""."""
    found = {}

    def results_of(group):
        if group not in found:
            major, programs = GROUPS[group]
            folder = tmp_path_factory.mktemp(group)
            (folder / "idioms.json").write_text(json.dumps(programs))
            made = subprocess.run([sys.executable, "-c", RUN.format(major=major)], cwd=folder,
                                  capture_output=True, text=True, check=False, timeout=300)
            found[group] = dict(json.loads(line) for line in made.stdout.splitlines()
                                if line.startswith('["'))
            assert len(found[group]) == len(programs), made.stderr
        return found[group]

    return results_of


@pytest.mark.parametrize("group, name", [
    pytest.param(group, name, marks=pytest.mark.skipif(
        group == "keras" and importlib.util.find_spec("keras") is None, reason="no Keras"))
    for group, (_, programs) in GROUPS.items() for name, _ in programs])
def test_idiom(results, group, name):
    error = results(group)[name]
    assert not error, error
