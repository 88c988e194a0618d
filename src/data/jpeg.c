/* SPDX-License-Identifier: MIT
 *
 * Decodes JPEG images with libjpeg, grey or colour. libjpeg reports failures through a function
 * that must not return, so all its state is in one struct and longjmp() returns. Warnings, such as
 * a truncated file, are errors here. Progressive files may need any number of passes over all
 * pixels; files with more passes than real encoders write are refused.
 */
#include "data/image.h"

#include "base/error.h"

#ifdef SIS_JPEG

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

#include <jerror.h>

#include "data/cell.h"

enum { PASSES_MAX = 100 };

typedef struct {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf back;
    const char *path;
    sis__image *out;
    int code;
} decoder;

static int damaged(const decoder *d, const char *what) {
    char text[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT, "%s: not a JPEG image, or a damaged one: %s", d->path,
                     sis__cell_excerpt(what, text));
}

static _Noreturn void stop(decoder *d, int code) {
    d->code = code;
    longjmp(d->back, 1);
}

static void on_error(j_common_ptr jpeg) {
    decoder *d = jpeg->client_data;
    char text[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, text);
    stop(d, jpeg->err->msg_code == JERR_OUT_OF_MEMORY ? sis__fail(SIS_E_NOMEM, "out of memory")
                                                      : damaged(d, text));
}

/* level -1: a warning. Extra bytes between segments and odd headers are harmless. */
static void on_message(j_common_ptr jpeg, int level) {
    int what = jpeg->err->msg_code;
    if (level < 0 && what != JWRN_EXTRANEOUS_DATA && what != JWRN_ADOBE_XFORM &&
        what != JWRN_JFIF_MAJOR)
        on_error(jpeg);
}

static void on_progress(j_common_ptr jpeg) {
    decoder *d = jpeg->client_data;
    if (d->jpeg.input_scan_number > PASSES_MAX)
        stop(d,
             sis__fail(SIS_E_FORMAT, "%s: a JPEG image of more than %d scans; save it again as PNG",
                       d->path, PASSES_MAX));
}

static void read_size(decoder *d) {
    struct jpeg_decompress_struct *j = &d->jpeg;
    jpeg_read_header(j, TRUE);
    if (j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK)
        stop(d, sis__fail(SIS_E_UNSUPPORTED, "%s: a CMYK image; convert it to RGB", d->path));
    int grey = j->jpeg_color_space == JCS_GRAYSCALE;
    j->out_color_space = grey ? JCS_GRAYSCALE : JCS_RGB;
    *d->out =
        (sis__image){.height = j->image_height, .width = j->image_width, .channels = grey ? 1 : 3};
}

static void read_pixels(decoder *d) {
    size_t row = d->out->width * d->out->channels;
    jpeg_start_decompress(&d->jpeg);
    while (d->jpeg.output_scanline < d->jpeg.output_height) {
        JSAMPROW line = d->out->bytes + d->jpeg.output_scanline * row;
        jpeg_read_scanlines(&d->jpeg, &line, 1);
    }
    jpeg_finish_decompress(&d->jpeg);
}

static void decode(decoder *d, const sis__buf *file, int pixels) {
    jpeg_create_decompress(&d->jpeg);
    d->jpeg.progress = &d->progress;
    jpeg_mem_src(&d->jpeg, (const unsigned char *)file->data, (unsigned long)file->len);
    read_size(d);
    int code = sis__image_room(d->path, pixels, d->out);
    if (code != SIS_OK)
        stop(d, code);
    if (pixels)
        read_pixels(d);
}

int sis__jpeg_decode(const char *path, const sis__buf *file, int pixels, sis__image *out) {
    decoder d = {.path = path, .out = out};
    d.jpeg.err = jpeg_std_error(&d.errors);
    d.jpeg.client_data = &d;
    d.errors.error_exit = on_error;
    d.errors.emit_message = on_message;
    d.progress.progress_monitor = on_progress;
    *out = (sis__image){0};
    if (setjmp(d.back) == 0)
        decode(&d, file, pixels);
    jpeg_destroy_decompress(&d.jpeg);
    if (d.code != SIS_OK) {
        free(out->bytes);
        *out = (sis__image){0};
    }
    return d.code;
}

#else

int sis__jpeg_decode(const char *path, const sis__buf *file, int pixels, sis__image *out) {
    (void)file;
    (void)pixels;
    *out = (sis__image){0};
    return sis__fail(SIS_E_UNSUPPORTED,
                     "%s: is a JPEG image, which this build cannot read; convert it to PNG, or "
                     "build with libjpeg (Debian: libjpeg-dev)",
                     path);
}

#endif
