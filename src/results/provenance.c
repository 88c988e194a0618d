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

static void pass_provenance(sis__fields *f, sis_provenance *p) {
    sis__field_text(f, "version", &p->version, SIS__REQUIRED);
    if (!f->out || p->n_command)
        sis__field_texts(f, "command", &p->command, &p->n_command, NULL);
    sis__field_text(f, "model_sha256", &p->model_sha256, 0);
    sis__field_text(f, "input_sha256", &p->input_sha256, 0);
    sis__field_text(f, "mask_sha256", &p->mask_sha256, 0);
    sis__field_text(f, "features_sha256", &p->features_sha256, 0);
    sis__field_text(f, "domain_sha256", &p->domain_sha256, 0);
    sis__field_count(f, "examples", &p->examples, 0);
    sis__field_text(f, "rows", &p->rows, 0);
    sis__field_text(f, "mask", &p->mask, 0);
    sis__field_count(f, "samples", &p->samples, 0);
    sis__field_count(f, "seed", &p->seed, 0);
    sis__field_text(f, "kernels", &p->kernels, 0);
    sis__field_text(f, "engine", &p->engine, 0);
    sis__field_text(f, "machine", &p->machine, 0);
}

int sis_provenance_format(const sis_provenance *provenance, char **json) {
    sis__buf b;
    size_t n;
    char shard[48];
    sis__buf_init(&b);
    sis__fields f = {.out = &b};
    sis__buf_char(&b, '{');
    pass_provenance(&f, (sis_provenance *)(uintptr_t)provenance);
    snprintf(shard, sizeof shard, "%zu/%zu", provenance->shard, provenance->shards);
    sis__json_text(&b, "shard", provenance->shards > 1 ? shard : NULL);
    sis__buf_char(&b, '}');
    return sis__buf_give(&b, json, &n);
}

/* "2/8" */
static void take_shard(sis__fields *f, sis_provenance *p) {
    const char *text = NULL;
    char rest;
    sis__field_text(f, "shard", &text, 0);
    p->shards = 1;
    if (text && f->code == SIS_OK &&
        (sscanf(text, "%zu/%zu%c", &p->shard, &p->shards, &rest) != 2 || p->shard >= p->shards))
        f->code = sis__fail(SIS_E_FORMAT, "field \"shard\": expected a part such as \"2/8\"");
    free((void *)(uintptr_t)text);
}

int sis_provenance_parse(const char *json, sis_provenance *out) {
    json_t *root;
    *out = (sis_provenance){0};
    sis__fields f = {.code = sis__json_read(json, strlen(json), "how results were made", &root)};
    f.object = root;
    pass_provenance(&f, out);
    take_shard(&f, out);
    if (f.code != SIS_OK)
        sis_provenance_release(out);
    json_decref(root);
    return f.code;
}

void sis_provenance_release(sis_provenance *provenance) {
    if (!provenance)
        return;
    pass_provenance(&(sis__fields){.releasing = 1}, provenance);
    *provenance = (sis_provenance){0};
}
