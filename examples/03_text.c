/* SPDX-License-Identifier: MIT
 *
 * A network that reads texts: which words alone make a review a good one?
 *
 *     ./03_text ../models/imdb-cnn.onnx 'A wonderful film: the acting is superb, the story moving.'
 *
 * Such a network takes numbers of words, as many as its row is long, with padding in front. It
 * carries the vocabulary that makes them, and an embedding for a masked word. A feature is a word;
 * padding is never masked.
 */
#include <stdint.h>
#include <stdio.h>

#include <sis/data.h>
#include <sis/model.h>
#include <sis/sis.h>

enum { LENGTH = 2000 }; /* room for the longest row */

typedef struct {
    double ids[LENGTH], mask[LENGTH];
    size_t word_at[LENGTH]; /* of each place: which word of the text stands there */
    int feature_of[LENGTH]; /* of each place */
    size_t word_of[LENGTH]; /* of each feature */
    size_t n, n_features;
} row;

static int encode(const sis_net *net, const sis_words *words, row *r) {
    sis_vocabulary *vocabulary;
    const char *json = net ? sis_net_meta_get(net, SIS_NET_META_VOCABULARY) : NULL;
    r->n = net ? sis_net_values(net) : 0;
    if (!json || r->n == 0 || r->n > LENGTH) {
        sis_error_set("expected a network with a vocabulary and rows of at most 2000 words");
        return SIS_E_MODEL;
    }
    int error = sis_vocabulary_parse(json, &vocabulary);
    if (error)
        return error;
    sis_vocabulary_encode(vocabulary, words, r->n, r->ids, r->word_at);
    sis_vocabulary_free(vocabulary);
    for (size_t i = 0; i < r->n; i++) {
        r->mask[i] = SIS_TOKEN_MASK;
        r->feature_of[i] = -1;
        if (r->word_at[i] == SIZE_MAX)
            continue;
        r->word_of[r->n_features] = r->word_at[i];
        r->feature_of[i] = (int)r->n_features++;
    }
    return 0;
}

int main(int argc, char **argv) {
    static row r;
    sis_model model = {0};
    sis_words words = {0};
    sis_collection c = {0};
    sis_opt opt;
    int status = 1;
    if (argc != 3) {
        fprintf(stderr, "usage: 03_text MODEL.onnx TEXT\n");
        return 2;
    }
    if (sis_model_open(argv[1], NULL, &model) != 0 || sis_words_split(argv[2], &words) != 0 ||
        encode(sis_model_net(&model), &words, &r) != 0)
        goto fail;
    sis_input input = {
        .values = r.ids, .mask = r.mask, .n_values = r.n, .feature_of = r.feature_of};
    sis_opt_init(&opt);
    opt.threshold = 0.8;
    if (sis_collect(&model, &input, &opt, &c) != 0)
        goto fail;

    printf("%s, score %.3f\n", sis_status_name(c.status), c.score);
    for (size_t k = 0; k < c.n_subsets; k++) {
        printf("subset %zu, score %.3f:", k + 1, c.subsets[k].score);
        for (size_t i = 0; i < c.subsets[k].n; i++)
            printf(" %s", words.items[r.word_of[c.subsets[k].features[i]]].text);
        printf("\n");
    }
    status = 0;
fail:
    if (status)
        fprintf(stderr, "%s\n", sis_error_detail());
    sis_collection_release(&c);
    sis_words_release(&words);
    sis_model_close(&model);
    return status;
}
