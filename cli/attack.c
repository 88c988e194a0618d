/* SPDX-License-Identifier: MIT
 *
 * sis attack: changes images as little as possible so that the network decides differently.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sis/analysis.h>
#include <sis/example.h>
#include <sis/files.h>
#include <sis/record.h>
#include <sis/results.h>

#include "base/json.h"
#include "output.h"
#include "task.h"

typedef struct {
    cli_task_opt task;
    sis_attack_opt how;
    const char *towards, *output, *values, *before, *images;
    int force;
    cli_common common;
} attack_options;

static const cli_option options[] = {
    CLI_HEADING("Input"),
    {"model", 'm', "MODEL", CLI_STRING(attack_options, task.opt.model.spec),
     "the network: FILE.onnx", .required = 1},
    CLI_GROUP(attack_options, task, cli_task_opt, CLI_SOURCE_WITHOUT_MODEL),
    CLI_GROUP(attack_options, task, cli_task_opt, cli_rows_options),
    CLI_HEADING("Question"),
    {"towards", 0, "LABEL", CLI_STRING(attack_options, towards),
     "target of the attack: a label, next or second", .required = 1,
     .more = "A label of the network, or a position from 0 if it has no labels. next: the output "
             "after the one that the network chooses; after the last comes the first. second: the "
             "output with the second highest score. For a network with one output, 1 is a high "
             "score and 0 a low one."},
    {"confidence", 0, "K", CLI_NUMBER(attack_options, how.confidence),
     "lead of the target, in log-odds", .max = 1e6},
    {"low", 0, "V", CLI_NUMBER(attack_options, how.low), "minimum value of a pixel"},
    {"high", 0, "V", CLI_NUMBER(attack_options, how.high), "maximum value of a pixel"},
    CLI_HEADING("Method"),
    {"searches", 0, "N", CLI_COUNT(attack_options, how.searches),
     "number of constants tried for each example", .min = 1, .max = 1000},
    {"steps", 0, "N", CLI_COUNT(attack_options, how.steps),
     "number of steps of Adam for each constant", .min = 1, .max = 10000000},
    {"rate", 0, "R", CLI_NUMBER(attack_options, how.rate), "learning rate of Adam"},
    CLI_HEADING("Output"),
    {"values", 0, "FILE.npy", CLI_STRING(attack_options, values),
     "write the changed inputs; the first axis is the examples", .writes = CLI_WRITES_FILE},
    {"before", 0, "FILE.npy", CLI_STRING(attack_options, before),
     "write the original inputs in the same order", .writes = CLI_WRITES_FILE,
     .more = "Their examples have the same numbers as those of --values, so sis report shows both "
             "side by side."},
    {"images", 0, "DIR", CLI_STRING(attack_options, images),
     "write PNG files: ID.png and ID-attacked.png", .writes = CLI_WRITES_FOLDER},
    {"output", 'o', "FILE", CLI_STRING(attack_options, output), "output file",
     .writes = CLI_WRITES_FILE, .unset = "standard output"},
    CLI_FORCE(attack_options, force),
    CLI_GROUP(attack_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    attack_options *o = (attack_options *)p;
    cli_task_opt_init(&o->task);
    sis_attack_opt_init(&o->how);
}

typedef struct {
    const attack_options *o;
    sis_attacked a;
} attack_run;

/* Attack every example and score the results. */
static int attack_all(attack_run *c) {
    sis_attack_opt opt = c->o->how;
    cli_progress bar;
    opt.jobs = (int)c->o->task.jobs;
    cli_progress_init(&bar, c->o->common.quiet);
    opt.progress = cli_progress_show;
    opt.progress_ctx = &bar;
    int error = sis_attacked_run(&c->a, &opt);
    cli_progress_end(&bar);
    return cli_fail(error);
}

/* ---- Output ---------------------------------------------------------------------------------- */

static void put_verdict(sis__buf *b, const char *name, const attack_run *c, const double *scores) {
    size_t output = sis_attacked_decision(&c->a, scores);
    char label[256];
    sis__json_object(b, name);
    sis__json_count(b, "output", output);
    if (sis_net_label(c->a.net, output, label, sizeof label) == SIS_OK)
        sis__json_text(b, "label", label);
    sis__json_number(b, "score", scores[c->a.n_outputs == 1 ? 0 : output]);
    sis__buf_char(b, '}');
}

