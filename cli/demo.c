/* SPDX-License-Identifier: MIT
 *
 * sis demo: a tour of the program on the models that come with it. Each chapter writes its inputs
 * into a folder, then prints and runs its commands, so that you can repeat every step by hand.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/platform.h"
#include "cli.h"
#include "demo_files.h"
#include "fetch.h"
#include "output.h"

typedef struct {
    const char *dir;
    int force;
    cli_common common;
} demo_options;

static const cli_option options[] = {
    {"dir", 0, "DIR", CLI_STRING(demo_options, dir), "folder for inputs and results",
     .writes = CLI_WRITES_FOLDER},
    CLI_FORCE(demo_options, force),
    CLI_GROUP(demo_options, common, cli_common, cli_common_options),
    {0},
};

static void defaults(void *p) {
    ((demo_options *)p)->dir = "demo";
}

typedef struct {
    const demo_options *o;
    char models[CLI_PATH_MAX];
} stage;

/* ---- Files ----------------------------------------------------------------------------------- */

static int is_file(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISREG(s.st_mode);
}

/* Find the models: beside the sources or in the installation folder, relative to the program. */
static int find_models(char out[CLI_PATH_MAX]) {
    char self[CLI_PATH_MAX - 64], places[4][CLI_PATH_MAX], probe[CLI_PATH_MAX];
    const char *told = getenv("SIS_MODELS");
    if (sis__program_path(self, sizeof self) != 0)
        self[0] = '\0';
    for (int up = 0; up < 2; up++) /* FOLDER/bin/sis -> FOLDER */
        if (strrchr(self, '/'))
            *strrchr(self, '/') = '\0';
    snprintf(places[0], CLI_PATH_MAX, "%s", told ? told : "models");
    snprintf(places[1], CLI_PATH_MAX, "models");
    snprintf(places[2], CLI_PATH_MAX, "%s/models", self);
    snprintf(places[3], CLI_PATH_MAX, "%s/share/sis/models", self);
    for (int i = 0; i < (told ? 1 : 4); i++)
        if (cli_path(probe, places[i], "mnist-cnn.onnx") == CLI_DONE && is_file(probe)) {
            strcpy(out, places[i]);
            return CLI_DONE;
        }
    return cli_error("cannot find the shipped models; set SIS_MODELS=FOLDER");
}

static int write_file(const stage *s, const char *name, const void *bytes, size_t n) {
    char path[CLI_PATH_MAX];
    if (cli_path(path, s->o->dir, name) != CLI_DONE)
        return CLI_FAILED;
    int status = cli_refuse_output(path);
    return status == CLI_DONE ? cli_output_all(path, bytes, n) : status;
}

static int write_text(const stage *s, const char *name, const char *text) {
    return write_file(s, name, text, strlen(text));
}

/* ---- Commands -------------------------------------------------------------------------------- */

/* Print a command and run it. Words of `line` are separated by blanks. MODELS/ and DIR/ stand for
 * the two folders, whose paths may contain blanks. */
static int type(const stage *s, const char *line) {
    enum { MAX = 32 };
    char words[MAX][CLI_PATH_MAX], *argv[MAX + 2] = {"sis"};
    int argc = 1;
    printf("\n$ sis");
    int force = s->o->force && strstr(line, "--output");
    while (*line && argc < MAX) {
        int n = (int)strcspn(line, " "), skip = 0;
        const char *folder = "";
        if (strncmp(line, "MODELS/", 7) == 0)
            folder = s->models, skip = 6;
        else if (strncmp(line, "DIR/", 4) == 0)
            folder = s->o->dir, skip = 3;
        int length = snprintf(words[argc], CLI_PATH_MAX, "%s%.*s", folder, n - skip, line + skip);
        if (length >= CLI_PATH_MAX)
            return cli_error("%s: the path is too long", folder);
        putchar(' ');
        cli_print_word(stdout, words[argc]);
        argv[argc] = words[argc];
        argc++;
        line += n;
        line += strspn(line, " ");
    }
    if (force)
        argv[argc++] = "--force";
    printf("%s\n", force ? " --force" : "");
    return cli_call(argc, argv);
}

static int type_all(const stage *s, const char *const *lines) {
    int status = CLI_DONE;
    for (; status == CLI_DONE && *lines; lines++)
        status = type(s, *lines);
    return status;
}

/* ---- Chapters -------------------------------------------------------------------------------- */

static int reviews(stage *s) {
    static const char *const lines[] = {
        "explain --model MODELS/imdb-cnn.onnx --input DIR/reviews.txt --threshold 0.8 --quiet "
        "--output DIR/praise.jsonl",
        "show --subsets 2 DIR/praise.jsonl",
        "explain --model MODELS/imdb-cnn.onnx --input DIR/reviews.txt --threshold 0.2 --below "
        "--rows 1 --quiet --output DIR/blame.jsonl",
        "show --subsets 2 DIR/blame.jsonl", NULL};
    printf("\n== Reviews ==\n"
           "A network has read 25,000 film reviews. Which words alone make it call one good\n"
           "(0.8 or more), or bad (0.2 or less)? A missing word is an average word.\n");
    int status = write_text(
        s, "reviews.txt",
        "A wonderful film: the acting is superb, the story is moving, and the ending made me cry.\n"
        "The worst two hours of my life. A dull plot, terrible acting and not one joke that "
        "works.\n"
        "It has its moments, but the first half drags and the jokes are old.\n");
    return status == CLI_DONE ? type_all(s, lines) : status;
}

