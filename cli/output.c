/* SPDX-License-Identifier: MIT
 *
 * Output files and standard output. See output.h.
 */
#include "output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sis/report.h>

#include "cli.h"
#include "task.h"

static int failed(const cli_output *o, const char *doing) {
    return cli_error("cannot %s %s: %s", doing, o->path ? o->path : "standard output",
                     strerror(errno));
}

int cli_output_rewrite(cli_output *o, const char *path) {
    *o = (cli_output){.path = path};
    int status = cli_fail(sis__replace_begin(&o->whole, path));
    o->file = o->whole.file;
    return status;
}

int cli_output_open(cli_output *o, const char *path) {
    *o = (cli_output){.file = stdout};
    if (!path || strcmp(path, "-") == 0)
        return CLI_DONE;
    int status = cli_output_rewrite(o, path);
    return status == CLI_DONE && o->whole.part && !o->whole.absent ? cli_refuse_appeared(path)
                                                                   : status;
}

/* Only one process at a time may write a file. The lock belongs to the open file, so it ends with
 * the process. Some file systems have no locks. */
static int lock(const cli_output *o) {
    struct stat mine, there;
    int fd = fileno(o->file);
    if (fstat(fd, &mine) != 0 || !S_ISREG(mine.st_mode))
        return CLI_DONE;
    int taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!taken) /* has it been replaced since it was opened? */
        taken = stat(o->path, &there) != 0 || mine.st_dev != there.st_dev ||
                mine.st_ino != there.st_ino;
    return taken ? cli_error("another process is writing %s; wait for it, or name another --output",
                             o->path)
                 : CLI_DONE;
}

int cli_output_append(cli_output *o, const char *path) {
    *o = (cli_output){.file = stdout};
    if (!path || strcmp(path, "-") == 0)
        return CLI_DONE;
    o->path = path;
    int status = cli_fail(sis__replace_check(path));
    if (status != CLI_DONE) {
        o->file = NULL;
        return status;
    }
    o->file = fopen(path, "ae");
    return o->file ? lock(o) : failed(o, "open");
}

int cli_output_cut(cli_output *o, size_t bytes) {
    struct stat st;
    if (!o->path || (fstat(fileno(o->file), &st) == 0 && !S_ISREG(st.st_mode)))
        return CLI_DONE;
    return ftruncate(fileno(o->file), (off_t)bytes) == 0 ? CLI_DONE : failed(o, "cut");
}

/* On a terminal, replace control characters in names and texts by "?". Files and pipes get the
 * bytes unchanged. */
static int show(const char *bytes, size_t n) {
    char *text = cli_grab(n + 1, 1);
    if (!text)
        return CLI_FAILED;
    memcpy(text, bytes, n);
    text[n] = '\0';
    for (size_t i = 0, from = 0; i <= n; i++) {
        char c = text[i];
        if (c != '\0' && c != '\n' && c != '\t')
            continue;
        text[i] = '\0';
        cli_print_safe(stdout, text + from);
        if (i < n)
            putchar(c ? c : '?');
        from = i + 1;
    }
    free(text);
    return CLI_DONE;
}

int cli_output_add(cli_output *o, const char *bytes, size_t n) {
    if (o->file == stdout && isatty(STDOUT_FILENO))
        return show(bytes, n);
    if (fwrite(bytes, 1, n, o->file) == n)
        return CLI_DONE;
    int status = failed(o, "write to");
    if (o->file != stdout)
        clearerr(o->file); /* already reported; do not report it again on close */
    return status;
}

int cli_output_write(cli_output *o, const char *bytes, size_t n) {
    int status = cli_output_add(o, bytes, n);
    if (status != CLI_DONE || fflush(o->file) == 0)
        return status;
    status = failed(o, "write to");
    if (o->file != stdout)
        clearerr(o->file); /* already reported; do not report it again on close */
    return status;
}

int cli_output_close(cli_output *o, int status) {
    FILE *file = o->file;
    o->file = NULL;
    if (o->whole.path) {
        int error = sis__replace_end(&o->whole, status == CLI_DONE ? SIS_OK : SIS_E_CANCELLED);
        return status == CLI_DONE ? cli_fail(error) : status;
    }
    if (!file || file == stdout)
        return status;
    int broken = ferror(file);
    if ((fclose(file) != 0 || broken) && status == CLI_DONE)
        status = failed(o, "write to");
    return status;
}

int cli_output_all(const char *path, const char *bytes, size_t n) {
    cli_output out;
    int status = cli_output_open(&out, path);
    if (status == CLI_DONE)
        status = cli_output_write(&out, bytes, n);
    return cli_output_close(&out, status);
}

int cli_output_made(const char *path, int code, char *text, size_t n) {
    int status = code ? cli_fail(code) : cli_output_all(path, text ? text : "", n);
    free(text);
    return status;
}

int cli_print_made(int code, char *text) {
    char *rest = text;
    for (char *line; code == SIS_OK && (line = strsep(&rest, "\n")) && rest;) {
        cli_print_safe(stdout, line);
        putchar('\n');
    }
    free(text);
    return cli_fail(code);
}

int cli_figure_format(const char *path) {
    static const char *const formats[] = {
#define FORMAT(name, text) [SIS_FIGURE_##name] = text,
        SIS_FIGURE_FORMATS(FORMAT)
#undef FORMAT
    };
    const char *dot = strrchr(path, '.'), *name = dot ? dot + 1 : path;
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(formats[k], name) == 0)
            return (int)k;
    return -1;
}
