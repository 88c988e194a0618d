/* SPDX-License-Identifier: MIT
 *
 * Task options and their conversion for the library. See task.h.
 */
#include "task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>

#include "base/number.h"
#include "base/spread.h"
#include "output.h"

/* ---- Options --------------------------------------------------------------------------------- */

const cli_option cli_source_options[] = {
    {"model", 'm', "MODEL", CLI_STRING(cli_task_opt, opt.model.spec),
     "a file, cmd:COMMAND or http://...", .required = 1,
     .more = "sis runs ONNX files, XGBoost (.json, .ubj) and LightGBM (.txt) models itself. ONNX "
             "Runtime runs ort:FILE.onnx, and ONNX files with operators that sis does not have, "
             "if it is installed (pip install onnxruntime; SIS_ORT names its library). "
             "cmd:COMMAND is started with sh, once for each job, and keeps running: for every "
             "line {\"inputs\":[[...],[...]]} on standard input it writes one line "
             "{\"outputs\":[...]} with a score, or a list of scores, for each input. An address "
             "ends in /v2/models/NAME (Open Inference Protocol), /v1/models/NAME (TensorFlow "
             "Serving) or /invocations (MLflow); for language models see --prompt. #OUTPUT after "
             "a file or an address chooses one of several outputs."},
    {"input", 'i', "FILE", CLI_STRING(cli_task_opt, opt.examples.input),
     "the examples: .csv, .npy, .txt, .jsonl ...", .required = 1,
     .more = "The extension gives the format: arrays (.npy; the first axis is the examples), "
             "tables with a header (.csv, .tsv), images (.png, .jpg, a folder of them; IDX: .idx, "
             "-ubyte), DNA (.fa, .fasta, .seq), texts (.txt, one a line; .tsv, after their "
             "labels; .jsonl with \"text\" or \"words\") or lists of numbers (.jsonl with "
             "\"values\"). Each may end in .gz. Texts become token ids with the vocabulary of the "
             "model. A dash reads standard input, as .jsonl if it begins with a brace, else as "
             ".csv."},
    CLI_LABEL(
        cli_task_opt, opt.examples.read.label,
        .more =
            "Give the name of the column, or its number from 0 in a .tsv of texts without a "
            "header. The label is copied into the results and is not a feature. The data set of "
            "--mask need not have this column."),
    CLI_ID(cli_task_opt, opt.examples.read.id,
           .more =
               "Results name the examples by this column instead of their number, and it is not a "
               "feature. Ids must be unique and not empty. The data set of --mask need not have "
               "this column. The default is the field id of a .jsonl and the column EventID of a "
               ".seq."),
    {"text", 0, "COLUMN", CLI_STRING(cli_task_opt, opt.examples.read.text),
     "column of a .csv or .tsv that holds texts", .from_results = CLI_VALUE_FROM_RESULTS,
     .more = "Each row is a text, and its words are the features. The columns of --label and --id "
             "are copied into the results; other columns are ignored."},
    {"keep-columns", 0, "C,...", CLI_STRING(cli_task_opt, opt.examples.read.kept),
     "columns for groups and filters, not features", .from_results = CLI_VALUE_FROM_RESULTS,
     .more = "Their texts are copied into the results, where --where and --by find them. For "
             "example, compare how "
             "a model that does not take sex treats men and women. The data set of --mask need not "
             "have "
             "these columns."},
    CLI_CATEGORICAL(
        cli_task_opt, categorical,
        .more =
            "Without a value: every column with a cell that is neither a number nor missing "
            "holds words. Such a column becomes one value, 0 or 1, for each category (at most "
            "1000), sorted as text, or as numbers if all are numbers. Together they are one "
            "feature, shown with the name of the category. A column of true and false holds the "
            "numbers 1 and 0 unless you name it here. A cmd: model gets these values instead of "
            "the cell, unless --rows-as says otherwise. The categories are those of --input and "
            "of the data set of --mask; with --mask mean:FILE, the most frequent category is the "
            "mask. You do not need this option if the model knows its categories (sis.names in a "
            "network, names of values in a tree model)."),
    CLI_TYPES(cli_task_opt, opt.examples.read.types),
    CLI_NO_HEADER(cli_task_opt, opt.examples.read.no_header),
    {"missing", 0, "HOW", CLI_CHOICE(cli_task_opt, opt.examples.missing), "missing values",
     .from_results = CLI_VALUE_FROM_RESULTS, .choices = "nan mean median drop error",
     .more = "A value is missing if its cell is empty, NA, NaN, N/A or null (in a column of "
             "numbers also none), if it is null in a .jsonl or NaN in an array. nan: pass it on; "
             "XGBoost and LightGBM models accept it, and a cmd: model gets null. Choose it for a "
             "network or a server that accepts NaN. A missing word becomes the model's value for "
             "missing words (housing_nan, housing=); the category nan, the last, if the model has "
             "no names; or 0 in every category if the model has no such value; with --rows-as "
             "values or objects it is null. mean, median: use that of the other rows of the file; "
             "for words, the most frequent one. drop: leave the example out. error: stop; this is "
             "the default for models that do not accept missing values."},
    {"rows-as", 0, "FORM", CLI_CHOICE(cli_task_opt, opt.examples.rows_as),
     "how rows of tables are sent", .from_results = CLI_VALUE_FROM_RESULTS,
     .choices = "values objects one-hot",
     .more = "For cmd: and http: models. values: a list of words and numbers in the order of the "
             "columns. objects: an object with the names of the columns. Both send words as they "
             "are (--categorical is not needed) and null for missing values. A masked word is "
             "always an existing one: the most frequent one with --mask mean:FILE, a drawn one "
             "with hotdeck:FILE or rows:FILE. For MLflow they are dataframe_split and "
             "dataframe_records. one-hot: numbers only, a 0 or 1 for each category. A network "
             "with string inputs always gets rows as they are."},
    {"labels", 'l', "FILE", CLI_STRING(cli_task_opt, opt.examples.read.labels),
     "file with the labels",
     .more = "Either a table (.csv, or with tabs) of names and labels, where a name is the id of "
             "an example, with or without folder and extension; or one label for each example: a "
             "table with one column, .npy, IDX. By default, the label of an image in a folder is "
             "the first folder of its path."},
    {"kind", 0, "image", CLI_CHOICE(cli_task_opt, opt.examples.read.kind),
     "what the examples of an array are", .from_results = CLI_VALUE_FROM_RESULTS,
     .choices = "image",
     .more = "The features are pixels, and results are shown as images. Values are not scaled."},
    {"layout", 0, "L", CLI_CHOICE(cli_task_opt, opt.examples.read.layout),
     "position of the channels in arrays of images", .from_results = CLI_VALUE_FROM_RESULTS,
     .choices = "chw hwc", .unset = "from the shape, if it is clear"},
    {"tokenizer", 0, "FILE", CLI_STRING(cli_task_opt, opt.examples.tokenizer),
     "vocab.txt or tokenizer.json of the network",
     .more = "It turns texts into the token ids that the network takes: WordPiece (BERT) or "
             "byte-level BPE (GPT-2, RoBERTa), with special tokens around the text and padding "
             "after it. The attention mask and token types are filled in. The program must be "
             "built with libutf8proc."},
    {"fit", 0, NULL, CLI_FLAG(cli_task_opt, opt.examples.fit),
     "resize images to the size that the network takes", .from_results = CLI_VALUE_FROM_RESULTS,
     .more = "A side is averaged by area to shrink it and interpolated (bilinear) to enlarge it; "
             "the aspect ratio is not kept. Grey becomes three equal channels, colour becomes "
             "grey, as the network needs it. Results hold the images as the network sees them."},
    {"length", 0, "N", CLI_COUNT(cli_task_opt, opt.examples.read.length),
     "crop or pad DNA to N bases", .from_results = CLI_VALUE_FROM_RESULTS, .min = 1, .max = 1 << 28,
     .unset = "as it is",
     .more = "A longer sequence is cropped equally at both ends, a shorter one is padded with N "
             "at both ends. Ids stay the same, and sis export --to bed still writes the positions "
             "in the genome."},
    {"normalize", 0, "M/S", CLI_STRING(cli_task_opt, open.opt.normalize),
     "give the network (pixel - M) / S, channel by channel", .rare = 1,
     .from_results = CLI_VALUE_FROM_RESULTS,
     .more = "imagenet: the values of torchvision's networks. Or means and standard deviations, "
             "for all channels (0.5/0.5) or for each (0.5,0.4,0.3/0.2,0.2,0.2). Masks and results "
             "have the original pixels. Only for networks in .onnx files."},
    {0},
};

