"""The rivals: builds their lanes where their packages are installed, and says how each is started."""
import pathlib
import re
import shutil
import subprocess

NAMES = ("halide", "opencv", "scipy")
HERE = pathlib.Path(__file__).resolve().parent / "rivals"
PACKAGES = {"halide": "libhalide14-0-dev", "opencv": "libopencv-dev", "scipy": "python3-scipy"}


def newer(target, *sources):
    return target.exists() and all(target.stat().st_mtime >= source.stat().st_mtime for source in sources)


def schedule_of(job, k, size):
    """The line of halide_schedules.txt for that job and mask whose height is the nearest."""
    best = None
    for line in (HERE / "halide_schedules.txt").read_text().splitlines():
        words = line.split()
        if not words or words[0] == "#" or words[0] != job or int(words[1]) != k:
            continue
        distance = abs(int(words[2]) - size)
        if best is None or distance < best[0]:
            best = (distance, words[3:])
    return best[1] if best else None


class Rivals:
    def __init__(self, build, names):
        self.folder = build / "bench" / "rivals"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.messages = []
        self.names = [name for name in names if self.prepare(name)]

    def prepare(self, name):
        try:
            return getattr(self, f"prepare_{name}")()
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            self.messages.append(f"without {name}: {getattr(error, 'stderr', None) or error}")
            return False

    def missing(self, name):
        self.messages.append(f"without {name}: not installed (Debian: {PACKAGES[name]})")
        return False

    def compile(self, target, sources, *flags):
        """A C++ program of one file and lane.c."""
        lane = HERE.parent / "lane.c"
        if newer(target, lane, HERE.parent / "lane.h", *sources):
            return
        parts = []
        if "lane" in target.name:
            parts = [self.folder / "lane.o"]
            subprocess.run(["cc", "-O2", "-c", lane, "-o", parts[0]], check=True, capture_output=True, text=True)
        subprocess.run(
            ["c++", "-O2", "-std=c++17", *sources, *parts, "-o", target, *flags], check=True, capture_output=True,
            text=True,
        )

    def prepare_halide(self):
        header = pathlib.Path("/usr/include/halide14/Halide.h")
        if not header.exists():
            return self.missing("halide")
        include = f"-I{header.parent}"
        self.compile(
            self.folder / "halide_jobs", [HERE / "halide_jobs.cpp"], include, "-l:libHalide14.so", "-lpthread", "-ldl"
        )
        self.compile(self.folder / "halide_lane", [HERE / "halide_lane.cpp"], include, "-ldl")
        return True

    def prepare_opencv(self):
        found = shutil.which("pkg-config") and subprocess.run(
            ["pkg-config", "--cflags", "opencv4"], capture_output=True, text=True
        )
        if not found or found.returncode:
            return self.missing("opencv")
        self.compile(
            self.folder / "opencv_lane", [HERE / "opencv_lane.cpp"], *found.stdout.split(), "-lopencv_core",
            "-lopencv_imgproc",
        )
        return True

    def prepare_scipy(self):
        self.python = next((p for p in ("/usr/bin/python3", shutil.which("python3")) if p and not subprocess.run(
            [p, "-c", "import scipy.ndimage"], capture_output=True).returncode), None)
        return bool(self.python) or self.missing("scipy")

    def versions(self):
        versions = {}
        if "halide" in self.names:
            versions["halide"] = "14"
        if "opencv" in self.names:
            versions["opencv"] = subprocess.run(
                ["pkg-config", "--modversion", "opencv4"], capture_output=True, text=True
            ).stdout.strip()
        if "scipy" in self.names:
            versions["scipy"] = subprocess.run(
                [self.python, "-c", "import scipy; print(scipy.__version__)"], capture_output=True, text=True
            ).stdout.strip()
        return versions

    def halide_code(self, job, k, size, threads):
        """The compiled job as a shared object; None where there is no schedule."""
        schedule = schedule_of(job, k, size)
        if schedule is None:
            return None
        key = re.sub(r"[^\w=,.-]", "_", "-".join([job, str(k), *schedule])) + (
            f"-{size}-{threads}" if "strip=share" in schedule else ""
        )
        code = self.folder / f"{key}.so"
        if not newer(code, self.folder / "halide_jobs"):
            made = code.with_suffix(".o")
            subprocess.run(
                [self.folder / "halide_jobs", job, str(k), str(size), str(threads), made, *schedule], check=True,
                capture_output=True, text=True,
            )
            subprocess.run(
                ["cc", "-shared", "-o", code, made, "-lpthread", "-ldl"], check=True, capture_output=True, text=True
            )
            made.unlink()
        return code

    def commands(self, job, k, size, threads):
        name, lanes = job.rival or job.name, {}
        if "halide" in self.names:
            code = self.halide_code(name, k, size, threads)
            if code:
                lanes["halide"] = [self.folder / "halide_lane", f"job={name}", f"code={code}"]
        if "opencv" in self.names:
            lanes["opencv"] = [self.folder / "opencv_lane", f"job={name}", "call=plain"]
            lanes["opencv-strips"] = [self.folder / "opencv_lane", f"job={name}", "call=strips"]
        if "scipy" in self.names and threads == 1 and size <= 2048 and k <= 9:
            lanes["scipy"] = [self.python, HERE / "scipy_lane.py", f"job={name}"]
        return lanes
