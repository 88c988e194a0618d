/* SPDX-License-Identifier: MIT
 *
 * The provenance object in the first record of a results file. See results.h.
 */
#include <stdint.h>
#include <stdio.h>
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
    const char *text = sis__take_text_or(f, "shard", NULL);
    char rest;
    m->shards = 1;
    if (text &&
        (sscanf(text, "%zu/%zu%c", &m->shard, &m->shards, &rest) != 2 || m->shard >= m->shards) &&
        f->code == SIS_OK)
        f->code = sis__fail(SIS_E_FORMAT, "field \"shard\": expected a part such as \"2/8\"");
}

int sis_provenance_parse(const char *json, sis_provenance *out) {
    sis__fields f;
    *out = (sis_provenance){0};
    sis__finding_open(&f, json, strlen(json), "how results were made", "sis explain", "version");
    out->version = sis__take_text_or(&f, "version", NULL);
    out->command = sis__take_texts(&f, "command", &out->n_command);
    out->model_sha256 = sis__take_text_or(&f, "model_sha256", NULL);
    out->input_sha256 = sis__take_text_or(&f, "input_sha256", NULL);
    out->mask_sha256 = sis__take_text_or(&f, "mask_sha256", NULL);
    out->features_sha256 = sis__take_text_or(&f, "features_sha256", NULL);
    out->domain_sha256 = sis__take_text_or(&f, "domain_sha256", NULL);
    sis__take_count(&f, "examples", SIS__OPTIONAL, &out->examples);
    out->rows = sis__take_text_or(&f, "rows", NULL);
    out->mask = sis__take_text_or(&f, "mask", NULL);
    sis__take_count(&f, "samples", SIS__OPTIONAL, &out->samples);
    sis__take_count(&f, "seed", SIS__OPTIONAL, &out->seed);
    out->kernels = sis__take_text_or(&f, "kernels", NULL);
    out->engine = sis__take_text_or(&f, "engine", NULL);
    out->machine = sis__take_text_or(&f, "machine", NULL);
    take_shard(&f, out);
    return sis__finding_close(&f, &out->held);
}

void sis_provenance_release(sis_provenance *provenance) {
    if (!provenance)
        return;
    sis__held_free(provenance->held);
    *provenance = (sis_provenance){0};
}
