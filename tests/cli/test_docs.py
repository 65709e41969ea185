"""The documentation tells the truth: every block marked ```tess is a complete program that compiles without errors; in
blocks marked ```console every `$ tessera ...` is run, from the root of the repository or in a folder of its own
(docs/start.md), and prints what stands below it; links between files lead somewhere; docs/errors.md lists every
diagnostic with its case; tables of a plan's words are those of the compiler's tables; files of the recipes are
there. With --accept the console blocks, these tables and docs/errors.md are written anew. Commands that write files,
or need what only a reader has, stand in indented blocks, which are not run. Decisions are named by the number of the
file that a link leads to."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

PROGRAM = re.compile(r"^```tess\n(.*?)^```$", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.M | re.S)
FENCED = re.compile(r"^```.*?^```$|`[^`\n]*`", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
DECISION = re.compile(r"\[[^\]\[]*\b(0\d\d)\]\([^)\s]*\b(\d\d\d)-[a-z0-9-]+\.md\)")
accept = sys.argv[1:] == ["--accept"]


def pages():
    top = [tool.ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [page for page in [*top, *sorted((tool.ROOT / "docs").rglob("*.md"))] if page.exists()]


def place(page, text, start):
    line = text.count("\n", 0, start) + 1
    return f"{page.relative_to(tool.ROOT)}:{line}"


def output_of(command, folder=tool.ROOT):
    path = f"{pathlib.Path(tool.TOOL).resolve().parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
                          env=dict(os.environ, PATH=path), timeout=120)
    return done.stdout.decode("utf-8", "replace")


def rerun(block, folder=tool.ROOT):
    """The block with the outputs of today; blocks without our commands stay as they are."""
    lines = block.splitlines()
    commands = [line for line in lines if line.startswith("$ ")]
    if not commands or not all(line.startswith("$ tessera ") for line in commands):
        return block
    shown = ""
    for command in commands:
        printed = output_of(command[2:], folder)
        shown += f"{command}\n{printed}" + ("" if printed.endswith("\n") or not printed else "\n")
    return shown


def check_programs(page, text, folder):
    n = 0
    for block in PROGRAM.finditer(text):
        n += 1
        program = pathlib.Path(folder) / "block.tess"
        program.write_text(block.group(1))
        code, _, errors = tool.run("check", program)
        tool.check(place(page, text, block.start()), code == 0, errors)
    return n


# A page whose commands write files runs in a folder of its own, where `images` is examples/images and a program is in
# the file that the text before it names.
OWN_FOLDER = "<!-- The commands of this page run in a folder of their own. -->"
NAMED = re.compile(r"`([\w-]+\.tess)`:\n\n```tess\n(.*?)^```$", re.M | re.S)


def folder_of(text, folder):
    if OWN_FOLDER not in text:
        return tool.ROOT
    own = pathlib.Path(folder) / "own"
    own.mkdir(exist_ok=True)
    if not (own / "images").exists():
        (own / "images").symlink_to(tool.ROOT / "examples" / "images")
    for program in NAMED.finditer(text):
        (own / program.group(1)).write_text(program.group(2))
    return own


def check_consoles(page, text, folder):
    for block in CONSOLE.finditer(text):
        now = rerun(block.group(1), folder)
        tool.check(place(page, text, block.start()), now == block.group(1), f"it prints\n{now}")


def check_links(page, text):
    text = FENCED.sub(lambda code: re.sub(r"[^\n]", " ", code.group(0)), text)
    for link in LINK.finditer(text):
        if "://" not in link.group(1):
            tool.check(
                place(page, text, link.start()), (page.parent / link.group(1)).exists(), f"no file '{link.group(1)}'"
            )
    for link in DECISION.finditer(text):
        tool.check(
            place(page, text, link.start()), link.group(1) == link.group(2),
            f"the link leads to decision {link.group(2)}",
        )


DIAGNOSTIC = re.compile(r'^DIAG\((\w+), SEV_(\w+), "(\w+)",\s*"((?:[^"\\]|\\.)*)"\)', re.M)
CHAPTERS = {
    "00": "Faults of ours", "01": "Reading text", "02": "Names", "03": "Types and constants",
    "04": "Shapes and borders", "05": "Windows and masks", "06": "Statements", "07": "Limits",
    "08": "Graphs, plans, loops and machines in files", "09": "Warnings",
}
ERRORS_HEAD = """# Diagnostics

