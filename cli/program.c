/* SPDX-License-Identifier: MIT
 *
 * The program `sis`: its name, manual page and list of commands. Each command has its own file;
 * command.c, option.c, help.c and progress.c hold what they share.
 */
#include <sis/sis.h>

#include "cli.h"

static const cli_command *const commands[] = {
#define COMMAND(name) &cli_##name,
    CLI_COMMANDS(COMMAND)
#undef COMMAND
        NULL,
};

const cli_program cli_sis = {
    .name = "sis",
    .version = SIS_VERSION,
    .summary = "which part of this input was enough for the decision?",
    .description =
        "A model maps an input to a score and decides by comparing it with a threshold. sis finds "
        "the sufficient input subsets of such a decision: minimal sets of features that still lead "
        "to it when everything else is masked. It works with any model: networks in ONNX files, "
        "boosted trees, programs and servers.\n\n"
        "Results are written to standard output or to the file given by --output. Progress and "
        "messages go to standard error.",
    .examples =
        (const cli_example[]){{"sis demo", "Explain decisions of the models that come with sis."},
                              {"sis explain -m 'cmd:./score.py' -i cases.csv --mask "
                               "mean:cases.csv -t 0.8 | sis show -",
                               "Explain the decisions of the program score.py and print them."},
                              {0}},
    .commands = commands,
};
