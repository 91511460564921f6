"""The chart as helm renders it: valid for Kubernetes, every service by itself, with nothing that it does not need."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import httpx
import kubernetes_validate
import pytest
import yaml

from contracts.access import ACCESS
from contracts.topology import CONSUMERS, stream_of
from kit.bus import DRAIN_S
from services.commands.process import SERVICES
from tests.architecture.sources import ROOT
from tests.deploy.test_files import CHART, variables
from tests.support.helm import BadTemplate, render
from tests.support.system import GivenServers, system, until

GIVEN: dict[str, Any] = {
    "secret": "openerrata",
    "settings": {
        "OPENERRATA_NATS_URL": "nats://nats:4222",
        "OPENERRATA_NATS_MONITOR_URL": "http://nats:8222",
        "OPENERRATA_S3_ENDPOINT": "https://s3.example",
    },
    "ingress": {
        "host": "openerrata.example",
        "className": "nginx",
        "tlsSecret": "tls",
        "annotations": {"nginx.ingress.kubernetes.io/proxy-read-timeout": "75"},
    },
    "network": {
        "servers": {
            name: {"to": [{"ipBlock": {"cidr": f"10.1.1.{number}/32"}}]}
            for number, name in enumerate(("nats", "database", "s3"), 1)
        }
    },
}
SCALED: dict[str, Any] = {"autoscaling": {"enabled": True, "monitoringEndpoint": "nats:8222"}}
JOBS = ("migrate", "topology")
SERVERS = ("postgres", "nats", "seaweedfs", "minio", "redis")
VERSIONS = ("1.31", "1.37")
"""The oldest version of Kubernetes that the chart is meant for, and the newest that is known here."""
PRIVATE = ("10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "127.0.0.1", "fd00::1", "fe80::1")


def checked(documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, if Kubernetes would take them; what its schemas do not know is an error too."""
    for document in documents:
        for version in VERSIONS:
            if "keda" not in document["apiVersion"]:  # a definition of its own, which is no part of Kubernetes
                kubernetes_validate.validate(document, version, strict=True)
    return documents


def rendered(**over: Any) -> list[dict[str, Any]]:
    return checked(render(CHART, **{**GIVEN, **over}))


@pytest.fixture(scope="module")
def documents() -> list[dict[str, Any]]:
    return rendered()


def named(kind: str, documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in documents if each["kind"] == kind}


