"""Prints the tables of docs/scale.md: how long runs of many processes would take, from measured times of a point and
assumed times of networks and file systems. Measured times are given in nanoseconds, of one node:

    python3 bench/scale.py stencil=0.0135 pyramid=0.0137 heat=0.75
"""
import math
import sys

ROWS, COLUMNS, BYTES = 262144, 65536, 4  # 17 gigapixels of floats, 64 GiB
NODES = (1, 16, 64, 256, 1024)
ALPHA, BETA = 2e-6, 1 / 12.5e9  # seconds of a message, and of a byte
NODE_FILES, ALL_FILES = 2e9, 100e9  # bytes a second of one node, and of the file system
# rows around a share that matter, turns between which halos could be exchanged, size of the results
PROGRAMS = {"stencil": (2, 1, 1.0), "pyramid": (8, 1, 0.328), "heat": (40, 40, 0.25)}


def computed(point, margin, nodes):
    """Seconds of a share with what lies around it, which is computed again."""
    return point * COLUMNS * (ROWS / nodes + (2 * margin if nodes > 1 else 0))


def exchanged(point, margin, turns, nodes):
    """The same if halos were exchanged before each turn, and nothing beside it."""
    message = ALPHA + BETA * COLUMNS * BYTES * margin / turns
    return point * COLUMNS * ROWS / nodes + (2 * turns * message if nodes > 1 else 0)


def files(results, nodes):
    """Reading, with what lies around, and writing; both beside the computing where it is longer."""
    return COLUMNS * ROWS * BYTES * (1 + results) / min(nodes * NODE_FILES, ALL_FILES)


def reduction(nodes):
    """A mean of all: what the rows come to goes to all."""
    return ALPHA * math.ceil(math.log2(nodes)) + BETA * 8 * ROWS if nodes > 1 else 0


def main():
    given = dict(word.split("=") for word in sys.argv[1:])
    print("| program | nodes | rows each | computed, s | efficiency | with exchanges | a mean, ms | files, s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, (margin, turns, results) in PROGRAMS.items():
        point = float(given[name]) * 1e-9
        for nodes in NODES:
            one, now = computed(point, margin, 1), computed(point, margin, nodes)
            other = exchanged(point, margin, turns, nodes)
            print(f"| {name} | {nodes} | {ROWS // nodes} | {now:.3g} | {one / nodes / now:.0%} | "
                  f"{one / nodes / other:.0%} | {1e3 * reduction(nodes):.2f} | {files(results, nodes):.3g} |")


if __name__ == "__main__":
    main()
