"""Python functions as stencils of the language: their syntax trees are translated, statement by statement, and nothing
of them is run.

What a name means is decided when the function is called: a parameter is an image or a number, another name is a number,
an array (a mask) or a function of the module or closure that the stencil stands in."""
import ast
import inspect
import math
import textwrap

from . import _errors

TYPES = {
    "float32": "float", "float64": "double", "float16": "float16", "bool": "bool", "int8": "int8", "int16": "int16",
    "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
}
WINDOWS = ("sum", "prod", "min", "max", "mean", "median", "any", "all")
# Functions of math, numpy and Python, by their names there.
_SAME = (
    "sqrt cbrt exp exp2 log log2 log10 sin cos tan sinh cosh tanh hypot "
    "floor ceil round trunc fmod isnan pow atan2 asin acos atan abs"
).split()
FUNCTIONS = dict(
    {name: name for name in _SAME}, fabs="abs", absolute="abs", arcsin="asin", arccos="acos", arctan="atan",
    arctan2="atan2", minimum="min", maximum="max", power="pow", clip="clamp", where="select", rint="round", mix="mix",
)
_FOLDED = {"min": "min", "max": "max", "minimum": "min", "maximum": "max"}
_BINARY = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Pow: "^", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "xor",
    ast.LShift: "<<", ast.RShift: ">>",
}
_COMPARE = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_UNARY = {ast.USub: "-", ast.UAdd: "", ast.Not: "!", ast.Invert: "~"}
RESERVED = (
    set(
        """stencil vector mask parameter return const struct border use for endfor where normalized in true false any
    index size convolve flip sum prod min max mean median all cast sat select clamp mix isnan int void
    xor none mirror reflect wrap constant minimum maximum total count histogram""".split()
    )
    | set(TYPES.values())
    | set(FUNCTIONS.values())
)


def safe(name):
    """A Python name as one of the language."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c == "_") else f"u{ord(c)}" for c in name)
    return plain + "_" if plain in RESERVED else plain


def number(value):
    """A literal; None for what has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value >= 0 else f"({value})"
    if isinstance(value, float) and math.isfinite(value):
        return repr(value) if value >= 0 and math.copysign(1, value) > 0 else f"({value!r})"
    return None


class Source:
    """The text of a function, parsed once."""

    def __init__(self, function):
        self.function = function
        self.file = inspect.getsourcefile(function) or "<string>"
        try:
            lines, self.first = inspect.getsourcelines(function)
        except (OSError, TypeError):
            raise _errors.CompileError(
                f"the text of '{function.__name__}' cannot be found, which a stencil is translated from: "
                "define it in a file or a notebook"
            ) from None
        self.indent = len(lines[0]) - len(lines[0].lstrip())
        self.lines = [line.rstrip("\n") for line in lines]
        try:
            tree = ast.parse(textwrap.dedent("".join(lines)))
        except SyntaxError:
            tree = ast.Module(body=[], type_ignores=[])
        if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
            raise _errors.CompileError(f"{self.file}:{self.first}: a stencil is made of a function that 'def' defines")
        self.tree = tree.body[0]
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg:
            raise self.error(self.tree, "a stencil has a fixed list of parameters")
        self.parameters = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
        self.closure = inspect.getclosurevars(function)
        self.needs_const = _constants(self.tree)

    def error(self, node, sentence):
        """A CompileError at a node, with its line and a caret."""
        return self.error_at(getattr(node, "lineno", 1), getattr(node, "col_offset", 0), sentence)

    def error_at(self, line, column, sentence):
        shown = self.lines[line - 1]
        column += self.indent
        at = self.first + line - 1
        text = f"{self.file}:{at}:{column + 1}: error: {sentence}\n    {shown}\n    {' ' * column}^"
        return _errors.CompileError(text, [{"file": self.file, "line": at, "column": column + 1, "message": sentence}])

    def outside(self, name):
        """(whether there is one, the value) of a name of the module or closure."""
        for scope in (self.closure.nonlocals, self.closure.globals, self.closure.builtins):
            if name in scope:
                return True, scope[name]
        # Names in lambdas are not among those of the function.
        if name in self.function.__globals__:
            return True, self.function.__globals__[name]
        if self.function.__closure__ and name in self.function.__code__.co_freevars:
            return True, self.function.__closure__[self.function.__code__.co_freevars.index(name)].cell_contents
        import builtins
        return hasattr(builtins, name), getattr(builtins, name, None)


