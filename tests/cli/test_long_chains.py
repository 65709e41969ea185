"""Programs of many stages: chains of point-wise, one-tap and five-point stages up to the limit of the language, in
bounded memory, and what they compute. `--long` makes kernels of the longest too."""
import pathlib
import resource
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import tool

MOST = 4095  # stages, beside the image
MEMORY = 500 << 20
BODIES = {"point": ("X * 0.5 + sqrt(abs(X))", ""), "tap": ("X@[0, 1] + 1", ":clamp"),
          "five": ("(X@[-1, 0] + X@[1, 0] + X@[0, -1] + X@[0, 1] + X) / 5.0", ":mirror")}
MACHINES = ["generic-avx2", "h200"]


def chain(kind, n):
    body, rule = BODIES[kind]
    return (f"stencil f(vector#2 float X) {{ return {body}; }}\nparameter M, N;\nvector#2 float a[M, N];\nv<0> = a;\n"
            f"for k = 1..{n}\n    v<k> = f(v<k - 1>{rule});\nendfor\nreturn v<{n}>;\n")


def wide(chains, terms):
    """Point-wise stages that are worth inlining one by one, and too much code all together."""
    lines = [
        f"stencil p{k}(vector#2 float X) {{ return {' + '.join(f'sqrt(X + {k}.{t})' for t in range(1, terms))}; }}"
        for k in range(chains)
    ]
    arguments = ", ".join(f"vector#2 float X{k}" for k in range(chains))
    lines.append(f"stencil all({arguments}) {{ return {' + '.join(f'X{k}' for k in range(chains))}; }}")
    lines.append("parameter M, N;\nvector#2 float a[M, N];")
    lines += [f"v{k} = p{k}(a);" for k in range(chains)]
    lines.append(f"return all({', '.join(f'v{k}' for k in range(chains))});\n")
    return "\n".join(lines)


def numbers(n):
    """Single numbers computed from one another."""
    return ("stencil f(vector#2 float X, float s) { return X + s; }\nparameter M, N;\nvector#2 float a[M, N];\n"
            f"s<0> = total(a);\nfor k = 1..{n}\n    s<k> = s<k - 1> * 0.5 + 1;\nendfor\nreturn f(a, s<{n}>);\n")


def locals_of_one(n):
    """One stencil of many statements."""
    lines = "\n".join(f"    t{k} = t{k - 1} * 0.5 + X;" for k in range(1, n))
    return (f"stencil f(vector#2 float X) {{\n    t0 = X;\n{lines}\n    return t{n - 1};\n}}\n"
            "parameter M, N;\nvector#2 float a[M, N];\nreturn f(a);\n")


def fields_of_locals(n):
    """Each field of a local is made of both fields of the one before: twice the work each time, were they not
    remembered."""
    lines = "\n".join(
        f"    t{k} = struct pair(t{k - 1}.r + t{k - 1}.g, t{k - 1}.r - t{k - 1}.g * 0.5);" for k in range(1, n)
    )
    return (
        f"struct pair {{ float r, g; }};\nstencil f(vector#2 pair X) {{\n    t0 = X;\n{lines}\n    return t{n - 1};\n"
        f"}}\n"
        "parameter M, N;\nvector#2 pair a[M, N];\nreturn f(a);\n"
    )


def skipping(n):
    """Each stage reads the two before it."""
    lines = "".join(f"v{k} = g(v{k - 1}:clamp, v{k - 2});\n" for k in range(2, n))
    return (
        "stencil g(vector#2 float X, vector#2 float Y) { return X@[0, 1] * 0.5 + Y * 0.5; }\nparameter M, N;\n"
        "vector#2 float a[M, N];\n"
        f"v0 = a;\nv1 = g(v0:clamp, v0);\n{lines}return v{n - 1};\n"
    )


def limit_memory(machine):
    most = MEMORY if machine != "h200" else 2 * MEMORY  # a kernel has three texts: inside, at edges, in frames
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def check_compiles(folder, name, text, machine, dump):
    source = folder / f"{name}.tess"
    source.write_text(text)
    done = subprocess.run(
        [tool.TOOL, "explain", source, f"--machine=machines/{machine}.machine", f"--dump={dump}"], capture_output=True,
        cwd=tool.ROOT, preexec_fn=lambda: limit_memory(machine), timeout=300,
    )
    tool.check(f"{name} as {dump} for {machine}", done.returncode == 0 and done.stdout, done.stderr.decode()[-300:])


def check_runs(folder, name, text, machine, target="loops"):
    source = folder / f"{name}.tess"
    source.write_text(text)
    code, _, errors = tool.run(
        "run", source, "random:1:5x9", f"--machine=machines/{machine}.machine", f"--target={target}", "--verify", "-o",
        folder / "out.npy", timeout=600,
    )
    tool.check(f"{name} on {target} with {machine}", code == 0, errors[-300:])


with tool.workspace() as place:
    folder = pathlib.Path(place)
    for machine in MACHINES:
        for kind in BODIES:
            for n in (70, 200):
                check_runs(folder, f"{kind}{n}", chain(kind, n), machine)
        check_runs(folder, "wide", wide(100, 300), machine)
        check_runs(folder, "numbers", numbers(200), machine)
        check_runs(folder, "skipping", skipping(150), machine)
        check_runs(folder, "fields", fields_of_locals(100), machine)
    check_compiles(folder, "fields1000", fields_of_locals(1000), "generic-avx2", "c")
    check_compiles(folder, "locals", locals_of_one(20000), "generic-avx2", "c")
    for kind in BODIES:
        for n in (600, MOST):
            check_compiles(folder, f"{kind}{n}", chain(kind, n), "generic-avx2", "c")
        if kind != "point" or "--long" in sys.argv:
            check_runs(folder, f"{kind}{MOST}", chain(kind, MOST), "generic-avx2", "c")
    if "--long" in sys.argv:
        for kind in BODIES:
            check_compiles(folder, f"{kind}{MOST}", chain(kind, MOST), "h200", "cuda")
tool.finish()
