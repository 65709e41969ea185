"""The papers' baselines as plans, made from the stages that the compiler names."""
import re
import subprocess

STAGE = re.compile(r"^stage ([\w.]+)\[([^\]]*)\][^=\n]*=(?! image)", re.M)
COLUMNS = 256 # of a tile


def stages_in(graph):
    """(name, number of dimensions) of each stage that the program computes, in order of execution; and the lines that compute in their readers
    what the compiler has made stages of its own (their names have a dot)."""
    found = [(name, sizes.count(",") + 1) for name, sizes in STAGE.findall(graph)]
    return [stage for stage in found if "." not in stage[0]], "".join(f"stage {name} inline\n" for name, _ in found if "." in name)


def stages_of(tool, program):
    done = subprocess.run([tool, "explain", program, "--dump=graph"], capture_output=True, text=True, check=True)
    return stages_in(done.stdout)


def loops(dims):
    order = " ".join(map(str, range(dims)))
    return f"    loops {order}\n    parallel 0\n    vector {dims - 1}\n    split interior\n"


def unfused(tool, program, l2_bytes):
    """A loop nest for each stage, every stage a whole image, rows shared among the cores."""
    del l2_bytes
    stages, inline = stages_of(tool, program)
    return f"plan unfused\n{inline}" + "".join(f"\ngroup {name}\n    stage {name} memory\n{loops(dims)}" for name, dims in stages)


def overlapped(tool, program, l2_bytes):
    """All stages in one group, those in between as overlapped tiles, one loop nest each, which together fit three quarters of the second cache."""
    (*between, (result, dims)), inline = stages_of(tool, program)
    rows = 8
    while 2 * rows * COLUMNS * 4 * len(between) <= 0.75 * l2_bytes: # the rest is for what is read and written
        rows *= 2
    passes = "".join(f"    pass\n        stage {name} tile\n" for name, _ in between)
    return f"plan overlapped\n{inline}\ngroup {result}\n    tile {rows} {COLUMNS}\n{passes}    stage {result} memory\n{loops(dims)}"


BASELINES = {"unfused": unfused, "overlapped": overlapped}


# ---- GPUs ----------------------------------------------------------------------------------------------------------------------------
SHARED_BYTES, MOST_THREADS, WARP = 48 << 10, 1024, 32
READ = re.compile(r"([\w.]+)@\[([^\]]*)\]")


def kernel_group(name, dims, passes, kernel):
    axes = " ".join(map(str, range(dims)))
    return f"\ngroup {name}\n{passes}    stage {name} memory\n    loops {axes}\n    parallel 0\n    vector {dims - 1}\n{kernel}"


def reaches(graph):
    """How far the result's last two dimensions reach into each stage: {name: [least row, greatest row, least column, greatest column]}."""
    bodies = re.findall(r"^stage ([\w.]+)\[[^\n=]*=(.*?)(?=^stage |^output )", graph, re.M | re.S)
    reach = {bodies[-1][0]: [0, 0, 0, 0]}
    for name, body in reversed(bodies):
        for read in set(re.findall(r"[\w.]+", body)) & {other for other, _ in bodies}:
            offsets = [at.split(",")[-2:] for of, at in READ.findall(body) if of == read] + [["0", "0"]]
            to = reach.setdefault(read, [0, 0, 0, 0])
            for y, x in offsets:
                for k, (most, at) in enumerate(((min, y), (max, y), (min, x), (max, x))):
                    to[k] = most(to[k], reach[name][k] + int(at))
    return reach


def overlapped_kernel(graph):
    """The first paper's: one kernel, each stage between a tile in shared memory; a block has a thread for each point of the largest of them,
    in whole warps, and is halved until it is legal (algorithms 1 and 2). Images are read through the first cache."""
    (*between, (result, dims)), inline = stages_in(graph)
    reach, tile = reaches(graph), [32, 32]
    sizes = lambda name: [tile[0] + reach[name][1] - reach[name][0], tile[1] + reach[name][3] - reach[name][2]]
    points = lambda: [sizes(name)[0] * sizes(name)[1] for name, _ in between] or [tile[0] * tile[1]]
    shared_bytes = lambda: sum(sizes(name)[0] * -(-sizes(name)[1] // 4) * 16 for name, _ in between)
    while max(points()) > MOST_THREADS or shared_bytes() > SHARED_BYTES:
        tile[tile[0] < tile[1]] //= 2 # rows first: wide tiles read whole lines
    threads = -(-max(points()) // WARP) * WARP
    passes = f"    tile {'1 ' * (dims - 2)}{tile[0]} {tile[1]}\n" + "".join(f"    pass\n        stage {name} tile\n" for name, _ in between)
    return f"plan overlapped\ntarget gpu\n{inline}" + kernel_group(result, dims, passes, f"    kernel tile\n    block {threads} 1\n    split interior\n")
