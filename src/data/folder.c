/* SPDX-License-Identifier: MIT
 *
 * A folder of images as a data set: each file is an example whose id is its path below the folder,
 * sorted by id. The label is the first folder of the path:
 *
 *     pets/cat/1.jpg     id cat/1.jpg   label cat
 *     pets/7.png         id 7.png       no label
 *
 * Other files and hidden files are skipped. Only sizes are kept; pixels are read on access, so any
 * number of photographs fits into memory.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cell.h"
#include "data/data.h"
#include "data/image.h"

enum { DEPTH_MAX = 16 };

typedef struct {
    sis_data base;
    const char **ids;    /* (count) one allocation */
    const char **labels; /* likewise; "": none */
    size_t (*shapes)[3]; /* (count) */
} folder_data;

static const folder_data *of(const sis_data *data) {
    return (const folder_data *)data;
}

/* ---- Operations ---------------------------------------------------------------------------- */

/* Read the image of example i, or only its size. */
static int read_image(const sis_data *data, size_t i, int pixels, sis__image *image) {
    const char *slash = data->name[strlen(data->name) - 1] == '/' ? "" : "/";
    char *path = sis__buf_text("%s%s%s", data->name, slash, of(data)->ids[i]);
    int code = path ? sis__image_read(path, pixels, image) : SIS_E_NOMEM;
    free(path);
    return code;
}

static int get_values(const sis_data *data, size_t i, double *out) {
    const size_t *shape = of(data)->shapes[i];
    sis__image image;
    int code = read_image(data, i, 1, &image);
    if (code != SIS_OK)
        return code;
    if (image.height != shape[0] || image.width != shape[1] || image.channels != shape[2])
        code = sis__fail(SIS_E_IO, "%s: %s has changed since it was first read", data->name,
                         of(data)->ids[i]);
    for (size_t k = 0, n = shape[0] * shape[1] * shape[2]; code == SIS_OK && k < n; k++)
        out[k] = image.bytes[k] / 255.0;
    free(image.bytes);
    return code;
}

static const size_t *get_shape(const sis_data *data, size_t i, size_t *rank) {
    *rank = of(data)->shapes[i][2] == 1 ? 2 : 3;
    return of(data)->shapes[i];
}

static const char *get_id(const sis_data *data, size_t i) {
    return of(data)->ids[i];
}

static const char *get_label(const sis_data *data, size_t i) {
    return *of(data)->labels[i] ? of(data)->labels[i] : NULL;
}

static void free_folder(sis_data *data) {
    folder_data *d = (folder_data *)data;
    free(d->ids);
    free(d->labels);
    free(d->shapes);
    free(d);
}

/* ---- Finding files ------------------------------------------------------------------------- */

static int is_image(const char *name) {
    static const char *const ends[] = {".png", ".jpg", ".jpeg"};
    for (size_t k = 0, n = strlen(name); k < sizeof ends / sizeof *ends; k++)
        if (n > strlen(ends[k]) && sis__same_word(name + n - strlen(ends[k]), ends[k]))
            return 1;
    return 0;
}

static int look_through(const char *folder, size_t root, size_t depth, sis__strings *found);

/* Add a file or folder; root: length of the path of the data set. */
static int look_at(const char *path, const char *name, size_t root, size_t depth,
                   sis__strings *found) {
    struct stat about;
    if (stat(path, &about) != 0)
        return errno == ENOENT && !is_image(name) /* a dangling link */
                   ? SIS_OK
                   : sis__fail(SIS_E_IO, "cannot open %s: %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return look_through(path, root, depth + 1, found);
    if (!S_ISREG(about.st_mode) || !is_image(name))
        return SIS_OK;
    if (sis__utf8_check(path + root, strlen(path + root)) != strlen(path + root))
        return sis__fail(SIS_E_FORMAT, "%.*s: contains a file whose name is not UTF-8; rename it",
                         (int)root - 1, path);
    sis__strings_add(found, path + root);
    return sis__buf_error(&found->text);
}

static int look_through(const char *folder, size_t root, size_t depth, sis__strings *found) {
    if (depth > DEPTH_MAX)
        return sis__fail(SIS_E_FORMAT, "%s: folders in folders, more than %d deep", folder,
                         DEPTH_MAX);
    DIR *all = opendir(folder);
    if (!all)
        return sis__fail(SIS_E_IO, "cannot open %s: %s", folder, strerror(errno));
    int code = SIS_OK;
    sis__buf path;
    sis__buf_init(&path);
    for (struct dirent *e; code == SIS_OK && (e = readdir(all));) {
        if (e->d_name[0] == '.')
            continue;
        sis__buf_clear(&path);
        sis__buf_printf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/",
                        e->d_name);
        code = sis__buf_error(&path);
        if (code == SIS_OK)
            code = look_at(path.data, e->d_name, root, depth, found);
    }
    sis__buf_release(&path);
    closedir(all);
    return code;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Labels are the first folder of each path. */
static int find_labels(folder_data *d) {
    sis__strings labels = {0};
    for (size_t i = 0; i < d->base.count; i++) {
        const char *slash = strchr(d->ids[i], '/');
        sis__buf_add(&labels.text, d->ids[i], slash ? (size_t)(slash - d->ids[i]) : 0);
        sis__buf_add(&labels.text, "", 1);
        labels.n++;
    }
    d->labels = sis__strings_finish(&labels);
    return d->labels ? SIS_OK : SIS_E_NOMEM;
}

static int find_shapes(folder_data *d) {
    d->shapes = (size_t(*)[3])sis__alloc(d->base.count, sizeof *d->shapes);
    int code = d->shapes ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; code == SIS_OK && i < d->base.count; i++) {
        sis__image image;
        code = read_image(&d->base, i, 0, &image);
        d->shapes[i][0] = image.height;
        d->shapes[i][1] = image.width;
        d->shapes[i][2] = image.channels;
    }
    return code;
}

static int find_images(folder_data *d, const char *path) {
    sis__strings found = {0};
    size_t n = strlen(path);
    int code = look_through(path, path[n - 1] == '/' ? n : n + 1, 0, &found);
    d->base.count = found.n;
    if (code == SIS_OK && found.n == 0)
        code = sis__fail(SIS_E_FORMAT, "%s: a folder without images; expected .png or .jpg files",
                         path);
    if (code != SIS_OK) {
        sis__strings_release(&found);
        return code;
    }
    d->ids = sis__strings_finish(&found);
    if (!d->ids)
        return SIS_E_NOMEM;
    qsort(d->ids, d->base.count, sizeof *d->ids, by_name);
    return SIS_OK;
}

int sis__data_read_folder(const char *path, const sis_data_opt *opt, sis_data **out) {
    static const sis__data_ops ops = {.values = get_values,
                                      .shape = get_shape,
                                      .id = get_id,
                                      .label = get_label,
                                      .free = free_folder};
    (void)opt;
    folder_data *d = SIS_NEW(folder_data, 1);
    if (!d)
        return SIS_E_NOMEM;
    d->base = (sis_data){.ops = &ops, .kind = SIS_KIND_IMAGE, .name = sis__strdup(path)};
    int code = d->base.name ? find_images(d, path) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = find_labels(d);
    if (code == SIS_OK)
        code = find_shapes(d);
    if (code == SIS_OK)
        *out = &d->base;
    else
        sis_data_free(&d->base);
    return code;
}