static int dna(stage *s) {
    static const char *const lines[] = {
        "explain --model MODELS/dna-ctcf.onnx --input DIR/peaks.fa --threshold 0.9 --quiet "
        "--output DIR/peaks.jsonl",
        "show DIR/peaks.jsonl", NULL};
    printf("\n== DNA ==\n"
           "A network has learned where the protein CTCF binds. Which bases are enough for it?\n"
           "A missing base may be any. (The known motif reads CCASYAGRKGGC.)\n");
    int status = write_text(s, "peaks.fa",
                            ">bound\n"
                            "ATTGCATCAGGTTACCGATTTGACGTACAAGTTCTGGCCACCAGGGGGCGCTACTTGACAAT"
                            "GCTTAGCATTCGAACTGTTTAAGCATCCGATTGCATCAG\n"
                            ">unbound\n"
                            "ATTGCATCAGGTTACCGATTTGACGTACAAGTTCTAATCATCATGTTCGAATACTTGACAAT"
                            "GCTTAGCATTCGAACTGTTTAAGCATCCGATTGCATCAG\n");
    return status == CLI_DONE ? type_all(s, lines) : status;
}

static int credit(stage *s) {
    static const char *const lines[] = {
        "explain --model MODELS/credit.onnx --input DIR/applicants.csv --threshold 0.8 --quiet "
        "--output DIR/granted.jsonl",
        "show --subsets 3 DIR/granted.jsonl",
        "verify --model MODELS/credit.onnx --input DIR/applicants.csv --exhaustive 8 --output "
        "DIR/audit.jsonl DIR/granted.jsonl",
        NULL};
    printf(
        "\n== Credit ==\n"
        "A network says how likely a loan is repaid, and it is granted at 0.8 or more. Which "
        "facts\n"
        "were enough? A missing one is the average. Then the audit: full passes check each claim,\n"
        "and every part of every subset is tried.\n");
    int status = write_text(
        s, "applicants.csv",
        "age,income,debt,savings,late_payments,open_accounts,years_employed,credit_used\n"
        "34,52000,4000,12000,0,3,8,0.15\n"
        "23,21000,11000,300,4,6,1,0.92\n"
        "58,61000,2500,30000,0,2,27,0.05\n");
    return status == CLI_DONE ? type_all(s, lines) : status;
}

static int digits(stage *s) {
    static const char *const lines[] = {
        "explain --model MODELS/mnist-cnn.onnx --input DIR/digits.idx --threshold 0.7 --trace "
        "--quiet --output DIR/digits.jsonl",
        "show --subsets 3 DIR/digits.jsonl", NULL};
    printf("\n== Digits ==\n"
           "A network reads handwritten digits. Which pixels alone make it at least 70 %% sure? A\n"
           "missing pixel has its average brightness.\n");
    int status = write_file(s, "digits.idx", DIGITS_IDX, sizeof DIGITS_IDX);
    return status == CLI_DONE ? type_all(s, lines) : status;
}

static int run(const void *p, const cli_list *args) {
    static int (*const chapters[])(stage *) = {reviews, dna, credit, digits};
    stage s = {.o = (const demo_options *)p};
    (void)args;
    int status = find_models(s.models);
    if (status == CLI_DONE)
        status = cli_make_folder(s.o->dir);
    if (status == CLI_DONE)
        printf(
            "A model has decided. Which part of its input was enough for that? Each subset below\n"
            "leads to the same decision alone, with everything else masked, and none of its\n"
            "features can be left out.\n");
    for (size_t i = 0; status == CLI_DONE && i < sizeof chapters / sizeof *chapters; i++)
        status = chapters[i](&s);
    if (status == CLI_DONE)
        status =
            type(&s, "report DIR/digits.jsonl DIR/praise.jsonl DIR/blame.jsonl DIR/peaks.jsonl "
                     "DIR/granted.jsonl --quiet --output DIR/report.html");
    if (status == CLI_DONE)
        printf("\nOpen %s/report.html in a browser: all of this to look at. Now your own model:\n"
               "sis explain --help\n",
               s.o->dir);
    return status;
}

const cli_command cli_demo = {
    .name = "demo",
    .summary = "reviews, DNA, a credit decision and digits explained",
    .options = options,
    .options_size = sizeof(demo_options),
    .init = defaults,
    .run = run,
    .examples = (const cli_example[]){{"sis demo", "Run it."}, {0}},
    .description =
        "Explains decisions of the models that come with the program: film reviews, DNA, a "
        "loan, and handwritten digits, and writes a report. It needs no network. Every command "
        "is printed before it runs, so you can repeat it. The models are found in the source "
        "folder, in the installation, or in the folder of the variable SIS_MODELS.",
};
