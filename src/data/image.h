/* SPDX-License-Identifier: MIT
 *
 * Reading, decoding and resizing images.
 */
#ifndef SIS_DATA_IMAGE_H
#define SIS_DATA_IMAGE_H

#include <stddef.h>

#include "base/buf.h"

/* Maximum side length of an image. */
enum { SIS__SIDE_MAX = 4096 };

/* Bytes (height, width, channels), one channel or three. */
typedef struct sis__image {
    size_t height, width, channels;
    unsigned char *bytes; /* free() */
} sis__image;

/* Read the image in a file, PNG or JPEG by content; without `pixels` only its size. */
int sis__image_read(const char *path, int pixels, sis__image *out);

/* The same for JPEG, from the bytes of the file. */
int sis__jpeg_decode(const char *path, const sis__buf *file, int pixels, sis__image *out);

/* Refuse images that are too large; allocate memory for the pixels if needed. */
int sis__image_room(const char *path, int pixels, sis__image *out);

/* Resize from (height, width, channels) to `to`. A shrinking side is averaged by area, a growing
 * one is interpolated between pixel centres. One channel is repeated; three channels become one by
 * luminance (0.299, 0.587, 0.114). SIS_E_UNSUPPORTED for other channels. */
int sis__image_resize(const double *values, const size_t from[3], double *out, const size_t to[3]);

#endif
