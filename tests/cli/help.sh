# Help from the tables: the program, a command in four ways, and the version.
try --help
try parse --help
try help parse >a
try parse --file x --nonsense -h 2>/dev/null || try parse -f x -h --nonsense >b
cmp a b && echo "the same"
try --help parse >c
cmp a c && echo "the same"
try --version
sis --version | sed 's/[0-9.]*$/N/'
sis help >/dev/full
echo "exit $?"
