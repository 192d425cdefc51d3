"""Small language models: configurations, files of weights, and the logits in NumPy, in float64."""

import json
import math

import numpy as np

GPT2 = {"model_type": "gpt2", "n_embd": 16, "n_layer": 2, "n_head": 2, "vocab_size": 37,
        "n_positions": 64}
LLAMA = {"model_type": "llama", "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 37,
         "max_position_embeddings": 64, "rms_norm_eps": 1e-5}
LLAMA3 = {"rope_type": "llama3", "factor": 4., "low_freq_factor": 1., "high_freq_factor": 4.,
          "original_max_position_embeddings": 32}
CONFIGS = {"gpt2": GPT2, "llama": LLAMA, "tied": {**LLAMA, "tie_word_embeddings": True},
           "biases": {**LLAMA, "attention_bias": True, "mlp_bias": True},
           "linear": {**LLAMA, "rope_scaling": {"type": "linear", "factor": 2.}},
           "llama3": {**LLAMA, "rope_theta": 500., "rope_scaling": LLAMA3},
           "qwen2": {**LLAMA, "model_type": "qwen2"},
           "qwen3": {**LLAMA, "model_type": "qwen3", "head_dim": 8}}


def write_safetensors(path, tensors, dtype="F32", alignment=8):
    header, parts, end = {}, [], 0
    for name, x in tensors.items():
        data = x.tobytes()
        if dtype == "BF16":
            data = (x.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        header[name] = {"dtype": dtype, "shape": list(x.shape),
                        "data_offsets": [end, end + len(data)]}
        parts.append(data)
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % alignment)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))


def write_model(example, folder, values, **options):
    """Write random weights for a configuration and return them."""
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(values))
    family = example.FAMILIES[values["model_type"]](example.Config(folder / "config.json"))
    rng = np.random.default_rng(0)
    weights = {name: rng.normal(0., .4, shape).astype(np.float32)
               for name, shape in family.shapes().items()}
    write_safetensors(folder / "model.safetensors", weights, **options)
    return {name: w.astype(np.float64) for name, w in weights.items()}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def attention(q, k, v, heads, groups):
    n = len(q)
    q, k, v = (np.moveaxis(x.reshape(n, h, -1), 0, 1) for x, h in ((q, heads), (k, groups),
                                                                   (v, groups)))
    k, v = (np.repeat(x, heads // groups, 0) for x in (k, v))
    scores = q @ np.moveaxis(k, 1, 2) / math.sqrt(q.shape[-1])
    scores[:, np.triu(np.ones((n, n), bool), 1)] = -np.inf
    return np.moveaxis(softmax(scores) @ v, 0, 1).reshape(n, -1)


def gpt2_logits(values, weights, tokens):
    def w(name):
        return weights[f"transformer.{name}"]

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        return (x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * w(f"{name}.weight")
                + w(f"{name}.bias"))

    def layer(x, name):
        return x @ w(f"{name}.weight") + w(f"{name}.bias")

    x = w("wte.weight")[tokens] + w("wpe.weight")[:len(tokens)]
    for i in range(values["n_layer"]):
        q, k, v = np.split(layer(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn"), 3, -1)
        x = x + layer(attention(q, k, v, values["n_head"], values["n_head"]),
                      f"h.{i}.attn.c_proj")
        y = layer(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        y = y * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + .044715 * y ** 3))) / 2
        x = x + layer(y, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w("wte.weight").T


def angles(values, n, size):
    f = values.get("rope_theta", 10000.) ** (-np.arange(0, size, 2) / size)
    scaling = values.get("rope_scaling", {})
    if scaling.get("type") == "linear":
        f = f / scaling["factor"]
    if scaling.get("rope_type") == "llama3":
        wave, old = 2 * np.pi / f, scaling["original_max_position_embeddings"]
        smooth = (old / wave - 1.) / 3.
        between = (1 - smooth) * f / scaling["factor"] + smooth * f
        f = np.where(wave < old / 4., f, np.where(wave > old / 1., f / scaling["factor"], between))
    return np.arange(n)[:, None] * f


def llama_logits(values, weights, tokens):
    heads, groups = values["num_attention_heads"], values["num_key_value_heads"]
    size, n = values.get("head_dim", values["hidden_size"] // heads), len(tokens)
    turn = np.exp(1j * angles(values, n, size))[:, None]

    def norm(x, name):
        return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + 1e-5) * weights[f"{name}.weight"]

    def layer(x, name):
        return x @ weights[f"{name}.weight"].T + weights.get(f"{name}.bias", 0.)

    def rotated(x, name):
        x = x.reshape(n, -1, size)
        x = norm(x, name) if f"{name}.weight" in weights else x
        z = (x[..., :size // 2] + 1j * x[..., size // 2:]) * turn
        return np.concatenate([z.real, z.imag], -1).reshape(n, -1)

    x = weights["model.embed_tokens.weight"][tokens]
    for i in range(values["num_hidden_layers"]):
        part = f"model.layers.{i}"
        y = norm(x, f"{part}.input_layernorm")
        q, k, v = (layer(y, f"{part}.self_attn.{name}_proj") for name in "qkv")
        y = attention(rotated(q, f"{part}.self_attn.q_norm"),
                      rotated(k, f"{part}.self_attn.k_norm"), v, heads, groups)
        x = x + layer(y, f"{part}.self_attn.o_proj")
        y = norm(x, f"{part}.post_attention_layernorm")
        gate = layer(y, f"{part}.mlp.gate_proj")
        x = x + layer(gate / (1 + np.exp(-gate)) * layer(y, f"{part}.mlp.up_proj"),
                      f"{part}.mlp.down_proj")
    head = weights.get("lm_head.weight", weights["model.embed_tokens.weight"])
    return norm(x, "model.norm") @ head.T


def reference(values, weights, tokens):
    return (gpt2_logits if values["model_type"] == "gpt2" else llama_logits)(
        values, weights, tokens)
