/* SPDX-License-Identifier: MIT
 *
 * Help, manual pages and the command `help`, generated from the tables that the parser reads.
 * Defaults come from the command's init function. Help fits 80 columns and begins with an example;
 * the manual is roff with man(7) macros.
 */
#include "cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* ---- Text shared by help and manual ---------------------------------------------------------- */

enum { WIDTH = 79, LEFT = 26, TEXT = 512 };

/* The default of an option as text; "" if there is none to print. */
static void default_text(const cli_option *o, const void *target, char *text, size_t size) {
    const char *unset = o->unset ? o->unset : "";
    snprintf(text, size, "%s", unset);
    switch (o->kind) {
    case CLI_KIND_STRING:
    case CLI_KIND_CHOICE:
        if (*(const char *const *)target)
            snprintf(text, size, "%s", *(const char *const *)target);
        break;
    case CLI_KIND_NUMBER:
        if (!isnan(*(const double *)target) && (*(const double *)target != 0 || !*unset))
            snprintf(text, size, "%g", *(const double *)target);
        break;
    case CLI_KIND_COUNT:
        if (*(const size_t *)target != 0 || !*unset)
            snprintf(text, size, "%zu", *(const size_t *)target);
        break;
    case CLI_KIND_FLAG:
    case CLI_KIND_LIST:
        break;
    }
}

/* The help line with choices, default and other facts of the table. */
static void option_text(const cli_option *o, const char *options, const cli_cursor *c, char *text,
                        size_t size) {
    char value[TEXT / 2];
    int used = snprintf(text, size, "%s", o->help);
    if (o->choices)
        for (const char *at = o->choices; *at && (size_t)used + 4 < size; at++)
            used +=
                snprintf(text + used, size - (size_t)used, "%s%c%s", at == o->choices ? ": " : "",
                         *at == ' ' ? ',' : *at, *at == ' ' ? " " : "");
    default_text(o, options + c->offset, value, sizeof value);
    if (c->required && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " (required)");
    else if (*value && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, " (default: %s)", value);
}

/* "sis explain --model MODEL [options] FILE..." */
static void usage_text(const cli_program *program, const cli_command *command, char *text,
                       size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s %s", program->name, command->name);
    cli_cursor c = {.at = command->options};
    for (const cli_option *o; (o = cli_next(&c)) && used < size;)
        if (c.required)
            used += (size_t)snprintf(text + used, size - used, " --%s %s", o->name, o->metavar);
    if (used < size)
        snprintf(text + used, size - used, " [options]%s%s", command->args ? " " : "",
                 command->args ? command->args : "");
}

static const cli_option help_option = {"help", 'h', .help = "this help"};

/* ---- Help ------------------------------------------------------------------------------------ */

/* Print `text` from `column` on, wrapped at WIDTH with further lines indented; ends the line. */
static void wrap(const char *text, size_t column, size_t indent) {
    int first = 1;
    while (*text) {
        size_t word = strcspn(text, " ");
        if (!first && column + 1 + word > WIDTH) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)word, text);
        column += word;
        text += word;
        text += strspn(text, " ");
        first = 0;
    }
    putchar('\n');
}

static void help_option_line(const cli_option *o, const char *text) {
    char left[TEXT], letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    int used = snprintf(left, sizeof left, "  %s--%s%s%s", letter, o->name, o->metavar ? " " : "",
                        o->metavar ? o->metavar : "");
    if (used > LEFT - 2)
        printf("%s\n%*s", left, LEFT, "");
    else
        printf("%-*s", LEFT, left);
    wrap(text, LEFT, LEFT);
}

static void help_options(const cli_command *command, const char *options) {
    char text[TEXT];
    const char *above = NULL;
    cli_cursor c = {.at = command->options};
    for (const cli_option *o; (o = cli_next(&c));) {
        if (o->rare)
            continue;
        if (c.heading != above)
            printf("%s%s:\n", above ? "\n" : "", c.heading);
        above = c.heading;
        option_text(o, options, &c, text, sizeof text);
        help_option_line(o, text);
    }
    help_option_line(&help_option, help_option.help);
}

