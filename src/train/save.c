/* SPDX-License-Identifier: MIT
 *
 * Checkpoints. A file is
 *
 *     "SISTRAIN" and the version, 8 bytes each
 *     a description of the training: its length in 8 bytes, then one line of text (see describe)
 *     epoch, done, step, best epoch        8 bytes each
 *     loss_sum, seconds                    doubles
 *     the learning curve                   epoch records
 *     weights, optimizer slots, best weights, as floats
 *     a checksum of everything before it
 *
 * in native byte order: a checkpoint is for the machine that wrote it. It is written to FILE.part
 * and then renamed, so that there is always one complete checkpoint.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/replace.h"
#include "train/train.h"

static const char magic[8] = "SISTRAIN";
enum { VERSION = 1 };

/* A 64-bit checksum (FNV-1a over words, then bytes). */
static uint64_t digest(uint64_t h, const void *bytes, size_t n) {
    const unsigned char *p = (const unsigned char *)bytes;
    for (; n >= 8; p += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x100000001b3u;
        h ^= h >> 32;
    }
    for (; n; p++, n--)
        h = (h ^ *p) * 0x100000001b3u;
    return h;
}

static uint64_t digest_examples(const sis_trainer *t, const sis_examples *e) {
    size_t per = t->opt.loss == SIS_LOSS_CROSS_ENTROPY ? 1 : t->arch.outputs;
    uint64_t h = digest(0xcbf29ce484222325u, &e->n, sizeof e->n);
    h = digest(h, e->rows, e->n * e->n_values * sizeof *e->rows);
    return digest(h, e->targets, e->n * per * sizeof *e->targets);
}

/* Everything that determines the course of a training. */
static void describe(const sis_trainer *t, sis__buf *b) {
    const sis_arch *a = &t->arch;
    const sis_train_opt *o = &t->opt;
    sis__buf_printf(b, "%s in %zu out %zu words %zu dim %zu hidden %zu filters %zu width %zu",
                    a->name, a->inputs, a->outputs, a->words, a->dim, a->hidden, a->filters,
                    a->width);
    sis__buf_printf(b, " dense %zu dropout %.17g %.17g plain %d standard %d", a->dense,
                    a->dropout[0], a->dropout[1], a->plain_output, a->standardize);
    sis__buf_printf(b, " loss %d optimizer %d rate %.17g momentum %.17g beta2 %.17g epsilon %.17g",
                    (int)o->loss, (int)o->optimizer, o->rate, o->momentum, o->beta2, o->epsilon);
    sis__buf_printf(b, " batch %zu seed %llu full %d train %016llx valid %016llx", o->batch,
                    (unsigned long long)o->seed, o->full_rows,
                    (unsigned long long)digest_examples(t, t->train),
                    t->valid ? (unsigned long long)digest_examples(t, t->valid) : 0ull);
}

/* ---- Writing and reading with a running checksum --------------------------------------------- */

typedef struct {
    FILE *f;
    uint64_t sum;
    int writing, bad;
} stream;

static void pass(stream *s, void *bytes, size_t n) {
    if (s->bad || n == 0)
        return;
    s->bad = s->writing ? fwrite(bytes, 1, n, s->f) != n : fread(bytes, 1, n, s->f) != n;
    if (!s->bad)
        s->sum = digest(s->sum, bytes, n);
}

static void pass_count(stream *s, size_t *v) {
    uint64_t word = *v;
    pass(s, &word, sizeof word);
    *v = (size_t)word;
}

/* The weights and everything that belongs to them. */
static void pass_arrays(stream *s, sis_trainer *t) {
    for (size_t i = 0; i < t->weights.n_params; i++)
        pass(s, t->weights.params[i].w, t->weights.params[i].count * sizeof(float));
    for (size_t i = 0; i < sis__optimizer_slots(&t->opt); i++)
        pass(s, t->weights.slots[i], t->weights.n_all * sizeof(float));
    pass(s, t->weights.best, t->weights.n_all * sizeof(float));
}

/* ---- Save ------------------------------------------------------------------------------------ */