const cli_option cli_prompt_options[] = {
    {"prompt", 0, "FILE", CLI_STRING(cli_task_opt, opt.examples.prompt),
     "language models: the prompt, with {field} for fields",
     .more = "For http://HOST/v1/completions#MODEL, .../v1/chat/completions#MODEL and llama.cpp's "
             "http://HOST/completion. The examples are the lines of a .jsonl, and {field} stands "
             "for a field of the example. --explain names the field whose parts are the features: "
             "its sentences, the parts that --features names (sentence, paragraph, line, word), "
             "or the entries of a list. Masked parts are left out."},
    {"answer", 0, "TEXT", CLI_STRING(cli_task_opt, opt.examples.answer),
     "language models: the answer, if an example has none", .unset = "the model's own",
     .more = "The answer is the field answer of an example, else TEXT, else the first line that "
             "the model writes after the whole prompt."},
    {"score", 0, "S", CLI_STRING(cli_task_opt, open.opt.score),
     "language models: margin, logprob, label:A,B", .unset = "margin", .rare = 1,
     .more = "margin: for each token of the answer, its log-probability minus that of the best "
             "other token; the score is the minimum over the tokens. It is 0 or more exactly if "
             "greedy decoding begins with this answer, so the default threshold is 0. logprob: "
             "the mean log-probability of the answer's tokens. label:A,B: the probability of the "
             "first label among those given; the default threshold is 0.5."},
    {"categories", 0, "FILE", CLI_STRING(cli_task_opt, open.opt.categories),
     "XGBoost, LightGBM: words of columns of categories", .rare = 1,
     .more = "JSON, {\"column\":[\"word\",...],...}: the words in the order of their numbers in "
             "training. Newer files of XGBoost, and those of LightGBM from pandas, have them."},
    {"cache", 0, "FILE", CLI_STRING(cli_task_opt, open.opt.cache),
     "language models: file that keeps answers", .rare = 1, .not_in_provenance = 1,
     .more = "A SQLite file. A question that is in the file is not asked again, also with "
             "--resume and by sis verify. It has no prompts, keys or headers."},
    {0},
};

