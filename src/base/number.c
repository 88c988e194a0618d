/* SPDX-License-Identifier: MIT
 *
 * Numbers as text. See number.h. uselocale() changes the locale of the calling thread only.
 */
#include "base/number.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static locale_t plain; /* kept until the process ends */

static void make_plain(void) {
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

locale_t sis__plain_enter(void) {
    pthread_once(&once, make_plain);
    return uselocale(plain);
}

double sis__number(const char *text, char **end) {
    locale_t before = sis__plain_enter();
    double v = strtod(text, end);
    uselocale(before);
    return v;
}

float sis__number_float(const char *text, char **end) {
    locale_t before = sis__plain_enter();
    float v = strtof(text, end);
    uselocale(before);
    return v;
}

int sis__vformat(char *text, size_t size, const char *format, va_list args) {
    locale_t before = sis__plain_enter();
    int n = vsnprintf(text, size, format, args);
    uselocale(before);
    return n;
}

int sis__format(char *text, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = sis__vformat(text, size, format, args);
    va_end(args);
    return n;
}
