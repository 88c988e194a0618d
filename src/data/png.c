/* SPDX-License-Identifier: MIT
 *
 * Decodes PNG images with libpng's simplified interface, which checks them, resolves palettes and
 * blends transparency with a background. The header decides between grey and colour. Also writes
 * PNG.
 */
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include <sis/data.h>
#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/replace.h"
#include "data/cell.h"
#include "data/image.h"

static int not_png(const char *path, const png_image *image) {
    char text[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT, "%s: not a PNG image, or a damaged one: %s", path,
                     sis__cell_excerpt(image->message, text));
}

int sis__png_decode(const char *path, const sis__buf *file, int pixels, sis__image *out) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    png_color black = {0, 0, 0};
    if (!png_image_begin_read_from_memory(&image, file->data, file->len))
        return not_png(path, &image);
    size_t channels = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
    *out = (sis__image){.height = image.height, .width = image.width, .channels = channels};
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* the default, as for 8 bits */
    int code = sis__image_room(path, pixels, out);
    if (code == SIS_OK && pixels && !png_image_finish_read(&image, &black, out->bytes, 0, NULL))
        code = not_png(path, &image);
    png_image_free(&image);
    if (code != SIS_OK) {
        free(out->bytes);
        *out = (sis__image){0};
    }
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------- */

int sis_png_write(const char *path, const double *values, const size_t dims[3]) {
    size_t n = dims[0] * dims[1] * dims[2];
    if (dims[0] == 0 || dims[0] > SIS__SIDE_MAX || dims[1] == 0 || dims[1] > SIS__SIDE_MAX ||
        (dims[2] != 1 && dims[2] != 3))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: an image has 1 to %d pixels a side and 1 or 3 channels, not (%zu, "
                         "%zu, %zu)",
                         path, SIS__SIDE_MAX, dims[0], dims[1], dims[2]);
    unsigned char *bytes = SIS_NEW_RAW(unsigned char, n);
    if (!bytes)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(values[i] >= 1  ? 255
                                   : values[i] > 0 ? values[i] * 255 + 0.5
                                                   : 0);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)dims[1],
                       .height = (png_uint_32)dims[0],
                       .format = dims[2] == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
    int code = SIS_OK;
    sis__replacement r;
    code = sis__replace_begin(&r, path);
    if (code == SIS_OK && !png_image_write_to_stdio(&image, r.file, 0, bytes, 0, NULL))
        code = sis__fail(SIS_E_IO, "%s: cannot be written: %s", path, image.message);
    code = sis__replace_end(&r, code);
    png_image_free(&image);
    free(bytes);
    return code;
}
