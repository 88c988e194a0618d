/* SPDX-License-Identifier: MIT
 *
 * A program that fills every struct with a size, and has every struct with reserved fields filled; abi.sh compiles
 * it with the headers and with older ones.
 *   abi MODEL DATA
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/task.h>

enum { GUARD = 64, N = 6 };

/* A struct, and bytes behind it that nobody may write to. */
#define GUARDED(type, name)                                                                        \
    struct {                                                                                       \
        type it;                                                                                   \
        unsigned char guard[GUARD];                                                                \
    } name;                                                                                        \
    memset(&name, 0xA5, sizeof name)
#define CHECK(name) check(name.guard, #name)

static void check(const unsigned char *guard, const char *name) {
    for (size_t i = 0; i < GUARD; i++)
        if (guard[i] != 0xA5) {
            printf("the library wrote behind %s\n", name);
            exit(1);
        }
}

static void must(int error) {
    if (error < 0) {
        printf("%s\n", sis_error_detail());
        exit(1);
    }
}

static int sum(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (size_t v = 0; v < width; v++)
            scores[i] += rows[i * width + v] * (double)(1 + v % 3);
    }
    return 0;
}

static const double VALUES[2 * N] = {1, 2, 0, 1, 3, 1, 2, 2, 2, 1, 0, 1}, ZEROS[N] = {0};

/* Options and model are copied, as a program may. */
static int find(void *ctx, size_t i, const sis_model *model, const sis_opt *opt,
                sis_collection *out) {
    GUARDED(sis_model, m);
    GUARDED(sis_opt, o);
    m.it = *model;
    o.it = *opt;
    o.it.max_subsets = 2;
    int error = sis_collect(&m.it, &((const sis_input *)ctx)[i], &o.it, out);
    CHECK(m);
    CHECK(o);
    return error;
}

/* What the library fills has zeros where later versions have fields. (Compiled with older headers, it has fields
 * there that this program does not know.) */
#ifdef WHOLE
static void check_reserved(const void *p, size_t size, const char *name) {
    for (size_t i = 0; i < size; i++)
        if (((const char *)p)[i]) {
            printf("reserved of %s is not zero\n", name);
            exit(1);
        }
}
#define RESERVED(s) check_reserved((s)->reserved, sizeof(s)->reserved, #s)
#else
#define RESERVED(s) (void)(s)
#endif

static void print_audit(const sis_audit *a) {
    RESERVED(a);
    printf("audit: %d %d %g %zu", a->holds, a->complete, a->rest_score, a->evaluations);
    for (size_t k = 0; k < a->n_subsets; k++) {
        const sis_subset_audit *s = &a->subsets[k];
        RESERVED(s);
        printf(", %g %g %d %zu", s->score, s->best_without_one, s->minimal, s->n_smaller);
    }
    printf("\n");
}

static int print(void *ctx, size_t i, const sis_collection *c) {
    (void)ctx;
    printf("%zu: %g of %zu features, %zu subsets:", i, c->score, c->n_features, c->n_subsets);
    RESERVED(c);
    for (size_t k = 0; k < c->n_subsets; k++) {
        const sis_subset *s = &c->subsets[k];
        RESERVED(s);
        RESERVED(&s->trace);
        for (size_t f = 0; f < s->n; f++)
            printf("%s%d", f ? " " : k ? ", " : " ", s->features[f]);
        printf(" (%g after %zu)", s->score, s->trace.n);
    }
    printf("\n");
    return 0;
}

