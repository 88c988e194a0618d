/* SPDX-License-Identifier: MIT
 *
 * sis/kind.h - what inputs are. Readers tell it (sis_data_kind), models may carry it
 * (SIS_NET_META_KIND), records keep it as text (sis_record.kind).
 *
 * Stable: what is declared here stays as it is for as long as SIS_ABI does.
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

/* "image" is SIS_KIND_IMAGE; SIS_KIND_NONE for NULL and for what is none of these. */
sis_kind sis_kind_of(const char *name);

/* "image"; "" for SIS_KIND_NONE. */
const char *sis_kind_name(sis_kind kind);

#ifdef __cplusplus
}
#endif
#endif
