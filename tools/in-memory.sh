#!/bin/sh
# Run a command with temporary files in memory, if the system has a large enough memory folder in which programs
# may run; otherwise they stay on disk. Tests write about 100,000 small files, and creating one takes five times
# as long on a disk.
#   in-memory.sh COMMAND...
fits() {
    [ "$(df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print ($4 > 2000000) }')" = 1 ] || return 1
    folder=$(mktemp -d "$1/sis-tests.XXXXXX" 2>/dev/null) || return 1
    printf '#!/bin/sh\n' > "$folder/try" && chmod +x "$folder/try" && "$folder/try" 2>/dev/null && return 0
    rm -rf "$folder"
    return 1
}
[ -z "${TMPDIR:-}" ] && fits /dev/shm || exec "$@"
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM HUP
TMPDIR=$folder "$@"
