/* SPDX-License-Identifier: MIT
 *
 * See llm_cache.h.
 */
#include "model/llm_cache.h"

#include <stdlib.h>
#include <string.h>

#include <sis/error.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"

#ifdef SIS_SQLITE
#include <sqlite3.h>

struct sis__llm_cache {
    sqlite3 *db;
    sqlite3_stmt *get, *put;
    char *path;
};

static int failed(const sis__llm_cache *c) {
    return sis__fail(SIS_E_IO, "--cache %s: %s", c->path,
                     c->db ? sqlite3_errmsg(c->db) : "out of memory");
}

int sis__llm_cache_open(const char *path, sis__llm_cache **out) {
    sis__llm_cache *c = *out = SIS_NEW(sis__llm_cache, 1);
    if (!c || !(c->path = sis__strdup(path)))
        return SIS_E_NOMEM;
    if (sqlite3_open(path, &c->db) != SQLITE_OK ||
        sqlite3_busy_timeout(c->db, 10000) != SQLITE_OK ||
        sqlite3_exec(c->db,
                     "PRAGMA synchronous=OFF; CREATE TABLE IF NOT EXISTS answers(question TEXT, "
                     "times INTEGER, answer TEXT, PRIMARY KEY(question, times)) WITHOUT ROWID",
                     NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(c->db, "SELECT answer FROM answers WHERE question=? AND times=?", -1,
                           &c->get, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(c->db, "INSERT OR REPLACE INTO answers VALUES(?,?,?)", -1, &c->put,
                           NULL) != SQLITE_OK)
        return failed(c);
    return SIS_OK;
}

void sis__llm_cache_close(sis__llm_cache *c) {
    if (!c)
        return;
    sqlite3_finalize(c->get);
    sqlite3_finalize(c->put);
    sqlite3_close(c->db);
    free(c->path);
    free(c);
}

int sis__llm_cache_get(sis__llm_cache *c, const char *key, size_t times, json_t **choice) {
    *choice = NULL;
    if (!c)
        return SIS_OK;
    sqlite3_bind_text(c->get, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(c->get, 2, (sqlite3_int64)times);
    int code = sqlite3_step(c->get);
    if (code == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(c->get, 0);
        *choice =
            text ? sis__json_load(text, strlen(text), 0, NULL) : NULL; /* else it is asked again */
    }
    sqlite3_reset(c->get);
    return code == SQLITE_ROW || code == SQLITE_DONE ? SIS_OK : failed(c);
}

int sis__llm_cache_put(sis__llm_cache *c, const char *key, size_t times, const json_t *choice) {
    char *text = c ? sis__json_dump(choice, JSON_COMPACT) : NULL;
    if (!c)
        return SIS_OK;
    if (!text)
        return SIS_E_NOMEM;
    sqlite3_bind_text(c->put, 1, key, -1, SQLITE_STATIC);
    sqlite3_bind_int64(c->put, 2, (sqlite3_int64)times);
    sqlite3_bind_text(c->put, 3, text, -1, SQLITE_STATIC);
    int code = sqlite3_step(c->put);
    sqlite3_reset(c->put);
    sqlite3_clear_bindings(c->put);
    free(text);
    return code == SQLITE_DONE ? SIS_OK : failed(c);
}

#else

int sis__llm_cache_open(const char *path, sis__llm_cache **out) {
    *out = NULL;
    return sis__fail(
        SIS_E_UNSUPPORTED,
        "--cache %s: this build has no SQLite; install it (Debian: libsqlite3-dev) and build again",
        path);
}

void sis__llm_cache_close(sis__llm_cache *c) {
    (void)c;
}

int sis__llm_cache_get(sis__llm_cache *c, const char *key, size_t times, json_t **choice) {
    (void)c, (void)key, (void)times;
    *choice = NULL;
    return SIS_OK;
}

int sis__llm_cache_put(sis__llm_cache *c, const char *key, size_t times, const json_t *choice) {
    (void)c, (void)key, (void)times, (void)choice;
    return SIS_OK;
}

#endif
