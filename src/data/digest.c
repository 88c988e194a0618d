/* SPDX-License-Identifier: MIT
 *
 * The digest of a file's content, to check that it is the expected file. It is computed after
 * unpacking, so recompressing a file does not change it.
 */
#include <sis/data.h>
#include <sis/files.h>

#include "base/error.h"
#include "base/sha256.h"
#include "data/source.h"

int sis_file_digest(const char *path, char hex[SIS_DIGEST_SIZE]) {
    sis__sha256 s;
    sis__source from;
    hex[0] = '\0';
    sis__sha256_init(&s);
    int code = sis__source_open(&from, path);
    while (code == SIS_OK && sis__source_peek(&from) != SIS__SOURCE_END) {
        sis__sha256_add(&s, from.chunk + from.next, from.filled - from.next);
        from.next = from.filled;
    }
    code = code == SIS_OK ? from.error : code;
    sis__source_close(&from);
    if (code == SIS_OK)
        sis__sha256_text(&s, hex);
    return code;
}
