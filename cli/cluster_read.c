/* SPDX-License-Identifier: MIT
 *
 * From results files to subsets: the points that are clustered, and beside each where it comes from
 * and what it looks like in a line.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "records.h"

/* ---- Patterns -------------------------------------------------------------------------------- */

/* A word in lower case, as the tokenizer has it. */
static int put_word(FILE *out, const char *word, sis_words *split) {
    int error = sis_words_split(word, split);
    if (!error)
        fputs(split->n == 1 ? split->items[0].text : word, out);
    return cli_fail(error);
}

/* Name and value: housing=own, income=52000. */
static void put_cell(FILE *out, const sis_record *r, int f) {
    char name[256], number[SIS_NUMBER_SIZE];
    const char *was = sis_record_was(r, f, number);
    if (sis_record_name(r, f, name, sizeof name))
        fputs(name, out);
    else
        fprintf(out, "%d", f);
    if (was)
        fprintf(out, "=%s", was);
}

/* In the order of the example. */
static int put_features(FILE *out, const sis_record *r, const sis_subset *s) {
    sis_words split = {0};
    int *sorted = cli_grab(s->n, sizeof *sorted), status = sorted ? CLI_DONE : CLI_FAILED;
    if (status == CLI_DONE) {
        memcpy(sorted, s->features, s->n * sizeof *sorted);
        qsort(sorted, s->n, sizeof *sorted, cli_by_number);
    }
    for (size_t k = 0; status == CLI_DONE && k < s->n; k++) {
        if (k)
            fputc(' ', out);
        if (r->words)
            status = put_word(out, r->words[sorted[k]], &split);
        else
            put_cell(out, r, sorted[k]);
    }
    sis_words_release(&split);
    free(sorted);
    return status;
}

/* Features in the order of the example, or pixels row by row, or letters. */
static int put_pattern(FILE *out, const sis_record *r, const cli_subset *item) {
    const sis_subset *s = &r->collection.subsets[item->subset];
    char *letters;
    size_t n;
    for (size_t k = 0; k < item->n_pixels; k++)
        fprintf(out, "%s%d,%d", k ? " " : "", item->places[2 * k], item->places[2 * k + 1]);
    if (item->n_pixels)
        return CLI_DONE;
    if (r->sequence) {
        int error = sis_subset_letters(r, item->subset, &letters, &n);
        if (!error)
            fputs(letters, out);
        free(letters);
        return cli_fail(error);
    }
    return put_features(out, r, s);
}

static int make_pattern(const sis_record *r, cli_subset *item) {
    size_t n;
    FILE *out = open_memstream(&item->pattern, &n);
    if (!out)
        return cli_error("out of memory");
    int status = put_pattern(out, r, item);
    if (fclose(out) != 0 && status == CLI_DONE)
        status = cli_error("out of memory");
    return status;
}

/* ---- Records --------------------------------------------------------------------------------- */

/* The number of a model's name. */
static int find_model(cli_subsets *s, const char *model, size_t *number) {
    for (*number = 0; *number < s->n_models; ++*number)
        if (strcmp(s->models[*number], model) == 0)
            return CLI_DONE;
    if (cli_grow(&s->models, &s->models_room, s->n_models, sizeof *s->models) != CLI_DONE)
        return CLI_FAILED;
    s->models[s->n_models] = strdup(model);
    return s->models[s->n_models] ? (s->n_models++, CLI_DONE) : cli_error("out of memory");
}

/* Kind and distance are those of the first record with subsets; the others must agree. */
static int agree(cli_subsets *s, const sis_record *r, const char *path) {
    sis_kind kind = sis_kind_of(r->kind);
    if (s->points && s->kind != kind)
        return cli_error("%s: record \"%s\" is of kind \"%s\", those before of kind \"%s\"; only "
                         "subsets of one kind can be clustered together",
                         path, r->id, sis_kind_name(kind), sis_kind_name(s->kind));
    if (s->points)
        return CLI_DONE;
    sis_distance distance = sis_distance_of_kind(r->kind);
    if (s->distance && sis_distance_find(s->distance, &distance) != SIS_OK)
        return cli_error("%s", sis_error_detail());
    s->kind = kind;
    int error = sis_points_new(distance, &s->points);
    if (!error && distance == SIS_DISTANCE_LEVENSHTEIN && kind == SIS_KIND_DNA)
        error = sis_points_both_strands(s->points, !s->forward);
    return cli_fail(error);
}

static int is_energy(const cli_subsets *s) {
    sis_distance d = sis_points_distance_kind(s->points);
    return d == SIS_DISTANCE_ENERGY || d == SIS_DISTANCE_ENERGY_SQRT;
}

static int add_subset(cli_subsets *s, const sis_record *r, size_t k, const char *path) {
    if (cli_grow(&s->items, &s->items_room, s->n, sizeof *s->items) != CLI_DONE)
        return CLI_FAILED;
    if (sis_points_add_subset(s->points, r, k) != SIS_OK)
        return cli_error("%s: %s", path, sis_error_detail());
    cli_subset *item = &s->items[s->n];
    *item = (cli_subset){.record = s->n_origins - 1, .subset = k};
    s->n++;
    if (is_energy(s)) {
        int error = sis_subset_pixels(r, k, &item->places, &item->values, &item->n_pixels);
        if (error)
            return cli_fail(error);
    }
    return make_pattern(r, item);
}

