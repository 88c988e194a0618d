/* SPDX-License-Identifier: MIT
 *
 * Models behind `cmd:` for tests: most children are a line of shell.
 */
#ifndef SIS_TEST_SUPPORT_COMMAND_H
#define SIS_TEST_SUPPORT_COMMAND_H

#include <sis/model.h>

#include "support.h"

/* Answers that text to every request. */
#define ANSWER(text) "while IFS= read -r line; do echo '" text "'; done"
/* Answers that text for each row of numbers. */
#define ANSWER_ROWS(text)                                                                          \
    "while IFS= read -r line; do echo \"$line\" | sed 's/\\[[^][]*\\]/" text                       \
    "/g; s/inputs/outputs/'; done"
/* Answers the rows it was asked about. */
#define ECHO                                                                                       \
    "while IFS= read -r line; do printf '%s\\n' \"{\\\"outputs\\\"${line#*inputs\\\"}\"; done"

extern const double ROW[3];

sis_model open_model(const char *spec, double timeout);

#endif
