/* SPDX-License-Identifier: MIT
 *
 * Any bytes as the answer of a language model's server: libFuzzer looks for those that crash, hang or give a score that
 * is no number. The first byte says which form of answer, the second which characters are the answer's.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/error.h>

#include "base/json.h"
#include "model/llm_read.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n);
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t n, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(unsigned char *bytes, size_t n, size_t max);

enum { HEAD = 2 };

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {
    sis__llm_tokens t = {0};
    double logprob;
    int bounded = 0, error = SIS_E_MODEL;
    if (n <= HEAD)
        return 0;
    json_t *json = sis__json_load((const char *)bytes + HEAD, n - HEAD, JSON_DECODE_ANY, NULL);
    if (!json)
        return 0;
    if (bytes[0] / 3 % 2) { /* lists as generated tokens */
        json_t *list = sis__llm_list_tokens(json);
        json_decref(json);
        json = list;
    }
    if (bytes[0] % 3 == 0)
        error = sis__llm_read_echo(json, "a b a b \303\251 Oslo a b a b a b a b a b", bytes[1] % 16,
                                   bytes[1] % 16 + bytes[1] / 16u, &t);
    else if (bytes[0] % 3 == 1)
        error = sis__llm_read_generated(json, bytes[1] % 2 ? " Oslo" : "\303\251", &t);
    else
        sis__llm_read_first(json, "yes", &logprob, &bounded);
    if (error == SIS_OK && !(isfinite(t.margin) && isfinite(t.sum) && t.n > 0))
        abort();
    json_decref(json);
    return 0;
}

/* Where there is nothing to begin with, these: libFuzzer would need long to find brackets. */
size_t LLVMFuzzerCustomMutator(unsigned char *bytes, size_t n, size_t max, unsigned seed) {
    static const char *const begin[] = {
        "\3\x11{\"logprobs\":{\"tokens\":[\"a\",\" "
        "b\"],\"text_offset\":[0,1],\"token_logprobs\":[null,-1],"
        "\"top_logprobs\":[null,{\" b\":-1,\"x\":-3}]}}",
        "\1\1[{\"token\":\" "
        "Oslo\",\"bytes\":[32,79],\"logprob\":-0.5,\"top_logprobs\":[{\"token\":\" Oslo\","
        "\"logprob\":-0.5},{\"id\":7,\"token\":\"x\",\"logprob\":-2}]}]",
        "\2\1[{\"logprob\":-1,\"top_logprobs\":[{\"token\":\" yes\",\"logprob\":-1}]}]"};
    if (n < HEAD + 1) {
        const char *text = begin[seed % (sizeof begin / sizeof *begin)];
        n = strlen(text) < max ? strlen(text) : max;
        memcpy(bytes, text, n);
    }
    return LLVMFuzzerMutate(bytes, n, max);
}
