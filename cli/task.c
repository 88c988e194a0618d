/* SPDX-License-Identifier: MIT
 *
 * Options of tasks, and tasks with all their examples. See task.h.
 */
#include "task.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/spread.h"
#include "output.h"

/* ---- Options --------------------------------------------------------------------------------- */

const cli_option cli_source_options[] = {
    {"model", 'm', "MODEL", CLI_STRING(cli_source, model), "a file, cmd:COMMAND or http://...",
     .required = 1,
     .more =
         "A network in an ONNX file is explained by its own engine, and so is a model of XGBoost "
         "(.json, .ubj) or LightGBM (.txt), which also takes missing values: empty cells, NA, "
         "NaN. ort:FILE.onnx is run by ONNX Runtime, and so is a file with operators that the "
         "engine lacks, if that library is found (pip install onnxruntime; SIS_ORT names its "
         "file). A command is run by sh, "
         "once for each job, and stays: for every line {\"inputs\":[[...],[...]]} on its "
         "standard input it writes one line {\"outputs\":[...]} with a score, or a list of "
         "scores, for each input. An address ends in /v2/models/NAME (Open Inference Protocol), "
         "/v1/models/NAME (TensorFlow Serving) or /invocations (MLflow); of a language model see "
         "--prompt. #OUTPUT behind a "
         "network's file "
         "or an address chooses one of several outputs."},
    {"input", 'i', "FILE", CLI_STRING(cli_source, input),
     "the examples: .csv, .npy, .txt, .jsonl ...", .required = 1,
     .more =
         "The end of the name says what a file holds: arrays (.npy, the first axis counts the "
         "examples), tables with a header (.csv, .tsv), images (.png, .jpg, a folder of them; IDX: "
         ".idx, -ubyte), DNA "
         "(.fa, .fasta, .seq), texts (.txt, one a line; .tsv, behind their labels; .jsonl, "
         "with \"text\" or \"words\") or lists of numbers (.jsonl, \"values\"); .gz behind it "
         "is fine. Texts become token ids by the model's own vocabulary. A dash reads standard "
         "input: a .jsonl if it begins with a brace, else a .csv."},
    CLI_LABEL(
        cli_source, label,
        .more =
            "By name, or by number from 0 in a .tsv of texts without a header. Results carry the "
            "label along. A table of numbers has none unless it is named here: every column is a "
            "feature, so take columns that are none out of the file. A data set given by --mask "
            "may have the column or not."),
    CLI_ID(
        cli_source, id,
        .more =
            "Results are called by it in the place of the number of the example, and of a table it "
            "is no feature. No two examples may have the same, and none an empty one. A data set "
            "given by --mask may have the column or not. By default the field id of a .jsonl and "
            "the column EventID of a .seq."),
    {"text", 0, "COLUMN", CLI_STRING(cli_source, text), "column of a .csv or .tsv that holds texts",
     .from_results = CLI_VALUE_FROM_RESULTS,
     .more = "Each row is then a text, whose words are the features. --label and --id name columns "
             "that "
             "results carry along; other columns are not read."},
    CLI_CATEGORICAL(
        cli_source, categorical,
        .more =
            "Alone: a column with any cell that is neither a number nor missing is one of words. "
            "It becomes one value, 0 or 1, for each of its different cells (at most 1000), in the "
            "order of their bytes, or of numbers if all are numbers, and these are one feature, "
            "shown by the name of its category. A column of true and false is one of numbers, 1 "
            "and "
            "0, unless it is named here. A cmd: model gets these values in the place of the cell, "
            "unless --rows-as says "
            "otherwise. There are the categories of --input and those of a data set that --mask "
            "names; a mean of them is the most frequent one. A network that has the names of its "
            "values (sis.names), and a model of trees that has, says itself which categories there "
            "are; this option is then not needed."),
    CLI_TYPES(cli_source, types),
    CLI_NO_HEADER(cli_source, no_header),
    {"missing", 0, "HOW", CLI_CHOICE(cli_source, missing), "absent values",
     .from_results = CLI_VALUE_FROM_RESULTS, .choices = "nan mean median drop error",
     .more =
         "What a cell is that is empty, NA, NaN, N/A or null (in a column of numbers also none), "
         "null among the values of a .jsonl, or NaN in an array. nan: an absent value, which "
         "models of XGBoost and LightGBM know, and which a command gets as null; say it for a "
         "network or a server that knows NaN. A missing word is the model's value for missing "
         "words "
         "(housing_nan, housing=), or the last category, nan, of a model without names; if the "
         "model has none, it is 0 in each category, as encoders have it; with --rows-as values or "
         "objects it is null. mean, median: that of the other rows of the "
         "same file, of words the most frequent one. drop: leave the example out. error: "
         "neither; so it is where the model does not know absent values."},
    {"rows-as", 0, "FORM", CLI_CHOICE(cli_source, rows_as), "rows of tables as",
     .from_results = CLI_VALUE_FROM_RESULTS, .choices = "values objects one-hot",
     .more =
         "How a cmd: or http: model is given rows of a table. values: a list of words and "
         "numbers in the order of the columns. objects: the same by name. Both take columns of "
         "words as they are (--categorical is not needed), and null for what is missing. A "
         "masked word is always one that exists: with --mask mean:FILE the most frequent one, "
         "with hotdeck:FILE or rows:FILE one that is drawn. To MLflow they are dataframe_split and "
         "dataframe_records. one-hot: numbers only, a 0 or 1 for each category. A network with "
         "inputs of strings always gets rows as they are."},
    {"labels", 0, "FILE", CLI_STRING(cli_source, labels), "labels from a file of their own",
     .rare = 1,
     .more = "A table (.csv, or with tabs) of names and labels, names as the examples are called, "
             "with or without folder and ending; or a label an example: a table of one column, "
             ".npy, IDX. By default images in a folder are labelled by the first folder of their "
             "path."},
    {"kind", 0, "image", CLI_CHOICE(cli_source, kind), "what the examples of an array are",
     .from_results = CLI_VALUE_FROM_RESULTS, .choices = "image",
     .more = "Images have pixels as features and are shown as such. Values stay as they are."},
    {"layout", 0, "L", CLI_CHOICE(cli_source, layout),
     "channels of images in arrays: first or last", .from_results = CLI_VALUE_FROM_RESULTS,
     .choices = "chw hwc", .unset = "found out if it is clear"},
    {"tokenizer", 0, "FILE", CLI_STRING(cli_source, tokenizer),
     "vocab.txt or tokenizer.json of the network",
     .more =
         "By it texts become the token ids that the network takes: WordPiece (BERT), or byte-level "
         "BPE (GPT-2, RoBERTa), with special tokens around the text and padding behind it. Other "
         "inputs of the network (attention mask, token types) follow. Needs libutf8proc when the "
         "program is built."},
    {"fit", 0, NULL, CLI_FLAG(cli_source, fit), "resize images to what the network takes",
     .from_results = CLI_VALUE_FROM_RESULTS,
     .more = "A side that gets shorter is averaged by area, one that gets longer is interpolated "
             "(bilinear); the ratio of the sides is not kept. Grey becomes colours that are alike, "
             "colours become their brightness. Results hold the images as the network sees them."},
    {"length", 0, "N", CLI_COUNT(cli_source, length), "crop or pad DNA to N bases",
     .from_results = CLI_VALUE_FROM_RESULTS, .min = 1, .max = 1 << 28, .unset = "as it is",
     .more = "Around the middle: a longer sequence loses as many bases at both ends, a shorter one "
             "gets as many N. Ids stay as they are, and sis export --to bed still says where in "
             "the genome subsets lie."},
    {"normalize", 0, "M/S", CLI_STRING(cli_source, normalize),
     "give the network (pixel - M) / S, channel by channel", .rare = 1,
     .from_results = CLI_VALUE_FROM_RESULTS,
     .more =
         "imagenet, as networks of torchvision want it; or means and deviations, for all channels "
         "(0.5/0.5) or for each (0.5,0.4,0.3/0.2,0.2,0.2). Masks and results hold the pixels "
         "themselves. Networks in .onnx files only."},
    {"prompt", 0, "FILE", CLI_STRING(cli_source, prompt),
     "language models: the prompt, {field} for fields",
     .more =
         "For http://HOST/v1/completions#MODEL, .../v1/chat/completions#MODEL and llama.cpp's "
         "http://HOST/completion. Fields are those of the examples, which are the lines of a "
         ".jsonl; --explain names the one whose parts are the features: sentences, or what "
         "--features says (sentence, paragraph, line, word), or the entries of a list. A masked "
         "part is left out."},
    {"answer", 0, "TEXT", CLI_STRING(cli_source, answer),
     "language models: the answer, where an example has none", .unset = "the model's own",
     .more = "By default the field answer of an example, else the first line that the model writes "
             "after the whole prompt."},
    {"score", 0, "S", CLI_STRING(cli_source, score), "language models: margin, logprob, label:A,B",
     .unset = "margin", .rare = 1,
     .more =
         "margin: the least, over the tokens of the answer, of the log-probability of the token "
         "less that of the best other one. It is 0 or more exactly if the model, taking the most "
         "probable token each time, begins with this answer; so the threshold is 0 by default. "
         "logprob: the mean log-probability of the answer's tokens. label:A,B: the probability of "
         "the first label among those given; the threshold is 0.5 by default."},
    {"cache", 0, "FILE", CLI_STRING(cli_source, cache), "language models: answers are kept there",
     .rare = 1, .aside = 1,
     .more = "A SQLite file. What was asked before is not asked again, by --resume and sis verify "
             "neither. It holds no prompts, keys or headers."},
    CLI_ROWS(cli_source, rows),
    CLI_JOBS(cli_source, jobs, "threads; cmd: children, http: connections"),
    CLI_INPUTS(cli_source, explain, with),
    CLI_OPENING(cli_source, open),
    {0},
};

