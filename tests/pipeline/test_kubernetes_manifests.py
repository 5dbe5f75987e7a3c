"""The manifests in docs/kubernetes, checked without a cluster by the tools of Kubernetes, Dagster and Dask."""

from __future__ import annotations

import importlib.resources
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "kubernetes"
FILES = ("namespace.yaml", "access.yaml", "services.yaml", "dask-cluster.yaml")
VERSIONS = ("1.30", "1.37")
"""The oldest and the newest Kubernetes that the manifests are checked against."""


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((FOLDER / name).read_text()))


ALL = {f"{one['kind']} {one['metadata']['name']}": one for name in FILES for one in documents(name)}
KUBERNETES = {name: one for name, one in ALL.items() if one["kind"] != "DaskCluster"}
DASK = ALL["DaskCluster bias-audit"]
LAUNCHER: dict[str, Any] = yaml.safe_load((FOLDER / "dagster.yaml").read_text())["run_launcher"]["config"]
ENVIRONMENT = dict(line.split("=", 1) for line in (FOLDER / "environment.env").read_text().splitlines())


# --- Kubernetes' own client, which is always there --------------------------------------------------------------------


def strange(value: Any, kind: str) -> list[str]:
    """Keys that Kubernetes' client has no name for, and values where it wants another kind."""
    from kubernetes.client import models

    several = re.fullmatch(r"list\[(.+)\]|dict\(str, (.+)\)", kind)
    if several is not None:
        wanted: type = list if several[1] else dict
        inner = value if wanted is list else list(value.values()) if isinstance(value, dict) else []
        wrong = [] if isinstance(value, wanted) else [f"{value} is no {wanted.__name__}"]
        return wrong + [one for each in inner for one in strange(each, several[1] or several[2])]
    model = getattr(models, kind, None)
    if model is None:
        plain = {"str": str, "int": int, "bool": bool}.get(kind, object)
        return [] if isinstance(value, plain) else [f"{value} is no {kind}"]
    names = {written: name for name, written in model.attribute_map.items()}
    found = [f"{kind} has no {key}" for key in value if key not in names]
    try:  # who makes one without what is needed is told
        model(**{names[key]: one for key, one in value.items() if key in names})
    except ValueError as error:
        found.append(f"{kind}: {error}")
    return found + [
        one for key, each in value.items() if key in names for one in strange(each, model.openapi_types[names[key]])
    ]


@pytest.mark.parametrize("name", KUBERNETES)
def test_kubernetes_client_knows_every_key(name: str) -> None:
    assert strange(KUBERNETES[name], f"V1{KUBERNETES[name]['kind']}") == []


def test_a_strange_manifest_would_be_noticed() -> None:
    wrong = json.loads(json.dumps(KUBERNETES["Deployment daemon"]))
    (container,) = wrong["spec"]["template"]["spec"]["containers"]
    container["volumeMount"] = []
    container["args"] = "dagster-daemon run"
    del container["name"]
    del wrong["spec"]["selector"]
    assert len(strange(wrong, "V1Deployment")) == 4


# --- Kubernetes' own schemas ------------------------------------------------------------------------------------------


def refusal(manifest: dict[str, Any], version: str) -> str:
    """What Kubernetes has against a manifest, unknown keys included."""
    tool = pytest.importorskip("kubernetes_validate")
    try:
        tool.validate(manifest, version, strict=True)
    except tool.ValidationError as error:
        return str(error.message)
    return ""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", KUBERNETES)
def test_kubernetes_knows_every_key(name: str, version: str) -> None:
    assert refusal(KUBERNETES[name], version) == ""


