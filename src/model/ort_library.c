/* SPDX-License-Identifier: MIT
 *
 * See ort_library.h.
 */
#include "model/ort_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/handle.h>

#include "base/error.h"
#include "base/library.h"
#include "base/platform.h"

enum { VERSION = 1, PATH_ROOM = 4096 };
enum { LOG_FATAL = 4, ARENA = 1, DEFAULT_MEMORY = 0 };

static const char FILES[] = "libonnxruntime.so*", IN_WHEEL[] = "onnxruntime/capi";

sis__ort_library sis__ort;
static char named_folder[PATH_ROOM];

typedef struct {
    void *const *(*get)(uint32_t version);
    const char *(*version)(void);
} api_base;

int sis__ort_check(ort_status *s) {
    if (!s)
        return SIS_OK;
    int code = sis__fail(SIS_E_MODEL, "ONNX Runtime: %.500s", sis__ort.error_message(s));
    sis__ort.release_status(s);
    return code;
}

/* ---- Where it is ----------------------------------------------------------------------------- */

/* Load the newest file that matches the pattern. */
static void *open_matching(const char *folder, const char *below) {
    char pattern[PATH_ROOM + 128];
    void *library = NULL;
    glob_t found;
    if (*folder != '/' || (size_t)snprintf(pattern, sizeof pattern, "%s/%s/%s", folder, below,
                                           FILES) >= sizeof pattern)
        return NULL;
    if (glob(pattern, 0, NULL, &found) == 0)
        for (size_t i = found.gl_pathc; i-- > 0 && !library;)
            library = sis__library_open((const char *const[]){found.gl_pathv[i], NULL});
    globfree(&found);
    return library;
}

/* Try the folders of a list separated by ':'. */
static void *open_in_list(const char *list, void *(*try)(const char *folder)) {
    char folder[PATH_ROOM];
    void *library = NULL;
    for (const char *at = list; at && *at && !library;) {
        size_t n = strcspn(at, ":");
        if (n < sizeof folder) {
            memcpy(folder, at, n);
            folder[n] = '\0';
            library = try(folder);
        }
        at += n + (at[n] == ':');
    }
    return library;
}

static void *open_in_folder(const char *folder) {
    return open_matching(folder, ".");
}

/* The loader searches names, not patterns; distributions add the version to the name. */
static void *open_of_system(void) {
    void *library = sis__library_open((const char *const[]){
        "libonnxruntime.so.1", "libonnxruntime.so", "libonnxruntime.dylib", NULL});
    if (!library)
        library = open_in_list(getenv("LD_LIBRARY_PATH"), open_in_folder);
    return library ? library
                   : open_in_list("/usr/local/lib:/usr/lib/*-linux-gnu:/usr/lib64:/usr/lib",
                                  open_in_folder);
}

/* The packages of the Python in `folder`. Nothing is executed. */
static void *open_of_python(const char *folder) {
    char program[PATH_ROOM + 16], below[128];
    void *library = NULL;
    snprintf(program, sizeof program, "%s/python3", folder);
    if (access(program, X_OK) != 0)
        return NULL;
    const char *const places[] = {"../lib*/python3*/site-packages",
                                  "../lib*/python3*/dist-packages",
                                  "../local/lib/python3*/dist-packages"};
    for (size_t i = 0; i < sizeof places / sizeof *places && !library; i++) {
        snprintf(below, sizeof below, "%s/%s", places[i], IN_WHEEL);
        library = open_matching(folder, below);
    }
    return library;
}

static void *open_of_user(void) {
    char below[128];
    const char *home = getenv("HOME");
    snprintf(below, sizeof below, ".local/lib/python3*/site-packages/%s", IN_WHEEL);
    return home ? open_matching(home, below) : NULL;
}

static void *open_beside_program(void) {
    char path[PATH_ROOM];
    if (sis__program_path(path, sizeof path) != 0)
        return NULL;
    *strrchr(path, '/') = '\0';
    return open_matching(path, "ort");
}

static void *open_library(void) {
    const char *file = getenv("SIS_ORT");
    if (file && *file)
        return sis__library_open((const char *const[]){file, NULL});
    void *library = *named_folder ? open_in_folder(named_folder) : NULL;
    if (!library)
        library = open_of_system();
    if (!library)
        library = open_in_list(getenv("PATH"), open_of_python);
    if (!library)
        library = open_of_user();
    return library ? library : open_beside_program();
}

void sis_model_ort_folder(const char *folder) {
    snprintf(named_folder, sizeof named_folder, "%s", folder);
}

/* ---- Loading --------------------------------------------------------------------------------- */

static void take_slots(void *const *slots) {
#define TAKE(slot, name, result, arguments)                                                        \
    memcpy(&sis__ort.name, &slots[slot], sizeof sis__ort.name);
    SIS__ORT_CALLS(TAKE)
#undef TAKE
}

/* dlopen leaves its reason in words. */
static void not_there(const char *why) {
    const char *file = getenv("SIS_ORT");
    if (file && *file)
        snprintf(sis__ort.problem, sizeof sis__ort.problem, "ONNX Runtime ($SIS_ORT): %.300s", why);
    else
        snprintf(sis__ort.problem, sizeof sis__ort.problem,
                 "ONNX Runtime is not installed; install it with: pip install onnxruntime");
}

static void load(void) {
    const api_base *(*get_base)(void) = NULL;
    void *library = open_library();
    if (!library || !sis__library_take(library, "OrtGetApiBase", &get_base)) {
        const char *why = dlerror();
        not_there(why ? why : "no library");
        return;
    }
    const api_base *base = get_base();
    void *const *slots = base ? base->get(VERSION) : NULL;
    if (!slots) {
        not_there("it does not know version 1 of its own interface");
        return;
    }
    take_slots(slots);
    snprintf(sis__ort.engine, sizeof sis__ort.engine, "ONNX Runtime %.32s", base->version());
    if (sis__ort_check(sis__ort.create_env(LOG_FATAL, "sis", &sis__ort.env)) != SIS_OK ||
        sis__ort_check(sis__ort.create_memory(ARENA, DEFAULT_MEMORY, &sis__ort.memory)) != SIS_OK ||
        sis__ort_check(sis__ort.default_allocator(&sis__ort.allocator)) != SIS_OK)
        snprintf(sis__ort.problem, sizeof sis__ort.problem, "%s", sis_error_detail());
}

int sis__ort_load(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return sis__ort.problem[0] ? sis__fail(SIS_E_UNSUPPORTED, "%s", sis__ort.problem) : SIS_OK;
}
