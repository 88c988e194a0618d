/* SPDX-License-Identifier: MIT
 *
 * sis show: prints results as text. Several files over the same inputs are printed side by side,
 * example by example; the first file sets the examples and their order.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <sis/dna.h>
#include <sis/report.h>

#include "base/buf.h"
#include "base/columns.h"
#include "records.h"

enum { GAP = 3, COLUMN = 36 }; /* columns: between files; minimum width of one */
enum { WIDTH_MIN = 24, WIDTH_MAX = 400 };

typedef struct {
    size_t subsets;
    int lines, whole, decided;
    const char *colour, *motifs, *where;
    cli_common common;
} show_options;

static const cli_option options[] = {
    {"subsets", 0, "N", CLI_COUNT(show_options, subsets), "show at most N subsets of an example",
     .unset = "all"},
    {"lines", 0, NULL, CLI_FLAG(show_options, lines),
     "print features as lines, also for texts, DNA and images"},
    {"whole", 0, NULL, CLI_FLAG(show_options, whole), "show long texts completely",
     .more = "Without this option, texts of more than 100 words are shortened to the words around "
             "the subsets, with ... for the rest."},
    {"decided", 0, NULL, CLI_FLAG(show_options, decided),
     "only decided examples: explained, or decided by default"},
    {"colour", 0, "WHEN", CLI_STRING(show_options, colour),
     "auto (on a terminal, unless NO_COLOR is set), always or never"},
    {"motifs", 0, "FILE", CLI_STRING(show_options, motifs),
     "DNA: known motifs; the best match of each subset is printed",
     .more = "A JASPAR or MEME file; sis data jaspar fetches one. FILE:ID selects one motif. The "
             "best match has the smallest divergence, as in sis cluster."},
    CLI_WHERE(show_options, where),
    CLI_GROUP(show_options, common, cli_common, cli_common_options),
    {0},
};

static void defaults(void *p) {
    ((show_options *)p)->colour = "auto";
}

/* Which records are shown, and how. */
typedef struct {
    sis_text_opt text;
    cli_where where;
    int decided;           /* only records with a decision */
    size_t asked, printed; /* records */
} page;

static size_t terminal_width(void) {
    struct winsize w;
    const char *told = getenv("COLUMNS");
    long columns = told ? strtol(told, NULL, 10) : 0;
    if (columns <= 0 && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0)
        columns = w.ws_col;
    if (columns <= 0)
        columns = 80;
    return columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : (size_t)columns;
}

static int page_of(const show_options *o, page *p) {
    const char *no = getenv("NO_COLOR");
    sis_text_opt_init(&p->text);
    p->text.width = terminal_width();
    p->text.lines = o->lines;
    p->text.whole = o->whole;
    p->decided = o->decided;
    p->text.subsets = o->subsets;
    p->text.colour = strcmp(o->colour, "always") == 0;
    if (strcmp(o->colour, "auto") == 0)
        p->text.colour = isatty(STDOUT_FILENO) && !(no && *no);
    else if (!p->text.colour && strcmp(o->colour, "never") != 0)
        return cli_usage("--colour: expected auto, always or never, found \"%s\"", o->colour);
    return CLI_DONE;
}

/* Should this record be printed? */
static int is_shown(page *p, const sis_record *r) {
    sis_status status = r->collection.status;
    int shown = !p->decided || (status != SIS_STATUS_NOT_DECIDED && status != SIS_STATUS_ERROR);
    p->asked++;
    p->printed += (size_t)shown;
    return shown;
}

/* ---- One file -------------------------------------------------------------------------------- */

static int print_record(void *ctx, sis_record *r) {
    page *p = ctx;
    char *text = NULL;
    size_t n;
    if (!is_shown(p, r))
        return CLI_DONE;
    int status = cli_fail(sis_record_text(r, &p->text, &text, &n));
    if (status == CLI_DONE)
        fwrite(text, 1, n, stdout);
    free(text);
    return status;
}

/* ---- Several -------------------------------------------------------------------------------- */

