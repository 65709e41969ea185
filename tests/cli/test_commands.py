"""Commands around the compiler: what the help says of the surroundings, the cache, batches, filters without a program,
formatting, and watching files."""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool
from tool import check, run

# Read by others in our place: OpenMP.
INDIRECT = {"OMP_NUM_THREADS"}


def one_sentence(name, result, words=(), status=1):
    code, out, err = result
    check(name, code == status and err.count("\n") == 1 and err.startswith("tessera: ") and not out
          and all(str(word) in err for word in words), f"status {code}\n{out}{err}")


def test_environment():
    """The help names the variables that the code reads, and no others."""
    read = set()
    for path in [*tool.ROOT.glob("src/*/*.c"), *tool.ROOT.glob("cli/*.c")]:
        read |= set(re.findall(r'\b(?:tessi_env|getenv)\("(\w+)"\)', path.read_text()))
    help_text = run("--help")[1]
    told = set(re.findall(r"^  ([A-Z_]{4,}) ", help_text, re.M))
    check("variables of the help", told - INDIRECT == read, f"{told} {read}")
    check("all of them are told", INDIRECT <= told, help_text)


def main():
    test_environment()
    with tool.workspace() as place:
        folder = pathlib.Path(place)
    tool.finish()


main()
