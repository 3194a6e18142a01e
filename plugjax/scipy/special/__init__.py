"""Special functions with the interface of ``scipy.special``."""

from plugjax.nn.normalization import log_softmax, logsumexp, softmax
from plugjax.scipy.special.bessel import bessel_jn, i0, i0e, i1, i1e
from plugjax.scipy.special.elementary import (
    boxcox,
    boxcox1p,
    entr,
    expit,
    kl_div,
    logit,
    rel_entr,
    xlog1py,
    xlogy,
)
from plugjax.scipy.special.error_functions import (
    dawsn,
    erf,
    erfc,
    erfcx,
    erfinv,
    log_ndtr,
    ndtr,
    ndtri,
)
from plugjax.scipy.special.exponential_integrals import exp1, expi, expn
from plugjax.scipy.special.gamma import (
    bernoulli,
    beta,
    betainc,
    betaln,
    comb,
    digamma,
    factorial,
    gamma,
    gammainc,
    gammaincc,
    gammaln,
    gammasgn,
    multigammaln,
    poch,
    polygamma,
    zeta,
)

__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb", "dawsn", "digamma", "entr", "erf",
    "erfc", "erfcx", "erfinv", "exp1", "expi", "expit", "expn", "factorial", "gamma", "gammainc", "gammaincc", "gammaln",
    "gammasgn", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr", "log_softmax", "logit", "logsumexp", "multigammaln", "ndtr",
    "ndtri", "poch", "polygamma", "rel_entr", "softmax", "xlog1py", "xlogy", "zeta",
]  # fmt: skip
