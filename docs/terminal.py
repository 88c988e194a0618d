#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a terminal shows, as a picture: text with ANSI colours in, SVG out.

    docs/terminal.sh | docs/terminal.py > docs/terminal.svg

Knows what `sis show --colour always` writes: bold, dim, underlined, the 8 and the 256 colours, half blocks.
Backgrounds and half blocks become one path for each colour, words one text element for each style.
"""
import re
import sys
from html import escape

WIDE, HIGH, EDGE = 8, 17, 12
PAPER, INK = "#16181d", "#d5d8de"
PLAIN = ["#16181d", "#e06c75", "#8cc570", "#e0b05c", "#61a8e8", "#c678dd", "#4fb8c2", "#d5d8de"]


def colour(n):
    """One of the 256 colours of terminals."""
    if n < 16:
        return PLAIN[n % 8]
    if n >= 232:
        return "#%02x%02x%02x" % ((8 + 10 * (n - 232),) * 3)
    steps = (0, 95, 135, 175, 215, 255)
    n -= 16
    return "#%02x%02x%02x" % (steps[n // 36], steps[n // 6 % 6], steps[n % 6])


class Style:
    def __init__(self):
        self.ink, self.paper, self.bold, self.dim, self.under = INK, None, False, False, False

    def turn(self, codes):
        codes = [int(c or 0) for c in codes.split(";")]
        while codes:
            c = codes.pop(0)
            if c in (38, 48) and len(codes) > 1:
                shade = colour(codes[1])
                del codes[:2]
                if c == 38:
                    self.ink = shade
                else:
                    self.paper = shade
            elif c == 0:
                self.__init__()
            elif c == 1:
                self.bold = True
            elif c == 2:
                self.dim = True
            elif c == 4:
                self.under = True
            elif 30 <= c <= 37:
                self.ink = PLAIN[c - 30]


def draw(lines):
    boxes, words, columns = {}, [], 0

    def box(shade, x, y, high):
        runs = boxes.setdefault(shade, [])
        if runs and runs[-1][1:] == [y, high] and runs[-1][0][1] == x:
            runs[-1][0][1] = x + WIDE
        else:
            runs.append([[x, x + WIDE], y, high])

    for row, line in enumerate(lines):
        style, at = Style(), 0
        top = EDGE + row * HIGH
        for escape_codes, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b]+)", line):
            if not text:
                style.turn(escape_codes)
                continue
            for i, letter in enumerate(text):
                x = EDGE + (at + i) * WIDE
                if letter in "\u2580\u2584":
                    lower = letter == "\u2584"
                    box(style.paper or PAPER, x, top + (0 if lower else HIGH / 2), HIGH / 2)
                    box(style.ink, x, top + (HIGH / 2 if lower else 0), HIGH / 2)
                elif style.paper:
                    box(style.paper, x, top, HIGH)
            for piece in re.finditer(r"[^ \u2580\u2584]+(?: [^ \u2580\u2584]+)*", text):
                words.append((EDGE + (at + piece.start()) * WIDE, top + 13, piece.group(), style.ink, style.bold,
                              style.dim, style.under))
            at += len(text)
        columns = max(columns, at)
    width, height = 2 * EDGE + columns * WIDE, 2 * EDGE + len(lines) * HIGH
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
          'font-family="ui-monospace, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13.2">')
    print(f'<title>sis show in a terminal</title><rect width="{width}" height="{height}" rx="8" fill="{PAPER}"/>')
    for shade, runs in boxes.items():
        if shade != PAPER:
            path = "".join(f"M{x[0]} {y:g}h{x[1] - x[0]}v{high:g}h{x[0] - x[1]}z" for x, y, high in runs)
            print(f'<path fill="{shade}" shape-rendering="crispEdges" d="{path}"/>')
    for x, y, text, ink, bold, dim, under in words:
        more = (' font-weight="700"' if bold else "") + (' opacity=".6"' if dim else "")
        more += ' text-decoration="underline"' if under else ""
        print(f'<text x="{x}" y="{y}" textLength="{len(text) * WIDE}" fill="{ink}"{more}>{escape(text)}</text>')
    print("</svg>")


draw(sys.stdin.read().rstrip("\n").split("\n"))
