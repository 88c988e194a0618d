/* SPDX-License-Identifier: MIT
 *
 * Answers of language models in a SQLite file, by a digest of what was asked and by how often it had been asked
 * before in the same run. A run that asks the same again then costs nothing, and noise is the same, too. Questions, keys
 * and headers are not in the file.
 */
#ifndef SIS_MODEL_LLM_CACHE_H
#define SIS_MODEL_LLM_CACHE_H

#include <jansson.h>
#include <stddef.h>

typedef struct sis__llm_cache sis__llm_cache;

/* The file is made if it is not there. SIS_E_UNSUPPORTED if the library was built without SQLite. */
int sis__llm_cache_open(const char *path, sis__llm_cache **out);
void sis__llm_cache_close(sis__llm_cache *cache);

/* *choice: the answer, NULL if there is none. A cache of NULL has none. */
int sis__llm_cache_get(sis__llm_cache *cache, const char *key, size_t times, json_t **choice);
int sis__llm_cache_put(sis__llm_cache *cache, const char *key, size_t times, const json_t *choice);

#endif