def _is_text(node):
    """A docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _names(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _bound(node):
    """The names that a statement binds, those within it too."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _constants(tree):
    """Names whose values stand in offsets and ranges, or make up such values, or that are annotated as tessera.const:
    they must be known when compiling."""
    annotated = [a for a in ast.walk(tree) if isinstance(a, ast.arg) and a.annotation]
    wanted, changed = {
        a.arg for a in annotated if ast.unparse(a.annotation).strip("'\"").split(".")[-1] == "const"
    }, True
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not (isinstance(node.value, ast.Attribute) and node.value.attr == "at"):
            wanted |= _names(node.slice)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Lambda):
            for bound in node.args[1:]:
                wanted |= _names(bound)
    while changed:
        before = len(wanted)
        for node in ast.walk(tree):
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.If)) and _bound(node) & wanted:
                wanted |= _names(node.test if isinstance(node, ast.If) else node.value or node.target)
        changed = len(wanted) > before
    return wanted


class Translation:
    """One stencil for one signature: `kinds[name]` is ("image", dimensions) or ("number", type of the language)."""

    def __init__(self, source, name, kinds):
        self.source, self.name, self.kinds = source, name, kinds
        self.locals, self.variables, self.masks = {}, [], {}
        self.lines, self.places = [], []
        self.used = {safe(p) for p in source.parameters}
        self._body()

    # ---- Statements
    # ----------------------------------------------------------------------------------------------
    def _body(self):
        tree = self.source.tree
        for node in ast.walk(tree):
            for nodes in (getattr(node, "body", None), getattr(node, "orelse", None)):
                for first, second in zip(nodes, nodes[1:]) if isinstance(nodes, list) else ():
                    if isinstance(first, ast.Return):
                        raise self.source.error(second, "nothing follows the 'return' of a stencil")
        value = self._block(tree.body)
        if value is None:
            raise self.source.error(tree, f"the stencil '{tree.name}' returns nothing")
        node = next(n for n in ast.walk(tree) if isinstance(n, ast.Return))
        self._line(node, f"return {value};")

    def _block(self, nodes):
        """What some statements return; None where they bind names alone."""
        for k, node in enumerate(nodes):
            if isinstance(node, ast.Return):
                if node.value is None or isinstance(node.value, ast.Tuple):
                    raise self.source.error(node, "a stencil returns one value")
                return self.expression(node.value)
            if isinstance(node, ast.If):
                value = self._if(node, nodes[k + 1:])
                if value is not None:
                    return value
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                self._assign(node)
            elif not isinstance(node, ast.Pass) and not _is_text(node):
                what = {
                    "For": "'for' loop: write tessera.sum(lambda i: ..., (lo, hi))", "While": "'while' loop",
                }.get(type(node).__name__, f"statement like this ({type(node).__name__})")
                raise self.source.error(node, f"a stencil has no {what}")
        return None

    def _if(self, node, rest):
        """Both branches are computed, and the condition chooses among what they bind names to, or, where one of them
        returns, among what they come to with the rest behind them."""
        returns = any(isinstance(n, ast.Return) for n in ast.walk(node))
        self._bind(node, "if", self.expression(node.test), _bound(node) & self.source.needs_const)  # no program's name
        test, before = self.locals.pop("if"), dict(self.locals)
        value, of_body = self._block([*node.body, *rest] if returns else node.body), self.locals
        self.locals = dict(before)
        other, of_else = self._block([*node.orelse, *rest] if returns else node.orelse), self.locals
        if not returns:
            self._join(node, test, of_body, of_else)
            return None
        if value is None or other is None:
            raise self.source.error(node, f"the stencil '{self.source.tree.name}' does not return on all ways")
        return f"({test} ? {value} : {other})"

    def _join(self, node, test, of_body, of_else):
        """Names that only one branch binds are none behind it, unless they were bound before."""
        self.locals = {name: made for name, made in of_body.items() if of_else.get(name) == made}
        for name in of_body:
            a, b = of_body[name], of_else.get(name) or (name in self.kinds and safe(name))
            if b and a != b:
                self._bind(node, name, f"({test} ? {a} : {b})")
        for name in of_else:
            if name not in of_body and name in self.kinds:
                self._bind(node, name, f"({test} ? {safe(name)} : {of_else[name]})")

    def _line(self, node, text):
        self.lines.append(text)
        self.places.append((node.lineno, node.col_offset))

    def _assign(self, node):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names, values = targets[0], node.value
        if (
            len(targets) == 1
            and isinstance(names, ast.Tuple)
            and isinstance(values, ast.Tuple)
            and len(names.elts) == len(values.elts)
        ):
            names, values = names.elts, values.elts
        else:
            names, values = [names], [values]
        if len(targets) != 1 or values[0] is None or not all(isinstance(n, ast.Name) for n in names):
            raise self.source.error(node, "a stencil assigns values to names")
        if isinstance(node, ast.AugAssign):
            old = ast.copy_location(ast.Name(names[0].id, ast.Load()), node)
            values = [ast.copy_location(ast.BinOp(old, node.op, node.value), node)]
        texts = [self.expression(v) for v in values]  # all of them before any name means something else
        for name, text in zip(names, texts):
            self._bind(node, name.id, text)

    def _bind(self, node, name, text, const=False):
        made, n = safe(name), 1
        while made in self.used:
            n += 1
            made = f"{safe(name)}_{n}"
        self.used.add(made)
        self.locals[name] = made
        self._line(node, f"{'const int ' if const or name in self.source.needs_const else ''}{made} = {text};")

    # ---- Expressions
    # ----------------------------------------------------------------------------------------------
    def expression(self, node):
        method = getattr(self, "_" + type(node).__name__, None)
        if not method:
            raise self.source.error(node, f"a stencil has no expression like this ({type(node).__name__})")
        return method(node)

    def _Constant(self, node):
        text = number(node.value)
        if text is None:
            raise self.source.error(node, f"a stencil computes with numbers, not {node.value!r}")
        return text

    def _Name(self, node):
        name = node.id
        for variables in reversed(self.variables):
            if name in variables:
                return variables[name]
        if name in self.locals:
            return self.locals[name]
        if name in self.kinds:
            return safe(name)
        known, value = self.source.outside(name)
        text = number(value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value)
        if text is None:
            raise self.source.error(
                node, f"'{name}' is not defined" if not known else f"'{name}' is {type(value).__name__}, not a number"
            )
        return text

    def _BinOp(self, node):
        a, b = self.expression(node.left), self.expression(node.right)
        if isinstance(node.op, ast.Div):  # a true division, also of integers
            if isinstance(node.right, ast.Constant) and isinstance(node.right.value, int):
                return f"({a} / {b}.0)"
            real = any(
                isinstance(side, ast.Constant) and isinstance(side.value, float) for side in (node.left, node.right)
            )
            return f"({a} / {b})" if real else f"(1.0 * {a} / {b})"
        if isinstance(node.op, ast.Mod):  # with the sign of the divisor
            return f"(({a} % {b} + {b}) % {b})"
        if isinstance(node.op, ast.FloorDiv):
            return f"(({a} - (({a} % {b} + {b}) % {b})) / {b})"
        if type(node.op) not in _BINARY:
            raise self.source.error(node, f"a stencil has no operator like this ({type(node.op).__name__})")
        return f"({a} {_BINARY[type(node.op)]} {b})"

    def _UnaryOp(self, node):
        return f"({_UNARY[type(node.op)]}{self.expression(node.operand)})"

    def _BoolOp(self, node):
        return (
            "("
            + (" && " if isinstance(node.op, ast.And) else " || ").join(self.expression(v) for v in node.values)
            + ")"
        )

    def _Compare(self, node):
        sides, parts = [node.left, *node.comparators], []
        for op, a, b in zip(node.ops, sides, sides[1:]):
            if type(op) not in _COMPARE:
                raise self.source.error(node, f"a stencil has no comparison like this ({type(op).__name__})")
            parts.append(f"{self.expression(a)} {_COMPARE[type(op)]} {self.expression(b)}")
        return "(" + " && ".join(parts) + ")"

    def _IfExp(self, node):
        return f"({self.expression(node.test)} ? {self.expression(node.body)} : {self.expression(node.orelse)})"

    def _image(self, node):
        """The dimensions of the image that a name is; None where it is none."""
        if isinstance(node, ast.Name) and node.id not in self.locals and not any(node.id in v for v in self.variables):
            kind = self.kinds.get(node.id)
            return kind[1] if kind and kind[0] == "image" else None
        return None

    def _indices(self, node):
        return node.elts if isinstance(node, ast.Tuple) else [node]

    def _Subscript(self, node):
        value, indices = node.value, self._indices(node.slice)
        if isinstance(value, ast.Attribute) and value.attr == "shape" and self._image(value.value) is not None:
            return f"size({safe(value.value.id)}, {self.expression(node.slice)})"
        absolute = isinstance(value, ast.Attribute) and value.attr == "at"
        image = value.value if absolute else value
        n_dims = self._image(image)
        if n_dims is None:
            return self._mask(node, indices)
        if any(isinstance(i, (ast.Slice, ast.Starred)) for i in indices):
            raise self.source.error(node, "a stencil reads single points: indices are distances like X[-1, 0]")
        if len(indices) != n_dims:
            raise self.source.error(
                node,
                f"'{image.id}' has {n_dims} dimension{'s' if n_dims > 1 else ''}, but {len(indices)} indices stand "
                f"here",
            )
        return f"{safe(image.id)}{'' if absolute else '@'}[{', '.join(self.expression(i) for i in indices)}]"

    def _mask(self, node, indices):
        if not isinstance(node.value, ast.Name):
            raise self.source.error(node, "only images and arrays of coefficients have elements here")
        if node.value.id in self.locals:
            raise self.source.error(
                node,
                f"'{node.value.id}' is a value at one point: images alone have neighbours, so make a stencil of its "
                f"own of it",
            )
        import numpy as np
        known, value = self.source.outside(node.value.id)
        if node.value.id in self.kinds or not isinstance(value, (np.ndarray, list, tuple)):
            raise self.source.error(
                node,
                f"'{node.value.id}' is {'a number' if known or node.value.id in self.kinds else 'not defined'}, which "
                f"has no elements",
            )
        table = np.asarray(value)
        if (
            table.dtype.kind not in "iufb"
            or not 1 <= table.ndim <= 4
            or table.ndim != len(indices)
            or not np.isfinite(table).all()
        ):
            raise self.source.error(
                node, f"'{node.value.id}' is no array of finite numbers of {len(indices)} dimensions"
            )
        self.masks[safe(node.value.id)] = table
        return f"{safe(node.value.id)}[{', '.join(self.expression(i) for i in indices)}]"

    def _Attribute(self, node):
        inner = node.value
        if self._image(inner) is not None:
            return f"{safe(inner.id)}.{node.attr}"
        if isinstance(inner, ast.Subscript) and self._image(inner.value) is not None:
            return f"{self.expression(inner)}.{node.attr}"
        if isinstance(inner, ast.Name):
            known, module = self.source.outside(inner.id)
            text = number(getattr(module, node.attr, None)) if known else None
            if text is not None:
                return text
        raise self.source.error(node, f"'{ast.unparse(node)}' is no number")

    # ---- Calls
    # ----------------------------------------------------------------------------------------------
    def _callee(self, node):
        """(name, the module that it is of) of what is called."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            known, module = self.source.outside(node.value.id)
            return node.attr, getattr(module, "__name__", None) if known else None
        if isinstance(node, ast.Name):
            known, value = self.source.outside(node.id)
            name = getattr(value, "__name__", node.id)
            home = getattr(value, "__module__", None) or "numpy"
            return name, "tessera" if home.startswith("tessera") else home
        return None, None

    def _Call(self, node):
        name, home = self._callee(node.func)
        home = (home or "").split(".")[0]
        if home == "tessera" and name in WINDOWS:
            return self._window(node, name)
        if node.keywords:
            raise self.source.error(node, "only windows take named arguments here")
        if home == "tessera" and name == "index":
            return f"index({self.expression(node.args[0])})"
        arguments = [self.expression(a) for a in node.args]
        if home in ("numpy", "builtins") and name in ("float", "int", *TYPES) and len(arguments) == 1:
            return f"cast<{dict(float='double', int='int').get(name) or TYPES[name]}>({arguments[0]})"
        if home in ("numpy", "builtins") and name in _FOLDED and len(arguments) >= 2:
            folded = arguments[0]
            for argument in arguments[1:]:
                folded = f"{_FOLDED[name]}({folded}, {argument})"
            return folded
        if home in ("math", "numpy", "builtins", "tessera") and name in FUNCTIONS:
            return f"{FUNCTIONS[name]}({', '.join(arguments)})"
        raise self.source.error(node, f"a stencil cannot call '{ast.unparse(node.func)}'")

    def _window(self, node, name):
        if not node.args or not isinstance(node.args[0], ast.Lambda):
            raise self.source.error(
                node,
                f"tessera.{name} takes a function of the window's variables: tessera.{name}(lambda i, j: ..., (-1, "
                f"1), (-1, 1))",
            )
        function, ranges = node.args[0], node.args[1:]
        names = [a.arg for a in function.args.args]
        if len(names) != len(ranges) or not 1 <= len(names) <= 4:
            raise self.source.error(
                node,
                f"a window has a range (lo, hi) for each of its variables; here are {len(names)} variables and "
                f"{len(ranges)} ranges",
            )
        bounds = []
        for bound in ranges:
            if not isinstance(bound, ast.Tuple) or len(bound.elts) != 2:
                raise self.source.error(bound, "a range is two numbers, (lo, hi), both included")
            bounds.append([self.expression(e) for e in bound.elts])
        variables = {}
        for n in names:
            made = safe(n)
            while made in self.used:
                made += "_"
            variables[n] = made
        self.used |= set(variables.values())
        self.variables.append(variables)
        body = self.expression(function.body)
        where = ""
        for keyword in node.keywords:
            if (
                keyword.arg != "where"
                or not isinstance(keyword.value, ast.Lambda)
                or [a.arg for a in keyword.value.args.args] != names
            ):
                raise self.source.error(
                    node, "the only named argument of a window is where=lambda ...: ..., of the same variables"
                )
            where = f" where {self.expression(keyword.value.body)}"
        self.variables.pop()
        self.used -= set(variables.values())
        heads = ", ".join(f"{variables[n]} = {lo}..{hi}" for n, (lo, hi) in zip(names, bounds))
        return f"{name}({heads}{where} : {body})"

    # ---- The whole
    # ----------------------------------------------------------------------------------------------
    def text(self):
        """The definition, line by line, and for each of its lines (line, column) of the function, or None."""
        def argument(name):
            kind = self.kinds[name]
            if kind[0] == "image":
                return f"vector#{kind[1]} any {safe(name)}"
            return f"{'const ' if name in self.source.needs_const else ''}{kind[1]} {safe(name)}"

        head = f"stencil {self.name}({', '.join(argument(p) for p in self.source.parameters)}) {{"
        masks = [
            f"    mask {name}[{', '.join(map(str, table.shape))}] = {{ "
            f"{', '.join(number(v) or '0' for v in table.ravel().tolist())} }};"
            for name, table in self.masks.items()
        ]
        lines = [head, *masks, *("    " + line for line in self.lines), "}"]
        return lines, [None] * (1 + len(masks)) + self.places + [None]
