/* SPDX-License-Identifier: MIT
 *
 * Language models: scores of an answer's tokens, hostile answers, and failing allocations.
 * tests/cli/llm.sh tests the protocols.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <sis/handle.h>
#include <sis/model.h>
#include <sis/task.h>

#include "base/rng.h"
#include "model/llm_read.h"
#include "support.h"

/* JSON with ' for ". */
static json_t *load(const char *text) {
    char *copy = strdup(text);
    assert_non_null(copy);
    for (char *c = copy; *c; c++)
        *c = *c == '\'' ? '"' : *c;
    json_t *json = json_loads(copy, JSON_DECODE_ANY, NULL);
    if (!json)
        fail_msg("no JSON: %s", copy);
    free(copy);
    return json;
}

/* ---- Prompt and answer returned by the server (echo) ----------------------------------------- */

typedef struct {
    const char *text, *choice;
    size_t from, to, n;
    double margin, sum;
} echo_case;

static const echo_case echoes[] = {
    /* "Where? Oslo": the answer is one token; the best other one is at -3 */
    {"Where? Oslo",
     "{'logprobs':{'tokens':['Where','?',' "
     "Oslo'],'text_offset':[0,5,6],'token_logprobs':[null,-1,-0.5],"
     "'top_logprobs':[null,{'?':-1},{' Oslo':-0.5,' Rome':-3}]}}",
     7, 11, 1, 2.5, -0.5},
    /* two tokens: the smallest margin counts; the sum has both */
    {"a Oslo",
     "{'logprobs':{'tokens':['a',' "
     "Os','lo'],'text_offset':[0,1,4],'token_logprobs':[null,-1,-0.25],"
     "'top_logprobs':[null,{' Os':-1,' Ro':-1.5},{'lo':-0.25,'x':-4}]}}",
     2, 6, 2, 0.5, -1.25},
    /* another token is more probable: negative */
    {"a b",
     "{'logprobs':{'tokens':['a',' b'],'text_offset':[0,1],'token_logprobs':[null,-2],"
     "'top_logprobs':[null,{' c':-0.5,' b':-2}]}}",
     2, 3, 1, -1.5, -2},
    /* 'r: O' begins before the answer and ends in it */
    {"Answer: Oslo",
     "{'logprobs':{'tokens':['Answe','r: "
     "O','slo'],'text_offset':[0,5,9],'token_logprobs':[null,-1,-1],"
     "'top_logprobs':[null,{'r: O':-1,'r: R':-2},{'slo':-1,'x':-1.5}]}}",
     8, 12, 2, 0.5, -2},
    /* tokens after the answer do not count */
    {"a b.",
     "{'logprobs':{'tokens':['a',' b','.'],'text_offset':[0,1,3],'token_logprobs':[null,-1,-9],"
     "'top_logprobs':[null,{' b':-1,'x':-3},{'y':0}]}}",
     2, 3, 1, 2, -1},
    /* three byte tokens of one character have the same offset, and all count */
    {"a\xE6\x9D\xB1",
     "{'logprobs':{'tokens':['a','\\ufffd','\\ufffd','\\ufffd'],'text_offset':[0,1,1,1],"
     "'token_logprobs':[null,-1,-0.5,-0.25],'top_logprobs':[null,{'\\ufffd':-1,'x':-2},{'\\ufffd':-"
     "0.5,'x':-2},"
     "{'\\ufffd':-0.25,'x':-2}]}}",
     1, 2, 3, 1, -1.75},
    /* e and a combining accent are two characters */
    {"cafe\xCC\x81",
     "{'logprobs':{'tokens':['caf','e','\\u0301'],'text_offset':[0,3,4],'token_logprobs':[null,-1,-"
     "1],"
     "'top_logprobs':[null,{'e':-1,'x':-2},{'\\u0301':-1,'x':-4}]}}",
     3, 5, 2, 1, -2},
    /* another token with the same text (bytes shown as U+FFFD) */
    {"a\xE6\x9D\xB1",
     "{'logprobs':{'tokens':['a','\\ufffd'],'text_offset':[0,1],'token_logprobs':[null,-3],"
     "'top_logprobs':[null,{'\\ufffd':-1,'x':-5}]}}",
     1, 2, 1, -2, -3},
    /* "<s>" is not in the text, and moves the offsets */
    {"a b.",
     "{'logprobs':{'tokens':['<s>','a',' "
     "b','.'],'text_offset':[0,3,4,6],'token_logprobs':[null,-2,-1,-9],"
     "'top_logprobs':[null,{'z':-1},{' b':-1,'x':-3},{'y':0}]}}",
     2, 3, 1, 2, -1},
    /* a vocabulary that writes blanks as other characters */
    {"a b",
     "{'logprobs':{'tokens':['a','\\u2581b'],'text_offset':[0,1],'token_logprobs':[null,-2],"
     "'top_logprobs':[null,{'c':-0.5,'\\u2581b':-2}]}}",
     2, 3, 1, -1.5, -2},
};

