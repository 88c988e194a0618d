/* SPDX-License-Identifier: MIT
 *
 * demo.h - shared by the files of sis demo.
 */
#ifndef SIS_CLI_DEMO_H
#define SIS_CLI_DEMO_H

#include "cli.h"

/* Draw a few digits in the format of MNIST and write them as an IDX file. CLI_DONE, or CLI_FAILED
 * after an error line. */
int cli_demo_digits(const char *path);

#endif