static void collect(void) {
    GUARDED(sis_model, m);
    GUARDED(sis_opt, o);
    const sis_input inputs[2] = {{.values = VALUES, .mask = ZEROS, .n_values = N},
                                 {.values = VALUES + N, .mask = ZEROS, .n_values = N}};
    sis_model_init(&m.it);
    m.it.predict = sum;
    m.it.n_outputs = 1;
    m.it.worker_new = sis_worker_share;
    sis_opt_init(&o.it);
    o.it.threshold = 5;
    o.it.jobs = 2;
    must(sis_find_many(&m.it, inputs, 2, &o.it, &(sis_finder){find, print, (void *)inputs}));
    GUARDED(sis_collection, c);
    must(sis_collect(&m.it, inputs, &o.it, &c.it));
    print(NULL, 0, &c.it);
    struct {
        sis_audit it[2];
        unsigned char guard[GUARD];
    } a;
    memset(&a, 0xA5, sizeof a);
    const sis_collection claims[2] = {c.it, c.it};
    const sis_input twice[2] = {inputs[0], inputs[0]};
    o.it.exhaustive = 4;
    must(sis_verify(&m.it, inputs, &o.it, &c.it, &a.it[1]));
    print_audit(&a.it[1]);
    CHECK(a);
    sis_audit_release(&a.it[1]);
    must(sis_verify_many(&m.it, twice, 2, &o.it, claims, a.it));
    for (int i = 0; i < 2; i++) {
        print_audit(&a.it[i]);
        sis_audit_release(&a.it[i]);
    }
    sis_collection_release(&c.it);
    CHECK(a);
    CHECK(c);
    o.it.max_subsets = 1;
    must(sis_collect_many(&m.it, inputs, 2, &o.it, print, NULL));
    double scores[2];
    must(sis_predict(&m.it, inputs, 2, &o.it, scores));
    printf("scores %g %g\n", scores[0], scores[1]);
    CHECK(m);
    CHECK(o);
}

static void print_guarantee(const sis_guarantee *g) {
    RESERVED(g);
    printf("guarantee %d of %zu shares:", g->kind, g->n_shares);
    for (size_t k = 0; k < g->n_shares; k++) {
        const sis_kept *s = &g->shares[k];
        RESERVED(s);
        printf(" %zu/%zu", s->kept, s->draws);
    }
    printf("\n");
}

static void print_record(const sis_record *r) {
    RESERVED(r);
    RESERVED(&r->question);
    RESERVED(&r->drawing);
    printf("%s by %s of %s, %zu values, %zu names:", r->id, r->question.method, r->model,
           r->drawing.n_values, r->drawing.n_names);
    print(NULL, r->row, &r->collection);
    if (r->guarantee)
        print_guarantee(r->guarantee);
    if (r->prompted) {
        RESERVED(r->prompted);
        printf("%s... %s: %s\n", r->prompted->before, r->prompted->after, r->prompted->answer);
    }
}

/* What is read from a line of results, and the line of that. */
static void read_back(const char *line, size_t n, sis_record *out) {
    GUARDED(sis_record, r);
    char *again;
    must(sis_record_parse(line, n, &r.it));
    print_record(&r.it);
    must(sis_record_format(&r.it, 1, &again, &n));
    fputs(again, stdout);
    free(again);
    CHECK(r);
    *out = r.it;
}

static void explain(const sis_task_opt *o) {
    sis_task *task;
    GUARDED(sis_record, r);
    struct {
        sis_record it[2];
        sis_audit audits[2];
        unsigned char guard[GUARD];
    } all;
    memset(&all, 0xA5, sizeof all);
    must(sis_task_open(o, &task));
    int got;
    size_t read = 0;
    while ((got = sis_task_next(task, &r.it)) == 1) {
        char *line;
        size_t n;
        r.it.collection.seconds = 0;
        print_record(&r.it);
        must(sis_record_format(&r.it, 1, &line, &n));
        if (read < 2)
            read_back(line, n, &all.it[read++]);
        free(line);
    }
    must(got);
    CHECK(r);
    must(sis_task_verify(task, all.it, read, all.audits));
    CHECK(all);
    for (size_t i = 0; i < read; i++) {
        print_audit(&all.audits[i]);
        sis_audit_release(&all.audits[i]);
        sis_record_release(&all.it[i]);
    }
    sis_task_free(task);
}

