"""Every site is registered once and does all that a site must."""

from __future__ import annotations

import pkgutil

import pytest

import platforms
from platforms import PLATFORMS, get_platform
from tests.unit.platforms.samples import SAMPLES


def test_every_site_has_its_file_and_its_sample() -> None:
    modules = {module.name for module in pkgutil.iter_modules(platforms.__path__)}
    names = [site.name for site in PLATFORMS]
    assert len(set(names)) == len(names)
    assert {name.lower() for name in names} <= modules
    assert set(names) == set(SAMPLES)


@pytest.mark.requirement("2.1-01", "2.1-02", "2.1-03", "2.1-04")
@pytest.mark.parametrize("name", SAMPLES)
def test_a_good_observation_is_accepted(name: str) -> None:
    """2.1-01: LessWrong posts supported.
    2.1-02: X posts supported.
    2.1-03: Substack posts supported, on domains of their own too.
    2.1-04: Wikipedia supported, all languages.
    """
    sample = SAMPLES[name]
    post = get_platform(name).check(sample.url, sample.external_id, sample.metadata)
    assert (post.platform, post.external_id) == (name, sample.external_id)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_site_reads_html_without_scripts(name: str) -> None:
    assert get_platform(name).extract_text("<p>a</p><script>b</script><p>c</p>") == "a c"


def test_an_unknown_site_is_an_error() -> None:
    with pytest.raises(KeyError):
        get_platform("GAZETTE")
