/* SPDX-License-Identifier: MIT
 *
 * main() of the unit tests of a folder:
 *   unit_FOLDER                 run the tests of every file
 *   unit_FOLDER NAME [ARG...]   run those of tests/unit/test_NAME.c
 *   unit_FOLDER --list          print the names
 */
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *no_args[] = {NULL};
char **test_args = no_args;
static const char *program;

const char *test_command(const char *file, const char *args) {
    static char command[8400];
    char *path = realpath(program, NULL);
    snprintf(command, sizeof command, "exec " SIS_EMULATOR "'%s' %s %s", path ? path : program,
             file, args);
    free(path);
    return command;
}

static const test_file *find(const char *name) {
    const test_file *file = test_files;
    while (file->name && strcmp(file->name, name) != 0)
        file++;
    return file->name ? file : NULL;
}

int main(int argc, char **argv) {
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (const test_file *file = test_files; file->name; file++)
            puts(file->name);
        return 0;
    }
    if (argc > 1) {
        const test_file *file = find(argv[1]);
        test_args = argv + 2;
        if (file)
            return file->run();
        fprintf(stderr, "%s: no file test_%s.c; --list prints the names\n", argv[0], argv[1]);
        return 2;
    }
    int failed = 0;
    for (const test_file *file = test_files; file->name; file++)
        failed += file->run() != 0;
    return failed > 0;
}