/* Say where the details are, and how many options have no line here. */
static void help_details(const cli_program *program, const cli_command *command) {
    char more[32] = "";
    cli_cursor c = {.at = command->options};
    int rare = 0;
    for (const cli_option *o; (o = cli_next(&c));)
        rare += o->rare;
    if (rare)
        snprintf(more, sizeof more, ", %d more option%s", rare, rare == 1 ? "" : "s");
    printf("\nDetails%s: man %s-%s, %s help --man %s | man -l -\n", more, program->name,
           command->name, program->name, command->name);
}

static void example_line(const cli_example *examples) {
    if (examples && examples->command) {
        printf("    ");
        for (const char *c = examples->command; *c; c++)
            *c == '\n' ? (void)printf("\n    ") : (void)putchar(*c);
        printf("\n\n");
    }
}

int cli_help_command(const cli_program *program, const cli_command *command) {
    char text[TEXT];
    void *options = cli_options_new(command);
    if (!options)
        return CLI_FAILED;
    printf("%s %s: ", program->name, command->name);
    wrap(command->summary, strlen(program->name) + strlen(command->name) + 3, 0);
    putchar('\n');
    example_line(command->examples);
    usage_text(program, command, text, sizeof text);
    printf("usage: ");
    wrap(text, 7, 11);
    putchar('\n');
    help_options(command, options);
    help_details(program, command);
    free(options);
    return CLI_DONE;
}

void cli_help_program(const cli_program *program) {
    printf("%s %s: ", program->name, program->version);
    wrap(program->summary, strlen(program->name) + strlen(program->version) + 3, 0);
    putchar('\n');
    example_line(program->examples);
    printf("usage: %s COMMAND [options]\n\n", program->name);
    for (const cli_command *const *c = program->commands; *c; c++) {
        printf("  %-11s", (*c)->name);
        wrap((*c)->summary, 13, 13);
    }
    printf("\n%s COMMAND --help describes a command; %s --version prints the version.\n",
           program->name, program->name);
}

/* ---- Manual ---------------------------------------------------------------------------------- */

/* Escape text for roff: no requests, and plain ASCII dashes. */
static void roff_n(const char *text, size_t n) {
    int line_start = 1;
    for (; n; n--, text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
        line_start = *text == '\n';
    }
}

static void roff(const char *text) {
    roff_n(text, strlen(text));
}

/* One line per paragraph; those that begin with a space are verbatim. */
static void roff_paragraphs(const char *text) {
    for (int first = 1; text && *text; first = 0) {
        const char *end = strstr(text, "\n\n");
        size_t n = end ? (size_t)(end - text) : strlen(text);
        if (*text == ' ') {
            fputs(".PP\n.nf\n", stdout);
            roff_n(text, n);
            fputs("\n.fi\n", stdout);
        } else {
            if (!first)
                fputs(".PP\n", stdout);
            roff_n(text, n);
            putchar('\n');
        }
        text += n + (end ? 2 : 0);
    }
}

static void roff_sentence(const char *text) {
    size_t n = strlen(text);
    if (n == 0)
        return;
    putchar(sis__upper(*text));
    roff(text + 1);
    puts(text[n - 1] == '.' || text[n - 1] == '?' ? "" : ".");
}

static void roff_header(const cli_program *program, const char *command, const char *summary) {
    fputs(".TH \"", stdout);
    for (const char *c = program->name; *c; c++)
        putchar(sis__upper(*c));
    if (command)
        fputs("\\-", stdout);
    for (const char *c = command ? command : ""; *c; c++)
        putchar(sis__upper(*c));
    printf("\" 1 \"\" \"%s %s\" \"User Commands\"\n.SH NAME\n", program->name, program->version);
    roff(program->name);
    if (command) {
        fputs("\\-", stdout);
        roff(command);
    }
    fputs(" \\- ", stdout);
    roff(summary);
    fputs("\n.SH SYNOPSIS\n", stdout);
}

static void roff_examples(const cli_example *examples) {
    if (!examples || !examples->command)
        return;
    puts(".SH EXAMPLES");
    for (; examples->command; examples++) {
        puts(".PP");
        roff_sentence(examples->does ? examples->does : "");
        puts(".PP\n.RS 4\n.nf");
        roff(examples->command);
        puts("\n.fi\n.RE");
    }
}

