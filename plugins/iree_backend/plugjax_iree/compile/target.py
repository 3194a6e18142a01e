"""What to compile for: a device, an architecture, and their flags.

The compiler answers some misspelt names with a diagnostic and others by ending its process (an
unknown backend aborts, an unknown CPU exits, an unknown Vulkan target segfaults). What can be known
to be misspelt is refused before the compiler sees it.
"""

import re
from dataclasses import dataclass

LOCAL_BACKENDS = ("llvm-cpu", "vmvx")

# Only Pascal to Ada and consumer Blackwell are in the compiler's table. Its PTX for sm_89 is
# translated by the driver of every later card, so the missing names stand for it.
_CUDA_STAND_INS = dict.fromkeys(("sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103"), "sm_89")

_ARCH_FLAG = {
    "local": "--iree-llvmcpu-target-cpu=",
    "vulkan": "--iree-vulkan-target=",
    "cuda": "--iree-cuda-target=",
    "hip": "--iree-rocm-target=",
}

# The last line of a module in the generic form, behind which there may be locations.
_END_OF_MODULE = re.compile(r"^\}\) ?(?P<attributes>\{.*\})? ?: \(\) -> \(\)", re.MULTILINE)

# Executables are not linked into one, so that LLVM compiles them side by side.
_UNLINKED = "--iree-hal-link-executables=false"
# Bytes of the matrices that one workgroup multiplies: with eight times as many as by default, products of 2048 x 2048 take 0.6 of the time.
_LARGE_TILES = "--iree-llvmcpu-matmul-tile-bytes=2097152"

DRIVERS = tuple(_ARCH_FLAG)

# Vulkan devices that the compiler has no name for, by one of ours, as it describes those that it has. Reductions that exchange values
# within a subgroup are wrong where subgroups are smaller than the compiler thinks, and without 8-bit storage bools beyond a
# multiple of four are.
_DESCRIBED = {
    "llvmpipe": (
        'arch = "llvmpipe", features = "spirv:v1.5,cap:Shader", wgp = <compute = fp64|fp32|fp16|int64|int32|int16|int8, '
        "storage = b64|b32|b16|b8, subgroup = none, subgroup_size_choices = [8], max_workgroup_sizes = [1024, 1024, 1024], "
        "max_thread_count_per_workgroup = 1024, max_workgroup_memory_bytes = 32768, max_workgroup_counts = [65535, 65535, 65535]>"
    )
}


def arch_of(driver: str, name: str) -> str:
    """The architecture of a device, by the name that its driver gives it; empty for the compiler's default."""
    return next((arch for arch in _DESCRIBED if driver == "vulkan" and arch in name), "")


@dataclass(frozen=True, slots=True)
class CompileTarget:
    """A device family, an architecture in it, and extra compiler flags; hashable, for cache keys.

    Attributes:
        driver: ``"local"``, ``"vulkan"``, ``"cuda"`` or ``"hip"``.
        arch: for ``local`` a CPU name, ``"host"`` (the default), ``"generic"``, or ``"vmvx"`` for
            the portable bytecode interpreter; for the others a GPU name as ``sm_80``, ``gfx942``,
            ``ampere``. Empty: the compiler's default, which ``hip`` does not have.
        extra: further session flags, ``--name=value`` each.

    Raises:
        ValueError: a name that the compiler cannot take.
    """

    driver: str = "local"
    arch: str = ""
    extra: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.driver not in DRIVERS:
            raise ValueError(
                f"CompileTarget: unknown driver {self.driver!r}; known: {', '.join(DRIVERS)}."
            )
        if self.driver == "local" and not self.arch:
            object.__setattr__(self, "arch", "host")
        if self.driver == "hip" and not self.arch:
            raise ValueError("CompileTarget: hip needs an arch, for example 'gfx942'.")
        if not re.fullmatch(r"[\w.+-]*", self.arch):
            raise ValueError(f"CompileTarget: {self.arch!r} is not the name of an architecture.")
        object.__setattr__(self, "extra", tuple(self.extra))
        for flag in self.extra:
            _check_flag(flag)

    @property
    def described(self) -> str:
        """What a module says of the device, as an attribute; empty if flags say it."""
        found = _DESCRIBED.get(self.arch) if self.driver == "vulkan" else None
        if found is None:
            return ""
        info = f"{{iree_codegen.target_info = #iree_gpu.target<{found}>}}"
        executable = f'#hal.executable.target<"vulkan-spirv", "vulkan-spirv-fb", {info}>'
        return f'hal.device.targets = [#hal.device.target<"vulkan", [{executable}]> : !hal.device]'

    def declared(self, text: str) -> str:
        """The text of a module, in the generic form, that says what it is for."""
        if not self.described:
            return text
        *_, end = _END_OF_MODULE.finditer(text)
        inner = (end["attributes"] or "")[1:-1].strip()
        attributes = ", ".join(filter(None, (inner, self.described)))
        return f"{text[: end.start()]}}}) {{{attributes}}} : () -> (){text[end.end() :]}"

    def flags(self) -> tuple[str, ...]:
        """The session flags that select this target."""
        chosen = [f"--iree-hal-target-device={self.driver}"]
        if self.driver == "local":
            backend = "vmvx" if self.arch == "vmvx" else "llvm-cpu"
            chosen.append(f"--iree-hal-local-target-device-backends={backend}")
        if self.described:
            return self.extra
        if self.arch not in ("", "vmvx"):
            chosen.append(_ARCH_FLAG[self.driver] + _CUDA_STAND_INS.get(self.arch, self.arch))
        return (*chosen, *self.extra)

    @property
    def is_this_processor(self) -> bool:
        """Whether code is made for the processor that compiles it."""
        return self.driver == "local" and self.arch == "host"

    def process_flags(self) -> tuple[str, ...]:
        """The flags of the compiler's process for this target: with flags of the user's own, none."""
        is_processor = self.driver == "local" and self.arch != "vmvx"
        if not is_processor or self.extra:
            return ()
        return (_UNLINKED, _LARGE_TILES) if self.is_this_processor else (_UNLINKED,)


def _check_flag(flag: str) -> None:
    """Refuse flags with values on which the compiler aborts."""
    name, _, value = flag.partition("=")
    if not name.startswith("--"):
        raise ValueError(f"CompileTarget: {flag!r} is not a flag of the form --name=value.")
    if name == "--iree-hal-local-target-device-backends" and value not in LOCAL_BACKENDS:
        raise ValueError(
            f"CompileTarget: unknown local backend {value!r}; one of {', '.join(LOCAL_BACKENDS)}."
        )