static int is_position(const sis_record *r, const char *text) {
    long number;
    return !text || (cli_whole(text, &number) && number >= 0 && (size_t)number == r->output);
}

int cli_record_is_output(const sis_record *r, const cli_target *target) {
    int named = target->label && r->output_label ? strcmp(r->output_label, target->label) == 0
                                                 : is_position(r, target->label);
    return named && is_position(r, target->index);
}

static void count_output(cli_subsets *s, const sis_record *r) {
    if (s->n_outputs == 0) {
        s->n_outputs = 1;
        s->first_output = r->output;
    } else if (r->output != s->first_output) {
        s->n_outputs = 2;
    }
}

int cli_subsets_add(cli_subsets *s, const sis_record *r, size_t file) {
    const char *path = s->files[file];
    s->n_records++;
    s->statuses[r->collection.status]++;
    if (r->collection.n_subsets == 0)
        return CLI_DONE;
    if (!cli_record_is_output(r, &s->target)) {
        s->other_outputs++;
        return CLI_DONE;
    }
    count_output(s, r);
    cli_origin origin = {.file = file};
    int status = agree(s, r, path);
    if (status == CLI_DONE)
        status = find_model(s, r->model, &origin.model);
    if (status == CLI_DONE)
        status = cli_grow(&s->origins, &s->origins_room, s->n_origins, sizeof *s->origins);
    if (status != CLI_DONE)
        return status;
    origin.id = strdup(r->id);
    if (!origin.id)
        return cli_error("out of memory");
    s->origins[s->n_origins++] = origin;
    for (size_t k = 0; status == CLI_DONE && k < r->collection.n_subsets; k++)
        status = add_subset(s, r, k, path);
    return status;
}

static int add_file(cli_subsets *s, const char *path) {
    const char *source;
    for (size_t k = 0; k < s->parts.n; k++)
        if (strcmp(s->parts.items[k].path, path) == 0)
            return cli_usage("%s is given twice", path);
    if (cli_parts_add(&s->parts, path, &source) != CLI_DONE)
        return CLI_FAILED;
    for (s->reading = 0; s->reading < s->n_files; s->reading++)
        if (s->files[s->reading] == source)
            return CLI_DONE;
    const char **files = realloc(s->files, (s->n_files + 1) * sizeof *files);
    if (!files)
        return cli_error("out of memory");
    s->files = files;
    s->files[s->n_files++] = path;
    return CLI_DONE;
}

static int take_record(void *ctx, sis_record *r) {
    cli_subsets *s = ctx;
    return cli_subsets_add(s, r, s->reading);
}

int cli_subsets_read(cli_subsets *s, const char *path) {
    int status = add_file(s, path);
    return status == CLI_DONE ? cli_records_each(path, SIZE_MAX, take_record, s) : status;
}

int cli_subsets_check(const cli_subsets *s, const char *verb) {
    if (s->n > 0)
        return CLI_DONE;
    if (s->n_records == 0)
        return cli_error("there is nothing to %s: no records", verb);
    if (s->other_outputs)
        return cli_error(
            "there is nothing to %s: no record is of %s %s, %zu are of other outputs%s", verb,
            s->target.label ? "--target" : "--target-index",
            s->target.label ? s->target.label : s->target.index, s->other_outputs,
            s->target.label ? "; a position is --target-index N" : "");
    return cli_error("there is nothing to %s: of %zu record%s none is explained (%zu not "
                     "decided, %zu default decisions, %zu errors)",
                     verb, s->n_records, s->n_records == 1 ? "" : "s",
                     s->statuses[SIS_STATUS_NOT_DECIDED], s->statuses[SIS_STATUS_DEFAULT_DECISION],
                     s->statuses[SIS_STATUS_ERROR]);
}

void cli_subsets_release(cli_subsets *s) {
    for (size_t i = 0; i < s->n; i++) {
        free(s->items[i].pattern);
        free(s->items[i].places);
        free(s->items[i].values);
    }
    for (size_t i = 0; i < s->n_origins; i++)
        free(s->origins[i].id);
    for (size_t i = 0; i < s->n_models; i++)
        free(s->models[i]);
    free(s->items);
    free(s->origins);
    free(s->models);
    free(s->files);
    cli_parts_release(&s->parts);
    sis_points_free(s->points);
    *s = (cli_subsets){0};
}

/* ---- Sources --------------------------------------------------------------------------------- */

static int by_model(const cli_subsets *s) {
    return s->n_files == 1 && s->n_models > 1;
}

size_t cli_source_count(const cli_subsets *s) {
    return by_model(s) ? s->n_models : s->n_files;
}

size_t cli_source_of(const cli_subsets *s, size_t item) {
    const cli_origin *o = &s->origins[s->items[item].record];
    return by_model(s) ? o->model : o->file;
}

const char *cli_source_name(const cli_subsets *s, size_t source) {
    return by_model(s) ? s->models[source] : s->files[source];
}
