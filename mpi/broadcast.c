/* SPDX-License-Identifier: MIT
 *
 * --broadcast: copies files of rank 0 to processes that do not share its file system. A path in the
 * command below the working directory gets the same path below a new directory, which becomes the
 * working directory. So options and records have the same meaning in every process.
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sis/results.h>

#include "base/file.h"
#include "spread.h"

enum { NAME = 4096 };
static const size_t PIECE = (size_t)1 << 30; /* bytes of a message */

static char folder[NAME]; /* of this process; "": none */

/* Is the path below the working directory? */
static int is_below(const char *path) {
    return path[0] != '/' && strncmp(path, "../", 3) != 0 && !strstr(path, "/../");
}

static int is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The first n characters, if they name a file. */
static int take_name(const char *text, size_t n, char name[NAME]) {
    snprintf(name, NAME, "%.*s", (int)(n < NAME ? n : NAME - 1), text);
    return is_file(name);
}

/* The file that a word names: the word itself, or the text after "--name=", "mean:", "NAME=",
 * without the suffix of "FILE:ID" and "cmd:FILE ARGUMENTS". */
static int file_in(const char *word, char name[NAME]) {
    for (const char *at = word; at; at = strpbrk(at, "=:"), at += at != NULL)
        if (take_name(at, strlen(at), name) || take_name(at, strcspn(at, ":"), name) ||
            take_name(at, strcspn(at, " "), name))
            return 1;
    return 0;
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

/* Send one file from rank 0 to all. An empty name marks the end. */
static int share(const char *path, int rank) {
    char name[NAME] = "", *bytes = NULL;
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
    for (size_t at = 0, more; name[0] && at < n; at += more) {
        more = n - at < PIECE ? (size_t)n - at : PIECE;
        MPI_Bcast(bytes + at, (int)more, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
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

/* Does the word at `at` name an output file? */
static int is_output(char *const *words, size_t at) {
    const char *const names[] = {"-o", "--output", "--csv", "--json"};
    const char *before = at > 0 ? words[at - 1] : "";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(before, names[i]) == 0 || strncmp(words[at], names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* Send the files that words name from rank 0 to all: 0, or -1. */
static int share_words(char *const *words, size_t n) {
    char name[NAME];
    int got = 0;
    for (size_t i = 0; i < n && got >= 0; i++) {
        if (is_output(words, i) || !file_in(words[i], name))
            continue;
        if (!is_below(name)) {
            fprintf(stderr,
                    "sis-mpi: --broadcast: %s is not below the present folder; name it by a "
                    "path that is\n",
                    name);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        got = share(name, 0);
    }
    return got < 0 ? -1 : 0;
}

/* With --trust, the first record of results names the files it was made from. */
static int share_provenance(const char *path) {
    sis_results *file = NULL;
    sis_record r = {0};
    sis_provenance provenance = {0};
    int bad = 0;
    if (is_file(path) && sis_results_open(path, &file) == SIS_OK &&
        sis_results_next(file, &r) > 0 && r.provenance &&
        sis_provenance_parse(r.provenance, &provenance) == SIS_OK)
        bad = share_words((char *const *)provenance.command, provenance.n_command);
    sis_provenance_release(&provenance);
    sis_record_release(&r);
    sis_results_close(file);
    return bad;
}

int mpi_broadcast(int argc, char **argv, int rank) {
    int got = 1;
    if (rank != 0) {
        if (!enter_folder()) {
            fprintf(stderr, "sis-mpi: --broadcast: no folder %s: %s\n", folder, strerror(errno));
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        while (got > 0)
            got = share(NULL, rank);
        return got < 0;
    }
    int bad = share_words(argv + 2, argc > 2 ? (size_t)argc - 2 : 0);
    int trusts = 0;
    for (int i = 2; i < argc; i++)
        trusts |= strcmp(argv[i], "--trust") == 0;
    for (int i = 2; i < argc && !bad && trusts; i++)
        bad = share_provenance(argv[i]);
    return share(NULL, rank) < 0 || bad;
}

void mpi_broadcast_end(void) {
    char command[4200];
    if (!folder[0] || strchr(folder, '\''))
        return;
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (chdir("/") == 0 && system(command) != 0)
        fprintf(stderr, "sis-mpi: %s is left\n", folder);
}
