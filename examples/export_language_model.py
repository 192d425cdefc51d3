"""Export a pretrained language model as a C program that writes text without Python.

    python examples/export_language_model.py MODEL --folder gpt2_c --prompt "A quick brown fox"
    cd gpt2_c && ./language_model 50 $(cat prompt.txt)

Needs make and a C compiler. MODEL is a folder as for `language_model.py`. The step that reads a
token and draws the next one is exported with its weights, and export_language_model.c is compiled
with it. The file `vocabulary` has the bytes of each token: their number, 4 bytes, and the bytes.
Without tokenizer.json, the text of a token is its number.
"""

import argparse
import sys
from pathlib import Path

from c_programs import add_options, build
from language_model import BITS, LanguageModel, read_tokenizer
from model_files import ModelError, read_json

import dualflow as df


def byte_of() -> dict[str, int]:
    """Return the byte that each character stands for in the tokens of GPT-2, Llama 3 and Qwen."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {**{chr(byte): byte for byte in shown},
            **{chr(256 + i): byte for i, byte in enumerate(hidden)}}


def pieces(path: Path, count: int) -> list[bytes]:
    """Return the bytes that each token adds to a text; none for special tokens."""
    if not path.exists():
        return [b"%d " % token for token in range(count)]
    from tokenizers import Tokenizer

    tokenizer, bytes_of = Tokenizer.from_file(str(path)), byte_of()
    special = {i for i, token in tokenizer.get_added_tokens_decoder().items() if token.special}
    in_bytes = "ByteLevel" in str(read_json(path).get("decoder"))

    def piece(token: int) -> bytes:
        text = tokenizer.id_to_token(token)
        if text is None or token in special:
            return b""
        if in_bytes and all(c in bytes_of for c in text):
            return bytes(bytes_of[c] for c in text)
        if len(text) == 6 and text.startswith("<0x") and text.endswith(">"):
            return bytes([int(text[3:5], 16)])
        return text.replace("\N{LOWER ONE EIGHTH BLOCK}", " ").encode()

    return [piece(token) for token in range(count)]


def write_model(model: LanguageModel, options: argparse.Namespace, folder: Path) -> None:
    """Write the C files of the step, its weights, and what the C program reads beside them."""
    # Exports store variables in a file, and constants in the C source.
    weights = {name: df.nest.map_structure(lambda x, name=name: df.Variable(
        x, trainable=False, name=name) if isinstance(x, df.Tensor) else x, w)
        for name, w in model.weights.items()}

    @df.function
    def step(token: df.Tensor, position: df.Tensor) -> df.Tensor:
        return model.draw(weights, token, position, options.temperature, options.top_k,
                          options.top_p)

    df.random.set_seed(options.seed)
    df.export(folder / "model", {"step": step.get_concrete_function(
        df.TensorSpec([1], df.int32), df.TensorSpec([], df.int32))})
    count, ends = model.family.vocabulary, [end for end in model.end if end is not None]
    with (folder / "vocabulary").open("wb") as file:
        for piece in pieces(options.model / "tokenizer.json", count):
            file.write(len(piece).to_bytes(4, "little") + piece)
    (folder / "sizes.h").write_text(
        f"enum {{ VOCABULARY = {count}, LENGTH = {model.length}, ENDS = {len(ends)} }};\n"
        f"static const int ends[] = {{{', '.join(map(str, [*ends, -1]))}}};\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--folder", type=Path, required=True, help="a new one, for the C program")
    parser.add_argument("--prompt", help="a text whose tokens are written to prompt.txt")
    parser.add_argument("--length", type=int, default=256, help="tokens of the longest text")
    parser.add_argument("--temperature", type=float, default=0.8, help="0: the likeliest token")
    parser.add_argument("--top-k", type=int, default=0, help="draw from the k likeliest tokens")
    parser.add_argument("--top-p", type=float, default=1.0,
                        help="draw from the likeliest tokens with this sum of probabilities")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", choices=["float32", "bfloat16", *BITS], default="float32")
    add_options(parser)
    options = parser.parse_args()
    try:
        model = LanguageModel(options.model, options.length, options.dtype)
        tokens = [] if options.prompt is None else read_tokenizer(options.model, options.prompt)[0]
        options.folder.mkdir(parents=True)
        write_model(model, options, options.folder)
    except (ModelError, ImportError, FileExistsError) as error:
        sys.exit(f"{parser.prog}: {error}")
    (options.folder / "prompt.txt").write_text(" ".join(map(str, tokens)) + "\n")
    print(build(Path(__file__).with_suffix(".c"), options.folder.resolve(), options))


if __name__ == "__main__":
    main()