static void roff_exit_status(void) {
    puts(".SH EXIT STATUS\n"
         ".TP\n.B 0\nDone.\n"
         ".TP\n.B 1\nFailed; one line on standard error says why.\n"
         ".TP\n.B 2\nThe command line makes no sense; one line on standard error says why.");
}

static void roff_option(const cli_option *o, const char *text) {
    fputs(".TP\n\\fB", stdout);
    if (o->letter)
        printf("\\-%c\\fR, \\fB", o->letter);
    fputs("\\-\\-", stdout);
    roff(o->name);
    fputs("\\fR", stdout);
    if (o->metavar) {
        fputs(" \\fI", stdout);
        roff(o->metavar);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    roff_sentence(text);
    if (o->more) {
        roff(o->more);
        putchar('\n');
    }
}

static void roff_options(const cli_command *command, const char *options) {
    char text[TEXT];
    const char *above = NULL;
    cli_cursor c = {.at = command->options};
    puts(".SH OPTIONS");
    for (const cli_option *o; (o = cli_next(&c));) {
        if (c.heading != above)
            printf(".SS %s\n", c.heading);
        above = c.heading;
        option_text(o, options, &c, text, sizeof text);
        roff_option(o, text);
    }
    roff_option(&help_option, "print a summary and exit");
}

static int manual_command(const cli_program *program, const cli_command *command) {
    char text[TEXT];
    void *options = cli_options_new(command);
    if (!options)
        return CLI_FAILED;
    roff_header(program, command->name, command->summary);
    usage_text(program, command, text, sizeof text);
    roff(text);
    puts("\n.SH DESCRIPTION");
    roff_paragraphs(command->description);
    roff_options(command, options);
    roff_examples(command->examples);
    roff_exit_status();
    printf(".SH SEE ALSO\n.BR %s (1)\n", program->name);
    free(options);
    return CLI_DONE;
}

static void manual_program(const cli_program *program) {
    roff_header(program, NULL, program->summary);
    roff(program->name);
    puts(" COMMAND [options]\n.SH DESCRIPTION");
    roff_paragraphs(program->description);
    puts(".SH COMMANDS");
    for (const cli_command *const *c = program->commands; *c; c++) {
        fputs(".TP\n.B ", stdout);
        roff((*c)->name);
        putchar('\n');
        roff_sentence((*c)->summary);
    }
    roff_examples(program->examples);
    roff_exit_status();
    puts(".SH SEE ALSO");
    for (const cli_command *const *c = program->commands; *c; c++)
        printf(".BR %s\\-%s (1)%s\n", program->name, (*c)->name, c[1] ? "," : "");
}

/* ---- The command `help` ---------------------------------------------------------------------- */

typedef struct {
    int man, names;
} help_options_struct;

static const cli_option options_of_help[] = {
    {"man", 0, NULL, CLI_FLAG(help_options_struct, man), "print the manual page, as roff"},
    {"names", 0, NULL, CLI_FLAG(help_options_struct, names), "print the names of all commands"},
    {0},
};

static int run(const void *options, const cli_list *args) {
    const help_options_struct *o = options;
    const cli_program *program = cli_current();
    if (o->names) {
        for (const cli_command *const *c = program->commands; *c; c++)
            puts((*c)->name);
        return CLI_DONE;
    }
    if (args->n == 0) {
        o->man ? manual_program(program) : cli_help_program(program);
        return CLI_DONE;
    }
    const cli_command *command = cli_find(program, args->items[0]);
    if (!command)
        return CLI_USAGE;
    return o->man ? manual_command(program, command) : cli_help_command(program, command);
}

const cli_command cli_help = {
    .name = "help",
    .summary = "explain the program, or one command",
    .description =
        "Without a command, help lists the commands. With one, it explains that command and its "
        "options.\n\n"
        "With --man it prints the manual page instead, which says more. Pages that are not "
        "installed can be read with:\n\n"
        "    sis help --man COMMAND | man -l -",
    .examples =
        (const cli_example[]){
            {"sis help", "List the commands"},
            {"sis help --man help | man -l -", "Read the manual page of a command"},
            {0},
        },
    .options = options_of_help,
    .options_size = sizeof(help_options_struct),
    .args = "[COMMAND]",
    .max_args = 1,
    .run = run,
};
