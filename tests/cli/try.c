/* SPDX-License-Identifier: MIT
 *
 * A program made only for the golden tests: the command-line framework with two commands of its
 * own. `try parse` has an option of every kind and prints what arrived; `try bar` prints the
 * progress bar for the numbers it is given, or plays it on the terminal.
 */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../../cli/cli.h"

/* ---- parse ----------------------------------------------------------------------------------- */

typedef struct {
    const char *file, *method, *note;
    double threshold, share;
    size_t times, jobs;
    int below;
    cli_list inputs;
    cli_common common;
} parse_options;

static const cli_option parse_table[] = {
    {"file", 'f', "FILE", CLI_STRING(parse_options, file), "a text that must be given",
     .required = 1, .more = "The manual says more: a \\ backslash, 'quotes' and .dots survive."},
    {"method", 0, "NAME", CLI_CHOICE(parse_options, method), "one of a few words",
     .choices = "sis ig lime"},
    {"note", 0, "TEXT", CLI_STRING(parse_options, note), "a text that may be missing",
     .unset = "the model's own"},
    {"threshold", 't', "T", CLI_NUMBER(parse_options, threshold), "a number without default"},
    {"share", 0, "S", CLI_NUMBER(parse_options, share), "a number from 0 to 1", .min = 0, .max = 1},
    {"times", 0, "N", CLI_COUNT(parse_options, times), "a count, at least 1", .min = 1,
     .max = INFINITY},
    {"jobs", 'j', "N", CLI_COUNT(parse_options, jobs),
     "a count where nothing means something, with a help text that is too long for one line",
     .unset = "one per core"},
    {"below", 'b', NULL, CLI_FLAG(parse_options, below), "a flag"},
    {"input", 'i', "FILE", CLI_LIST(parse_options, inputs), "may be repeated"},
    CLI_GROUP(parse_options, common, cli_common, cli_common_options),
    {0},
};

static void parse_init(void *options) {
    parse_options *o = options;
    o->method = "sis";
    o->threshold = NAN;
    o->share = 0.25;
    o->times = 3;
}

static void print_list(const char *name, const cli_list *list) {
    printf("%s:", name);
    for (size_t i = 0; i < list->n; i++)
        printf(" <%s>", list->items[i]);
    printf("\n");
}

static int parse_run(const void *options, const cli_list *args) {
    const parse_options *o = options;
    printf("file <%s> method <%s> note <%s>\n", o->file, o->method, o->note ? o->note : "");
    printf("threshold %g share %g times %zu jobs %zu below %d quiet %d\n", o->threshold, o->share,
           o->times, o->jobs, o->below, o->common.quiet);
    print_list("inputs", &o->inputs);
    print_list("arguments", args);
    cli_note(o->common.quiet, "a remark");
    return o->below ? cli_fail(SIS_E_NAN) : CLI_DONE;
}

static const cli_command parse = {
    .name = "parse",
    .summary = "print the options that were given",
    .description =
        "A paragraph.\n\n.A paragraph that begins with a dot.\n\n    kept  as it is\n    "
        ".on two lines",
    .examples = (const cli_example[]){{"try parse --file x", "print the defaults"}, {0}},
    .options = parse_table,
    .options_size = sizeof(parse_options),
    .args = "[FILE...]",
    .max_args = 2,
    .init = parse_init,
    .run = parse_run,
};

/* ---- bar ------------------------------------------------------------------------------------- */

typedef struct {
    size_t inputs, done, evaluations, width;
    double walk, seconds;
    int play;
    cli_common common;
} bar_options;

static const cli_option bar_table[] = {
    {"inputs", 0, "N", CLI_COUNT(bar_options, inputs), "inputs in all"},
    {"done", 0, "N", CLI_COUNT(bar_options, done), "inputs done"},
    {"evaluations", 0, "N", CLI_COUNT(bar_options, evaluations), "evaluations so far"},
    {"walk", 0, "W", CLI_NUMBER(bar_options, walk), "share of the walk under way"},
    {"seconds", 0, "S", CLI_NUMBER(bar_options, seconds), "since the start"},
    {"width", 0, "N", CLI_COUNT(bar_options, width), "columns", .min = 1, .max = 200},
    {"play", 0, NULL, CLI_FLAG(bar_options, play), "draw on stderr, several times"},
    CLI_GROUP(bar_options, common, cli_common, cli_common_options),
    {0},
};

static void bar_init(void *options) {
    bar_options *o = options;
    o->inputs = 100;
    o->width = 79;
}

static void play(const bar_options *o) {
    cli_progress bar;
    cli_progress_init(&bar, o->common.quiet);
    for (size_t i = 0; i <= 4; i++) {
        sis_progress p = {.inputs = 4, .inputs_done = i, .evaluations = 1000 * i};
        cli_progress_show(&bar, &p);
        cli_progress_show(&bar, &p); /* too soon: not drawn */
        nanosleep(&(struct timespec){.tv_nsec = 120000000}, NULL);
    }
    cli_progress_end(&bar);
}

static int bar_run(const void *options, const cli_list *args) {
    const bar_options *o = options;
    char text[256];
    (void)args;
    if (o->play) {
        play(o);
        return CLI_DONE;
    }
    sis_progress p = {.inputs = o->inputs,
                      .inputs_done = o->done,
                      .evaluations = o->evaluations,
                      .walk = o->walk};
    double fraction = ((double)o->done + o->walk) / (double)o->inputs;
    cli_progress_line(&p, fraction, o->seconds, text, o->width);
    printf("%s|\n", text);
    return CLI_DONE;
}

static const cli_command bar = {
    .name = "bar",
    .summary = "print the progress bar",
    .options = bar_table,
    .options_size = sizeof(bar_options),
    .init = bar_init,
    .run = bar_run,
};

int main(int argc, char **argv) {
    static const cli_command *const commands[] = {&parse, &bar, &cli_help, NULL};
    static const cli_program program = {
        .name = "try", .version = "1.2.3", .summary = "tries the framework", .commands = commands};
    return cli_main(&program, argc, argv);
}
