"""Exports network architectures from PyTorch as ONNX files, unless the folder has them.

    python asv_bench/onnx_models.py FOLDER [NAME...]

The last line is a JSON object of names and paths. The weights are random: times do not depend on
them. Needs torch, torchvision, transformers, onnx and onnxscript.
"""

import json
import sys
import warnings
from pathlib import Path

import torch

VISION = {
    "resnet18": ("resnet18", 1), "resnet18, batch 8": ("resnet18", 8), "resnet50": ("resnet50", 1),
    "densenet121": ("densenet121", 1), "regnet": ("regnet_y_400mf", 1),
    "squeezenet": ("squeezenet1_1", 1), "mobilenet_v2": ("mobilenet_v2", 1),
    "mobilenet_v3": ("mobilenet_v3_large", 1), "efficientnet_b0": ("efficientnet_b0", 1),
    "shufflenet": ("shufflenet_v2_x1_0", 1), "deeplab": ("deeplabv3_mobilenet_v3_large", 1),
    "vit_b_16": ("vit_b_16", 1), "swin_t": ("swin_t", 1), "convnext_tiny": ("convnext_tiny", 1)}
TOKENS = 128


class Outputs(torch.nn.Module):
    """Returns the first tensor of the outputs of a model."""

    def __init__(self, model, **fixed):
        super().__init__()
        self.model, self.fixed = model, fixed

    def forward(self, x):
        found = self.model(x, **self.fixed)
        while not isinstance(found, torch.Tensor):
            found = next(iter(found.values())) if hasattr(found, "values") else found[0]
        return found


class UNet(torch.nn.Module):
    """Two levels of convolutions down and up, with skips."""

    def __init__(self, n=32):
        super().__init__()

        def twice(a, b):
            return torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.ReLU(),
                                       torch.nn.Conv2d(b, b, 3, padding=1), torch.nn.ReLU())

        self.down = torch.nn.ModuleList([twice(3, n), twice(n, 2 * n), twice(2 * n, 4 * n)])
        self.up = torch.nn.ModuleList([torch.nn.ConvTranspose2d(4 * n, 2 * n, 2, 2),
                                       torch.nn.ConvTranspose2d(2 * n, n, 2, 2)])
        self.joined = torch.nn.ModuleList([twice(4 * n, 2 * n), twice(2 * n, n)])
        self.last = torch.nn.Conv2d(n, 2, 1)

    def forward(self, x):
        skips = []
        for k, block in enumerate(self.down):
            x = block(torch.nn.functional.max_pool2d(x, 2) if k else x)
            skips.append(x)
        for up, block, skip in zip(self.up, self.joined, skips[-2::-1], strict=True):
            x = block(torch.cat([skip, up(x)], 1))
        return self.last(x)


class Recurrent(torch.nn.Module):
    """Two layers of LSTM in both directions."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(128, 256, 2, bidirectional=True, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def language(name):
    """Return a language model and an example of its input."""
    import transformers as t

    tokens = torch.randint(0, 1000, (1, TOKENS))
    small = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
             "intermediate_size": 1536}
    tiny = {"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
            "intermediate_size": 512}
    if name == "gpt2":
        return t.GPT2LMHeadModel(t.GPT2Config(attn_implementation="eager")), tokens
    if name == "llama_small":
        config = t.LlamaConfig(vocab_size=8000, hidden_size=512, intermediate_size=1376,
                               num_hidden_layers=6, num_attention_heads=8,
                               attn_implementation="eager")
        return t.LlamaForCausalLM(config), tokens
    if name == "distilbert":
        return t.DistilBertModel(t.DistilBertConfig(attn_implementation="eager")), tokens
    if name == "whisper encoder":
        config = t.WhisperConfig(d_model=384, encoder_layers=4, encoder_attention_heads=6,
                                 encoder_ffn_dim=1536, attn_implementation="eager")
        return t.WhisperModel(config).encoder, torch.randn(1, 80, 3000)
    sizes = {"bert_base": {}, "minilm": small, "bert_tiny": tiny}[name]
    return t.BertModel(t.BertConfig(attn_implementation="eager", **sizes)), tokens


OTHERS = ["unet", "mlp", "lstm"]
LANGUAGE = ["bert_tiny", "bert_base", "distilbert", "minilm", "gpt2", "llama_small",
            "whisper encoder"]
NAMES = [*VISION, *LANGUAGE, *OTHERS]


def model_of(name):
    """Return a model and an example of its input."""
    torch.manual_seed(0)
    if name in VISION:
        import torchvision

        kind, batch = VISION[name]
        module = torchvision.models.segmentation if name == "deeplab" else torchvision.models
        extra = {"weights_backbone": None} if name == "deeplab" else {}
        return getattr(module, kind)(weights=None, **extra), torch.randn(batch, 3, 224, 224)
    if name == "unet":
        return UNet(), torch.randn(1, 3, 128, 128)
    if name == "lstm":
        return Recurrent(), torch.randn(1, 100, 128)
    if name == "mlp":
        layers = [torch.nn.Linear(784, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)]
        return torch.nn.Sequential(*layers), torch.randn(1, 784)
    return language(name)


def export(name, path):
    """Write the model as an ONNX file."""
    model, x = model_of(name)
    for module in model.modules():      # else the biases of folded normalizations are 0
        if isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.normal_(module.bias, std=0.1)
            torch.nn.init.normal_(module.running_mean, std=0.1)
    torch.onnx.export(Outputs(model.eval()), (x,), path, dynamo=True, external_data=False,
                      verbose=False)


def main():
    folder, *names = sys.argv[1:]
    paths = {name: Path(folder, f"{name.replace(', ', '_').replace(' ', '_')}.onnx")
             for name in names or NAMES}
    for name, path in paths.items():
        if not path.exists():
            print("exporting", name, file=sys.stderr)
            export(name, path)
    print(json.dumps({name: str(path) for name, path in paths.items()}))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
