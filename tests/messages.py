#!/usr/bin/env python3
"""The catalogue of messages: the string literals of the calls that report an error, in C and in Python.

    messages.py          check every message; prints those that break a rule, and fails
    messages.py --list   print the catalogue: file, line, function, message

The rules are in check(). They keep messages short, on one line, and in plain English.
"""
import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Functions that report errors have such a name, or are listed here.
REPORTS = re.compile(
    r"\b(\w*(?:fail|refuse|complain|wrong|refute|usage)\w*|bad\w*|cli_error|cli_note|sis_error_set"
    r"|PyErr_Format|PyErr_SetString)\s*\(")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')
BANNED = re.compile(
    r"(?<!there )\b(is|are) no (?!longer)|\bis none\b|\bare none\b|there is nothing|\bto be had\b|\bmend(ed)?\b|\banew\b"
    r"|\balike\b|\bso many\b|\bgo(es)? on\b|\bgone on\b|\b(is|are) not there\b|\bis there (already|twice)\b|\bis called\b"
    r"|\bholds no\b|\bcannot be told\b|\bis told\b|\btake (it|one of them) out\b|\btake another\b|^of |\bis to be\b|\bare to be\b"
    r"|nothing can be proved|was asked for|\banswered\b|\bone's own\b|\bbehind (it|that|the name)\b", re.I)
LONGEST = 200
RECOMMENDED = re.compile(r"(?:\b(?:give|use|needs?|say with|allow it with|or)|;) --([a-z][a-z_-]*)")


def arguments(text, start):
    """The text of a call's arguments; start is after the opening bracket."""
    depth, i = 1, start
    while depth and i < len(text):
        if text[i] in "\"'":
            quote, i = text[i], i + 1
            while text[i] != quote:
                i += 2 if text[i] == "\\" else 1
        elif text[i] == "(":
            depth += 1
        elif text[i] == ")":
            depth -= 1
        i += 1
    return start, i - 1


def literals(text, start, end):
    """Adjacent literals between start and end, joined: (start, end, message)."""
    out, i = [], start
    for found in LITERAL.finditer(text, start, end):
        between = text[i:found.start()]
        value = found.group()[1:-1]
        if out and re.fullmatch(r"(\s|PRI\w+|SIS_\w+)*", between) and between.strip(" \n") != ",":
            out[-1] = (out[-1][0], found.end(), out[-1][2] + value)
        else:
            out.append((found.start(), found.end(), value))
        i = found.end()
    return out


def in_c(path):
    text = path.read_text()
    plain = re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    seen = set()
    for call in REPORTS.finditer(plain):
        for start, end, value in literals(plain, *arguments(plain, call.end())):
            if start not in seen and " " in value.strip():
                seen.add(start)
                yield plain.count("\n", 0, start) + 1, call.group(1), value


def in_python(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            parts = [n.value for n in ast.walk(node.exc.args[0]) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            text = "%s".join(parts)
            if " " in text:
                yield node.lineno, "raise", text


def catalogue():
    for folder in ("src", "cli", "mpi", "python/src"):
        for path in sorted((ROOT / folder).rglob("*.[ch]")):
            for line, call, value in in_c(path):
                yield path.relative_to(ROOT), line, call, value
    for path in sorted((ROOT / "python/sis").glob("*.py")):
        for line, call, value in in_python(path):
            yield path.relative_to(ROOT), line, call, value


def hidden():
    """Options that --help leaves out."""
    tables = "".join(path.read_text() for path in (ROOT / "cli").glob("*.[ch]"))
    entries = re.split(r"\{[\s\\]*(?=\"[a-z][a-z_-]*\",[\s\\]+(?:0|'.'),)", tables)
    return {entry.split('"')[1] for entry in entries[1:] if re.search(r"\.rare = 1", entry.split("{0}")[0].split("CLI_HEADING")[0])}


HIDDEN = hidden()


def check(value):
    """The rule that a message breaks, or None."""
    for option in RECOMMENDED.findall(value):
        if option in HIDDEN:
            return "--help does not show --%s" % option
    if "\\n" in value:
        return "more than one line"
    if len(value) > LONGEST:
        return "%d characters; at most %d" % (len(value), LONGEST)
    if value.endswith(".") and not value.endswith(".."):
        return "ends with a full stop"
    found = BANNED.search(value)
    return found and 'not plain: "%s"' % found.group()


def main():
    listed, bad = list(catalogue()), 0
    for path, line, call, value in listed:
        if "--list" in sys.argv:
            print(f"{path}:{line}\t{call}\t{value}")
        elif wrong := check(value):
            print(f"{path}:{line}: {wrong}: {value}")
            bad += 1
    if len(listed) < 1000:
        sys.exit("only %d messages were found" % len(listed))
    if bad:
        sys.exit("%d of %d messages break a rule" % (bad, len(listed)))
    print("%d messages" % len(listed), file=sys.stderr)


if __name__ == "__main__":
    main()
