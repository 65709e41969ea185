"""Every block marked ```tess in the documentation is a complete program that compiles without errors."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

BLOCK = re.compile(r"^```tess\n(.*?)^```$", re.M | re.S)

with tool.workspace() as folder:
    found = 0
    for page in [tool.ROOT / "README.md", *sorted((tool.ROOT / "docs").rglob("*.md"))]:
        if not page.exists():
            continue
        text = page.read_text()
        for block in BLOCK.finditer(text):
            found += 1
            line = text.count("\n", 0, block.start()) + 1
            program = pathlib.Path(folder) / "block.tess"
            program.write_text(block.group(1))
            code, _, errors = tool.run("check", program)
            tool.check(f"{page.relative_to(tool.ROOT)}:{line}", code == 0, errors)
    tool.check("there are blocks", found > 0)
tool.finish()
