/* SPDX-License-Identifier: MIT
 *
 * Lowering: a document as it was read becomes one of the operators that plans run. Functions are put in
 * the place of their calls, branches whose condition is known in the place of If, and operators that
 * are others put together become these.
 */
#ifndef SIS_NET_LOWER_LOWER_H
#define SIS_NET_LOWER_LOWER_H

struct Sis__Onnx__Model;

/* All steps, in the document. What cannot be lowered stays; the plan that needs it refuses it. */
int sis__lower(struct Sis__Onnx__Model *doc);

/* Put the branch that is taken in the place of every If whose condition follows from constants and from
 * shapes of inputs (branches.c). */
int sis__lower_branches(struct Sis__Onnx__Model *doc);

#endif
