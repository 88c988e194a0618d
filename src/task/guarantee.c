/* SPDX-License-Identifier: MIT
 *
 * The options --guarantee, --domain and --keep. For guarantees over all values (`all`), sets up the
 * proof for an example (sis/prove.h) and checks records.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/sha256.h"
#include "task/task.h"

/* ---- Options --------------------------------------------------------------------------------- */

static int read_kind(const char *text, sis_guarantee *g) {
    const char *share;
    if (!text || strcmp(text, "mask") == 0)
        return SIS_OK;
    if (strcmp(text, "all") == 0) {
        g->kind = SIS_GUARANTEE_ALL;
        return SIS_OK;
    }
    if (!sis__text_is(text, "chance", &share))
        return sis__fail(SIS_E_OPTION, "--guarantee: expected mask, chance:P or all, found \"%s\"",
                         text);
    g->kind = SIS_GUARANTEE_CHANCE;
    if (!sis__text_number(share, &g->share) || g->share <= 0 || g->share >= 1)
        return sis__fail(SIS_E_OPTION,
                         "--guarantee chance:P: expected a share between 0 and 1, such as "
                         "chance:0.95, found \"%s\"",
                         share);
    return SIS_OK;
}

static int check_chance(const sis_task_opt *o, sis_guarantee *g) {
    const char *file;
    if (strcmp(o->answer.method, "sis") != 0 && strcmp(o->answer.method, "quick") != 0)
        return sis__fail(SIS_E_OPTION, "--guarantee chance needs --method quick or sis");
    if (!sis__mask_is_drawn(o->question.mask, &file))
        return sis__fail(
            SIS_E_OPTION,
            "--guarantee chance needs data to draw from: give --mask hotdeck:FILE or rows:FILE");
    if (!(o->question.confidence > 0 && o->question.confidence < 1))
        return sis__fail(SIS_E_OPTION, "--confidence: expected a number between 0 and 1");
    g->confidence = o->question.confidence;
    return SIS_OK;
}

static int check_all(const sis_task_opt *o) {
    int contrast = strcmp(o->answer.method, "contrast") == 0;
    if (strcmp(o->answer.method, "sis") != 0 && !contrast)
        return sis__fail(SIS_E_OPTION, "--guarantee all needs --method sis or contrast");
    if (contrast && o->question.smallest)
        return sis__fail(
            SIS_E_OPTION,
            "--smallest: leave it out; contrasts always start with the fewest features");
    if (o->question.mask)
        return sis__fail(SIS_E_OPTION, "--mask: leave it out; with --guarantee all nothing is "
                                       "masked (--domain limits the values)");
    if (o->answer.search.early_stop)
        return sis__fail(SIS_E_OPTION, "--early-stop does not work with --guarantee all");
    return SIS_OK;
}

/* Options that only contrasts have. */
static int check_contrast(const sis_task_opt *o, int proved) {
    const char *option = o->question.units      ? "--units"
                         : o->question.fixed    ? "--fixed"
                         : o->question.cheapest ? "--cheapest"
                                                : NULL;
    int contrast = strcmp(o->answer.method, "contrast") == 0;
    if (option && !(contrast && proved))
        return sis__fail(SIS_E_OPTION, "%s needs --method contrast%s", option,
                         contrast ? " without --mask" : "");
    return SIS_OK;
}

static int check_class(const sis_task_opt *o) {
    const char *m = o->answer.method;
    if (strcmp(m, "sis") != 0 && strcmp(m, "quick") != 0 && strcmp(m, "contrast") != 0)
        return sis__fail(SIS_E_OPTION, "--keep class needs --method sis, quick or contrast");
    if (o->question.threshold || o->answer.search.below)
        return sis__fail(SIS_E_OPTION, "--keep class needs no %s; leave it out",
                         o->question.threshold ? "--threshold" : "--below");
    return SIS_OK;
}

