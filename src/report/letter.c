/* SPDX-License-Identifier: MIT
 *
 * Letters: one page for each example, filled into a template. sis/report.h documents templates.
 * Records of the same id make one letter: reasons come from subsets, changes of the decision from
 * contrasts. All data from records are escaped.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/number.h"
#include "report/html.h"
#include "report/letter_files.h"
#include "report/report.h"

typedef struct {
    const sis_record *reason; /* subsets, or why there are none; NULL: no such record */
    const sis_record *change; /* contrasts, likewise */
} letter;

typedef struct {
    sis__buf *b;
    const char *title;
    const letter *letters; /* (n) */
    size_t n;
    const letter *now; /* NULL: outside of {{#letters}} */
} page;

static const sis_record *any_of(const letter *l) {
    return l->reason ? l->reason : l->change;
}

/* ---- Features in words ----------------------------------------------------------------------- */

/* At least six digits, more if needed to distinguish the number. */
static void put_number(sis__buf *b, double v) {
    char text[40], *end;
    for (int digits = 6; digits <= 17; digits++) {
        sis__format(text, sizeof text, "%.*g", digits, v);
        if ((float)sis__number(text, &end) == (float)v)
            break;
    }
    sis__html_text(b, text);
}

/* Add the value of a feature in these values. */
static void put_value(sis__buf *b, const sis_record *r, const double *values, int feature) {
    size_t count, first = sis_record_values(r, feature, &count);
    const char *category = count ? sis_record_category(r, values, feature) : NULL;
    if (category)
        sis__html_text(b, category);
    else if (count == 1 && isnan(values[first]))
        sis__buf_str(b, "missing");
    else if (count == 1)
        put_number(b, values[first]);
    else
        sis__buf_printf(b, "%zu values", count);
}

static void put_name(sis__buf *b, const sis_record *r, int feature) {
    char name[512];
    sis_record_name(r, feature, name, sizeof name);
    sis__html(b, "<bdi>%.200s</bdi>", name);
}

static const double *changed_values(const sis_record *r, size_t k) {
    const sis_guarantee *g = r->guarantee;
    return g && k < g->n_examples ? g->examples + k * r->drawing.n_values : NULL;
}

/* Subset k: one row per feature with its value; for a contrast also the new value. */
static void put_subset(sis__buf *b, const sis_record *r, size_t k) {
    const sis_subset *s = &r->collection.subsets[k];
    const double *changed = changed_values(r, k);
    sis__buf_str(b, "<li><table>\n");
    for (size_t i = 0; i < s->n; i++) {
        sis__buf_str(b, "<tr><th scope=\"row\">");
        put_name(b, r, s->features[i]);
        sis__buf_str(b, "</th>");
        if (r->drawing.values && !r->drawing.words) {
            sis__buf_str(b, changed ? "<td>now " : "<td>");
            put_value(b, r, r->drawing.values, s->features[i]);
            sis__buf_str(b, "</td>");
        }
        if (changed) {
            sis__buf_str(b, "<td>instead ");
            put_value(b, r, changed, s->features[i]);
            sis__buf_str(b, "</td>");
        }
        sis__buf_str(b, "</tr>\n");
    }
    sis__buf_str(b, "</table></li>\n");
}

static void put_subsets(sis__buf *b, const sis_record *r) {
    size_t n = r ? r->collection.n_subsets : 0;
    const char *list = n == 1 ? "ul" : "ol";
    if (n == 0)
        return;
    sis__buf_printf(b, "<%s>\n", list);
    for (size_t k = 0; k < n; k++)
        put_subset(b, r, k);
    sis__buf_printf(b, "</%s>\n", list);
}

/* ---- Sentences ------------------------------------------------------------------------------- */