static void margins_are_the_minimum_over_the_tokens_of_the_answer(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof echoes / sizeof *echoes; i++) {
        const echo_case *c = &echoes[i];
        sis__llm_tokens t;
        json_t *json = load(c->choice);
        if (sis__llm_read_echo(json, c->text, c->from, c->to, &t) != SIS_OK)
            fail_msg("case %zu: %s", i, sis_error_detail());
        json_decref(json);
        if (t.n != c->n || fabs(t.margin - c->margin) > 1e-12 || fabs(t.sum - c->sum) > 1e-12)
            fail_msg("case %zu: %zu tokens, margin %g, sum %g", i, t.n, t.margin, t.sum);
        assert_false(t.bounded);
    }
}

/* ---- Tokens that the model wrote ------------------------------------------------------------- */

#define TOP(own, other) "'top_logprobs':[" own "," other "]"
#define OSLO "{'token':' Oslo','logprob':-0.5}"
#define ROME "{'token':' Rome','logprob':-2}"

typedef struct {
    const char *content, *answer;
    size_t n;
    double margin, sum;
    int bounded, unfinished;
} generated_case;

static const generated_case generated[] = {
    {"[{'token':' Oslo','logprob':-0.5," TOP(OSLO, ROME) "}]", " Oslo", 1, 1.5, -0.5, 0, 0},
    /* tokens after the answer do not count */
    {"[{'token':' Oslo','logprob':-0.5," TOP(OSLO, ROME) "},{'token':'.'}]", " Oslo", 1, 1.5, -0.5,
     0, 0},
    /* a longer token that begins with the answer */
    {"[{'token':' Oslofjord','logprob':-0.5," TOP("{'token':' Oslofjord','logprob':-0.5}",
                                                  ROME) "}]",
     " Oslo", 1, 1.5, -0.5, 0, 0},
    /* the model says something else, and the answer is among the alternatives */
    {"[{'token':' Oslo','logprob':-0.5," TOP(OSLO, ROME) "}]", " Rome", 1, -1.5, -2, 0, 0},
    /* or not: the lowest reported alternative is a bound */
    {"[{'token':' Oslo','logprob':-0.5," TOP(OSLO, ROME) "}]", " Lima", 1, -1.5, -2, 1, 0},
    /* white space first */
    {"[{'token':'\\n','logprob':-0.1," TOP("{'token':'\\n','logprob':-0.1}",
                                           ROME) "},"
                                                 "{'token':'Oslo','logprob':-0.5," TOP(
                                                     "{'token':'Oslo','logprob':-0.5}", ROME) "}]",
     "Oslo", 1, 1.5, -0.5, 0, 0},
    /* the first token begins with a blank; the answer does not */
    {"[{'token':' Oslo','logprob':-0.5," TOP(OSLO, ROME) "}]", "Oslo", 1, 1.5, -0.5, 0, 0},
    {"[{'token':' Oslo','logprob':-0.5," TOP(OSLO, ROME) "}]", "Rome", 1, -1.5, -2, 0, 0},
    /* the model stops before the end of the answer: its next token has at most half of the
     * probability */
    {"[{'token':' Oslo','logprob':-0.5," TOP(OSLO, ROME) "}]", " Oslo, Norway", 2,
     -0.6931471805599453, -1.1931471805599453, 1, 1},
    {"[]", " Oslo", 1, -0.6931471805599453, -0.6931471805599453, 1, 1},
    /* bytes count, not the text: half of a character */
    {"[{'token':'\\ufffd','bytes':[195],'logprob':-1," TOP(
         "{'token':'\\ufffd','bytes':[195],'logprob':-1}",
         "{'token':'\\ufffd','bytes':[196],'logprob':-2}") "},{'token':'\\ufffd','bytes':[169],'"
                                                           "logprob':-0.5," TOP("{'token':'\\ufffd'"
                                                                                ",'bytes':[169],'"
                                                                                "logprob':-0.5}",
                                                                                "{'token':'x','"
                                                                                "logprob':-4}") "}"
                                                                                                "]",
     "\303\251", 2, 1, -1.5, 0, 0},
};

