"""Special functions with the interface of ``scipy.special``."""

from plugjax.extend.transforms import publish
from plugjax.nn.normalization import logsumexp
from plugjax.scipy.special.bessel import bessel_jn, i0, i0e, i1, i1e
from plugjax.scipy.special.bivariate_normal import owens_t
from plugjax.scipy.special.confluent import hyp1f1
from plugjax.scipy.special.dilogarithm import spence
from plugjax.scipy.special.elementary import (
    boxcox,
    boxcox1p,
    entr,
    expit,
    kl_div,
    log_softmax,
    logit,
    rel_entr,
    softmax,
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
from plugjax.scipy.special.faddeeva import wofz
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
from plugjax.scipy.special.gauss import hyp2f1
from plugjax.scipy.special.log_gamma import loggamma
from plugjax.scipy.special.spherical_harmonics import sph_harm_y
from plugjax.scipy.special.trigonometric_integrals import fresnel, sici

__all__ = [
    "bernoulli", "bessel_jn", "beta", "betainc", "betaln", "boxcox", "boxcox1p", "comb", "dawsn", "digamma", "entr",
    "erf", "erfc", "erfcx", "erfinv", "exp1", "expi", "expit", "expn", "factorial", "fresnel", "gamma", "gammainc",
    "gammaincc", "gammaln", "gammasgn", "hyp1f1", "hyp2f1", "i0", "i0e", "i1", "i1e", "kl_div", "log_ndtr",
    "log_softmax", "loggamma", "logit", "logsumexp", "multigammaln", "ndtr", "ndtri", "owens_t", "poch", "polygamma",
    "rel_entr", "sici", "softmax", "spence", "sph_harm_y", "wofz", "xlog1py", "xlogy", "zeta",
]  # fmt: skip

publish(globals(), __all__)
