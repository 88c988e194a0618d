/* SPDX-License-Identifier: MIT
 *
 * Answers of language models in a SQLite file, by a digest of the request and by how often it was
 * sent before in the same run. A run that repeats requests then costs nothing and sees the same
 * noise. The file contains no questions, keys or headers.
 */
#ifndef SIS_MODEL_LLM_CACHE_H
#define SIS_MODEL_LLM_CACHE_H

#include <jansson.h>
#include <stddef.h>

typedef struct sis__llm_cache sis__llm_cache;

/* Creates the file if it does not exist. SIS_E_UNSUPPORTED if the library was built without
 * SQLite. */
int sis__llm_cache_open(const char *path, sis__llm_cache **out);
void sis__llm_cache_close(sis__llm_cache *cache);

/* *choice: the answer, or NULL. cache may be NULL: it is then empty. */
int sis__llm_cache_get(sis__llm_cache *cache, const char *key, size_t times, json_t **choice);
int sis__llm_cache_put(sis__llm_cache *cache, const char *key, size_t times, const json_t *choice);

#endif
