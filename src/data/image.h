/* SPDX-License-Identifier: MIT
 *
 * Images as files have them, and as they are wanted.
 */
#ifndef SIS_DATA_IMAGE_H
#define SIS_DATA_IMAGE_H

#include <stddef.h>

#include "base/buf.h"

/* Sides of an image that is read or written. */
enum { SIS__SIDE_MOST = 4096 };

/* Bytes (height, width, channels), one channel or three. */
typedef struct sis__image {
    size_t height, width, channels;
    unsigned char *bytes; /* free() */
} sis__image;

/* The image in a file, PNG or JPEG by what it holds; its size alone unless pixels are wanted. */
int sis__image_read(const char *path, int pixels, sis__image *out);

/* The same of one format, from the bytes of the file. */
int sis__png_decode(const char *path, const sis__buf *file, int pixels, sis__image *out);
int sis__jpeg_decode(const char *path, const sis__buf *file, int pixels, sis__image *out);

/* Refuse sides that are too long; memory for the pixels if they are wanted. */
int sis__image_room(const char *path, int pixels, sis__image *out);

/* Another size, and another number of channels: from (height, width, channels) to the same of `to`.
 * A side that gets shorter is averaged by area, one that gets longer is interpolated between the
 * middles of pixels. One channel becomes several alike; three become one by their brightness (0.299,
 * 0.587, 0.114). SIS_E_UNSUPPORTED for other channels. */
int sis__image_resize(const double *values, const size_t from[3], double *out, const size_t to[3]);

#endif
