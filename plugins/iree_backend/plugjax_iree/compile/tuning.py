"""Which flags a module is compiled with: sets of them to try one after another, those of the fastest code first."""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from plugjax_iree.compile.target import CompileTarget

_CONTRACTIONS = ("dot_general", "stablehlo.convolution")
_DATA_TILING = "--iree-global-opt-data-tiling"
# Without IREE's library of kernels for products, which would be compiled with each module. The code that is made instead is as fast, but for
# signed integers of 8 bits, where the library is three times as fast.
_NO_LIBRARY = "--iree-llvmcpu-enable-ukernels=none"
_O2 = "--iree-opt-level=O2"
_O0 = "--iree-opt-level=O0"
# The embedded linker knows no libm, so float64 sin, tanh, fmod ... stay undefined; the host's
# linker finds them.
_HOST_LINKER = "--iree-llvmcpu-link-embedded=false"
# Operations on float64 that become calls of it. Those on float32 are expanded in place.
_LIBM = re.compile(
    r"(stablehlo\.(sine|cosine|tan|tanh|remainder)|chlo\.(?!top_k|next_after)\w+)\b.*f64"
)
_BYTES = "xi8>"
# A product of float32, and its three shapes.
_PRODUCT = re.compile(
    r"dot_general.*: \(tensor<([\dx]*)f32>, tensor<([\dx]*)f32>\) -> tensor<([\dx]*)f32>"
)
_BATCH = re.compile(r"batching_dim\w+ = \[([\d, ]*)\]")
# Multiplications of one product of a batch, up to which it is as fast without copies of the matrices in the order of tiles.
_LARGE_PRODUCT = 2**24


class Step(NamedTuple):
    """One attempt: tuning flags, and whether operations stay apart, all or those at some lines of the text."""

    tuning: tuple[str, ...]
    apart: bool | tuple[int, ...] = False

    def __str__(self) -> str:
        if self.apart is True:
            return "one operation at a time"
        if self.apart:
            return f"line {', '.join(map(str, self.apart))} compiled alone"
        return " ".join(self.tuning) or "default flags"


def steps(text: str, target: CompileTarget, linking: tuple[str, ...] = ()) -> Iterator[Step]:
    """All steps, the fastest code first, and among equals the fastest compilation; ``linking`` has flags for the latter."""
    last: tuple[str, ...] = ()
    if target.driver == "local":
        tuned = _tuned(text)
        attempts = [tuned]
        if "f64" in text and target.is_this_processor:
            libm = _LIBM.search(text) is not None
            # First if the module calls libm: an attempt with the embedded linker would be wasted, and
            # prints errors.
            attempts.insert(0 if libm else 1, (*tuned, _HOST_LINKER))
            if libm:
                last = (_HOST_LINKER,)
        if linking:
            attempts.insert(0, (*tuned, *linking))
        yield from map(Step, attempts)
    yield Step(())
    yield Step((_O0,))
    yield Step(last, apart=True)


def _tuned(text: str) -> tuple[str, ...]:
    """Flags for what a module computes: products of matrices, convolutions, or neither."""
    lines = [line for line in text.splitlines() if any(name in line for name in _CONTRACTIONS)]
    if not lines:
        return (_O2, _NO_LIBRARY)
    if any(_BYTES in line for line in lines):
        return (_DATA_TILING,)
    return (_NO_LIBRARY,) if all(map(_is_small, lines)) else (_DATA_TILING, _NO_LIBRARY)


def _is_small(line: str) -> bool:
    """Whether a contraction is a small product of float32, of sizes that are known."""
    found = _PRODUCT.search(line)
    if not found:
        return False
    shapes = [[int(n) for n in shape.split("x")[:-1]] for shape in found.groups()]
    batch = _BATCH.search(line)
    axes = [int(n) for n in batch[1].split(",")] if batch and batch[1].strip() else []
    count = math.prod(shapes[0][axis] for axis in axes)
    # [b, m, k] times [b, k, n] is [b, m, n]: the sizes of the three are (m k n)^2 b^3 together.
    return math.prod(map(math.prod, shapes)) <= _LARGE_PRODUCT**2 * count**3
