#!/bin/sh
# Explain many examples under Slurm. Two ways:
#
#   sbatch --array=0-7 examples/slurm.sh explain ...   eight parts, each a job of its own; put together by
#                                                      sis merge out/part-*.jsonl -o all.jsonl
#   sbatch -n 64 examples/slurm.sh explain ...         sixty-four processes, one file out/all.jsonl
#
# What follows the name are the words of sis without --output. A job that is ended by its time limit, or
# requeued, goes on where it was. SIS and SIS_MPI say where the programs are, OUT where results go.
#SBATCH --job-name=sis
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
out=${OUT:-out}
mkdir -p "$out"
if [ -n "${SLURM_ARRAY_TASK_ID-}" ]; then
    exec "${SIS:-sis}" "$@" --shard auto --resume --output "$out/part-$SLURM_ARRAY_TASK_ID.jsonl"
fi
exec srun --mpi="${SIS_PMI:-pmix}" "${SIS_MPI:-sis-mpi}" "$@" --resume --output "$out/all.jsonl"
