/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a PNG image.
 */
#include "fuzz_data.h"

#define OPT                                                                                        \
    { 0 }
FUZZ_DATA(
    ".png", OPT,
    "\211PNG\r\n\032\n\0\0\0\15IHDR\0\0\0\1\0\0\0\1\10\0\0\0\0\72\176\233\125\0\0\0\12IDAT\170\234"
    "\143\140\0\0\0\2\0\1\110\257\244\161\0\0\0\0IEND\256\102\140\202")
