/* SPDX-License-Identifier: MIT
 *
 * Language models behind an address: which parts of a prompt were sufficient for an answer?
 *
 *     http://HOST/v1/completions#MODEL        returns prompt and answer with log-probabilities (echo); a
 *                                             server without echo is used like the next one
 *     http://HOST/v1/chat/completions#MODEL   the model writes its own answer, which is compared
 *     http://HOST/completion                  llama.cpp: a grammar that allows only the answer
 *
 * The first value of a row selects the prompt; the others say which parts are kept (1) or left out
 * (0). sis_model_take_prompts() sets the prompts. Opening sends one request to find out what the
 * server supports.
 *
 * The rows of a call become requests of one prompt, or of BATCH prompts if the server supports it.
 * As many connections as jobs send them. Neither the grouping of prompts nor anything in a record
 * depends on the number of connections.
 *
 * Answers are stored by request and by how often it was sent before, so that a cache file
 * (llm_cache.c) gives the same answers to a run that repeats requests.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/parallel.h"
#include "base/sha256.h"
#include "base/utf8.h"
#include "model/answer.h"
#include "model/kind.h"
#include "model/llm_cache.h"
#include "model/llm_read.h"
#include "model/web.h"

enum {
    BATCH = 32,
    BATCHES = 4,
    MAX_LABELS = 16,
    ALTERNATIVES = 5,       /* most of /v1/completions */
    CHAT_ALTERNATIVES = 20, /* some servers allow 5 */
    ANSWER_TOKENS = 48
};

static const size_t ANSWER_BYTES = (size_t)64 << 20;

typedef enum { COMPLETIONS, CHAT, LLAMA } protocol;
typedef enum { MARGIN, LOGPROB, LABEL } score_kind;

/* An earlier request and its result. */
typedef struct {
    uint64_t key;
    size_t times;
    double first; /* score */
} asked;

/* Data about a prompt. */
typedef struct {
    char *answer;  /* NULL: the model has not written it yet */
    size_t tokens; /* to request if the model writes its own answer; 0: not known */
    sis_prompt_account account;
    asked *asked; /* (n_asked) */
    size_t n_asked, room;
} state;

/* A connection, and its last answer. */
typedef struct {
    sis__web *web;
    sis__web_answer answer;
} connection;

/* Shared by all handles of a model. */
typedef struct {
    char *address, *model; /* before and after the # */
    char *labels[MAX_LABELS];
    size_t n_labels;
    protocol protocol;
    score_kind score;
    int echo, batches;
    int max_tokens;   /* of an echo: 0, or 1 where 0 is refused */
    int alternatives; /* reported with each token */
    sis__llm_cache *cache;
    pthread_mutex_t lock;    /* protects states, cache and idle connections */
    connection *connections; /* (n_connections) */
    int n_connections;
    connection **idle; /* (n_idle) */
    int n_idle;
    pthread_cond_t given_back;
    atomic_size_t users;
} endpoint;

/* The prompts of some handles. */
typedef struct {
    const sis_prompt *prompts;
    state *states; /* (n) */
    size_t n;
    atomic_size_t users;
} session;

typedef struct {
    sis__opened opened; /* first: see kind.h */
    endpoint *end;
    session *session;
} llm_model;

/* ---- Creation and release -------------------------------------------------------------------- */

static void free_states(session *s) {
    for (size_t i = 0; s->states && i < s->n; i++) {
        free(s->states[i].answer);
        free(s->states[i].asked);
    }
    free(s->states);
    s->states = NULL;
}

static void session_free(session *s) {
    if (!s || atomic_fetch_sub(&s->users, 1) > 1)
        return;
    free_states(s);
    free(s);
}

