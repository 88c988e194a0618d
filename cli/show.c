/* SPDX-License-Identifier: MIT
 *
 * sis show: results as a person wants to read them. Several files over the same inputs stand beside
 * each other, example by example: the first says which examples and in what order.
 */
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GAP = 3, COLUMN = 36 }; /* between files; least width of one */

typedef struct {
    size_t subsets;
    int lines;
    const char *colour, *motifs;
    cli_common common;
} show_options;

static const cli_option options[] = {
    {"subsets", 0, "N", CLI_COUNT(show_options, subsets), "show at most N subsets of an example",
     .unset = "all"},
    {"lines", 0, NULL, CLI_FLAG(show_options, lines),
     "features as lines, also of texts, DNA and images"},
    {"colour", 0, "WHEN", CLI_STRING(show_options, colour),
     "auto (on a terminal, unless NO_COLOR is set), always or never"},
    {"motifs", 0, "FILE", CLI_STRING(show_options, motifs),
     "DNA: known motifs, of which each subset's best match is named",
     .more = "JASPAR or MEME. The best is that with the least divergence, as in sis cluster."},
    CLI_GROUP(show_options, common, cli_common, cli_common_options),
    {0},
};

static void defaults(void *p) {
    ((show_options *)p)->colour = "auto";
}

static int page_of(const show_options *o, cli_page *p) {
    cli_page_init(p, stdout);
    p->lines = o->lines;
    p->subsets = o->subsets;
    if (strcmp(o->colour, "always") == 0)
        p->colour = 1;
    else if (strcmp(o->colour, "never") == 0)
        p->colour = 0;
    else if (strcmp(o->colour, "auto") != 0)
        return cli_usage("--colour: expected auto, always or never, found \"%s\"", o->colour);
    return CLI_DONE;
}

/* ---- One file -------------------------------------------------------------------------------- */

static int show_file(cli_page *p, const char *path, int quiet) {
    sis_results *file;
    sis_record r;
    size_t n = 0;
    int found = sis_results_open(path, &file);
    if (found != SIS_OK)
        return cli_fail(found);
    for (; (found = sis_results_next(file, &r)) > 0; n++) {
        p->r = &r;
        cli_show_record(p);
        sis_record_release(&r);
    }
    sis_results_close(file);
    if (found == 0 && n == 0 &&
        strcmp(path, "-") != 0) /* whatever fills a pipe speaks for itself */
        cli_note(quiet, "%s: holds no records", path);
    return cli_fail(found);
}

/* ---- Several -------------------------------------------------------------------------------- */

/* All of a file, by id. */
typedef struct {
    const char *path;
    sis_record *records;
    size_t n, cap;
} shelf;

static int by_id(const void *a, const void *b) {
    return strcmp(((const sis_record *)a)->id, ((const sis_record *)b)->id);
}

static void shelf_release(shelf *s) {
    for (size_t i = 0; i < s->n; i++)
        sis_record_release(&s->records[i]);
    free(s->records);
}

static int shelf_add(shelf *s, const sis_record *r) {
    if (s->n == s->cap) {
        size_t cap = s->cap ? 2 * s->cap : 64;
        sis_record *grown = realloc(s->records, cap * sizeof *grown);
        if (!grown)
            return cli_error("out of memory");
        s->records = grown;
        s->cap = cap;
    }
    s->records[s->n++] = *r;
    return CLI_DONE;
}

static int shelf_read(shelf *s, const char *path) {
    sis_results *file;
    sis_record r;
    *s = (shelf){.path = path};
    int found = sis_results_open(path, &file), status = CLI_DONE;
    if (found != SIS_OK)
        return cli_fail(found);
    while (status == CLI_DONE && (found = sis_results_next(file, &r)) > 0)
        if ((status = shelf_add(s, &r)) != CLI_DONE)
            sis_record_release(&r);
    sis_results_close(file);
    if (status == CLI_DONE)
        status = cli_fail(found);
    if (s->n)
        qsort(s->records, s->n, sizeof *s->records, by_id);
    return status;
}

static const sis_record *shelf_find(const shelf *s, const char *id) {
    sis_record key = {.id = id};
    return s->n ? bsearch(&key, s->records, s->n, sizeof key, by_id) : NULL;
}

/* What one file says of an example, as text. */
static char *column_text(const cli_page *p, const char *path, const sis_record *r, size_t width) {
    char *text = NULL;
    size_t n;
    cli_page column = *p;
    column.out = open_memstream(&text, &n);
    if (!column.out)
        return NULL;
    column.r = r;
    column.width = width;
    cli_paint(&column, "4", "%s", path);
    fputc('\n', column.out);
    if (r)
        cli_show_record(&column);
    else
        fputs("not in this file\n", column.out);
    return fclose(column.out) == 0 ? text : NULL;
}

/* How many bytes of a line fit into so many columns, broken at a space if there is one. */
static size_t fitting(char *line, size_t width) {
    size_t fits = strlen(line), from = 0;
    while (cli_columns(line) > width) {
        char *space = strrchr(line, ' ');
        from = space ? (size_t)(space - line) : 0;
        if (!space || strspn(line, " ") >= from)
            break;
        line[from] = '\0';
    }
    size_t kept = strlen(line);
    for (size_t i = kept; i < fits; i++)
        line[i] = line[i] ? line[i] : ' ';
    while (kept < fits && kept > 0 && line[kept - 1] == ' ')
        kept--;
    return kept;
}

