"""Every line of examples/runs.txt runs, on the C target (or the one that TESSERA_TARGET names), with the interpreter
agreeing bit for bit (once a program, on parts of its pictures: it is slow); and the command in the head of each example
is among those lines.
With --pictures FOLDER the results are written there as PNG, which is how docs/images is made."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

TARGET = os.environ.get("TESSERA_TARGET")
RUNS = tool.ROOT / "examples" / "runs.txt"


def lines():
    for line in RUNS.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, arguments = line.split("|", 1)
            yield name.strip(), arguments.split()


def in_folder(folder, words):
    """Outputs, and inputs that earlier lines made, live in `folder`."""
    moved, made = [], False
    for word in words:
        is_result = "/" not in word and "." in word and ":" not in word and "=" not in word
        moved.append(str(folder / word) if made or is_result else word)
        made = word == "-o"
    return moved


def heads():
    for path in sorted((tool.ROOT / "examples").glob("*.*s*")):
        if path.suffix in (".tess", ".idsl"):
            for match in re.finditer(r"tessera run (.+)", path.read_text()):
                yield path.name, match.group(1).split()


PART = "parameter M, N;\nvector#2 any photo[M, N];\nreturn photo[90..217, 101..260];\n"


def on_parts(folder, words):
    """The same run on parts of its pictures: 128 rows of 160 pixels, cut out once."""
    (folder / "part.tess").write_text(PART)
    made = []
    for word in words:
        path = pathlib.Path(word)
        if path.suffix in (".png", ".jpg") and "-o" not in made[-1:]:
            part = folder / f"part_{path.stem}.npy"
            if not part.exists():
                code, _, errors = tool.run("run", folder / "part.tess", path, "-o", part, "-q")
                tool.check(f"a part of {path.name}", code == 0, errors)
            word = str(part)
        elif "-o" in made[-1:]:
            word = str(folder / f"of_part_{path.name}")
        made.append(word)
    return made


with tool.workspace() as temporary:
    pictures = len(sys.argv) == 3 and sys.argv[1] == "--pictures"
    folder = pathlib.Path(sys.argv[2] if pictures else temporary)
    known, verified = [], set()
    for name, words in lines():
        known.append(words)
        target = [f"--target={TARGET}"] if TARGET else []
        moved = in_folder(folder, words)
        code, _, errors = tool.run("run", *moved, *target, timeout=280)
        tool.check(name, code == 0, errors)
        if code == 0 and not pictures and words[0] not in verified:
            code, _, errors = tool.run("run", *on_parts(folder, moved), *target, "--verify", "-q", timeout=280)
            tool.check(f"{name}, verified", code == 0, errors)
        verified.add(words[0])
    for name, words in heads():
        tool.check(f"the command in the head of {name} is in runs.txt", words in known, " ".join(words))
tool.finish()
