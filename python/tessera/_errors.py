"""What is raised and warned of. Every failure of the library is an `Error`; its sentence is the library's."""
import json
import re


class Error(Exception):
    """Something did not work. The text is one sentence, or diagnostics with source lines and carets."""


class CompileError(Error, ValueError):
    """A program's text is wrong.

    Attributes
    ----------
    diagnostics : list of dict
        One for each mistake: what `--diagnostics=json` prints on the command line.
    """

    def __init__(self, text, diagnostics=()):
        super().__init__(text)
        self.diagnostics = list(diagnostics)

    def __reduce__(self):
        return type(self), (self.args[0], self.diagnostics)


class ArgumentError(Error, ValueError):
    """An image or number does not fit the program, or the call itself is wrong. Nothing was written."""


class ArgumentTypeError(ArgumentError, TypeError):
    """An argument of a kind or element type that does not fit."""


class FileError(Error, OSError):
    """A file could not be read or written."""


class CompilerError(Error, RuntimeError):
    """The C compiler is missing or failed."""


class DeviceError(Error, RuntimeError):
    """The device or its driver is missing or failed, or memory is of another device."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory; nothing is lost."""


class UnsupportedError(Error, NotImplementedError):
    """Asked of a build that lacks what it needs, or of a function for a case it does not have."""


class InternalError(Error, RuntimeError):
    """A fault of ours."""


class TesseraWarning(UserWarning):
    """What the library does without: for instance that the strip machine runs, since there is no C compiler."""


class CopyWarning(TesseraWarning):
    """An array had to be copied, since its elements do not lie as programs read them."""


class ProgramWarning(TesseraWarning):
    """What the compiler of programs warns of."""


# As tess_status in tessera.h.
_OF_STATUS = {
    1: CompileError, 2: ArgumentError, 3: FileError, 4: CompilerError, 5: DeviceError, 6: OutOfMemory,
    7: UnsupportedError, 8: InternalError,
}


def _conversion(text):
    """How an array becomes one of the type that a program declares."""
    wrong = re.fullmatch(r"image '(\w+)' has elements of type \w+, but the program declares (\w+)", text)
    if not wrong:
        return ""
    name = {"float": "float32", "double": "float64", "int": "int32"}.get(wrong[2], wrong[2])
    return f"; '.astype(\"{name}\")' converts it"


def make(status, text, diagnostics):
    """The exception for a failure of the library."""
    if status == 1:
        found = [json.loads(line) for line in (diagnostics or "").splitlines() if line.strip()]
        return CompileError(text.rstrip("\n"), found)
    if status == 2 and " has elements of type " in text:
        return ArgumentTypeError(text + _conversion(text))
    return _OF_STATUS.get(status, Error)(text)
