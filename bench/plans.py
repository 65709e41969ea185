"""The paper's CPU baselines as plans, made from the stages that the compiler names."""
import re
import subprocess

STAGE = re.compile(r"^stage (\w+)\[([^\]]*)\][^=\n]*=(?! image)", re.M)


def unfused(tool, program, options):
    """A loop nest for each stage, every stage a whole image, rows shared among the cores."""
    done = subprocess.run([tool, "explain", program, "--dump=graph", *options], capture_output=True, text=True, check=True)
    text = "plan unfused\n"
    for name, sizes in STAGE.findall(done.stdout):
        dims = sizes.count(",") + 1
        order = " ".join(map(str, range(dims)))
        text += (f"\ngroup {name}\n    stage {name} memory\n    loops {order}\n    parallel 0\n    vector {dims - 1}\n"
                 f"    split interior\n")
    return text
