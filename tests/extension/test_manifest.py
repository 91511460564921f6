"""What both packages ask of a browser and promise its reader: exactly this, and a new line here is a decision.

Read from what was built, not from what it is built of: the tools in between add to a manifest by themselves.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

from platforms import PLATFORMS
from tests.extension.chromium import EXTENSION

BROWSERS: Final = ("chrome", "firefox")
REGISTRY: Final = EXTENSION / "src" / "platforms"
MODULES: Final = [
    (REGISTRY / f"{name}.ts").read_text()
    for name in re.findall(r"^import '\./(\w+)';$", (REGISTRY / "index.ts").read_text(), re.MULTILINE)
]
"""The file of each site, in the registry's order."""
SITES: Final = {
    pattern
    for module in MODULES
    for patterns in re.findall(r"^  matches: \[(.*)\],$", module, re.MULTILINE)
    for pattern in re.findall(r"'(.*?)'", patterns)
}
"""What the sites' own files ask for."""
EVERYWHERE: Final = {"https://*/*", "http://*/*"}
PERMISSIONS: Final = {"activeTab", "alarms", "scripting", "storage"}
POLICY: Final = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "https: http:",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "https:",
}
IMPORTED: Final = re.compile(r"""(?:from|import)\s*["'`]\./(?:chunks/)?([^"'`]+)["'`]""")
COMMON: Final = {
    "manifest_version",
    "name",
    "description",
    "version",
    "icons",
    "default_locale",
    "action",
    "permissions",
    "host_permissions",
    "optional_host_permissions",
    "commands",
    "content_security_policy",
    "web_accessible_resources",
    "background",
    "options_ui",
    "content_scripts",
}


def manifest(browser: str) -> dict[str, Any]:
    """The manifest of a built package."""
    file = EXTENSION / ".output" / f"{browser}-mv3" / "manifest.json"
    assert file.exists(), "build the extension first: cd extension && npm ci && npm run build"
    found: dict[str, Any] = json.loads(file.read_text())
    return found


@pytest.mark.parametrize("browser", BROWSERS)
@pytest.mark.requirement("3.13-01", "FS-42")
def test_it_asks_for_no_more_than_it_needs(browser: str) -> None:
    """Offscreen documents show no warning; Firefox has none.

    3.13-01: Permissions and matches are those listed.
    FS-42: An update asks for no host and shows no new warning.
    """
    asked = manifest(browser)
    assert set(asked["permissions"]) == PERMISSIONS | ({"offscreen"} if browser == "chrome" else set())
    assert "optional_permissions" not in asked
    assert set(asked["host_permissions"]) == SITES
    assert all(re.fullmatch(r"https://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)+/\*", pattern) for pattern in SITES)
    assert set(asked["optional_host_permissions"]) == EVERYWHERE, "asked for one address at a time, never installed"


@pytest.mark.parametrize("browser", BROWSERS)
@pytest.mark.requirement("3.13-01", "2.1-01", "2.1-02", "2.1-03", "2.1-04")
def test_its_script_runs_where_it_may_read_and_in_no_frame(browser: str) -> None:
    """3.13-01: Permissions and matches are those listed.
    2.1-01: LessWrong posts supported.
    2.1-02: X posts supported.
    2.1-03: Substack posts supported, on domains of their own too.
    2.1-04: Wikipedia supported, all languages.
    """
    (script,) = manifest(browser)["content_scripts"]
    assert set(script.pop("matches")) == SITES
    assert script == {
        "run_at": "document_idle",
        "css": ["content-scripts/content.css"],
        "js": ["content-scripts/content.js"],
    }
    names = [re.findall(r"^  platform: '(\w+)',$", module, re.MULTILINE) for module in MODULES]
    known = sorted([site.name] for site in PLATFORMS)
    assert sorted(names) == known, "both sides know the same sites"


@pytest.mark.parametrize("browser", BROWSERS)
def test_its_own_pages_run_nothing_from_elsewhere_and_only_the_frame_is_open_to_pages(browser: str) -> None:
    says = manifest(browser)
    (policy,) = says["content_security_policy"].values()
    assert dict(part.split(" ", 1) for part in policy.split("; ")) == POLICY
    assert list(says["content_security_policy"]) == ["extension_pages"]
    assert says["web_accessible_resources"] == [
        {"resources": ["frame.html"], "matches": ["https://*/*"], "use_dynamic_url": True}
    ]
    assert "externally_connectable" not in says


def test_firefox_is_told_what_leaves_the_browser() -> None:
    (gecko,) = manifest("firefox")["browser_specific_settings"].values()
    assert gecko["data_collection_permissions"] == {"required": ["websiteContent", "browsingActivity"]}


def test_each_browser_is_new_enough_for_what_is_used() -> None:
    chrome, firefox = map(manifest, BROWSERS)
    assert chrome["minimum_chrome_version"] == "137"
    assert firefox["browser_specific_settings"]["gecko"]["strict_min_version"] == "146.0"
    assert [one["manifest_version"] for one in (chrome, firefox)] == [3, 3]
    readme = " ".join((EXTENSION / "README.md").read_text().split())
    assert "Chrome (137 and later) and Firefox (146 and later), Manifest V3" in readme


@pytest.mark.requirement("2.2-01")
def test_both_are_one_extension() -> None:
    """All else is the same, so what is proved of one in a browser holds for the other.

    2.2-01: Chrome and Firefox from one source.
    """
    chrome, firefox = map(manifest, BROWSERS)
    assert set(chrome) == COMMON | {"minimum_chrome_version"}
    assert set(firefox) == COMMON | {"browser_specific_settings"}
    differing = {name for name in COMMON if chrome[name] != firefox[name]}
    assert differing == {"background", "permissions"}
    assert chrome["background"] == {"type": "module", "service_worker": "background.js"}
    assert firefox["background"] == {"type": "module", "scripts": ["background.js"]}


@pytest.mark.parametrize("browser", BROWSERS)
def test_each_part_is_built_without_what_only_others_do(browser: str) -> None:
    """A page's readers are in the content script alone, and the worker starts without what draws pages."""
    built = EXTENSION / ".output" / f"{browser}-mv3"
    scripts = {file.relative_to(built).as_posix(): file.read_text() for file in built.rglob("*.js")}
    reading = {name for name, code in scripts.items() if "mw-parser-output" in code}
    drawing = {name for name, code in scripts.items() if "https://svelte.dev/" in code}
    assert reading == {"content-scripts/content.js"}
    assert drawing
    loaded = {"background.js", *(f"chunks/{name}" for name in IMPORTED.findall(scripts["background.js"]))}
    assert len(loaded) > 1
    assert not loaded & drawing
    assert not any(IMPORTED.search(scripts[name]) for name in loaded - {"background.js"})
