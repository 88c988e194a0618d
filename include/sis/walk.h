/* SPDX-License-Identifier: MIT
 *
 * sis/walk.h - backward selection, and the walks that evaluate its steps.
 *
 * Experimental: may change from one version to the next.
 */
#ifndef SIS_WALK_H
#define SIS_WALK_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/sis.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- One backward selection ---------------------------------------------------------------- */

/* Mask features one at a time, always the one that leaves the highest (below: lowest) score, ties
 * to the lowest number, from the walk's current state until none is left. opt->threshold is only
 * read for early_stop. */
int sis_backselect(sis_walk *walk, const sis_opt *opt, sis_trace *out);


/* ---- Walks --------------------------------------------------------------------------------- */

/* Backward selection needs two operations: probe (the score if feature i were masked too, for each
 * i still present) and mask (mask i permanently). A walk implements both for one input. The batch
 * walk works for every model: it builds rows in chunks within the memory limit, rewrites only what
 * changes between them and caches scores. Networks of sis/net.h have incremental walks.
 */

typedef struct sis_walk_ops {
    /* Restart with `masked` (n_features flags) masked; *margin is that state's margin. */
    int (*reset)(sis_walk *w, const unsigned char *masked, double *margin);
    /* margins[k] = margin if features[k] were masked too. features: present, ascending. The result
     * may equal the current margin to the bit only for a feature that provably changes nothing.
     * With w->wants set it may be -wants * INFINITY for a feature that is provably not the best. */
    int (*probe)(sis_walk *w, const int *features, size_t n, double *margins);
    /* Mask a feature permanently; *margin is the new state's margin, as returned by probe. */
    int (*mask)(sis_walk *w, int feature, double *margin);
    void (*free)(sis_walk *w);
} sis_walk_ops;

/* The first member of every walk; filled by its creator. */
struct sis_walk {
    const sis_walk_ops *ops;
    double tolerance; /* the largest difference of a probed margin m from a full pass: tolerance *
                         (1 + |m|). Closer candidates are decided by full passes. 0: exact */
    int wants;        /* set by the library: 1 while it needs the highest margin, -1 for the lowest,
                         0 if it needs all margins */
    size_t evaluations;           /* masked copies evaluated so far */
    struct sis_walk_state *state; /* private to the library: what is masked */
};

/* A walk over `input`: the model's own, or the batch walk (with opt->exact, or if the model has
 * none). Borrows `input` and `model`. Starts with the input's absent features masked. Values equal
 * to their mask change nothing and are never evaluated. */
int sis_walk_new(const sis_model *model, const sis_input *input, const sis_opt *opt,
                 sis_walk **out);
void sis_walk_free(sis_walk *w);

/* Restart with these features masked (n_features flags; NULL: the input's absent ones). */
int sis_walk_reset(sis_walk *w, const unsigned char *masked);

/* scores[k] = score if features[k] were masked too. Features in any order. */
int sis_walk_probe(sis_walk *w, const int *features, size_t n, double *scores);

/* Mask one feature permanently; *score (may be NULL) is the score of the new state. */
int sis_walk_mask(sis_walk *w, int feature, double *score);

double sis_walk_score(const sis_walk *w); /* of the current state */
size_t sis_walk_features(const sis_walk *w);
int sis_walk_masked(const sis_walk *w, int feature);
int sis_walk_is_own(const sis_walk *w); /* the model's own, not the batch walk */

#ifdef __cplusplus
}
#endif
#endif
