/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a tokenizer.json, or (what does not begin as JSON) as a vocab.txt; texts of many kinds
 * of characters, and the bytes themselves, through what can be read.
 */
#include <sis/text.h>

#include "fuzz_data.h"

FUZZ_START("{\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
           "\"handle_chinese_chars\":true,\"lowercase\":true},\"pre_tokenizer\":{\"type\":"
           "\"ByteLevel\",\"add_prefix_space\":true},\"model\":{\"type\":\"BPE\",\"unk_token\":"
           "null,\"vocab\":{\"a\":0,\"b\":1,\"ab\":2,\"\\u0120\":3},\"merges\":[\"a b\"]},"
           "\"added_tokens\":[{\"id\":4,\"content\":\"[MASK]\",\"special\":true}]}")

static void encode(const sis_tokenizer *t, const char *text) {
    sis_tokens tokens = {0};
    sis_tokenizer_encode(t, text, 0, &tokens);
    sis_tokenizer_encode(t, text, 5, &tokens);
    for (size_t i = 0; i < tokens.n; i++)
        sis_tokenizer_word(t, (size_t)tokens.items[i].id);
    sis_tokens_release(&tokens);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {
    sis_tokenizer *t;
    char itself[256];
    const char *path = fuzz_file(bytes, n, n && bytes[0] == '{' ? ".json" : ".txt");
    if (sis_tokenizer_read(path, &t) == 0) {
        snprintf(itself, sizeof itself, "%.*s", n < 200 ? (int)n : 200, (const char *)bytes);
        encode(t, itself);
        encode(t, "Ab ab, the film's d\xC3\xA9j\xC3\xA0 vu: 12,5 \xE6\x98\xA0\xE7\x94\xBB [MASK] "
                  "\xF0\x9F\x98\x80\xFF");
        encode(t, "");
        sis_tokenizer_find(t, "ab");
        sis_tokenizer_special(t, SIS_SPECIAL_MASK);
    }
    sis_tokenizer_free(t);
    unlink(path);
    return 0;
}
