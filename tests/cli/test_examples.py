"""Every line of examples/runs.txt runs, on the C target (or the one that TESSERA_TARGET names), with the interpreter
agreeing bit for bit (once a program: it is slow); and the command in the head of each example is among those lines.
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


with tool.workspace() as temporary:
    pictures = len(sys.argv) == 3 and sys.argv[1] == "--pictures"
    folder = pathlib.Path(sys.argv[2] if pictures else temporary)
    known, verified = [], set()
    for name, words in lines():
        known.append(words)
        extra = [] if pictures or words[0] in verified else ["--verify"]
        extra += [f"--target={TARGET}"] if TARGET else []
        verified.add(words[0])
        code, _, errors = tool.run("run", *in_folder(folder, words), *extra, timeout=280)
        tool.check(name, code == 0, errors)
    for name, words in heads():
        tool.check(f"the command in the head of {name} is in runs.txt", words in known, " ".join(words))
tool.finish()