const cli_option cli_rows_options[] = {
    CLI_ROWS(cli_task_opt, opt.examples.rows),
    CLI_JOBS(cli_task_opt, jobs, "threads or connections"),
    CLI_INPUTS(cli_task_opt, open.opt.explain, with),
    {0},
};

const cli_option cli_question_options[] = {
    {"mask", 0, "MASK", CLI_STRING(cli_task_opt, opt.question.mask), "values of masked features",
     .from_results = CLI_CHECKED_FROM_RESULTS, .unset = "the model's own",
     .more = "mean:FILE: the means of a data set. zero. value:V. missing: for XGBoost and "
             "LightGBM. uniform: the values of a feature share one equally (DNA: N). blur:S: the "
             "image blurred by a Gaussian of S pixels. FILE.npy: an array of the shape of one "
             "example. hotdeck:FILE: values drawn from a data set, each feature by itself; the "
             "score is the mean over --samples draws. rows:FILE: the same with whole rows, so "
             "that columns that depend on each other stay consistent. Columns of a table are "
             "found by name. Models of token ids also accept embedding-mean (the mean over the "
             "vocabulary), pad, token:ID, token:WORD, and remove, which removes the token and "
             "moves the others together; with --tokenizer the default is its mask token. For "
             "texts of a cmd: or http: model: remove (the default), or token:WORD, which replaces "
             "the masked word. For DNA the default is uniform. Any other model that carries no "
             "mask needs this option."},
    {"features", 0, "F", CLI_STRING(cli_task_opt, opt.question.features),
     "features: word, grid:N, FILE.npy", .from_results = CLI_CHECKED_FROM_RESULTS,
     .more = "each: every value is a feature; in colour images every pixel, in DNA every base, in "
             "token models every token that is not padding. axis:A: values that differ only along "
             "axis A of an example are one feature (the channels of a pixel). Texts: word (the "
             "default), with all its tokens; token; sentence. Images: grid:N, about N equal "
             "parts; superpixel:N, about N parts of similar pixels. FILE.npy: an array of the "
             "shape of one example that has for each value the number of its feature, or -1 for a "
             "value that is never masked. Columns that form one feature are named by the common "
             "part of their names: housing for housing=own and housing=rent."},
    {"refine", 0, NULL, CLI_FLAG(cli_task_opt, opt.question.refine),
     "refine parts of images to pixels", .from_results = CLI_VALUE_FROM_RESULTS,
     .more = "With --features grid:N or superpixel:N. The parts of each subset are cut into "
             "quarters, the quarters that are needed are cut again, and so on down to a minimal "
             "set of pixels. Large images take a few thousand questions."},
    {"samples", 0, "N", CLI_COUNT(cli_task_opt, opt.question.samples), "draws for masks or lime",
     .from_results = CLI_VALUE_FROM_RESULTS, .min = 1, .max = 100000, .unset = "32; lime 5000",
     .more = "Results depend on the values that were drawn. sis verify scores every subset with "
             "fresh draws and says how many still reach the threshold. Good numbers are 512 for "
             "hotdeck: and 2048 for rows: (measured in docs/tables.md)."},
    CLI_SEED(cli_task_opt, seed),
    CLI_MEMORY(cli_task_opt, memory),
    {0},
};

