/* SPDX-License-Identifier: MIT
 *
 * Excerpts of long texts: the words of the subsets and a few on either side of each.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/text.h"

enum { LONG = 100 /* words */, CONTEXT = 8, BEGIN = 30 /* where there are no subsets */ };

unsigned char *sis__excerpt(const sis_record *r) {
    size_t n = r->drawing.n_words, kept = 0;
    if (r->drawing.unit || n <= LONG)
        return NULL;
    unsigned char *keep = SIS_NEW(unsigned char, n);
    if (!keep)
        return NULL;
    for (size_t k = 0; k < r->collection.n_subsets; k++)
        for (size_t i = 0; i < r->collection.subsets[k].n; i++) {
            size_t at = (size_t)r->collection.subsets[k].features[i];
            size_t from = at > CONTEXT ? at - CONTEXT : 0;
            for (size_t w = from; w <= at + CONTEXT && w < n; w++)
                keep[w] = 1;
        }
    if (r->collection.n_subsets == 0)
        memset(keep, 1, BEGIN);
    for (size_t w = 0; w < n; w++)
        kept += keep[w];
    if (kept < n)
        return keep;
    free(keep);
    return NULL;
}
