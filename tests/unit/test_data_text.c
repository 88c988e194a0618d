/* SPDX-License-Identifier: MIT
 *
 * Texts: words and their positions, lines, labelled lines, JSON Lines.
 */
#include "support_data.h"

#include <stdio.h>
#include <string.h>

#include <sis/data.h>
#include <sis/text.h>

#include "base/utf8.h"

static sis_data *open_as(const char *name, const char *text, const char *label) {
    sis_data *data;
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.label = label;
    if (sis_data_read(folder_text(name, text), &opt, &data) != 0)
        fail_msg("%s", sis_error_detail());
    return data;
}

static void refused_as(const char *name, const char *text, size_t n, const char *label,
                       const char *part) {
    sis_data *data;
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.label = label;
    int code = sis_data_read(folder_write(name, text, n), &opt, &data);
    assert_true(code == SIS_E_FORMAT || (label && code == SIS_E_ARGUMENT));
    assert_null(data);
    assert_message_has(part);
    assert_message_has(name);
}

static void refused(const char *name, const char *text, const char *part) {
    refused_as(name, text, strlen(text), NULL, part);
}

/* The words in lower case, and as written, "a|b". */
static void words_are(sis_words *w, const char *text, const char *lower, const char *written) {
    char low[512] = "", as[512] = "";
    for (size_t i = 0; i < w->n; i++) {
        snprintf(low + strlen(low), sizeof low - strlen(low), "%s%s", i ? "|" : "",
                 w->items[i].text);
        snprintf(as + strlen(as), sizeof as - strlen(as), "%s%.*s", i ? "|" : "",
                 (int)w->items[i].length, text + w->items[i].start);
    }
    assert_string_equal(low, lower);
    assert_string_equal(as, written);
}

static void text_is_split_like_keras_does(void **state) {
    (void)state;
    static const struct {
        const char *text, *lower, *written;
    } cases[] = {
        {"The QUICK fox, isn't it?", "the|quick|fox|isn't|it", "The|QUICK|fox|isn't|it"},
        {"a-b_c/d.e<br />f", "a|b|c|d|e|br|f", "a|b|c|d|e|br|f"},
        {"  \t one\r\ntwo ", "one|two", "one|two"},
        {"!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n", "", ""},
        {"", "", ""},
        {"Caf\xC3\x89 \xC3\x84\xC3\x97 \xCE\xA3\xCE\x91 \xD0\x96\xD0\x81 \xC5\xB8\xC5\xBD\xC4\x80 "
         "\xE2\x82\xAC",
         "caf\xC3\xA9|\xC3\xA4\xC3\x97|\xCF\x83\xCE\xB1|\xD0\xB6\xD1\x91|\xC3\xBF\xC5\xBE\xC4\x81|"
         "\xE2\x82\xAC",
         "Caf\xC3\x89|\xC3\x84\xC3\x97|\xCE\xA3\xCE\x91|\xD0\x96\xD0\x81|\xC5\xB8\xC5\xBD\xC4\x80|"
         "\xE2\x82\xAC"},
        {"9 out of 10", "9|out|of|10", "9|out|of|10"},
    };
    sis_words w = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(sis_words_split(cases[i].text, &w), 0);
        words_are(&w, cases[i].text, cases[i].lower, cases[i].written);
    }
    sis_words_release(&w);
    assert_int_equal(w.n, 0);
}

