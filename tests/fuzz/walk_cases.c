/* SPDX-License-Identifier: MIT
 *
 * walk_cases COUNT [FIRST [SECONDS]]: the networks and questions of fuzz_walk.c, by their numbers
 * FIRST, FIRST + 1 ..., compiled as users have the library: without sanitizers, and so some ten
 * times as many a second. What differs ends the program with the number of the case, which
 * `walk_cases 1 NUMBER` asks again; SIS_FUZZ_KEEP=FILE keeps it for tests/fuzz/walk. After every 4,000th, a
 * network with a large map is asked too, and after every 100th one with convolutions in tiles.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n);

static volatile unsigned long present;

static void tell(int sig) {
    fprintf(stderr, "case %lu\n", present);
    signal(sig, SIG_DFL);
    raise(sig);
}

static void ask(unsigned char kind, uint32_t number) {
    unsigned char bytes[5] = {kind};
    for (size_t i = 0; i < 4; i++)
        bytes[1 + i] = (unsigned char)(number >> 8 * i);
    LLVMFuzzerTestOneInput(bytes, sizeof bytes);
}

int main(int argc, char **argv) {
    unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, k;
    unsigned long first = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    double end = sis__seconds() + (argc > 3 ? atof(argv[3]) : 1e9);
    signal(SIGABRT, tell);
    signal(SIGSEGV, tell);
    for (k = 0; k < count && sis__seconds() < end; k++) {
        present = first + k;
        ask(0, (uint32_t)present);
        if (present % 4000 == 0)
            ask(2, (uint32_t)present);
        if (present % 100 == 0)
            ask(3, (uint32_t)present);
    }
    printf("%lu cases from %lu on, no difference\n", k, first);
    return 0;
}