def test_a_misspelt_key_would_be_refused() -> None:
    wrong = json.loads(json.dumps(KUBERNETES["Deployment daemon"]))
    wrong["spec"]["template"]["spec"]["containers"][0]["volumeMount"] = []
    assert "volumeMount" in refusal(wrong, VERSIONS[0])


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kubectl_puts_them_together() -> None:
    made = subprocess.run(["kubectl", "kustomize", str(FOLDER)], capture_output=True, text=True, timeout=1800)
    assert made.returncode == 0, made.stderr
    found = {f"{one['kind']} {one['metadata']['name']}": one for one in yaml.safe_load_all(made.stdout)}
    assert set(found) == {*ALL, "ConfigMap dagster-instance", "ConfigMap audit-environment"}
    assert found["ConfigMap audit-environment"]["data"] == ENVIRONMENT
    instance = found["ConfigMap dagster-instance"]["data"]
    assert instance == {name: (FOLDER / name).read_text() for name in ("dagster.yaml", "workspace.yaml")}
    for one in found.values():
        assert one["kind"] == "DaskCluster" or refusal(one, VERSIONS[1]) == ""


# --- Dask's operator --------------------------------------------------------------------------------------------------


def dask_pods() -> dict[str, dict[str, Any]]:
    """What the operator makes of the description."""
    controller = pytest.importorskip("dask_kubernetes.operator.controller.controller")
    name, spec = DASK["metadata"]["name"], DASK["spec"]
    worker = controller.build_worker_deployment_spec(
        f"{name}-default", "bias-audits", name, "0123456789", spec["worker"]["spec"], {}, {}
    )
    return {
        "scheduler": controller.build_scheduler_deployment_spec(name, spec["scheduler"]["spec"], {}, {}),
        "service": controller.build_scheduler_service_spec(name, spec["scheduler"]["service"], {}, {}),
        "worker": worker,
    }


