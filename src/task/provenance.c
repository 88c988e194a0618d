/* SPDX-License-Identifier: MIT
 *
 * The provenance of a task's records: versions, digests of files and random seeds. Files are read
 * again for their digests, once each. A digest takes about ten seconds per gigabyte and reading a
 * hundredth of that, so computing it while reading would save nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include <sis/example.h>
#include <sis/handle.h>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "task/task.h"

enum { MACHINE = 160 };

typedef char digest[SIS__SHA256_TEXT];

/* The digest of the file in an option, possibly after a prefix such as "mean:"; NULL: no file. */
static const char *digest_of(const char *option, digest text) {
    const char *colon = option ? strchr(option, ':') : NULL;
    if (!option || strcmp(option, "-") == 0)
        return NULL;
    if (sis__sha256_file(option, text) || (colon && sis__sha256_file(colon + 1, text)))
        return text;
    return NULL;
}

/* The same if the file may be the input, whose digest is known. */
static const char *digest_beside(const char *option, const char *input, const char *known,
                                 digest text) {
    const char *colon = option ? strchr(option, ':') : NULL;
    if (known && option && sis__file_same(colon ? colon + 1 : option, input))
        return known;
    return digest_of(option, text);
}

/* The digest of a model, possibly followed by an output's name: "ort:m.onnx#y". */
static const char *digest_of_model(const char *option, digest text) {
    char *file = NULL;
    const char *output, *found = digest_of(option, text);
    if (!found && option && sis__file_part(option, &file, &output) == SIS_OK && output)
        found = digest_of(file, text);
    free(file);
    return found;
}

/* The processor, and the instruction sets that could affect results. */
static void name_machine(char text[MACHINE]) {
    struct utsname u;
    size_t used = (size_t)snprintf(text, 64, "%.63s", uname(&u) == 0 ? u.machine : "unknown");
#ifdef __x86_64__
    const struct {
        const char *name;
        int has;
    } sets[] = {{"avx", __builtin_cpu_supports("avx")},
                {"fma", __builtin_cpu_supports("fma")},
                {"avx2", __builtin_cpu_supports("avx2")},
                {"avx512f", __builtin_cpu_supports("avx512f")}};
    used = used < 64 ? used : 63;
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if (sets[i].has)
            used += (size_t)snprintf(text + used, MACHINE - used, " %s", sets[i].name);
#else
    (void)used;
#endif
}

/* engine: that of the model; NULL: sis itself. */
static int format(const sis_task_opt *o, size_t examples, const char *engine,
                  const char *const *command, size_t n_command, char **provenance) {
    digest model, input, mask, features, domain;
    const char *file;
    int has_file = sis__text_is(o->question.domain, "data", &file);
    char machine[MACHINE];
    const char *from = o->examples.input, *known = digest_of(from, input);
    name_machine(machine);
    sis_provenance m = {
        .version = sis_version(),
        .command = command,
        .n_command = n_command,
        .model_sha256 = digest_of_model(o->model.spec, model),
        .input_sha256 = known,
        .mask_sha256 = digest_beside(o->question.mask, from, known, mask),
        .features_sha256 = digest_of(o->question.features, features),
        .domain_sha256 = has_file ? digest_beside(o->question.domain, from, known, domain) : NULL,
        .examples = examples,
        .rows = o->examples.rows,
        .mask = o->question.mask,
        .samples = o->question.samples,
        .seed = (size_t)o->question.seed,
        .kernels = engine ? NULL : sis_net_kernels(),
        .engine = engine,
        .machine = machine,
        .shard = o->examples.shard,
        .shards = o->examples.shards};
    return sis_provenance_format(&m, provenance);
}

int sis_task_opt_provenance(const sis_task_opt *given, size_t examples, const char *const *command,
                            size_t n_command, char **provenance) {
    sis_task_opt o;
    int error = sis__task_opt_take(given, &o);
    *provenance = NULL;
    return error ? error : format(&o, examples, NULL, command, n_command, provenance);
}

int sis_task_provenance(const sis_task *t, const char *const *command, size_t n_command,
                        char **provenance) {
    sis_task_opt o = t->opt;
    if (!o.question.samples && t->mask.n_samples > 1)
        o.question.samples = t->mask.n_samples;
    return format(&o, t->source.data ? sis_data_count(t->source.data) : 0,
                  sis_model_engine(&t->model), command, n_command, provenance);
}