static int write_finding(const attack_run *c, cli_output *out, size_t i) {
    const sis_attack_result *r = &c->a.found[i];
    sis__buf b = {0};
    sis__buf_char(&b, '{');
    sis__json_text(&b, "id", c->a.examples[i].id);
    sis__json_count(&b, "target", c->a.targets[i]);
    sis__json_flag(&b, "reached", r->reached);
    sis__json_number(&b, "distance", r->distance);
    sis__json_number(&b, "lead", r->lead);
    sis__json_number(&b, "constant", r->constant);
    put_verdict(&b, "before", c, c->a.before + i * c->a.n_outputs);
    put_verdict(&b, "after", c, c->a.after + i * c->a.n_outputs);
    sis__buf_str(&b, "}\n");
    int status = cli_fail(sis__buf_error(&b));
    if (status == CLI_DONE)
        status = cli_output_write(out, b.data, b.len);
    sis__buf_release(&b);
    return status;
}

/* Write the inputs as an array: after the attack, or before it. */
static int write_values(const attack_run *c, const char *path, int after) {
    size_t dims[SIS_RANK_MAX];
    sis_record first;
    sis_task_record(c->a.task, &c->a.examples[0], NULL, &first);
    float *all = cli_grab(c->a.n, c->a.width * sizeof *all);
    if (!all || first.drawing.rank + 1 > SIS_RANK_MAX) {
        free(all);
        return CLI_FAILED;
    }
    dims[0] = c->a.n;
    memcpy(dims + 1, first.drawing.shape, first.drawing.rank * sizeof *dims);
    const double *from = after ? c->a.changed : c->a.rows;
    for (size_t v = 0; v < c->a.n * c->a.width; v++)
        all[v] = (float)from[v];
    int status = cli_fail(sis_npy_write_float(path, all, first.drawing.rank + 1, dims));
    free(all);
    return status;
}

/* Is it an image with one or three channels? */
static int is_image(const size_t *shape, size_t rank, size_t n_values, sis_raster *at) {
    sis_record r = {.drawing.rank = rank, .drawing.shape = shape, .drawing.n_values = n_values};
    return sis_record_raster(&r, at) && (at->channels == 1 || at->channels == 3);
}

/* The shape in the file, or else the input shape of the network. */
static int image_shape(const attack_run *c, size_t i, sis_raster *at) {
    sis_record example;
    sis_net_shape taken;
    sis_task_record(c->a.task, &c->a.examples[i], NULL, &example);
    sis_net_input_shape(c->a.net, &taken);
    if (is_image(example.drawing.shape, example.drawing.rank, c->a.width, at) ||
        is_image(taken.dims, taken.rank, c->a.width, at))
        return CLI_DONE;
    return cli_error("--images: example %zu is not an image; expected (height, "
                     "width), or three channels before or after them",
                     c->a.examples[i].row);
}

/* ID.png or ID-attacked.png. */
static int image_path(const attack_run *c, size_t i, const char *end, char path[PATH_MAX]) {
    int used = snprintf(path, PATH_MAX, "%s/%s%s.png", c->o->images, c->a.examples[i].id, end);
    return used > 0 && used < PATH_MAX ? CLI_DONE
                                       : cli_error("--images: the path %s/%s%s.png is too long",
                                                   c->o->images, c->a.examples[i].id, end);
}

/* Can the images be written? Checked before the attack, which takes long. */
static int check_images(const attack_run *c) {
    sis_raster at;
    char path[PATH_MAX];
    int status = CLI_DONE;
    if (mkdir(c->o->images, 0777) != 0 && errno != EEXIST)
        return cli_error("--images: cannot create the folder %s: %s", c->o->images,
                         strerror(errno));
    for (size_t i = 0; status == CLI_DONE && i < c->a.n; i++) {
        status = image_shape(c, i, &at);
        if (strchr(c->a.examples[i].id, '/'))
            status = cli_error("--images: the id \"%s\" cannot be used as a file name",
                               c->a.examples[i].id);
        for (size_t k = 0; status == CLI_DONE && k < 2; k++) {
            status = image_path(c, i, k ? "-attacked" : "", path);
            if (status == CLI_DONE)
                status = cli_refuse_output(path);
        }
    }
    return status;
}

