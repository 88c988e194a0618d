/* SPDX-License-Identifier: MIT
 *
 * Error codes, their names, and each thread's message about its last failure. The buffer is
 * thread-local and has a fixed size, so reporting a failure cannot fail.
 */
#include "base/error.h"
#include "base/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { DETAIL_SIZE = 1024 };

static _Thread_local char detail[DETAIL_SIZE];

const char *sis_error_name(int code) {
    switch (code) {
    case SIS_OK:
        return "OK";
#define NAME(name, number, text)                                                                   \
    case SIS_E_##name:                                                                             \
        return #name;
        SIS_ERRORS(NAME)
#undef NAME
    default:
        return "UNKNOWN";
    }
}

const char *sis_error_text(int code) {
    switch (code) {
    case SIS_OK:
        return "success";
#define TEXT(name, number, text)                                                                   \
    case SIS_E_##name:                                                                             \
        return text;
        SIS_ERRORS(TEXT)
#undef TEXT
    default:
        return "unknown error";
    }
}

const char *sis_error_detail(void) {
    return detail;
}

int sis__fail(int code, const char *format, ...) {
    char text[DETAIL_SIZE]; /* the arguments may point into `detail` */
    va_list args;
    va_start(args, format);
    sis__vformat(text, sizeof text, format, args);
    va_end(args);
    memcpy(detail, text, sizeof detail);
    return code;
}

int sis__fail_in(int code, const char *format, ...) {
    char text[DETAIL_SIZE];
    va_list args;
    va_start(args, format);
    sis__vformat(text, sizeof text, format, args);
    va_end(args);
    strncat(text, ": ", sizeof text - strlen(text) - 1);
    strncat(text, detail, sizeof text - strlen(text) - 1);
    memcpy(detail, text, sizeof detail);
    return code;
}

void sis_error_set(const char *message) {
    snprintf(detail, sizeof detail, "%s", message);
}

int sis__fail_unstable(double first, double again) {
    static const char *const why =
        "an explanation needs a model that is a function of its input; is dropout left on, does it "
        "sample, or is there noise in a server?";
    if (isnan(first) || isnan(again))
        return sis__fail(SIS_E_UNSTABLE, "the model returned another score for the same row: %s",
                         why);
    return sis__fail(SIS_E_UNSTABLE,
                     "the model returned another score for the same row (%.9g, then %.9g): %s",
                     first, again, why);
}
