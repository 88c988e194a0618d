/* SPDX-License-Identifier: MIT
 *
 * A network from an ONNX file and an image: which pixels alone make it the digit it is taken for?
 *
 *     ./02_image ../models/mnist-cnn.onnx seven.png
 *
 * The model carries its mask. A grey image is read as (height, width). One in colour would be
 * (height, width, 3), and would have to be turned round for a network that wants colours first.
 */
#include <stdio.h>
#include <stdlib.h>

#include <sis/data.h>
#include <sis/model.h>
#include <sis/net.h>
#include <sis/sis.h>

/* The pixels of a subset, '#', on a field of dots. */
static void draw(const sis_subset *subset, size_t height, size_t width) {
    for (size_t at = 0; at < height * width; at++) {
        char c = '.';
        for (size_t i = 0; i < subset->n; i++)
            if ((size_t)subset->features[i] == at)
                c = '#';
        printf(at % width + 1 < width ? "%c" : "%c\n", c);
    }
}

/* Explain the output with the highest score. */
static int explain(const sis_model *model, sis_input *input, double *scores, sis_collection *out) {
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = 0.7;
    int error = sis_predict(model, input, 1, &opt, scores);
    for (size_t k = 0; k < model->n_outputs && !error; k++)
        if (scores[k] > scores[input->output])
            input->output = k;
    return error ? error : sis_collect(model, input, &opt, out);
}

int main(int argc, char **argv) {
    sis_model model = {0};
    sis_data *data = NULL;
    sis_collection c = {0};
    double *values = NULL, *mask = NULL, *scores = NULL;
    int status = 1;
    if (argc != 3) {
        fprintf(stderr, "usage: 02_image MODEL.onnx IMAGE.png\n");
        return 2;
    }
    if (sis_model_open(argv[1], NULL, &model) != 0 || sis_data_read(argv[2], NULL, &data) != 0)
        goto fail;

    const sis_net *net = sis_model_net(&model);
    size_t rank, n_mask = 0, n = sis_data_width(data, 0);
    const size_t *shape = sis_data_shape(data, 0, &rank);
    const float *own = net ? sis_net_mask(net, &n_mask) : NULL;
    values = malloc(n * sizeof *values);
    mask = malloc(n * sizeof *mask);
    scores = malloc(model.n_outputs * sizeof *scores);
    if (!own || n_mask != n || rank != 2 || !values || !mask || !scores) {
        sis_error_set("expected a network that carries a mask, and a grey image of its size");
        goto fail;
    }
    for (size_t i = 0; i < n; i++)
        mask[i] = own[i];
    sis_input input = {.values = values, .mask = mask, .n_values = n};
    if (sis_data_values(data, 0, values) != 0 || explain(&model, &input, scores, &c) != 0)
        goto fail;

    char label[64] = "?";
    sis_net_label(net, input.output, label, sizeof label);
    printf("%s: %s, score %.3f, %zu subsets\n", argv[2], label, c.score, c.n_subsets);
    for (size_t k = 0; k < c.n_subsets; k++) {
        printf("subset %zu: %zu pixels, score %.3f\n", k + 1, c.subsets[k].n, c.subsets[k].score);
        draw(&c.subsets[k], shape[0], shape[1]);
    }
    status = 0;
fail:
    if (status)
        fprintf(stderr, "%s\n", sis_error_detail());
    sis_collection_release(&c);
    free(values);
    free(mask);
    free(scores);
    sis_data_free(data);
    sis_model_close(&model);
    return status;
}
