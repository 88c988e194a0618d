/* SPDX-License-Identifier: MIT
 *
 * See library.h.
 */
#include "base/library.h"

#include <dlfcn.h>
#include <string.h>

void *sis__library_open(const char *const *files) {
    void *library = NULL;
    for (; !library && *files; files++)
        library = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
    return library;
}

int sis__library_take(void *library, const char *name, void *to) {
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol); /* C has no cast to a function pointer */
    return symbol != NULL;
}