void cli_source_init(cli_source *s) {
    s->rows_as = "one-hot";
    cli_opening_init(&s->open);
}

const cli_option cli_question_options[] = {
    {"mask", 0, "MASK", CLI_STRING(cli_question, mask), "what a missing feature is",
     .from_results = CLI_CHECKED_FROM_RESULTS, .unset = "the model's own",
     .more = "mean:FILE, the feature means of a data set; zero; value:V; missing, for XGBoost and "
             "LightGBM; uniform, the values of a feature share one equally (DNA: N); blur:S, an "
             "image's own pixels blurred by a "
             "Gaussian of S pixels; FILE.npy, an array of one example's shape; "
             "hotdeck:FILE, values drawn from a data set, each feature by itself, the score being "
             "the mean over --samples draws; rows:FILE, the same with whole rows, so that features "
             "that depend on each other go on doing so. Columns of a table are found by their "
             "names. For models that take token ids "
             "also embedding-mean, the mean over the "
             "vocabulary; pad; token:ID or token:WORD; remove, which takes the token out and moves "
             "the others together. With --tokenizer the default is its token for it, [MASK]. Texts "
             "of a cmd: or http: model: remove (the default) or "
             "token:WORD, which "
             "stands in the place of the missing one. Any other model that carries no mask needs "
             "one of these, unless the input is DNA: then it is uniform."},
    {"features", 0, "F", CLI_STRING(cli_question, features),
     "masked together: word, grid:N, FILE.npy", .from_results = CLI_CHECKED_FROM_RESULTS,
     .more =
         "each: every value is a feature. In colour images a feature is a pixel, in DNA a base, in "
         "token models a token that is not padding. axis:A: values that differ only along axis A "
         "of "
         "an example are one feature (the channels of a pixel). Texts: word (the default), with "
         "all "
         "its tokens; token; sentence. Images: grid:N, about N equal parts; "
         "superpixel:N, about N parts of pixels that look alike. FILE.npy: an array of one "
         "example's shape with a whole number for each value, the feature it belongs to, or -1 for "
         "never masked; columns put together so are called by what their names share, housing for "
         "housing=own and housing=rent."},
    {"refine", 0, NULL, CLI_FLAG(cli_question, refine), "parts first, then the pixels in them",
     .from_results = CLI_VALUE_FROM_RESULTS,
     .more =
         "With --features grid:N or superpixel:N: the parts of each subset are cut into quarters, "
         "those that are needed into quarters again, down to a minimal set of pixels. Images that "
         "are too large for pixels from the start are explained with a few thousand questions."},
    {"samples", 0, "N", CLI_COUNT(cli_question, samples), "draws of masks or lime",
     .from_results = CLI_VALUE_FROM_RESULTS, .min = 1, .max = 100000, .unset = "32; lime 5000",
     .more = "Results depend on which values were drawn. sis verify scores every subset with fresh "
             "draws and says how many still reach the threshold. 512 draws are a good number for "
             "hotdeck:, 2048 for rows:; docs/tables.md has a measurement."},
    CLI_SEED(cli_question, seed),
    CLI_MEMORY(cli_question, memory),
    {0},
};

