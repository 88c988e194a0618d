/* SPDX-License-Identifier: MIT
 *
 * The overview: for DNA the logo of the largest cluster; the numbers of decisions and explanations,
 * the sizes of subsets; then a table with one column of facts for each results file.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "report/figures.h"
#include "report/page.h"
#include "report/stats.h"

/* ---- Tiles ----------------------------------------------------------------------------------- */

typedef struct {
    size_t n, status[SIS_N_STATUSES], verified, subsets;
} totals;

static totals count(const sis_report *report) {
    totals t = {0};
    for (size_t i = 0; i < report->n_runs; i++) {
        const sis__report_run *run = &report->runs[i];
        t.n += run->n;
        t.verified += run->verified;
        t.subsets += run->subsets;
        for (int s = 0; s < SIS_N_STATUSES; s++)
            t.status[s] += run->status[s];
    }
    return t;
}

static void add_tile(sis__buf *b, size_t number, const char *what, const char *format, size_t of) {
    sis__html(b, "<div class=\"tile\"><b>%'zu</b><span>%s</span><small>%s", number, what, format);
    if (of != SIZE_MAX)
        sis__html(b, "%'zu", of);
    sis__buf_str(b, "</small></div>\n");
}

/* The median size of all subsets: in features, and as a share of the input. */
static int median_size(const sis_report *report, double *size, double *share) {
    sis__numbers sizes = {0}, shares = {0};
    int code = SIS_OK;
    for (size_t i = 0; i < report->n; i++) {
        const sis_collection *c = &report->examples[i].record.collection;
        for (size_t k = 0; code == SIS_OK && k < c->n_subsets; k++) {
            code = sis__numbers_add(&sizes, (double)c->subsets[k].n);
            if (code == SIS_OK)
                code = sis__numbers_add(&shares, (double)c->subsets[k].n / (double)c->n_features);
        }
    }
    sis__numbers_sort(&sizes);
    sis__numbers_sort(&shares);
    *size = sis__numbers_quantile(&sizes, 0.5);
    *share = sis__numbers_quantile(&shares, 0.5);
    sis__numbers_release(&sizes);
    sis__numbers_release(&shares);
    return code;
}

static int add_tiles(sis__buf *b, const sis_report *report) {
    totals t = count(report);
    double size, share;
    int code = median_size(report, &size, &share);
    sis__buf_str(b, "<div class=\"tiles\">\n");
    int several = report->n_runs > 1;
    add_tile(b, t.status[SIS_STATUS_EXPLAINED],
             several                               ? "explained"
             : t.status[SIS_STATUS_EXPLAINED] == 1 ? "decision explained"
                                                   : "decisions explained",
             several ? "records, of " : "of ", t.n);
    if (!t.status[SIS_STATUS_EXPLAINED] && !t.subsets) {
        sis__buf_str(b, "</div>\n");
        return code;
    }
    int kinds = sis__kinds_of(report), only = kinds & ~SIS__NOT_MINIMAL;
    char words[48];
    snprintf(words, sizeof words, "%s%s", sis__subset_word(report), t.subsets == 1 ? "" : "s");
    add_tile(b, t.subsets, words,
             kinds & (SIS__RATIONALE | SIS__NOT_MINIMAL) ? ""
             : kinds & SIS__CONTRASTS                    ? "minimal"
                                                         : "disjoint, minimal",
             SIZE_MAX);
    if (t.subsets)
        sis__html(b,
                  "<div class=\"tile\"><b>%g</b><span>feature%s in a subset</span><small>median, "
                  "%.2g %% of the input</small></div>\n",
                  size, size == 1 ? "" : "s", 100 * share);
    int proofs = (only & (SIS__CONTRAST | SIS__PROVED)) != 0,
        checks = (only & ~(SIS__CONTRAST | SIS__PROVED)) != 0;
    snprintf(words, sizeof words, "explanation%s %s", sis__plural(t.verified),
             proofs && checks ? "proved or verified"
             : proofs         ? "proved"
                              : "verified");
    add_tile(b, t.verified, words,
             proofs              ? ""
             : only & SIS__DRAWN ? "by fresh draws"
                                 : "by full passes of the model",
             SIZE_MAX);
    sis__buf_str(b, "</div>\n");
    return code;
}

/* ---- Statuses -------------------------------------------------------------------------------- */