int sis__task_guarantee_check(const sis_task_opt *o, sis__task_guarantee *g) {
    const char *keep = o->question.keep ? o->question.keep : "score";
    g->keep_class = strcmp(keep, "class") == 0;
    if (!g->keep_class && strcmp(keep, "score") != 0)
        return sis__fail(SIS_E_OPTION, "--keep: expected score or class, found \"%s\"", keep);
    int error = read_kind(o->question.guarantee, &g->asked);
    if (!error && o->question.refine && g->asked.kind != SIS_GUARANTEE_MASK)
        error = sis__fail(SIS_E_OPTION, "--refine needs --guarantee mask");
    int masked = o->question.mask || sis__task_has_prompts(o);
    if (!error && strcmp(o->answer.method, "contrast") == 0 && !masked &&
        g->asked.kind == SIS_GUARANTEE_MASK)
        g->asked.kind = SIS_GUARANTEE_ALL; /* contrasts consider every value */
    if (!error && o->question.smallest && g->asked.kind != SIS_GUARANTEE_ALL)
        error = sis__fail(SIS_E_OPTION, "--smallest needs --guarantee all");
    if (!error && g->asked.kind == SIS_GUARANTEE_CHANCE)
        error = check_chance(o, &g->asked);
    int only_audits = !o->question.threshold && !g->keep_class; /* records state their guarantee */
    if (!error && o->question.domain && !only_audits && g->asked.kind != SIS_GUARANTEE_ALL)
        error = sis__fail(SIS_E_OPTION, "--domain needs --guarantee all or --method contrast");
    if (!error && g->asked.kind == SIS_GUARANTEE_ALL)
        error = check_all(o);
    if (!error)
        error = check_contrast(o, g->asked.kind == SIS_GUARANTEE_ALL);
    return !error && g->keep_class ? check_class(o) : error;
}

/* ---- Domains --------------------------------------------------------------------------------- */

static void domain_release(sis__task_domain *d) {
    free(d->low);
    free(d->high);
    free(d->missing);
    *d = (sis__task_domain){0};
}

/* The file of data:FILE; NULL: another domain. */
static const char *domain_file(const char *domain) {
    const char *file;
    return sis__text_is(domain, "data", &file) && *file ? file : NULL;
}

/* The range of each column of a data set, and whether it may be missing. */
static int take_range(const sis_task *t, const char *path, size_t width, sis__task_domain *d) {
    sis__task_donors from;
    int error = sis__task_donors_open(t, "--domain", path, width, &from);
    if (error)
        return error;
    double *row = SIS_NEW_RAW(double, width);
    d->low = SIS_NEW_RAW(double, width);
    d->high = SIS_NEW_RAW(double, width);
    d->missing = SIS_NEW(unsigned char, width);
    error = row && d->low && d->high && d->missing ? SIS_OK : SIS_E_NOMEM;
    for (size_t v = 0; !error && v < width; v++)
        d->low[v] = d->high[v] = NAN; /* fmin and fmax ignore NaN */
    for (size_t i = 0; !error && i < sis_data_count(from.data); i++) {
        error = sis__task_encode(t, from.data, i, width, row, NULL);
        for (size_t v = 0; !error && v < width; v++) {
            d->low[v] = fmin(d->low[v], row[v]);
            d->high[v] = fmax(d->high[v], row[v]);
            if (isnan(row[v]))
                d->missing[v] = 1;
        }
    }
    free(row);
    sis_data_free(from.read);
    return error;
}

/* E, or E,LOW:HIGH. */
static int read_ball(const char *text, sis__task_domain *d) {
    char radius[64] = "", low[64] = "", high[64] = "";
    int parts = sscanf(text, "%63[^,],%63[^:]:%63s", radius, low, high);
    size_t length = strlen(radius) + strlen(low) + strlen(high) + (parts == 3 ? 2 : 0);
    d->min = -INFINITY;
    d->max = INFINITY;
    if ((parts != 1 && parts != 3) || strlen(text) != length)
        return 0;
    if (parts == 3 && (!sis__text_number(low, &d->min) || !sis__text_number(high, &d->max)))
        return 0;
    return sis__text_number(radius, &d->radius) && d->radius >= 0 && d->min <= d->max;
}

static int domain_read(const sis_task *t, const char *text, size_t width, sis__task_domain *d) {
    const char *ball;
    *d = (sis__task_domain){.known = 1, .radius = NAN};
    if (!text || strcmp(text, "any") == 0)
        return SIS_OK;
    if (domain_file(text)) {
        int error = take_range(t, domain_file(text), width, d);
        if (error)
            domain_release(d);
        return error;
    }
    if (sis__text_is(text, "ball", &ball) && read_ball(ball, d))
        return SIS_OK;
    return sis__fail(SIS_E_OPTION,
                     "--domain: expected any, data:FILE, ball:E or ball:E,LOW:HIGH, found \"%s\"",
                     text);
}

/* ---- Distances of contrasts --------------------------------------------------------------------- */

/* The feature with a name of n bytes; -1: none. */
static int find_feature(const sis_task *t, const char *name, size_t n) {
    for (size_t f = 0; t->features.names && f < t->features.n; f++)
        if (strncmp(t->features.names[f], name, n) == 0 && !t->features.names[f][n])
            return (int)f;
    return -1;
}