static void generated_tokens_are_compared_up_to_the_first_difference(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof generated / sizeof *generated; i++) {
        const generated_case *c = &generated[i];
        sis__llm_tokens t;
        json_t *json = load(c->content);
        if (sis__llm_read_generated(json, c->answer, &t) != SIS_OK)
            fail_msg("case %zu: %s", i, sis_error_detail());
        json_decref(json);
        if (t.n != c->n || fabs(t.margin - c->margin) > 1e-12 || fabs(t.sum - c->sum) > 1e-12 ||
            t.bounded != c->bounded || t.unfinished != c->unfinished)
            fail_msg("case %zu: %zu tokens, margin %.17g, sum %.17g, bounded %d, unfinished %d", i,
                     t.n, t.margin, t.sum, t.bounded, t.unfinished);
    }
}

/* The format of /v1/completions without echo; the second token is a byte of a character. */
static void lists_of_tokens_are_read_as_generated(void **state) {
    (void)state;
    json_t *json = load("{'tokens':[' a','bytes:\\\\xc3\\\\xa9'],'token_logprobs':[-0.5,-1],"
                        "'top_logprobs':[{' a':-0.5,' b':-2},{'bytes:\\\\xc3\\\\xa9':-1,'x':-4}]}");
    json_t *content = sis__llm_list_tokens(json);
    sis__llm_tokens t;
    assert_int_equal(sis__llm_read_generated(content, " a\303\251", &t), SIS_OK);
    assert_true(t.n == 2 && t.margin == 1.5 && t.sum == -1.5 && !t.bounded);
    assert_int_equal(sis__llm_read_generated(content, " b", &t), SIS_OK);
    assert_true(t.margin == -1.5);
    json_decref(content);
    json_decref(json);
    const char *const odd[] = {"{}", "{'tokens':'x'}", "{'tokens':[]}", "null"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        json = load(odd[i]);
        content = sis__llm_list_tokens(json);
        assert_true(json_is_array(content) && json_array_size(content) == 0);
        json_decref(content);
        json_decref(json);
    }
    json = load("{'tokens':[1,'y'],'token_logprobs':7,'top_logprobs':[{'y':'a'},[]]}");
    content = sis__llm_list_tokens(json);
    assert_int_equal(json_array_size(content), 2);
    assert_int_equal(sis__llm_read_generated(content, "y", &t), SIS_E_MODEL);
    json_decref(content);
    json_decref(json);
}

static void labels_add_the_tokens_that_begin_them(void **state) {
    (void)state;
    json_t *json =
        load("[{'logprob':-1,'top_logprobs':[{'token':' yes','logprob':-1},{'token':'y',"
             "'logprob':-2},{'token':'yes, sir','logprob':-1.5},{'token':'no','logprob':-3}]}]");
    double logprob;
    int bounded = 0;
    assert_int_equal(sis__llm_read_first(json, " yes", &logprob, &bounded), SIS_OK);
    assert_true(fabs(logprob - log(exp(-1) + exp(-2))) < 1e-12);
    assert_false(bounded);
    assert_int_equal(sis__llm_read_first(json, "maybe", &logprob, &bounded), SIS_OK);
    assert_true(logprob == -3 && bounded);
    json_decref(json);
}

