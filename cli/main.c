/* SPDX-License-Identifier: MIT
 *
 * The entry point of `sis`. program.c lists its commands.
 */
#include "cli.h"

int main(int argc, char **argv) {
    cli_interrupt_init();
    return cli_main(&cli_sis, argc, argv);
}