def pods(documents: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {
        each["metadata"]["name"].removeprefix("test-"): each["spec"]["template"]["spec"]
        for each in documents
        if each["kind"] in ("Deployment", "Job")
    }


@pytest.mark.requirement("3.13-02")
def test_every_service_runs_by_itself_after_the_database_was_migrated(documents: list[dict[str, Any]]) -> None:
    """3.13-02: One Helm chart for all services."""
    deployments = named("Deployment", documents)
    assert set(deployments) == {f"test-{service}" for service in SERVICES}
    for service in SERVICES:
        spec = deployments[f"test-{service}"]["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        assert container["command"] == ["openerrata", "up", service]
        assert spec["replicas"] >= 1
        assert spec["selector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
    jobs = named("Job", documents)
    order = sorted(jobs, key=lambda name: int(jobs[name]["metadata"]["annotations"]["helm.sh/hook-weight"]))
    assert order == [f"test-{job}" for job in JOBS]
    for job in JOBS:
        assert jobs[f"test-{job}"]["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
        ended = subprocess.run(
            [sys.executable, "-m", "services", *pods(documents)[job]["containers"][0]["command"][1:], "--help"],
            cwd=ROOT,
            capture_output=True,
            timeout=60,
        )
        assert ended.returncode == 0, "a command that is there"


@pytest.mark.requirement("3.13-03")
def test_what_runs_before_runs_with_what_it_is_given(nats_url: str, database_url: str) -> None:
    """3.13-03: No bundled database."""
    settings = GIVEN["settings"] | {"OPENERRATA_NATS_URL": nats_url, "OPENERRATA_NATS_REPLICAS": "1"}
    secrets = {"OPENERRATA_DATABASE_URL": database_url, "OPENERRATA_NATS_PASSWORD": "given-by-the-address"}
    jobs = named("Job", rendered(settings=settings))
    for name in JOBS:
        (container,) = jobs[f"test-{name}"]["spec"]["template"]["spec"]["containers"]
        ran = subprocess.run(
            [sys.executable, "-m", "services", *container["command"][1:]],
            env={each["name"]: each.get("value") or secrets[each["name"]] for each in container["env"]},
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stderr


def test_it_brings_no_server_of_its_own(documents: list[dict[str, Any]]) -> None:
    """3.13-03: No bundled database."""
    assert {each["kind"] for each in documents}.isdisjoint({"StatefulSet", "PersistentVolumeClaim"})
    images = {container["image"] for pod in pods(documents).values() for container in pod["containers"]}
    assert images == {f"openerrata:{yaml.safe_load((CHART / 'Chart.yaml').read_text())['appVersion']}"}
    assert not any(server in image for image in images for server in SERVERS)
    assert "dependencies" not in yaml.safe_load((CHART / "Chart.yaml").read_text())


def test_an_image_is_given_by_its_digest() -> None:
    digest = "sha256:" + "a" * 64
    found = pods(rendered(image={"repository": "registry.example/openerrata", "digest": digest}))
    images = {container["image"] for pod in found.values() for container in pod["containers"]}
    assert images == {f"registry.example/openerrata@{digest}"}


@pytest.mark.requirement("3.13-04")
def test_no_pod_may_do_more_than_run(documents: list[dict[str, Any]]) -> None:
    """3.13-04: Network policies and accounts for each service."""
    accounts = named("ServiceAccount", documents)
    assert set(accounts) == {f"test-{service}" for service in SERVICES}
    assert not any(account["automountServiceAccountToken"] for account in accounts.values())
    for name, pod in pods(documents).items():
        assert pod["automountServiceAccountToken"] is False, name
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert set(container["resources"]["limits"]) == {"cpu", "memory", "ephemeral-storage"}, name
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/tmp"], name
        assert all(volume["emptyDir"]["sizeLimit"] for volume in pod["volumes"]), name
    assert {f"test-{name}" for name, pod in pods(documents).items() if pod.get("serviceAccountName")} == set(accounts)


async def test_readers_are_sent_to_a_gateway_while_the_blob_store_is_away(
    documents: list[dict[str, Any]], tmp_path: Path
) -> None:
    """Most of what it answers needs no blobs, and pods that are not ready get nothing to answer."""
    (container,) = pods(documents)["gateway"]["containers"]
    probe = container["readinessProbe"]["httpGet"]
    assert probe["port"] == "operations"
    with GivenServers(tmp_path / "servers") as servers:
        async with (
            system(tmp_path / "system", **servers.settings, OPENERRATA_MODEL="demo") as run,
            httpx.AsyncClient(trust_env=False) as client,
        ):
            assert (await run.run("projector", "migrate")).code == 0
            assert (await run.run("topology", "apply")).code == 0
            gateway = await run.up("gateway")
            servers.kill("s3")

            async def is_missed() -> bool:
                return (await client.get(f"{gateway.operations_url}/ready")).status_code == 503

            await until(is_missed, "the blob store is missed")
            assert (await client.get(f"{gateway.operations_url}{probe['path']}")).status_code == 200
            assert (await client.get(gateway.url)).status_code == 200, "a page"


def test_the_lists_of_controls_outlast_the_curators_pod(documents: list[dict[str, Any]]) -> None:
    def mounts(given: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: pod for name, pod in pods(given).items() if len(pod["volumes"]) > 1}

    assert mounts(documents) == {}
    given = rendered(controls={"claim": "lists"})
    ((name, pod),) = mounts(given).items()
    assert (name, pod["volumes"][1]["persistentVolumeClaim"]) == ("curator", {"claimName": "lists"})
    assert named("Deployment", given)["test-curator"]["spec"]["strategy"] == {"type": "Recreate"}
    (container,) = pod["containers"]
    folder = {"name": "OPENERRATA_CURATOR_CONTROLS", "value": "/controls"}
    assert [each for each in container["env"] if "CONTROLS" in each["name"]] == [folder]
    assert {"name": pod["volumes"][1]["name"], "mountPath": folder["value"]} in container["volumeMounts"]
    assert folder["name"] in variables()
    assert pod["securityContext"]["fsGroup"], "so that the curator may write there"


@pytest.mark.requirement("3.13-04")
@pytest.mark.parametrize("service", [*SERVICES, *JOBS])
def test_a_pod_reaches_its_servers_and_the_internet_only_if_it_has_to(
    documents: list[dict[str, Any]], service: str
) -> None:
    """3.13-04: Network policies and accounts for each service."""
    policies = named("NetworkPolicy", documents)
    assert set(policies) == {f"test-{name}" for name in (*SERVICES, *JOBS)}
    spec = policies[f"test-{service}"]["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    assert spec["podSelector"]["matchLabels"]["service"] == service
    everybody = [rule for rule in spec["ingress"] if "from" not in rule]
    assert everybody == ([{"ports": [{"port": 8787}]}] if service == "gateway" else [])
    to_anywhere = [rule for rule in spec["egress"] if not rule.get("to")]
    assert [{port["port"] for port in rule["ports"]} for rule in to_anywhere] == [{53}], "names, and nothing else"
    blocks = [peer["ipBlock"] for rule in spec["egress"] for peer in rule.get("to", ())]
    wide = [block for block in blocks if ip_network(block["cidr"]).prefixlen == 0]
    expected = {"nats": "10.1.1.1", "database": "10.1.1.2", "s3": "10.1.1.3"}
    if service in SERVICES:
        access = ACCESS[service]
        wanted = {"nats", "s3", *(("database",) if access.database else ())}
        assert bool(wide) == access.internet
    else:
        wanted = {"database"} if service == "migrate" else {"nats"}
        assert not wide
    assert {block["cidr"] for block in blocks if block not in wide} == {f"{expected[name]}/32" for name in wanted}
    for address in map(ip_address, PRIVATE):
        for block in wide:
            if address in ip_network(block["cidr"]):
                assert any(address in ip_network(cidr) for cidr in block["except"]), address


def test_a_pod_is_given_the_secrets_of_its_service_alone(documents: list[dict[str, Any]]) -> None:
    provider = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENERRATA_CHAT_API_KEY", "OPENERRATA_SEARCH_API_KEY"}
    s3 = {"OPENERRATA_S3_ACCESS_KEY", "OPENERRATA_S3_SECRET_KEY"}
    found = {}
    for name, pod in pods(documents).items():
        (container,) = pod["containers"]
        assert "envFrom" not in container, name
        refs = [each for each in container["env"] if "valueFrom" in each]
        found[name] = {each["name"] for each in refs}
        keys = {each["name"]: each["valueFrom"]["secretKeyRef"]["key"] for each in refs}
        assert {name for name in keys if keys[name] != name} <= {"OPENERRATA_NATS_PASSWORD"}
        if name in SERVICES:
            assert keys["OPENERRATA_NATS_PASSWORD"] == f"NATS_{name.upper()}_PASSWORD"
    for service in SERVICES:
        access = ACCESS[service]
        wanted = {"OPENERRATA_NATS_PASSWORD", *s3, *(provider if access.provider_keys else ())}
        wanted |= {f"OPENERRATA_DATABASE_{access.database.upper()}_URL"} if access.database else set()
        wanted |= {"OPENERRATA_ENCRYPTION_KEYS"} if access.reader_keys else set()
        wanted |= {"OPENERRATA_AUDITOR_RECEIPT_KEY", "GOOGLE_API_KEY"} if service == "auditor" else set()
        wanted |= {"OPENERRATA_VALIDATOR_OPINION_API_KEY"} if service == "validator" else set()
        wanted |= {"OPENERRATA_NOTARY_KEY", "OPENERRATA_NOTARY_PREVIOUS_KEY"} if service == "notary" else set()
        wanted |= {"OPENERRATA_LABELER_KEY", "OPENERRATA_GATEWAY_HMAC_SECRET"} if service == "gateway" else set()
        assert found[service] == wanted, service
    assert found["migrate"] == {"OPENERRATA_DATABASE_URL"}
    assert found["topology"] == {"OPENERRATA_NATS_PASSWORD"}


def test_readers_reach_the_gateway_alone(documents: list[dict[str, Any]]) -> None:
    (service,) = named("Service", documents).values()
    assert service["spec"]["selector"] == {"app": "test", "service": "gateway"}
    (container,) = pods(documents)["gateway"]["containers"]
    assert {port["name"]: port["containerPort"] for port in container["ports"]} == {"operations": 9187, "http": 8787}
    assert container["readinessProbe"]["httpGet"]["path"] == "/health"
    assert container["livenessProbe"]["httpGet"]["path"] == "/health"
    (ingress,) = named("Ingress", documents).values()
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == "openerrata.example"
    assert ingress["metadata"]["annotations"] == GIVEN["ingress"]["annotations"]
    for name in SERVICES:  # receipts, sources of its own and requests to sites depend on the address, too
        (container,) = pods(documents)[name]["containers"]
        given = {each["name"]: each.get("value") for each in container["env"]}
        assert given["OPENERRATA_GATEWAY_PUBLIC_URL"] == f"https://{rule['host']}", name
    assert rule["http"]["paths"][0]["backend"]["service"]["name"] == service["metadata"]["name"]
    assert named("Ingress", rendered(ingress={})) == {}


def test_what_selects_pods_selects_those_of_its_name_and_release(documents: list[dict[str, Any]]) -> None:
    labels = {
        each["metadata"]["name"]: each["spec"]["template"]["metadata"]["labels"]
        for each in documents
        if each["kind"] in ("Deployment", "Job")
    }
    for kind, field in (("NetworkPolicy", "podSelector"), ("PodDisruptionBudget", "selector")):
        for name, each in named(kind, documents).items():
            wanted = each["spec"][field]["matchLabels"].items()
            assert wanted >= {("app", "test")}, "several releases share a namespace"
            assert [pod for pod in labels if wanted <= labels[pod].items()] == [name]


def test_an_upgrade_runs_the_jobs_anew_and_lets_each_reach_its_server_first(documents: list[dict[str, Any]]) -> None:
    jobs, policies = named("Job", documents), named("NetworkPolicy", documents)
    for name, job in jobs.items():
        of_job, of_policy = (each["metadata"]["annotations"] for each in (job, policies[name]))
        assert of_policy["helm.sh/hook"] == of_job["helm.sh/hook"]
        assert int(of_policy["helm.sh/hook-weight"]) < int(of_job["helm.sh/hook-weight"])
        deleted = {each["helm.sh/hook-delete-policy"] for each in (of_job, of_policy)}
        assert deleted == {"before-hook-creation"}, "what is left of the last upgrade is in the way"
    assert {name for name, each in policies.items() if "annotations" in each["metadata"]} == set(jobs)


def test_a_pod_listens_where_the_cluster_asks_and_has_time_to_end(documents: list[dict[str, Any]]) -> None:
    for name, pod in pods(documents).items():
        (container,) = pod["containers"]
        given = {each["name"]: each.get("value") for each in container["env"]}
        assert given["OPENERRATA_NATS_USER"] == (name if name in SERVICES else "openerrata")
        assert {given[f"OPENERRATA_{part}_HOST"] for part in ("OPS", "GATEWAY")} == {"0.0.0.0"}
        if name in SERVICES:
            ports = {port["name"]: port["containerPort"] for port in container["ports"]}
            assert ports["operations"] == int(given["OPENERRATA_OPS_PORT"] or 0)
            assert pod["terminationGracePeriodSeconds"] > DRAIN_S + 5
    listening = {each["name"]: each.get("value") for each in pods(documents)["gateway"]["containers"][0]["env"]}
    assert listening["OPENERRATA_GATEWAY_PUBLIC_URL"] == "https://openerrata.example"
    (ingress,) = named("Ingress", documents).values()
    assert ingress["spec"]["tls"] == [{"hosts": ["openerrata.example"], "secretName": "tls"}]


def test_a_gateway_answers_until_proxies_know_that_its_pod_ends(documents: list[dict[str, Any]]) -> None:
    """On SIGTERM it refuses connections at once; who is sent to it in those seconds would see an error."""
    pod = pods(documents)["gateway"]
    (container,) = pod["containers"]
    pause_s = container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pause_s >= 5
    assert pod["terminationGracePeriodSeconds"] > pause_s + DRAIN_S + 5
    assert f'kubeVersion: ">={VERSIONS[0]}.' in (CHART / "Chart.yaml").read_text(), "older ones know no such pause"


def test_what_runs_more_than_once_is_never_drained_all_at_once(documents: list[dict[str, Any]]) -> None:
    more = {name for name, each in named("Deployment", documents).items() if each["spec"]["replicas"] > 1}
    assert more
    assert set(named("PodDisruptionBudget", documents)) == more


def test_processes_follow_the_lag_of_their_consumers_if_that_is_wanted(documents: list[dict[str, Any]]) -> None:
    assert named("ScaledObject", documents) == {}
    scaled = rendered(**SCALED)
    objects = named("ScaledObject", scaled)
    watched = [trigger["metadata"] for each in objects.values() for trigger in each["spec"]["triggers"]]
    consumers = {(stream_of(each.event).name, each.name) for each in CONSUMERS}
    assert sorted((trigger["stream"], trigger["consumer"]) for trigger in watched) == sorted(consumers)
    for trigger in watched:
        assert trigger["account"] == "ERRATA"
        assert trigger["natsServerMonitoringEndpoint"] == "nats:8222"
        assert int(trigger["lagThreshold"]) > 0
    for name, each in objects.items():
        assert each["spec"]["scaleTargetRef"]["name"] == name
        assert "replicas" not in named("Deployment", scaled)[name]["spec"], "two would decide"
        assert {trigger["metadata"]["consumer"].partition("-")[0] for trigger in each["spec"]["triggers"]} == {
            name.removeprefix("test-")
        }
    with pytest.raises(BadTemplate, match=r"autoscaling\.monitoringEndpoint has to be given"):
        rendered(autoscaling={"enabled": True})


def test_settings_that_exist_and_none_that_is_empty(documents: list[dict[str, Any]]) -> None:
    for name, pod in pods(documents).items():
        for each in pod["containers"][0]["env"]:
            assert each["name"] in variables() | {"HOME"}, name
            assert isinstance(each.get("value", ""), str)
    text = (CHART / "values.yaml").read_text()
    assert set(re.findall(r"\b(?:OPENERRATA|OPENAI)_[A-Z0-9_]+", text)) <= variables()


def test_the_cluster_sets_no_setting_by_itself(documents: list[dict[str, Any]]) -> None:
    """A pod is told of every service by variables that begin with its name; one may be called as a setting is."""
    (service,) = named("Service", documents)
    exporter = f"{service.replace('test', 'openerrata')}_port".upper().replace("-", "_")
    assert exporter in variables(), "what a release called openerrata would be told is a setting"
    assert {name for name, pod in pods(documents).items() if pod.get("enableServiceLinks", True)} == set()


@pytest.mark.parametrize(
    "missing",
    [{"secret": ""}, {"settings": {}}, {"settings": {"OPENERRATA_NATS_MONITOR_URL": ""}}, {"network": {}}],
    ids=["secret", "settings", "broker", "network"],
)
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
        ("serviceAccountName", "serviceAccountNames"),
        ("terminationGracePeriodSeconds: 40", 'terminationGracePeriodSeconds: "40"'),
    ],
)
def test_a_broken_template_is_seen(tmp_path: Path, good: str, bad: str) -> None:
    shutil.copytree(CHART, tmp_path / "chart")
    template = tmp_path / "chart" / "templates" / "services.yaml"
    assert good in template.read_text()
    template.write_text(template.read_text().replace(good, bad, 1))
    with pytest.raises((BadTemplate, kubernetes_validate.ValidationError)):
        checked(render(tmp_path / "chart", **GIVEN))