static void add_status_bar(sis__buf *b, const sis_report *report) {
    static const char *const words[] = {"explained", "not decided", "decided by default", "failed",
                                        "cut short"};
    totals t = count(report);
    sis__buf_str(b, "<div class=\"statuses\"><div class=\"bars\" aria-hidden=\"true\">");
    for (int s = 0; s < SIS_N_STATUSES; s++)
        if (t.status[s])
            sis__html(b, "<span class=\"%s\" style=\"flex:%zu\"></span>",
                      sis_status_name((sis_status)s), t.status[s]);
    sis__buf_str(b, "</div>\n<ul>");
    for (int s = 0; s < SIS_N_STATUSES; s++)
        if (t.status[s])
            sis__html(b, "<li><span class=\"swatch %s\"></span> %'zu %s</li>",
                      sis_status_name((sis_status)s), t.status[s], words[s]);
    sis__buf_str(b, "</ul></div>\n");
    if (t.status[SIS_STATUS_DEFAULT_DECISION])
        sis__buf_str(b,
                     "<p class=\"explain\">Decided by default means: the score meets the threshold "
                     "even with everything masked, so no part of the input is responsible. Take "
                     "another mask or another threshold.</p>\n");
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Describe --mask in words. */
static void add_masking(sis__buf *b, const char *masking, int text) {
    static const char *const words[][2] = {
        {"own", "the model's masked word"},    {"pad", "padding"},
        {"remove", "nothing: it is left out"}, {"embedding-mean", "the mean of all words"},
        {"zero", "an embedding of zeros"},
    };
    static const struct {
        const char *prefix, *format;
    } forms[] = {{"blur:", "its surroundings, blurred by <bdi>%.20s</bdi> pixels"},
                 {"token:", "the word <bdi>%.100s</bdi>"},
                 {"hotdeck:", "values of other examples, <bdi>%.100s</bdi>"},
                 {"rows:", "values of other examples, <bdi>%.100s</bdi>"},
                 {"", "<bdi>%.100s</bdi>"}};
    for (size_t i = 0; text && i < sizeof words / sizeof *words; i++)
        if (strcmp(masking, words[i][0]) == 0) {
            sis__buf_str(b, words[i][1]);
            return;
        }
    size_t k = 0;
    while (strncmp(masking, forms[k].prefix, strlen(forms[k].prefix)) != 0)
        k++;
    sis__html(b, forms[k].format, masking + strlen(forms[k].prefix));
}

/* "its mean in train.csv" for mean:train.csv, if the first record of a file tells. 1: added. */
static int add_made_mask(sis__buf *b, const sis_record *r) {
    static const char *const words[][2] = {{"mean", "its mean"},
                                           {"median", "its median"},
                                           {"mode", "its most frequent value"},
                                           {"uniform", "every letter equally likely"}};
    sis_provenance provenance;
    int said = 0;
    if (!r->provenance || sis_provenance_parse(r->provenance, &provenance) != SIS_OK)
        return 0;
    for (size_t i = 0; provenance.mask && !said && i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i][0]);
        if (strncmp(provenance.mask, words[i][0], n) != 0 ||
            (provenance.mask[n] && provenance.mask[n] != ':'))
            continue;
        sis__buf_str(b, words[i][1]);
        if (provenance.mask[n])
            sis__html(b, " in <bdi>%.80s</bdi>", sis__file_name(provenance.mask + n + 1, NULL));
        said = 1;
    }
    sis_provenance_release(&provenance);
    return said;
}

/* Add the masked values of the first features of a table: "income 145.7, home owner, ...". */
static void add_some_masked(sis__buf *b, const sis__report_example *e) {
    enum { SOME = 4 };
    sis_record masked = e->record;
    char name[200], number[SIS_NUMBER_SIZE];
    size_t shown = 0;
    masked.drawing.values = e->record.drawing.mask;
    for (size_t f = 0; f < masked.collection.n_features && shown < SOME; f++) {
        const char *was = sis_record_was(&masked, (int)f, number);
        if (!was)
            continue;
        sis_record_name(&masked, (int)f, name, sizeof name);
        sis__html(b, "%s <bdi>%.40s</bdi> ", shown++ ? "," : ":", name);
        if (was == number)
            sis__html_number(b, sis__number(number, NULL));
        else
            sis__html_clip(b, was, 40);
    }
    if (shown && shown < masked.collection.n_features)
        sis__buf_str(b, ", \xE2\x80\xA6");
}

/* Describe a mask of several values: its source, or its range. */
static void add_varied_mask(sis__buf *b, const sis__report_example *e) {
    const sis_record *r = &e->record;
    double low = INFINITY, high = -INFINITY;
    for (size_t v = 0; v < r->drawing.n_values; v++) {
        low = fmin(low, r->drawing.mask[v]);
        high = fmax(high, r->drawing.mask[v]);
    }
    if (!add_made_mask(b, r)) {
        sis__buf_str(b, "a value of its own");
        if (e->look != SIS__TABLE)
            sis__html(b, ", between %g and %g", low, high);
    }
    if (e->look == SIS__TABLE)
        add_some_masked(b, e);
}

