"""The paper's CPU baselines as plans, made from the stages that the compiler names."""
import re
import subprocess

STAGE = re.compile(r"^stage ([\w.]+)\[([^\]]*)\][^=\n]*=(?! image)", re.M)
COLUMNS = 256 # of a tile


def stages_of(tool, program):
    """(name, number of dimensions) of each stage that the program computes, in order of execution; and the lines that compute in their readers
    what the compiler has made stages of its own (their names have a dot)."""
    done = subprocess.run([tool, "explain", program, "--dump=graph"], capture_output=True, text=True, check=True)
    found = [(name, sizes.count(",") + 1) for name, sizes in STAGE.findall(done.stdout)]
    return [stage for stage in found if "." not in stage[0]], "".join(f"stage {name} inline\n" for name, _ in found if "." in name)


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
