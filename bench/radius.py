#!/usr/bin/env python3
"""Largest radius E of --domain ball:E,0:1 at which proved subsets (the class stays) have fewer than half of the
pixels of an image on average.

    bench/radius.py SIS MODEL.onnx IMAGES [--limit SECONDS] [--digits N] [--try N] [--step E]

Bisects over the first images (--try, 5). Then reduces the radius by --step (0.002) until the condition holds over
the first --digits (20). --limit (5) is the time of an image: a cut subset is proved, but may have more pixels than
needed. One process, one thread.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("sis")
    p.add_argument("model")
    p.add_argument("images")
    p.add_argument("--limit", type=float, default=5)
    p.add_argument("--digits", type=int, default=20)
    p.add_argument("--try", dest="tried", type=int, default=5)
    p.add_argument("--step", type=float, default=0.002)
    return p.parse_args()


def sizes(a, radius, digits):
    """Pixels of the subset and seconds of each image; 0 pixels if the class stays for all values."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "r.jsonl")
        subprocess.run([a.sis, "explain", "-q", "--model", a.model, "--input", a.images, "--rows", f"0:{digits}",
                        "--guarantee", "all", "--keep", "class", "--domain", f"ball:{radius:.4g},0:1",
                        "--max-subsets", "1", "--time-limit", str(a.limit), "--jobs", "1", "--output", out], check=True)
        with open(out) as f:
            records = [r for r in map(json.loads, f) if "status" in r]
    pixels = [len(r["subsets"][0]["features"]) if r["subsets"] else 0 for r in records]
    return pixels, [r["seconds"] for r in records], records[0]["n_features"]


def report(radius, pixels, seconds):
    print(f"ball:{radius:.4g},0:1  {len(pixels)} images: mean {statistics.mean(pixels):.1f}, median "
          f"{statistics.median(pixels):.1f}, most {max(pixels)}, none needed {pixels.count(0)}; "
          f"{statistics.mean(seconds):.2f} s each", flush=True)


def fewer_than_half(a, radius, digits):
    pixels, seconds, n = sizes(a, radius, digits)
    report(radius, pixels, seconds)
    return statistics.mean(pixels) < n / 2


def main():
    a = arguments()
    low, high = 0, 1
    while fewer_than_half(a, high * a.step, a.tried):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fewer_than_half(a, middle * a.step, a.tried) else (low, middle)
    while low > 0 and not fewer_than_half(a, low * a.step, a.digits):
        low -= 1
    print(f"largest radius: {low * a.step:.4g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
