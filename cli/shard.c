/* SPDX-License-Identifier: MIT
 *
 * Finds which shard of a run this process is. Launchers of parallel programs pass rank and size in
 * environment variables, each under its own names. MPI launchers are checked before Slurm: inside a
 * Slurm job, mpirun sets its own ranks, and Slurm's belong to its helper processes.
 */
#include "shard.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* A rank and the number of ranks. */
typedef struct {
    size_t at, of;
} place;

static int whole(const char *text, size_t *value) {
    char *end;
    if (!text || !sis__is_digit(*text))
        return 0;
    errno = 0;
    uintmax_t v = strtoumax(text, &end, 10);
    *value = (size_t)v;
    return !*end && errno == 0 && v <= SIZE_MAX / 2;
}

static int bad_variable(const char *name) {
    return cli_usage("--shard auto: %s is \"%s\"; expected a whole number", name, getenv(name));
}

/* Find the rank in a parallel program: 1 if a launcher has set it, else 0. */
static int find_rank(place *p, int *status) {
    static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                           {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                           {"PMI_RANK", "PMI_SIZE"},
                                           {"PALS_RANKID", "PALS_SIZE"},
                                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
                                           {"SLURM_PROCID", "SLURM_NTASKS"},
                                           {"PMIX_RANK", "PMIX_SIZE"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = getenv(names[i][0]), *of = getenv(names[i][1]);
        if (!at || !of)
            continue;
        if (!whole(at, &p->at) || !whole(of, &p->of))
            *status = bad_variable(names[i][!whole(at, &p->at) ? 0 : 1]);
        return 1;
    }
    return 0;
}

/* Variables of a job array: the task's number, the first and last number, the step, the count. */
typedef struct {
    const char *id, *first, *last, *step, *count;
} array_names;

/* The value of a variable, or `other` if it is not set. */
static size_t number_or(const char *name, size_t other) {
    size_t value;
    return name && whole(getenv(name), &value) ? value : other;
}

static int array_place(const array_names *n, place *p) {
    size_t id, first = number_or(n->first, 0), last = number_or(n->last, SIZE_MAX);
    size_t count = n->count ? number_or(n->count, 0) : 0, step = number_or(n->step, 0);
    if (!whole(getenv(n->id), &id))
        return bad_variable(n->id);
    if (step == 0)
        step = count > 1 && last != SIZE_MAX && last > first ? (last - first) / (count - 1) : 1;
    if (count == 0 && last != SIZE_MAX && last >= first && step > 0)
        count = (last - first) / step + 1;
    if (step == 0 || id < first || (id - first) % step || (id - first) / step >= count ||
        (last != SIZE_MAX && (last - first) / step + 1 != count))
        return cli_usage("--shard auto: the tasks of this array have no constant step "
                         "(task %zu, %zu tasks from %zu); give --shard I/N",
                         id, count, first);
    *p = (place){(id - first) / step, count};
    return CLI_DONE;
}

static int find_array(place *p, int *status) {
    static const array_names names[] = {
        {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
         "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"},
        {"SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE", NULL}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *id = getenv(names[i].id);
        if (!id || strcmp(id, "undefined") == 0) /* SGE sets "undefined" outside of arrays */
            continue;
        *status = array_place(&names[i], p);
        return 1;
    }
    return 0;
}

/* Combine ranks inside each job of an array with the array's numbers. */
static int find_auto(place *p) {
    place rank = {0, 1}, array = {0, 1};
    int status = CLI_DONE;
    int found = find_rank(&rank, &status);
    if (status == CLI_DONE)
        found |= find_array(&array, &status);
    if (status != CLI_DONE)
        return status;
    if (!found)
        return cli_usage("--shard auto: no variable of srun, mpirun or a job array "
                         "numbers this process; give --shard I/N");
    if (rank.at >= rank.of || rank.of > SIZE_MAX / 2 / array.of)
        return cli_usage("--shard auto: the environment says process %zu of %zu; give "
                         "--shard I/N",
                         rank.at, rank.of);
    *p = (place){array.at * rank.of + rank.at, array.of * rank.of};
    return CLI_DONE;
}

int cli_shard_find(const char *text, size_t *shard, size_t *shards) {
    place p = {0, 1};
    int status = CLI_DONE;
    const char *slash = text ? strchr(text, '/') : NULL;
    char first[32] = "";
    if (text && strcmp(text, "auto") == 0) {
        status = find_auto(&p);
    } else if (text) {
        if (slash)
            snprintf(first, sizeof first, "%.*s", (int)(slash - text < 31 ? slash - text : 31),
                     text);
        if (!slash || !whole(first, &p.at) || !whole(slash + 1, &p.of))
            return cli_usage("--shard: expected I/N such as 0/8, or auto; found \"%s\"", text);
        if (p.at >= p.of)
            return cli_usage("--shard: no part %zu of %zu; expected 0 to %zu", p.at, p.of,
                             p.of ? p.of - 1 : 0);
    }
    *shard = p.at;
    *shards = p.of;
    return status;
}
