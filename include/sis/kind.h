/* SPDX-License-Identifier: MIT
 *
 * sis/kind.h - kinds of inputs: from readers (sis_data_kind), in the metadata of models
 * (SIS_NET_META_KIND) and as text in records (sis_record.kind).
 *
 * Stable: declarations do not change as long as SIS_ABI stays the same.
 */
#ifndef SIS_KIND_H
#define SIS_KIND_H

#ifdef __cplusplus
extern "C" {
#endif

#define SIS_KINDS(X)                                                                               \
    X(ARRAY, "array")                                                                              \
    X(TABLE, "table")                                                                              \
    X(TEXT, "text")                                                                                \
    X(DNA, "dna")                                                                                  \
    X(IMAGE, "image")
#define SIS_KIND_NUMBER(code, name) SIS_KIND_##code,
typedef enum sis_kind { SIS_KIND_NONE, SIS_KINDS(SIS_KIND_NUMBER) SIS_N_KINDS } sis_kind;
#undef SIS_KIND_NUMBER

/* "image" is SIS_KIND_IMAGE; SIS_KIND_NONE for NULL and unknown names. */
sis_kind sis_kind_of(const char *name);

/* "image"; "" for SIS_KIND_NONE. */
const char *sis_kind_name(sis_kind kind);

#ifdef __cplusplus
}
#endif
#endif
