/* SPDX-License-Identifier: MIT
 *
 * See support_server.h.
 */
#include "support_server.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char base[64];

/* Start a child whose stdin closes when this process ends; read its first line of stdout. */
static int start(char *line, int size) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0)
        return 0;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        close(out[0]);
        execlp("python3", "python3", SIS_SOURCE_DIR "/tests/model/server.py", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    FILE *said = fdopen(out[0], "r");
    int good = pid > 0 && said && fgets(line, size, said);
    if (said)
        fclose(said);
    return good;
}

const char *server_start(void) {
    char line[32] = "";
    sis_model model;
    if (base[0])
        return base;
    if (sis_model_open("http://x/", NULL, &model) == SIS_E_UNSUPPORTED) {
        print_message("skipped: built without libcurl\n");
        return NULL;
    }
    if (!start(line, sizeof line)) {
        print_message("skipped: no python3\n");
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    snprintf(base, sizeof base, "http://127.0.0.1:%s", line);
    return base;
}

const char *server_address(const char *path, ...) {
    static char address[256];
    va_list args;
    int n = snprintf(address, sizeof address, "%s/", base);
    va_start(args, path);
    vsnprintf(address + n, sizeof address - (size_t)n, path, args);
    va_end(args);
    return address;
}