static void characters_are_counted(void **state) {
    (void)state;
    assert_int_equal(sis__llm_characters(""), 0);
    assert_int_equal(sis__llm_characters("Oslo"), 4);
    assert_int_equal(sis__llm_characters("\346\235\261\344\272\254"), 2);
    assert_int_equal(sis__llm_characters("e\314\201"), 2); /* with a combining accent */
}

/* ---- Hostile answers ------------------------------------------------------------------------- */

static void wrong_answers_are_refused(void **state) {
    (void)state;
    const char *const bad[] = {
        "null",
        "[]",
        "{}",
        "{'logprobs':null}",
        "{'logprobs':[]}",
        "{'logprobs':{'tokens':'x','text_offset':[0],'token_logprobs':[0],'top_logprobs':[{}]}}",
        "{'logprobs':{'tokens':['x'],'text_offset':[0],'token_logprobs':[0],'top_logprobs':[]}}",
        "{'logprobs':{'tokens':['x'],'text_offset':[-1],'token_logprobs':[0],'top_logprobs':[{}]}}",
        "{'logprobs':{'tokens':['x'],'text_offset':['0'],'token_logprobs':[0],'top_logprobs':[{}]}"
        "}",
        "{'logprobs':{'tokens':[1],'text_offset':[0],'token_logprobs':[0],'top_logprobs':[{}]}}",
        "{'logprobs':{'tokens':['x','y'],'text_offset':[0,1],'token_logprobs':[null,'a'],"
        "'top_logprobs':[null,{'y':0}]}}",
        /* a token without an alternative */
        "{'logprobs':{'tokens':['x','y'],'text_offset':[0,1],'token_logprobs':[null,-1],"
        "'top_logprobs':[null,{'y':-1}]}}",
        "{'logprobs':{'tokens':['x','y'],'text_offset':[0,1],'token_logprobs':[null,-1],"
        "'top_logprobs':[null,{'z':'a'}]}}",
        /* log-probabilities above 0, of a token and of another one */
        "{'logprobs':{'tokens':['x','y'],'text_offset':[0,1],'token_logprobs':[null,1],"
        "'top_logprobs':[null,{'z':-1}]}}",
        "{'logprobs':{'tokens':['x','y'],'text_offset':[0,1],'token_logprobs':[null,-1],"
        "'top_logprobs':[null,{'z':1}]}}",
        /* the text has no such token there */
        "{'logprobs':{'tokens':['x','z'],'text_offset':[0,1],'token_logprobs':[null,-1],"
        "'top_logprobs':[null,{'y':-2}]}}",
        /* no token of the answer */
        "{'logprobs':{'tokens':['x'],'text_offset':[0],'token_logprobs':[null],'top_logprobs':["
        "null]}}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        sis__llm_tokens t;
        json_t *json = load(bad[i]);
        if (sis__llm_read_echo(json, "xy", 1, 2, &t) != SIS_E_MODEL)
            fail_msg("not refused: %s", bad[i]);
        json_decref(json);
    }
    const char *const written[] = {
        "null",
        "{}",
        "'x'",
        "[null]",
        "[1]",
        "[{}]",
        "[{'token':'y','logprob':'a'}]",
        "[{'token':'y','logprob':-1,'top_logprobs':[]}]",
        "[{'token':'y','logprob':-1,'top_logprobs':[{}]}]",
        "[{'token':'y','logprob':-1,'top_logprobs':[{'token':'y','logprob':-1}]}]",
        "[{'token':'y','logprob':1,'top_logprobs':[{'token':'z','logprob':-1}]}]",
        "[{'token':'\\ufffd','logprob':-1,'top_logprobs':[{'token':'z','logprob':-2}]}]",
    };
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        sis__llm_tokens t;
        json_t *json = load(written[i]);
        if (sis__llm_read_generated(json, "y", &t) != SIS_E_MODEL)
            fail_msg("not refused: %s", written[i]);
        json_decref(json);
    }
}

