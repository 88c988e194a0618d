/* SPDX-License-Identifier: MIT
 *
 * Protects files from being overwritten, by one rule for every command. The rule is applied to the
 * table of options before the command runs.
 *
 * An existing output is refused without --force (or --resume, which appends). An output that the
 * command also reads is always refused. Outputs are the options marked .writes. Every other text on
 * the command line may name an input, so that no option can be forgotten: "mean:FILE", "NAME=FILE",
 * "FILE#OUTPUT", "FILE:ID", "cmd:interpreter FILE". Files are compared by device and inode, which
 * sees through links. Inputs that no option names (labels beside images) are refused when they are
 * opened for writing: see base/replace.h.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

int cli_writes_nothing;

cli_running cli_running_now;

static int is_dash(const char *path) {
    return strcmp(path, "-") == 0;
}

static int same(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* Is the output `path` that file, or inside that folder? */
static int is_read(const char *path, const struct stat *output, const char *name, int folders) {
    char packed[PATH_MAX + 4], real[PATH_MAX];
    struct stat st;
    if (stat(name, &st) != 0) { /* readers also look for a compressed file */
        snprintf(packed, sizeof packed, "%s.gz", name);
        return stat(packed, &st) == 0 && same(&st, output);
    }
    if (!S_ISDIR(st.st_mode) || !folders || !realpath(path, real))
        return same(&st, output);
    for (char *slash; (slash = strrchr(real, '/'));) {
        struct stat folder;
        *slash = '\0';
        if (stat(*real ? real : "/", &folder) == 0 && same(&folder, &st))
            return 1;
    }
    return 0;
}

/* Does some part of the text name the output? Parts are split where a prefix or suffix may be. */
static int names(const char *text, const char *path, const struct stat *output, int folders) {
    enum { MARKS = 256 };
    int command = strncmp(text, "cmd:", 4) == 0;
    const char *marks = command ? "=:,# \t'\"<>;|&()" : "=:,#", *at[MARKS];
    size_t n = 0;
    at[n++] = text - 1;
    for (const char *p = text; n < MARKS - 1 && (p = strpbrk(p, marks)); p++)
        at[n++] = p;
    at[n++] = text + strlen(text);
    for (size_t i = 0; i + 1 < n; i++)
        for (size_t k = i + 1; k < n; k++) {
            char part[PATH_MAX];
            size_t length = (size_t)(at[k] - at[i] - 1);
            if (length == 0 || length >= sizeof part)
                continue;
            memcpy(part, at[i] + 1, length);
            part[length] = '\0';
            if (is_read(path, output, part, folders && !command))
                return 1;
        }
    return 0;
}

static int any_names(const cli_list *texts, const char *path, const struct stat *output,
                     int folders) {
    for (size_t i = 0; i < texts->n; i++)
        if (names(texts->items[i], path, output, folders))
            return 1;
    return 0;
}

