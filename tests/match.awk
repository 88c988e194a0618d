# match.awk - does a text match what was expected?
#
#   awk -f match.awk EXPECTED ACTUAL     exit status 0: yes, 1: no
#
# Line by line, to the letter, except that in the expected text
#   ...  within a line stands for anything in that line (a time, a path), and
#   ...  alone on a line stands for any number of lines, none included.
# That is the only blank; a text that really has three dots matches itself.

NR == FNR { want[++wants] = $0; next }
{ have[++haves] = $0 }

# Does line `text` match `pattern`? The parts between dots are looked for from left to right, the
# last one at the end.
function fits(pattern, text,    parts, n, i, at) {
    n = split(pattern, parts, /\.\.\./)
    if (n < 2) return pattern == text
    if (substr(text, 1, length(parts[1])) != parts[1]) return 0
    text = substr(text, length(parts[1]) + 1)
    for (i = 2; i < n; i++) {
        at = index(text, parts[i])
        if (at == 0) return 0
        text = substr(text, at + length(parts[i]))
    }
    return length(text) >= length(parts[n]) &&
           substr(text, length(text) - length(parts[n]) + 1) == parts[n]
}

# Classic wildcard matching: on a mismatch, the last "..." line takes one more line.
function matches(    w, h, dots, taken) {
    w = h = 1
    dots = 0
    while (h <= haves) {
        if (w <= wants && want[w] == "...") { dots = w++; taken = h }
        else if (w <= wants && fits(want[w], have[h])) { w++; h++ }
        else if (dots) { w = dots + 1; h = ++taken }
        else return 0
    }
    while (w <= wants && want[w] == "...") w++
    return w > wants
}

END { exit !matches() }
