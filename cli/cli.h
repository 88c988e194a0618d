/* SPDX-License-Identifier: MIT
 *
 * cli.h - what every command of the program stands on.
 *
 * A command is a table: its options, where each one is stored, and the words of its manual. The
 * same table parses the command line, prints `sis NAME --help` and writes the manual page, so the
 * three cannot disagree. To add a command `greet`:
 *
 *   1. Write cli/greet.c:
 *
 *          typedef struct {
 *              const char *name;
 *              size_t times;
 *              cli_common common;                       // --quiet, the same in every command
 *          } greet_options;
 *
 *          static const cli_option options[] = {
 *              {"name", 'n', "NAME", CLI_STRING(greet_options, name), "whom to greet",
 *               .required = 1},
 *              {"times", 0, "N", CLI_COUNT(greet_options, times), "how often"},
 *              CLI_GROUP(greet_options, common, cli_common, cli_common_options),
 *              {0},
 *          };
 *
 *          static void init(void *o) {                  // o is zeroed; every default is here
 *              ((greet_options *)o)->times = 1;
 *          }
 *
 *          static int run(const void *o, const cli_list *args) { ...; return CLI_DONE; }
 *
 *          const cli_command cli_greet = {
 *              .name = "greet", .summary = "say hello", .options = options,
 *              .options_size = sizeof(greet_options), .init = init, .run = run,
 *              .examples = (const cli_example[]){{"sis greet --name Ada", "Greet Ada."}, {0}},
 *              .description = "Plain paragraphs.\n\nSeparated by an empty line.",
 *          };
 *
 *   2. Add X(greet) to CLI_COMMANDS below. Its place there is its place in `sis --help`.
 *   3. `tests/manual.sh --update build/sis` writes docs/sis-greet.1.
 *
 * Results go to stdout, everything else to stderr. A command prints an error with one of the three
 * functions below and returns what they return: `return cli_fail(sis_collect(...))`.
 */
#ifndef SIS_CLI_H
#define SIS_CLI_H

#include <stddef.h>
#include <stdio.h>

#include <sis/sis.h>

/* ---- Exit status and messages ---------------------------------------------------------------- */

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_USAGE = 2 };

/* Each prints one line, "sis COMMAND: ...", on stderr. */

/* The command line is invalid. Returns CLI_USAGE. */
int cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Something failed. Returns CLI_FAILED. */
int cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A library call returned `code`: prints sis_error_detail(), or the meaning of the code if there is
 * no detail. Returns CLI_FAILED, or CLI_USAGE for an invalid option. Code 0 prints nothing and
 * returns CLI_DONE. */
int cli_fail(int code);

/* A file could not be written. Prints the reason if errno has one. Returns CLI_FAILED. */
int cli_cannot_write(const char *path);

/* Print text from files or models with every terminal control character replaced by "?". The
 * messages above are printed through this. */
void cli_print_safe(FILE *out, const char *text);

/* Print one word of a command line, quoted if a shell needs it. */
void cli_print_word(FILE *out, const char *word);

