"""Generate text with a pretrained language model: GPT-2, or one of the family of Llama.

    python examples/language_model.py FOLDER --prompt "The meaning of life is"
    python examples/language_model.py FOLDER --tokens 464,3616 --temperature 0

FOLDER contains the files that Hugging Face's `save_pretrained` writes: `config.json`,
`model.safetensors` or several files with `model.safetensors.index.json`, and `tokenizer.json`,
which the `tokenizers` package reads; prompts of token numbers (`--tokens`) do not need it.

The prompt is read in one pass. Then one traced program per token reads and extends the keys and
values of the earlier tokens, which it keeps in variables.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from model_files import ModelError, read_json, read_tensors

import dualflow as df

Tensors = dict[str, df.Tensor]
BITS = {"int8": 8, "int4": 4}           # of quantised weights


class Config:
    """The content of `config.json`, with checks of each value that is read."""

    def __init__(self, path: Path, values: dict[str, Any] | None = None) -> None:
        self.path, self.values = path, read_json(path) if values is None else values

    def value(self, name: str, kind: type, default: Any = None) -> Any:
        found = self.values.get(name)
        found = default if found is None else found
        found = float(found) if kind is float and type(found) is int else found
        if type(found) is not kind or (kind in (int, float) and not 0 < found < 1 << 40):
            raise self.error(name, found, "a positive number" if kind in (int, float)
                             else kind.__name__)
        return found

    def must_be(self, name: str, *allowed: Any, default: Any = None) -> None:
        found = self.values.get(name, default)
        if found not in allowed:
            raise self.error(name, found, " or ".join(map(repr, allowed)))

    def error(self, name: str, found: Any, expected: str) -> ModelError:
        return ModelError(f"{self.path}: {name} is {found!r:.200}, expected {expected}")


def linear(x: df.Tensor, weights: Tensors, name: str) -> df.Tensor:
    """Return a layer whose weight is stored as (out, in), with a bias if there is one."""
    y = df.matmul(x, weights[f"{name}.weight"], transpose_b=True)
    return y + weights[f"{name}.bias"] if f"{name}.bias" in weights else y


class GPT2:
    """Radford et al., "Language models are unsupervised multitask learners", 2019."""

    def __init__(self, config: Config) -> None:
        self.layers, self.heads = config.value("n_layer", int), config.value("n_head", int)
        self.width, self.length = config.value("n_embd", int), config.value("n_positions", int)
        self.inner = config.value("n_inner", int, 4 * self.width)
        self.vocabulary = config.value("vocab_size", int)
        self.epsilon = config.value("layer_norm_epsilon", float, 1e-5)
        self.groups, self.size = self.heads, self.width // self.heads
        if self.width % self.heads:
            raise config.error("n_embd", self.width, f"a multiple of n_head, {self.heads}")
        config.must_be("activation_function", "gelu_new", "gelu_pytorch_tanh", default="gelu_new")
        config.must_be("scale_attn_weights", True, default=True)
        config.must_be("scale_attn_by_inverse_layer_idx", False, default=False)
        config.must_be("tie_word_embeddings", True, default=True)
        self.head = "transformer.wte"

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights. Matrices of GPT-2 are stored as (in, out)."""
        n, m = self.width, self.inner
        found = {"wte.weight": (self.vocabulary, n), "wpe.weight": (self.length, n),
                 "ln_f.weight": (n,), "ln_f.bias": (n,)}
        for i in range(self.layers):
            for name, *shape in (("ln_1", n), ("attn.c_attn", n, 3 * n), ("attn.c_proj", n, n),
                                 ("ln_2", n), ("mlp.c_fc", n, m), ("mlp.c_proj", m, n)):
                found[f"h.{i}.{name}.weight"] = (*shape,)
                found[f"h.{i}.{name}.bias"] = (shape[-1],)
        return {f"transformer.{name}": shape for name, shape in found.items()}

    def axis(self, name: str) -> int:
        """Return the axis of a matrix over which products sum."""
        return 1 if name.endswith(("wte.weight", "wpe.weight")) else 0

    def __call__(self, weights: Tensors, tokens: df.Tensor, at: df.Tensor,
                 attend: Callable) -> df.Tensor:
        """Return the last hidden state of each token, shape (tokens, width)."""
        def norm(x: df.Tensor, name: str) -> df.Tensor:
            name = f"transformer.{name}"
            return df.nn.layer_norm(x, weights[f"{name}.weight"], weights[f"{name}.bias"],
                                    self.epsilon)

        def project(x: df.Tensor, name: str) -> df.Tensor:
            name = f"transformer.{name}"
            return x @ weights[f"{name}.weight"] + weights[f"{name}.bias"]

        x = (df.gather(weights["transformer.wte.weight"], tokens)
             + df.gather(weights["transformer.wpe.weight"], at))
        for i in range(self.layers):
            q, k, v = df.split(project(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn"), 3, axis=-1)
            x += project(attend(i, q, k, v), f"h.{i}.attn.c_proj")
            y = project(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
            x += project(df.nn.gelu(y, approximate=True), f"h.{i}.mlp.c_proj")
        return norm(x, "ln_f")


class Llama:
    """Touvron et al., "LLaMA: open and efficient foundation language models", 2023. Qwen2 adds
    biases to queries, keys and values; Qwen3 normalises queries and keys."""

    def __init__(self, config: Config) -> None:
        kind = config.values["model_type"]
        self.layers = config.value("num_hidden_layers", int)
        self.heads = config.value("num_attention_heads", int)
        self.groups = config.value("num_key_value_heads", int, self.heads)
        self.width = config.value("hidden_size", int)
        self.inner = config.value("intermediate_size", int)
        self.size = config.value("head_dim", int, 128 if kind == "qwen3"
                                 else self.width // self.heads)
        self.vocabulary = config.value("vocab_size", int)
        self.length = config.value("max_position_embeddings", int, 2048)
        self.epsilon = config.value("rms_norm_eps", float, 1e-6)
        if self.heads % self.groups:
            raise config.error("num_key_value_heads", self.groups, f"a divisor of {self.heads}")
        if self.size % 2:
            raise config.error("head_dim", self.size, "an even number")
        config.must_be("hidden_act", "silu", default="silu")
        config.must_be("use_sliding_window", False, default=False)
        bias = config.value("attention_bias", bool, False)
        self.in_bias, self.out_bias = bias or kind == "qwen2", bias and kind != "qwen2"
        self.mlp_bias = config.value("mlp_bias", bool, False)
        self.norms_heads = kind == "qwen3"
        tied = config.value("tie_word_embeddings", bool, False)
        self.head = "model.embed_tokens" if tied else "lm_head"
        self.frequencies = frequencies(config, self.size)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the weights. Matrices are stored as (out, in)."""
        n, m, own = self.width, self.inner, self.heads * self.size
        shared = self.groups * self.size
        found = {"model.embed_tokens.weight": (self.vocabulary, n), "model.norm.weight": (n,),
                 f"{self.head}.weight": (self.vocabulary, n)}
        for i in range(self.layers):
            part = f"model.layers.{i}."
            for name, bias, *shape in (
                    ("input_layernorm", False, n), ("post_attention_layernorm", False, n),
                    ("self_attn.q_proj", self.in_bias, own, n),
                    ("self_attn.k_proj", self.in_bias, shared, n),
                    ("self_attn.v_proj", self.in_bias, shared, n),
                    ("self_attn.o_proj", self.out_bias, n, own),
                    ("mlp.gate_proj", self.mlp_bias, m, n), ("mlp.up_proj", self.mlp_bias, m, n),
                    ("mlp.down_proj", self.mlp_bias, n, m)):
                found[f"{part}{name}.weight"] = (*shape,)
                if bias:
                    found[f"{part}{name}.bias"] = (shape[0],)
            if self.norms_heads:
                found[f"{part}self_attn.q_norm.weight"] = (self.size,)
                found[f"{part}self_attn.k_norm.weight"] = (self.size,)
        return found

    def axis(self, name: str) -> int:
        return 1

    def __call__(self, weights: Tensors, tokens: df.Tensor, at: df.Tensor,
                 attend: Callable) -> df.Tensor:
        """Return the last hidden state of each token, shape (tokens, width)."""
        def norm(x: df.Tensor, name: str) -> df.Tensor:
            return df.nn.rms_norm(x, weights[f"{name}.weight"], self.epsilon)

        def rotate(x: df.Tensor, name: str) -> df.Tensor:
            """Rotate the two halves of each head by an angle per position."""
            x = df.reshape(x, (tokens.shape[0], -1, self.size))
            x1, x2 = df.split(norm(x, name) if self.norms_heads else x, 2, axis=-1)
            return df.concat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)

        x = df.gather(weights["model.embed_tokens.weight"], tokens)
        angles = df.cast(at, df.float32)[:, None, None] * df.constant(self.frequencies, df.float32)
        cos, sin = df.cast(df.cos(angles), x.dtype), df.cast(df.sin(angles), x.dtype)
        for i in range(self.layers):
            part = f"model.layers.{i}"
            y = norm(x, f"{part}.input_layernorm")
            q, k, v = (linear(y, weights, f"{part}.self_attn.{name}_proj") for name in "qkv")
            y = attend(i, rotate(q, f"{part}.self_attn.q_norm"),
                       rotate(k, f"{part}.self_attn.k_norm"), v)
            x += linear(y, weights, f"{part}.self_attn.o_proj")
            y = norm(x, f"{part}.post_attention_layernorm")
            y = (df.nn.silu(linear(y, weights, f"{part}.mlp.gate_proj"))
                 * linear(y, weights, f"{part}.mlp.up_proj"))
            x += linear(y, weights, f"{part}.mlp.down_proj")
        return norm(x, "model.norm")


def frequencies(config: Config, size: int) -> list[float]:
    """Return the angles of a rotary embedding between two positions; Su et al., "RoFormer", 2021.
    `llama3` divides those of long waves by a factor."""
    ropes = config.values.get("rope_parameters") or config.values.get("rope_scaling") or {}
    if type(ropes) is not dict:
        raise config.error("rope_scaling", ropes, "an object")
    rope = Config(config.path, {**config.values, **ropes})
    kind = rope.values.get("rope_type") or rope.values.get("type") or "default"
    rope.must_be("partial_rotary_factor", None, 1, default=None)
    theta = rope.value("rope_theta", float, 10000.0)
    found = [theta ** (-2 * i / size) for i in range(size // 2)]
    if kind == "default":
        return found
    factor = rope.value("factor", float)
    if kind == "linear":
        return [f / factor for f in found]
    if kind != "llama3":
        raise config.error("rope_type", kind, "'default', 'linear' or 'llama3'")
    low, high = rope.value("low_freq_factor", float), rope.value("high_freq_factor", float)
    length = rope.value("original_max_position_embeddings", int)
    if low >= high:
        raise config.error("high_freq_factor", high, f"more than low_freq_factor, {low}")
    kept = [(length * f / (2 * math.pi) - low) / (high - low) for f in found]
    return [f * (k + (1 - k) / factor) for f, k in zip(
        found, (min(max(k, 0.0), 1.0) for k in kept), strict=True)]


FAMILIES = {"gpt2": GPT2, "llama": Llama, "qwen2": Llama, "qwen3": Llama}


class LanguageModel:
    """A pretrained model and the keys and values of the tokens that it has read.

    Parameters
    ----------
    folder : path
        The files of the model.
    length : int
        The largest number of tokens, at most the model's own.
    dtype : "float32", "bfloat16", "int8" or "int4"
        Weights are cast to this dtype. Weights stored and used in float32 stay in the mapped file.
        With integers, matrices and tables are quantised in groups of 32 elements; other weights
        and all values are float32.
    """

    def __init__(self, folder: str | Path, length: int, dtype: str = "float32") -> None:
        config = Config(Path(folder) / "config.json")
        config.must_be("model_type", *FAMILIES)
        config.must_be("quantization_config", None)
        self.family = family = FAMILIES[config.values["model_type"]](config)
        if length > family.length:
            raise ModelError(f"{folder}: a text of {length} tokens, expected at most "
                             f"{family.length}")
        kind = df.float32 if dtype in BITS else df.as_dtype(dtype)

        def convert(name: str, x: df.Tensor) -> Any:
            if dtype in BITS and x.ndim == 2:
                return df.quantization.quantize_weights(x, BITS[dtype], axis=family.axis(name))
            return x if x.dtype == kind else df.cast(x, kind)

        self.weights = read_tensors(Path(folder), family.shapes(), "lm_head.weight", convert)
        shape = (length, family.groups, family.size)
        self.keys, self.values = ([df.Variable(df.zeros(shape, kind), trainable=False)
                                   for _ in range(family.layers)] for _ in range(2))
        self.length, self.end = length, ends(Path(folder), config)
        self._logits, self._step = df.function(self.forward), df.function(self.draw)

    def forward(self, weights: Tensors, tokens: df.Tensor, position: df.Tensor,
                last: bool = False) -> df.Tensor:
        """Return the logits after each token, or the last: several tokens at position 0, or one."""
        n, family = tokens.shape[0], self.family
        at = df.range(n) + position

        def attend(i: int, q: df.Tensor, k: df.Tensor, v: df.Tensor) -> df.Tensor:
            q, k, v = (df.reshape(x, (n, -1, family.size)) for x in (q, k, v))
            self.keys[i].scatter_nd_update(at[:, None], k)
            self.values[i].scatter_nd_update(at[:, None], v)
            if n == 1:
                k, v = self.keys[i][:position + 1], self.values[i][:position + 1]
            y = df.nn.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=n > 1,
                                                   data_format="BTHD")
            return df.reshape(y, (n, -1))

        x = family(weights, tokens, at, attend)
        return df.cast(linear(x[-1:] if last else x, weights, family.head), df.float32)

    def draw(self, weights: Tensors, tokens: df.Tensor, position: df.Tensor, temperature: float,
             top_k: int, top_p: float) -> df.Tensor:
        """Return a token drawn after `tokens`, as an int32 tensor of shape (1,)."""
        logits = self.forward(weights, tokens, position, last=True)
        if temperature == 0:
            return df.cast(df.argmax(logits, -1), df.int32)
        n = min(top_k or logits.shape[-1], logits.shape[-1])
        scores, found = logits / temperature, None
        if top_k or top_p < 1:
            scores, found = df.math.top_k(scores, n)
            before = df.cumsum(df.nn.softmax(scores), axis=-1, exclusive=True)
            scores = df.where(before < top_p, scores, float("-inf"))
        drawn = df.cast(df.random.categorical(scores, 1)[0], df.int32)
        return drawn if found is None else df.gather(found[0], drawn)

    def logits(self, tokens: list[int]) -> df.Tensor:
        """Return the logits after each token, shape (tokens, vocabulary)."""
        return self._logits(self.weights, df.constant(self.checked(tokens), df.int32),
                            df.constant(0))

    def generate(self, tokens: list[int], temperature: float = 0.0, top_k: int = 0,
                 top_p: float = 1.0) -> Iterator[int]:
        """Yield tokens until the model ends the text, or `length` tokens are read."""
        token, position = df.constant(self.checked(tokens), df.int32), 0
        while position + token.shape[0] < self.length:
            read = token.shape[0]
            token = self._step(self.weights, token, df.constant(position), temperature, top_k,
                               top_p)
            position += read
            yield (found := int(token[0].item()))
            if found in self.end:
                return

    def checked(self, tokens: list[int]) -> list[int]:
        if not 0 < len(tokens) <= self.length:
            raise ModelError(f"a prompt of {len(tokens)} tokens, expected 1 to {self.length}")
        for token in tokens:
            if not 0 <= token < self.family.vocabulary:
                raise ModelError(f"token {token}, expected 0 to {self.family.vocabulary - 1}")
        return tokens


def ends(folder: Path, config: Config) -> set[int]:
    """Return the tokens that end a text."""
    path = folder / "generation_config.json"
    found = read_json(path).get("eos_token_id") if path.exists() else None
    found = config.values.get("eos_token_id") if found is None else found
    return {*found} if type(found) is list else {found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    text = parser.add_mutually_exclusive_group(required=True)
    text.add_argument("--prompt", help="a text; requires tokenizer.json and `tokenizers`")
    text.add_argument("--tokens", help="numbers of tokens, as 1,2,3; prints numbers")
    parser.add_argument("--count", type=int, default=100, help="tokens to generate")
    parser.add_argument("--temperature", type=float, default=0.8, help="0: the likeliest token")
    parser.add_argument("--top-k", type=int, default=0, help="draw from the k likeliest tokens")
    parser.add_argument("--top-p", type=float, default=1.0,
                        help="draw from the likeliest tokens with this sum of probabilities")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=["float32", "bfloat16", *BITS], default="float32")
    options = parser.parse_args()
    if options.count < 1 or options.temperature < 0 or options.top_k < 0 or not (
            0 < options.top_p <= 1):
        parser.error("expected --count of at least 1, --temperature and --top-k of at least 0, "
                     "--top-p above 0 and at most 1")
    df.random.set_seed(options.seed)
    start = time.perf_counter()
    try:
        if options.tokens is not None:
            tokens = [int(token) for token in options.tokens.split(",")]

            def written(token: int) -> str:
                return f"{token} "
        else:
            tokens, written = read_tokenizer(options.folder, options.prompt)
        model = LanguageModel(options.folder, len(tokens) + options.count, options.dtype)
        ready, times = time.perf_counter(), []
        for token in model.generate(tokens, options.temperature, options.top_k, options.top_p):
            times.append(time.perf_counter())
            print(written(token), end="", flush=True)
    except (ModelError, ImportError, ValueError) as error:
        sys.exit(f"{parser.prog}: {error}")
    print(f"\n\nready in {ready - start:.1f} s; {len(tokens)} tokens read in "
          f"{times[0] - ready:.2f} s", file=sys.stderr)
    if len(times) > 2:                  # the first step compiles the program
        rate = (len(times) - 2) / (times[-1] - times[1])
        print(f"{len(times)} tokens written, {rate:.1f} per second", file=sys.stderr)


def read_tokenizer(folder: Path, prompt: str) -> tuple[list[int], Callable[[int], str]]:
    """Return the tokens of a prompt, and a function that returns the text that a token adds."""
    try:
        from tokenizers import Tokenizer
        from tokenizers.decoders import DecodeStream
    except ImportError:
        raise ImportError("--prompt requires the tokenizers package, version 0.21.1 or later: "
                          "pip install tokenizers; or pass --tokens") from None
    path = folder / "tokenizer.json"
    if not path.exists():
        raise ModelError(f"{path}: no such file; pass --tokens instead of --prompt")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:          # the package raises no other class
        raise ModelError(f"{path}: {error}, expected a tokenizer") from None
    print(prompt, end="", flush=True)
    stream = DecodeStream(skip_special_tokens=True)
    return tokenizer.encode(prompt).ids, lambda token: stream.step(tokenizer, token) or ""


if __name__ == "__main__":
    main()