/* The text of one file's record of an example, below the file's name. */
static char *column_text(const page *p, const char *path, const sis_record *r, size_t width) {
    sis_text_opt opt = p->text;
    char *text = NULL, *column = NULL;
    size_t n;
    sis__buf b;
    opt.width = width;
    sis__buf_init(&b);
    sis__buf_str(&b, opt.colour ? "\033[4m" : "");
    sis__buf_safe(&b, path);
    sis__buf_str(&b, opt.colour ? "\033[0m\n" : "\n");
    if (!r)
        sis__buf_str(&b, "not in this file\n");
    else if (sis_record_text(r, &opt, &text, &n) == SIS_OK)
        sis__buf_str(&b, text);
    int error = r && !text ? SIS_E_NOMEM : sis__buf_give(&b, &column, &n);
    free(text);
    sis__buf_release(&b);
    return error == SIS_OK ? column : NULL;
}

/* The number of bytes of a line that fit `width` columns: up to a space, but at least one word. */
static size_t fitting(const char *line, size_t n, size_t width) {
    size_t indent = strspn(line, " "), fits = sis__columns_fitting(line, width);
    if (fits >= n)
        return n;
    while (fits > indent && line[fits] != ' ')
        fits--;
    if (fits <= indent)
        fits = indent + strcspn(line + indent, " ");
    while (fits < n && fits > indent && line[fits - 1] == ' ')
        fits--;
    return fits;
}

/* A text that is printed beside others. */
typedef struct {
    char *text;    /* the whole text; freed at the end */
    char *at;      /* start of the unprinted rest */
    char *end;     /* end of the current line; NULL: none */
    size_t more;   /* 1: lines follow the current one; else 0 */
    size_t indent; /* of the continuation of a folded line */
} column;

static void end_line(column *c) {
    c->at = c->end + c->more;
    c->end = NULL;
    c->indent = 0;
}

/* The next line of a column, folded to `width`; NULL at the end. It is indented by *indent
 * columns. */
static char *next_line(column *c, size_t width, size_t *indent) {
    if (c->end && c->at >= c->end)
        end_line(c);
    char *line = c->at;
    *indent = c->indent;
    if (!*line)
        return NULL;
    if (!c->end) {
        c->end = line + strcspn(line, "\n");
        c->more = *c->end != '\0';
        *c->end = '\0';
    }
    size_t whole = (size_t)(c->end - line), n = fitting(line, whole, width - *indent);
    if (n == whole) {
        end_line(c);
        return line;
    }
    size_t own = strspn(line, " ");
    line[n] = '\0';
    c->at = line + n + 1;
    c->at += strspn(c->at, " ");
    c->indent += c->indent + own < width / 2 ? own : 0;
    return line;
}

static void print_beside(column *columns, size_t n, size_t width) {
    for (int more = 1; more;) {
        size_t owed = 0; /* pending spaces before the next text */
        more = 0;
        for (size_t i = 0; i < n; i++) {
            size_t indent;
            char *line = next_line(&columns[i], width, &indent);
            more |= line != NULL;
            size_t used = line && *line ? indent + sis__columns(line) : 0;
            if (used) {
                printf("%*s%s", (int)(owed + indent), "", line);
                owed = 0;
            }
            owed += (used < width ? width - used : 0) + GAP;
        }
        if (more)
            putchar('\n');
    }
}

/* The page and the files beside the first. */
typedef struct {
    page *page;
    const char *first;
    sis_records *others; /* (n) */
    size_t n;
} neighbours;

