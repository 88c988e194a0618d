# SPDX-License-Identifier: MIT
"""Writes a folder of grey images of different sides, two of which have as many pixels, and a folder of one in colours;
and networks for images of any sides: the score of lines.onnx is the brightness of the brightest line, that of
hues.onnx the brightness of the brightest colour. Nothing but the standard library is needed."""
import os
import random
import struct
import zlib


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(path, height, width, colours=0):
    n = 3 * width if colours else width
    lines = b"".join(b"\0" + bytes(random.randrange(256) for _ in range(n)) for _ in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2 * colours, 0, 0, 0))
                + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def field(number, value):
    """A field of a protocol buffer: a whole number, or bytes."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    value = value.encode() if isinstance(value, str) else value
    return bytes([number << 3 | 2, len(value)]) + value


def node(op, given, made, axes, keep):
    ints = field(1, "axes") + b"".join(field(8, a) for a in axes) + b"\xa0\x01\x07"
    flag = field(1, "keepdims") + field(3, keep) + b"\xa0\x01\x02"
    return field(1, given) + field(2, made) + field(4, op) + field(5, ints) + field(5, flag)


def tensor(name, sizes):
    dims = b"".join(field(1, field(2, s) if isinstance(s, str) else field(1, s)) for s in sizes)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, dims)))


def network(path, channels, axes):
    graph = (field(1, node("ReduceMean", "x", "m", axes, 0)) + field(1, node("ReduceMax", "m", "y", [1], 1))
             + field(2, "lines") + field(11, tensor("x", ["n", channels, "h", "w"])) + field(12, tensor("y", ["n", 1])))
    with open(path, "wb") as f:
        f.write(field(1, 7) + b"\x3a" + bytes([len(graph) & 127 | 128, len(graph) >> 7]) + graph
                + field(8, field(1, "") + field(2, 13)))


random.seed(1)
os.mkdir("pictures")
os.mkdir("coloured")
for name, height, width in (("wide", 6, 10), ("high", 10, 6), ("square", 5, 5)):
    png("pictures/%s.png" % name, height, width)
png("coloured/wide.png", 4, 5, 1)
network("lines.onnx", 1, [1, 3])
network("hues.onnx", 3, [2, 3])