/* The feature of each value (width). */
static int feature_map(const sis_task *t, size_t width, int *map) {
    size_t row = sis__task_row(&t->source, 0);
    for (size_t v = 0; v < width; v++)
        map[v] = t->features.map ? t->features.map[v] : (int)v;
    if (!t->features.map && sis__task_own_features(t, row, NULL) != width)
        sis__task_own_features(t, row, map);
    return SIS_OK;
}

/* One entry of --units or --fixed, "age=1" or "age". */
static int take_entry(sis_task *t, const char *option, const char *entry, size_t n, const int *map,
                      size_t width) {
    sis__task_guarantee *g = &t->guarantee;
    const char *end = option[2] == 'u' ? memchr(entry, '=', n) : entry + n;
    char number[64] = "";
    double unit = 1;
    int feature = end ? find_feature(t, entry, (size_t)(end - entry)) : -1;
    if (end && option[2] == 'u')
        snprintf(number, sizeof number, "%.*s", (int)(entry + n - end - 1), end + 1);
    if (!end || (*number && (!sis__text_number(number, &unit) || !(unit > 0))) ||
        (option[2] == 'u' && !*number))
        return sis__fail(SIS_E_OPTION, "%s: expected COLUMN=NUMBER, such as age=1, found \"%.*s\"",
                         option, (int)n, entry);
    if (feature < 0)
        return sis__fail(SIS_E_OPTION, "%s: no feature is named \"%.*s\"", option,
                         (int)(end - entry), entry);
    if (option[2] == 'f')
        g->fixed[feature] = 1;
    for (size_t v = 0; option[2] == 'u' && v < width; v++)
        if (map[v] == feature)
            g->scale[v] = g->step[v] = unit;
    return SIS_OK;
}

static int take_entries(sis_task *t, const char *option, const char *list, const int *map,
                        size_t width) {
    int error = SIS_OK;
    for (const char *at = list; at && *at && !error;) {
        size_t n = strcspn(at, ",");
        error = take_entry(t, option, at, n, map, width);
        at += n + (at[n] == ',');
    }
    return error;
}

/* Standard deviations in the data of the domain, else in the examples. */
static int take_spread(const sis_task *t, size_t width) {
    const char *file = domain_file(t->opt.question.domain);
    sis__task_donors from = {.data = t->source.data};
    sis_spread *spread = NULL;
    double *row = SIS_NEW_RAW(double, width);
    int error = row ? sis_spread_new(width, &spread) : SIS_E_NOMEM;
    if (!error && file)
        error = sis__task_donors_open(t, "--domain", file, width, &from);
    for (size_t i = 0; !error && i < sis_data_count(from.data); i++) {
        error = sis__task_encode(t, from.data, i, width, row, NULL);
        if (!error)
            sis_spread_add(spread, row);
    }
    if (!error)
        sis_spread_get(spread, t->guarantee.scale, t->guarantee.step);
    sis_data_free(from.read);
    sis_spread_free(spread);
    free(row);
    return error;
}

static int contrast_begin(sis_task *t, size_t width) {
    sis__task_guarantee *g = &t->guarantee;
    int *map = SIS_NEW_RAW(int, width);
    g->scale = SIS_NEW(double, width);
    g->step = SIS_NEW(double, width);
    g->fixed = t->opt.question.fixed ? SIS_NEW(unsigned char, t->features.n) : NULL;
    int error = map && g->scale && g->step && (g->fixed || !t->opt.question.fixed)
                    ? take_spread(t, width)
                    : SIS_E_NOMEM;
    if (!error)
        error = feature_map(t, width, map);
    if (!error)
        error = take_entries(t, "--units", t->opt.question.units, map, width);
    if (!error)
        error = take_entries(t, "--fixed", t->opt.question.fixed, map, width);
    free(map);
    return error;
}

/* ---- Preparation ----------------------------------------------------------------------------- */

static int make_prover(sis_task *t) {
    int error = sis_prover_new(&t->model, &t->guarantee.prover);
    return error ? sis__fail_in(error, "--guarantee all") : SIS_OK;
}

int sis__task_is_below(const sis_task *t, double score) {
    return !isnan(score) && !sis_decided(score, t->threshold, 0);
}

