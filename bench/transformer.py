#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Write small encoders with random weights as PyTorch exports them: transformer.py FOLDER

Token ids and an attention mask go in, the first token's state decides, as in BERT; GELU by Erf,
layer normalisation decomposed (opset 14). NAME.onnx for each of MODELS; rows and lengths are free.
"""
import sys
import warnings

import torch
from torch import nn

# name: layers, width, heads, most tokens
MODELS = {
    "encoder-2": (2, 128, 4, 64),
    "encoder-4": (4, 128, 4, 64),
    "encoder-6": (6, 128, 4, 64),
    "encoder-2-wide": (2, 256, 8, 128),
    "encoder-4-narrow": (4, 64, 4, 32),
}
WORDS = 500


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(2))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, hidden):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = torch.matmul(q, k.transpose(-1, -2)) / (q.size(-1) ** 0.5) + hidden
        seen = torch.matmul(torch.softmax(scores, -1), v).permute(0, 2, 1, 3).contiguous()
        x = self.norms[0](self.out(seen.view(seen.size(0), seen.size(1), -1)) + x)
        return self.norms[1](self.down(nn.functional.gelu(self.up(x))) + x)


class Encoder(nn.Module):
    def __init__(self, layers, width, heads, most):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, width), nn.Embedding(most, width)
        self.register_buffer("numbers", torch.arange(most).unsqueeze(0))
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.pool, self.head = nn.Linear(width, width), nn.Linear(width, 2)

    def forward(self, ids, attention_mask):
        hidden = (1.0 - attention_mask[:, None, None, :].to(torch.float32)) * -10000.0
        x = self.norm(self.words(ids) + self.places(self.numbers[:, : ids.size(1)]))
        for layer in self.layers:
            x = layer(x, hidden)
        return torch.softmax(self.head(torch.tanh(self.pool(x[:, 0]))), -1)


def main(folder):
    warnings.simplefilter("ignore")
    for name, (layers, width, heads, most) in MODELS.items():
        torch.manual_seed(1)
        net = Encoder(layers, width, heads, most).eval()
        with torch.no_grad():
            net.head.weight *= 4
        ids = torch.randint(1, WORDS, (2, most))
        free = {0: "rows", 1: "length"}
        torch.onnx.export(net, (ids, torch.ones_like(ids)), f"{folder}/{name}.onnx",
                          input_names=["input_ids", "attention_mask"], output_names=["scores"],
                          dynamic_axes={"input_ids": free, "attention_mask": free,
                                        "scores": {0: "rows"}}, opset_version=14)


if __name__ == "__main__":
    main(sys.argv[1])
