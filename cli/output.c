/* SPDX-License-Identifier: MIT
 *
 * Results, line by line. Every line is flushed, so that whoever reads along sees it and a killed
 * run loses at most the line under way.
 */
#include "output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sis/report.h>

#include "cli.h"

static int failed(const cli_output *o, const char *doing) {
    return cli_error("cannot %s %s: %s", doing, o->path ? o->path : "standard output",
                     strerror(errno));
}

int cli_output_spares(const char *path, const char *input) {
    struct stat a, b;
    const char *colon = input ? strchr(input, ':') : NULL;
    if (!path || !input || stat(path, &a) != 0 || !S_ISREG(a.st_mode))
        return CLI_DONE;
    if (stat(input, &b) != 0 && (!colon || stat(colon + 1, &b) != 0))
        return CLI_DONE;
    if (a.st_dev != b.st_dev || a.st_ino != b.st_ino)
        return CLI_DONE;
    return cli_error("writing %s would overwrite what is read from it; name another file", path);
}

int cli_output_open(cli_output *o, const char *path, long long keep) {
    *o = (cli_output){.file = stdout};
    if (!path || strcmp(path, "-") == 0)
        return CLI_DONE;
    o->path = path;
    if (keep >= 0 && truncate(path, (off_t)keep) != 0 && errno != ENOENT) {
        o->file = NULL;
        return failed(o, "cut");
    }
    o->file = fopen(path, keep >= 0 ? "a" : "w");
    return o->file ? CLI_DONE : failed(o, "open");
}

int cli_output_fresh(const char *path, int force, int resumes) {
    struct stat st;
    if (!path || strcmp(path, "-") == 0 || force || stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
        st.st_size == 0)
        return CLI_DONE;
    return cli_error(
        "%s is there already; %sgive --force to overwrite it, or name another --output", path,
        resumes ? "give --resume to go on with it, " : "");
}

int cli_output_add(cli_output *o, const char *bytes, size_t n) {
    if (fwrite(bytes, 1, n, o->file) == n)
        return CLI_DONE;
    int status = failed(o, "write to");
    if (o->file != stdout)
        clearerr(o->file); /* it has been said: not again when it is closed */
    return status;
}

int cli_output_write(cli_output *o, const char *bytes, size_t n) {
    int status = cli_output_add(o, bytes, n);
    if (status != CLI_DONE || fflush(o->file) == 0)
        return status;
    status = failed(o, "write to");
    if (o->file != stdout)
        clearerr(o->file); /* it has been said: not again when it is closed */
    return status;
}

int cli_output_close(cli_output *o) {
    FILE *file = o->file;
    o->file = NULL;
    if (!file || file == stdout)
        return CLI_DONE;
    int broken = ferror(file);
    return fclose(file) == 0 && !broken ? CLI_DONE : failed(o, "write to");
}

int cli_output_all(const char *path, const char *bytes, size_t n) {
    cli_output out = {0};
    int status = cli_output_open(&out, path, -1);
    if (status != CLI_DONE)
        return status;
    status = cli_output_write(&out, bytes, n);
    int closed = cli_output_close(&out);
    return status == CLI_DONE ? closed : status;
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
