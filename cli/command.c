/* SPDX-License-Identifier: MIT
 *
 * Command dispatch: find the command named in argv, parse its options, run it, return its exit
 * status, and print errors. The name of the running command is the program's only global, so that
 * errors at any depth can name it.
 */
#include "base/buf.h"
#include "cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_program *current;
static const char *command_name; /* NULL before a command is known */

const cli_program *cli_current(void) {
    return current;
}

/* ---- Messages -------------------------------------------------------------------------------- */

void cli_print_safe(FILE *out, const char *text) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_safe(&b, text);
    fwrite(b.data ? b.data : "", 1, b.len, out);
    sis__buf_release(&b);
}

void cli_print_word(FILE *out, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+:,./@%#";
    if (*word && !word[strspn(word, plain)]) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1) {
        char *part = strndup(word, (size_t)(quote - word));
        cli_print_safe(out, part ? part : "");
        free(part);
        fputs("'\\''", out);
    }
    cli_print_safe(out, word);
    fputc('\'', out);
}

/* Print a message of any length. A very long one is shortened in the middle: its end tells the user
 * what to do. */
static void print_message(const char *format, va_list args) {
    enum { END = 1000 };
    char text[4096], *all = NULL;
    va_list again;
    va_copy(again, args);
    if (vsnprintf(text, sizeof text, format, args) >= (int)sizeof text) {
        int n = vasprintf(&all, format, again);
        if (n >= 0)
            snprintf(text, sizeof text, "%.*s ... %s", END, all, all + n - END);
        free(n >= 0 ? all : NULL);
    }
    va_end(again);
    cli_print_safe(stderr, text);
}

static void say(const char *format, va_list args) {
    cli_interrupt_hold();
    fflush(stdout); /* keep the order of stdout and stderr on a terminal */
    fputs(current ? current->name : "sis", stderr);
    if (command_name)
        fprintf(stderr, " %s", command_name);
    fputs(": ", stderr);
    print_message(format, args);
    fputc('\n', stderr);
}

int cli_usage(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return CLI_USAGE;
}

int cli_error(const char *format, ...) {
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return CLI_FAILED;
}

int cli_cannot_write(const char *path) {
    return cli_error("cannot write %s: %s", path, errno ? strerror(errno) : "is the disk full?");
}

int cli_fail(int code) {
    if (code == SIS_OK)
        return CLI_DONE;
    const char *detail = sis_error_detail();
    if (code == SIS_E_OPTION)
        return cli_usage("%s", detail);
    return cli_error("%s", *detail ? detail : sis_error_text(code));
}

void cli_note(int quiet, const char *format, ...) {
    if (quiet)
        return;
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
}

/* ---- Finding a command ----------------------------------------------------------------------- */

enum { LONGEST_NAME = 63 };

/* Edit distance from a to b: letters changed, added, removed or swapped with the next. A name
 * longer than LONGEST_NAME has the maximum distance. */
static size_t edits(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    size_t rows[3][LONGEST_NAME + 1];
    if (n > LONGEST_NAME || m > LONGEST_NAME)
        return LONGEST_NAME;
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3];
        const size_t *up = rows[(i + 2) % 3], *two_up = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = up[j - 1] + (a[i - 1] != b[j - 1]);
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                two_up[j - 2] + 1 < best)
                best = two_up[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *cli_nearest(const char *word, const char *const *names) {
    const char *nearest = NULL;
    size_t length = strlen(word), min = length / 3 + 2; /* beyond this it is a different word */
    for (; *names; names++) {
        size_t distance = edits(word, *names);
        if (length >= 2 && strncmp(word, *names, length) == 0)
            distance = 0; /* an abbreviation */
        if (distance < min) {
            min = distance;
            nearest = *names;
        }
    }
    return nearest;
}

static const char *nearest_command(const cli_program *program, const char *name) {
    const char *names[64];
    size_t n = 0;
    for (; program->commands[n] && n < 63; n++)
        names[n] = program->commands[n]->name;
    names[n] = NULL;
    return cli_nearest(name, names);
}

const cli_command *cli_find(const cli_program *program, const char *name) {
    for (const cli_command *const *c = program->commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    const char *nearest = nearest_command(program, name);
    if (nearest)
        cli_usage("unknown command \"%s\"; did you mean \"%s\"?", name, nearest);
    else
        cli_usage("unknown command \"%s\"; see: %s --help", name, program->name);
    return NULL;
}

/* ---- Running a command ----------------------------------------------------------------------- */

static int run(const cli_program *program, const cli_command *command, int argc, char **argv) {
    cli_list args = {0};
    cli_running caller = cli_running_now;
    int help = 0;
    command_name = command->name;
    void *options = cli_options_new(command);
    if (!options)
        return CLI_FAILED;
    int status = cli_parse(command, argc, argv, options, &args, &help);
    if (status == CLI_DONE)
        status =
            help ? cli_help_command(program, command) : cli_outputs_check(command, options, &args);
    if (status == CLI_DONE && !help)
        status = command->run(options, &args);
    cli_running_now = caller;
    cli_release(command, options, &args);
    free(options);
    return status;
}

static int is(const char *arg, const char *name, const char *letter) {
    return strcmp(arg, name) == 0 || strcmp(arg, letter) == 0;
}

/* `sis --help`, or `sis --help explain`, which equals `sis help explain`. */
static int help_for(const cli_program *program, const char *name) {
    if (!name || name[0] == '-') {
        cli_help_program(program);
        return CLI_DONE;
    }
    const cli_command *command = cli_find(program, name);
    return command ? cli_help_command(program, command) : CLI_USAGE;
}

static int dispatch(const cli_program *program, int argc, char **argv) {
    if (argc < 2)
        return cli_usage("expected a command; see: %s --help", program->name);
    if (is(argv[1], "--help", "-h"))
        return help_for(program, argc > 2 ? argv[2] : NULL);
    if (is(argv[1], "--version", "-V")) {
        printf("%s %s\n", program->name, program->version);
        return CLI_DONE;
    }
    if (argv[1][0] == '-')
        return cli_usage("unknown option %s before the command; see: %s --help", argv[1],
                         program->name);
    const cli_command *command = cli_find(program, argv[1]);
    return command ? run(program, command, argc - 2, argv + 2) : CLI_USAGE;
}

int cli_call(int argc, char **argv) {
    const char *caller = command_name;
    int status = dispatch(current, argc, argv);
    fflush(stdout);
    command_name = caller;
    return status;
}

int cli_main(const cli_program *program, int argc, char **argv) {
    current = program;
    command_name = NULL;
    int status = dispatch(program, argc, argv);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == CLI_DONE)
        status = cli_error("cannot write to standard output%s%s", errno ? ": " : "",
                           errno ? strerror(errno) : "");
    cli_interrupt_hold();
    return status;
}
