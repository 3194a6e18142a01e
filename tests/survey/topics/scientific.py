"""jax.scipy and jax.image."""


def special_functions(jax):
    jnp = jax.numpy
    sp = jax.scipy.special
    x = jnp.array([0.3, 1.7, 4.2])
    return {
        "gammaln": sp.gammaln(x),
        "digamma": sp.digamma(x),
        "erf": sp.erf(x),
        "erfinv": sp.erfinv(x / 5),
        "expit": sp.expit(x),
        "logit": sp.logit(x / 5),
        "logsumexp": sp.logsumexp(x),
        "betainc": sp.betainc(2.0, 3.0, x / 5),
        "gammainc": sp.gammainc(2.0, x),
        "zeta": sp.zeta(x + 1, 1.0),
        "i0e": sp.i0e(x),
        "ndtri": sp.ndtri(x / 5),
        "xlogy": sp.xlogy(x, x),
        "polygamma": sp.polygamma(1, x),
        "entr": sp.entr(x),
        "exp1": sp.exp1(x),
    }


def gradients_of_special_functions(jax):
    sp = jax.scipy.special
    return [
        jax.grad(f)(0.4)
        for f in (sp.gammaln, sp.digamma, sp.erf, sp.erfinv, sp.i0, sp.log_ndtr, sp.expit)
    ]


def distributions(jax):
    jnp = jax.numpy
    st = jax.scipy.stats
    x = jnp.array([0.2, 0.5])
    return (
        st.norm.logpdf(x),
        st.norm.cdf(x, 1.0, 2.0),
        st.norm.ppf(x),
        st.beta.logpdf(x, 2.0, 3.0),
        st.gamma.logpdf(x, 2.0),
        st.t.logpdf(x, 3.0),
        st.poisson.logpmf(jnp.arange(2), 1.5),
        st.binom.logpmf(jnp.arange(2), 4, 0.3),
        st.multivariate_normal.logpdf(x, jnp.zeros(2), jnp.eye(2)),
        st.expon.cdf(x),
        st.uniform.pdf(x),
        st.laplace.logpdf(x),
        st.dirichlet.logpdf(x / x.sum(), jnp.array([1.0, 2.0])),
    )


def moments(jax):
    jnp = jax.numpy
    st = jax.scipy.stats
    x = jnp.array([1.0, 2.0, 2.0, 5.0])
    return st.mode(x).mode, st.rankdata(x), st.sem(x)


def kernel_density(jax):
    jnp = jax.numpy
    kde = jax.scipy.stats.gaussian_kde(jnp.array([0.0, 1.0, 1.5]))
    return kde(jnp.array([0.5, 1.0])), kde.integrate_box_1d(0.0, 1.0)


def minimize(jax):
    jnp = jax.numpy

    def rosen(x):
        return jnp.sum(100.0 * jnp.diff(x) ** 2 + (1 - x[:-1]) ** 2)

    out = jax.scipy.optimize.minimize(rosen, jnp.zeros(2), method="BFGS")
    return jnp.round(out.x, 2) + 0.0, out.success


def signals(jax):
    jnp = jax.numpy
    sg = jax.scipy.signal
    x = jnp.arange(8.0)
    return (
        sg.convolve(x, jnp.ones(3), mode="same"),
        sg.correlate(x, jnp.ones(2)),
        sg.convolve2d(jnp.ones((3, 3)), jnp.ones((2, 2)), mode="valid"),
        sg.detrend(x**2),
        sg.fftconvolve(x, jnp.ones(3)),
        jnp.abs(sg.stft(x, nperseg=4)[2]),
    )


def interpolation(jax):
    jnp = jax.numpy
    grid = (jnp.arange(3.0), jnp.arange(2.0))
    f = jax.scipy.interpolate.RegularGridInterpolator(grid, jnp.arange(6.0).reshape(3, 2))
    m = jax.scipy.ndimage.map_coordinates(
        jnp.arange(6.0).reshape(2, 3), [jnp.array([0.5]), jnp.array([1.5])], order=1
    )
    return f(jnp.array([[0.5, 0.5], [1.25, 1.0]])), m


def rotations(jax):
    jnp = jax.numpy
    rot = jax.scipy.spatial.transform.Rotation.from_euler("z", 90.0, degrees=True)
    return (
        jnp.round(rot.as_matrix(), 5) + 0.0,
        rot.as_quat(),
        rot.apply(jnp.array([1.0, 0.0, 0.0])).round(5) + 0.0,
    )


def resizing(jax):
    jnp = jax.numpy
    x = jnp.arange(16.0).reshape(4, 4)
    return (
        jax.image.resize(x, (2, 2), "linear"),
        jax.image.resize(x, (6, 6), "nearest"),
        jax.image.resize(x, (3, 5), "cubic"),
        jax.image.resize(x, (2, 2), "lanczos3", antialias=False),
        jax.image.scale_and_translate(
            x, (4, 4), (0, 1), jnp.array([1.0, 2.0]), jnp.array([0.0, 0.5]), "linear"
        ),
    )


def unknown_resize_method(jax):
    return jax.image.resize(jax.numpy.ones((2, 2)), (4, 4), "sharpest")


def cosine_transforms(jax):
    jnp = jax.numpy
    x = jnp.arange(4.0)
    return (
        jax.scipy.fft.dct(x),
        jax.scipy.fft.idct(jax.scipy.fft.dct(x)),
        jax.scipy.fft.dctn(x.reshape(2, 2)),
    )


def integrals_and_clusters(jax):
    jnp = jax.numpy
    code, dist = jax.scipy.cluster.vq.vq(jnp.array([[0.0], [2.2]]), jnp.array([[0.0], [2.0]]))
    return jax.scipy.integrate.trapezoid(jnp.arange(4.0) ** 2, dx=0.5), code, dist