Written by `tests/cli/test_docs.py --accept` from `src/base/diags.def` and the cases in `tests/errors/`. Each diagnostic
has a code, a place, the line with a caret and one sentence, here with N for numbers and … for words; some have a note
or a help, which the chapters show. Errors stop a program, warnings do not. `--diagnostics=json` gives one object a
line, for editors.
"""


def example_of(name):
    """What the tool says about the diagnostic's first case; long lines are left out."""
    cases = sorted((tool.ROOT / "tests" / "errors").glob(f"{name}*.*s*"), key=lambda path: (len(path.stem), path.name))
    for case in cases:
        if not re.fullmatch(rf"{name}(-\d+)?", case.stem):
            continue
        said = tool.run("check", case.name, cwd=case.parent, env={"COLUMNS": "100"})[2]
        if said and max(map(len, said.splitlines())) <= 150:
            return said
    return ""


def errors_pages():
    """docs/errors.md, which lists the diagnostics, and the pages of its chapters, which show them."""
    found = DIAGNOSTIC.findall((tool.ROOT / "src" / "base" / "diags.def").read_text())
    pages = {"errors.md": ERRORS_HEAD}
    for number, title in CHAPTERS.items():
        members = sorted((code, name, sentence) for name, _, code, sentence in found if code[1:3] == number)
        page = f"errors/{'-'.join(title.lower().replace(',', '').split())}.md"
        pages["errors.md"] += f"\n## [{title}]({page})\n\n| code | sentence |\n| --- | --- |\n" if members else ""
        text = f"# {title}\n\nOf the [diagnostics](../errors.md).\n"
        for code, name, sentence in members:
            shown = re.sub(r"%(?:lld|u|d|g)", "N", sentence.replace('\\"', '"').replace("%02x", "NN"))
            shown = re.sub(r"%[sc]", "…", shown)
            tool.check(f"{code} is shown without a format", "%" not in shown, shown)
            pages["errors.md"] += f"| {code} | {shown.replace('|', chr(92) + '|')} |\n"
            text += f"\n**{code}** {shown}\n"
            example = example_of(name)
            text += f"```text\n{example}```\n" if example else ""
        if members:
            pages[page] = text
    return pages


ROW = re.compile(r'^([A-Z_]+)\((.*?)\)\n(?=\n|\Z|[A-Z_]+\()', re.M | re.S)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
TABLE = re.compile(r"<!-- (src/plan/\w+\.def) -->\n(.*?)<!-- end -->", re.S)


def table_of(path):
    """The words of a plan page with their meaning, from the table that the compiler reads."""
    text = "| line | meaning |\n| --- | --- |\n"
    for macro, row in ROW.findall((tool.ROOT / path).read_text()):
        pieces = re.search(r'((?:"(?:[^"\\]|\\.)*"\s*)+)\Z', row).group(1)
        meaning = "".join(STRING.findall(pieces)).replace('\\"', '"')
        strings = STRING.findall(row[:row.rindex(pieces)])
        line = {
            "PLACEMENT": f"stage NAME in {strings[-1]}",
            "LEVEL_PRESET": f"preset {strings[0]}`: `{strings[-1]}",
        }.get(macro, strings[-1])
        text += f"| `{line.replace('in inline', 'inline')}` | {meaning} |\n"
    return text


def check_recipes():
    """The files that the recipes of CONTRIBUTING.md name are there."""
    text = (tool.ROOT / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"`((?:src|cli|tests|prelude|docs|python|cmake|machines)/[\w./]+\.\w+)`", text))
    gone = [name for name in sorted(named) if "NAME" not in name and not (tool.ROOT / name).exists()]
    tool.check("files of CONTRIBUTING.md", len(named) > 30 and not gone, gone)


def check_tables(page, text):
    """The page with its tables as they ought to be."""
    renewed = TABLE.sub(lambda table: f"<!-- {table.group(1)} -->\n{table_of(table.group(1))}<!-- end -->", text)
    if accept and renewed != text:
        page.write_text(renewed)
        text = renewed
    tool.check(
        f"tables of {page.relative_to(tool.ROOT)}", renewed == text, "renew them with tests/cli/test_docs.py --accept"
    )
    return text


def check_errors_pages():
    pages, docs = errors_pages(), tool.ROOT / "docs"
    for name, text in pages.items():
        path = docs / name
        if accept:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        tool.check(f"docs/{name}", path.exists() and path.read_text() == text, "renew it with test_docs.py --accept")
    there = {str(path.relative_to(docs)) for path in (docs / "errors").glob("*.md")}
    tool.check("no page of errors is left over", there < set(pages), there - set(pages))


with tool.workspace() as folder:
    check_errors_pages()
    check_recipes()
    found = 0
    for page in pages():
        text = check_tables(page, page.read_text())
        own = folder_of(text, folder)
        if accept:
            renewed = CONSOLE.sub(lambda block: f"```console\n{rerun(block.group(1), own)}```", text)
            if renewed != text:
                page.write_text(renewed)
                text = renewed
        found += check_programs(page, text, folder)
        check_consoles(page, text, own)
        check_links(page, text)
    tool.check("there are programs in the documentation", found > 0)
tool.finish()
