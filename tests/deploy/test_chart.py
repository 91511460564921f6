"""The chart as it is rendered: every service by itself, nothing that it does not need, and no server of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from services.commands.process import SERVICES
from tests.deploy.test_files import CHART, ROOT, variables
from tests.support.chart import BadTemplate, render

GIVEN: dict[str, Any] = {
    "secret": "openerrata",
    "settings": {"OPENERRATA_NATS_URL": "nats://nats:4222", "OPENERRATA_S3_ENDPOINT": "https://s3.example"},
    "ingress": {"host": "openerrata.example", "className": "nginx", "tlsSecret": "tls"},
}
SERVERS = ("postgres", "nats", "seaweedfs", "minio", "redis")


def rendered(**over: Any) -> list[dict[str, Any]]:
    return render(CHART, **{**GIVEN, **over})


def named(kind: str, documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in documents if each["kind"] == kind}


def pods(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        each["metadata"]["name"]: each["spec"]["template"]["spec"]
        for each in documents
        if each["kind"] in ("Deployment", "Job")
    }


@pytest.mark.requirement("3.13-02")
def test_every_service_runs_by_itself_after_the_database_was_migrated() -> None:
    documents = rendered()
    deployments = named("Deployment", documents)
    assert set(deployments) == {f"test-{service}" for service in SERVICES}
    for service in SERVICES:
        spec = deployments[f"test-{service}"]["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        assert container["command"] == ["openerrata", "up", service]
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    jobs = named("Job", documents)
    order = sorted(jobs, key=lambda name: int(jobs[name]["metadata"]["annotations"]["helm.sh/hook-weight"]))
    assert order == ["test-migrate", "test-topology"]
    for job, pod in ((name, pods(documents)[name]) for name in order):
        assert jobs[job]["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
        ended = subprocess.run(
            [sys.executable, "-m", "services", *pod["containers"][0]["command"][1:], "--help"],
            cwd=ROOT,
            capture_output=True,
            timeout=60,
        )
        assert ended.returncode == 0, "a command that is there"


@pytest.mark.requirement("3.13-03")
def test_it_brings_no_server_of_its_own() -> None:
    documents = rendered()
    assert {each["kind"] for each in documents}.isdisjoint({"StatefulSet", "PersistentVolumeClaim"})
    images = {container["image"] for pod in pods(documents).values() for container in pod["containers"]}
    assert images == {f"openerrata:{yaml.safe_load((CHART / 'Chart.yaml').read_text())['appVersion']}"}
    assert not any(server in image for image in images for server in SERVERS)
    assert "dependencies" not in yaml.safe_load((CHART / "Chart.yaml").read_text())


@pytest.mark.requirement("3.13-04")
def test_nobody_may_do_or_reach_more_than_it_needs() -> None:
    documents = rendered()
    accounts, policies = named("ServiceAccount", documents), named("NetworkPolicy", documents)
    assert set(accounts) == set(policies) == {f"test-{service}" for service in SERVICES}
    assert not any(account["automountServiceAccountToken"] for account in accounts.values())
    for name, pod in pods(documents).items():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"], name
        for container in pod["containers"]:
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "capabilities": {"drop": ["ALL"]},
            }, name
    assert {name for name, pod in pods(documents).items() if pod.get("serviceAccountName")} == set(accounts)
    for name, policy in policies.items():
        spec = policy["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert spec["podSelector"]["matchLabels"]["service"] == name.removeprefix("test-")
        everybody = [rule for rule in spec["ingress"] if "from" not in rule]
        assert everybody == ([{"ports": [{"port": "http"}]}] if name == "test-gateway" else [])
        blocks = [peer.get("ipBlock", {}) for rule in spec["egress"] for peer in rule.get("to", ())]
        outside = [block for block in blocks if block.get("cidr") == "0.0.0.0/0"]
        assert bool(outside) == (name.removeprefix("test-") in ("verifier", "investigator", "validator", "gateway"))
        assert all(block["except"] == ["169.254.0.0/16"] for block in outside), "not the machine's own metadata"


def test_readers_reach_the_gateway_alone() -> None:
    documents = rendered()
    (service,) = named("Service", documents).values()
    assert service["spec"]["selector"] == {"app": "test", "service": "gateway"}
    (container,) = pods(documents)["test-gateway"]["containers"]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {"operations": 9187, "http": 8787}
    assert container["readinessProbe"]["httpGet"]["path"] == "/ready"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
    (ingress,) = named("Ingress", documents).values()
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == "openerrata.example"
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == service["metadata"]["name"]
    assert named("Ingress", rendered(ingress={})) == {}


def test_what_runs_more_than_once_is_never_drained_all_at_once() -> None:
    documents = rendered()
    more = {name for name, each in named("Deployment", documents).items() if each["spec"]["replicas"] > 1}
    assert more
    assert set(named("PodDisruptionBudget", documents)) == more


def test_settings_that_exist_and_none_that_is_empty() -> None:
    documents = rendered()
    for name, pod in pods(documents).items():
        for each in pod["containers"][0]["env"]:
            assert each["name"] in variables(), name
            assert isinstance(each["value"], str)
    text = (CHART / "values.yaml").read_text()
    assert set(re.findall(r"\b(?:OPENERRATA|OPENAI)_[A-Z0-9_]+", text)) <= variables()


def test_the_cluster_sets_no_setting_by_itself() -> None:
    """A pod is told of every service by variables that begin with its name; one may be called as a setting is."""
    documents = rendered()
    (service,) = named("Service", documents)
    told = f"{service.replace('test', 'openerrata')}_port".upper().replace("-", "_")
    assert told in variables(), "what a release called openerrata would be told is a setting"
    assert {name for name, pod in pods(documents).items() if pod.get("enableServiceLinks", True)} == set()


@pytest.mark.parametrize("missing", [{"secret": ""}, {"settings": {}}, {"settings": {"OPENERRATA_NATS_URL": ""}}])
def test_what_is_missing_is_said_before_anything_is_installed(missing: dict[str, Any]) -> None:
    with pytest.raises(BadTemplate, match="has to be given"):
        rendered(**missing)


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("{{- end }}", ""),
        ("$given.replicas }}", "$given.replica }}"),
        ("{{ $service | quote }}", "{{ $service | quotes }}"),
        ("nindent 12", "nindent 2"),
        ("    spec:", "   spec:"),
    ],
)
def test_a_broken_template_is_seen(tmp_path: Path, good: str, bad: str) -> None:
    shutil.copytree(CHART, tmp_path / "chart")
    template = tmp_path / "chart" / "templates" / "services.yaml"
    assert good in template.read_text()
    template.write_text(template.read_text().replace(good, bad, 1))
    with pytest.raises(BadTemplate):
        render(tmp_path / "chart", **GIVEN)


def test_helm_renders_the_same_where_it_is_installed(tmp_path: Path) -> None:
    helm = shutil.which("helm")
    if helm is None:  # what we make of the templates is tested above in any case
        return
    (tmp_path / "given.yaml").write_text(yaml.safe_dump(GIVEN))
    ended = subprocess.run(
        [helm, "template", "test", str(CHART), "--values", str(tmp_path / "given.yaml")],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 0, ended.stderr
    theirs = [document for document in yaml.safe_load_all(ended.stdout) if document is not None]

    def key(each: dict[str, Any]) -> tuple[str, str]:
        return each["kind"], each["metadata"]["name"]

    assert sorted(theirs, key=key) == sorted(rendered(), key=key)
