/* SPDX-License-Identifier: MIT
 *
 * Clusters as one JSON object, written as it goes: a million members need no tree of them in
 * memory.
 */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "task.h"

/* Bytes of the character that begins here; 0 if it is no UTF-8. Only names of files can hold
 * such. */
static size_t utf8_length(const unsigned char *s) {
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xC2 ? 0 : s[0] < 0xE0 ? 2 : s[0] < 0xF0 ? 3 : 4;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return s[0] < 0xF5 ? n : 0;
}

void cli_json_text(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        size_t n = utf8_length(c);
        if (n == 0)
            fputc('?', out);
        else if (n > 1)
            c += fwrite(c, 1, n, out) == n ? n - 1 : 0;
        else if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7F)
            fprintf(out, "\\u%04x", *c);
        else
            fputc(*c, out);
    }
    fputc('"', out);
}

void cli_json_number(FILE *out, double v) {
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    fputs(isfinite(v) ? text : "null", out);
}

static void put_member(FILE *out, const cli_cluster_page *p, size_t item, int with_source) {
    const cli_subset *s = &p->subsets->items[item];
    fputs("{\"id\":", out);
    cli_json_text(out, p->subsets->origins[s->record].id);
    fprintf(out, ",\"subset\":%zu", s->subset);
    if (with_source) {
        fputs(",\"source\":", out);
        cli_json_text(out, cli_source_name(p->subsets, cli_source_of(p->subsets, item)));
    }
    fputc('}', out);
}

/* The members of a cluster, or the noise. */
static void put_members(FILE *out, const cli_cluster_page *p, const char *name, size_t group) {
    const cli_members *m = p->members;
    fprintf(out, "\"%s\":[", name);
    for (size_t k = m->start[group]; k < m->start[group + 1]; k++) {
        if (k > m->start[group])
            fputc(',', out);
        put_member(out, p, m->items[k], 1);
    }
    fputc(']', out);
}

static int put_top(FILE *out, const cli_cluster_page *p, size_t cluster) {
    size_t found;
    cli_pattern *top = cli_patterns_find(p, cluster, &found);
    fputs("\"top\":[", out);
    for (size_t k = 0; k < found; k++) {
        fputs(k ? ",{\"pattern\":" : "{\"pattern\":", out);
        cli_json_text(out, top[k].text);
        fprintf(out, ",\"count\":%zu}", top[k].count);
    }
    fputc(']', out);
    free(top);
    return top ? CLI_DONE : CLI_FAILED;
}

static int put_shares(FILE *out, const cli_cluster_page *p, size_t cluster) {
    const cli_members *m = p->members;
    size_t n = m->start[cluster + 1] - m->start[cluster], written = 0;
    size_t sources = cli_source_count(p->subsets), *counts = cli_grab(sources, sizeof *counts);
    if (!counts)
        return CLI_FAILED;
    for (size_t k = m->start[cluster]; k < m->start[cluster + 1]; k++)
        counts[cli_source_of(p->subsets, m->items[k])]++;
    fputs("\"share\":{", out);
    for (size_t k = 0; k < sources; k++) {
        fputs(written++ ? "," : "", out);
        cli_json_text(out, cli_source_name(p->subsets, k));
        fputc(':', out);
        cli_json_number(out, (double)counts[k] / (double)n);
    }
    fputc('}', out);
    free(counts);
    return CLI_DONE;
}

static int put_cluster(FILE *out, const cli_cluster_page *p, size_t cluster) {
    const cli_members *m = p->members;
    size_t core = 0;
    for (size_t k = m->start[cluster]; k < m->start[cluster + 1]; k++)
        core += p->clusters->core[m->items[k]];
    fprintf(out, "{\"id\":%zu,\"size\":%zu,\"core\":%zu,", cluster + 1,
            m->start[cluster + 1] - m->start[cluster], core);
    put_members(out, p, "members", cluster);
    fputc(',', out);
    int status = put_top(out, p, cluster);
    fputs(",\"medoid\":", out);
    put_member(out, p, p->clusters->medoids[cluster], 0);
    fputc(',', out);
    if (status == CLI_DONE)
        status = put_shares(out, p, cluster);
    fputc('}', out);
    return status;
}

int cli_cluster_json(FILE *out, const cli_cluster_page *p) {
    size_t n = p->clusters->n_clusters;
    int status = CLI_DONE;
    fprintf(out, "{\"distance\":\"%s\",\"eps\":", p->distance);
    cli_json_number(out, p->eps);
    fprintf(out, ",\"min_size\":%zu,\"n\":%zu,\n\"clusters\":[", p->min_size, p->clusters->n);
    for (size_t k = 0; k < n && status == CLI_DONE; k++) {
        fputs(k ? ",\n" : "\n", out);
        status = put_cluster(out, p, k);
    }
    fputs("],\n", out);
    put_members(out, p, "noise", n);
    fputs("}\n", out);
    return status;
}
