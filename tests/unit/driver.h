/* SPDX-License-Identifier: MIT
 *
 * The unit tests of a folder of src/ are one program. CMake generates its table of files: one entry for each
 * tests/unit/test_NAME.c, whose main() is compiled under the name test_NAME.
 */
#ifndef SIS_TEST_DRIVER_H
#define SIS_TEST_DRIVER_H

typedef struct test_file {
    const char *name;
    int (*run)(void);
} test_file;

extern const test_file test_files[]; /* ends with an entry whose name is NULL */

/* The arguments behind the name of the file; test_args[0] is NULL if there are none. */
extern char **test_args;

/* The command by which a shell starts `file` again with the arguments `args`; static storage. */
const char *test_command(const char *file, const char *args);

#endif