int sis__task_guarantee_begin(sis_task *t) {
    sis__task_guarantee *g = &t->guarantee;
    size_t width = 0;
    if (g->keep_class && t->model.n_outputs == 1) {
        if (!t->model.link)
            return sis__fail(SIS_E_ARGUMENT,
                             "--keep class: the model has one output, which may be a probability "
                             "or a margin; give --threshold 0.5 or 0");
        g->keep_class = 0;
        g->keep_side = 1;
    }
    if (g->asked.kind != SIS_GUARANTEE_ALL)
        return SIS_OK;
    int sized = t->source.data || t->model.n_values, error = SIS_OK;
    if (!g->prover && sized)
        error = make_prover(t);
    if (error || g->domain.known || !t->source.data)
        return error;
    error = sis__task_same_widths(t, "--guarantee all", &width);
    if (!error)
        error = domain_read(t, t->opt.question.domain, width, &g->domain);
    return error || !t->method.contrast ? error : contrast_begin(t, width);
}

/* Prepares what `like` could not prepare without examples. */
void sis__task_guarantee_share(const sis__task_guarantee *like, sis__task_guarantee *g) {
    *g = *like;
    g->shared_prover = g->prover != NULL;
    g->shared_domain = g->domain.known;
}

void sis__task_guarantee_release(sis__task_guarantee *g) {
    if (!g->shared_domain) {
        domain_release(&g->domain);
        free(g->scale);
        free(g->step);
        free(g->fixed);
    }
    if (!g->shared_prover)
        sis_prover_free(g->prover);
}

/* ---- One example ----------------------------------------------------------------------------- */

/* The box of a ball around an example: low (n), then high (n). A value far outside the range of all
 * values keeps its value. NULL: no memory. */
static double *make_ball(const sis_input *in, const sis__task_domain *d) {
    double *box = SIS_NEW_RAW(double, 2 * in->n_values);
    for (size_t v = 0; box && v < in->n_values; v++) {
        box[v] = fmax(in->values[v] - d->radius, d->min);
        box[in->n_values + v] = fmin(in->values[v] + d->radius, d->max);
        if (box[v] > box[in->n_values + v])
            box[v] = box[in->n_values + v] = in->values[v];
    }
    return box;
}

/* Options of a proof about an example. The caller frees *box. */
static int proof_options(const sis__task_domain *d, const sis_input *in, sis_prove_opt *opt,
                         double **box) {
    *box = NULL;
    if (!d->known) /* a box of zeros would make everything hold */
        return sis__fail(SIS_E_ARGUMENT,
                         "--guarantee all needs --domain any, data:FILE or ball:E for this model");
    opt->low = d->low;
    opt->high = d->high;
    opt->missing = d->missing;
    if (isnan(d->radius) || d->low)
        return SIS_OK;
    *box = make_ball(in, d);
    opt->low = *box;
    opt->high = *box ? *box + in->n_values : NULL;
    return *box ? SIS_OK : SIS_E_NOMEM;
}

static int is_cancelled(void *ctx) {
    return atomic_load(&((sis_task *)ctx)->cancelled);
}

int sis__task_prove(const sis_task *t, const sis_input *in, const sis_opt *search,
                    sis_rationale *out) {
    sis_prove_opt opt;
    double *box;
    sis_prove_opt_init(&opt);
    opt.threshold = search->threshold;
    opt.below = search->below;
    opt.keep_class = t->guarantee.keep_class;
    opt.max_subsets = search->max_subsets;
    opt.time_limit = search->time_limit;
    opt.smallest = t->opt.question.smallest;
    opt.contrast = t->method.contrast;
    opt.cheapest = t->opt.question.cheapest;
    opt.scale = t->guarantee.scale;
    opt.step = t->guarantee.step;
    opt.fixed = t->guarantee.fixed;
    opt.seed = t->opt.question.seed;
    opt.stop = is_cancelled;
    opt.stop_ctx = (void *)t;
    int error = proof_options(&t->guarantee.domain, in, &opt, &box);
    if (!error)
        error = sis_prove_collect(t->guarantee.prover, in, &opt, &out->collection, &out->guarantee);
    if (!error && is_cancelled((void *)t)) {
        sis_collection_release(&out->collection);
        sis_guarantee_release(&out->guarantee);
        error = sis__fail(SIS_E_CANCELLED, "cancelled");
    }
    free(box);
    return error;
}

int sis__task_chance(const sis_task *t, const sis_model *model, const sis_input *in,
                     const sis_opt *search, sis_rationale *out) {
    sis_chance_opt opt;
    sis_chance_opt_init(&opt);
    opt.share = t->guarantee.asked.share;
    opt.confidence = t->guarantee.asked.confidence;
    opt.samples = t->opt.question.samples ? t->opt.question.samples : opt.samples;
    opt.seed = t->opt.question.seed;
    return sis_chance_collect(model, in, search, t->mask.deck->deck, &opt, &out->collection,
                              &out->guarantee);
}

