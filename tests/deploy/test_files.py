"""Deployment files agree with the code: services, settings, roles and metrics that exist, alerts that are described."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from contracts.access import ACCESS
from contracts.topology import ERRATA
from kit.model_settings import AnthropicSettings, ChatSettings, GoogleSettings, OpenAISettings, SearchSettings
from services.commands.process import SERVICES
from services.commands.topology import apply
from services.gateway.settings import GatewaySettings
from services.notary.settings import NotarySettings
from services.validator.settings import OpinionSettings
from tests.architecture import rules
from tests.architecture.sources import ROOT, sources
from tests.support.command_line import parsed
from tests.support.monitored import RULES, asked, expressions

DEPLOY = ROOT / "deploy"
OPERATIONS = ROOT / "docs" / "operations"
CHART = DEPLOY / "helm" / "openerrata"
TESTS = RULES.with_name("openerrata.test.yaml")


def loaded(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def declared() -> set[str]:
    """Every metric that the code declares, by the name that it has there."""
    text = "\n".join(source.path and (ROOT / source.path).read_text() for source in sources("kit", "services"))
    return set(re.findall(r'"(openerrata_[a-z_]+)"', text))


def metrics() -> set[str]:
    """Every metric that can be asked for."""
    return declared() | {f"{name}_total" for name in declared()}  # a counter's name gains this where it lacks it


@cache
def variables() -> set[str]:
    files = list(sources("kit", "services"))
    return {*rules.variables(files), *rules.options(files)}


def secrets() -> set[str]:
    """Every variable whose value the settings classes keep out of logs."""
    return {
        f"{prefix}{field.target.id}".upper()
        for _, node, prefix in rules.settings_classes(sources("kit", "services"))
        for field in node.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and "SecretStr" in ast.unparse(field.annotation)
    }


@pytest.mark.parametrize(("where", "expression"), list(expressions()), ids=lambda value: value.split("(")[0][:40])
def test_every_metric_that_is_asked_for_exists(where: str, expression: str) -> None:
    assert asked(expression) <= metrics(), where
    assert asked(expression) or "up{" in expression, where


def test_every_metric_is_described_and_exists() -> None:
    described = set(re.findall(r"`(openerrata_[a-z_]+)", (OPERATIONS / "monitoring.md").read_text()))
    assert described - metrics() == set()
    assert {name for name in declared() if not described & {name, f"{name}_total"}} == set()


def test_every_alert_has_a_runbook_and_every_runbook_its_alert() -> None:
    alerts = {rule["alert"]: rule for group in loaded(RULES)["groups"] for rule in group["rules"]}
    runbooks = OPERATIONS / "runbooks"
    pages = {page.stem: page.read_text() for page in runbooks.glob("*.md") if page.stem != "README"}
    assert set(pages) == set(alerts)
    index = (runbooks / "README.md").read_text()
    for name, rule in alerts.items():
        assert rule["annotations"]["runbook"] == f"docs/operations/runbooks/{name}.md"
        assert rule["labels"]["severity"] in ("page", "ticket")
        assert f"[{name}]({name}.md)" in index
        assert pages[name].startswith(f"# {name}\n")
        assert re.findall(r"^- (\w+):", pages[name], re.M) == ["Impact", "Check", "Do", "Over"], name


def test_what_the_log_is_said_to_say_is_in_the_code() -> None:
    """Sentences quoted in the list of faults; those with a gap are left out."""
    faults = (OPERATIONS / "faults.md").read_text().partition("## Servers that stop")[2]
    quoted = set(re.findall(r"`([a-z]+(?:,? [a-z]+){2,}(?:: [a-z ]+)?)`", faults))
    code = "\n".join((ROOT / source.path).read_text() for source in sources("kit", "services"))
    assert len(quoted) > 10
    assert {each for each in quoted if each not in code} == set()


@pytest.mark.parametrize("arguments", [("check", "rules", RULES), ("test", "rules", TESTS)])
def test_promtool_is_content(arguments: tuple[str | Path, ...]) -> None:
    promtool = shutil.which("promtool")
    assert promtool, "install the package prometheus"
    ended = subprocess.run([promtool, *arguments], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_promtool_refuses_a_rule_that_cannot_be_read(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(RULES.read_text().replace("sum by (stream, outcome)", "sum by by", 1))
    ended = subprocess.run([shutil.which("promtool") or "", "check", "rules", bad], capture_output=True, timeout=120)
    assert ended.returncode != 0


def test_compose_runs_every_service_with_settings_that_exist() -> None:
    compose = loaded(DEPLOY / "compose.yaml")
    services = compose["services"]
    assert {name for name in services if services[name].get("entrypoint", [])[:2] == ["openerrata", "up"]} == set(
        SERVICES
    )
    for name in SERVICES:
        assert services[name]["entrypoint"] == ["openerrata", "up", name]
    for name, service in services.items():
        environment = service.get("environment", {})
        if name in SERVICES:
            assert set(environment) <= variables() | {"HOME"}, name
        assert set(service.get("depends_on", {})) <= set(services), name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert (DEPLOY / source).exists() if source.startswith("./") else source in compose["volumes"], name


def test_compose_waits_for_a_broker_that_is_slow_to_start() -> None:
    """Nobody starts the topology's job again, and everything waits for it."""
    services = loaded(DEPLOY / "compose.yaml")["services"]
    program, *arguments = services["topology"]["entrypoint"]
    assert program == "openerrata"
    assert arguments[:2] == ["topology", "apply"]
    assert parsed(apply, arguments[2:]).params["wait_s"] >= 120
    for name in SERVICES:
        for job in ("topology", "migrate"):
            assert services[name]["depends_on"][job] == {"condition": "service_completed_successfully"}, name
    assert all(service.get("restart") for service in services.values())


