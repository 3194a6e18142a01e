"""Jobs of Kubernetes, whose interface a server of this process stands for."""

import contextlib
import http.server
import json
import socket
import threading
import urllib.parse

import pytest

from plugjax import clusters, kubernetes_jobs
from plugjax.kubernetes_jobs import read_job

POD = {
    "metadata": {
        "name": "train-1-x", "labels": {"job-name": "train", "app": "a"},
        "ownerReferences": [{"kind": "Node", "name": "n"}, {"kind": "Job", "name": "train", "controller": True}],
    },
    "spec": {"subdomain": "pods"},
}  # fmt: skip
JOB = {"metadata": {"name": "train", "labels": {}}, "spec": {"parallelism": 4}}
SERVICES = [
    {"metadata": {"name": "web"}, "spec": {"clusterIP": "10.0.0.1", "selector": {"app": "a"}}},
    {"metadata": {"name": "other"}, "spec": {"clusterIP": "None", "selector": {"app": "b"}}},
    {"metadata": {"name": "mine"}, "spec": {"clusterIP": "None", "selector": {"app": "a"}}},
]


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """Settings of an interface, with what it answers."""
    (tmp_path / "namespace").write_text("lab\n")
    (tmp_path / "token").write_text("secret\n")
    address = socket.gethostbyname("localhost")
    answers = {
        f"/api/v1/namespaces/lab/pods?fieldSelector=status.podIP={address}": {"items": [POD]},
        "/apis/batch/v1/namespaces/lab/jobs/train": JOB,
        "/api/v1/namespaces/lab/services": {"items": SERVICES},
    }
    monkeypatch.setattr(kubernetes_jobs, "_PAUSES", (0.0, 0.01, 0.01))

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            known = self.headers["Authorization"] == "Bearer secret"
            found = answers.get(urllib.parse.unquote(self.path)) if known else None
            code = 200 if found is not None else 404 if known else 401
            code = found if isinstance(found, int) else code
            body = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    environment = {
        "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(server.server_port),
        "HOSTNAME": "localhost", "JOB_COMPLETION_INDEX": "1",
    }  # fmt: skip
    with contextlib.ExitStack() as stack:
        stack.callback(thread.join)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)
        yield environment, {"account": tmp_path, "scheme": "http"}, answers, address


def _pods(address):
    return f"/api/v1/namespaces/lab/pods?fieldSelector=status.podIP={address}"


def test_a_job(cluster):
    environment, where, _, _ = cluster
    assert read_job(environment, **where) == ("train-0.pods:55527", 4, 1)


def test_detection(cluster, monkeypatch):
    environment, where, _, _ = cluster
    monkeypatch.setattr(clusters, "read_job", lambda e: read_job(e, **where))
    wanted = clusters.Cluster("train-0.pods:55527", 4, 1)
    assert clusters.detect_cluster(environment=environment) == wanted
    assert clusters.detect_cluster("k8s", environment) == wanted
    assert clusters.detect_cluster("slurm", environment) == clusters.Cluster()
    given = {**environment, "JAX_COORDINATOR_ADDRESS": "a:1"}
    assert clusters.detect_cluster(environment=given) == clusters.Cluster("a:1", 4, 1)


def test_a_set_of_jobs(cluster):
    environment, where, answers, _ = cluster
    labels = {"jobset.sigs.k8s.io/jobset-name": "all"}
    answers["/apis/batch/v1/namespaces/lab/jobs/train"] = JOB | {"metadata": {"name": "train", "labels": labels}}  # fmt: skip
    assert read_job(environment, **where)[0] == "train-0.all:55527"


def test_a_pod_that_is_known_late(cluster, monkeypatch):
    environment, where, answers, address = cluster
    pods = answers.pop(_pods(address))
    answers[_pods(address)] = {"items": []}
    with pytest.raises(RuntimeError, match="knows 0 pods with the address"):
        read_job(environment, **where)
    paused = []

    def sleep(seconds):
        paused.append(seconds)
        if len(paused) == 3:
            answers[_pods(address)] = pods

    monkeypatch.setattr(kubernetes_jobs.time, "sleep", sleep)
    assert read_job(environment, **where) == ("train-0.pods:55527", 4, 1)


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (POD | {"spec": {}}, "Add `subdomain: mine` to"),
        (
            POD | {"spec": {}, "metadata": POD["metadata"] | {"labels": {"job-name": "train"}}},
            "Add `subdomain: jaxpods` to spec.template.spec of the job, and a Service",
        ),
        (POD | {"metadata": {"name": "p"}}, "pod p does not have a controller"),
        (
            POD | {"metadata": {"name": "p", "ownerReferences": [{"kind": "ReplicaSet", "controller": True}]}},
            "only supports Job/JobSet; pod p is of a ReplicaSet",
        ),
    ],
)  # fmt: skip
def test_pods_of_no_use(cluster, pod, words):
    environment, where, answers, address = cluster
    answers[_pods(address)] = {"items": [pod]}
    with pytest.raises(RuntimeError, match=words):
        read_job(environment, **where)


def test_what_is_missing(cluster):
    environment, where, answers, address = cluster
    for name, words in (
        ("JOB_COMPLETION_INDEX", 'completionMode: "Indexed"'),
        ("HOSTNAME", "HOSTNAME env variable"),
    ):
        fewer = {k: v for k, v in environment.items() if k != name}
        with pytest.raises(RuntimeError, match=words):
            read_job(fewer, **where)
    answers[_pods(address)] = 403
    with pytest.raises(RuntimeError, match=r"Kubernetes API Error: 403 .* give it a role"):
        read_job(environment, **where)
    (where["account"] / "token").write_text("guess")
    with pytest.raises(RuntimeError, match="API Error: 401"):
        read_job(environment, **where)
