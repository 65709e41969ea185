"""Smaller programs with the same fault."""
import trial as trials
from printer import program as printed
from tree import Call, Compose, E, Loop, Piece, Place, Points, Ref, Rule, ScalarOf, Stencil, copy, number


def expressions(program):
    """(container, key) of every expression, in one order."""
    sites = []

    def inside(e):
        for k, part in enumerate(e.parts):
            sites.append((e.parts, k))
            inside(part)
        if e.op == "window" and e.info["where"] is not None:
            sites.append((e.info, "where"))

    def root(container, key):
        sites.append((container, key))
        inside(container[key] if isinstance(container, (list, dict)) else getattr(container, key))

    def statements(all_statements):
        for s in all_statements:
            if isinstance(s, Loop):
                statements(s.statements)
            elif isinstance(s, (Points, ScalarOf)):
                root(s, "value")
            elif isinstance(s, Call):
                for k, a in enumerate(s.arguments):
                    if isinstance(a, E):
                        root(s.arguments, k)

    for f in program.functions:
        if isinstance(f, Stencil):
            for l in f.locals:
                root(l, "value")
            root(f, "result")
        else:
            statements(f.statements)
    statements(program.statements)
    return sites


def get(container, key):
    return container[key] if isinstance(container, (list, dict)) else getattr(container, key)


def put(container, key, value):
    if isinstance(container, (list, dict)):
        container[key] = value
    else:
        setattr(container, key, value)


def parts_of(program):
    """All nodes that are no expressions, in one order."""
    found = []

    def walk(node):
        if isinstance(node, (list, tuple)):
            for item in node:
                walk(item)
        elif isinstance(node, dict):
            for item in node.values():
                walk(item)
        elif isinstance(node, E):
            found.append(node)
            walk(node.parts)
            walk(list(node.info.values()))
        elif hasattr(node, "__dataclass_fields__"):
            found.append(node)
            for name in node.__dataclass_fields__:
                walk(getattr(node, name))

    walk(program)
    return found


def simpler_expressions(e):
    yield from e.parts
    if e.op == "window":
        window = {**e.info, "variables": [(v, low, low) for v, low, _ in e.variables], "mask": None}
        yield E("window", *e.parts, **window)
        if e.where is not None:
            yield E("window", *e.parts, **{**e.info, "where": None})
    if e.op == "read" and e.steps:
        for d, (offset, scale) in enumerate(e.steps):
            if offset.op != "literal" or offset.value:
                yield E(
                    "read", of=e.of, steps=[(number(0), s) if k == d else (o, s) for k, (o, s) in enumerate(e.steps)]
                )
    if e.op == "literal" and e.value not in (0, 1):
        yield number(1)
    if e.op == "name":
        yield number(1)


def simpler_parts(node):
    """Changes of a node, each a function of its copy."""
    if isinstance(node, Ref) and node.rule is not None:
        yield lambda n: setattr(n, "rule", None)
        if len(node.rule.names) > 1:
            for name in set(node.rule.names):
                yield lambda n, name=name: setattr(n, "rule", Rule([name], n.rule.value))
    if isinstance(node, Rule) and node.value is not None:
        yield lambda n: setattr(n, "value", None)
    if isinstance(node, Compose):
        for k in range(len(node.pieces)):
            if len(node.pieces) > 1:
                yield lambda n, k=k: n.pieces.pop(k)
    if isinstance(node, Piece):
        for k, (offset, step) in enumerate(node.steps):
            yield lambda n, k=k: n.steps.__setitem__(k, (number(0), n.steps[k][1]))
            if step > 1:
                yield lambda n, k=k: n.steps.__setitem__(k, (n.steps[k][0], 1))
        for k, (first, _) in enumerate(node.ranges):
            if first is not None and isinstance(node.value, Ref):
                yield lambda n, k=k: n.ranges.__setitem__(k, (None, n.ranges[k][1]))
    if isinstance(node, Loop) and node.first != node.last:
        yield lambda n: setattr(n, "last", n.first)
    if type(node).__name__ == "Argument" and node.kind != "mask":
        for simple in ("any" if node.kind == "image" else "float", "int32"):
            if node.type != simple:
                yield lambda n, simple=simple: setattr(n, "type", simple)
    if type(node).__name__ == "Local" and node.type:
        yield lambda n: setattr(n, "type", "")
    if type(node).__name__ == "Input":
        if node.style != "small":
            yield lambda n: setattr(n, "style", "small")
        for simple in ("int32", "float"):
            if node.type != simple:
                yield lambda n, simple=simple: setattr(n, "type", simple)


