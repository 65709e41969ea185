"""Warm runs: a note in the cache leads to the code of a program without a plan. What decides about the code decides
about the note: whatever of it changes, no run finds old code, and the pixels are the interpreter's."""
import os
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PROGRAM = """use "filters";
parameter M, N;
const int reach = 1;
vector#2 any a[M, N];
float weight = 0.5;
stencil spread(vector#2 any X, const int r) { return sum(i = -r..r : X@[0, i]); }
stencil f(vector#2 any X) { return (X@[0, -3] + 2 * X + X@[3, 0]) / 3.0; }
return spread(f(a), reach) * weight;
"""


class Place:
    def __init__(self, folder, text=PROGRAM):
        self.folder = folder
        folder.mkdir()
        self.env = {"TESSERA_CACHE": str(folder / "cache")}
        os.makedirs(folder / "cache", mode=0o700, exist_ok=True)
        self.program = folder / "f.tess"
        self.program.write_text(text)

    def run(self, *words, target="c", program=None, size="61x53", tessera=tool.TOOL):
        """Whether a plan was made, and the bytes of the result."""
        result = self.folder / "r.npy"
        code, out, err = tool.run("run", program or self.program, f"random:1:{size}", "-o", result, "--time",
                                  f"--target={target}", *words, env=self.env, tool=tessera)
        tool.check(f"run {' '.join(map(str, words))}", code == 0, err)
        return float(re.search(r"plan ([0-9.]+) ms", out + err).group(1)) > 0, result.read_bytes()

    def entries(self, suffix):
        return sorted((self.folder / "cache").glob("*" + suffix))


def test_found_again(folder):
    place = Place(folder / "again")
    first = place.run()
    tool.check("the first run is planned", first[0])
    second = place.run()
    tool.check("the second is not", not second[0])
    tool.check("the pixels are the same", first[1] == second[1] == place.run(target="interp")[1])
    other = place.run(size="7x200")
    tool.check("nor is one of another size", not other[0])
    tool.check("its pixels are right", other[1] == place.run(target="interp", size="7x200")[1])
    tool.check("nor is one with another number", not place.run("weight=2")[0])
    tool.check("it is verified", not place.run("--verify")[0])
    code, out, err = tool.run("tune", place.program, "random:1:61x53", "--seconds=1", "-o", place.folder / "t.plan",
                              env=place.env)
    tool.check("it is tuned all the same", code == 0 and (place.folder / "t.plan").exists(), err)


def test_what_decides(folder):
    place = Place(folder / "decides")
    machine = folder / "decides" / "m.machine"
    # Before the first run: what it measures better than a run did is kept, and planned for.
    code, text, err = tool.run("machine", env=place.env)
    tool.check("machine", code == 0, err)
    place.run()
    machine.write_text("".join(line + "\n" for line in text.split("\n") if line and not line.startswith("#"))
                       .replace("cores = ", "cores = 1"))
    code, plan, err = tool.run("explain", place.program, "--type=float", "--dump=plan", env=place.env)
    tool.check("explain", code == 0, err)
    (folder / "decides" / "p.plan").write_text(plan)
    changes = [("reach=2",), ("--border=wrap",), ("--fp=strict",), ("--fp=fast",), ("--type=uint8",),
               ("--effort=best",), ("--threads=1",), (f"--machine={machine}",),
               (f"--plan={folder / 'decides' / 'p.plan'}",), ("--nodata=3",)]
    for words in changes:
        words_of_meaning = [w for w in words if not re.match("--(effort|threads|machine|plan)", w)]
        tool.check(f"{words} is planned", place.run(*words)[0])
        planned, pixels = place.run(*words)
        tool.check(f"{words} is found again", not planned)
        if words != ("--fp=fast",): # whose sums are of another order
            tool.check(f"{words} has its pixels", pixels == place.run(*words_of_meaning, target="interp")[1])
    tool.check("the first is still there", not place.run()[0])
    # the same length, size and name of the file
    place.program.write_text(PROGRAM.replace("/ 3.0", "/ 5.0"))
    planned, pixels = place.run()
    tool.check("a changed text is planned", planned)
    tool.check("it has its pixels", pixels == place.run(target="interp")[1])
    named = folder / "decides" / "g.tess"
    shutil.copy(place.program, named)
    tool.check("so is another name, that of the functions", place.run(program=named)[0])


def test_another_build(folder):
    place = Place(folder / "build")
    place.run()
    mark = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"
    code = pathlib.Path(tool.TOOL).read_bytes()
    tool.check("the tool tells its build", code.count(mark) == 1)
    at = code.index(mark) + len(mark)
    other = folder / "build" / "tessera"
    other.write_bytes(code[:at] + bytes([code[at] ^ 1]) + code[at + 1:])
    other.chmod(0o755)
    tool.check("another build goes by its own plans", place.run(tessera=other)[0])
    tool.check("which it finds", not place.run(tessera=other)[0])


def test_spoiled(folder):
    place = Place(folder / "spoiled")
    pixels = place.run()[1]
    (note,) = place.entries(".known")
    whole = note.read_bytes()
    for spoiled in (whole[:40], b"", whole[:8] + bytes([whole[8] ^ 1]) + whole[9:]):
        note.write_bytes(spoiled)
        tool.check("a spoiled note is not gone by", place.run() == (True, pixels))
        tool.check("and made again", place.run() == (False, pixels))
    for module in place.entries(".so"):
        module.unlink()
    tool.check("without its code it is of no use", place.run() == (True, pixels))


with tool.workspace() as name:
    for test in (test_found_again, test_what_decides, test_another_build, test_spoiled):
        test(pathlib.Path(name))
tool.finish()
