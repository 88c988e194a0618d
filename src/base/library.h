/* SPDX-License-Identifier: MIT
 *
 * Libraries loaded on first use: HTTP client, HTTP server, PNG figures, other runtimes. Most runs
 * need none of them. Linking libcurl, libmicrohttpd and cairo would load some fifty libraries and
 * take most of the start-up time.
 *
 * A user lists the functions it takes of one, and has a struct with a pointer to each:
 *
 *     #define CALLS(X) X(easy_init) X(easy_perform) ...
 *     static struct {
 *     #define POINTER(name) __typeof__(curl_##name) *name;
 *         CALLS(POINTER)
 *     } curl;
 */
#ifndef SIS_BASE_LIBRARY_H
#define SIS_BASE_LIBRARY_H

/* Open the first of these files (up to NULL) that the system's loader finds. It stays loaded. NULL
 * if none is found; dlerror() has the reason for the last one. */
void *sis__library_open(const char *const *files);

/* Store the address of a function in the pointer at `to`. Returns 0 if the library does not have
 * it. */
int sis__library_take(void *library, const char *name, void *to);

#endif