/* Print a note that is neither a result nor an error, unless `quiet`. */
void cli_note(int quiet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Options --------------------------------------------------------------------------------- */

/* Values of a repeatable option, or the positional arguments. Borrowed: they live as long as
 * argv. */
typedef struct cli_list {
    const char **items;
    size_t n;
} cli_list;

typedef enum cli_kind {
    CLI_KIND_FLAG,   /* int           1 if given */
    CLI_KIND_STRING, /* const char *  the text */
    CLI_KIND_CHOICE, /* const char *  one of .choices, points to its text */
    CLI_KIND_NUMBER, /* double        finite, within .min and .max */
    CLI_KIND_COUNT,  /* size_t        0, 1, 2, ..., within .min and .max */
    CLI_KIND_LIST,   /* cli_list      one item each time the option is given */
} cli_kind;

typedef enum cli_writes {
    CLI_WRITES_NOTHING,
    CLI_WRITES_FILE,
    CLI_WRITES_NAMED,  /* NAME=FILE */
    CLI_WRITES_FOLDER, /* files in a folder, each checked by cli_refuse_output() */
} cli_writes;

typedef enum cli_from_results {
    CLI_NOT_FROM_RESULTS,
    CLI_VALUE_FROM_RESULTS,   /* any value: it never names a file, an address or a command */
    CLI_CHECKED_FROM_RESULTS, /* a value that names no file, or a file that the caller names too */
} cli_from_results;

typedef struct cli_option {
    const char *name;    /* without the dashes, not "help"; NULL ends the table */
    char letter;         /* short form, not 'h', or 0 */
    const char *metavar; /* "FILE", as help shows the value; NULL for a flag */
    cli_kind kind;       /* kind and offset are written by the CLI_ macros below, which also */
    size_t offset;       /* check that the field has the type the kind needs */
    const char *help;    /* one line, no full stop; help adds the default */
    const char *more;    /* further sentences for the manual page, or NULL */
    const char *choices; /* CHOICE: the accepted words, separated by spaces */
    const char *unset;   /* the default that help prints while the field is NULL, NaN, 0 or
                            empty: "the model's own", "all". NULL: print none (for a COUNT of 0:
                            print 0) */
    double min, max;     /* NUMBER and COUNT: the allowed range; min == max: no limits */
    int required;        /* STRING, CHOICE, NUMBER, LIST: an error if still NULL, NaN or empty */
    const struct cli_option *group; /* a nested table instead of an option: CLI_GROUP */
    const char *heading;            /* a title above the following options instead of an option */
    int optional;                   /* a group none of whose options is required in this command */
    int rare;                       /* listed in the manual only, to keep --help short */
    const char
        *implicit_value;   /* STRING: the value if none is given. A following word is the value only
                           if the command takes no further argument; =VALUE always is */
    int not_in_provenance; /* does not affect results; left out of provenance (cli_words_of) */
    cli_writes writes;     /* names an output: see cli_outputs_check() */
    cli_from_results from_results; /* may a results file set it without --trust (sis verify)? */
} cli_option;

/* The offset of a member of type `wanted`. Any other type is a compile error. */
#define CLI_AT(type, member, wanted)                                                               \
    (offsetof(type, member) + 0 * sizeof(_Generic(((type *)0)->member, wanted : 0)))

/* The fourth and fifth field of an option: its kind and where it is stored. */
#define CLI_FLAG(type, member) .kind = CLI_KIND_FLAG, .offset = CLI_AT(type, member, int)
#define CLI_STRING(type, member)                                                                   \
    .kind = CLI_KIND_STRING, .offset = CLI_AT(type, member, const char *)
#define CLI_CHOICE(type, member)                                                                   \
    .kind = CLI_KIND_CHOICE, .offset = CLI_AT(type, member, const char *)
#define CLI_NUMBER(type, member) .kind = CLI_KIND_NUMBER, .offset = CLI_AT(type, member, double)
#define CLI_COUNT(type, member) .kind = CLI_KIND_COUNT, .offset = CLI_AT(type, member, size_t)
#define CLI_LIST(type, member) .kind = CLI_KIND_LIST, .offset = CLI_AT(type, member, cli_list)

/* A table entry that includes another table, so that commands can share options. The options are
 * stored in `member`, of type `grouped`. A group cannot contain groups. */
#define CLI_GROUP(type, member, grouped, table)                                                    \
    { .offset = CLI_AT(type, member, grouped), .group = (table) }
#define CLI_OPTIONAL_GROUP(type, member, grouped, table)                                           \
    { .offset = CLI_AT(type, member, grouped), .group = (table), .optional = 1 }

#define CLI_HEADING(text)                                                                          \
    { .heading = (text) }

/* ---- Options shared by several commands ------------------------------------------------------ */

#define CLI_JOBS(type, member, text)                                                               \
    {                                                                                              \
        "jobs", 'j', "N", CLI_COUNT(type, member), text, .unset = "one per core", .max = 1024,     \
                                                         .not_in_provenance = 1                    \
    }
#define CLI_SEED(type, member, ...)                                                                \
    {                                                                                              \
        "seed", 's', "N", CLI_COUNT(type, member), "start of the random numbers",                  \
            .from_results = CLI_VALUE_FROM_RESULTS, __VA_ARGS__                                    \
    }
#define CLI_MEMORY(type, member)                                                                   \
    {                                                                                              \
        "memory", 0, "MIB", CLI_COUNT(type, member), "memory limit in MiB",                        \
            .rare = 1, .min = 1, .max = 1 << 20, .not_in_provenance = 1,                           \
            .more = "For batches of rows and the data of walks."                                   \
    }
#define CLI_ROWS(type, member)                                                                     \
    {                                                                                              \
        "rows", 'r', "A:B", CLI_STRING(type, member), "only these examples: A:B or 0,5,7",         \
            .from_results = CLI_VALUE_FROM_RESULTS, .unset = "all",                                \
            .more = "Numbers count from 0; B is not included."                                     \
    }
#define CLI_LABEL(type, member, ...)                                                               \
    {                                                                                              \
        "label", 0, "COLUMN", CLI_STRING(type, member), "column or field that holds the label",    \
            .from_results = CLI_VALUE_FROM_RESULTS, __VA_ARGS__                                    \
    }
#define CLI_ID(type, member, ...)                                                                  \
    {                                                                                              \
        "id", 0, "COLUMN", CLI_STRING(type, member), "column or field that holds the id",          \
            .from_results = CLI_VALUE_FROM_RESULTS, __VA_ARGS__                                    \
    }
#define CLI_CATEGORICAL(type, member, ...)                                                         \
    {                                                                                              \
        "categorical", 0, "[C]", CLI_STRING(type, member), "columns of words: all, or C,C,...",    \
            .implicit_value = "", .from_results = CLI_VALUE_FROM_RESULTS, __VA_ARGS__              \
    }
#define CLI_TYPES(type, member, ...)                                                               \
    {                                                                                              \
        "types", 0, "FILE", CLI_STRING(type, member), "file with the types of the columns",        \
            .more = "One line for each column: its name, blanks or a tab, and number, category, "  \
                    "ignore "                                                                      \
                    "(not a feature), id or label; the rest of the line is ignored. sis data "     \
                    "describe "                                                                    \
                    "prints such a file. The types of other columns are detected. Columns that "   \
                    "are not "                                                                     \
                    "features may be absent from the table."                                       \
    }
#define CLI_NO_HEADER(type, member, ...)                                                           \
    {                                                                                              \
        "no-header", 0, NULL, CLI_FLAG(type, member), "tables have no header",                     \
            .from_results = CLI_VALUE_FROM_RESULTS,                                                \
            .more = "Columns are named c0, c1, ..., and you can also refer to them by number. "    \
                    "Not needed "                                                                  \
                    "if the first line has only numbers, or one number twice."                     \
    }
/* Selects the records of one output: by its label (its position in records without labels) or by
 * its position. Both NULL: all records. */
typedef struct cli_target {
    const char *label, *index;
} cli_target;
#define CLI_TARGET_INDEX(type, member, text)                                                       \
    { "target-index", 0, "N", CLI_STRING(type, member), text }
#define CLI_TARGET(type, member)                                                                   \
    {"target",                                                                                     \
     'c',                                                                                          \
     "LABEL",                                                                                      \
     CLI_STRING(type, member.label),                                                               \
     "only records of this output",                                                                \
     .unset = "all",                                                                               \
     .more = "A label, or a position from 0 if the records have no labels."},                      \
        CLI_TARGET_INDEX(type, member.index, "only records of the output at this position")
#define CLI_DISTANCE(type, member, ...)                                                            \
    {                                                                                              \
        "distance", 'd', "D", CLI_CHOICE(type, member), "distance of two subsets",                 \
            .choices = "jaccard jaccard-bag levenshtein energy energy-sqrt overlap",               \
            .unset = "by kind of record", __VA_ARGS__                                              \
    }

#define CLI_WHERE(type, member)                                                                    \
    {                                                                                              \
        "where", 0, "COND", CLI_STRING(type, member), "only records that meet this condition",     \
            .unset = "all",                                                                        \
            .more =                                                                                \
                "FIELD=VALUE, or several joined by \"and\": sex=female and score<0.3. Fields of "  \
                "a "                                                                               \
                "record: example (or id), label, class (the label, or the number if the model "    \
                "has no "                                                                          \
                "labels), status, kind, model, method (= and !=); score, threshold (also < <= > "  \
                ">=). "                                                                            \
                "Fields of a subset: feature (the name of one of its features) and size; all "     \
                "conditions on subsets must hold for the same subset. Any other name is a column " \
                "of "                                                                              \
                "the example (= !=, for numbers also < <= > >=; a missing value is \"missing\"). " \
                "Quote the name of a column that is also a field. Quote a value that contains "    \
                "\"and\" or looks like a condition: label='this and that'."                        \
    }

#define CLI_FORCE(type, member)                                                                    \
    { "force", 0, NULL, CLI_FLAG(type, member), "overwrite existing files", .not_in_provenance = 1 }

/* In every command: --quiet. (The parser adds --help.) */
typedef struct cli_common {
    int quiet;
} cli_common;
extern const cli_option cli_common_options[];

/* ---- Commands -------------------------------------------------------------------------------- */

/* A table of these ends with {0}. The first is shown at the top of --help. */
typedef struct cli_example {
    const char *command; /* a line for the shell */
    const char *does;    /* what it does: a sentence for the manual page */
} cli_example;

typedef struct cli_command {
    const char *name;
    const char *summary;     /* lower case, no full stop, at most 60 characters */
    const char *description; /* manual: paragraphs separated by an empty line; a paragraph that
                                begins with a space is printed verbatim */
    const cli_example *examples;
    const cli_option *options;   /* ended by {0} */
    size_t options_size;         /* of the struct the options are stored in */
    const char *args;            /* name of the positional arguments in the usage line, or NULL */
    size_t min_args, max_args;   /* allowed number of positional arguments */
    void (*init)(void *options); /* sets defaults in zeroed options; NULL: none */
    int (*run)(const void *options, const cli_list *args); /* returns CLI_DONE, _FAILED, _USAGE */
} cli_command;

/* Every command, in the order of `sis --help`. */
#define CLI_COMMANDS(X)                                                                            \
    X(explain)                                                                                     \
    X(merge)                                                                                       \
    X(show)                                                                                        \
    X(report)                                                                                      \
    X(export)                                                                                      \
    X(summary)                                                                                     \
    X(verify)                                                                                      \
    X(evaluate)                                                                                    \
    X(cluster) X(compare) X(predict) X(serve) X(model) X(train) X(attack) X(data) X(demo) X(help)

#define CLI_DECLARE(name) extern const cli_command cli_##name;
CLI_COMMANDS(CLI_DECLARE)
#undef CLI_DECLARE

/* The program: its name, the text of its manual page, its commands. */
typedef struct cli_program {
    const char *name, *version, *summary, *description;
    const cli_example *examples;
    const cli_command *const *commands; /* ended by NULL */
} cli_program;

extern const cli_program cli_sis;

/* Run a command of the program from another one, as if it had been typed. Returns its exit
 * status. */
int cli_call(int argc, char **argv);

/* Find the command argv[1] asks for, parse its options, run it. Returns the exit status. */
int cli_main(const cli_program *program, int argc, char **argv);

/* The program cli_main() was last called with. */
const cli_program *cli_current(void);

/* Make SIGINT and similar signals end the children of models too. Call it once, before any thread
 * is started. */
void cli_interrupt_init(void);

/* Call `fn` on a separate thread when a signal arrives. The default action follows if it returns 0.
 * NULL restores the default. */
typedef int (*cli_interrupt_fn)(int number);
void cli_interrupt_take(cli_interrupt_fn fn);

/* The file that --resume can continue, named in the message when a signal ends the run; NULL:
 * none. */
void cli_interrupt_names(const char *path);

/* Returns at once, or never if a signal is about to end the program. */
void cli_interrupt_hold(void);

/* ---- Parts of the framework ------------------------------------------------------------------ */

/* Iterates over a table and its groups: cli_cursor c = {.at = table}; while ((o = cli_next(&c))).
 * c.offset is where o is stored; c.required tells whether this command needs it. */
typedef struct cli_cursor {
    const cli_option *at, *after;
    const char *heading; /* above the option, or NULL */
    size_t base, offset;
    int optional, required;
} cli_cursor;
const cli_option *cli_next(cli_cursor *c);

/* Parse argv into the command's zeroed options (init is called here) and args. CLI_DONE, or
 * CLI_USAGE after one line on stderr. --help sets *help and skips all further checks. Call
 * cli_release() in every case: it frees the lists in options and args. */
int cli_parse(const cli_command *command, int argc, char **argv, void *options, cli_list *args,
              int *help);
void cli_release(const cli_command *command, void *options, cli_list *args);

/* The command as words that cli_parse() accepts, with every option that is not at its default and
 * affects results (or `all`): "sis", "explain", "--threshold=0.8". CLI_DONE, or CLI_FAILED after one line; call
 * cli_words_release() in either case. */
int cli_words_of(const cli_command *command, const void *options, int all, cli_list *words);
void cli_words_release(cli_list *words);

/* The option with that name of `length` bytes, or NULL. */
const cli_option *cli_option_find(const cli_option *table, const char *name, size_t length);

/* Does that option differ from its default? -1 after an error line. */
int cli_option_given(const cli_command *command, const void *options, const cli_option *option);

/* Does the table have a flag of that name, and is it set? */
int cli_flag_given(const cli_command *command, const void *options, const char *name);

/* May the command write its outputs? cli_main() calls this before it runs a command; a command that
 * changes its options calls it again. CLI_DONE, or an exit status after one line. */
int cli_outputs_check(const cli_command *command, const void *options, const cli_list *args);

/* The command that was checked last; its options name its inputs. cli_call() saves and restores
 * it. */
typedef struct cli_running {
    const cli_command *command;
    const void *options;
    const cli_list *args;
} cli_running;
extern cli_running cli_running_now;

/* Checks of one output path for the running command. An empty file counts as absent; devices and
 * pipes are not protected. */
int cli_refuse_output(const char *path); /* both checks below */
int cli_refuse_existing(const char *path);
/* The same, when an output is opened: the file may be newer than the check of the options. */
int cli_refuse_appeared(const char *path);
int cli_refuse_overwriting_input(const char *path);

extern int cli_writes_nothing; /* this process writes no output, so nothing is checked */

/* A new zeroed options struct of the command with its defaults, or NULL after an error line. */
void *cli_options_new(const cli_command *command);

/* The one of `names` (ended by NULL) closest to `word`, or NULL if none is similar. */
const char *cli_nearest(const char *word, const char *const *names);

/* The command of that name, or NULL after an error line that suggests one. */
const cli_command *cli_find(const cli_program *program, const char *name);

/* Print help on stdout, generated from the tables. */
void cli_help_program(const cli_program *program);
int cli_help_command(const cli_program *program, const cli_command *command);

/* ---- Progress -------------------------------------------------------------------------------- */

/* A progress bar on stderr: only on a terminal, redrawn at most ten times a second.
 *
 *     cli_progress bar;
 *     cli_progress_init(&bar, o->common.quiet);
 *     opt.progress = cli_progress_show;  opt.progress_ctx = &bar;
 *     ... the library call ...
 *     cli_progress_end(&bar);             // before anything is printed about the outcome */
typedef struct cli_progress {
    int visible;          /* stderr is a terminal, and not --quiet */
    int drawn;            /* a bar is on the screen */
    double started, last; /* seconds: first call, last drawing */
    double fraction;      /* drawn last; the bar never moves back */
} cli_progress;

void cli_progress_init(cli_progress *bar, int quiet);
int cli_progress_show(void *bar, const sis_progress *p); /* always 0 */
void cli_progress_erase(cli_progress *bar); /* before printing a line; the bar is redrawn */
void cli_progress_end(cli_progress *bar);

/* The bar as text of at most `width` columns, for `fraction` done after `seconds`. */
void cli_progress_line(const sis_progress *p, double fraction, double seconds, char *text,
                       size_t width);

#endif