static void put_decision(sis__buf *b, const letter *l) {
    const sis_record *r = any_of(l);
    const sis_collection *c = &r->collection;
    int met = c->status != SIS_STATUS_NOT_DECIDED;
    char text[256];
    if (c->status == SIS_STATUS_ERROR) {
        sis__buf_str(b, "The model could not be asked about this example.");
        return;
    }
    if (r->question.keep) {
        sis__output_name(r, text, sizeof text);
        sis__html(b, "The model decided for %s.", text);
    } else {
        sis__html(b, "The model gave a score of %g", c->score);
        if (r->question.target_label)
            sis__html(b, " for <bdi>%s</bdi>", r->question.target_label);
        sis__html(b, ". The decision is made if the score is %s %g%s",
                  r->question.below ? "at most" : "at least", r->question.threshold,
                  met ? ", and it is." : "; it is not, so the decision was not made.");
    }
    sis_record_reason(r, text, sizeof text);
    if (c->status == SIS_STATUS_DEFAULT_DECISION && *text)
        sis__html(b, " %s", text);
}

static void put_reasons_are(sis__buf *b, const sis_record *r) {
    if (!r || !r->collection.n_subsets)
        return;
    if (r->question.constraint)
        sis__buf_str(b, "The decision was based most on this, by the method's own account:");
    else if (r->collection.n_subsets == 1)
        sis__buf_str(b, "This alone was enough for the decision:");
    else
        sis__buf_printf(b, "Each of these %zu lists alone was enough for the decision:",
                        r->collection.n_subsets);
}

/* State the guarantee of the subsets and what it means. */
static void put_proof(sis__buf *b, const sis_record *r) {
    char promise[160];
    if (!r || !r->collection.n_subsets)
        return;
    sis_record_promise(r, 0, promise, sizeof promise);
    const char *each = r->collection.n_subsets == 1 ? "this" : "each list";
    int kind = sis__kind_of(r), minimal = !(kind & (SIS__NOT_MINIMAL | SIS__RATIONALE));
    if (kind & SIS__PROVED) {
        sis__html(b,
                  "Proved: %s is enough %s. The model decides the same for everybody with "
                  "the same values here%s. The proof covers all of them; it is no sample.",
                  each, promise,
                  r->question.domain && strcmp(r->question.domain, "any") != 0
                      ? " and others within that range"
                      : "");
    } else if (kind & SIS__DRAWN) {
        sis__html(b, "Estimated: %s is enough %s, as far as values drawn at random from data tell.",
                  each, promise);
    } else if (r->collection.verified) {
        sis__buf_printf(b,
                        "Checked with the model itself: with %s as it is and everything else "
                        "replaced by a neutral value, the decision stays the same. This "
                        "holds for that neutral value; it is no proof about others.",
                        each);
    } else
        sis__buf_str(b, "This was not checked with the model.");
    if (minimal)
        sis__buf_printf(b, " Nothing in %s can be left out.",
                        r->collection.n_subsets == 1 ? "it" : "a list");
}

static void put_changes_are(sis__buf *b, const sis_record *r) {
    if (!r || !r->collection.n_subsets)
        return;
    const char *one = r->collection.n_subsets == 1 ? "" : "any one of ";
    const char *these = r->collection.n_subsets == 1 ? "this" : "these";
    if (changed_values(r, 0))
        sis__buf_printf(b,
                        "With %s%s change%s, and everything else as it is, the decision is "
                        "another one:",
                        one, these, *one ? "s" : "");
    else if (r->guarantee)
        sis__buf_printf(b,
                        "Other values of %s%s, with everything else as it is, can change the "
                        "decision:",
                        one, these);
    else
        sis__buf_printf(b,
                        "With a neutral value instead of %s%s, and everything else as it is, "
                        "the decision is another one:",
                        one, these);
}

static void put_nearest(sis__buf *b, const sis_record *r) {
    const sis_guarantee *g = r ? r->guarantee : NULL;
    if (!r || !r->collection.n_subsets)
        return;
    sis__buf_str(b, "The model itself was asked about the changed values.");
    if (!g)
        return;
    if (g->minimal)
        sis__buf_str(b, " Proved: with fewer of these changed, no values change the decision.");
    if (g->nearest)
        sis__buf_str(b, " Proved: no smaller change of the same features does.");
    if (g->cheapest)
        sis__buf_str(b, " Proved: no smaller change of other features does.");
    for (size_t i = 0; i < g->n_fixed; i++) {
        sis__buf_str(b, i == 0 ? " Not to be changed: " : ", ");
        put_name(b, r, g->fixed[i]);
    }
    sis__buf_str(b, g->n_fixed ? "." : "");
}

