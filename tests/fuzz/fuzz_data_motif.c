/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a file of motifs.
 */
#include <sis/dna.h>

#include "fuzz_data.h"

FUZZ_START(">M1 x\nA [ 1 2 ]\nC [ 1 2 ]\nG [ 1 2 ]\nT [ 0 2 ]\n")

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {
    sis_motifs motifs;
    const char *path = fuzz_file(bytes, n, ".pfm");
    if (sis_motifs_read(path, &motifs) == 0)
        sis_motifs_find(&motifs, "M1");
    sis_motifs_release(&motifs);
    unlink(path);
    return 0;
}
