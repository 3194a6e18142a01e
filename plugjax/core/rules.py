"""Rule kinds and rule sets: the columns of the matrix, and the inert data that plugins fill it with.

A :class:`RuleKind` is declared by the interpreter that reads it. A :class:`RuleSet` is collected by a module with
decorators, and changes nothing in the world until a plugin hands it to a registry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, Generic, TypeVar

from plugjax.core.errors import RuleAbsentError
from plugjax.core.primitive import Primitive

F = TypeVar("F", bound=Callable[..., Any])


class RuleKind(Generic[F]):
    """A typed column of the matrix of rules.

    Args:
        name: unique name, such as ``"jvp"``.
        signature: what a rule takes and gives, shown when one is missing.

    Example:
        >>> from plugjax.extend.rules import RuleKind
        >>> cost = RuleKind("cost", "(*avals, **params) -> flops")
        >>> cost
        RuleKind(cost)
    """

    __slots__ = ("__weakref__", "name", "signature")

    def __init__(self, name: str, signature: str) -> None:
        self.name = name
        self.signature = signature

    def __repr__(self) -> str:
        return f"RuleKind({self.name})"


@dataclass(frozen=True, slots=True)
class Rule:
    """One filled cell: who computes what, for which platform, and where it is written."""

    kind: RuleKind[Any]
    primitive: Primitive
    function: Callable[..., Any]
    platform: str | None
    replace: bool
    module: str
    line: int

    @property
    def cell(self) -> tuple[RuleKind[Any], Primitive, str | None]:
        """What the rule is a rule for."""
        return self.kind, self.primitive, self.platform

    @property
    def where(self) -> str:
        """Module and line of the rule."""
        return f"{self.module}:{self.line}"


class AbsentRule:
    """Stands in a cell that is empty for a reason; calling it raises that reason."""

    __slots__ = ("because", "kind", "primitive")

    def __init__(self, kind: RuleKind[Any], primitive: Primitive, because: str) -> None:
        self.kind = kind
        self.primitive = primitive
        self.because = because

    def __call__(self, *args: Any, **params: Any) -> Any:
        """Raise the declared reason."""
        raise RuleAbsentError(
            f"primitive '{self.primitive.name}' has no {self.kind.name} rule: {self.because}"
        )


class RuleSet:
    """Rules that one module collects.

    Args:
        module: ``__name__`` of the module.

    Example:
        >>> from plugjax.extend.core import Primitive
        >>> from plugjax.extend.rules import RuleSet, abstract_eval
        >>> rules = RuleSet("example")
        >>> twice_p = Primitive("twice")
        >>> @rules.define(abstract_eval, twice_p)
        ... def _twice_aval(x):
        ...     return x
        >>> rules
        RuleSet(example, 1 rules)
    """

    def __init__(self, module: str) -> None:
        self.module = module
        self.rules: list[Rule] = []

    def define(
        self,
        kind: RuleKind[F],
        *primitives: Primitive,
        platform: str | None = None,
        replace: bool = False,
    ) -> Callable[[F], F]:
        """Decorator: the function is the rule of ``kind`` for each of ``primitives``.

        Args:
            kind: the column.
            *primitives: the rows.
            platform: for lowerings, the platform that the rule is for; ``None`` is the default for all.
            replace: whether the rule may displace another plugin's.
        """

        def register(function: F) -> F:
            code = getattr(function, "__code__", None)
            line = code.co_firstlineno if code else sys._getframe(1).f_lineno
            for primitive in primitives:
                self.rules.append(
                    Rule(kind, primitive, function, platform, replace, self.module, line)
                )
            return function

        return register

    def absent(self, kind: RuleKind[Any], *primitives: Primitive, because: str) -> None:
        """State that there is no rule, and why; using it raises :class:`RuleAbsentError`."""
        line = sys._getframe(1).f_lineno
        for primitive in primitives:
            function = AbsentRule(kind, primitive, because)
            self.rules.append(Rule(kind, primitive, function, None, False, self.module, line))

    def __repr__(self) -> str:
        return f"RuleSet({self.module}, {len(self.rules)} rules)"


@dataclass(frozen=True)
class LazyRules:
    """Rule sets in modules that are imported only when a table of one of ``kinds`` is first needed.

    Attributes:
        kinds: names of the rule kinds that the modules give rules for.
        load: imports the modules and returns their rule sets.
        needs: modules that must be importable for these rules to be of use; without them the rules are left out.
    """

    kinds: Sequence[str]
    load: Callable[[], Sequence[RuleSet]]
    needs: Sequence[str] = ()


# The kinds that evaluation and staging read; transformations declare theirs in their own modules.
abstract_eval: RuleKind[Callable[..., Any]] = RuleKind(
    "abstract_eval", "(*avals, **params) -> aval, or a list of avals"
)
impl: RuleKind[Callable[..., Any]] = RuleKind(
    "impl", "(*numpy_arrays, **params) -> numpy array, or a list of them"
)
scalar_impl: RuleKind[Callable[..., Any]] = RuleKind(
    "scalar_impl",
    "(*numpy_scalars) -> numpy scalar: `impl` for operands of rank 0 and no parameters",
)
lowering: RuleKind[Callable[Concatenate[Any, ...], Any]] = RuleKind(
    "lowering", "(ctx, *mlir_values, **params) -> MLIR value, or a list of them"
)