static int show_example(void *ctx, sis_record *r) {
    const neighbours *b = ctx;
    page *p = b->page;
    if (!is_shown(p, r))
        return CLI_DONE;
    size_t files = b->n + 1, width = (p->text.width - GAP * b->n) / files;
    column *columns = cli_grab(files, sizeof *columns);
    int status = columns ? CLI_DONE : CLI_FAILED;
    int beside = width >= COLUMN && p->text.width > GAP * b->n;
    for (size_t i = 0; status == CLI_DONE && i < files; i++) {
        const sis_record *shown = i == 0 ? r : sis_records_find(&b->others[i - 1], r->id);
        const char *path = i == 0 ? b->first : b->others[i - 1].name;
        char *text = column_text(p, path, shown, beside ? width : p->text.width);
        columns[i] = (column){.text = text, .at = text};
        if (!text)
            status = cli_error("out of memory");
        else if (!beside)
            fputs(text, stdout);
    }
    if (status == CLI_DONE && beside)
        print_beside(columns, files, width);
    for (size_t i = 0; columns && i < files; i++)
        free(columns[i].text);
    free(columns);
    return status;
}

static int show_beside(page *p, const cli_list *args) {
    neighbours b = {.page = p, .first = args->items[0], .n = args->n - 1};
    int status = CLI_DONE;
    b.others = cli_grab(b.n, sizeof *b.others);
    if (!b.others)
        return CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < b.n; i++)
        status = cli_records_read(args->items[i + 1], NULL, &b.others[i]);
    if (status == CLI_DONE)
        status = cli_records_each(b.first, SIZE_MAX, &p->where, show_example, &b);
    for (size_t i = 0; i < b.n; i++)
        sis_records_release(&b.others[i]);
    free(b.others);
    return status;
}

static int run(const void *options_p, const cli_list *args) {
    const show_options *o = (const show_options *)options_p;
    page p = {0};
    sis_motifs motifs = {0};
    int status = page_of(o, &p);
    if (status == CLI_DONE && o->motifs) {
        status = cli_fail(sis_motifs_read(o->motifs, &motifs));
        p.text.motifs = &motifs;
    }
    if (status == CLI_DONE)
        status = cli_where_open(&p.where, o->where);
    if (status == CLI_DONE)
        status = args->n == 1
                     ? cli_records_each(args->items[0], SIZE_MAX, &p.where, print_record, &p)
                     : show_beside(&p, args);
    sis_motifs_release(&motifs);
    if (status == CLI_DONE)
        cli_where_tell(&p.where, o->common.quiet);
    if (status == CLI_DONE && p.asked && !p.printed)
        cli_note(o->common.quiet, "--decided: the model decided none of %zu example%s", p.asked,
                 p.asked == 1 ? "" : "s");
    cli_where_release(&p.where);
    return status;
}

const cli_command cli_show = {
    .name = "show",
    .summary = "print results in readable form",
    .options = options,
    .options_size = sizeof(show_options),
    .init = defaults,
    .args = "RESULTS...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis show results.jsonl", "Print every decision."},
            {"grep '\"id\":\"17\"' results.jsonl | sis show -",
             "Print one decision: a results file has a line for each example."},
            {"sis show results.jsonl --where 'feature=debt and size<3'",
             "Print decisions that have a subset of at most two features with debt in it."},
            {"sis show reviews.jsonl --decided", "Leave out examples that are not decided."},
            {"sis show --colour always reviews.jsonl | less -R", "Read page by page, in colour."},
            {"sis show cnn.jsonl lstm.jsonl", "Print two models side by side."},
            {"sis show dna.jsonl --motifs jaspar.pfm",
             "Print DNA with the best motif of each subset."},
            {"sis explain -m 'cmd:./score.py' -i cases.csv --mask zero "
             "-t 0.8 | sis show -",
             "Explain and print."},
            {0}},
    .description =
        "Prints the decision, the score and each subset of every example. A text is shown "
        "with the words of its subsets marked, DNA with the chosen bases, an image beside "
        "its subsets, a table with names, values and masked values. The most important "
        "features come first or are the darkest. Words that a person marked are underlined. "
        "If there is no subset, the output says why.\n\nSeveral files about the same inputs "
        "are shown side by side, or one below the other if the terminal is too narrow. The "
        "first file selects the examples. A dash reads standard input.\n\nThe width is that "
        "of the terminal, or 80 columns; the variable COLUMNS overrides it.",
};