/* Records that no model of this test makes. */
static void read_others(void) {
    static const char line[] =
        "{\"sis\":2,\"id\":\"a\",\"model\":\"m\",\"method\":\"sis\",\"target\":0,\"direction\":\">=\","
        "\"threshold\":0.5,\"score\":0.1,\"masked_score\":0,\"status\":\"not_decided\",\"n_features\":2,"
        "\"subsets\":[],\"before\":\"Say\",\"after\":\"now\",\"answer\":\"yes\"}\n";
    static const char json[] =
        "{\"version\":\"1\",\"command\":[\"sis\",\"explain\"],\"examples\":3,\"rows\":\"0:2\"}";
    sis_record r;
    read_back(line, sizeof line - 1, &r);
    sis_record_release(&r);
    GUARDED(sis_provenance, p);
    must(sis_provenance_parse(json, &p.it));
    RESERVED(&p.it);
    printf("version %s, %s, %zu examples, %s\n", p.it.version, p.it.command[1], p.it.examples,
           p.it.rows);
    sis_provenance_release(&p.it);
    CHECK(p);
}

static void tasks(const char *model, const char *input) {
    GUARDED(sis_task_opt, o);
    GUARDED(sis_model, m);
    GUARDED(sis_data_opt, d);
    GUARDED(sis_model_opt, open);
    sis_task_opt_init(&o.it);
    o.it.model.spec = model;
    o.it.model.open.timeout = 7;
    o.it.examples.input = input;
    o.it.examples.rows = "0:3";
    o.it.examples.read.categorical = 1;
    o.it.question.mask = "mean";
    o.it.question.threshold = "0.6";
    o.it.answer.search.max_subsets = 2;
    o.it.answer.search.jobs = 2;
    o.it.answer.keep_going = 1;
    sis_data *data;
    sis_data_opt_init(&d.it);
    d.it.categorical = 1;
    must(sis_data_read(input, &d.it, &data));
    o.it.question.background = data;
    explain(&o.it);
    o.it.question.guarantee = "chance:0.7";
    o.it.question.mask = "hotdeck";
    explain(&o.it);
    o.it.question.guarantee = NULL;
    o.it.question.mask = "mean";
    sis_model_opt_init(&open.it);
    open.it.jobs = 2;
    must(sis_model_open(model, &open.it, &m.it));
    o.it.model.opened = &m.it;
    o.it.answer.method = "quick";
    explain(&o.it);
    sis_model_close(&m.it);
    must(sis_task_open_model(&o.it, &m.it));
    sis_model_close(&m.it);
    sis_data_free(data);
    CHECK(o);
    CHECK(m);
    CHECK(d);
    CHECK(open);
}

/* Structs whose size nobody set. */
static void refused(void) {
    const sis_opt none = {.threshold = 1};
    const sis_data_opt columns = {.categorical = 1};
    const sis_model without = {.predict = sum, .n_outputs = 1};
    const sis_input input = {.values = VALUES, .mask = ZEROS, .n_values = N};
    sis_model m;
    sis_opt o;
    sis_task_opt t;
    sis_collection c;
    sis_data *data;
    sis_task *task;
    sis_input garbage = input;
    memset(garbage.reserved, 1, sizeof garbage.reserved);
    sis_model_init(&m);
    m.predict = sum;
    m.n_outputs = 1;
    sis_opt_init(&o);
    o.threshold = 1;
    sis_task_opt_init(&t);
    memset(&t.answer.search, 0, sizeof t.answer.search);
#define REFUSED(call) printf("%d: %s\n", call, sis_error_detail())
    REFUSED(sis_collect(&m, &input, &none, &c));
    REFUSED(sis_collect(&without, &input, &o, &c));
    REFUSED(sis_collect(&m, &garbage, &o, &c));
    REFUSED(sis_data_read("none.csv", &columns, &data));
    REFUSED(sis_task_open(&t, &task));
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    fprintf(stderr, "%zu %zu %zu %zu %zu\n", sizeof(sis_opt), sizeof(sis_data_opt),
            sizeof(sis_model), sizeof(sis_task_question_opt), sizeof(sis_model_opt));
    collect();
    tasks(argv[1], argv[2]);
    read_others();
    refused();
    return 0;
}
