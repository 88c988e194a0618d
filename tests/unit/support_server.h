/* SPDX-License-Identifier: MIT
 *
 * tests/model/server.py for unit tests: models behind HTTP, with faults on demand.
 */
#ifndef SIS_TEST_SUPPORT_SERVER_H
#define SIS_TEST_SUPPORT_SERVER_H

#include <sis/model.h>

#include "support.h"

/* Start it; it ends with this process. NULL, with a line that says so, where there is no python3
 * or no libcurl. "http://127.0.0.1:PORT", static storage. */
const char *server_start(void);

/* Its model at `path`, a printf format; static storage. */
const char *server_address(const char *path, ...) __attribute__((format(printf, 1, 2)));

#endif
