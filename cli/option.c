/* SPDX-License-Identifier: MIT
 *
 * Parses a command line by its table.
 *
 * Accepted: `--name value`, `--name=value`, `-x value`, `-xvalue`, combined flags (`-qv`), options
 * and arguments in any order, `--` to end the options, `-` alone as an argument. A word that looks
 * like a long option is not a value (`--output --quiet` lacks a file name); write
 * `--output=--quiet` to force it. The last occurrence of an option counts, unless it is a list.
 * Names cannot be abbreviated, so that a new option cannot break a script.
 */
#include "cli.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/number.h"

const cli_option cli_common_options[] = {
    {"quiet", 'q', NULL, CLI_FLAG(cli_common, quiet), "no progress and no remarks on stderr",
     .not_in_provenance = 1},
    {0},
};

const cli_option *cli_next(cli_cursor *c) {
    for (;;) {
        const cli_option *o = c->at;
        if (o->group) {
            *c = (cli_cursor){.at = o->group,
                              .after = o + 1,
                              .heading = c->heading,
                              .base = o->offset,
                              .optional = o->optional};
        } else if (o->heading) {
            c->heading = o->heading;
            c->at++;
        } else if (o->name) {
            c->at++;
            c->offset = c->base + o->offset;
            c->required = o->required && !c->optional;
            return o;
        } else if (c->after) {
            *c = (cli_cursor){.at = c->after, .heading = c->heading};
        } else {
            return NULL;
        }
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* One option as the user wrote it, "--name" or "-x", for messages. */
typedef struct {
    const cli_option *option;
    void *target;
    char spelled[80];
} found;

static int out_of_range(const found *f, const char *value) {
    const cli_option *o = f->option;
    int digits = o->kind == CLI_KIND_COUNT ? 17 : 6; /* counts are printed in full */
    if (o->max == INFINITY)
        return cli_usage("%s: expected at least %.*g, found %s", f->spelled, digits, o->min, value);
    return cli_usage("%s: expected %.*g to %.*g, found %s", f->spelled, digits, o->min, digits,
                     o->max, value);
}

static int in_range(const cli_option *o, double v) {
    return o->min == o->max || (v >= o->min && v <= o->max);
}

static int store_number(const found *f, const char *value) {
    char *end;
    double v = sis__number(value, &end);
    if (end == value || *end || !isfinite(v) || sis__is_space(*value))
        return cli_usage("%s: expected a number, found \"%s\"", f->spelled, value);
    if (!in_range(f->option, v))
        return out_of_range(f, value);
    *(double *)f->target = v;
    return CLI_DONE;
}

static int store_count(const found *f, const char *value) {
    uintmax_t v = 0;
    if (!*value || value[strspn(value, "0123456789")])
        return cli_usage("%s: expected a whole number, 0 or more, found \"%s\"", f->spelled, value);
    errno = 0;
    v = strtoumax(value, NULL, 10);
    if (errno || v > SIZE_MAX)
        return cli_usage("%s: %s is too large", f->spelled, value);
    if (!in_range(f->option, (double)v))
        return out_of_range(f, value);
    *(size_t *)f->target = (size_t)v;
    return CLI_DONE;
}

/* "a b c" -> "a, b or c" */
static void choices_in_words(const char *choices, char *text, size_t size) {
    size_t used = 0;
    for (const char *c = choices; *c && used + 8 < size; c++) {
        if (*c != ' ')
            text[used++] = *c;
        else
            used += (size_t)snprintf(text + used, size - used, strchr(c + 1, ' ') ? ", " : " or ");
    }
    text[used] = '\0';
}

static int store_choice(const found *f, const char *value) {
    char words[256];
    size_t length = strlen(value);
    for (const char *c = f->option->choices; c && length; c = strchr(c, ' ')) {
        c += *c == ' ';
        if (strncmp(c, value, length) == 0 && (c[length] == ' ' || c[length] == '\0')) {
            *(const char **)f->target = value;
            return CLI_DONE;
        }
    }
    choices_in_words(f->option->choices, words, sizeof words);
    return cli_usage("%s: expected %s, found \"%s\"", f->spelled, words, value);
}

static int list_add(cli_list *list, const char *item) {
    const char **items = realloc(list->items, (list->n + 1) * sizeof *items);
    if (!items)
        return cli_error("out of memory");
    items[list->n++] = item;
    list->items = items;
    return CLI_DONE;
}

static int store(const found *f, const char *value) {
    switch (f->option->kind) {
    case CLI_KIND_FLAG:
        *(int *)f->target = 1;
        return CLI_DONE;
    case CLI_KIND_STRING:
        *(const char **)f->target = value;
        return CLI_DONE;
    case CLI_KIND_CHOICE:
        return store_choice(f, value);
    case CLI_KIND_NUMBER:
        return store_number(f, value);
    case CLI_KIND_COUNT:
        return store_count(f, value);
    case CLI_KIND_LIST:
        return list_add((cli_list *)f->target, value);
    }
    return CLI_USAGE;
}

/* ---- Words of the command line --------------------------------------------------------------- */

/* The remaining command line and the destinations. */
typedef struct {
    const cli_command *command;
    char **argv, **end;
    char *options;
    cli_list *args;
    int help;
} parser;

/* The new name of an option that was renamed. */
static const char *renamed(const char *name) {
    static const char *const table[][2] = {{"class", "target"}, {"target", "towards"}};
    size_t length = strcspn(name, "=");
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strlen(table[i][0]) == length && strncmp(table[i][0], name, length) == 0)
            return table[i][1];
    return NULL;
}

static int unknown(const parser *p, const char *name) {
    const char *now = renamed(name), *names[128];
    size_t n = 0;
    cli_cursor c = {.at = p->command->options};
    for (const cli_option *o; (o = cli_next(&c)) && n < 126;)
        names[n++] = o->name;
    names[n++] = "help";
    names[n] = NULL;
    const char *nearest = cli_nearest(name, names);
    if (now && cli_option_find(p->command->options, now, strlen(now)))
        return cli_usage("--%.*s was renamed to --%s", (int)strcspn(name, "="), name, now);
    if (nearest)
        return cli_usage("unknown option --%s; did you mean --%s?", name, nearest);
    return cli_usage("unknown option --%s; see: %s %s --help", name, cli_current()->name,
                     p->command->name);
}

static int is_named(const cli_option *o, const char *name, size_t length) {
    return strlen(o->name) == length && strncmp(o->name, name, length) == 0;
}

/* The value that follows an option, or NULL after an error line. */
static const char *next_value(parser *p, const found *f) {
    const char *next = p->argv < p->end ? *p->argv : NULL;
    if (f->option->implicit_value &&
        (!next || (next[0] == '-' && next[1]) || p->args->n < p->command->max_args))
        return f->option->implicit_value;
    if (next && !(next[0] == '-' && next[1] == '-' && next[2])) {
        p->argv++;
        return next;
    }
    if (next)
        cli_usage("%s: expected %s, found %s (if that is the value, write %s=%s)", f->spelled,
                  f->option->metavar, next, f->spelled, next);
    else
        cli_usage("%s: expected %s", f->spelled, f->option->metavar);
    return NULL;
}

static int parse_long(parser *p, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    cli_cursor c = {.at = p->command->options};
    found f;
    if (length == 4 && strncmp(word, "help", 4) == 0) {
        p->help = 1;
        return CLI_DONE;
    }
    do
        f.option = cli_next(&c);
    while (f.option && !is_named(f.option, word, length));
    if (!f.option)
        return unknown(p, word);
    f.target = p->options + c.offset;
    snprintf(f.spelled, sizeof f.spelled, "--%s", f.option->name);
    if (f.option->kind == CLI_KIND_FLAG && equals)
        return cli_usage("%s: takes no value, found \"%s\"", f.spelled, equals + 1);
    const char *value = f.option->kind == CLI_KIND_FLAG ? ""
                        : equals                        ? equals + 1
                                                        : next_value(p, &f);
    return value ? store(&f, value) : CLI_USAGE;
}

/* Combined letters: flags, the last of which may be an option with its value. */
static int parse_short(parser *p, const char *word) {
    for (; *word; word++) {
        cli_cursor c = {.at = p->command->options};
        found f;
        if (*word == 'h') {
            p->help = 1;
            return CLI_DONE;
        }
        do
            f.option = cli_next(&c);
        while (f.option && f.option->letter != *word);
        if (!f.option)
            return cli_usage("unknown option -%c; see: %s %s --help", *word, cli_current()->name,
                             p->command->name);
        f.target = p->options + c.offset;
        snprintf(f.spelled, sizeof f.spelled, "-%c", *word);
        if (f.option->kind != CLI_KIND_FLAG) {
            const char *value = word[1] ? word + 1 : next_value(p, &f);
            return value ? store(&f, value) : CLI_USAGE;
        }
        store(&f, "");
    }
    return CLI_DONE;
}

static int parse_words(parser *p) {
    int only_arguments = 0, status = CLI_DONE;
    while (status == CLI_DONE && !p->help && p->argv < p->end) {
        const char *word = *p->argv++;
        if (only_arguments || word[0] != '-' || word[1] == '\0')
            status = list_add(p->args, word);
        else if (word[1] != '-')
            status = parse_short(p, word + 1);
        else if (word[2] != '\0')
            status = parse_long(p, word + 2);
        else
            only_arguments = 1;
    }
    return status;
}

/* ---- Final checks ---------------------------------------------------------------------------- */

static int is_unset(const cli_option *o, const void *target) {
    switch (o->kind) {
    case CLI_KIND_STRING:
    case CLI_KIND_CHOICE:
        return !*(const char *const *)target;
    case CLI_KIND_NUMBER:
        return isnan(*(const double *)target) != 0;
    case CLI_KIND_LIST:
        return ((const cli_list *)target)->n == 0;
    default:
        return 0;
    }
}

static int check_required(const parser *p) {
    cli_cursor c = {.at = p->command->options};
    for (const cli_option *o; (o = cli_next(&c));)
        if (c.required && is_unset(o, p->options + c.offset))
            return cli_usage("--%s %s is missing: %s", o->name, o->metavar, o->help);
    return CLI_DONE;
}

static int check_args(const parser *p) {
    const cli_command *command = p->command;
    if (p->args->n > command->max_args)
        return cli_usage("unexpected argument \"%s\"%s; see: %s %s --help",
                         p->args->items[command->max_args],
                         command->max_args ? "" : ": this command takes options only",
                         cli_current()->name, command->name);
    if (p->args->n < command->min_args)
        return cli_usage("expected %s; see: %s %s --help", command->args, cli_current()->name,
                         command->name);
    return CLI_DONE;
}

/* ---- Options as words ------------------------------------------------------------------------ */

static int add_word(cli_list *words, const char *name, const char *value) {
    char *word = NULL;
    if (asprintf(&word, "--%s%s%s", name, value ? "=" : "", value ? value : "") < 0)
        return cli_error("out of memory");
    int status = list_add(words, word);
    if (status != CLI_DONE)
        free(word);
    return status;
}

/* Append the option as it was given, unless it has its default. */
static int spell(const cli_option *o, const void *now, const void *before, cli_list *words) {
    const cli_list *list = (const cli_list *)now;
    const char *text, *was;
    char number[40];
    int status = CLI_DONE;
    switch (o->kind) {
    case CLI_KIND_FLAG:
        return *(const int *)now ? add_word(words, o->name, NULL) : CLI_DONE;
    case CLI_KIND_STRING:
    case CLI_KIND_CHOICE:
        text = *(const char *const *)now;
        was = *(const char *const *)before;
        return !text || (was && strcmp(text, was) == 0) ? CLI_DONE : add_word(words, o->name, text);
    case CLI_KIND_NUMBER:
        snprintf(number, sizeof number, "%.17g", *(const double *)now);
        break;
    case CLI_KIND_COUNT:
        snprintf(number, sizeof number, "%zu", *(const size_t *)now);
        break;
    case CLI_KIND_LIST:
        for (size_t i = 0; status == CLI_DONE && i < list->n; i++)
            status = add_word(words, o->name, list->items[i]);
        return status;
    }
    size_t size = o->kind == CLI_KIND_NUMBER ? sizeof(double) : sizeof(size_t);
    return memcmp(now, before, size) == 0 ? CLI_DONE : add_word(words, o->name, number);
}

int cli_words_of(const cli_command *command, const void *options, int all, cli_list *words) {
    cli_cursor c = {.at = command->options};
    char *before = cli_options_new(command);
    int status = before ? CLI_DONE : CLI_FAILED;
    const char *const first[] = {"sis", command->name};
    for (size_t i = 0; status == CLI_DONE && i < 2; i++) {
        char *word = strdup(first[i]);
        status = word ? list_add(words, word) : cli_error("out of memory");
    }
    for (const cli_option *o; status == CLI_DONE && (o = cli_next(&c));)
        if (all || !o->not_in_provenance)
            status = spell(o, (const char *)options + c.offset, before + c.offset, words);
    free(before);
    return status;
}

const cli_option *cli_option_find(const cli_option *table, const char *name, size_t length) {
    cli_cursor c = {.at = table};
    const cli_option *o;
    do
        o = cli_next(&c);
    while (o && !is_named(o, name, length));
    return o;
}

int cli_flag_given(const cli_command *command, const void *options, const char *name) {
    cli_cursor c = {.at = command->options};
    for (const cli_option *o; (o = cli_next(&c));)
        if (o->kind == CLI_KIND_FLAG && strcmp(o->name, name) == 0)
            return *(const int *)(const void *)((const char *)options + c.offset);
    return 0;
}

static size_t size_of(cli_kind kind) {
    switch (kind) {
    case CLI_KIND_FLAG:
        return sizeof(int);
    case CLI_KIND_NUMBER:
        return sizeof(double);
    case CLI_KIND_COUNT:
        return sizeof(size_t);
    case CLI_KIND_LIST:
        return sizeof(cli_list);
    default:
        return sizeof(const char *);
    }
}

int cli_option_given(const cli_command *command, const void *options, const cli_option *option) {
    cli_cursor c = {.at = command->options};
    char *before = cli_options_new(command);
    int given = before ? 0 : -1;
    for (const cli_option *o; before && (o = cli_next(&c));)
        if (o == option)
            given =
                memcmp((const char *)options + c.offset, before + c.offset, size_of(o->kind)) != 0;
    free(before);
    return given;
}

void cli_words_release(cli_list *words) {
    for (size_t i = 0; i < words->n; i++)
        free((void *)words->items[i]);
    free((void *)words->items);
    *words = (cli_list){0};
}

/* ---- Entry points ---------------------------------------------------------------------------- */

/* Does the help text say that the option names an output? */
static int says_writes(const cli_option *o) {
    return o->metavar && (strstr(o->help, "write ") ||
                          (strncmp(o->help, "where ", 6) == 0 && strstr(o->help, " go")));
}

/* Assert the table rules of cli.h; a violation is a bug that the first test finds. */
static void check_table(const cli_option *table) {
    cli_cursor c = {.at = table};
    for (const cli_option *o; (o = cli_next(&c));) {
        cli_cursor rest = c;
        assert((o->kind == CLI_KIND_FLAG) == (o->metavar == NULL));
        assert((o->kind == CLI_KIND_CHOICE) == (o->choices != NULL));
        assert(!says_writes(o) || o->writes);
        assert(!o->writes || cli_option_find(table, "force", 5));
        assert(o->help && o->letter != 'h' && strcmp(o->name, "help") != 0);
        for (const cli_option *other; (other = cli_next(&rest));) {
            assert(strcmp(o->name, other->name) != 0);
            assert(!o->letter || o->letter != other->letter);
        }
    }
}

void *cli_options_new(const cli_command *command) {
    check_table(command->options);
    void *options = calloc(1, command->options_size ? command->options_size : 1);
    if (!options)
        cli_error("out of memory");
    else if (command->init)
        command->init(options);
    return options;
}

int cli_parse(const cli_command *command, int argc, char **argv, void *options, cli_list *args,
              int *help) {
    parser p = {
        .command = command, .argv = argv, .end = argv + argc, .options = options, .args = args};
    int status = parse_words(&p);
    *help = p.help;
    if (status == CLI_DONE && !p.help)
        status = check_args(&p);
    if (status == CLI_DONE && !p.help)
        status = check_required(&p);
    return status;
}

void cli_release(const cli_command *command, void *options, cli_list *args) {
    cli_cursor c = {.at = command->options};
    for (const cli_option *o; (o = cli_next(&c));)
        if (o->kind == CLI_KIND_LIST)
            free((void *)((cli_list *)(void *)((char *)options + c.offset))->items);
    free((void *)args->items);
    *args = (cli_list){0};
}