const cli_option cli_output_options[] = {
    {"target", 'c', "LABEL", CLI_STRING(cli_task_opt, opt.question.target),
     "output to explain: a label, or top",
     .more = "A label of the model (a class of a classifier, sis.labels of a network), or top: "
             "the output with the highest score, for each example. If the model has no labels, a "
             "position from 0."},
    CLI_TARGET_INDEX(cli_task_opt, opt.question.target_index,
                     "output to explain, by its position from 0"),
    {0},
};

const cli_option cli_method_options[] = {
    {"method", 0, "METHOD", CLI_CHOICE(cli_task_opt, opt.answer.method), "method",
     .choices = "sis quick ig lime perturb gradient contrast",
     .more = "sis: sufficient input subsets by backward selection. quick: the same kind of "
             "subsets by divide and conquer; it asks about a hundredth of the questions and its "
             "subsets are a little larger. Use it for slow or distant models; for networks that "
             "sis walks quickly (convolutions over words or bases) it can be slower than sis. "
             "gradient: backward selection with batched gradients, for inputs too large for "
             "quick. The other methods order the features, and the first ones are the rationale. "
             "perturb: by how much the score falls when only this feature is masked. ig: "
             "integrated gradients from the mask to the input. lime: weights of a linear model "
             "fitted to the scores of random masks. ig and gradient need a network. contrast: the "
             "fewest features whose change alone loses the decision, with such values, within "
             "--domain; for trees. With --mask or --prompt: minimal sets of features whose "
             "masking loses the decision, for every model."},
    {"constraint", 0, "C", CLI_CHOICE(cli_task_opt, opt.answer.constraint), "size of the rationale",
     .choices = "sufficient length top",
     .more = "sufficient: the fewest first features whose score alone meets the threshold. "
             "length: as many as the median subset of the example's SIS collection has. top (ig "
             "only): the fewest whose attributions add up to the threshold minus the score of the "
             "baseline. With length and top the rationale need not be sufficient; each record "
             "says whether it is."},
    {"steps", 0, "N", CLI_COUNT(cli_task_opt, opt.answer.how.steps), "ig: points on the path",
     .min = 1, .max = 10000000},
    {"baseline", 0, "B", CLI_CHOICE(cli_task_opt, baseline), "ig: start of the path",
     .choices = "mask zero", .rare = 1},
    {"prefer", 0, "P", CLI_CHOICE(cli_task_opt, prefer), "quick: order of preference",
     .choices = "perturb gradient none", .rare = 1,
     .more = "quick prefers features that come early in this order. perturb: by how much the "
             "score falls when only this feature is masked, one question for each feature. "
             "gradient: by the gradient at the input, for networks. none: the order of the input."},
    {"step", 0, "K", CLI_COUNT(cli_task_opt, opt.answer.how.step),
     "gradient: features masked at once", .min = 1, .max = 1e9, .rare = 1},
    {"remove", 0, NULL, CLI_FLAG(cli_task_opt, opt.answer.remove),
     "lime: remove words instead of masking them", .rare = 1,
     .more = "Only in the random texts that lime learns from. The rationale is scored with "
             "--mask, as for every method."},
    {"lengths", 0, "FILE", CLI_STRING(cli_task_opt, opt.answer.lengths),
     "results of sis for --constraint length", .rare = 1,
     .more = "Without this option, sis explains each example first."},
    {"orders", 0, "FILE", CLI_STRING(cli_task_opt, opt.answer.orders),
     "results with --trace that give the order", .rare = 1,
     .more =
         "For perturb, ig and lime: results of the same method, to apply another constraint "
         "at little cost. For quick, instead of --prefer: results of any method; trace.order "
         "lists all features, most important last. Examples that are not in FILE are computed."},
    {0},
};

