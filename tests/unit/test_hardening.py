"""What is built to be used is hardened (CMakeLists.txt): stacks have guards, copies of known length are checked, and
tables of addresses are read-only once the program runs. Builds with sanitizers, for fuzzers or for debugging are
not."""
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

cache = (tool.BUILD / "CMakeCache.txt").read_text()
settings = dict(re.findall(r"^(\w+):\w+=(.*)$", cache, re.M))
watched = (
    settings.get("TESSERA_SANITIZE")
    or settings.get("TESSERA_FUZZ") == "ON"
    or settings.get("CMAKE_BUILD_TYPE") == "Debug"
)
if (
    watched
    or not shutil.which("readelf")
    or settings.get("HAVE_RELRO") != "1"
    or settings.get("HAVE_STACK_PROTECTOR") != "1"
):
    print("skipped: no such build here")
    sys.exit(tool.SKIPPED)

for path in (pathlib.Path(tool.TOOL), tool.BUILD / "libtessera.so"):
    def shown(option):
        return subprocess.run(["readelf", "-W", option, str(path)], capture_output=True, text=True, check=True).stdout

    tool.check(
        f"{path.name}: tables are read-only",
        "GNU_RELRO" in shown("-l") and re.search(r"BIND_NOW|Flags:.* NOW", shown("-d")),
    )
    names = shown("--dyn-syms")
    tool.check(f"{path.name}: stacks are guarded", "__stack_chk_fail" in names)
    tool.check(
        f"{path.name}: copies are checked", re.search(r"__(snprintf|memcpy|strcat|memset|vsnprintf|fread)_chk", names)
    )
tool.finish()
