/* SPDX-License-Identifier: MIT
 *
 * The provenance object in the first record of a results file. See results.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/results.h>

#include "base/error.h"
#include "base/json.h"
#include "results/fields.h"

int sis_provenance_format(const sis_provenance *m, char **json) {
    sis__buf b;
    size_t n;
    char shard[48];
    sis__buf_init(&b);
    sis__buf_char(&b, '{');
    sis__json_text(&b, "version", m->version);
    sis__json_texts(&b, "command", m->n_command ? m->command : NULL, m->n_command);
    sis__json_text(&b, "model_sha256", m->model_sha256);
    sis__json_text(&b, "input_sha256", m->input_sha256);
    sis__json_text(&b, "mask_sha256", m->mask_sha256);
    sis__json_text(&b, "features_sha256", m->features_sha256);
    sis__json_text(&b, "domain_sha256", m->domain_sha256);
    sis__json_count(&b, "examples", m->examples);
    sis__json_text(&b, "rows", m->rows);
    sis__json_text(&b, "mask", m->mask);
    sis__json_count(&b, "samples", m->samples);
    sis__json_count(&b, "seed", m->seed);
    sis__json_text(&b, "kernels", m->kernels);
    sis__json_text(&b, "engine", m->engine);
    sis__json_text(&b, "machine", m->machine);
    snprintf(shard, sizeof shard, "%zu/%zu", m->shard, m->shards);
    sis__json_text(&b, "shard", m->shards > 1 ? shard : NULL);
    sis__buf_char(&b, '}');
    return sis__buf_give(&b, json, &n);
}

/* "2/8" */
static void take_shard(sis__fields *f, sis_provenance *m) {
    char *text = sis__take_text(f, "shard", SIS__OPTIONAL);
    char rest;
    m->shards = 1;
    if (text &&
        (sscanf(text, "%zu/%zu%c", &m->shard, &m->shards, &rest) != 2 || m->shard >= m->shards) &&
        f->code == SIS_OK)
        f->code = sis__fail(SIS_E_FORMAT, "field \"shard\": expected a part such as \"2/8\"");
    free(text);
}

int sis_provenance_parse(const char *json, sis_provenance *out) {
    sis__fields f = {0};
    json_t *root;
    *out = (sis_provenance){0};
    f.code = sis__json_read(json, strlen(json), "how results were made", &root);
    f.object = root;
    out->version = sis__take_text(&f, "version", SIS__REQUIRED);
    out->command = sis__take_texts(&f, "command", &out->n_command);
    out->model_sha256 = sis__take_text(&f, "model_sha256", SIS__OPTIONAL);
    out->input_sha256 = sis__take_text(&f, "input_sha256", SIS__OPTIONAL);
    out->mask_sha256 = sis__take_text(&f, "mask_sha256", SIS__OPTIONAL);
    out->features_sha256 = sis__take_text(&f, "features_sha256", SIS__OPTIONAL);
    out->domain_sha256 = sis__take_text(&f, "domain_sha256", SIS__OPTIONAL);
    sis__take_count(&f, "examples", SIS__OPTIONAL, &out->examples);
    out->rows = sis__take_text(&f, "rows", SIS__OPTIONAL);
    out->mask = sis__take_text(&f, "mask", SIS__OPTIONAL);
    sis__take_count(&f, "samples", SIS__OPTIONAL, &out->samples);
    sis__take_count(&f, "seed", SIS__OPTIONAL, &out->seed);
    out->kernels = sis__take_text(&f, "kernels", SIS__OPTIONAL);
    out->engine = sis__take_text(&f, "engine", SIS__OPTIONAL);
    out->machine = sis__take_text(&f, "machine", SIS__OPTIONAL);
    take_shard(&f, out);
    if (f.code != SIS_OK)
        sis_provenance_release(out);
    json_decref(root);
    return f.code;
}

void sis_provenance_release(sis_provenance *provenance) {
    if (!provenance)
        return;
    const void *const owned[] = {provenance->version,      provenance->command,
                                 provenance->model_sha256, provenance->input_sha256,
                                 provenance->mask_sha256,  provenance->features_sha256,
                                 provenance->domain_sha256, provenance->rows,
                                 provenance->mask,         provenance->kernels,
                                 provenance->machine,      provenance->engine};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free((void *)(uintptr_t)owned[i]);
    *provenance = (sis_provenance){0};
}
