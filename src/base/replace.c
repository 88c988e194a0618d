/* SPDX-License-Identifier: MIT
 *
 * See replace.h.
 */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Temporary files ------------------------------------------------------------------------- */

typedef struct temporary {
    struct temporary *next;
    char path[];
} temporary;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static temporary *all;
static temporary *guarded; /* see sis__replace_never() */

static int add_to(temporary **list, const char *path) {
    size_t n = strlen(path) + 1;
    temporary *t = (temporary *)sis__alloc_raw(sizeof *t + n, 1);
    if (!t)
        return SIS_E_NOMEM;
    memcpy(t->path, path, n);
    pthread_mutex_lock(&lock);
    t->next = *list;
    *list = t;
    pthread_mutex_unlock(&lock);
    return SIS_OK;
}

int sis__temporary_add(const char *path) {
    return add_to(&all, path);
}

void sis__temporary_forget(const char *path) {
    pthread_mutex_lock(&lock);
    temporary **at = &all;
    while (*at && strcmp((*at)->path, path) != 0)
        at = &(*at)->next;
    temporary *found = *at;
    if (found)
        *at = found->next;
    pthread_mutex_unlock(&lock);
    free(found);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at) {
    (void)about;
    (void)kind;
    (void)at;
    remove(path);
    return 0;
}

void sis__temporary_remove_all(void) {
    pthread_mutex_lock(
        &lock); /* never unlocked: later calls of _add wait until the program has ended */
    for (const temporary *t = all; t; t = t->next)
        for (int tries = 0; tries < 20 && access(t->path, F_OK) == 0; tries++) {
            if (tries > 0) /* a child that is ending has created a file in the folder */
                nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
            nftw(t->path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
        }
}

/* ---- Files that are never replaced --------------------------------------------------------- */

static int is_guarded(const char *path) {
    struct stat target, st;
    int found = 0;
    if (stat(path, &target) != 0)
        return 0;
    pthread_mutex_lock(&lock);
    for (const temporary *g = guarded; g && !found; g = g->next)
        found = stat(g->path, &st) == 0 && st.st_dev == target.st_dev && st.st_ino == target.st_ino;
    pthread_mutex_unlock(&lock);
    return found;
}

int sis__replace_never(const char *path) {
    char *real = is_guarded(path) ? NULL : realpath(path, NULL);
    int error = real ? add_to(&guarded, real) : SIS_OK;
    free(real);
    return error;
}

int sis__replace_check(const char *path) {
    errno = 0;
    return is_guarded(path)
               ? sis__fail(SIS_E_IO, "%s is both input and output; name another output", path)
               : SIS_OK;
}

/* ---- Replacements ---------------------------------------------------------------------------- */

static int failed(const char *path) {
    return sis__fail(SIS_E_IO, "cannot write %s: %s", path,
                     errno ? strerror(errno) : "is the disk full?");
}

/* Create a new file in the folder of the target. */
static int make_part(sis__replacement *r) {
    const char *slash = strrchr(r->path, '/');
    int folder = slash ? (int)(slash - r->path + 1) : 0, fd = -1;
    uint64_t number;
    size_t size = (size_t)folder + 32;
    r->part = (char *)sis__alloc_raw(size, 1);
    if (!r->part)
        return SIS_E_NOMEM;
    for (int tries = 0; fd < 0 && tries < 8; tries++) {
        if (getentropy(&number, sizeof number) != 0)
            break;
        snprintf(r->part, size, "%.*s.sis-%016llx", folder, r->path, (unsigned long long)number);
        fd = open(r->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    int error = fd < 0 ? failed(r->path) : sis__temporary_add(r->part);
    r->file = error == SIS_OK ? fdopen(fd, "wb") : NULL;
    if (r->file)
        return SIS_OK;
    if (fd >= 0) {
        close(fd);
        unlink(r->part);
        sis__temporary_forget(r->part);
    }
    free(r->part);
    r->part = NULL;
    return error ? error : failed(r->path);
}

int sis__replace_begin(sis__replacement *r, const char *path) {
    struct stat old;
    *r = (sis__replacement){0};
    int guard = sis__replace_check(path);
    if (guard != SIS_OK)
        return guard;
    errno = 0;
    r->absent = stat(path, &old) != 0;
    r->path = r->absent ? NULL : realpath(path, NULL);
    if (!r->path) /* a dangling link is replaced itself */
        r->path = sis__strdup(path);
    if (!r->path)
        return SIS_E_NOMEM;
    if (!r->absent && S_ISDIR(old.st_mode)) {
        errno = EISDIR;
        return failed(path);
    }
    if (!r->absent && !S_ISREG(old.st_mode)) {
        r->file = fopen(path, "wbe");
        return r->file ? SIS_OK : failed(path);
    }
    int error = make_part(r);
    if (error == SIS_OK && !r->absent && fchmod(fileno(r->file), old.st_mode & 07777) != 0)
        error = failed(path);
    return error;
}

/* Rename the new file. A file that another program has created there since is kept. */
static int rename_part(const sis__replacement *r) {
    if (r->absent && link(r->part, r->path) == 0)
        return unlink(r->part);
    if (r->absent && errno == EEXIST) {
        struct stat now;
        if (stat(r->path, &now) == 0)
            return errno = EEXIST, -1;
    }
    return rename(r->part, r->path); /* over the old file, or where there are no hard links */
}

/* Flush the new name to disk; not every file system supports it. */
static void flush_folder(const char *path) {
    char *folder = sis__strdup(path), *slash = folder ? strrchr(folder, '/') : NULL;
    if (slash)
        slash[slash == folder] = '\0';
    int fd = folder ? open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

int sis__replace_end(sis__replacement *r, int error) {
    if (r->file) {
        int before = errno;
        int broken = ferror(r->file) || fflush(r->file) != 0 ||
                     (error == SIS_OK && r->part && fsync(fileno(r->file)) != 0);
        int failure = errno;
        if (fclose(r->file) != 0 && !broken) {
            broken = 1;
            failure = errno;
        }
        errno = error == SIS_OK ? failure : before;
        if (error == SIS_OK && broken)
            error = failed(r->path);
    }
    if (error == SIS_OK && r->part) {
        errno = 0;
        if (rename_part(r) != 0)
            error = failed(r->path);
        else
            flush_folder(r->path);
    }
    int reason = errno;
    if (r->part) {
        if (error != SIS_OK)
            unlink(r->part);
        sis__temporary_forget(r->part);
    }
    free(r->path);
    free(r->part);
    *r = (sis__replacement){0};
    errno = reason;
    return error;
}

int sis__replace_all(const char *path, const void *bytes, size_t n) {
    sis__replacement r;
    int error = sis__replace_begin(&r, path);
    if (error == SIS_OK && n > 0 && fwrite(bytes, 1, n, r.file) != n)
        error = failed(r.path);
    return sis__replace_end(&r, error);
}
