"""Prints the tables of docs/scale.md: how long runs of many processes would take, by the alpha-beta model, from times
of a point on one node and of messages that were measured (bench/halo.c). Times are given in nanoseconds a point, all
turns together; of messages in seconds of one, and of a byte:

    python3 bench/scale.py stencil=0.00209 pyramid=0.00221 heat=0.0862 alpha=2.6e-7 beta=1.0e-10
"""
import math
import sys

ROWS, COLUMNS, BYTES = 262144, 65536, 4  # 17 gigapixels of floats, 64 GiB
NODES = (1, 16, 64, 256, 1024)
NODE_FILES, ALL_FILES = 2e9, 100e9  # bytes a second of one node, and of the file system: assumed
# rows around a share that matter to a turn, turns, size of the results
PROGRAMS = {"stencil": (1, 1, 1.0), "pyramid": (31, 1, 0.332), "heat": (1, 240, 1.0)}


def at_once(point, reach, turns, nodes):
    """Seconds of a share with what lies around it, which is computed again: nothing is sent."""
    return point * COLUMNS * (ROWS / nodes + (2 * reach * turns if nodes > 1 else 0))


def in_rounds(point, reach, turns, nodes, alpha, beta, time):
    """The same in rounds of `time` turns, with rows exchanged before each, and nothing beside that."""
    if nodes == 1:
        return point * COLUMNS * ROWS
    message = alpha + beta * COLUMNS * BYTES * reach * time
    return point * COLUMNS * (ROWS / nodes + 2 * reach * time) + 2 * math.ceil(turns / time) * message


def in_two(point, reach, turns, nodes):
    """As at_once, of shares that are rectangles, the best of all."""
    around = 2 * reach * turns
    sides = [2**k for k in range(nodes.bit_length()) if nodes % 2**k == 0]
    return min(point * (ROWS / a + around * (a > 1)) * (COLUMNS * a / nodes + around * (a < nodes)) for a in sides)


def best_time(*run):
    return min(range(1, run[2] + 1), key=lambda time: in_rounds(*run, time))


def files(results, nodes):
    """Reading, with what lies around, and writing; both beside the computing where it is longer."""
    return COLUMNS * ROWS * BYTES * (1 + results) / min(nodes * NODE_FILES, ALL_FILES)


def reduction(nodes, alpha, beta):
    """A mean of all: what the rows come to goes to all."""
    return alpha * math.ceil(math.log2(nodes)) + beta * 8 * ROWS if nodes > 1 else 0


def main():
    given = {name: float(value) for name, _, value in (word.partition("=") for word in sys.argv[1:])}
    alpha, beta = given["alpha"], given["beta"]
    print("| program | nodes | rows each | at once, s | efficiency | of rectangles | turns a round | in rounds, s"
          " | efficiency | a mean, ms | files, s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, (reach, turns, results) in PROGRAMS.items():
        point = given[name] * 1e-9
        for nodes in NODES:
            one, now = at_once(point, reach, turns, 1) / nodes, at_once(point, reach, turns, nodes)
            time = best_time(point, reach, turns, nodes, alpha, beta)
            other = in_rounds(point, reach, turns, nodes, alpha, beta, time)
            rectangles = one / in_two(point, reach, turns, nodes)
            cells = (name, nodes, ROWS // nodes, f"{now:.3g}", f"{one / now:.0%}", f"{rectangles:.0%}",
                     time if nodes > 1 else "-", f"{other:.3g}", f"{one / other:.0%}",
                     f"{1e3 * reduction(nodes, alpha, beta):.2f}", f"{files(results, nodes):.3g}")
            print("| " + " | ".join(map(str, cells)) + " |")


if __name__ == "__main__":
    main()
