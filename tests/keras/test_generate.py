"""The protocol of keras_hub's `generate`: the step is traced once, for all prompts of a shape."""

import numpy as np

import dualflow as df
from dualflow import keras
from dualflow.keras import layers, ops


class Generator(keras.Model):
    """A model with the methods that keras_hub's models have for `generate`."""

    def __init__(self, sampled=False):
        super().__init__()
        self.embedding, self.dense = layers.Embedding(9, 4), layers.Dense(9)
        self.seeds = keras.random.SeedGenerator(0)
        self.sampled, self.steps = sampled, 0
        self.generate_function = None

    def call(self, x):
        return self.dense(self.embedding(x))

    def generate_step(self, inputs, stop_token_ids=None):
        self.steps += 1
        tokens = ops.convert_to_tensor(inputs["tokens"])
        for k in range(tokens.shape[1] - 1):
            logits = self(tokens[:, k])
            found = (keras.random.categorical(logits, 1, seed=self.seeds)[:, 0] if self.sampled
                     else ops.argmax(logits, -1))
            old = tokens[:, k + 1]
            new = ops.where(old == 0, ops.cast(found, tokens.dtype), old)
            tokens = ops.slice_update(tokens, (0, k + 1), new[:, None])
        return {"tokens": tokens}

    def make_generate_function(self):
        if self.generate_function is None:
            self.generate_function = self.generate_step
        return self.generate_function

    def generate(self, prompt):
        tokens = np.zeros((1, 6), "int32")
        tokens[0, :len(prompt)] = prompt
        return ops.convert_to_numpy(self.make_generate_function()(
            {"tokens": tokens}, stop_token_ids=None)["tokens"]).tolist()


def built(**options):
    keras.utils.set_random_seed(0)
    model = Generator(**options)
    model.compile("sgd")
    model(np.zeros(1, "int32"))
    return model


def test_one_trace_serves_all_prompts_of_a_shape():
    model, plain = built(), built()
    plain.run_eagerly = True
    for prompt in ([1], [2, 3], [8, 4, 5], [7]):
        assert model.generate(prompt) == plain.generate(prompt)
    assert model.steps == 1 and plain.steps == 4
    assert plain.generate_function == plain.generate_step


def test_new_weights_are_used():
    model, plain = built(), built()
    plain.run_eagerly = True
    before = model.generate([1])
    for m in (model, plain):
        m.dense.bias.assign([0., 0., 0., 0., 0., 9., 0., 0., 0.])
    assert model.generate([1]) == plain.generate([1]) == [[1, 5, 5, 5, 5, 5]] != before


def test_samples_advance_the_seeds():
    model, plain = built(sampled=True), built(sampled=True)
    plain.run_eagerly = True
    draws = [[m.generate([1]) for _ in range(4)] for m in (model, plain)]
    assert draws[0] == draws[1] and draws[0][0] != draws[0][1]


def test_other_functions_are_kept():
    model, own = built(), df.function(lambda inputs, stop_token_ids=None: inputs)
    assert model.generate_function is None
    model.generate_function = own
    assert model.generate_function is own and model.generate([3]) == [[3, 0, 0, 0, 0, 0]]
    assert keras.Sequential([layers.Dense(1)]).generate_function is None