/* ---- Fields ---------------------------------------------------------------------------------- */

/* {{column:NAME}} */
static int put_column(sis__buf *b, const sis_record *r, const char *name) {
    char number[SIS_NUMBER_SIZE];
    int f = sis_record_column(r, name);
    const char *was = f >= 0 ? sis_record_was(r, f, number) : NULL;
    if (!was)
        return sis__fail(SIS_E_OPTION, "--template: record \"%s\" has no column \"%s\"", r->id,
                         name);
    sis__html_text(b, was);
    return SIS_OK;
}

/* Add one field of a letter. */
static int put_field(page *p, const char *name) {
    sis__buf *b = p->b;
    const letter *l = p->now;
    const sis_record *r = l ? any_of(l) : NULL;
    if (strcmp(name, "title") == 0)
        sis__html_text(b, p->title);
    else if (!l)
        return sis__fail(SIS_E_OPTION,
                         "--template: {{%s}} is outside of {{#letters}} ... {{/letters}}, where "
                         "only {{title}} is known",
                         name);
    else if (strncmp(name, "column:", 7) == 0)
        return put_column(b, r, name + 7);
    else if (strcmp(name, "id") == 0)
        sis__html_text(b, r->id);
    else if (strcmp(name, "label") == 0)
        sis__html_text(b, r->drawing.label ? r->drawing.label : "");
    else if (strcmp(name, "model") == 0)
        sis__html_text(b, r->model);
    else if (strcmp(name, "score") == 0)
        sis__html_number(b, r->collection.score);
    else if (strcmp(name, "threshold") == 0)
        sis__html_number(b, r->question.threshold);
    else if (strcmp(name, "decision") == 0)
        put_decision(b, l);
    else if (strcmp(name, "reasons_are") == 0)
        put_reasons_are(b, l->reason);
    else if (strcmp(name, "reasons") == 0)
        put_subsets(b, l->reason);
    else if (strcmp(name, "proof") == 0)
        put_proof(b, l->reason);
    else if (strcmp(name, "changes_are") == 0)
        put_changes_are(b, l->change);
    else if (strcmp(name, "changes") == 0)
        put_subsets(b, l->change);
    else if (strcmp(name, "nearest") == 0)
        put_nearest(b, l->change);
    else
        return sis__fail(SIS_E_OPTION,
                         "--template: {{%s}} is not known; there are title, id, label, model, "
                         "score, threshold, decision, reasons_are, reasons, proof, changes_are, "
                         "changes, nearest and column:NAME",
                         name);
    return SIS_OK;
}

/* ---- Templates ------------------------------------------------------------------------------- */

enum { NAME = 200, NESTED = 8 };

/* Find the next {{name}}: its name, begin and end. 0: none. */
static int next_tag(const char *at, const char *end, char name[NAME], const char **from,
                    const char **to) {
    for (; at + 1 < end; at++) {
        if (at[0] != '{' || at[1] != '{')
            continue;
        size_t n = 0;
        while (at + 2 + n + 1 < end && n < NAME && !(at[2 + n] == '}' && at[3 + n] == '}'))
            n++;
        if (at + 2 + n + 1 >= end || n >= NAME)
            continue;
        memcpy(name, at + 2, n);
        name[n] = '\0';
        *from = at;
        *to = at + n + 4;
        return 1;
    }
    return 0;
}

/* Find the closing tag of the section that begins at `at`. */
static int find_close(const char *at, const char *end, const char *name, const char **from,
                      const char **to) {
    char tag[NAME];
    int depth = 0;
    for (; next_tag(at, end, tag, from, to); at = *to) {
        if (*tag != '#' && *tag != '/')
            continue;
        if (strcmp(tag + 1, name) == 0)
            depth += *tag == '#' ? 1 : -1;
        if (depth < 0)
            return SIS_OK;
    }
    return sis__fail(SIS_E_OPTION, "--template: {{#%s}} has no {{/%s}}", name, name);
}

