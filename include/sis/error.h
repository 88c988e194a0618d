/* SPDX-License-Identifier: MIT
 *
 * sis/error.h - error codes and messages.
 *
 * Stable: declarations do not change as long as SIS_ABI stays the same.
 *
 * Functions return 0 on success, or a negative code below. The library never prints and never
 * exits. `sis_error_detail()` is one line about the last failure of the calling thread: which file,
 * which row, what was found and what was expected.
 */
#ifndef SIS_ERROR_H
#define SIS_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* code, number, meaning. Codes, names and texts are generated from this list. */
#define SIS_ERRORS(X)                                                                              \
    X(NOMEM, -1, "out of memory")                                                                  \
    X(ARGUMENT, -2, "invalid argument")                                                            \
    X(IO, -3, "input or output failed")                                                            \
    X(FORMAT, -4, "malformed data")                                                                \
    X(MODEL, -5, "the model failed")                                                               \
    X(NAN, -6, "the model returned NaN")                                                           \
    X(CANCELLED, -7, "cancelled")                                                                  \
    X(UNSUPPORTED, -8, "not supported")                                                            \
    X(OPTION, -9, "an option that makes no sense")                                                 \
    X(UNSTABLE, -10, "the model returned another score for the same row")

enum sis_error {
    SIS_OK = 0,
#define SIS_ERROR_CODE(name, number, text) SIS_E_##name = number,
    SIS_ERRORS(SIS_ERROR_CODE)
#undef SIS_ERROR_CODE
};

/* "NOMEM", ...; "OK" for 0 and "UNKNOWN" for anything else. */
const char *sis_error_name(int code);

/* The meaning of the code in words. */
const char *sis_error_text(int code);

/* The message of the calling thread's last failure; "" if there is none. Valid until the next
 * failing call of the same thread. */
const char *sis_error_detail(void);

/* Replace that message. For predict callbacks: say what went wrong, then return SIS_E_MODEL. */
void sis_error_set(const char *message);

#ifdef __cplusplus
}
#endif
#endif
