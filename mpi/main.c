/* SPDX-License-Identifier: MIT
 *
 * sis-mpi: the program `sis` over many processes, started by mpirun or srun. Rank 0 runs the command;
 * for explain and predict the others open the same model and data and take examples from it. Other
 * commands are run by rank 0 alone.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/cli.h"
#include "base/parallel.h"
#include "spread.h"

static int is_spread(const char *command) {
    return command && (strcmp(command, "explain") == 0 || strcmp(command, "predict") == 0);
}

/* Take an option of ours out of the words. */
static int take_flag(int *argc, char **argv, const char *flag) {
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], flag) == 0) {
            memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof *argv);
            --*argc;
            return 1;
        }
    return 0;
}

/* The cores of this process, if it is bound to some; else its share of the machine's. */
static int share_of_cores(void) {
    MPI_Comm node;
    int here = 1, cores = sis__cores(), all = (int)sysconf(_SC_NPROCESSORS_ONLN);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &here);
    MPI_Comm_free(&node);
    int jobs = cores < all ? cores : all / here;
    return jobs > 0 ? jobs : 1;
}

/* The others are silent: what they have to say goes to rank 0. */
static FILE *be_silent(void) {
    FILE *said = tmpfile();
    if (said)
        dup2(fileno(said), STDERR_FILENO);
    if (!freopen("/dev/null", "w", stdout))
        return said;
    return said;
}

static void tell_failure(FILE *said) {
    char text[2000] = "it does not say why";
    fflush(stderr);
    if (said) {
        rewind(said);
        size_t n = fread(text, 1, sizeof text - 1, said);
        while (n > 0 && text[n - 1] == '\n')
            n--;
        text[n] = '\0';
    }
    mpi_spread_fail(text);
}

static int serve(int argc, char **argv) {
    FILE *said = be_silent();
    int status = cli_main(&cli_sis, argc, argv);
    if (status != CLI_DONE)
        tell_failure(said);
    return CLI_DONE; /* rank 0 has the last word */
}

int main(int argc, char **argv) {
    int rank, ranks, level;
    static cli_spread spread;
    cli_interrupt_init();
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return CLI_FAILED;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = CLI_DONE, spreads = argc > 1 && is_spread(argv[1]);
    int sent = take_flag(&argc, argv, "--broadcast");
    mpi_spread_init(&spread, rank, ranks);
    spread.jobs = share_of_cores();
    if (spreads && sent && mpi_broadcast(argc, argv, rank) != 0)
        MPI_Abort(MPI_COMM_WORLD, CLI_FAILED);
    cli_spread_now = spreads && ranks > 1 ? &spread : NULL;
    if (rank == 0)
        status = cli_main(&cli_sis, argc, argv);
    else if (spreads)
        status = serve(argc, argv);
    if (rank == 0 && cli_spread_now && mpi_spread_end() != 0)
        MPI_Abort(MPI_COMM_WORLD, status ? status : CLI_FAILED); /* what was written is flushed */
    mpi_broadcast_end();
    MPI_Finalize();
    return status;
}
