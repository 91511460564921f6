"""A misspelt setting ends every service and command before it does anything, and names the setting that was meant."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterator
from importlib.machinery import ModuleSpec

import click
import pytest
from click.testing import CliRunner

from kit.settings import SettingsError, refuse_unknown
from platforms import PLATFORMS, has_public_source
from services.__main__ import COMMANDS, main
from services.commands.known_settings import check_environment, list_classes, list_known
from services.commands.shared import handle_errors
from tests.architecture import rules
from tests.architecture.sources import ROOT, sources


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine's own environment says is not what is tested."""
    monkeypatch.setattr(os, "environ", {})


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by its path."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from leaves(each, f"{path} {name}")
    else:
        yield path, command


def set_only(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    monkeypatch.setattr(os, "environ", values)


def test_every_setting_that_the_sources_define_is_known() -> None:
    files = list(sources("kit", "services"))
    defined = {name for name in rules.variables(files) if name.startswith("OPENERRATA_")}
    defined |= {f"OPENERRATA_VERIFIER_{site.name}_URL" for site in PLATFORMS if has_public_source(site.name)}
    defined |= {f"OPENERRATA_VERIFIER_{name}_URL" for site in PLATFORMS for name in site.further_endpoints}
    assert len(defined) > 100
    assert defined <= list_known()
    of_tests = ("VECTORS", "TEST_MODEL", "TEST_MODEL_URL")
    elsewhere = {f"OPENERRATA_{name}" for name in ("API_KEY", "DATA_DIR", "IMAGE", "SERVER", *of_tests)}
    assert list_known() - defined == elsewhere | {name for name in list_known() if not name.startswith("OPENERRATA_")}


def test_numbers_that_the_list_of_settings_gives_as_defaults_are_those_of_the_code() -> None:
    page = (ROOT / "docs" / "operations" / "settings.md").read_text()
    written = dict(re.findall(r"^\| `([A-Z0-9_]+)` \| `?([\d,.]+)`? \|", page, re.MULTILINE))
    defaults = {
        f"{each.model_config.get('env_prefix', '')}{name}".upper(): field.default
        for each in list_classes()
        for name, field in each.model_fields.items()
        if isinstance(field.default, (int, float)) and not isinstance(field.default, bool)
    }
    assert len(defaults) > 80
    assert {name: float(text.replace(",", "")) for name, text in written.items() if name in defaults} == defaults


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("OPENERRATA_GATEWAY_PROT", "OPENERRATA_GATEWAY_PORT"),
        ("OPENERRATA_DATABSE_URL", "OPENERRATA_DATABASE_URL"),
        ("openerrata_selector_runs_a_day", "OPENERRATA_SELECTOR_RUNS_PER_DAY"),
        ("OPENERRATA_VERIFIER_SLOT", "OPENERRATA_VERIFIER_SLOTS"),
    ],
)
def test_a_misspelt_setting_is_refused_with_the_nearest_known_one(
    monkeypatch: pytest.MonkeyPatch, misspelt: str, meant: str
) -> None:
    set_only(monkeypatch, **{misspelt: "hush", "OPENERRATA_LOG_LEVEL": "info", "HOME": "/root"})
    with pytest.raises(SettingsError) as caught:
        check_environment()
    assert str(caught.value) == f"{misspelt}: there is no such setting; did you mean {meant}?"


def test_every_unknown_setting_is_named_at_once_and_no_value_is_shown() -> None:
    with pytest.raises(SettingsError, match=r"_A: there is no such setting; OPENERRATA_B: ") as caught:
        refuse_unknown({"OPENERRATA_B": "hush", "OPENERRATA_A": "hush", "OPENAI_B": "hush"}, {"OPENERRATA_LOG_LEVEL"})
    assert "hush" not in str(caught.value)


def test_settings_in_either_case_and_of_other_products_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    set_only(monkeypatch, openerrata_gateway_port="1", OPENERRATA_NATS_URL="x", OPENAI_ANYTHING="x", NATS_URL="x")
    check_environment()


def test_settings_of_a_service_that_is_not_installed_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    find = importlib.util.find_spec

    def without_gateway(name: str) -> ModuleSpec | None:
        return None if name.startswith("services.gateway") else find(name)

    monkeypatch.setattr(importlib.util, "find_spec", without_gateway)
    list_known.cache_clear()
    try:
        set_only(monkeypatch, OPENERRATA_GATEWAY_HOST="0.0.0.0", OPENERRATA_GATEWAY_PROT="1")
        check_environment()
        set_only(monkeypatch, OPENERRATA_NATS_URI="x")
        with pytest.raises(SettingsError, match="OPENERRATA_NATS_URL"):
            check_environment()
    finally:
        list_known.cache_clear()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_checks_the_environment(name: str) -> None:
    command = main.get_command(click.Context(main), name)
    assert command is not None
    for path, leaf in leaves(command, name):
        callback = leaf.callback
        while callback is not None and callback.__code__ is not handle_errors(print).__code__:
            callback = getattr(callback, "__wrapped__", None)
        assert callback is not None, f"{path} is not decorated with plain_errors"


def test_a_command_ends_with_one_line_and_its_help_is_still_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    set_only(monkeypatch, OPENERRATA_GATEWAY_PROT="1")
    refused = CliRunner().invoke(main, ["up", "gateway"])
    assert refused.exit_code == 1
    assert refused.stderr == (
        "Error: OPENERRATA_GATEWAY_PROT: there is no such setting; did you mean OPENERRATA_GATEWAY_PORT?\n"
    )
    assert CliRunner().invoke(main, ["up", "--help"]).exit_code == 0
