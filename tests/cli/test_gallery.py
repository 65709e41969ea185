"""docs/gallery.md shows each filter of the library for pictures, with the command of examples/gallery.txt: the page is
what that file makes, no filter is missing, and a fifth of the commands run (TESSERA_TEST_PART or the day chooses).
--accept writes the page and its pictures."""
import json
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool  # noqa: E402

PAGE = tool.ROOT / "docs/gallery.md"
PICTURES = tool.ROOT / "docs/images/filters"
IMAGES = tool.ROOT / "examples/images"
SIDE, COLUMNS, PARTS = 96, 6, 5
PLANES, CUT = 9, 192
HEAD = """# Gallery of filters

Each filter of the library for pictures, as `tessera apply` runs it; [filters.md](filters.md) says what they were
compared with, `tessera filters NAME` what they take. `otsu` gives a number, and `tone_curve` wants a table. Of volumes
the middle one of nine planes is shown: those of `volume` are cut from `camera.png`, each two columns farther on, with
noise, and `solid` is 1 where that is light. `line` is a part of a row of `camera.png`, drawn in grey beside its result
in black, with a scale of its own where that has values of another kind; for lines a program is needed
(`use "filters"; .. return box_1d(X, 4);`). Pictures other than `camera.png`, `moon.png` and `chelsea.png` are made of
these by lines of [gallery.txt](../examples/gallery.txt). What has values of other kinds than a picture's is shown from
its smallest (black) to its largest (white).
"""


class Line:
    """NAME: words of a call, and how many results it has."""

    def __init__(self, name, call):
        call, _, many = call.partition("->")
        self.name, self.words, self.many = name, call.split(), int(many or 1)


def lines():
    made, shown = [], []
    for text in (tool.ROOT / "examples/gallery.txt").read_text().splitlines():
        if text.startswith("made "):
            name, call = text[5:].split(" = ")
            made.append((call.split()[0], Line(name, call.split(" ", 1)[1])))
        elif text and not text.startswith("#"):
            name, call = text.split(": ", 1)
            shown.append(Line(name, call))
    return made, shown


def sections():
    """Sections of the library with their filters for pictures."""
    found = []
    for text in tool.run("filters")[1].splitlines():
        named = re.match(r"  (\w+)\(", text)
        if text and not text.startswith(" "):
            found.append((text.split(":")[0], []))
        elif named and named[1] not in ("otsu", "tone_curve"):
            found[-1][1].append(named[1])
    return [(title, names) for title, names in found if names]


def page(shown):
    text = HEAD
    by_name = {line.name: line for line in shown}
    for title, names in sections():
        text += f"\n## {title}\n\n" + "| " * COLUMNS + "|\n" + "| --- " * COLUMNS + "|\n"
        for first in range(0, len(names), COLUMNS):
            cells = [f"![](images/filters/{n}.jpg)<br>**{n}**<br>{' '.join(by_name[n].words)}" if n in by_name else n
                     for n in names[first : first + COLUMNS]]
            text += "| " + " | ".join(cells + [""] * (COLUMNS - len(cells))) + " |\n"
    return text


def place(folder, word):
    if word.endswith(".png"):
        return IMAGES / word
    return folder / f"{word}.npy" if re.fullmatch(r"[a-z]+", word) else word


def make_volume(folder):
    """What no filter makes: volumes and a line of camera.png."""
    tool.run("run", folder / "same.tess", IMAGES / "camera.png", "-o", folder / "camera.npy", "--target=vm", "-q")
    pixels = tool.read_npy(folder / "camera.npy")[2]
    volume = [pixels[(32 + y) * 512 + 140 + x + 2 * z] for z in range(PLANES) for y in range(CUT) for x in range(CUT)]
    noise = [(k * 2654435761 % 2**32 >> 9) % 61 - 30 for k in range(len(volume))]
    tool.write_npy(folder / "volume.npy", (PLANES, CUT, CUT), "<f4", [v + n for v, n in zip(volume, noise)])
    tool.write_npy(folder / "solid.npy", (PLANES, CUT, CUT), "|u1", [int(v > 100) for v in volume])
    tool.write_npy(folder / "line.npy", (SIDE,), "<f4", pixels[180 * 512 + 190:180 * 512 + 190 + SIDE])


def apply_to_line(folder, line, out):
    value = line.words[1].split("=")[1]
    (folder / "line.tess").write_text(f'use "filters";\nvector#1 float X;\nreturn {line.name}(X, {value});\n')
    code, _, said = tool.run("run", folder / "line.tess", folder / "line.npy", "-o", out, "--target=vm", "-q")
    tool.check(f"{line.name} {' '.join(line.words)}", code == 0, said)
    return code == 0