static void endpoint_free(endpoint *e) {
    if (!e || atomic_fetch_sub(&e->users, 1) > 1)
        return;
    for (int k = 0; k < e->n_connections; k++) {
        sis__web_free(e->connections[k].web);
        sis__buf_release(&e->connections[k].answer.body);
    }
    free(e->connections);
    free(e->idle);
    free(e->address);
    free(e->model);
    for (size_t k = 0; k < e->n_labels; k++)
        free(e->labels[k]);
    sis__llm_cache_close(e->cache);
    pthread_cond_destroy(&e->given_back);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

static void model_free(void *ctx) {
    llm_model *m = ctx;
    if (!m)
        return;
    session_free(m->session);
    endpoint_free(m->end);
    free(m);
}

/* A handle; s NULL: with its own prompts. */
static int model_new(endpoint *e, session *s, void **out) {
    llm_model *m = SIS_NEW(llm_model, 1);
    *out = NULL;
    s = s ? s : SIS_NEW(session, 1);
    if (!m || !s) {
        free(m);
        if (s && atomic_load(&s->users) == 0)
            free(s);
        return SIS_E_NOMEM;
    }
    m->opened.kind = &sis__model_llm;
    m->end = e;
    m->session = s;
    atomic_fetch_add(&e->users, 1);
    atomic_fetch_add(&s->users, 1);
    *out = m;
    return SIS_OK;
}

static int worker_new(void *ctx, void **worker) {
    const llm_model *m = ctx;
    return model_new(m->end, m->session, worker);
}

static int share(void *ctx, void **twin) {
    return model_new(((const llm_model *)ctx)->end, NULL, twin);
}

/* ---- Connections ----------------------------------------------------------------------------- */

static connection *take_connection(endpoint *e) {
    pthread_mutex_lock(&e->lock);
    while (e->n_idle == 0)
        pthread_cond_wait(&e->given_back, &e->lock);
    connection *c = e->idle[--e->n_idle];
    pthread_mutex_unlock(&e->lock);
    return c;
}

static void give_back(endpoint *e, connection *c) {
    pthread_mutex_lock(&e->lock);
    e->idle[e->n_idle++] = c;
    pthread_cond_signal(&e->given_back);
    pthread_mutex_unlock(&e->lock);
}

/* How many requests may be sent at once now; 1 is always allowed, but may have to wait. */
static int count_idle(endpoint *e) {
    pthread_mutex_lock(&e->lock);
    int n = e->n_idle > 0 ? e->n_idle : 1;
    pthread_mutex_unlock(&e->lock);
    return n;
}

/* ---- Prompts --------------------------------------------------------------------------------- */

static size_t count_newlines(const char *from, const char *to) {
    size_t n = 0;
    for (; from < to; from++)
        n += *from == '\n';
    return n;
}

/* The separator of two kept parts: of the gaps between them, the one with the most line ends. */
static void add_joint(sis__buf *b, const sis_prompt *p, size_t last, size_t next) {
    const char *from = NULL, *to = NULL;
    for (size_t k = last; k < next; k++) {
        const char *begin = p->parts[k].text + p->parts[k].length, *end = p->parts[k + 1].text;
        if (!from || count_newlines(begin, end) > count_newlines(from, to)) {
            from = begin;
            to = end;
        }
    }
    sis__buf_add(b, from, (size_t)(to - from));
}

/* The number at the start of a part, "[3] ...", "3. ...", and the position of its digits; 0:
 * none. */
static size_t number_of(const sis_piece *part, size_t *at, size_t *digits) {
    size_t i = part->length > 0 && strchr("[(", part->text[0]) != NULL, n = 0;
    *at = i;
    for (; i < part->length && i < *at + 6 && part->text[i] >= '0' && part->text[i] <= '9'; i++)
        n = 10 * n + (size_t)(part->text[i] - '0');
    *digits = i - *at;
    return *digits && i < part->length && strchr("]).:", part->text[i]) ? n : 0;
}

/* Are the parts numbered from 1? Then kept parts are renumbered. */
static int is_numbered(const sis_prompt *p) {
    size_t at, digits;
    for (size_t k = 0; k < p->n; k++)
        if (number_of(&p->parts[k], &at, &digits) != k + 1)
            return 0;
    return p->n > 1;
}

static void add_part(sis__buf *b, const sis_piece *part, size_t number) {
    size_t at = 0, digits = 0;
    if (number) {
        number_of(part, &at, &digits);
        sis__buf_add(b, part->text, at);
        sis__buf_printf(b, "%zu", number);
    }
    sis__buf_add(b, part->text + at + digits, part->length - at - digits);
}

/* The prompt of a row, as a person would write it without the omitted parts. */
static void add_prompt(sis__buf *b, const sis_prompt *p, const double *kept) {
    size_t last = SIZE_MAX, number = 0;
    int numbered = is_numbered(p);
    sis__buf_str(b, p->before);
    for (size_t k = 0; k < p->n; k++) {
        if (!(kept[k] > 0.5))
            continue;
        if (last != SIZE_MAX)
            add_joint(b, p, last, k);
        add_part(b, &p->parts[k], numbered ? ++number : 0);
        last = k;
    }
    while (last == SIZE_MAX && b->len > 0 && *p->after == '\n' && b->data[b->len - 1] == ' ')
        b->len--;
    sis__buf_str(b, p->after);
}

/* Does the text end with something that opens: a bracket, or a quote after a blank? */
static int is_open(const sis__buf *b) {
    char last = b->data[b->len - 1], before = ' ';
    if (b->len > 1)
        before = b->data[b->len - 2];
    return strchr("([{<", last) != NULL || (strchr("\"'`", last) && sis__is_space(before)) ||
           (b->len > 2 && memcmp(b->data + b->len - 3, "\xE2\x80\x9C", 3) == 0);
}

/* Is a blank needed between prompt and a given answer? Only in scripts with blanks between words. */
static int needs_blank(const sis__buf *prompt, const char *answer) {
    uint32_t c = 0;
    if (prompt->len == 0 || !*answer || sis__is_space(prompt->data[prompt->len - 1]) ||
        is_open(prompt))
        return 0;
    sis__utf8_step(answer, &c);
    return !sis__is_space(*answer) && c < 0x2E80 && !strchr(".,;:!?)]}", *answer);
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* One question: a text and its answer. */
typedef struct {
    state *s;
    int whole;       /* nothing is omitted */
    size_t tokens;   /* to request; 0: up to the maximal length of the answer */
    sis__buf text;   /* the prompt; with echo followed by the answer */
    char *answer;    /* as it follows the prompt */
    size_t from, to; /* with echo: character range of the answer */
    char key[SIS__SHA256_TEXT];
    size_t times;   /* number of earlier requests */
    json_t *choice; /* the result */
} question;

static void question_release(question *q) {
    sis__buf_release(&q->text);
    free(q->answer);
    json_decref(q->choice);
    *q = (question){0};
}

/* "root ::= " and the answer in quotes. */
static void add_grammar(sis__buf *b, const char *answer) {
    sis__buf rule;
    sis__buf_init(&rule);
    sis__buf_str(&rule, "root ::= \"");
    for (; *answer; answer++) {
        const char *escape = *answer == '\n'   ? "\\n"
                             : *answer == '\t' ? "\\t"
                             : *answer == '\r' ? "\\r"
                                               : NULL;
        if (escape)
            sis__buf_str(&rule, escape);
        else {
            if (*answer == '"' || *answer == '\\')
                sis__buf_char(&rule, '\\');
            sis__buf_char(&rule, *answer);
        }
    }
    sis__buf_str(&rule, "\"");
    sis__buf_add(&rule, "", 1);
    if (sis__buf_error(&rule) == SIS_OK)
        sis__buf_json(b, rule.data);
    else
        b->error = SIS_E_NOMEM;
    sis__buf_release(&rule);
}

static void add_text(sis__buf *b, const sis__buf *text) {
    sis__buf_char(b, '"');
    sis__buf_escape(b, text->data, text->len);
    sis__buf_char(b, '"');
}

/* Does the model write its own answer, which is compared? Otherwise it scores the given one. */
static int writes_itself(const endpoint *e) {
    return !e->echo && e->protocol != LLAMA && e->score != LABEL;
}

/* The number of tokens to request so that the answer is complete: as many as it had, else at most
 * its bytes. */
static size_t tokens_for(const endpoint *e, const question *q) {
    if (!q->answer)
        return ANSWER_TOKENS;
    if (e->score == LABEL && e->protocol != LLAMA)
        return 1;
    return q->tokens ? q->tokens : strlen(q->answer) + 1;
}

/* The request for n questions; more than one only with batches. */
static void write_body(const endpoint *e, question *const *list, size_t n, sis__buf *b) {
    const question *q = list[0];
    sis__buf_str(b, "{");
    if (e->model && *e->model) {
        sis__buf_str(b, "\"model\":");
        sis__buf_json(b, e->model);
        sis__buf_str(b, ",");
    }
    if (e->protocol == CHAT) {
        sis__buf_str(b, "\"messages\":[{\"role\":\"user\",\"content\":");
        add_text(b, &q->text);
        sis__buf_str(b, "}]");
    } else if (e->protocol == COMPLETIONS && e->batches) {
        sis__buf_str(b, "\"prompt\":[");
        for (size_t k = 0; k < n; k++) {
            sis__buf_str(b, k ? "," : "");
            add_text(b, &list[k]->text);
        }
        sis__buf_str(b, "]");
    } else {
        sis__buf_str(b, "\"prompt\":");
        add_text(b, &q->text);
    }
    int echo = e->echo && q->answer;
    sis__buf_str(b, ",\"temperature\":0");
    if (e->protocol == LLAMA) {
        sis__buf_printf(b, ",\"n_predict\":%zu,\"n_probs\":%d,\"cache_prompt\":false",
                        tokens_for(e, q), e->alternatives);
        if (q->answer) {
            sis__buf_str(b, ",\"grammar\":");
            add_grammar(b, q->answer);
        }
    } else {
        sis__buf_printf(b, ",\"max_tokens\":%zu", echo ? (size_t)e->max_tokens : tokens_for(e, q));
        if (e->protocol == CHAT)
            sis__buf_printf(b, ",\"logprobs\":true,\"top_logprobs\":%d", e->alternatives);
        else
            sis__buf_printf(b, ",\"logprobs\":%d,\"echo\":%s", e->alternatives,
                            echo ? "true" : "false");
    }
    sis__buf_str(b, "}");
}

/* ---- One request ----------------------------------------------------------------------------- */

static int fail_status(const connection *c) {
    const sis__web_answer *a = &c->answer;
    char reason[SIS__REASON];
    const char *hint = a->status == 401 || a->status == 403
                           ? " (give the key by --token FILE or $OPENAI_API_KEY)"
                       : a->status == 404 ? " (are the address and the model's name right?)"
                                          : "";
    char again[80] = "";
    if (a->wait > 0 && a->attempts == 1)
        sis__format(again, sizeof again, " (the server asks to wait %.0f s)", a->wait);
    else if (a->attempts > 1)
        sis__format(again, sizeof again, " (tried %d times)", a->attempts);
    sis__answer_reason(c->web, a, reason);
    return sis__fail(SIS_E_MODEL, "HTTP %ld%s%s: %s", a->status, again, hint,
                     a->body.len ? reason : "no message");
}

/* POST a body; *json is the answer, or NULL for a status other than 200. */
static int post(const endpoint *e, connection *c, const sis__buf *body, json_t **json) {
    const sis__web_request q = {.url = e->address,
                                .body = body->data,
                                .length = body->len,
                                .max = ANSWER_BYTES,
                                .repeat_500 = 1};
    *json = NULL;
    int error = sis__buf_error(body);
    if (error == SIS_OK)
        error = sis__answer_ask(c->web, &q, &c->answer, "a JSON object", json);
    if (!*json || !sis__web_tells(c->web, c->answer.body.data))
        return error;
    json_decref(*json); /* it would reach records and the cache */
    *json = NULL;
    return sis__fail(SIS_E_MODEL, "the server's answer contains the key");
}

static size_t count_of(const json_t *object, const char *name) {
    json_int_t n = json_integer_value(json_object_get(object, name));
    return n > 0 ? (size_t)n : 0;
}

static void count_request(endpoint *e, state *s, const json_t *json) {
    const json_t *usage = json_object_get(json, "usage");
    if (!s)
        return;
    pthread_mutex_lock(&e->lock);
    s->account.requests++;
    s->account.prompt_tokens +=
        usage ? count_of(usage, "prompt_tokens") : count_of(json, "tokens_evaluated");
    s->account.completion_tokens +=
        usage ? count_of(usage, "completion_tokens") : count_of(json, "tokens_predicted");
    pthread_mutex_unlock(&e->lock);
}

/* A choice with lists of tokens (OpenAI, vLLM) gets them in the form of chat, too. */
static int list_tokens(const endpoint *e, json_t *choice) {
    json_t *l = json_object_get(choice, "logprobs");
    if (e->protocol != COMPLETIONS || e->echo || json_object_get(l, "content") ||
        !json_is_array(json_object_get(l, "tokens")))
        return SIS_OK;
    json_t *content = sis__llm_list_tokens(l);
    return content && json_object_set_new(l, "content", content) == 0 ? SIS_OK : SIS_E_NOMEM;
}

/* Assign choices to questions by "index"; llama.cpp answers one question with one object. */
static int share_out(const endpoint *e, json_t *json, question **list, size_t n) {
    json_t *choices = json_object_get(json, "choices"), *choice;
    size_t i;
    if (e->protocol == LLAMA) {
        list[0]->choice = json_incref(json);
        return SIS_OK;
    }
    json_array_foreach(choices, i, choice) {
        const json_t *index = json_object_get(choice, "index");
        size_t at = json_is_integer(index) ? (size_t)json_integer_value(index) : i;
        if (at < n && !list[at]->choice)
            list[at]->choice = json_incref(choice);
    }
    for (i = 0; i < n; i++)
        if (list[i]->choice && list_tokens(e, list[i]->choice) != SIS_OK)
            return SIS_E_NOMEM;
        else if (!list[i]->choice)
            return json_array_size(choices) < n
                       ? sis__fail(SIS_E_MODEL, "expected %zu choice%s, found %zu", n,
                                   n > 1 ? "s" : "", json_array_size(choices))
                       : sis__fail(SIS_E_MODEL, "no choice has the index %zu", i);
    return SIS_OK;
}

/* Send n questions in one request. */
static int ask_server(endpoint *e, question **list, size_t n) {
    sis__buf body;
    json_t *json = NULL;
    sis__buf_init(&body);
    write_body(e, list, n, &body);
    connection *c = take_connection(e);
    int error = post(e, c, &body, &json);
    if (error == SIS_OK && !json)
        error = fail_status(c);
    give_back(e, c);
    if (error == SIS_OK) {
        count_request(e, list[0]->s, json);
        error = share_out(e, json, list, n);
    }
    json_decref(json);
    sis__buf_release(&body);
    return error == SIS_OK ? error : sis__fail_in(error, "model %.200s", e->address);
}

/* ---- Known examples -------------------------------------------------------------------------- */

/* The first 64 bits of the digest. */
static uint64_t key_of(const question *q) {
    uint64_t key = 0;
    for (int i = 0; i < 16; i++)
        key = key * 16 + (uint64_t)(q->key[i] <= '9' ? q->key[i] - '0' : q->key[i] - 'a' + 10);
    return key;
}

static asked *find_asked(state *s, uint64_t key) {
    for (size_t i = 0; i < s->n_asked; i++)
        if (s->asked[i].key == key)
            return &s->asked[i];
    if (sis__reserve(&s->asked, &s->room, s->n_asked + 1, sizeof *s->asked) != SIS_OK)
        return NULL;
    s->asked[s->n_asked] = (asked){.key = key, .first = NAN};
    return &s->asked[s->n_asked++];
}

/* The key of a question, and how often it was asked before in this run. */
static int find_key(endpoint *e, question *q) {
    sis__buf body;
    sis__sha256 sum;
    sis__buf_init(&body);
    write_body(e, &q, 1, &body);
    int error = sis__buf_error(&body);
    sis__sha256_init(&sum);
    sis__sha256_add(&sum, e->address, strlen(e->address) + 1);
    if (error == SIS_OK)
        sis__sha256_add(&sum, body.data, body.len);
    sis__sha256_text(&sum, q->key);
    sis__buf_release(&body);
    pthread_mutex_lock(&e->lock);
    asked *a = error == SIS_OK ? find_asked(q->s, key_of(q)) : NULL;
    if (error == SIS_OK && !a)
        error = SIS_E_NOMEM;
    if (error == SIS_OK) {
        q->times = a->times++;
        error = sis__llm_cache_get(e->cache, q->key, q->times, &q->choice);
    }
    pthread_mutex_unlock(&e->lock);
    return error;
}

/* Questions that the cache does not answer, divided into requests. */
typedef struct {
    endpoint *end;
    question **list; /* (n) */
    size_t n, each;  /* each: number per request */
} requests;

/* Answers that were paid for are kept even if another request fails. */
static int ask_one(void *ctx, size_t item, int worker) {
    const requests *r = ctx;
    question **list = r->list + item * r->each;
    size_t left = r->n - item * r->each, n = left < r->each ? left : r->each;
    int error = ask_server(r->end, list, n);
    pthread_mutex_lock(&r->end->lock);
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        error = sis__llm_cache_put(r->end->cache, list[k]->key, list[k]->times, list[k]->choice);
    pthread_mutex_unlock(&r->end->lock);
    (void)worker;
    return error;
}

/* Ask the questions that the cache does not answer, in as few requests as the server allows. */
static int ask_all(endpoint *e, question *q, size_t n) {
    requests r = {.end = e, .list = SIS_NEW(question *, n), .each = e->batches ? BATCH : 1};
    int error = r.list ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < n && error == SIS_OK; i++) {
        if (q[i].choice)
            continue;
        error = find_key(e, &q[i]);
        if (!q[i].choice)
            r.list[r.n++] = &q[i];
    }
    size_t items = (r.n + r.each - 1) / r.each;
    int jobs = items > 1 ? count_idle(e) : 1;
    if (error == SIS_OK)
        error = sis__parallel((size_t)jobs < items ? jobs : (int)items, items, ask_one, &r);
    free(r.list);
    return error;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Generated tokens with their alternatives, in any of the known places. */
static const json_t *content_of(const endpoint *e, const json_t *choice) {
    return e->protocol == LLAMA ? json_object_get(choice, "completion_probabilities")
                                : json_object_get(json_object_get(choice, "logprobs"), "content");
}

static const char *text_of(const endpoint *e, const json_t *choice) {
    const json_t *text = e->protocol == LLAMA ? json_object_get(choice, "content")
                         : e->protocol == CHAT
                             ? json_object_get(json_object_get(choice, "message"), "content")
                             : json_object_get(choice, "text");
    return json_string_value(text);
}

static int read_tokens(const endpoint *e, const question *q, sis__llm_tokens *out) {
    *out = (sis__llm_tokens){0};
    if (e->echo)
        return sis__llm_read_echo(q->choice, q->text.data, q->from, q->to, out);
    if (e->score == LABEL && e->protocol != LLAMA)
        return sis__llm_read_first(content_of(e, q->choice), q->answer, &out->sum, &out->bounded);
    return sis__llm_read_generated(content_of(e, q->choice), q->answer, out);
}

/* The probability of the first label among all of them. */
static double first_of(const double *logprobs, size_t n) {
    double top = logprobs[0], sum = 0;
    for (size_t k = 1; k < n; k++)
        top = fmax(top, logprobs[k]);
    for (size_t k = 0; k < n; k++)
        sum += exp(logprobs[k] - top);
    return exp(logprobs[0] - top) / sum;
}

/* The score of a row from its questions (n). */
static int score_row(endpoint *e, const question *q, size_t n, double *score) {
    double logprobs[MAX_LABELS] = {0};
    sis__llm_tokens t;
    int error = SIS_OK, bounded = 0;
    for (size_t k = 0; k < n && error == SIS_OK; k++) {
        error = read_tokens(e, &q[k], &t);
        logprobs[k] = t.sum;
        bounded |= t.bounded;
    }
    if (error != SIS_OK)
        return sis__fail_in(error, "model %.200s", e->address);
    *score = e->score == LABEL    ? first_of(logprobs, n)
             : e->score == MARGIN ? t.margin
                                  : t.sum / (double)t.n;
    pthread_mutex_lock(&e->lock);
    state *s = q->s;
    s->account.bounded |= bounded;
    if (writes_itself(e) && q->whole && s->tokens == 0) /* one more: a blank may come first */
        s->tokens = t.margin >= 0 ? t.n + 1 : tokens_for(e, q);
    asked *a = find_asked(s, key_of(q));
    if (a && isnan(a->first))
        a->first = *score;
    else if (a)
        s->account.noise = fmax(s->account.noise, fabs(*score - a->first));
    pthread_mutex_unlock(&e->lock);
    return SIS_OK;
}

/* ---- The model's own answer ------------------------------------------------------------------ */

static const char *skip_blanks(const char *text) {
    while (sis__is_space(*text))
        text++;
    return text;
}

/* Its first line that is not blank, without trailing blanks. */
static char *first_line(const char *text) {
    size_t begin = 0, end;
    while (text[begin] && sis__is_space(text[begin]))
        begin++;
    end = begin + strcspn(text + begin, "\n");
    while (begin > 0 && text[begin - 1] == ' ')
        begin--;
    while (end > begin && sis__is_space(text[end - 1]))
        end--;
    return sis__strndup(text + begin, end - begin);
}

static int find_answer(const llm_model *m, size_t number, state *s) {
    endpoint *e = m->end;
    const sis_prompt *p = &m->session->prompts[number];
    question q = {.s = s};
    double *all = SIS_NEW(double, p->n + 1);
    for (size_t k = 0; all && k < p->n; k++)
        all[k] = 1;
    int error = all ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK) {
        add_prompt(&q.text, p, all);
        error = sis__buf_error(&q.text);
    }
    if (error == SIS_OK)
        error = ask_all(e, &q, 1);
    const char *text = error == SIS_OK ? text_of(e, q.choice) : NULL;
    char *line = text ? first_line(text) : NULL;
    if (text && !line)
        error = SIS_E_NOMEM;
    if (error == SIS_OK && (!line || !*skip_blanks(line)))
        error = sis__fail(SIS_E_MODEL,
                          "model %.200s: the answer to the whole prompt is empty; give an answer "
                          "in the field \"answer\" or with --answer",
                          e->address);
    pthread_mutex_lock(&e->lock);
    if (error == SIS_OK && !s->answer) {
        s->answer = line;
        line = NULL;
    }
    pthread_mutex_unlock(&e->lock);
    free(line);
    free(all);
    question_release(&q);
    return error;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int is_whole(const sis_prompt *p, const double *row) {
    for (size_t k = 0; k < p->n; k++)
        if (!(row[k + 1] > 0.5))
            return 0;
    return 1;
}

/* A question about a row: the prompt, and the answer after it. */
static int write_question(const llm_model *m, const double *row, const char *answer, question *q) {
    const endpoint *e = m->end;
    size_t number = (size_t)row[0];
    const sis_prompt *p = &m->session->prompts[number];
    q->s = &m->session->states[number];
    q->whole = is_whole(p, row);
    q->tokens = writes_itself(e) && !q->whole ? q->s->tokens : 0;
    add_prompt(&q->text, p, row + 1);
    int own = e->score != LABEL && (!p->answer || p->own); /* as the model wrote it */
    int blank = e->protocol != CHAT && !own && needs_blank(&q->text, answer);
    answer = e->protocol == CHAT ? skip_blanks(answer) : answer;
    size_t n = strlen(answer);
    q->answer = SIS_NEW(char, n + 2);
    if (!q->answer)
        return SIS_E_NOMEM;
    q->answer[0] = ' ';
    memcpy(q->answer + blank, answer, n + 1);
    if (!e->echo)
        return sis__buf_error(&q->text);
    sis__buf_add(&q->text, "", 1);
    if (sis__buf_error(&q->text) != SIS_OK)
        return SIS_E_NOMEM;
    q->text.len--;
    q->from = sis__llm_characters(q->text.data) + (size_t)blank;
    sis__buf_str(&q->text, q->answer);
    sis__buf_add(&q->text, "", 1);
    if (sis__buf_error(&q->text) != SIS_OK)
        return SIS_E_NOMEM;
    q->text.len--;
    q->to = sis__llm_characters(q->text.data);
    return SIS_OK;
}

static int check_row(const llm_model *m, const double *row, size_t n_values) {
    const session *s = m->session;
    if (!s->prompts)
        return sis__fail(SIS_E_ARGUMENT,
                         "model %.200s: a language model needs --prompt FILE and --explain FIELD",
                         m->end->address);
    if (!(row[0] >= 0 && row[0] < (double)s->n) || s->prompts[(size_t)row[0]].n + 1 != n_values)
        return sis__fail(SIS_E_ARGUMENT, "no prompt has a row of %zu values", n_values);
    return SIS_OK;
}

/* The answer of a row's prompt, given or found. */
static int answer_for(const llm_model *m, size_t number, const char **answer) {
    state *s = &m->session->states[number];
    *answer = m->session->prompts[number].answer;
    if (*answer)
        return SIS_OK;
    pthread_mutex_lock(&m->end->lock);
    *answer = s->answer;
    pthread_mutex_unlock(&m->end->lock);
    int error = *answer ? SIS_OK : find_answer(m, number, s);
    *answer = s->answer;
    return error;
}

/* The questions of a row: one, or one per label. */
static int write_questions(const llm_model *m, const double *row, question *q) {
    const endpoint *e = m->end;
    const char *answer;
    int error = SIS_OK;
    if (e->score != LABEL) {
        error = answer_for(m, (size_t)row[0], &answer);
        return error == SIS_OK ? write_question(m, row, answer, q) : error;
    }
    for (size_t k = 0; k < e->n_labels && error == SIS_OK; k++)
        error = write_question(m, row, e->labels[k], &q[k]);
    return error;
}

/* Did the model write all requested tokens, all of them a prefix of the answer? */
static int is_cut(const endpoint *e, const question *q) {
    sis__llm_tokens t;
    return writes_itself(e) && q->tokens &&
           json_array_size(content_of(e, q->choice)) >= q->tokens &&
           read_tokens(e, q, &t) == SIS_OK && t.unfinished;
}

/* Scores of rows about prompts whose answer lengths are known. */
static int score_rows(const llm_model *m, const double *rows, size_t n, size_t n_values,
                      double *scores) {
    endpoint *e = m->end;
    size_t each = e->score == LABEL ? e->n_labels : 1;
    question *q = SIS_NEW(question, n * each);
    int error = q ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < n && error == SIS_OK; i++)
        error = write_questions(m, rows + i * n_values, q + i * each);
    if (error == SIS_OK)
        error = ask_all(e, q, n * each);
    for (size_t i = 0; i < n * each && error == SIS_OK; i++)
        if (is_cut(e, &q[i])) {
            json_decref(q[i].choice);
            q[i].choice = NULL;
            q[i].tokens = 0;
        }
    if (error == SIS_OK)
        error = ask_all(e, q, n * each);
    for (size_t i = 0; i < n && error == SIS_OK; i++)
        error = score_row(e, q + i * each, each, &scores[i]);
    for (size_t i = 0; q && i < n * each; i++)
        question_release(&q[i]);
    free(q);
    return error;
}

/* If the model writes its own answer, the whole prompt is asked first: its answer gives the number
 * of tokens to request. */
static int find_length(const llm_model *m, size_t number) {
    const session *s = m->session;
    size_t n = s->prompts[number].n;
    double score, *row;
    if (!writes_itself(m->end) || s->states[number].tokens)
        return SIS_OK;
    row = SIS_NEW(double, n + 1);
    if (!row)
        return SIS_E_NOMEM;
    row[0] = (double)number;
    for (size_t k = 1; k <= n; k++)
        row[k] = 1;
    int error = score_rows(m, row, 1, n + 1, &score);
    free(row);
    return error;
}

static int predict(void *ctx, const double *rows, size_t n, size_t n_values, double *scores) {
    const llm_model *m = ctx;
    int error = SIS_OK;
    for (size_t i = 0; i < n && error == SIS_OK; i++) {
        const double *row = rows + i * n_values;
        error = check_row(m, row, n_values);
        if (error == SIS_OK && (n > 1 || !is_whole(&m->session->prompts[(size_t)row[0]], row)))
            error = find_length(m, (size_t)row[0]);
    }
    return error == SIS_OK ? score_rows(m, rows, n, n_values, scores) : error;
}

static int take_prompts(void *ctx, const sis_prompt *prompts, size_t n) {
    session *s = ((llm_model *)ctx)->session;
    state *states = SIS_NEW(state, n);
    if (!states)
        return SIS_E_NOMEM;
    free_states(s);
    s->prompts = prompts;
    s->n = n;
    s->states = states;
    return SIS_OK;
}

static int account(void *ctx, size_t prompt, sis_prompt_account *out) {
    const llm_model *m = ctx;
    const session *s = m->session;
    if (prompt >= s->n)
        return sis__fail(SIS_E_ARGUMENT, "no prompt %zu", prompt);
    pthread_mutex_lock(&m->end->lock);
    *out = s->states[prompt].account;
    out->own = !s->prompts[prompt].answer || s->prompts[prompt].own;
    out->answer = s->prompts[prompt].answer ? s->prompts[prompt].answer : s->states[prompt].answer;
    pthread_mutex_unlock(&m->end->lock);
    return SIS_OK;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static const char *const paths[] = {
    [COMPLETIONS] = "/v1/completions", [CHAT] = "/v1/chat/completions", [LLAMA] = "/completion"};

static int find_protocol(const char *address, protocol *out) {
    size_t n = strcspn(address, "#");
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        size_t length = strlen(paths[k]);
        if (n > length && strncmp(address + n - length, paths[k], length) == 0) {
            *out = (protocol)k;
            return 1;
        }
    }
    return 0;
}

int sis__llm_is_address(const char *spec) {
    protocol p;
    return find_protocol(spec, &p);
}

/* "margin", "logprob" or "label:yes,no". */
static int read_score(endpoint *e, const char *text) {
    if (!text || strcmp(text, "margin") == 0 || strcmp(text, "logprob") == 0) {
        e->score = text && *text == 'l' ? LOGPROB : MARGIN;
        return SIS_OK;
    }
    e->score = LABEL;
    for (text = strncmp(text, "label:", 6) == 0 ? text + 6 : ""; *text; text += *text == ',') {
        size_t n = strcspn(text, ",");
        if (n == 0 || e->n_labels == MAX_LABELS)
            break;
        if (!(e->labels[e->n_labels] = sis__strndup(text, n)))
            return SIS_E_NOMEM;
        e->n_labels++;
        text += n;
    }
    return e->n_labels >= 2 && !*text
               ? SIS_OK
               : sis__fail(SIS_E_ARGUMENT,
                           "--score: expected margin, logprob or label:A,B with 2 to %d labels",
                           MAX_LABELS);
}

/* Split the address and the model name after #. */
static int read_address(endpoint *e, const char *spec) {
    const char *mark = strchr(spec, '#');
    e->address = sis__strdup(spec);
    e->model = sis__strdup(mark ? mark + 1 : "");
    if (!e->address || !e->model)
        return SIS_E_NOMEM;
    e->address[strcspn(e->address, "#")] = '\0';
    find_protocol(e->address, &e->protocol);
    return SIS_OK;
}

static const char probe_text[] = "The sky is blue";

/* Ask about a short text; *json NULL: refused. */
static int probe(const endpoint *e, connection *c, json_t **json) {
    question q = {.answer = sis__strdup(" blue")}, *list = &q;
    sis__buf body;
    sis__buf_init(&body);
    sis__buf_str(&q.text, probe_text);
    int error = q.answer ? sis__buf_error(&q.text) : SIS_E_NOMEM;
    if (error == SIS_OK) {
        write_body(e, &list, 1, &body);
        error = post(e, c, &body, json);
    }
    sis__buf_release(&body);
    question_release(&q);
    return error;
}

/* Did the prompt come back with its tokens? */
static int has_echo(const json_t *choice) {
    const char *text = json_string_value(json_object_get(choice, "text"));
    const json_t *l = json_object_get(choice, "logprobs");
    return text && strncmp(text, probe_text, strlen(probe_text)) == 0 &&
           json_array_size(json_object_get(l, "text_offset")) > 1 &&
           json_array_size(json_object_get(l, "top_logprobs")) > 1;
}

/* Find out what the server supports, with one request; with a few if it refuses the first or has no
 * echo. */
static int ask_abilities(endpoint *e, connection *c) {
    static const struct {
        protocol protocol;
        int echo, max_tokens, batches, alternatives;
    } attempts[] = {
        {COMPLETIONS, 1, 0, 1, ALTERNATIVES}, {COMPLETIONS, 1, 1, 1, ALTERNATIVES},
        {COMPLETIONS, 1, 1, 0, ALTERNATIVES}, {COMPLETIONS, 0, 1, 1, ALTERNATIVES},
        {COMPLETIONS, 0, 1, 0, ALTERNATIVES}, {CHAT, 0, 0, 0, CHAT_ALTERNATIVES},
        {CHAT, 0, 0, 0, ALTERNATIVES},        {LLAMA, 0, 0, 0, ALTERNATIVES},
    };
    json_t *json = NULL;
    int error = SIS_OK, refused = 1;
    for (size_t k = 0; k < sizeof attempts / sizeof *attempts && error == SIS_OK && refused; k++) {
        if (attempts[k].protocol != e->protocol)
            continue;
        e->echo = attempts[k].echo;
        e->max_tokens = attempts[k].max_tokens;
        e->batches = attempts[k].batches;
        e->alternatives = attempts[k].alternatives;
        error = probe(e, c, &json);
        refused = !json && (c->answer.status == 400 || c->answer.status == 422);
    }
    if (error == SIS_OK && json && e->echo &&
        !has_echo(json_array_get(json_object_get(json, "choices"), 0))) {
        json_decref(json);
        e->echo = 0;
        error = probe(e, c, &json);
    }
    if (error == SIS_OK && !json)
        error = fail_status(c);
    json_t *choice =
        e->protocol == LLAMA ? json : json_array_get(json_object_get(json, "choices"), 0);
    if (error == SIS_OK)
        error = list_tokens(e, choice);
    if (error == SIS_OK && !e->echo && !json_is_array(content_of(e, choice)))
        error =
            sis__fail(SIS_E_UNSUPPORTED,
                      "the server reports no log-probabilities (logprobs); use a server that does");
    json_decref(json);
    return error;
}

/* The cache key of the server's abilities. */
static void abilities_key(const endpoint *e, char key[SIS__SHA256_TEXT]) {
    sis__sha256 sum;
    sis__sha256_init(&sum);
    sis__sha256_add(&sum, "abilities 2", 12);
    sis__sha256_add(&sum, e->address, strlen(e->address) + 1);
    sis__sha256_add(&sum, e->model, strlen(e->model) + 1);
    sis__sha256_text(&sum, key);
}

/* Abilities are cached with the answers, so that a run with cached answers sends nothing. */
static int find_out(endpoint *e) {
    char key[SIS__SHA256_TEXT];
    json_t *known = NULL;
    abilities_key(e, key);
    int error = sis__llm_cache_get(e->cache, key, 0, &known);
    if (error == SIS_OK && known) {
        e->echo = json_is_true(json_object_get(known, "echo"));
        e->batches = json_is_true(json_object_get(known, "batches"));
        e->max_tokens = json_is_true(json_object_get(known, "writes_one"));
        e->alternatives = (int)count_of(known, "alternatives");
    } else if (error == SIS_OK) {
        error = ask_abilities(e, &e->connections[0]);
        if (error == SIS_OK && e->cache)
            known = json_pack("{s:b,s:b,s:b,s:i}", "echo", e->echo, "batches", e->batches,
                              "writes_one", e->max_tokens, "alternatives", e->alternatives);
        if (error == SIS_OK && e->cache)
            error = known ? sis__llm_cache_put(e->cache, key, 0, known) : SIS_E_NOMEM;
    }
    json_decref(known);
    return error == SIS_OK ? error : sis__fail_in(error, "model %.200s", e->address);
}

static int describe(const void *ctx, char **text) {
    const endpoint *e = ((const llm_model *)ctx)->end;
    sis__buf b;
    size_t n;
    sis__buf_init(&b);
    sis__buf_printf(&b, "language model %s\n", *e->model ? e->model : "(the server's own)");
    sis__buf_printf(&b, "  protocol     %s\n", paths[e->protocol]);
    sis__buf_printf(&b, "  answers      %s\n",
                    e->echo ? "any, exactly: prompt and answer come back with log-probabilities"
                    : e->protocol == LLAMA ? "any, exactly: forced by a grammar"
                                           : "compared with the model's own, token by token");
    sis__buf_printf(&b, "  prompts      %s\n",
                    e->batches ? "several in a request" : "one a request");
    sis__buf_printf(&b, "  alternatives %d for each token\n", e->alternatives);
    sis__buf_char(&b, '\0');
    return sis__buf_give(&b, text, &n);
}

static int endpoint_new(const char *spec, const sis_model_opt *opt, endpoint **out) {
    endpoint *e = *out = SIS_NEW(endpoint, 1);
    if (!e)
        return SIS_E_NOMEM;
    pthread_mutex_init(&e->lock, NULL);
    pthread_cond_init(&e->given_back, NULL);
    int error = read_address(e, spec);
    if (error == SIS_OK)
        error = read_score(e, opt->score);
    if (error == SIS_OK && opt->cache)
        error = sis__llm_cache_open(opt->cache, &e->cache);
    return error;
}

/* May the key of the environment be sent there: https, or this machine? */
static int may_send_key(const char *address) {
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *host = strstr(address, "://") + 3;
    size_t n = *host == '[' ? strcspn(host, "/") : strcspn(host, ":/");
    if (strncmp(address, "https:", 6) == 0)
        return 1;
    for (size_t k = 0; k < sizeof hosts / sizeof *hosts; k++) {
        size_t length = strlen(hosts[k]);
        if (n >= length && strncmp(host, hosts[k], length) == 0 &&
            (n == length || host[length] == ':'))
            return 1;
    }
    return 0;
}

static int use_key(const endpoint *e, sis__web *web, const sis_model_opt *opt) {
    const char *key = getenv("OPENAI_API_KEY");
    return !opt->token && key && *key && may_send_key(e->address)
               ? sis__web_set_token(web, "$OPENAI_API_KEY", key)
               : SIS_OK;
}

/* Connections are opened when they are first needed. */
static int connect_all(endpoint *e, const sis_model_opt *opt) {
    int jobs = opt->jobs > 0 ? opt->jobs : sis__cores();
    e->connections = SIS_NEW(connection, (size_t)jobs);
    e->idle = SIS_NEW(connection *, (size_t)jobs);
    int error = e->connections && e->idle ? SIS_OK : SIS_E_NOMEM;
    for (int k = 0; k < jobs && error == SIS_OK; k++) {
        connection *c = &e->connections[k];
        error = k ? sis__web_clone(e->connections[0].web, &c->web) : sis__web_new(opt, &c->web);
        e->n_connections = k + (error == SIS_OK);
        if (error == SIS_OK && k == 0)
            error = use_key(e, c->web, opt);
        if (error == SIS_OK)
            e->idle[e->n_idle++] = c;
    }
    return error;
}

static int llm_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    endpoint *e;
    void *m = NULL;
    int error = endpoint_new(spec, opt, &e);
    if (error == SIS_OK)
        error = connect_all(e, opt);
    if (error == SIS_OK)
        error = find_out(e);
    if (error == SIS_OK)
        error = model_new(e, NULL, &m);
    if (error != SIS_OK) {
        endpoint_free(e);
        return error;
    }
    *out = (sis_model){.size = sizeof *out,
                       .predict = predict,
                       .ctx = m,
                       .n_outputs = 1,
                       .max_rows = e->batches ? BATCHES * BATCH : BATCH,
                       .noisy = 1,
                       .worker_new = worker_new,
                       .worker_free = model_free};
    return SIS_OK;
}

const sis__model_kind sis__model_llm = {
    .open = llm_open,
    .predict = predict,
    .take_prompts = take_prompts,
    .account = account,
    .share = share,
    .close = model_free,
    .describe = describe,
};