static int fill(page *p, const char *at, const char *end, int depth);

/* {{#letters}}: repeated for each letter; {{#name}}: shown if the field is not empty. */
static int fill_section(page *p, const char *name, const char *at, const char *end, int depth) {
    int error = SIS_OK;
    if (strcmp(name, "letters") == 0 && !p->now) {
        for (size_t i = 0; !error && i < p->n; i++) {
            p->now = &p->letters[i];
            error = fill(p, at, end, depth);
        }
        p->now = NULL;
        return error;
    }
    size_t before = p->b->len;
    error = put_field(p, name);
    int there = p->b->len > before;
    p->b->len = there ? before : p->b->len;
    return !error && there ? fill(p, at, end, depth) : error;
}

static int fill(page *p, const char *at, const char *end, int depth) {
    char name[NAME];
    const char *from, *to, *close, *after;
    int error = depth < NESTED ? SIS_OK
                               : sis__fail(SIS_E_OPTION,
                                           "--template: sections are nested more "
                                           "than %d deep",
                                           NESTED);
    while (!error && next_tag(at, end, name, &from, &to)) {
        sis__buf_add(p->b, at, (size_t)(from - at));
        at = to;
        if (*name == '/')
            error = sis__fail(SIS_E_OPTION, "--template: {{%s}} closes nothing", name);
        else if (*name != '#')
            error = put_field(p, name);
        else if (!(error = find_close(to, end, name + 1, &close, &after))) {
            error = fill_section(p, name + 1, to, close, depth + 1);
            at = after;
        }
    }
    if (!error)
        sis__buf_add(p->b, at, (size_t)(end - at));
    return error;
}

/* ---- Letters --------------------------------------------------------------------------------- */

/* Group records by id, in order of first appearance. A second record of a kind is an error. */
static int list_letters(const sis_report *report, letter *letters, size_t *n) {
    sis__names ids = {0};
    int error = SIS_OK;
    for (size_t i = 0; !error && i < report->n; i++) {
        const sis_record *r = &report->examples[i].record;
        uint32_t k;
        error = sis__names_add(&ids, r->id, strlen(r->id), &k);
        if (error)
            break;
        int contrast = strcmp(r->question.method, "contrast") == 0;
        const sis_record **slot = contrast ? &letters[k].change : &letters[k].reason;
        if (*slot)
            error = sis__fail(SIS_E_ARGUMENT,
                              "--letter: there are two records of \"%s\"; give one results file of "
                              "reasons and one of --method contrast",
                              r->id);
        *slot = r;
    }
    *n = ids.n;
    sis__names_release(&ids);
    return error;
}

const char *sis_letter_template(size_t *n) {
    *n = sizeof LETTER_HTML;
    return (const char *)LETTER_HTML;
}

int sis_report_letters(const sis_report *report, const sis_letter_opt *opt, char **html,
                       size_t *n) {
    const sis_letter_opt o = opt ? *opt : (sis_letter_opt){0};
    sis__buf b;
    sis__buf_init(&b);
    *html = NULL;
    *n = 0;
    if (report->n == 0)
        return sis__fail(SIS_E_ARGUMENT, "there is no record to write a letter about");
    letter *letters = SIS_NEW(letter, report->n);
    page p = {
        .b = &b, .title = o.title ? o.title : report->examples[0].record.model, .letters = letters};
    int error = letters ? list_letters(report, letters, &p.n) : SIS_E_NOMEM;
    size_t length = o.n_template;
    const char *text = o.template_text ? o.template_text : sis_letter_template(&length);
    if (!error)
        error = fill(&p, text, text + length, 0);
    if (!error)
        error = sis__buf_give(&b, html, n);
    sis__buf_release(&b);
    free(letters);
    return error;
}