static void utf8_is_told_from_other_bytes(void **state) {
    (void)state;
    static const char *const good[] = {"", "abc", "\xC2\x80\xDF\xBF", "\xE0\xA0\x80\xEF\xBF\xBF",
                                       "\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"};
    static const char *const bad[] = {"\x80",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xC3",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF5\x80\x80\x80",
                                      "\xFF"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(sis__utf8_check(good[i], strlen(good[i])), strlen(good[i]));
    for (size_t i = 0; i < 10; i++) {
        char text[16];
        snprintf(text, sizeof text, "ab%s", bad[i]);
        assert_int_equal(sis__utf8_check(text, strlen(text)), 2);
    }
    assert_int_equal(sis__utf8_check("a\0b", 3), 1);
}

static void lines_are_texts(void **state) {
    (void)state;
    static const char *const texts[] = {"Good film.\nBad \"film\"\t!\n",
                                        "\xEF\xBB\xBFGood film.\r\nBad \"film\"\t!\r\n\r\n \n",
                                        "Good film.\nBad \"film\"\t!"};
    sis_words w = {0};
    for (size_t i = 0; i < 3; i++) {
        sis_data *data = open_as("a.txt", texts[i], NULL);
        char number[SIS_ID_SIZE];
        double v;
        size_t n;
        assert_string_equal(sis_data_kind(data), "text");
        assert_int_equal(sis_data_count(data), 2);
        assert_string_equal(sis_data_text(data, 0), "Good film.");
        assert_string_equal(sis_data_text(data, 1), "Bad \"film\"\t!");
        assert_string_equal(sis_data_id(data, 1, number), "1");
        assert_null(sis_data_label(data, 0));
        assert_null(sis_data_human(data, 0, &n));
        assert_int_equal(sis_data_width(data, 0), 0);
        assert_int_equal(sis_data_values(data, 0, &v), SIS_E_ARGUMENT);
        assert_message_has("contains texts; use a model with a vocabulary");
        assert_int_equal(sis_data_words(data, 1, &w), 0);
        words_are(&w, sis_data_text(data, 1), "bad|film", "Bad|film");
        assert_int_equal(sis_data_words(data, 2, &w), SIS_E_ARGUMENT);
        sis_data_free(data);
    }
    sis_words_release(&w);
    refused("a.txt", "", "is empty; expected a text on every line");
    refused("a.txt", "\n\n", "is empty");
    sis_data *data = open_as("a.txt", "one line\rtwo\r\nthree\rfour", NULL);
    assert_int_equal(sis_data_count(data), 4);
    assert_string_equal(sis_data_text(data, 0), "one line");
    assert_string_equal(sis_data_text(data, 2), "three");
    sis_data_free(data);
    data = open_as("a.txt", "\none\n \nthree\n\n\n", NULL); /* blank lines, except the last */
    assert_int_equal(sis_data_count(data), 4);
    assert_string_equal(sis_data_text(data, 0), "");
    assert_string_equal(sis_data_text(data, 2), " ");
    assert_string_equal(sis_data_text(data, 3), "three");
    sis_data_free(data);
    refused("a.txt", "one\ntw\xFFo\n", "line 2: byte 3 is not UTF-8 text");
    refused_as("a.txt", "one\0", 4, NULL, "line 1: byte 4 is NUL");
}

/* The second of two texts is empty. */
static void assert_no_words(const char *name, const char *content) {
    sis_words w = {0};
    sis_data *data = open_as(name, content, NULL);
    assert_int_equal(sis_data_count(data), 2);
    assert_int_equal(sis_data_words(data, 0, &w), 0);
    assert_int_equal(w.n, 1);
    assert_int_equal(sis_data_words(data, 1, &w), 0);
    assert_int_equal(w.n, 0);
    sis_words_release(&w);
    sis_data_free(data);
}

static void a_file_may_have_no_words(void **state) {
    sis_words w = {0};
    (void)state;
    sis_data *data = open_as("a.jsonl", "{\"words\":[]}\n", NULL);
    assert_int_equal(sis_data_words(data, 0, &w), 0);
    assert_int_equal(w.n, 0);
    sis_words_release(&w);
    sis_data_free(data);
}

static void labels_stand_before_texts(void **state) {
    (void)state;
    static const struct {
        const char *text, *choice, *first, *label, *last, *last_label;
    } cases[] = {
        {"a\tb\ttext\n1\t2\tGood one\n3\t4\t\"Said \"\"no\"\".\"\n", "b", "Good one", "2",
         "Said \"no\".", "4"},
        {"a\tb\ttext\n1\t2\tGood one\n3\t4\t\"x\" y \"z\"\n", NULL, "Good one", "1",
         "\"x\" y \"z\"", "3"},
        {"Text\tstars\nGood one\t5\nBad\t1\n", NULL, "Good one", "5", "Bad", "1"},
        {"0.9 0.8 0.7\tgood one\n0.1 0.2 0.3\tbad\n", "2", "good one", "0.7", "bad", "0.3"},
        {"0.9\t0.8 0.7\tgood one\n0.1\t0.2 0.3\tbad\n", "1", "good one", "0.8", "bad", "0.2"},
        {"0.9\tgood one\n0.1\t5 stars\n", NULL, "good one", "0.9", "5 stars", "0.1"},
        {"pos\tgood one\nneg\tbad one\n", NULL, "good one", "pos", "bad one", "neg"},
        {"pos\tgood one here\r\nneg\tbad", NULL, "good one here", "pos", "bad", "neg"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_data *data = open_as("a.tsv", cases[i].text, cases[i].choice);
        assert_string_equal(sis_data_kind(data), "text");
        assert_int_equal(sis_data_count(data), 2);
        assert_string_equal(sis_data_text(data, 0), cases[i].first);
        assert_string_equal(sis_data_label(data, 0), cases[i].label);
        assert_string_equal(sis_data_text(data, 1), cases[i].last);
        assert_string_equal(sis_data_label(data, 1), cases[i].last_label);
        sis_data_free(data);
    }
    sis_data *data = open_as("a.tsv", "a\tb c\n1\t2\n", NULL);
    assert_string_equal(sis_data_kind(data), "table");
    sis_data_free(data);
    static const sis_data_opt tables[] = {
        {.size = sizeof *tables, .categorical = 1},
        {.size = sizeof *tables, .categories = "b"}}; /* options of tables */
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        assert_int_equal(
            sis_data_read(folder_text("a.tsv", "a\tb\n1\tnew york\n2\tbonn\n"), &tables[i], &data),
            0);
        assert_string_equal(sis_data_kind(data), "table");
        sis_data_free(data);
    }
    assert_int_equal(
        sis_data_read(
            folder_text("a.tsv", "a\tnew york\n"),
            &(sis_data_opt){.size = sizeof(sis_data_opt), .categorical = 2, .categories = "b"},
            &data),
        0);
    assert_string_equal(sis_data_kind(data), "text"); /* a table would have words here */
    sis_data_free(data);
    sis_data_opt opt = {
        .size = sizeof opt, .no_header = 1, .label = "2"}; /* options of tables only */
    assert_int_equal(sis_data_read(folder_text("a.tsv", "1\t2\tsetosa\n3\t4\tx\n"), &opt, &data),
                     0);
    assert_string_equal(sis_data_kind(data), "table");
    assert_string_equal(sis_data_label(data, 0), "setosa");
    sis_data_free(data);
    refused("a.tsv", "x\ty\n1\t \n", "column \"y\": expected a number, found an empty cell");
    refused("a.tsv", "a\ttext\n1\tx\n2\n",
            "line 3: expected 2 columns as on the first line, found 1");
    refused("a.tsv", "a\ttext\n1\tx\n\ty\n", "line 3: the label is missing");
    assert_no_words("a.tsv", "a\ttext\n1\tx\n2\t \n");
    refused("a.tsv", "a\ttext\n", "is empty; expected a text");
    refused("a.tsv", "1 2\tx y\n1 z\tx\n", "line 2: expected numbers, then a text");
    refused("a.tsv", "a\ttext\n1\t\xFF\n", "line 2: byte 3 is not UTF-8");
    refused_as("a.tsv", "a\ttext\n1\tx\n", 11, "zzz", "no column \"zzz\" in the header");
    refused_as("a.tsv", "1 2\tx y\n", 8, "2", "line 1: has no number 2 in front of the text");
    refused_as("a.tsv", "1 2\tx y\n", 8, "b", "give the label column by number");
}

static void json_lines_are_read(void **state) {
    (void)state;
    sis_words w = {0};
    size_t n;
    char number[SIS_ID_SIZE];
    double v;
    sis_data *data =
        open_as("a.jsonl",
                "{\"words\":[\"The\",\"HEAD\",\"isn't\",\"x "
                "y\"],\"id\":\"r1\",\"label\":1,\"human\":[2,0]}\n\n"
                "{\"words\":[\"Z\"],\"id\":7,\"label\":0.5,\"human\":[],\"other\":{}}\r\n"
                "{\"words\":[\"Z\"],\"label\":true}",
                NULL);
    assert_int_equal(sis_data_count(data), 3);
    assert_string_equal(sis_data_text(data, 0), "The HEAD isn't x y");
    assert_int_equal(sis_data_words(data, 0, &w), 0);
    words_are(&w, sis_data_text(data, 0), "the|head|isn't|x y", "The|HEAD|isn't|x y");
    assert_string_equal(sis_data_id(data, 0, number), "r1");
    assert_string_equal(sis_data_id(data, 1, number), "7");
    assert_string_equal(sis_data_id(data, 2, number), "2");
    assert_string_equal(sis_data_label(data, 0), "1");
    assert_true(sis_data_label_number(data, 1, &v) && v == 0.5);
    assert_string_equal(sis_data_label(data, 2), "1");
    const int *human = sis_data_human(data, 0, &n);
    assert_int_equal(n, 2);
    assert_int_equal(human[0], 0);
    assert_int_equal(human[1], 2);
    assert_non_null(sis_data_human(data, 1, &n));
    assert_int_equal(n, 0);
    assert_null(sis_data_human(data, 2, &n));
    sis_data_free(data);

    data = open_as("a.jsonl", "{\"text\":\"One, two!\",\"human\":[1],\"stars\":\"x\"}\n", "stars");
    assert_string_equal(sis_data_text(data, 0), "One, two!");
    assert_string_equal(sis_data_label(data, 0), "x");
    sis_data_free(data);

    data = open_as("a.jsonl", "{\"values\":[1,2.5]}\n{\"values\":[-3]}\n", NULL);
    assert_string_equal(sis_data_kind(data), "array");
    assert_int_equal(sis_data_width(data, 0), 2);
    assert_int_equal(sis_data_width(data, 1), 1);
    assert_int_equal(sis_data_values(data, 1, &v), 0);
    assert_true(v == -3);
    assert_int_equal(sis_data_words(data, 0, &w), SIS_E_ARGUMENT);
    assert_null(sis_data_text(data, 0));
    sis_data_free(data);
    sis_words_release(&w);
}

static void bad_json_lines_are_said(void **state) {
    (void)state;
    char deep[6000];
    refused("a.jsonl", "", "is empty; expected a JSON object on every line");
    refused("a.jsonl", "{\"text\":\"a\"}\n{\"text\":\n", "line 2: not a line of JSON");
    refused("a.jsonl", "[1]\n", "line 1: expected a JSON object, found a list");
    refused("a.jsonl", "{\"txt\":\"a\"}\n", "line 1: has neither \"text\" nor \"words\"");
    refused("a.jsonl", "{\"text\":\"a\",\"words\":[\"a\"]}\n", "has both \"text\" and \"words\"");
    refused("a.jsonl", "{\"text\":\"a\"}\n{\"words\":[\"a\"]}\n",
            "line 2: has \"words\" where the lines before have \"text\"");
    assert_no_words("a.jsonl", "{\"text\":\"x\"}\n{\"text\":\" \",\"human\":[]}\n");
    assert_no_words("a.jsonl", "{\"words\":[\"x\"]}\n{\"words\":[]}\n");
    refused("a.jsonl", "{\"text\":1}\n", "field \"text\": expected text");
    refused("a.jsonl", "{\"words\":1}\n", "expected a list of words");
    refused("a.jsonl", "{\"words\":[\"a\",\"\"]}\n", "word 1 is empty");
    refused("a.jsonl", "{\"words\":[\"a\",2]}\n", "word 1 is no text");
    refused("a.jsonl", "{\"values\":[1,\"a\"]}\n", "value 1 is no number");
    refused("a.jsonl", "{\"values\":[1e999]}\n", "not a line of JSON");
    refused("a.jsonl", "{\"text\":\"a b\",\"human\":[2]}\n", "entry 0 is not a number from 0 to 1");
    refused("a.jsonl", "{\"text\":\"!?\",\"human\":[0]}\n", "\"human\": the text has no words");
    refused("a.jsonl", "{\"text\":\"a b\",\"human\":[1,1]}\n", "1 occurs twice");
    refused("a.jsonl", "{\"text\":\"a b\",\"human\":1}\n", "field \"human\": expected a list");
    refused("a.jsonl", "{\"text\":\"a\",\"id\":[]}\n", "field \"id\": expected text or a number");
    refused("a.jsonl", "{\"text\":\"a\xFF\"}\n", "line 1: not a line of JSON");
    refused("a.jsonl", "{\"text\":\"a\",\"text\":\"b\"}\n",
            "line 1: not a line of JSON: duplicate");
    refused("a.jsonl", "{\"text\":\"a\\u0000b\"}\n", "line 1: not a line of JSON");
    refused_as("a.jsonl", "{\"text\":\"a\"}\0\n", 14, NULL, "line 1: a NUL byte");
    refused_as("a.jsonl", "{\"text\":\"a\"}\n", 13, "y", "line 1: has no field \"y\"");
    memset(deep, '[', sizeof deep);
    refused_as("a.jsonl", deep, sizeof deep, NULL, "line 1: not a line of JSON: maximum");
}

static void real_files_are_read(void **state) {
    (void)state;
    sis_data *data;
    sis_data_opt opt;
    size_t n;
    sis_data_opt_init(&opt);
    const char *path = shared_data("text/beer_aspects.tsv");
    opt.label = "palate";
    if (path) {
        assert_int_equal(sis_data_read(path, &opt, &data), 0);
        assert_int_equal(sis_data_count(data), 2469);
        assert_string_equal(sis_data_label(data, 0), "1.5");
        sis_data_free(data);
    }
    opt.label = "actual";
    if ((path = shared_data("text/palate_annotated.jsonl"))) {
        assert_int_equal(sis_data_read(path, &opt, &data), 0);
        assert_int_equal(sis_data_count(data), 249);
        assert_string_equal(sis_data_label(data, 0), "0.7");
        assert_int_equal(sis_data_human(data, 0, &n)[0], 44);
        assert_int_equal(n, 13);
        sis_data_free(data);
    }
    if ((path = shared_data("text/movies_rationales.jsonl.gz"))) {
        char number[SIS_ID_SIZE];
        assert_int_equal(sis_data_read(path, NULL, &data), 0);
        assert_int_equal(sis_data_count(data), 1800);
        assert_string_equal(sis_data_id(data, 0, number), "negR_000");
        assert_string_equal(sis_data_label(data, 0), "0");
        sis_data_free(data);
    }
}

static void read_and_free(const char *path) {
    sis_data *data = NULL;
    sis_words w = {0};
    int code = sis_data_read(path, NULL, &data);
    assert_true(code == SIS_E_FORMAT || code == SIS_OK);
    for (size_t i = 0; data && sis_data_text(data, 0) && i < sis_data_count(data); i++)
        assert_int_equal(sis_data_words(data, i, &w), 0);
    sis_words_release(&w);
    sis_data_free(data);
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    static const char json[] =
        "{\"words\":[\"The\",\"\xC3\x84h\"],\"id\":\"r\",\"label\":1,\"human\":[1]}\n"
        "{\"words\":[\"Z\"],\"values\":null}\n";
    static const char tsv[] = "a\ttext\n1\t\"Good \"\"one\"\"\"\n2\tB\xC3\x84 d\n";
    with_spoiled_files("s.jsonl", json, sizeof json - 1, 2000, read_and_free);
    with_spoiled_files("s.tsv", tsv, sizeof tsv - 1, 2000, read_and_free);
    with_spoiled_files("s.txt", tsv, sizeof tsv - 1, 500, read_and_free);
}

static int read_once(void *ctx) {
    sis_data *data;
    sis_words w = {0};
    int code = sis_data_read((const char *)ctx, NULL, &data);
    if (code == SIS_OK)
        code = sis_data_words(data, 0, &w);
    sis_words_release(&w);
    sis_data_free(data);
    return code;
}

/* Texts of a table, in memory or read in blocks. */
static int read_column(const char *path, size_t memory, sis_data **out) {
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    opt.text = "text";
    opt.id = "id";
    opt.label = "label";
    opt.memory = memory;
    return sis_data_read(path, &opt, out);
}

static int read_column_once(void *ctx) {
    sis_data *data;
    int code = read_column((const char *)ctx, 0, &data);
    sis_data_free(data);
    return code;
}

static void texts_are_a_column_of_a_table(void **state) {
    char table[20000] = "id,other,label,text\r\n", expected[64], a[SIS_ID_SIZE], b[SIS_ID_SIZE];
    sis_data *whole, *blocks;
    (void)state;
    for (int i = 0; i < 300; i++)
        snprintf(table + strlen(table), sizeof table - strlen(table),
                 "i%d,7,%d,\"text \"\"%d\"\",\nsecond line\"\r\n", i, i % 3, i);
    const char *path = folder_text("column.csv", table);
    assert_int_equal(read_column(path, 0, &whole), 0);
    assert_int_equal(read_column(path, 1000, &blocks), 0);
    assert_int_equal(sis_data_count(whole), 300);
    assert_int_equal(sis_data_count(blocks), 300);
    for (size_t i = 300; i-- > 0;) {
        snprintf(expected, sizeof expected, "text \"%zu\",\nsecond line", i);
        assert_string_equal(sis_data_text(whole, i), expected);
        assert_string_equal(sis_data_text(blocks, i), expected);
        assert_string_equal(sis_data_id(whole, i, a), sis_data_id(blocks, i, b));
        assert_string_equal(sis_data_label(whole, i), sis_data_label(blocks, i));
    }
    snprintf(expected, sizeof expected, "i%d", 299);
    assert_string_equal(sis_data_id(whole, 299, a), expected);
    sis_data_free(whole);
    sis_data_free(blocks);
    char few[2048];
    snprintf(few, sizeof few, "%s", folder_text("few.csv", "id,label,text\na,1,b c\nd,0,\n"));
    assert_true(with_failing_allocations(read_column_once, few) > 4);
    assert_int_equal(read_column(folder_text("few.csv", "id,label,text\na,,b\n"), 0, &whole),
                     SIS_E_FORMAT);
    assert_message_has("few.csv, line 2: the label is missing");
    assert_int_equal(read_column(folder_text("few.csv", ""), 0, &whole), SIS_E_FORMAT);
    assert_int_equal(read_column(folder_text("few.csv", "id,label,text\na,1,\"b"), 0, &whole),
                     SIS_E_FORMAT);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    static const char *const files[][2] = {
        {"m.txt", "one two\nthree\n"},
        {"m.tsv", "pos\tgood one\nneg\tbad one\n"},
        {"m.jsonl", "{\"words\":[\"a\",\"b\"],\"id\":1,\"label\":\"x\",\"human\":[1]}\n"},
        {"n.jsonl", "{\"text\":\"a b\",\"label\":0.5,\"human\":[1]}\n"}};
    for (size_t i = 0; i < 4; i++) {
        char path[2048];
        snprintf(path, sizeof path, "%s", folder_text(files[i][0], files[i][1]));
        assert_true(with_failing_allocations(read_once, path) > 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_split_like_keras_does),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(lines_are_texts),
        cmocka_unit_test(a_file_may_have_no_words),
        cmocka_unit_test(labels_stand_before_texts),
        cmocka_unit_test(json_lines_are_read),
        cmocka_unit_test(bad_json_lines_are_said),
        cmocka_unit_test(real_files_are_read),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(texts_are_a_column_of_a_table),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