def test_the_operators_definition_takes_the_cluster() -> None:
    import jsonschema

    pytest.importorskip("dask_kubernetes")
    package = importlib.resources.files("dask_kubernetes")
    crd = "operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"
    (version,) = yaml.safe_load((package / crd).read_text())["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    assert DASK["apiVersion"] == f"kubernetes.dask.org/{version['name']}"
    jsonschema.validate(DASK, schema)
    for path in ((), ("worker",), ("scheduler",)):
        known, given = schema["properties"]["spec"], DASK["spec"]
        for key in path:
            known, given = known["properties"][key], given[key]
        assert set(given) <= set(known["properties"])
    wrong = json.loads(json.dumps(DASK))
    del wrong["spec"]["worker"]["spec"]["containers"][0]["name"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("which", ["scheduler", "service", "worker"])
def test_kubernetes_takes_what_the_operator_makes(which: str, version: str) -> None:
    assert refusal(dask_pods()[which], version) == ""


def test_runs_find_the_scheduler_where_the_operator_puts_it() -> None:
    host, port = ENVIRONMENT["DASK_ADDRESS"].removeprefix("tcp://").split(":")
    service = dask_pods()["service"]
    assert service["metadata"]["name"] == host
    assert int(port) in {one["port"] for one in service["spec"]["ports"]}


@pytest.mark.parametrize("role", ["worker", "scheduler"])
def test_dask_knows_the_options_of_its_commands(role: str) -> None:
    """Parsed by the commands themselves, up to where they would begin to work."""
    pytest.importorskip("distributed")
    from distributed.cli import dask_scheduler, dask_worker

    (container,) = DASK["spec"][role]["spec"]["containers"]
    assert container["args"][:2] == ["dask", role]
    command = {"worker": dask_worker, "scheduler": dask_scheduler}[role].main
    parsed = command.make_context(role, container["args"][2:])
    if role == "worker":
        assert (parsed.params["nthreads"], parsed.params["local_directory"]) == (1, "/scratch")
        assert in_bytes(parsed.params["memory_limit"]) < in_bytes(container["resources"]["limits"]["memory"])


def in_bytes(size: str) -> int:
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)B?", size).groups()  # type: ignore[union-attr]
    return int(number) * {"Mi": 2**20, "Gi": 2**30}[unit]


# --- Dagster's launcher -----------------------------------------------------------------------------------------------


class Recorder:
    """In the place of the interface to a cluster: keeps the jobs that are to be started."""

    def __init__(self) -> None:
        self.jobs: list[Any] = []

    def create_namespaced_job(self, body: Any, namespace: str, **_: Any) -> None:
        assert namespace == "bias-audits"
        self.jobs.append(body)


@pytest.fixture
def instance(tmp_path: Path, postgresql: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    """The instance of dagster.yaml as it stands, on a PostgreSQL server."""
    pytest.importorskip("dagster_k8s")
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(FOLDER / "dagster.yaml", home)
    monkeypatch.setenv("DAGSTER_HOME", str(home))
    monkeypatch.setenv("DAGSTER_POSTGRES_URL", postgresql.replace("+psycopg", "+psycopg2"))
    with dg.DagsterInstance.get() as one:
        yield one


def launcher_of(instance: dg.DagsterInstance, folder: Path, api: Recorder) -> Any:
    """The launcher that the instance names, with its configuration as the launcher's own schema fills it in."""
    from dagster._config import process_config
    from dagster_k8s import K8sRunLauncher

    kubeconfig = folder / "kubeconfig"
    cluster = {"name": "none", "cluster": {"server": "https://127.0.0.1:9"}}
    context = {"name": "none", "context": {"cluster": "none", "user": "none"}}
    user: dict[str, Any] = {"name": "none", "user": {}}
    kubeconfig.write_text(
        yaml.safe_dump({"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "none"})
    )
    data = instance.get_ref().run_launcher_data
    assert data is not None
    assert (data.module_name, data.class_name) == ("dagster_k8s", "K8sRunLauncher")
    checked = process_config(K8sRunLauncher.config_type(), yaml.safe_load(data.config_yaml))
    assert checked.success, checked.errors
    config = {**checked.value, "load_incluster_config": False, "kubeconfig_file": str(kubeconfig)}
    launcher = K8sRunLauncher(**config, k8s_client_batch_api=api)
    launcher.register_instance(instance)
    return launcher


@pytest.fixture
def audits(tmp_path: Path) -> Path:
    """The definitions of the image, with a small audit."""
    (tmp_path / "audits").mkdir()
    shutil.copy(FOLDER / "definitions.py", tmp_path)
    loaded = yaml.safe_load((ROOT / "bdt_pipeline" / "defs" / "compas" / "defs.yaml").read_text())["attributes"]
    small = {**loaded, "slices": None, "clustering": {"stability": 0, "max_iter": 2, "memory": "out_of_core"}}
    small["gate"] = [{"check": "any_cluster", "max_difference": 1.0}]
    (tmp_path / "audits" / "compas.yaml").write_text(yaml.safe_dump(small))
    return tmp_path / "definitions.py"


def launched(instance: dg.DagsterInstance, audits: Path, folder: Path, job: str) -> tuple[str, dict[str, Any]]:
    """Id of a run, and the Kubernetes job that it becomes."""
    from dagster._core.definitions.reconstruct import ReconstructableRepository
    from dagster._core.launcher import LaunchRunContext
    from kubernetes.client import ApiClient

    image = KUBERNETES["Deployment definitions"]["spec"]["template"]["spec"]["containers"][0]["env"][0]["value"]
    repository = ReconstructableRepository.for_file(str(audits), "defs", container_image=image)
    reconstructable = repository.get_reconstructable_job(job)
    run = instance.create_run_for_job(
        reconstructable.get_definition(), job_code_origin=reconstructable.get_python_origin()
    )
    api = Recorder()
    launcher_of(instance, folder, api).launch_run(LaunchRunContext(run, workspace=None))
    (body,) = api.jobs
    return run.run_id, ApiClient().sanitize_for_serialization(body)


def test_a_run_becomes_one_pod_that_does_its_work(instance: dg.DagsterInstance, audits: Path, tmp_path: Path) -> None:
    run_id, job = launched(instance, audits, tmp_path, "compas_audit")
    assert {version: refusal(job, version) for version in VERSIONS} == dict.fromkeys(VERSIONS, "")
    pod = job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert insecure({"spec": pod}) == []
    assert job["spec"]["template"]["metadata"]["labels"]["bias-audits/role"] == "run"
    assert (container["image"], pod["serviceAccountName"]) == ("bias-audits:1", "audit-run")
    assert {one["mountPath"]: one.get("subPath") for one in container["volumeMounts"]} == {
        "/opt/dagster": None,
        "/scratch": None,
    }  # the instance's configuration comes with the command
    (scratch,) = [one for one in pod["volumes"] if one["name"] == "scratch"]
    assert scratch["ephemeral"]["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"] == "200Gi"

    # What the pod would do, done by a process: there is no cluster that it could ask for anything.
    given = {one["name"]: one["value"] for one in container["env"]} | {"DAGSTER_HOME": os.environ["DAGSTER_HOME"]}
    search = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **given, "BDT_STORAGE": str(tmp_path / "store"), "PATH": search}
    done = subprocess.run(container["args"], env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-3000:]
    run = instance.get_run_by_id(run_id)
    assert run is not None
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert (tmp_path / "store" / "compas" / "reports" / run_id / "report.json").exists()
    assert (tmp_path / "store" / "compas" / "columns").exists()
    assert instance.run_retries_enabled
    assert instance.run_monitoring_enabled
    assert instance.get_concurrency_config().run_queue_config.max_concurrent_runs == 20


def test_an_unknown_key_of_the_launcher_would_be_refused() -> None:
    from dagster._config import process_config

    launcher = pytest.importorskip("dagster_k8s").K8sRunLauncher
    assert process_config(launcher.config_type(), LAUNCHER).success
    assert not process_config(launcher.config_type(), {**LAUNCHER, "env_secret": ["audit-secrets"]}).success


def test_the_definitions_hold_both_audits() -> None:
    code = "import definitions as d; print(sorted(one.name for one in d.defs().resolve_all_job_defs()))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(FOLDER), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert {"'benefits_audit'", "'loans_audit'"} <= set(re.findall(r"'\w+'", done.stdout))


# --- Safety and agreement ---------------------------------------------------------------------------------------------


def pods() -> dict[str, dict[str, Any]]:
    """Every description of a pod."""
    found = {name: one["spec"]["template"] for name, one in KUBERNETES.items() if one["kind"] == "Deployment"}
    return found | {role: DASK["spec"][role] for role in ("worker", "scheduler")}


def insecure(pod: dict[str, Any]) -> list[str]:
    """What the Pod Security Standard "restricted", and good manners beyond it, have against a pod."""
    spec = pod["spec"]
    of_pod = spec.get("securityContext", {})
    problems = [key for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key)]
    problems += [f"volume {one['name']}" for one in spec.get("volumes", []) if "hostPath" in one]
    if of_pod.get("runAsNonRoot") is not True or not of_pod.get("runAsUser"):
        problems.append("may be root")
    if of_pod.get("seccompProfile") != {"type": "RuntimeDefault"}:
        problems.append("seccompProfile")
    for container in spec["containers"]:
        its = container.get("securityContext", {})
        if its.get("allowPrivilegeEscalation") is not False or its.get("readOnlyRootFilesystem") is not True:
            problems.append(f"{container['name']}: privileges")
        if its.get("capabilities") != {"drop": ["ALL"]}:
            problems.append(f"{container['name']}: capabilities")
        if not {"cpu", "memory"} <= set(container.get("resources", {}).get("limits", {})):
            problems.append(f"{container['name']}: no limits")
        problems += [f"{container['name']}: a host's port" for one in container.get("ports", []) if "hostPort" in one]
    return problems


@pytest.mark.parametrize("name", pods())
def test_pods_have_no_privileges_and_limits(name: str) -> None:
    assert insecure(pods()[name]) == []


def test_an_insecure_pod_would_be_noticed() -> None:
    pod = json.loads(json.dumps(pods()["worker"]))
    pod["spec"]["containers"][0]["securityContext"]["capabilities"] = {}
    pod["spec"]["hostNetwork"] = True
    assert insecure(pod) == ["hostNetwork", "worker: capabilities"]


def test_nothing_is_reached_from_outside() -> None:
    services = [one["spec"] for one in KUBERNETES.values() if one["kind"] == "Service"]
    assert {one["type"] for one in (*services, DASK["spec"]["scheduler"]["service"])} == {"ClusterIP"}
    kinds = {"Namespace", "NetworkPolicy", "ServiceAccount", "Role", "RoleBinding", "Service", "Deployment"}
    assert {one["kind"] for one in KUBERNETES.values()} == kinds  # no Ingress, and no Secret either
    (web,) = pods()["Deployment webserver"]["spec"]["containers"]
    assert web["args"][web["args"].index("--host") + 1] == "127.0.0.1"
    closed = KUBERNETES["NetworkPolicy nobody"]["spec"]
    assert closed == {"podSelector": {}, "policyTypes": ["Ingress"]}


def test_only_the_services_may_start_runs() -> None:
    role = KUBERNETES["Role launch-runs"]
    assert all("*" not in (*rule["apiGroups"], *rule["resources"], *rule["verbs"]) for rule in role["rules"])
    (subject,) = KUBERNETES["RoleBinding launch-runs"]["subjects"]
    assert subject["name"] == "dagster" != LAUNCHER["service_account_name"]
    accounts = {name: one["spec"]["serviceAccountName"] for name, one in pods().items()}
    assert {name for name, account in accounts.items() if account == "dagster"} == {
        "Deployment webserver",
        "Deployment daemon",
    }


def test_names_agree() -> None:
    kept = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    maps = {one["name"] for one in kept["configMapGenerator"]}
    assert set(kept["resources"]) == set(FILES)
    assert {LAUNCHER["instance_config_map"], *LAUNCHER["env_config_maps"]} == maps
    accounts = {one["metadata"]["name"] for one in KUBERNETES.values() if one["kind"] == "ServiceAccount"}
    assert LAUNCHER["service_account_name"] in accounts
    assert {one["spec"]["serviceAccountName"] for one in pods().values()} == accounts
    assert {one["metadata"].get("namespace", "bias-audits") for one in ALL.values()} == {LAUNCHER["job_namespace"]}
    images = {container["image"] for one in pods().values() for container in one["spec"]["containers"]}
    assert images == {"bias-audits:1"}
    (server,) = yaml.safe_load((FOLDER / "workspace.yaml").read_text())["load_from"]
    service = KUBERNETES[f"Service {server['grpc_server']['host']}"]
    assert service["spec"]["ports"][0]["port"] == server["grpc_server"]["port"]
    labels = pods()["Deployment definitions"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()
    policy = KUBERNETES["NetworkPolicy dask"]["spec"]
    assert policy["podSelector"]["matchLabels"] == {"dask.org/cluster-name": DASK["metadata"]["name"]}
    callers = [one["podSelector"]["matchLabels"] for one in policy["ingress"][0]["from"]]
    assert LAUNCHER["labels"] in callers


def test_the_image_has_what_the_manifests_ask_for() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    extras = re.search(r'"/src\[([\w,]+)\]"', text)
    assert extras is not None
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras[1].split(",")) == {"dask", "postgres", "s3"} <= set(declared)
    for copied in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE):
        assert all((ROOT / one).exists() for one in copied.split())
    user = re.search(r"^USER (\d+)$", text, re.MULTILINE)
    assert user is not None
    assert {one["spec"]["securityContext"]["runAsUser"] for one in pods().values()} == {int(user[1])}
    assert re.search(rf"--uid {user[1]}\b", text)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["packages"], *wheel["force-include"], project["project"]["readme"], "pyproject.toml"}
    there = {one for line in re.findall(r"^COPY (.+) \S+$", text, re.MULTILINE) for one in line.split()}
    assert {one.partition("/")[0] for one in needed} <= there  # else the image could not be built
    home = LAUNCHER["dagster_home"]
    assert f"DAGSTER_HOME={home}" in text
    assert "COPY docs/kubernetes/definitions.py /opt/audits/" in text