const cli_option cli_output_options[] = {
    {"target", 'c', "LABEL", CLI_STRING(cli_question, target), "output to explain: a label, or top",
     .more = "A label of the model (classes of a classifier, sis.labels of a network), or top: the "
             "output with the highest score, example by example. If the model has no labels, "
             "a position from 0."},
    CLI_TARGET_INDEX(cli_question, target_index, "the same by its position, from 0"),
    {0},
};

void cli_question_init(cli_question *q) {
    sis_task_opt opt;
    sis_task_opt_init(&opt);
    q->features = opt.question.features;
    q->target = opt.question.target;
    q->seed = (size_t)opt.question.seed;
    q->memory = opt.answer.search.memory >> 20;
}

int cli_jobs(const cli_source *s) {
    return s->jobs ? (int)s->jobs : sis__processes_now ? sis__processes_now->jobs : 0;
}

void cli_task_options(const cli_source *s, const cli_question *q, sis_task_opt *out) {
    sis_task_opt_init(out);
    out->model.spec = s->model;
    out->model.open = cli_opening_opt(&s->open);
    out->model.open.explain = s->explain;
    out->model.open.normalize = s->normalize;
    out->model.open.score = s->score;
    out->model.open.cache = s->cache;
    out->examples.prompt = s->prompt;
    out->examples.answer = s->answer;
    out->model.with = s->with.items;
    out->model.n_with = s->with.n;
    out->examples.input = s->input;
    out->examples.read.label = s->label;
    out->examples.read.id = s->id;
    out->examples.read.text = s->text;
    out->examples.read.labels = s->labels;
    out->examples.read.kind = s->kind;
    out->examples.read.layout = s->layout;
    out->examples.fit = s->fit;
    out->examples.read.length = s->length;
    out->examples.tokenizer = s->tokenizer;
    cli_read_options(s->categorical, s->types, s->no_header, &out->examples.read);
    out->examples.missing = s->missing;
    out->examples.rows_as = s->rows_as;
    out->examples.rows = s->rows;
    out->answer.search.jobs = cli_jobs(s);
    out->question.plain = !q;
    out->question.target = q ? q->target : NULL;
    out->question.target_index = q && q->target ? q->target_index : NULL;
    if (!q)
        return;
    out->question.features = q->features;
    out->question.refine = q->refine;
    out->question.mask = q->mask;
    out->question.samples = q->samples;
    out->question.seed = q->seed;
    out->answer.search.memory = q->memory << 20;
}

void cli_read_options(const char *categorical, const char *types, int no_header,
                      sis_data_opt *out) {
    out->categorical = categorical && !*categorical;
    out->categories = categorical && *categorical ? categorical : NULL;
    out->types = types;
    out->no_header = no_header;
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

/* ---- Small things ---------------------------------------------------------------------------- */

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