/* Describe the mask from the content of the record. */
static void add_mask(sis__buf *b, const sis__report_example *e) {
    const sis_record *r = &e->record;
    int constant = 1;
    for (size_t v = 1; r->drawing.mask && constant && v < r->drawing.n_values; v++)
        constant = r->drawing.mask[v] == r->drawing.mask[0];
    if (r->drawing.masking) {
        add_masking(b, r->drawing.masking, e->look == SIS__TEXT);
    } else if (!r->drawing.mask) {
        sis__buf_str(b, "a value that is not in the results");
    } else if (!constant) {
        add_varied_mask(b, e);
    } else {
        sis__html(b, "%s %g", e->look == SIS__DNA ? "every base equally likely," : "the value",
                  r->drawing.mask[0]);
    }
}

static void add_range(sis__buf *b, double low, double high) {
    sis__html_number(b, isfinite(low) ? low : NAN);
    if (high > low)
        sis__html(b, " to %g", high);
}

static void add_decided(sis__buf *b, const sis__report_run *run) {
    size_t decided = run->n - run->status[SIS_STATUS_NOT_DECIDED] - run->status[SIS_STATUS_ERROR];
    sis__html(b, "%'zu of %'zu", decided, run->n);
    if (run->n)
        sis__html(b, " (%.3g %%)", 100.0 * (double)decided / (double)run->n);
}

static void add_cost(sis__buf *b, const sis__report_run *run) {
    int brief = run->seconds < 1;
    sis__html(b, "%'zu evaluation%s, %.3g %s", run->evaluations, sis__plural(run->evaluations),
              run->seconds * (brief ? 1000 : 1), brief ? "ms" : "s");
}

/* For a proof: describe the values that features outside a subset may take. */
static void add_domain(sis__buf *b, const sis_record *r) {
    if (!r->question.domain || strcmp(r->question.domain, "any") == 0)
        sis__buf_str(b, "any value");
    else
        sis__html(b, "any value within <bdi>%.80s</bdi>", r->question.domain);
}

static const char *fact_name(int fact, int kind) {
    static const char *const names[] = {"Model",
                                        "Method",
                                        "Decision",
                                        "A masked feature becomes",
                                        "Score of the mask",
                                        "Decided",
                                        "Found",
                                        "Explanations verified",
                                        "Cost"};
    int all = kind & (SIS__PROVED | SIS__CONTRAST);
    return fact == 3 && all                 ? "Other values are"
           : fact == 3 && kind & SIS__DRAWN ? "Other values are drawn from"
           : fact == 4 && all               ? "Score of other values of everything"
           : fact == 4 && kind & SIS__DRAWN ? "Mean score of everything drawn anew"
           : fact == 7 && all               ? "Explanations proved"
                                            : names[fact];
}
enum { FOUND = 6, VERIFIED = 7, N_FACTS = 9 };

static void add_number_found(sis__buf *b, const sis__report_run *run, int kind) {
    size_t n = run->subsets, explained = run->status[SIS_STATUS_EXPLAINED];
    if (kind & SIS__CONTRASTS)
        sis__html(b, "%'zu way%s to lose it", n, sis__plural(n));
    else
        sis__html(b, "%'zu %s%s", n, kind & SIS__RATIONALE ? "rationale" : "subset",
                  sis__plural(n));
    if (run->complete && run->complete == explained)
        sis__buf_str(b, ", all that there are");
    else if (!(kind & SIS__CONTRASTS) && run->complete != explained)
        sis__html(b, "; all that there are for %'zu of %'zu example%s", run->complete, explained,
                  sis__plural(explained));
}

static void add_fact(sis__buf *b, const sis_report *report, const sis__report_run *run, int fact) {
    const sis_record *r = &report->examples[run->first].record;
    int kind = sis__kind_of(r);
    sis__html(b, "<dt>%s</dt><dd>", fact_name(fact, kind));
    switch (fact) {
    case 0:
        sis__html(b, "<bdi>%.200s</bdi>%s", r->model, run->mixed ? " and others" : "");
        break;
    case 1:
        sis__html_clip(b, r->question.method, 40);
        break;
    case 2:
        sis__html(b, r->question.keep ? "no other output is higher" : "score %s ",
                  r->question.below ? "\xE2\x89\xA4" : "\xE2\x89\xA5");
        if (!r->question.keep)
            add_range(b, run->threshold_low, run->threshold_high);
        break;
    case 3:
        if (kind & (SIS__PROVED | SIS__CONTRAST))
            add_domain(b, r);
        else
            add_mask(b, &report->examples[run->first]);
        break;
    case 4:
        add_range(b, run->masked_low, run->masked_high);
        break;
    case 5:
        add_decided(b, run);
        break;
    case FOUND:
        add_number_found(b, run, kind);
        break;
    case VERIFIED:
        sis__html(b, "%'zu of %'zu", run->verified, run->status[SIS_STATUS_EXPLAINED]);
        break;
    default:
        add_cost(b, run);
    }
    sis__buf_str(b, "</dd>");
}

