"""Which pairs of things have met in what was run: how an image came to be, how it is read, by which rule, where the
plan puts it, the loop nest that reads it, and the target."""
import re

MADE = ["input", "stencil", "vector function", "image expression", "family", "part", "sample", "placed",
        "placed by steps", "composition", "field", "struct", "histogram"]
READ = ["point", "offset", "sampled", "window", "mask", "absolute", "part", "sample", "placed", "placed by steps",
        "field", "struct", "reduction", "histogram"]
RULES = ["clamp", "mirror", "reflect", "wrap", "constant", "none", "mixed"]
PLACES = ["image", "memory", "inline", "register", "rows", "tile"]
CPU = ["loops", "rows of loops", "strips", "tiles", "rings"]
KERNELS = [f"kernel {k}" for k in ("point", "register", "tile", "warp", "rolling")] + ["frame"]
TARGETS = ["interp", "loops", "loops of kernels", "c", "opencl"]
DIMENSIONS = {"made": MADE, "read": READ, "rule": RULES, "place": PLACES, "nest": CPU + KERNELS, "target": TARGETS}
TABLES = [
    ("made", "read"), ("made", "rule"), ("made", "place"), ("made", "target"), ("read", "rule"), ("read", "place"),
    ("read", "nest"), ("read", "target"), ("rule", "place"), ("rule", "nest"), ("rule", "target"), ("place", "target"),
    ("nest", "target"),
]
REDUCTIONS = {"minimum", "maximum", "total", "mean", "count"}


def facts(plan):
    """(stage to its place, stage to the loop nest that computes it) of a plan's page."""
    places, nests, group = {}, {}, None
    stages = []

    def close():
        for stage in stages:
            nests[stage] = nest(group)

    for line in plan.splitlines():
        words = [w.strip('"') for w in re.findall(r'"[^"]*"|\S+', line)]
        if not words or words[0] in ("why", "#"):
            continue
        if words[0] == "stage":
            placed = places.setdefault(words[1], words[2])
            if placed == "memory":
                places[words[1]] = words[2]
            if group is not None:
                stages.append(words[1])
        elif words[0] == "group":
            close()
            group, stages = {"name": words[1]}, []
        elif group is not None:
            group[words[0]] = words[1] if len(words) > 1 else ""
    close()
    return places, nests


def nest(group):
    """What a group is: a kind of loops or of kernels, and perhaps a frame beside."""
    if "kernel" in group:
        kernel = group["kernel"].replace("sweep", "rolling")  # of some rows at a time
        return [f"kernel {kernel}"] + (["frame"] if "frame" in group else [])
    if "tile" in group:
        return ["rings" if "roll" in group else "tiles"]
    if "band" in group:
        return ["strips"]
    return ["rows of loops" if int(group.get("rows", "1")) > 1 else "loops"]


KERNEL_NAMES = " ".join(k.replace(" ", "-") for k in KERNELS)
TOGETHER = "rows-of-loops strips tiles rings kernel-register kernel-tile kernel-warp kernel-rolling frame"
COMPUTED = (
    "stencil vector-function image-expression family part sample placed "
    "placed-by-steps composition field struct histogram"
)
# Pairs that cannot meet, and why: a dimension, values of it (none: all), another, values of that.
NOT_MET = [
    ("read", "part placed placed-by-steps field struct reduction histogram", "rule", "", "reads nothing outside"),
    ("read", "absolute", "rule", "none", "refused: an absolute index has no reach"),
    ("made", "histogram", "rule", "mixed", "has one dimension"),
    ("made", "field histogram", "read", "field", "is no image of pixels"),
    ("made", "struct", "read", "struct histogram", "fields and what is counted are no pixels"),
    ("made", "input", "place", "memory inline register rows tile", "an input is an image"),
    ("made", COMPUTED, "place", "image", "an image is an input"),
    ("made", "composition placed placed-by-steps", "place", "inline register rows tile",
     "stages of several parts, or with gaps, are stored"),
    ("made", "histogram", "place", "inline register rows tile", "stored: its points are counted"),
    ("made", "field", "place", "inline register rows tile", "is its pixels' stage by another name"),
    ("read", "absolute reduction histogram", "place", "register rows tile",
     "what is read anywhere is stored, or computed again"),
    ("read", "placed-by-steps", "place", "register rows", "parts with gaps have loops of their own"),
    ("read", "placed placed-by-steps", "nest", TOGETHER, "parts have loops of their own"),
    ("read", "reduction histogram", "nest", TOGETHER, "have loops of their own"),
    ("read", "point offset sampled absolute part sample field struct", "nest", "kernel-rolling",
     "kernels that roll read windows"),
    ("read", "field", "place", "register", "another name of its pixels' stage, or a copy that is a result"),
    ("read", "field", "nest", "strips", "another name of its pixels' stage, or a copy that is a result"),
    ("place", "", "target", "interp", "the graph has no plan"),
    ("nest", "", "target", "interp", "the graph has no plan"),
    ("place", "register rows", "target", "loops-of-kernels opencl", "of CPUs"),
    ("nest", "loops rows-of-loops strips tiles rings", "target", "loops-of-kernels opencl", "of CPUs"),
    ("nest", KERNEL_NAMES, "target", "loops c", "of GPUs"),
]


