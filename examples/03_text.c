/* SPDX-License-Identifier: MIT
 *
 * A network that reads texts: which words alone make a review a good one?
 *
 *     ./03_text ../models/imdb-cnn.onnx 'A wonderful film: the acting is superb, the story moving.'
 *
 * Such a network takes numbers of words, as many as its row is long, with padding in front. It
 * carries the vocabulary that makes them, and an embedding for a masked word; a task knows how to
 * use both. A feature is a word.
 */
#include <stdio.h>

#include <sis/task.h>

int main(int argc, char **argv) {
    const char *const texts[] = {argc > 2 ? argv[2] : ""};
    sis_data *data = NULL;
    sis_task *task = NULL;
    sis_task_opt o;
    sis_record r;
    if (argc != 3) {
        fprintf(stderr, "usage: 03_text MODEL.onnx TEXT\n");
        return 2;
    }
    int got = sis_data_from_texts(texts, 1, NULL, &data);
    sis_task_opt_init(&o);
    o.model.spec = argv[1];
    o.examples.data = data;
    o.question.threshold = "0.8";
    if (got == 0)
        got = sis_task_open(&o, &task);
    while (got >= 0 && (got = sis_task_next(task, &r)) == 1) {
        const sis_collection *c = &r.collection;
        printf("%s, score %.3f\n", sis_status_name(c->status), c->score);
        for (size_t k = 0; k < c->n_subsets; k++) {
            printf("subset %zu, score %.3f:", k + 1, c->subsets[k].score);
            for (size_t i = 0; i < c->subsets[k].n; i++)
                printf(" %s", r.drawing.words[c->subsets[k].features[i]]);
            printf("\n");
        }
    }
    if (got < 0)
        fprintf(stderr, "%s\n", sis_error_detail());
    sis_task_free(task);
    sis_data_free(data);
    return got < 0;
}