/* Valid answers with parts replaced by other values: no crash, and every score is a number. */
static void damaged_answers_give_numbers_or_errors(void **state) {
    (void)state;
    static const char *const parts[] = {"null", "-1", "0",          "1e308", "'x'",
                                        "[]",   "{}", "[0,300,-5]", "true"};
    enum { PARTS = sizeof parts / sizeof *parts };
    sis__rng r;
    sis__rng_init(&r, 1);
    for (size_t k = 0; k < rounds(4000); k++) {
        int echo = k % 2 == 0;
        const echo_case *e = &echoes[sis__rng_below(&r, sizeof echoes / sizeof *echoes)];
        const char *text =
            echo ? e->choice
                 : generated[sis__rng_below(&r, sizeof generated / sizeof *generated)].content;
        char buffer[2048];
        size_t n = strlen(text), from = sis__rng_below(&r, n),
               until = from + sis__rng_below(&r, 12);
        until = until < n ? until : n;
        snprintf(buffer, sizeof buffer, "%.*s%s%s", (int)from, text,
                 parts[sis__rng_below(&r, PARTS)], text + until);
        for (char *c = buffer; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        json_t *json = json_loads(buffer, JSON_DECODE_ANY, NULL);
        sis__llm_tokens t;
        double logprob;
        int bounded = 0, error;
        if (!json)
            continue;
        error = echo ? sis__llm_read_echo(json, e->text, 1, 6, &t)
                     : sis__llm_read_generated(json, " Oslo", &t);
        if (error == SIS_OK && (!isfinite(t.margin) || !isfinite(t.sum) || t.n == 0))
            fail_msg("margin %g, sum %g: %s", t.margin, t.sum, buffer);
        sis__llm_read_first(json, "yes", &logprob, &bounded);
        json_decref(json);
    }
}

/* ---- A whole model --------------------------------------------------------------------------- */

static FILE *server; /* its standard input, so that it ends with this process */
static char base[64];

static int start_server(void **state) {
    (void)state;
    char folder[] = "/tmp/sis-llm-XXXXXX", path[64], command[512];
    sis_model model;
    if (sis_model_open("http://x/", NULL, &model) == SIS_E_UNSUPPORTED || !mkdtemp(folder))
        return 0;
    snprintf(path, sizeof path, "%s/port", folder);
    snprintf(command, sizeof command, "exec python3 '%s/tests/model/llm_server.py' %s",
             SIS_SOURCE_DIR, path);
    server = popen(command, "we");
    for (int i = 0; server && i < 300 && !base[0]; i++) {
        unsigned port;
        FILE *f = fopen(path, "r");
        if (f && fscanf(f, "%u", &port) == 1)
            snprintf(base, sizeof base, "http://127.0.0.1:%u", port);
        if (f)
            fclose(f);
        else
            usleep(100000);
    }
    unlink(path);
    rmdir(folder);
    return 0;
}

static int end_server(void **state) {
    (void)state;
    if (server)
        pclose(server);
    return 0;
}

static const char text[] = "Tom has a dog. Mara lives in Oslo.";
static const sis_piece pieces[] = {{text, 14}, {text + 15, 19}};
static const sis_prompt prompts[] = {
    {"Context: ", "\nQuestion: Where does Mara live?\nAnswer:", pieces, 2, "Oslo", 0},
    {"Context: ", "\nQuestion: Where does Mara live?\nAnswer:", pieces, 2, NULL, 0},
};

static int use_model(void *ctx) {
    static const double rows[] = {0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1};
    double scores[4];
    void *twin = NULL;
    sis_model_opt opt;
    sis_model model;
    sis_prompt_account a;
    sis_model_opt_init(&opt);
    opt.retries = 0;
    int error = sis_model_open(ctx, &opt, &model);
    if (error == SIS_OK)
        error = sis_model_take_prompts(&model, prompts, 2);
    if (error == SIS_OK)
        error = model.predict(model.ctx, rows, 4, 3, scores);
    if (error == SIS_OK) {
        assert_true(scores[0] > 0 && scores[1] > 0 && scores[2] < 0 && scores[3] > 0);
        error = model.worker_new(model.ctx, &twin);
    }
    if (error == SIS_OK)
        error = model.predict(twin, rows, 1, 3, scores);
    if (error == SIS_OK)
        error = sis_model_account(&model, 1, &a);
    if (error == SIS_OK)
        assert_non_null(strstr(a.answer, "Oslo"));
    if (twin)
        model.worker_free(twin);
    sis_model_close(&model);
    return error;
}

static void failing_allocations_do_no_harm(void **state) {
    (void)state;
    if (!base[0])
        skip();
    static const char *const paths[] = {"v1/completions#m", "v1/chat/completions#m", "completion",
                                        "lists/v1/completions#m"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char address[128];
        snprintf(address, sizeof address, "%s/%s", base, paths[i]);
        assert_true(with_failing_allocations(use_model, address) > 10);
    }
}

/* Handles share a connection, each with its own prompts. */
static void shared_handles_have_separate_prompts(void **state) {
    (void)state;
    if (!base[0])
        skip();
    static const sis_prompt other = {
        "", "\nQuestion: Where does Ann live?\nAnswer:", pieces, 2, "Oslo", 0};
    static const double row[] = {0, 1, 1};
    char address[128];
    double score;
    sis_model model, twin;
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    snprintf(address, sizeof address, "%s/v1/completions#m", base);
    assert_int_equal(sis_model_open(address, &opt, &model), SIS_OK);
    assert_int_equal(sis_model_take_prompts(&model, prompts, 2), SIS_OK);
    assert_int_equal(sis_model_share(&model, &twin), SIS_OK);
    assert_int_equal(sis_model_take_prompts(&twin, &other, 1), SIS_OK);
    assert_int_equal(twin.predict(twin.ctx, row, 1, 3, &score), SIS_OK);
    assert_true(score < 0);
    assert_int_equal(model.predict(model.ctx, row, 1, 3, &score), SIS_OK);
    assert_true(score > 0);
    sis_model_close(&twin);
    sis_model_close(&model);
}

static double score_of(sis_task *task) {
    sis_record r;
    assert_int_equal(sis_task_explain(task, 0, &r), SIS_OK);
    return r.collection.score;
}

/* The second task is opened before the first one asks anything, and both ask in turn. */
static void tasks_on_one_model_have_their_own_prompts(void **state) {
    (void)state;
    if (!base[0])
        skip();
    static const char *const objects[] = {"{\"context\":\"Tom has a dog. Mara lives in "
                                          "Oslo.\",\"name\":\"Mara\",\"answer\":\"Oslo\"}",
                                          "{\"context\":\"Tom has a dog. Mara lives in "
                                          "Oslo.\",\"name\":\"Ann\",\"answer\":\"Oslo\"}"};
    char address[128];
    sis_model model;
    sis_task *tasks[2];
    snprintf(address, sizeof address, "%s/v1/completions#m", base);
    assert_int_equal(sis_model_open(address, NULL, &model), SIS_OK);
    for (int k = 0; k < 2; k++) {
        sis_task_opt opt;
        sis_task_opt_init(&opt);
        opt.model.opened = &model;
        opt.model.open.explain = "context";
        opt.examples.objects = objects[k];
        opt.examples.prompt_text = "Context: {context}\nQuestion: Where does {name} live?\nAnswer:";
        assert_int_equal(sis_task_open(&opt, &tasks[k]), SIS_OK);
    }
    for (int k = 0; k < 2; k++) {
        assert_true(score_of(tasks[0]) > 0);
        assert_true(score_of(tasks[1]) < 0);
    }
    sis_task_free(tasks[0]);
    sis_task_free(tasks[1]);
    sis_model_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margins_are_the_minimum_over_the_tokens_of_the_answer),
        cmocka_unit_test(generated_tokens_are_compared_up_to_the_first_difference),
        cmocka_unit_test(lists_of_tokens_are_read_as_generated),
        cmocka_unit_test(labels_add_the_tokens_that_begin_them),
        cmocka_unit_test(characters_are_counted),
        cmocka_unit_test(wrong_answers_are_refused),
        cmocka_unit_test(damaged_answers_give_numbers_or_errors),
        cmocka_unit_test(failing_allocations_do_no_harm),
        cmocka_unit_test(shared_handles_have_separate_prompts),
        cmocka_unit_test(tasks_on_one_model_have_their_own_prompts),
    };
    return cmocka_run_group_tests(tests, start_server, end_server);
}