def rows_of(values, lo, hi):
    return [round((SIDE - 1) * (hi - v) / (hi - lo)) for v in values]


def plot(folder, path, picture):
    """The line in grey, and what became of it in black."""
    before, after = tool.read_npy(folder / "line.npy")[2], tool.read_npy(path)[2]
    image = [[255] * SIDE for _ in range(SIDE)]
    lo, hi = min(before), max(before)
    own = min(after) < lo - 1 or max(after) > hi + 1
    for values, ink, lowest, highest in ((before, 190, lo, hi), (after, 0, min(after) if own else lo,
                                                                max(after) if own else hi)):
        rows = rows_of(values, lowest, highest)
        for x, y in enumerate(rows):
            last = rows[max(x - 1, 0)]
            for k in range(min(y, last), max(y, last) + 1):
                image[k][x] = ink
    tool.write_npy(folder / "plot.npy", (SIDE, SIDE), "|u1", sum(image, []))
    code, _, said = tool.run("run", folder / "same.tess", folder / "plot.npy", "-o", picture, "--target=vm", "-q")
    tool.check(f"{picture.name}", code == 0, said)


def draw(folder, line, path):
    """The picture of a result."""
    picture = PICTURES / f"{line.name}.jpg"
    if line.name.endswith("_1d"):
        plot(folder, path, picture)
        return
    if line.name.endswith("_3d"):
        (folder / "plane.tess").write_text(f"vector#3 any v;\nreturn v[={PLANES // 2}, .., ..];\n")
        code, _, said = tool.run("run", folder / "plane.tess", path, "-o", folder / "plane.npy", "--target=vm", "-q")
        tool.check(f"a plane of {line.name}", code == 0, said)
        path = folder / "plane.npy"
    shrink(folder, path, picture)


def apply(folder, filter_name, line, out):
    if filter_name.endswith("_1d"):
        return apply_to_line(folder, line, out)
    more = [folder / f"more{k}.npy" for k in range(line.many - 1)]
    outputs = [part for path in [out, *more] for part in ("-o", path)]
    code, _, said = tool.run("apply", filter_name, *(place(folder, w) for w in line.words), *outputs, "--target=vm",
                             "-q")
    tool.check(f"{filter_name} {' '.join(line.words)}", code == 0, said)
    return code == 0


def shrink(folder, path, picture):
    """A part of the middle, or all of what is small, at the side of the pictures."""
    facts = json.loads(tool.run("info", path, "--json")[1])
    rows, columns = facts["shape"][:2]
    side = min(rows, columns, 2 * SIDE)
    top, left = (32 if rows == 512 else (rows - side) // 2), (columns - side) // 2
    (folder / "thumb.tess").write_text(
        f'use "filters";\nvector#2 any photo;\npart = photo[{top}..{top + side - 1}, {left}..{left + side - 1}];\n'
        + (f"return resize_area(part, {SIDE}, {SIDE}, 2);\n" if side > SIDE
           else f"return resize_nearest(part, {SIDE}, {SIDE});\n"))
    natural = facts["type"] == "uint8" and facts["max"] > 64
    code, _, said = tool.run("run", folder / "thumb.tess", path, "-o", picture, "--target=vm", "-q", "--no-metadata",
                             *([] if natural else ["--scale"]))
    tool.check(f"{picture.name}", code == 0, said)


def main():
    accept = "--accept" in sys.argv
    made, shown = lines()
    by_name = {line.name for line in shown}
    for _, names in sections():
        for name in names:
            tool.check(f"{name} is in the gallery", name in by_name)
    if accept:
        PAGE.write_text(page(shown))
        PICTURES.mkdir(exist_ok=True)
    tool.check("docs/gallery.md is what examples/gallery.txt says (--accept)", PAGE.read_text() == page(shown))
    part = int(os.environ.get("TESSERA_TEST_PART", time.strftime("%j"))) % PARTS
    chosen = [line for k, line in enumerate(shown) if accept or k % PARTS == part]
    with tool.workspace() as name:
        folder = pathlib.Path(name)
        (folder / "same.tess").write_text("vector#2 any a;\nreturn a;\n")
        make_volume(folder)
        needed = {word for line in chosen for word in line.words}
        for _, line in reversed(made):
            needed |= set(line.words) if line.name in needed else set()
        for filter_name, line in made:
            if line.name in needed:
                apply(folder, filter_name, line, folder / f"{line.name}.npy")
        for line in chosen:
            if apply(folder, line.name, line, folder / "result.npy") and accept:
                draw(folder, line, folder / "result.npy")
    for line in shown:
        tool.check(f"there is a picture of {line.name}", (PICTURES / f"{line.name}.jpg").exists())
    tool.finish()


main()
