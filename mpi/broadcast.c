/* SPDX-License-Identifier: MIT
 *
 * --broadcast: files of rank 0 for processes on machines that do not share its file system. What a
 * command names by a path below the present folder gets the same path below a new folder, which
 * becomes the present one; so every option means there what it means here, and so do the records.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "spread.h"

static char folder[4096]; /* of this process; "": none */

/* Below the present folder? */
static int is_below(const char *path) {
    return path[0] != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../");
}

static int is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The file that a word names: itself, or behind "--name=", "mean:", "NAME=". NULL: none. */
static const char *file_in(const char *word) {
    const char *at = word;
    for (; at; at = strpbrk(at, "=:"), at += at != NULL)
        if (is_file(at))
            return at;
    return NULL;
}

static int make_folders(const char *path) {
    char part[4096];
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        if (mkdir(part, 0700) != 0 && errno != EEXIST)
            return 0;
    }
    return 1;
}

static int write_file(const char *path, const char *bytes, size_t n, int mode) {
    FILE *f = make_folders(path) ? fopen(path, "wb") : NULL;
    int bad = !f || fwrite(bytes, 1, n, f) != n;
    bad |= f && (fclose(f) != 0 || chmod(path, (mode_t)mode) != 0);
    if (bad)
        fprintf(stderr, "sis-mpi: --broadcast: cannot write %s/%s: %s\n", folder, path,
                strerror(errno));
    return bad;
}

/* One file from rank 0 to all. Names are empty at the end. */
static int share(const char *path, int rank) {
    char name[4096] = "", *bytes = NULL;
    unsigned long long n = 0;
    int mode = 0600, bad = 0;
    struct stat st;
    size_t length = 0;
    if (rank == 0 && path) {
        snprintf(name, sizeof name, "%s", path);
        bad = sis__file_read(path, &bytes, &length) != 0 || stat(path, &st) != 0;
        mode = bad ? mode : (int)(st.st_mode & 0700);
        n = length;
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Bcast(&n, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD);
    MPI_Bcast(&mode, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0)
        bytes = malloc((size_t)n + 1);
    if (!bytes && name[0])
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (name[0])
        MPI_Bcast(bytes, (int)n, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (rank != 0 && name[0])
        bad = write_file(name, bytes, (size_t)n, mode);
    free(bytes);
    return bad ? -1 : name[0] != '\0';
}

static int enter_folder(void) {
    const char *tmp = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/sis-mpi-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(folder) && chdir(folder) == 0;
}

int mpi_broadcast(int argc, char **argv, int rank) {
    int got = 1;
    if (rank != 0 && !enter_folder()) {
        fprintf(stderr, "sis-mpi: --broadcast: no folder %s: %s\n", folder, strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 2; rank == 0 && i < argc && got >= 0; i++) {
        const char *before = argv[i - 1], *file = file_in(argv[i]);
        if (!file || strcmp(before, "-o") == 0 || strcmp(before, "--output") == 0 ||
            strncmp(argv[i], "--output", 8) == 0 || strncmp(argv[i], "-o", 2) == 0)
            continue;
        if (!is_below(file)) {
            fprintf(stderr,
                    "sis-mpi: --broadcast: %s is not below the present folder; name it by a "
                    "path that is\n",
                    file);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        got = share(file, rank);
    }
    if (rank == 0 && got >= 0)
        got = share(NULL, rank);
    while (rank != 0 && got > 0)
        got = share(NULL, rank);
    return got < 0;
}

void mpi_broadcast_end(void) {
    char command[4200];
    if (!folder[0] || strchr(folder, '\''))
        return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") == 0 && system(command) != 0)
        fprintf(stderr, "sis-mpi: %s is left\n", folder);
}