def test_compose_runs_the_commands_of_operators_and_takes_every_setting() -> None:
    services = loaded(DEPLOY / "compose.yaml")["services"]
    commands = services["openerrata"]
    assert commands["entrypoint"] == ["openerrata"]
    assert commands["profiles"], "`up` does not start it"
    assert set(commands["depends_on"]) == {"nats", "postgres", "bucket"}, "a backup is restored to empty servers"
    assert {"OPENERRATA_DATABASE_URL", "OPENERRATA_NATS_PASSWORD", "OPENERRATA_ENCRYPTION_KEYS"} <= set(
        commands["environment"]
    )
    assert set(commands["environment"]) <= variables() | {"HOME"}
    ours = {name: service for name, service in services.items() if "build" in service}
    assert set(ours) == {*SERVICES, "migrate", "topology", "openerrata"}
    for name, service in ours.items():
        assert service["env_file"] == [{"path": "settings.env", "required": False}], name
    assert {"deploy/.env", "deploy/settings.env"} <= set((ROOT / ".gitignore").read_text().split())


def test_compose_gives_each_service_its_own_secrets_alone() -> None:
    services = loaded(DEPLOY / "compose.yaml")["services"]
    s3 = {"S3_ACCESS_KEY", "S3_SECRET_KEY"}
    provider = {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENERRATA_CHAT_API_KEY", "OPENERRATA_SEARCH_API_KEY"}
    passwords = {
        name: set(re.findall(r"\$\{([A-Z0-9_]+):", str(service["environment"])))
        for name, service in services.items()
        if "environment" in service
    }
    for name in SERVICES:
        access = ACCESS[name]
        wanted = {*s3, f"NATS_{name.upper()}_PASSWORD", "OPENERRATA_GATEWAY_PUBLIC_URL"}
        wanted |= {f"ERRATA_{access.database.upper()}_PASSWORD"} if access.database else set()
        wanted |= {"OPENERRATA_ENCRYPTION_KEYS"} if access.reader_keys else set()
        wanted |= provider if access.provider_keys else set()
        wanted |= {"OPENERRATA_AUDITOR_RECEIPT_KEY", "GOOGLE_API_KEY"} if name == "auditor" else set()
        wanted |= {"OPENERRATA_VALIDATOR_OPINION_API_KEY"} if name == "validator" else set()
        if name == "notary":
            wanted |= {f"OPENERRATA_NOTARY_{each}" for each in ("KEY", "PREVIOUS_KEY", "WITNESSES")}
        wanted |= {"OPENERRATA_LABELER_DID"} if name in ("curator", "gateway") else set()
        wanted |= {"OPENERRATA_LABELER_KEY", "OPENERRATA_GATEWAY_HMAC_SECRET"} if name == "gateway" else set()
        assert passwords[name] == wanted, name
        assert services[name]["environment"]["OPENERRATA_NATS_USER"] == name
        assert services[name]["networks"] == (["servers", "internet"] if access.internet else ["servers"]), name
    assert passwords["migrate"] == {"POSTGRES_PASSWORD"}
    assert passwords["topology"] == {"NATS_SERVICES_PASSWORD"}


def test_every_secret_can_be_given_as_one() -> None:
    """Whatever else a service is given, all others are given too, and everybody who may read the deployment sees it."""
    services = loaded(DEPLOY / "compose.yaml")["services"]
    chart = loaded(CHART / "values.yaml")["services"].values()
    keys = {key for service in chart for field in ("secrets", "optionalSecrets") for key in service.get(field, ())}
    assert secrets() - keys == {"OPENERRATA_NATS_PASSWORD"}, "which each pod gets from a key of its own"
    assert secrets() - {name for each in services.values() for name in each.get("environment", ())} == set()


def test_what_compose_gives_no_value_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty key is none, and a signature that anyone can make is not a valid one."""
    for name in secrets():
        monkeypatch.setenv(name, "")
    assert GatewaySettings().hmac_secret.get_secret_value()
    for settings in (OpenAISettings, AnthropicSettings, GoogleSettings, ChatSettings, SearchSettings, OpinionSettings):
        assert settings().api_key is None, settings
    assert NotarySettings().key is NotarySettings().previous_key is None


def test_compose_confines_every_container() -> None:
    compose = loaded(DEPLOY / "compose.yaml")
    assert compose["networks"]["servers"] == {"internal": True}
    for name, service in compose["services"].items():
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["read_only"] is True, name
        assert service["mem_limit"], name
        assert service["cpus"], name
        assert service["pids_limit"], name
        assert set(service["networks"]) <= {"servers", "internet"}, name
        assert name in (*SERVICES, "openerrata") or service["networks"] == ["servers"], "no server has a way out"
        assert re.fullmatch(r"\$\{[A-Z]+_IMAGE:-[a-z/]+:[\w.]+\}", service["image"]), "may be given by digest"


def copied(service: str) -> list[tuple[str, str]]:
    """What the Dockerfile's first stage copies from here, and where to, with SERVICE set."""
    lines = re.findall(r"^COPY (?!--from)(.+)$", (DEPLOY / "Dockerfile").read_text(), re.M)
    pairs = []
    for line in lines:
        *sources, target = line.replace("${SERVICE}", service).split()
        pairs += [(source, target) for source in sources]
    return pairs


def test_the_image_holds_everything_unless_told_otherwise(tmp_path: Path) -> None:
    assemble(tmp_path, "")
    for package in ("contracts", "kit", "platforms", "analyses", "services"):
        ours = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*.py")}
        assert {path.relative_to(tmp_path) for path in (tmp_path / package).rglob("*.py")} == ours
    text = (DEPLOY / "Dockerfile").read_text()
    assert set(re.findall(r"\bOPENERRATA_[A-Z0-9_]+", text)) <= variables()
    assert "HEALTHCHECK" in text
    assert text.count('ARG SERVICE=""') == 2, "a stage forgets the arguments of the one before"


def assemble(folder: Path, service: str) -> None:
    """Copy as the Dockerfile does."""
    for source, target in copied(service):
        here = ROOT / source
        if here.is_dir():
            shutil.copytree(here, folder / target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            (folder / target).mkdir(parents=True, exist_ok=True)
            shutil.copy(here, folder / target)


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_needs_no_other(service: str, tmp_path: Path) -> None:
    assemble(tmp_path, service)
    assert {path.name for path in (tmp_path / "services").iterdir()} == {
        "__init__.py",
        "__main__.py",
        "commands",
        service,
    }
    program = f"""
import services.{service}.app, services.commands.process, services
assert services.__file__.startswith({str(tmp_path)!r}), services.__file__
from services.__main__ import main
main(["up", "{service}", "--help"])
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stderr
    assert "Usage" in ended.stdout


def test_roles_are_those_of_the_migrations() -> None:
    pattern = r"'(errata_[a-z]+)'"
    scripts = (ROOT / "kit" / "migrations" / "durable").glob("*.sql")
    migration = "\n".join(script.read_text() for script in scripts)
    assert set(re.findall(pattern, (DEPLOY / "roles.sql").read_text())) == set(re.findall(pattern, migration))


def test_the_broker_writes_before_it_acknowledges() -> None:
    assert "sync_interval: always" in (DEPLOY / "nats.conf").read_text()
    assert ERRATA.max_age_s == 0
