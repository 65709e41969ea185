/* What an exchange of rows with both neighbours takes: alpha (seconds of a message) and beta (seconds of a byte) for
 * docs/scale.md. Build and run on the machine in question, with processes on as many nodes as there are:
 *     mpicc -O2 bench/halo.c -o halo && mpirun -n 2 ./halo */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LARGEST = 1 << 24, TIMES = 200 };

/* Least seconds of an exchange of n bytes with the ranks before and behind. */
static double exchange(char *out, char *in, int n, int before, int behind)
{
    double best = 1e9;
    for (int k = 0; k < (n > 1 << 20 ? TIMES / 10 : TIMES); k++) {
        MPI_Request all[4];
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        MPI_Irecv(in, n, MPI_BYTE, before, 0, MPI_COMM_WORLD, &all[0]);
        MPI_Irecv(in + n, n, MPI_BYTE, behind, 1, MPI_COMM_WORLD, &all[1]);
        MPI_Isend(out, n, MPI_BYTE, behind, 0, MPI_COMM_WORLD, &all[2]);
        MPI_Isend(out + n, n, MPI_BYTE, before, 1, MPI_COMM_WORLD, &all[3]);
        MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
        const double took = MPI_Wtime() - start;
        best = took < best ? took : best;
    }
    return best / 2; /* of one message of two in each direction */
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *out = calloc(2, LARGEST), *in = calloc(2, LARGEST);
    double least = 0, most = 0;
    for (int n = 64; n <= LARGEST; n *= 4) {
        const double took = exchange(out, in, n, (rank + size - 1) % size, (rank + 1) % size);
        double slowest;
        MPI_Reduce(&took, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        least = n == 64 ? slowest : least;
        most = slowest;
        if (rank == 0)
            printf("%9d bytes: %10.2f us, %7.2f GB/s\n", n, 1e6 * slowest, 1e-9 * n / slowest);
    }
    if (rank == 0)
        printf("alpha=%.2e beta=%.2e\n", least, (most - least) / LARGEST);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