/* ---- Audits ---------------------------------------------------------------------------------- */

typedef struct {
    const sis_task *t;
    sis__task_domain d;
    const sis_input *inputs;
    const sis_record *records;
    sis_audit *out;
} proof_audits;

static int audit_proof(void *ctx, size_t i, int worker) {
    const proof_audits *a = (const proof_audits *)ctx;
    const sis_task *t = a->t;
    const sis_input *in = &a->inputs[i];
    const sis_record *r = &a->records[i];
    sis_prove_opt opt;
    double *box;
    (void)worker;
    sis_prove_opt_init(&opt);
    opt.threshold = r->question.threshold;
    opt.below = r->question.below;
    opt.keep_class = r->question.keep != NULL;
    opt.tries = 4096; /* a thorough adversary */
    opt.counterexamples = t->opt.audit.counterexamples;
    opt.contrast = strcmp(r->question.method, "contrast") == 0;
    opt.seed = 2;
    int error = proof_options(&a->d, in, &opt, &box);
    if (!error)
        error = sis_prove_audit(t->guarantee.prover, in, &opt, &r->collection, r->guarantee,
                                &a->out[i]);
    free(box);
    return error;
}

/* The domain of an audit is that of the records. Records are untrusted, so a file that they name is
 * opened only if the caller names it too, or gives its new path. */
static int audited_domain(const sis_task *t, const char **domain) {
    const char *own = t->opt.question.domain, *file = domain_file(*domain);
    if (!file)
        return SIS_OK;
    if (domain_file(own))
        *domain = own;
    else if (!t->opt.audit.trust &&
             !(t->opt.examples.input && sis__file_same(file, t->opt.examples.input)))
        return sis__fail(
            SIS_E_OPTION,
            "only the records name the file of --domain %s; give the option yourself, or --trust",
            *domain);
    return SIS_OK;
}

/* The domain's file must be the one that the records were made with, if they say which: other
 * values make other claims. */
static int check_domain_file(const char *domain, const sis_record *records, size_t n) {
    char digest[SIS__SHA256_TEXT];
    const char *file = domain_file(domain);
    int error = SIS_OK;
    if (!file)
        return SIS_OK;
    for (size_t i = 0; !error && i < n; i++) {
        sis_provenance provenance = {0};
        if (!records[i].provenance ||
            (error = sis_provenance_parse(records[i].provenance, &provenance)) != SIS_OK)
            continue;
        if (provenance.domain_sha256 && sis__sha256_file(file, digest) &&
            strcmp(provenance.domain_sha256, digest) != 0)
            error = sis__fail(
                SIS_E_ARGUMENT,
                "--domain: %s is not the file that record \"%s\" was made with; give that file",
                file, records[i].id);
        sis_provenance_release(&provenance);
    }
    return error;
}

int sis__task_prove_audit(sis_task *t, const sis_input *inputs, const sis_record *records, size_t n,
                          sis_audit *out) {
    proof_audits a = {.t = t, .inputs = inputs, .records = records, .out = out};
    size_t width = 0;
    memset(out, 0, n * sizeof *out);
    int error = t->guarantee.prover ? SIS_OK : make_prover(t);
    if (!error)
        error = sis__task_same_widths(t, "--guarantee all", &width);
    const char *domain = records[0].question.domain;
    if (!error)
        error = audited_domain(t, &domain);
    if (!error)
        error = check_domain_file(domain, records, n);
    if (!error)
        error = domain_read(t, domain, width, &a.d);
    if (!error)
        error = sis__parallel(t->opt.answer.search.jobs, n, audit_proof, &a);
    for (size_t i = 0; error && i < n; i++)
        sis_audit_release(&out[i]);
    domain_release(&a.d);
    return error;
}

int sis__task_chance_audit(sis_task *t, const sis_model *model, const sis_input *in,
                           const sis_record *r, sis_audit *out) {
    sis_opt search = t->opt.answer.search;
    search.threshold = r->question.threshold;
    search.below = r->question.below;
    if (!t->mask.deck)
        return sis__fail(SIS_E_ARGUMENT,
                         "record \"%s\" was made with draws; give its --mask hotdeck:FILE", r->id);
    return sis_chance_audit(model, in, &search, t->mask.deck->deck, &r->collection, r->guarantee,
                            out);
}