static int write_image(const attack_run *c, size_t i, const double *values, const char *end) {
    sis_raster at = {0};
    char path[PATH_MAX];
    int status = image_shape(c, i, &at);
    double *pixels = cli_grab(c->a.width, sizeof *pixels), low = c->o->how.low,
           high = c->o->how.high;
    size_t dims[3] = {at.rows, at.columns, at.channels};
    if (!pixels || status != CLI_DONE) {
        free(pixels);
        return CLI_FAILED;
    }
    for (size_t k = 0; k < c->a.width; k++) { /* row by row, interleaved channels */
        size_t place = k / at.channels, y = place / at.columns, x = place % at.columns;
        size_t v = y * at.row_step + x * at.column_step + k % at.channels * at.channel_step;
        pixels[k] = (values[v] - low) / (high - low);
    }
    status = image_path(c, i, end, path);
    if (status == CLI_DONE)
        status = cli_fail(sis_png_write(path, pixels, dims));
    free(pixels);
    return status;
}

static int write_images(const attack_run *c) {
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < c->a.n; i++) {
        status = write_image(c, i, c->a.rows + i * c->a.width, "");
        if (status == CLI_DONE)
            status = write_image(c, i, c->a.changed + i * c->a.width, "-attacked");
    }
    return status;
}

static int write_all(attack_run *c) {
    cli_output out = {0};
    size_t reached = 0;
    int status = cli_output_open(&out, c->o->output);
    for (size_t i = 0; status == CLI_DONE && i < c->a.n; i++) {
        reached += (size_t)c->a.found[i].reached;
        status = write_finding(c, &out, i);
    }
    status = cli_output_close(&out, status);
    if (status == CLI_DONE && c->o->values)
        status = write_values(c, c->o->values, 1);
    if (status == CLI_DONE && c->o->before)
        status = write_values(c, c->o->before, 0);
    if (status == CLI_DONE && c->o->images)
        status = write_images(c);
    if (status == CLI_DONE)
        cli_note(c->o->common.quiet, "%zu of %zu reached the target", reached, c->a.n);
    return status;
}

/* NULL, or a file name that ends in .npy. */
static int is_npy(const char *path) {
    return !path || cli_ends_in(path, ".npy");
}

static int run(const void *p, const cli_list *args) {
    const attack_options *o = (const attack_options *)p;
    attack_run c = {.o = o};
    (void)args;
    const char *wrong = sis_attack_opt_check(&o->how);
    if (wrong)
        return cli_usage("%s", wrong);
    if (!is_npy(o->values) || !is_npy(o->before))
        return cli_usage("--%s: expected FILE.npy, found \"%s\"",
                         is_npy(o->values) ? "before" : "values",
                         is_npy(o->values) ? o->before : o->values);
    sis_task *task = NULL;
    sis_task_opt options_of;
    cli_plain_options(&o->task, &options_of);
    int status = cli_fail(sis_task_open(&options_of, &task));
    if (status == CLI_DONE)
        status = cli_fail(sis_attacked_open(task, o->towards, (int)o->task.jobs, &c.a));
    if (status == CLI_DONE && o->images)
        status = check_images(&c);
    if (status == CLI_DONE)
        status = attack_all(&c);
    if (status == CLI_DONE)
        status = write_all(&c);
    sis_attacked_release(&c.a);
    sis_task_free(task);
    return status;
}

const cli_command cli_attack = {
    .name = "attack",
    .summary = "change images so that a network decides differently",
    .options = options,
    .options_size = sizeof(attack_options),
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis attack -m mnist.onnx -i digits.npy --rows 9 --towards 4 --values 4.npy",
             "Change digit 9 of the file so that the network sees a 4."},
            {"sis explain -m mnist.onnx -i 4.npy -t 0.7", "Explain the changed image."},
            {"sis attack -m mnist.onnx -i digits.npy --rows 0:100 --towards next --confidence 10 "
             "--images drawn",
             "Change a hundred digits to the next one each, and draw them before and after."},
            {0}},
    .description =
        "Carlini and Wagner's targeted attack. For each example it finds the smallest "
        "change, by the sum of squares, with which the network chooses the target. It uses "
        "gradient descent inside the box of allowed values, and bisection for the constant "
        "that weighs the target against the distance. With --confidence K the target must "
        "lead the next output by K before the softmax.\n\nWrites one line of JSON for each "
        "example: the target, whether it was reached, the distance (root of the sum of "
        "squares), the lead of the target, and the decision of the network before and after. "
        "--values writes the changed inputs exactly, for sis explain. The pictures of "
        "--images are rounded to 256 levels, which may undo a small change.\n\nExplain an "
        "image before and after the attack to see what the network takes for evidence.",
};
