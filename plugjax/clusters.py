"""What the environment says of the processes of a program: by ``plugjax launch``, Slurm, Open MPI, or Kubernetes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from plugjax.kubernetes_jobs import read_job


@dataclass(frozen=True)
class Cluster:
    """The processes of a program; ``None`` where it is not known.

    Attributes:
        address: host and port of the first process.
        count: number of processes.
        index: index of this one.
    """

    address: str | None = None
    count: int | None = None
    index: int | None = None

    def filled(self, other: Cluster) -> Cluster:
        """What is known here, and else there."""
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Cluster(*(b if a is None else a for a, b in pairs))


def detect_cluster(
    method: str | None = None, environment: Mapping[str, str] = os.environ
) -> Cluster:
    """The processes that the environment describes.

    Args:
        method: ``"plugjax"``, ``"slurm"``, ``"ompi"``, ``"k8s"`` or ``"deactivate"``; all are tried in turn, if left out.
        environment: the variables.

    Raises:
        ValueError: an unknown method.
        RuntimeError: Kubernetes runs the process, and says too little.

    Example:
        >>> from plugjax.clusters import detect_cluster
        >>> detect_cluster(environment={"JAX_COORDINATOR_ADDRESS": "host:1"}).address
        'host:1'
    """
    base = Cluster(environment.get("JAX_COORDINATOR_ADDRESS"))
    if method == "deactivate":
        return base
    if method is not None and method not in _METHODS:
        raise ValueError(
            f"cluster_detection_method {method!r} is unknown. Choose one of {', '.join(_METHODS)} or 'deactivate'."
        )
    for name, read in _METHODS.items():
        if method in (None, name) and (found := read(environment)) is not None:
            return base.filled(found)
    return base


def _launched(environment: Mapping[str, str]) -> Cluster | None:
    if "PLUGJAX_COORDINATOR_ADDRESS" not in environment:
        return None
    return Cluster(
        environment["PLUGJAX_COORDINATOR_ADDRESS"],
        int(environment["PLUGJAX_NUM_PROCESSES"]),
        int(environment["PLUGJAX_PROCESS_ID"]),
    )


def _port(job: str) -> int:
    """A port in the ephemeral range that all processes of a job agree on."""
    return int(job) % 4096 + 65535 - 4096 + 1


def _slurm(environment: Mapping[str, str]) -> Cluster | None:
    needed = ("SLURM_JOB_ID", "SLURM_STEP_NODELIST", "SLURM_NTASKS", "SLURM_PROCID")
    if any(name not in environment for name in needed):
        return None
    nodes = environment["SLURM_STEP_NODELIST"]
    # "node1", "node1,host2", "node[001-015],host2", "node[001,007]": the first of them.
    found = re.match(r"([^,\[]+)(?:\[([^\],-]+))?", nodes)
    first = "".join(part or "" for part in found.groups()) if found else nodes
    job = environment["SLURM_JOB_ID"]
    return Cluster(
        f"{first}:{_port(job)}",
        int(environment["SLURM_NTASKS"]),
        int(environment["SLURM_PROCID"]),
    )


def _open_mpi(environment: Mapping[str, str]) -> Cluster | None:
    uri = environment.get("OMPI_MCA_orte_hnp_uri")
    if uri is None:
        return None
    # "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911": the job, and addresses of the launcher.
    host = re.search(r"tcp://(.+?)[,:]|tcp6://\[(.+?)[,\]]", uri)
    if host is None:
        return None
    name = host[1] or f"[{host[2]}]"
    return Cluster(
        f"{name}:{_port(uri.split('.', 1)[0])}",
        int(environment["OMPI_COMM_WORLD_SIZE"]),
        int(environment["OMPI_COMM_WORLD_RANK"]),
    )


def _kubernetes(environment: Mapping[str, str]) -> Cluster | None:
    if "KUBERNETES_SERVICE_HOST" not in environment:
        return None
    return Cluster(*read_job(environment))


_METHODS: dict[str, Callable[[Mapping[str, str]], Cluster | None]] = {
    "plugjax": _launched,
    "slurm": _slurm,
    "ompi": _open_mpi,
    "k8s": _kubernetes,
}
