"""The example that runs pretrained language models: logits against an implementation in NumPy and
against `transformers`, generated tokens, and errors of missing, damaged and unsuitable files."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import dualflow as df
from tests.language_models import (
    CONFIGS,
    GPT2,
    LLAMA,
    reference,
    write_model,
    write_safetensors,
)

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
COMPILER = (sysconfig.get_config_var("CC") or "cc").split()[0]
needs_make = pytest.mark.skipif(not (shutil.which("make") and shutil.which(COMPILER))
                                or "LD_PRELOAD" in os.environ, reason="no make or cc")
TOKENS = [3, 1, 4, 1, 5, 9, 2, 6, 5, 35, 8, 9]


@pytest.fixture(scope="module")
def example():
    """Import the files of the example."""
    loaded = {}
    for name in ("model_files", "language_model", "c_programs", "export_language_model"):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        loaded[name] = sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded[name])
    yield loaded["language_model"]
    for name in loaded:
        del sys.modules[name]


# --- logits and tokens --------------------------------------------------------------------------

@pytest.mark.parametrize("name", CONFIGS)
def test_logits_and_greedy_tokens(example, name, tmp_path):
    values = CONFIGS[name]
    weights = write_model(example, tmp_path, values)
    model = example.LanguageModel(tmp_path, 40)
    want = reference(values, weights, TOKENS)
    np.testing.assert_allclose(model.logits(TOKENS).numpy(), want, rtol=0,
                               atol=1e-5 * np.abs(want).max())
    text = TOKENS + list(model.generate(TOKENS))
    assert len(text) == 40
    want = reference(values, weights, text).argmax(-1)
    assert text[len(TOKENS):] == want[len(TOKENS) - 1:-1].tolist()
    # one trace for the prompt, one for all other tokens
    assert model._step.experimental_get_tracing_count() == 2


def test_keys_and_values_are_updated_in_place(example, tmp_path):
    write_model(example, tmp_path, LLAMA)
    model = example.LanguageModel(tmp_path, 40)
    args = model.weights, df.constant([1]), df.constant(3), 0.0, 0, 1.0
    plan = model._step.compiled_for(*args).plan
    assert "assign" not in [step.node.op.name for step in plan.instructions]


def test_weights_are_views_of_the_file(example, tmp_path):
    *_, last = write_model(example, tmp_path, LLAMA)
    w = example.LanguageModel(tmp_path, 40).weights[last].numpy()
    with (tmp_path / "model.safetensors").open("r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(np.float32(123.).tobytes())
    assert w[-1, -1] == 123.


@pytest.mark.parametrize("alignment", [2, 3, 5, 7])
def test_weights_that_are_not_aligned(example, alignment, tmp_path):
    """One of the four sizes of the header, at least, is not a multiple of 4."""
    weights = write_model(example, tmp_path, LLAMA, alignment=alignment)
    for name, w in example.LanguageModel(tmp_path, 40).weights.items():
        np.testing.assert_array_equal(w.numpy(), weights[name])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_bfloat16_files(example, dtype, tmp_path):
    weights = write_model(example, tmp_path, LLAMA, dtype="BF16")
    cut = {name: (w.astype(np.float32).view(np.uint32) >> 16 << 16).view(np.float32).astype(float)
           for name, w in weights.items()}
    model = example.LanguageModel(tmp_path, 40, dtype)
    assert {str(w.dtype) for w in model.weights.values()} == {dtype}
    for name, w in cut.items():
        np.testing.assert_array_equal(df.cast(model.weights[name], "float32").numpy(), w)
    want = reference(LLAMA, cut, TOKENS)
    error = 1e-5 if dtype == "float32" else .05
    np.testing.assert_allclose(model.logits(TOKENS).numpy(), want, rtol=0,
                               atol=error * np.abs(want).max())
    assert len(list(model.generate(TOKENS))) == 40 - len(TOKENS)


@pytest.mark.parametrize("dtype", ["int8", "int4"])
@pytest.mark.parametrize("name", ["gpt2", "tied", "qwen2"])
def test_quantised_weights(example, name, dtype, tmp_path):
    """A quantised model writes the tokens of the float32 model with its dequantised weights."""
    values = CONFIGS[name] | {"max_position_embeddings": 128, "n_positions": 128}
    weights = write_model(example, tmp_path, values)
    model = example.LanguageModel(tmp_path, 112, dtype)
    rounded = {}
    for key, w in weights.items():
        q = model.weights[key]
        assert w.ndim == 1 or (q.bits == int(dtype[3:]) and tuple(q.shape) == w.shape)
        rounded[key] = q.numpy().astype(np.float32)
    write_safetensors(tmp_path / "model.safetensors", rounded)
    same = example.LanguageModel(tmp_path, 112)
    want = same.logits(TOKENS).numpy()
    assert np.abs(model.logits(TOKENS).numpy() - want).max() <= 1e-5 * np.abs(want).max()
    tokens = list(model.generate(TOKENS))
    assert len(tokens) == 100 and tokens == list(same.generate(TOKENS))


def test_sampling(example, tmp_path):
    write_model(example, tmp_path, LLAMA)
    model = example.LanguageModel(tmp_path, 60)

    def drawn(seed, **options):
        df.random.set_seed(seed)
        return list(model.generate(TOKENS, **options))

    greedy = drawn(0)
    hot = drawn(0, temperature=5.)
    assert hot == drawn(0, temperature=5.) != drawn(1, temperature=5.)
    assert hot != greedy
    assert drawn(2, temperature=5., top_k=1) == greedy == drawn(3, temperature=5., top_p=1e-6)
    text = TOKENS + drawn(0, temperature=5., top_k=3)
    logits = model.logits(text).numpy()[len(TOKENS) - 1:-1]
    ranks = [(row > row[token]).sum() for row, token in zip(logits, text[len(TOKENS):],
                                                            strict=True)]
    assert {*ranks} == {0, 1, 2}


def test_generation_stops_at_the_end_of_text(example, tmp_path):
    write_model(example, tmp_path, LLAMA)
    found = list(example.LanguageModel(tmp_path, 40).generate(TOKENS))
    write_model(example, tmp_path, {**LLAMA, "eos_token_id": [99, found[2]]})
    stopped = list(example.LanguageModel(tmp_path, 40).generate(TOKENS))
    assert stopped == found[:found.index(found[2]) + 1]


def test_names_without_prefix_and_buffers_of_gpt2(example, tmp_path):
    weights = write_model(example, tmp_path, GPT2)
    old = {name.removeprefix("transformer."): w.astype("f") for name, w in weights.items()}
    write_safetensors(tmp_path / "model.safetensors", {**old, "h.0.attn.bias": np.ones(4, "f")})
    want = reference(GPT2, weights, TOKENS)
    got = example.LanguageModel(tmp_path, 40).logits(TOKENS).numpy()
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5 * np.abs(want).max())


def test_several_files(example, tmp_path):
    weights = write_model(example, tmp_path, LLAMA)
    want = example.LanguageModel(tmp_path, 40).logits(TOKENS).numpy()
    (tmp_path / "model.safetensors").unlink()
    names = {name: f"part-{k % 3}.safetensors" for k, name in enumerate(weights)}
    for part in {*names.values()}:
        write_safetensors(tmp_path / part, {name: w.astype("f") for name, w in weights.items()
                                            if names[name] == part})
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": names}))
    np.testing.assert_array_equal(example.LanguageModel(tmp_path, 40).logits(TOKENS).numpy(), want)
    for changed, message in (({"lm_head.weight": "../x"}, "lm_head.weight.*same folder"),
                             ({"lm_head.weight": "none.safetensors"}, "none.safetensors.*No such"),
                             ({"other": "part-0.safetensors"}, "part-0.*no tensor 'other'")):
        index.write_text(json.dumps({"weight_map": {**names, **changed}}))
        with pytest.raises(ValueError, match=message):
            example.LanguageModel(tmp_path, 40)


# --- errors -------------------------------------------------------------------------------------

@pytest.mark.parametrize(("changed", "message"), [
    ({"model_type": "mamba"}, "config.json: model_type is 'mamba', expected 'gpt2' or 'llama'"),
    ({"hidden_size": "16"}, "hidden_size is '16', expected a positive number"),
    ({"hidden_size": None}, "hidden_size is None"), ({"hidden_size": 10 ** 30}, "hidden_size"),
    ({"num_key_value_heads": 3}, "num_key_value_heads is 3, expected a divisor of 4"),
    ({"head_dim": 5}, "head_dim is 5, expected an even number"),
    ({"hidden_act": "relu"}, "hidden_act is 'relu', expected 'silu'"),
    ({"rope_scaling": {"rope_type": "yarn", "factor": 2.}}, "rope_type is 'yarn', expected"),
    ({"rope_scaling": {"rope_type": "linear"}}, "factor is None"),
    ({"rope_scaling": [1]}, "rope_scaling is"),
    ({"quantization_config": {"bits": 4}}, "quantization_config is"),
    ({"num_hidden_layers": 3}, r"no tensor 'model.layers.2.*expected shape \(16,\)"),
    ({"num_hidden_layers": 1}, "model.safetensors: tensor 'model.layers.1.* is not part of"),
    ({"vocab_size": 38}, r"model.safetensors: tensor 'model.embed.*\(37, 16\), expected \(38, 16"),
    ({"max_position_embeddings": 39}, "40 tokens, expected at most 39")])
def test_unsuitable_configurations(example, changed, message, tmp_path):
    write_model(example, tmp_path, LLAMA)
    (tmp_path / "config.json").write_text(json.dumps({**LLAMA, **changed}))
    with pytest.raises(ValueError, match=message):
        example.LanguageModel(tmp_path, 40)


def test_missing_and_malformed_files(example, tmp_path):
    write_model(example, tmp_path, LLAMA)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ValueError, match=r"model.safetensors: No such file"):
        example.LanguageModel(tmp_path, 40)
    for text in ("", "[]", "{", '{"a": 1, "a": 2}', "[" * 100_000, "\udcff"):
        (tmp_path / "config.json").write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(ValueError, match=r"config.json: .*expected"):
            example.LanguageModel(tmp_path, 40)
    with pytest.raises(ValueError, match=r"config.json: No such file"):
        example.LanguageModel(tmp_path / "none", 40)


def test_truncated_files(example, tmp_path):
    write_model(example, tmp_path, LLAMA)
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    for n in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:n])
        with pytest.raises(ValueError, match=r"model.safetensors.*expected"):
            example.LanguageModel(tmp_path, 40)
    path.write_bytes(whole + b"x")
    with pytest.raises(ValueError, match="the tensors end at byte"):
        example.LanguageModel(tmp_path, 40)


@pytest.mark.parametrize(("entry", "message"), [
    (3, "expected dtype, shape and data_offsets"),
    ({"dtype": "F31", "shape": [2], "data_offsets": [0, 8]}, "dtype 'F31', expected one of"),
    ({"dtype": [], "shape": [2], "data_offsets": [0, 8]}, "dtype"),
    ({"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}, "shape"),
    ({"dtype": "F32", "shape": [True, 2], "data_offsets": [0, 8]}, "shape"),
    ({"dtype": "F32", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 8]}, "data_offsets"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [0, 4]}, "expected 8 bytes"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}, "expected 8 bytes"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [-8, 0]}, "expected 8 bytes"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [1 << 60, (1 << 60) + 8]}, "complete file"),
    ({"dtype": "F32", "shape": [2], "data_offsets": [4, 12]}, "without gaps or overlaps")])
def test_forged_headers(example, entry, message, tmp_path):
    path = tmp_path / "model.safetensors"
    text = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
                       "forged": entry}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(16))
    with pytest.raises(ValueError, match=f"model.safetensors: tensor 'forged'.*{message}"):
        sys.modules["model_files"].read_header(path)


@pytest.mark.parametrize("tokens", [[], [37], [-1], [1] * 41])
def test_tokens_that_do_not_fit(example, tokens, tmp_path):
    write_model(example, tmp_path, LLAMA)
    with pytest.raises(ValueError, match="expected"):
        list(example.LanguageModel(tmp_path, 40).generate(tokens))


# --- the program --------------------------------------------------------------------------------

def run(*arguments):
    return subprocess.run([sys.executable, EXAMPLES / "language_model.py", *map(str, arguments)],
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                          capture_output=True, text=True, timeout=300)


def test_program(example, tmp_path):
    write_model(example, tmp_path, LLAMA)
    done = run(tmp_path, "--tokens", "1,2,3", "--count", 20, "--temperature", 0)
    want = list(example.LanguageModel(tmp_path, 23).generate([1, 2, 3]))
    assert done.returncode == 0 and list(map(int, done.stdout.split())) == want
    assert "20 tokens written" in done.stderr and "per second" in done.stderr
    done = run(tmp_path, "--tokens", "1,2,99", "--count", 5)
    assert done.returncode == 1 and "token 99, expected 0 to 36" in done.stderr
    assert "Traceback" not in done.stderr


# --- the program in C ---------------------------------------------------------------------------

def built(folder, *arguments):
    """Export a model, build the C program without optimisation, and return its folder."""
    done = subprocess.run(
        [sys.executable, EXAMPLES / "export_language_model.py", folder, "--folder", folder / "c",
         "--length", "30", "--flags=-O0", f"--compiler={shutil.which('ccache') or ''} {COMPILER}",
         *arguments], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "c"


def written(folder, *arguments):
    return subprocess.run([folder / "language_model", *map(str, arguments)], cwd=folder,
                          capture_output=True, timeout=300)


@needs_make
def test_the_c_program_writes_the_same_tokens(example, tmp_path):
    values = {**LLAMA, "eos_token_id": [99]}
    write_model(example, tmp_path, values)
    want = list(example.LanguageModel(tmp_path, 30, "int4").generate(TOKENS))
    folder = built(tmp_path, "--temperature", "0", "--dtype", "int4")
    assert (folder / "prompt.txt").read_text() == "\n"
    for count in (30, 10, 1):           # the text is never longer than `length`
        assert written(folder, count, *TOKENS).stdout.split() == [
            b"%d" % token for token in want[:count]]
    done = written(folder, 5, 1, 37)
    assert done.returncode == 1 and done.stderr == b"37: no such token\n"
    (folder / "sizes.h").write_text((folder / "sizes.h").read_text().replace("99", str(want[2])))
    subprocess.run([COMPILER, "-Imodel", "export_language_model.c", "model/libmodel.a", "-lm",
                    "-pthread", "-o", "language_model"], cwd=folder, check=True)
    assert written(folder, 30, *TOKENS).stdout.split() == [
        b"%d" % token for token in want[:want.index(want[2]) + 1]]
    vocabulary = folder / "vocabulary"
    vocabulary.write_bytes(vocabulary.read_bytes()[:-1])
    done = written(folder, 5, 1)
    assert done.returncode == 1 and done.stderr == b"vocabulary: the file is truncated\n"


def test_the_bytes_of_tokens(example, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    pieces, path = sys.modules["export_language_model"].pieces, tmp_path / "tokenizer.json"
    text = "naïve café costs 5 €, \x00\x7f 日本"
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.train_from_iterator(["naïve café"] * 9, tokenizers.trainers.BpeTrainer(
        vocab_size=270, special_tokens=["<end>"],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(str(path))
    found = pieces(path, 280)
    tokens = tokenizer.encode(text + "<end>").ids
    assert len(tokens) < len(text.encode()) + 1
    assert b"".join(found[token] for token in tokens).decode() == text
    assert found[270:] == [b""] * 10
    words = {"<s>": 0, "\u2581a": 1, "b": 2, "<0x0A>": 3, "日": 4}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words))
    tokenizer.add_special_tokens(["<s>"])
    tokenizer.save(str(path))
    assert pieces(path, 5) == [b"", b" a", b"b", b"\n", "日".encode()]


# --- against other packages ---------------------------------------------------------------------

def test_prompt_of_text(example, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    write_model(example, tmp_path, LLAMA)
    words = {f"word{k}": k for k in range(37)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="word0"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    done = run(tmp_path, "--prompt", "word1 word2 word3", "--count", 9, "--temperature", 0)
    want = list(example.LanguageModel(tmp_path, 12).generate([1, 2, 3]))
    assert done.returncode == 0
    assert done.stdout.replace("word", " ").split() == ["1", "2", "3", *map(str, want)]


@pytest.mark.parametrize("name", CONFIGS)
def test_against_transformers(example, name, tmp_path):
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    values = CONFIGS[name] | {"max_position_embeddings": 128, "n_positions": 128,
                              "eos_token_id": None, "bos_token_id": None, "pad_token_id": None}
    write_model(example, tmp_path, values)
    torch.manual_seed(0)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    peer = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for p in peer.parameters():
            p.add_(.2 * torch.randn_like(p))
    peer.save_pretrained(tmp_path, max_shard_size="8KB" if name == "qwen2" else "1GB")
    if name == "qwen2":
        (tmp_path / "model.safetensors").unlink(missing_ok=True)
    with torch.no_grad():
        text = peer.generate(torch.tensor([TOKENS]), max_new_tokens=100, do_sample=False)[0]
        want = peer(text[None]).logits[0].numpy()
    model = example.LanguageModel(tmp_path, len(text))
    got = model.logits(text.tolist()).numpy()
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()
    assert list(model.generate(TOKENS)) == text.tolist()[len(TOKENS):]
