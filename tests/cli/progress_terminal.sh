# On a terminal the bar is drawn and erased; not with --quiet, not on a dumb one.
command -v script >/dev/null || {
    echo "needs script(1) for a terminal"
    exit 77
}
script -qec true /dev/null </dev/null >/dev/null 2>&1 || {
    echo "needs a pseudo-terminal"
    exit 77
}
drawings() {
    script -qec "$1" /dev/null </dev/null | tr '\r' '\n' | tr -d '\033' | sed 's/\[[=> ].*left/.../'
}
TERM=xterm
export TERM
drawings "stty cols 60; try bar --play"
echo
echo "quiet: $(drawings "try bar --play --quiet" | wc -c) bytes"
TERM=dumb
echo "dumb: $(drawings "try bar --play" | wc -c) bytes"
