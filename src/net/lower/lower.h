/* SPDX-License-Identifier: MIT
 *
 * Lowering turns a document into one that uses only operators that plans can run: calls of
 * functions and If nodes with a known condition are inlined, and compound operators are replaced by
 * simpler ones.
 */
#ifndef SIS_NET_LOWER_LOWER_H
#define SIS_NET_LOWER_LOWER_H

struct Sis__Onnx__Model;

/* Run all steps on the document. Operators that cannot be lowered stay; a plan that needs one
 * refuses it. */
int sis__lower(struct Sis__Onnx__Model *doc);

/* Inline the chosen branch of every If whose condition depends only on constants and shapes of
 * inputs (branches.c). */
int sis__lower_branches(struct Sis__Onnx__Model *doc);

#endif