/* The next line of a text (advanced past it), folded to a width; NULL at the end. */
static char *next_line(char **text, size_t width) {
    char *line = *text, *end = strchr(line, '\n');
    if (!*line)
        return NULL;
    if (end)
        *end = '\0';
    size_t whole = strlen(line), n = fitting(line, width);
    if (n < whole) {
        line[n] = '\0';
        *text = line + n + 1;
        *text += strspn(*text, " ");
        if (end)
            *end = '\n';
    } else {
        *text = end ? end + 1 : line + whole;
    }
    return line;
}

static void print_beside(const cli_page *p, char **texts, size_t n, size_t width) {
    for (int more = 1; more;) {
        size_t owed = 0; /* spaces before the next text of this line */
        more = 0;
        for (size_t i = 0; i < n; i++) {
            char *line = next_line(&texts[i], width);
            more |= line != NULL;
            size_t columns = line ? cli_columns(line) : 0;
            if (columns) {
                fprintf(p->out, "%*s%s", (int)owed, "", line);
                owed = 0;
            }
            owed += (columns < width ? width - columns : 0) + GAP;
        }
        if (more)
            fputc('\n', p->out);
    }
}

static int show_example(const cli_page *p, const sis_record *r, const char *first,
                        const shelf *others, size_t n) {
    size_t files = n + 1, width = (p->width - GAP * n) / files;
    char **texts = calloc(2 * files, sizeof *texts), **kept = texts ? texts + files : NULL;
    int status = texts ? CLI_DONE : cli_error("out of memory");
    int beside = width >= COLUMN && p->width > GAP * n;
    for (size_t i = 0; status == CLI_DONE && i < files; i++) {
        const sis_record *shown = i == 0 ? r : shelf_find(&others[i - 1], r->id);
        const char *path = i == 0 ? first : others[i - 1].path;
        kept[i] = texts[i] = column_text(p, path, shown, beside ? width : p->width);
        if (!texts[i])
            status = cli_error("out of memory");
        else if (!beside)
            fputs(texts[i], p->out);
    }
    if (status == CLI_DONE && beside)
        print_beside(p, texts, files, width);
    for (size_t i = 0; kept && i < files; i++)
        free(kept[i]);
    free(texts);
    return status;
}

static int show_beside(cli_page *p, const cli_list *args) {
    size_t n = args->n - 1, read = 0;
    shelf *others = calloc(n, sizeof *others);
    int status = others ? CLI_DONE : cli_error("out of memory"), found = 0;
    while (status == CLI_DONE && read < n) {
        status = shelf_read(&others[read], args->items[read + 1]);
        read++;
    }
    sis_results *file = NULL;
    sis_record r;
    if (status == CLI_DONE)
        status = cli_fail(sis_results_open(args->items[0], &file));
    while (status == CLI_DONE && (found = sis_results_next(file, &r)) > 0) {
        status = show_example(p, &r, args->items[0], others, n);
        sis_record_release(&r);
    }
    if (file)
        sis_results_close(file);
    for (size_t i = 0; i < read; i++)
        shelf_release(&others[i]);
    free(others);
    return status == CLI_DONE ? cli_fail(found) : status;
}

static int run(const void *options_p, const cli_list *args) {
    const show_options *o = (const show_options *)options_p;
    cli_page p;
    sis_motifs motifs = {0};
    int status = page_of(o, &p);
    if (status == CLI_DONE && o->motifs) {
        status = cli_fail(sis_motifs_read(o->motifs, &motifs));
        p.motifs = &motifs;
    }
    if (status == CLI_DONE)
        status =
            args->n == 1 ? show_file(&p, args->items[0], o->common.quiet) : show_beside(&p, args);
    sis_motifs_release(&motifs);
    return status;
}

const cli_command cli_show = {
    .name = "show",
    .summary = "print results as a person wants to read them",
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
            {"sis show --colour always reviews.jsonl | less -R", "Turn pages in colour."},
            {"sis show cnn.jsonl lstm.jsonl", "Two models beside each other."},
            {"sis show dna.jsonl --motifs jaspar.pfm", "DNA, with the motif of each subset."},
            {"sis explain -m 'cmd:./score.py' -i cases.csv --mask zero "
             "-t 0.8 | sis show -",
             "Explain and read at once."},
            {0}},
    .description =
        "For each example: what was decided, how sure the model was, and each subset. A text is "
        "shown "
        "with the words of its subsets marked, DNA with the chosen bases, an image beside its "
        "subsets, "
        "a table by feature names and values against what they look like when masked; in all of "
        "them "
        "the most important features stand first or are the darkest. What a person marked is "
        "underlined. Where nothing was found, why.\n\n"
        "Several files over the same inputs are shown beside each other, or below each other where "
        "the "
        "terminal is too narrow; the first says which examples. A dash reads results from standard "
        "input.\n\n"
        "The width is that of the terminal, 80 columns otherwise; COLUMNS overrides it.",
};