/* Is the fact equal in all runs? */
static int is_shared(const sis_report *report, int fact) {
    sis__buf first, other;
    int same = 1;
    sis__buf_init(&first);
    add_fact(&first, report, &report->runs[0], fact);
    for (size_t i = 1; same && i < report->n_runs; i++) {
        sis__buf_init(&other);
        add_fact(&other, report, &report->runs[i], fact);
        same = first.len == other.len &&
               (!first.len || memcmp(first.data, other.data, first.len) == 0);
        sis__buf_release(&other);
    }
    sis__buf_release(&first);
    return same;
}

/* Add the facts of one run: the shared ones, or the others. */
static void add_facts(sis__buf *b, const sis_report *report, size_t run, const int *shared,
                      int wanted) {
    sis__buf_str(b, "<dl class=\"facts\">\n");
    int nothing = !report->runs[run].status[SIS_STATUS_EXPLAINED] && !report->runs[run].subsets;
    for (int f = 0; f < N_FACTS; f++)
        if (shared[f] == wanted && !(nothing && (f == FOUND || f == VERIFIED))) {
            sis__buf_str(b, "<div>");
            add_fact(b, report, &report->runs[run], f);
            sis__buf_str(b, "</div>\n");
        }
    sis__buf_str(b, "</dl>\n");
}

/* Add the settings shared by all files, then a box for each file with its own. */
static void add_runs(sis__buf *b, const sis_report *report) {
    int shared[N_FACTS], common = 0;
    for (int f = 0; f < N_FACTS; f++)
        common += shared[f] = is_shared(report, f);
    if (report->n_runs == 1) {
        sis__buf_str(b, "<h3>How it was made</h3>\n");
        add_facts(b, report, 0, shared, 1);
        return;
    }
    if (common) {
        sis__buf_str(b, "<h3>In common</h3>\n");
        add_facts(b, report, 0, shared, 1);
    }
    sis__buf_str(b, "<div class=\"files\">\n");
    for (size_t i = 0; i < report->n_runs; i++) {
        sis__html(b, "<div class=\"file\"><h3><bdi>%.80s</bdi></h3>\n", sis__run_name(report, i));
        add_facts(b, report, i, shared, 0);
        sis__buf_str(b, "</div>\n");
    }
    sis__buf_str(b, "</div>\n");
}

/* Explain the claim of each kind of subset. */
static void add_meanings(sis__buf *b, int kinds) {
    static const struct {
        int kind;
        const char *words;
    } meanings[] = {
        {SIS__ENOUGH,
         "A <em>sufficient input subset</em> is a minimal set of features that is enough for "
         "the decision when everything else is masked. The subsets of one example have no "
         "feature in common. Verified means that full passes of the model confirmed three "
         "things: each subset meets the threshold; without any one of its features it does "
         "not; and with all subsets masked, the rest does not."},
        {SIS__DRAWN,
         "A <em>subset that is enough by chance</em> keeps the decision for at least the "
         "requested share of random values of the other features, drawn from other examples, "
         "at the given confidence. The subsets of one example have no feature in common."},
        {SIS__PROVED,
         "A <em>proved subset</em> keeps the decision whatever the other features are, within the "
         "given range. The subsets of one example have no feature in common."},
        {SIS__CONTRAST,
         "A <em>contrast</em> is a set of features whose change alone can lose the decision. "
         "It is proved that changing only some of them cannot."},
        {SIS__MASKED_CONTRAST,
         "A <em>contrast</em> is a set of features whose masking alone loses the decision. "
         "Verified means that full passes of the model confirmed it: masking the set loses "
         "the decision, and masking all but one of its features does not."},
        {SIS__RATIONALE,
         "A <em>rationale</em> is the set of features that another method finds most "
         "important. Its score says whether it is sufficient."},
    };
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (kinds & meanings[i].kind)
            sis__buf_printf(b, "<p class=\"explain\">%s</p>\n", meanings[i].words);
}

int sis__page_overview(sis__buf *b, const sis_report *report) {
    int code = sis__page_logo(b, report);
    if (code == SIS_OK)
        code = add_tiles(b, report);
    add_status_bar(b, report);
    if (code == SIS_OK)
        code = sis__page_figures(b, report, "overview", 0);
    add_runs(b, report);
    add_meanings(b, sis__kinds_of(report));
    return code;
}
