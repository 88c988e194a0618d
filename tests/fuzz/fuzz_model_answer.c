/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the answer of a model's server: libFuzzer looks for those that crash or hang. The
 * first bytes say which protocol, how many rows, whether an output is asked for by name, and how
 * much of the body is JSON. An answer that teaches a number of outputs is read once more for its
 * scores.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/error.h>

#include "model/http.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t n, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t n, size_t max);

enum { HEAD = 4 };

static int read_answer(const sis__asked *asked, const unsigned char *bytes, size_t n, size_t json,
                       size_t *outputs, double *scores) {
    char *body = malloc(n + 1); /* reading may change it */
    if (!body)
        return SIS_E_NOMEM;
    memcpy(body, bytes, n);
    body[n] = '\0';
    int code = sis__http_read(asked, body, n, json, outputs, scores);
    free(body);
    return code;
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {
    if (n < HEAD)
        return 0;
    sis__asked asked = {.protocol = (sis__protocol)(bytes[0] % 3),
                        .output = bytes[0] & 4 ? "y" : NULL,
                        .rows = 1 + bytes[1] % 4,
                        .number = 1};
    asked.sent = asked.rows + (bytes[1] & 64 ? 1 : 0);
    size_t json = bytes[2] + 256u * (bytes[3] & 3), outputs = 0;
    bytes += HEAD;
    n -= HEAD;
    if (read_answer(&asked, bytes, n, json, &outputs, NULL) != SIS_OK || outputs > 4096)
        return 0;
    double *scores = malloc(sizeof *scores * asked.rows * outputs);
    if (scores)
        read_answer(&asked, bytes, n, json, &outputs, scores);
    free(scores);
    return 0;
}

/* Where there is nothing to begin with, these: libFuzzer would need long to find brackets. */
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t n, size_t max, unsigned seed) {
    static const char *const begin[] = {
        "\0\0\0\0{\"id\":\"1\",\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[1,2],"
        "\"data\":[0.5,NaN]}]}",
        "\0\1\134\0{\"outputs\":[{\"name\":\"y\",\"datatype\":\"INT8\",\"shape\":[2,2],"
        "\"parameters\":"
        "{\"binary_data_size\":4}}]}abcd",
        "\1\1\0\0{\"predictions\":[[0.5,-Infinity],[1,2]]}",
        "\5\0\0\0{\"predictions\":[{\"y\":[1,2],\"z\":\"a\"}]}", "\2\0\0\0{\"error\":\"why\"}"};
    if (n < HEAD + 1) {
        const char *text = begin[seed % (sizeof begin / sizeof *begin)];
        n = HEAD + strlen(text + HEAD);
        n = n < max ? n : max;
        memcpy(bytes, text, n);
    }
    return LLVMFuzzerMutate(bytes, n, max);
}