static void save_all(stream *s, sis_trainer *t, sis__buf *what) {
    char head[8];
    size_t version = VERSION, length = what->len;
    memcpy(head, magic, sizeof head);
    pass(s, head, sizeof head);
    pass_count(s, &version);
    pass_count(s, &length);
    pass(s, what->data, what->len);
    pass_count(s, &t->at.epoch);
    pass_count(s, &t->at.done);
    pass_count(s, &t->at.step);
    pass_count(s, &t->at.best_epoch);
    pass(s, &t->at.loss_sum, sizeof t->at.loss_sum);
    pass(s, &t->at.seconds, sizeof t->at.seconds);
    pass(s, t->at.curve, t->at.epoch * sizeof *t->at.curve);
    pass_arrays(s, t);
    uint64_t sum = s->sum;
    pass(s, &sum, sizeof sum);
}

static int fail_write(const char *path) {
    return sis__fail(SIS_E_IO, "cannot write %s: %s", path,
                     errno ? strerror(errno) : "is the disk full?");
}

int sis_trainer_save(const sis_trainer *t, const char *path) {
    sis__buf what;
    sis__replacement r = {0};
    stream s = {.sum = 0xcbf29ce484222325u, .writing = 1};
    sis__buf_init(&what);
    describe(t, &what);
    int error = sis__buf_error(&what);
    if (!error)
        error = sis__replace_begin(&r, path);
    if (!error) {
        s.f = r.file;
        errno = 0;
        save_all(&s, (sis_trainer *)(uintptr_t)t, &what); /* saving does not change t */
        error = s.bad ? fail_write(path) : SIS_OK;
    }
    error = sis__replace_end(&r, error);
    sis__buf_release(&what);
    return error;
}

/* ---- Load ------------------------------------------------------------------------------------ */

/* Read and check everything before the arrays. */
static int load_head(stream *s, sis_trainer *t, const sis__buf *what, const char *path) {
    char head[8] = "";
    size_t version = 0, length = 0;
    pass(s, head, sizeof head);
    pass_count(s, &version);
    pass_count(s, &length);
    if (s->bad || memcmp(head, magic, sizeof head) != 0 || version != VERSION)
        return sis__fail(SIS_E_FORMAT, "%s: not a checkpoint; leave out --resume to start over",
                         path);
    char *found = length == what->len ? SIS_NEW(char, length + 1) : NULL;
    if (length == what->len && !found)
        return SIS_E_NOMEM;
    if (found)
        pass(s, found, length);
    int same = found && !s->bad && memcmp(found, what->data, length) == 0;
    free(found);
    if (!same)
        return sis__fail(SIS_E_FORMAT,
                         "%s is the checkpoint of another run: architecture, options, "
                         "seed or data differ",
                         path);
    size_t epoch = 0;
    pass_count(s, &epoch);
    pass_count(s, &t->at.done);
    pass_count(s, &t->at.step);
    pass_count(s, &t->at.best_epoch);
    pass(s, &t->at.loss_sum, sizeof t->at.loss_sum);
    pass(s, &t->at.seconds, sizeof t->at.seconds);
    if (s->bad || epoch > 1000000 || t->at.done > t->train->n ||
        (t->at.best_epoch != SIZE_MAX && t->at.best_epoch >= epoch))
        return sis__fail(SIS_E_FORMAT, "%s is damaged", path);
    int error = sis__reserve(&t->at.curve, &t->at.cap_curve, epoch + 1, sizeof *t->at.curve);
    t->at.epoch = error ? 0 : epoch;
    return error;
}

static int load_all(stream *s, sis_trainer *t, const sis__buf *what, const char *path) {
    int error = load_head(s, t, what, path);
    if (error)
        return error;
    pass(s, t->at.curve, t->at.epoch * sizeof *t->at.curve);
    pass_arrays(s, t);
    uint64_t sum = s->sum, stored = 0;
    pass(s, &stored, sizeof stored);
    if (s->bad || sum != stored || fgetc(s->f) != EOF)
        return sis__fail(SIS_E_FORMAT, "%s is damaged", path);
    if (t->opt.keep_last && t->at.epoch && t->at.done == 0)
        sis__keep_weights(t, t->at.epoch - 1);
    return SIS_OK;
}

int sis_trainer_load(sis_trainer *t, const char *path) {
    sis__buf what;
    stream s = {.f = fopen(path, "rb"), .sum = 0xcbf29ce484222325u};
    if (!s.f)
        return sis__fail(SIS_E_IO, "cannot open %s: %s", path, strerror(errno));
    sis__buf_init(&what);
    describe(t, &what);
    int error = sis__buf_error(&what);
    if (!error)
        error = load_all(&s, t, &what, path);
    fclose(s.f);
    sis__buf_release(&what);
    return error;
}
