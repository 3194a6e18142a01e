from collections.abc import Callable

import pytest

from plugjax_iree.compiler import CompileTarget, compile_stablehlo

Compile = Callable[..., bytes]


@pytest.fixture(scope="session")
def compiled() -> Compile:
    """Compiles text for the host, each text once."""
    known: dict[str, bytes] = {}

    def compile_once(text: str, *, has_contraction: bool = False, f64: bool = False) -> bytes:
        if text not in known:
            known[text] = compile_stablehlo(
                text, CompileTarget(), has_contraction=has_contraction, f64=f64
            )
        return known[text]

    return compile_once


@pytest.fixture(scope="session")
def add_module(compiled: Compile) -> bytes:
    return compiled(
        """module @m {
  func.func public @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %x, %y : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}"""
    )
