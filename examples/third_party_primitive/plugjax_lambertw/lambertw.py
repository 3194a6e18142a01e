"""The primitive and its mathematics."""

from __future__ import annotations

from typing import Any

from plugjax import lax
from plugjax.extend import Primitive, RuleSet
from plugjax.lax.families import FLOAT, elementwise, partials, scalar

rules = RuleSet(__name__)

lambertw_p = Primitive("lambertw")
elementwise(rules, lambertw_p, accepts=FLOAT)


def lambertw(x: Any) -> Any:
    """Elementwise principal branch of the Lambert W function: the w not below -1 with ``w * exp(w) == x``.

    Shapes:
        x: ``[...]``, floating -> ``[...]``, same dtype; nan below ``-1/e``.

    Reference:
        R. Corless et al., "On the Lambert W function", Advances in Computational Mathematics 5, 1996.
    """
    return lambertw_p.bind(x)


@partials(rules, lambertw_p)
def _lambertw_partials(w: Any, x: Any) -> tuple[Any]:
    # dW/dx = 1 / (exp(w) (1 + w)) is right at x == 0 too, unlike w / (x (1 + w)).
    one = scalar(1, w)
    return (lambda: lax.div(one, lax.mul(lax.exp(w), lax.add(w, one))),)
