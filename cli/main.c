/* SPDX-License-Identifier: MIT
 *
 * The program `sis`: see program.c for what it is made of.
 */
#include "cli.h"

int main(int argc, char **argv) {
    cli_interrupt_init();
    return cli_main(&cli_sis, argc, argv);
}
