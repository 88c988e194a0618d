/* SPDX-License-Identifier: MIT
 *
 * sis-mpi: the program `sis` on many processes, started by mpirun or srun. Rank 0 runs the command.
 * For explain, predict, verify and evaluate the others run it too: they open the same model and
 * data and get work items from rank 0 (base/spread.h). Other commands run on rank 0 only.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../cli/cli.h"
#include "spread.h"

static int is_spread(const char *command) {
    const char *those[] = {"explain", "predict", "verify", "evaluate"};
    for (size_t i = 0; command && i < sizeof those / sizeof *those; i++)
        if (strcmp(command, those[i]) == 0)
            return 1;
    return 0;
}

/* Remove an option of sis-mpi from the arguments. */
static int take_flag(int *argc, char **argv, const char *flag) {
    for (int i = 1; i < *argc; i++)
        if (strcmp(argv[i], flag) == 0) {
            memmove(argv + i, argv + i + 1, (size_t)(*argc - i) * sizeof *argv);
            --*argc;
            return 1;
        }
    return 0;
}

static int has_jobs(int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (strncmp(argv[i], "--jobs", 6) == 0 || strncmp(argv[i], "-j", 2) == 0)
            return 1;
    return 0;
}

/* Processes other than rank 0 write nothing: their messages go to rank 0. */
static FILE *be_silent(void) {
    FILE *said = tmpfile();
    if (said)
        dup2(fileno(said), STDERR_FILENO);
    if (!freopen("/dev/null", "w", stdout))
        return said;
    return said;
}

/* End a process other than rank 0. */
static void leave(FILE *said, int status) {
    char text[2000] = "it does not say why";
    fflush(stderr);
    if (said && status != CLI_DONE) {
        rewind(said);
        size_t n = fread(text, 1, sizeof text - 1, said);
        while (n > 0 && text[n - 1] == '\n')
            n--;
        text[n] = '\0';
    }
    mpi_spread_leave(status != CLI_DONE ? text : NULL);
}

int main(int argc, char **argv) {
    int rank, ranks, level;
    static sis__processes processes;
    cli_interrupt_init();
    if (MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return CLI_FAILED;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int status = CLI_DONE, spreads = argc > 1 && is_spread(argv[1]);
    int sent = take_flag(&argc, argv, "--broadcast"), timed = take_flag(&argc, argv, "--timing");
    mpi_spread_init(&processes, rank, ranks);
    cli_writes_nothing = rank != 0;
    processes.jobs = mpi_cores_share(spreads && !has_jobs(argc, argv));
    if (spreads && sent && mpi_broadcast(argc, argv, rank) != 0)
        MPI_Abort(MPI_COMM_WORLD, CLI_FAILED);
    sis__processes_now = spreads && ranks > 1 ? &processes : NULL;
    if (rank == 0) {
        status = cli_main(&cli_sis, argc, argv);
        if (mpi_spread_end() != 0)
            MPI_Abort(MPI_COMM_WORLD,
                      status ? status : CLI_FAILED); /* output is flushed */
        if (timed)
            mpi_spread_tell();
    } else {
        FILE *said = be_silent();
        leave(said, spreads ? cli_main(&cli_sis, argc, argv) : CLI_DONE);
    }
    mpi_broadcast_end();
    MPI_Finalize();
    return status; /* rank 0 reports */
}