void cli_task_opt_init(cli_task_opt *o) {
    sis_task_opt_init(&o->opt);
    cli_opening_init(&o->open);
    o->opt.examples.rows_as = "one-hot";
    o->baseline = "mask";
    o->prefer = sis_preference_name((sis_preference)o->opt.answer.how.prefer);
    o->seed = (size_t)o->opt.question.seed;
    o->memory = o->opt.answer.search.memory >> 20;
}

int cli_jobs(const cli_task_opt *o) {
    return o->jobs ? (int)o->jobs : sis__processes_now ? sis__processes_now->jobs : 0;
}

void cli_task_options(const cli_task_opt *o, sis_task_opt *out) {
    *out = o->opt;
    out->model.open = cli_opening_opt(&o->open);
    out->model.with = o->with.items;
    out->model.n_with = o->with.n;
    cli_categorical(o->categorical, &out->examples.read);
    out->question.seed = o->seed;
    out->answer.search.jobs = cli_jobs(o);
    out->answer.search.memory = o->memory << 20;
    out->answer.how.zero_baseline = strcmp(o->baseline, "zero") == 0;
    for (int k = 0; k <= SIS_PREFER_NONE; k++)
        if (strcmp(o->prefer, sis_preference_name((sis_preference)k)) == 0)
            out->answer.how.prefer = k;
}

void cli_plain_options(const cli_task_opt *o, sis_task_opt *out) {
    cli_task_options(o, out);
    out->question.plain = 1;
    out->question.target = NULL;
}

void cli_categorical(const char *columns, sis_data_opt *out) {
    out->categorical = columns && !*columns;
    out->categories = columns && *columns ? columns : NULL;
}

void cli_task_note(int quiet, const sis_task *task) {
    const sis_data *data = sis_task_data(task);
    const char *notes[] = {sis_model_note(sis_task_model(task)), data ? sis_data_note(data) : NULL};
    for (size_t k = 0; k < sizeof notes / sizeof *notes; k++)
        if (notes[k])
            cli_note(quiet, "%s", notes[k]);
    size_t dropped = sis_task_dropped(task);
    if (dropped)
        cli_note(quiet, "%zu example%s left out: a value is missing", dropped,
                 dropped == 1 ? " was" : "s were");
}

/* ---- Helpers --------------------------------------------------------------------------------- */

void *cli_grab(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        cli_error("out of memory");
    return p;
}

int cli_number(const char *text, double *value) {
    char *end;
    *value = sis__number(text, &end);
    return end != text && !*end && text[0] != ' ' && isfinite(*value);
}

int cli_ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

const char *cli_last_part(const char *path) {
    int is_file = strncmp(path, "cmd:", 4) != 0 && strncmp(path, "http", 4) != 0;
    const char *slash = is_file ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

int cli_same_model(const char *a, const char *b) {
    char one[256], other[256];
    sis_model_name(a, one, sizeof one);
    sis_model_name(b, other, sizeof other);
    return strcmp(one, other) == 0;
}