def without(program):
    """Programs with one thing less."""
    for k in range(len(program.results)):
        if len(program.results) > 1:
            yield changed(program, lambda p, k=k: setattr(p, "results", [p.results[k]]))
    for k in reversed(range(len(program.statements))):
        yield changed(program, lambda p, k=k: p.statements.pop(k))
    for k, s in enumerate(program.statements):
        for r in [r for r in parts_of(s) if isinstance(r, Ref) and r is not getattr(s, "target", None)]:
            if not isinstance(s, Loop):
                yield changed(program, lambda p, k=k, r=r: bypass(p, k, r))
    for name in ("functions", "masks", "inputs", "scalars"):
        for k in reversed(range(len(getattr(program, name)))):
            yield changed(program, lambda p, name=name, k=k: getattr(p, name).pop(k))
    for s in list(program.structs):
        yield changed(program, lambda p, s=s: p.structs.pop(s))
    for n, f in enumerate(program.functions):
        for k in reversed(range(len(getattr(f, "locals", [])))):
            yield changed(program, lambda p, n=n, k=k: p.functions[n].locals.pop(k))
    for n in list(program.parameters):
        yield changed(program, lambda p, n=n: p.parameters.pop(n))


def bypass(p, k, r):
    """What reads the result of statement k reads one of its images instead."""
    gone = p.statements[k].target
    for node in parts_of(p.statements[k + 1:]) + p.results:
        if isinstance(node, Ref) and node.name == gone.name and str(node.index) == str(gone.index):
            node.name, node.index = r.name, r.index
    p.statements.pop(k)


def changed(program, change):
    p = copy(program)
    change(p)
    return p


def smaller_sizes(program):
    for n, value in program.parameters.items():
        for less in sorted({1, 2, value // 2, value - 8, value - 1}):
            if 0 < less < value:
                yield changed(program, lambda p, n=n, less=less: p.parameters.__setitem__(n, less))
    if program.border:
        yield changed(program, lambda p: setattr(p, "border", ""))
    if program.literal_sizes:
        yield changed(program, lambda p: setattr(p, "literal_sizes", False))


def simpler(program):
    sites = expressions(program)
    for k, (container, key) in enumerate(sites):
        for e in simpler_expressions(get(container, key)):
            def change(p, k=k, e=e):
                put(*expressions(p)[k], copy(e))
            yield changed(program, change)
    for k, node in enumerate(parts_of(program)):
        for change in simpler_parts(node):
            yield changed(program, lambda p, k=k, change=change: change(parts_of(p)[k]))


def shrink(driver, program, trial, wrong, budget=600):
    """The smallest program found with a fault of the same kind. Random plans are of the program, so that several are
    tried of each."""
    wanted = trials.kind(wrong)
    attempts = [trial]
    if trial.plan.startswith(("random", "drawn")):
        words = trial.plan.split()
        for k in range(1, 5):
            plan = " ".join([words[0], str(int(words[1]) + k)] + words[2:])
            attempts.append(trials.Trial(trial.target, plan, trial.machine, trial.fp))

    def fails(p):
        for t in attempts:
            found = trials.outcome(driver, p, t)
            if found and trials.kind(found) == wanted:
                return t, found
        return None

    tried, again = set(), True
    while again and budget > 0:
        again = False
        for candidates in (without, smaller_sizes, simpler):
            for p in candidates(program):
                try:
                    text = printed(p) + str(p.parameters)
                except (AttributeError, TypeError, KeyError):
                    continue
                if text in tried:
                    continue
                tried.add(text)
                budget -= 1
                if budget <= 0:
                    break
                found = fails(p)
                if found:
                    program, again = p, True
                    trial, wrong = found
                    break
            if again:
                break
    return program, trial, wrong


def corpus_text(program, trial, wrong):
    """The program as tests/corpus/ takes it."""
    meaning = trials.Meaning(program)
    lines = [f"// {trial.name()}, plan {trial.plan}, --fp={trial.fp}: {wrong.splitlines()[0]}"]
    if program.parameters and not program.literal_sizes:
        lines.append("//! sizes: " + "x".join(str(v) for v in program.parameters.values()))
    for name, data in meaning.inputs.items():
        if hasattr(data, "size") and data.size <= 200:
            lines.append(f"//! input {name} = " + " ".join(shown(v) for v in data.ravel()))
        else:
            lines.append(f"// {name}: see inputs.py")
    for k, image in enumerate(meaning.results):
        if hasattr(image.data, "size") and image.data.size <= 200:
            lines.append(f"//! expect {k + 1} = " + " ".join(shown(v) for v in image.data.ravel()))
    return "\n".join(lines) + "\n" + meaning.text


def shown(v):
    return str(int(v)) if v.dtype.kind == "b" else str(v)
