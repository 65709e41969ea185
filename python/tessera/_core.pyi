from collections.abc import Callable, Mapping
from typing import Any

version: str

class Program:
    inputs: tuple[tuple[Any, ...], ...]
    outputs: tuple[tuple[Any, ...], ...]
    diagnostics_text: str
    diagnostics_json: str
    time: tuple[Any, ...] | None
    def __init__(
        self, text: str | bytes, name: str, target: int = 0, fp: int = 0, threads: int = 0, device: int = 0,
        forma: int = 0, border: str | None = None, plan: str | None = None, machine: str | None = None,
        library: str | None = None, cache: str | None = None, cc: str | None = None,
        constants: Mapping[str, float] | None = None, device_bytes: int = 0,
        types: list[tuple[str | None, str, int]] | None = None,
        nodata: Mapping[str | None, float] | None = None, first: int = 0,
    ) -> None: ...
    def run(
        self, images: tuple[Any, ...], scalars: dict[str, Any] | None, outs: tuple[Any, ...] | None, stream: Any,
        handle: int, allocate: Callable[[tuple[int, ...], str], Any] | None, verify: bool, /,
    ) -> tuple[Any, ...]: ...
    def shapes(self, images: tuple[Any, ...], scalars: dict[str, Any] | None, /) -> tuple[tuple[int, ...], ...]: ...
    def dump(self, stop: str, images: tuple[Any, ...] | None, scalars: dict[str, Any] | None, /) -> str: ...
    def device_image(self, shape: tuple[int, ...], type: str, /) -> object: ...
    def reach(self, name: str, scalars: dict[str, Any] | None, /) -> tuple[Any, ...]: ...

def setup(
    make_error: Any, convert: Any, warn: Any, empty: Any, empty_at: Any, ndarray: Any, /
) -> None: ...
def spline_filter(
    address: int, before: int, n: int, behind: int, order: int, ends: int, part: int, parts: int, /
) -> None: ...
def lend(image: object, /) -> object: ...
def presets() -> list[str]: ...
def machine() -> str: ...