int cli_refuse_overwriting_input(const char *path) {
    struct stat output;
    if (!path || is_dash(path) || !cli_running_now.command || stat(path, &output) != 0 ||
        !S_ISREG(output.st_mode))
        return CLI_DONE;
    int folders = !cli_flag_given(cli_running_now.command, cli_running_now.options, "resume"),
        found = 0;
    cli_cursor c = {.at = cli_running_now.command->options};
    for (const cli_option *o; !found && (o = cli_next(&c));) {
        const void *value = (const char *)cli_running_now.options + c.offset;
        const char *text = o->kind == CLI_KIND_STRING ? *(const char *const *)value : NULL;
        if (o->writes)
            continue;
        if (o->kind == CLI_KIND_LIST)
            found = any_names((const cli_list *)value, path, &output, folders);
        else if (text)
            found = names(text, path, &output, folders);
    }
    if (!found && cli_running_now.args)
        found = any_names(cli_running_now.args, path, &output, folders);
    return found ? cli_error("%s is both input and output; name another output", path) : CLI_DONE;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

int cli_refuse_existing(const char *path) {
    struct stat st;
    if (!path || is_dash(path) || !cli_running_now.command || stat(path, &st) != 0 ||
        !S_ISREG(st.st_mode) || st.st_size == 0 ||
        cli_flag_given(cli_running_now.command, cli_running_now.options, "force"))
        return CLI_DONE;
    const cli_option *resume = cli_option_find(cli_running_now.command->options, "resume", 6);
    if (resume && cli_flag_given(cli_running_now.command, cli_running_now.options, "resume"))
        return CLI_DONE;
    return cli_error("%s exists already; %sgive --force to overwrite it, or name "
                     "another file",
                     path, resume ? "give --resume to continue it, " : "");
}

int cli_refuse_output(const char *path) {
    int status = cli_refuse_overwriting_input(path);
    return status == CLI_DONE ? cli_refuse_existing(path) : status;
}

/* Two options must not name the same file. */
static int refuse_twice(const char *a, const char *b) {
    struct stat x, y;
    const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
    int twice = stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && same(&x, &y);
    if (!twice && strcmp(end_a ? end_a + 1 : a, end_b ? end_b + 1 : b) == 0) {
        char folder[2][PATH_MAX];
        snprintf(folder[0], PATH_MAX, "%.*s", end_a ? (int)(end_a - a + 1) : 1, end_a ? a : ".");
        snprintf(folder[1], PATH_MAX, "%.*s", end_b ? (int)(end_b - b + 1) : 1, end_b ? b : ".");
        twice = stat(folder[0], &x) == 0 && stat(folder[1], &y) == 0 && same(&x, &y);
    }
    if (twice && stat(a, &x) == 0 && !S_ISREG(x.st_mode)) /* /dev/null may be named twice */
        twice = 0;
    return twice ? cli_usage("%s is named for two outputs", a) : CLI_DONE;
}

/* The path in the value of an output option. */
static const char *path_in(const cli_option *o, const char *value) {
    const char *equals = o->writes == CLI_WRITES_NAMED && value ? strchr(value, '=') : NULL;
    return equals ? equals + 1 : value;
}

/* Is it the value of an output option? */
static int is_output(const char *path) {
    cli_cursor c = {.at = cli_running_now.command->options};
    for (const cli_option *o; (o = cli_next(&c));) {
        const void *value = (const char *)cli_running_now.options + c.offset;
        const cli_list *list = (const cli_list *)value;
        if (!o->writes || o->writes == CLI_WRITES_FOLDER)
            continue;
        const char *text = o->kind == CLI_KIND_STRING ? *(const char *const *)value : NULL;
        if (text && strcmp(path_in(o, text), path) == 0)
            return 1;
        for (size_t i = 0; o->kind == CLI_KIND_LIST && i < list->n; i++)
            if (strcmp(path_in(o, list->items[i]), path) == 0)
                return 1;
    }
    return 0;
}

int cli_refuse_appeared(const char *path) {
    return cli_running_now.command && is_output(path) ? cli_refuse_existing(path) : CLI_DONE;
}

enum { OUTPUTS = 64 };

/* Add an output path and check it. */
static int add_output(const char *path, const char **outputs, size_t *n) {
    int status = path ? cli_refuse_output(path) : CLI_DONE;
    if (!path || is_dash(path))
        return status;
    for (size_t i = 0; status == CLI_DONE && i < *n; i++)
        status = refuse_twice(outputs[i], path);
    if (*n < OUTPUTS)
        outputs[(*n)++] = path;
    return status;
}

int cli_outputs_check(const cli_command *command, const void *options, const cli_list *args) {
    const char *outputs[OUTPUTS];
    size_t n = 0;
    int status = CLI_DONE;
    cli_cursor c = {.at = command->options};
    cli_running_now = (cli_running){cli_writes_nothing ? NULL : command, options, args};
    for (const cli_option *o; status == CLI_DONE && (o = cli_next(&c));) {
        const void *value = (const char *)options + c.offset;
        const cli_list *list = (const cli_list *)value;
        if (!o->writes || o->writes == CLI_WRITES_FOLDER)
            continue;
        if (o->kind == CLI_KIND_STRING)
            status = add_output(path_in(o, *(const char *const *)value), outputs, &n);
        for (size_t i = 0; o->kind == CLI_KIND_LIST && status == CLI_DONE && i < list->n; i++)
            status = add_output(path_in(o, list->items[i]), outputs, &n);
    }
    return status;
}