def named_values(dimension, names):
    return [w.replace("-", " ") for w in names.split()] or DIMENSIONS[dimension]


def excluded():
    """(dimension, value, dimension, value) to the reason."""
    pairs = {}
    for a, left, b, right, why in NOT_MET:
        for x in named_values(a, left):
            for y in named_values(b, right):
                pairs[a, x, b, y] = pairs[b, y, a, x] = why
    return pairs


class Coverage:
    def __init__(self):
        self.met = {}
        self.programs = 0

    def pairs(self, run, target, plan):
        """What meets in a run under the plan of that text; run: the evaluator's, with its events."""
        places, nests = facts(plan) if plan else ({}, {})
        for made, reader, form, read, rule in run.events:
            made, reader = run.renamed.get(made, made), run.renamed.get(reader, reader)
            read = "reduction" if read in REDUCTIONS else read
            event = {"made": [form], "read": [read], "rule": [rule], "target": [target]}
            if plan:
                event["place"] = ["image" if form == "input" else named(places, made)]
                event["nest"] = named(nests, reader) or []
            for a, b in TABLES:
                for x in event.get(a, []):
                    for y in event.get(b, []):
                        if x in DIMENSIONS[a] and y in DIMENSIONS[b]:
                            yield a, x, b, y

    def add(self, run, target, plan):
        for pair in self.pairs(run, target, plan):
            self.met[pair] = self.met.get(pair, 0) + 1

    def is_new(self, run, target, plan):
        """Whether some of it has not met before."""
        return any(pair not in self.met for pair in self.pairs(run, target, plan))

    def tables(self):
        """(text, missing pairs)"""
        none, lines, missing, met = excluded(), [], [], 0
        for a, b in TABLES:
            width = [max(len(y), 5) for y in DIMENSIONS[b]]
            lines.append(f"{a + ' x ' + b:<18}" + " ".join(f"{y:>{w}}" for y, w in zip(DIMENSIONS[b], width)))
            for x in DIMENSIONS[a]:
                cells = []
                for y, w in zip(DIMENSIONS[b], width):
                    n = self.met.get((a, x, b, y), 0)
                    met += n > 0
                    if not n and (a, x, b, y) not in none:
                        missing.append(f"{a} {x} x {b} {y}")
                    cells.append(f"{n or ('-' if (a, x, b, y) in none else 'NONE'):>{w}}")
                lines.append(f"  {x:<16}" + " ".join(cells))
        lines.append(f"{met} pairs met, {len(missing)} not, in {self.programs} programs")
        lines.append("- cannot meet:")
        lines += [f"  {x or 'any ' + a} with {y or 'any ' + b}: {why}" for a, x, b, y, why in NOT_MET]
        return "\n".join(lines), missing


def named(table, name):
    """Of a stage, or of the channels of one."""
    if name in table:
        return table[name]
    return next((v for stage, v in table.items() if stage.startswith(name + ".")), None)
