/* SPDX-License-Identifier: MIT
 *
 * Libraries that are loaded when they are first needed. Few runs use a connection, a server, a PNG
 * figure or another runtime; the others neither need nor load them. libcurl, libmicrohttpd and cairo
 * bring some fifty libraries, most of the time that the program would take to start.
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

/* The first of these files (up to NULL) that is there, wherever the system looks for libraries. It
 * stays loaded. NULL if there is none; dlerror() has the reason of the last. */
void *sis__library_open(const char *const *files);

/* The address of a function into the pointer at `to`. 0 if the library has none. */
int sis__library_take(void *library, const char *name, void *to);

#endif
