"""What Kubernetes says of the processes of an indexed job: one in each pod.

The cluster's own interface is asked, with the account that every pod has; no package is needed. A pod knows its index from its
environment, and the number of processes and the name of the first pod from the job that made it.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PORT = 55527
_JOBSET = "jobset.sigs.k8s.io/jobset-name"
# Seconds between attempts: a pod's address may not be known yet, to the interface or to name servers.
_PAUSES = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0)

_NO_SUBDOMAIN = """Pods within a job need a headless service in order to communicate with each other: the job {job} names none.
Add `subdomain: {service}` to spec.template.spec of the job{make}."""
_MAKE = ", and a Service of that name with `clusterIP: None`, `publishNotReadyAddresses: true` and the selector `job-name: {job}`"


class Kubernetes:
    """The interface of the cluster that a pod runs in.

    Args:
        environment: of the process.
        account: folder with the pod's token, namespace and the cluster's certificate.
        scheme: ``"https"``; tests have another one.
    """

    def __init__(
        self, environment: Mapping[str, str], account: Path = ACCOUNT, scheme: str = "https"
    ) -> None:
        host, port = (environment.get(f"KUBERNETES_SERVICE_{name}") for name in ("HOST", "PORT"))
        host = f"[{host}]" if ":" in (host or "") else host
        self._environment = environment
        self._root = f"{scheme}://{host}:{port or 443}"
        self._account = account
        self._namespace = (account / "namespace").read_text().strip()
        self._context = (
            ssl.create_default_context(cafile=str(account / "ca.crt"))
            if scheme == "https"
            else None
        )

    def _read(self, group: str, resource: str, **query: str) -> Any:
        """A resource of the namespace.

        Raises:
            RuntimeError: the interface refuses it.
        """
        url = f"{self._root}/{group}/namespaces/{self._namespace}/{resource}"
        if query:
            url += "?" + urllib.parse.urlencode(query)
        token = (self._account / "token").read_text().strip()
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=30, context=self._context) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            hint = (
                " The service account of the job may not read pods, jobs and services: give it a role that may."
                if error.code == 403
                else ""
            )
            raise RuntimeError(
                f"distributed.initialize: Kubernetes API Error: {error.code} - {error.reason} for {resource}.{hint}"
            ) from error

    def pod(self) -> Any:
        """The pod of this process.

        Raises:
            RuntimeError: it is not known.
        """
        name = self._environment.get("HOSTNAME")
        if name is None:
            raise RuntimeError(
                "distributed.initialize: Kubernetes: expected HOSTNAME env variable to be defined."
            )
        for pause in _PAUSES:
            time.sleep(pause)
            address = socket.gethostbyname(name)
            found = self._read("api/v1", "pods", fieldSelector=f"status.podIP={address}")["items"]
            if len(found) == 1:
                return found[0]
        raise RuntimeError(
            f"distributed.initialize: Kubernetes knows {len(found)} pods with the address {address} of {name}."
        )

    def job_of(self, pod: Any) -> Any:
        """The job that made a pod.

        Raises:
            RuntimeError: none did.
        """
        metadata = pod["metadata"]
        owners = [o for o in metadata.get("ownerReferences", ()) if o.get("controller")]
        if not owners:
            raise RuntimeError(
                f"distributed.initialize: Cannot automatically initialize distributed workload: pod {metadata['name']} does not have a "
                "controller."
            )
        if owners[0]["kind"] != "Job":
            raise RuntimeError(
                "distributed.initialize: In K8s, cluster automatic bootstrap only supports Job/JobSet; pod "
                f"{metadata['name']} is of a {owners[0]['kind']}."
            )
        return self._read("apis/batch/v1", f"jobs/{metadata['labels']['job-name']}")

    def first_pod(self, pod: Any, job: Any) -> str:
        """The host name of the first pod of a job.

        Raises:
            RuntimeError: pods of the job have no names for one another.
        """
        name = job["metadata"]["name"]
        jobset = job["metadata"].get("labels", {}).get(_JOBSET)
        if jobset is not None:
            return f"{name}-0.{jobset}"
        subdomain = pod["spec"].get("subdomain")
        if subdomain is None:
            service = self._headless_service(pod)
            make = "" if service else _MAKE.format(job=name)
            raise RuntimeError(
                "distributed.initialize: "
                + _NO_SUBDOMAIN.format(job=name, service=service or "jaxpods", make=make)
            )
        return f"{name}-0.{subdomain}"

    def _headless_service(self, pod: Any) -> str | None:
        labels = pod["metadata"].get("labels", {})
        for service in self._read("api/v1", "services")["items"]:
            selector = service["spec"].get("selector") or {}
            fits = all(labels.get(key) == value for key, value in selector.items())
            if service["spec"].get("clusterIP") == "None" and fits:
                found: str = service["metadata"]["name"]
                return found
        return None


def read_job(
    environment: Mapping[str, str], account: Path = ACCOUNT, scheme: str = "https"
) -> tuple[str, int, int]:
    """Address of the first process of a job, the number of processes, and the index of this one.

    Raises:
        RuntimeError: the pod is of no indexed job, or its pods have no names for one another.
    """
    index = environment.get("JOB_COMPLETION_INDEX")
    if index is None:
        raise RuntimeError(
            "distributed.initialize: To enable automatic bootstrap in a K8s cluster, jobs must be indexed by setting "
            '`completionMode: "Indexed"`.'
        )
    cluster = Kubernetes(environment, account, scheme)
    pod = cluster.pod()
    job = cluster.job_of(pod)
    return f"{cluster.first_pod(pod, job)}:{PORT}", int(job["spec"]["parallelism"]), int(index)
