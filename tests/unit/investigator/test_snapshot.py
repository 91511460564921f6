"""What a run looks at: which HTML counts, how it becomes Markdown once, and when there is none."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from contracts.v1 import InvestigationStarted, VersionSeen, VersionVerified
from contracts.v1.parts import ImageOccurrence, InvestigationInput, PostRef, Provenance, TextRef
from contracts.v1.version import VersionEvent
from kit.blob_settings import BlobMissing
from platforms.markdown import RENDERER_VERSION
from services.investigator.snapshot import add_markdown, choose_snapshot
from tests.support.factories import QUOTE, TEXT, URL, VERSION_ID, requested, text_ref
from tests.support.fakes import MemoryLog, MemoryTexts, ScriptedModel, StillClock, handled, investigator_over, transient
from tests.support.loop import rounds_during
from tests.support.versions import later, registered, sighting

SITE_HTML = f"<h2>Some history.</h2><p>{TEXT.removeprefix('Some history. ')}</p>"
READER_HTML = f"<blockquote>{TEXT}</blockquote>"
WITH_PICTURE = TEXT.replace(QUOTE, f"{QUOTE}<img src='/a.png'>")
PICTURE = ImageOccurrence(original_index=0, normalized_text_offset=0, source_url="https://www.lesswrong.com/a.png")


class VersionLog(MemoryLog):
    """A log that answers for versions from their facts, as the real one does."""

    def __init__(self, texts: MemoryTexts, *facts: VersionEvent) -> None:
        super().__init__(requested())
        self.facts = list(facts)
        self._texts = texts

    async def snapshot(self, version_id: UUID) -> InvestigationInput | None:
        snapshot = choose_snapshot([fact for fact in self.facts if fact.version_id == version_id])
        return None if snapshot is None else await add_markdown(snapshot, self._texts)


async def taken(*facts: VersionEvent, texts: MemoryTexts | None = None) -> InvestigationInput:
    """The input of a run over these facts."""
    found = await VersionLog(texts or MemoryTexts(), *facts).snapshot(VERSION_ID)
    assert found is not None
    return found


def _said_of(author: str, day: str) -> dict[str, Any]:
    return {"author": {"platform_user_id": author, "display_name": author}, "metadata": {"published_at": day}}


def test_a_version_that_nobody_registered_is_not_known() -> None:
    assert choose_snapshot([]) is None
    assert choose_snapshot([later(VersionSeen, sighting(), "CLIENT_FALLBACK")]) is None


@pytest.mark.requirement("2.4.4-01")
async def test_the_site_s_html_counts_once_the_version_is_verified() -> None:
    """2.4.4-01: One section of content, as Markdown where there is HTML."""
    both = sighting(site=SITE_HTML, reader=READER_HTML)
    verified = await taken(registered(both, "SERVER_VERIFIED"))
    assert verified.markdown is not None
    assert verified.markdown.inline == f"## Some history.\n\n{TEXT.removeprefix('Some history. ')}"
    assert (verified.markdown_source, verified.markdown_renderer_version, verified.image_marker) == (
        "SERVER_HTML",
        RENDERER_VERSION,
        "IMAGE",
    )
    unverified = await taken(registered(sighting(reader=READER_HTML)))
    assert unverified.markdown is not None
    assert (unverified.markdown_source, unverified.markdown.inline) == ("CLIENT_HTML", f"> {TEXT}")


@pytest.mark.parametrize("confirmed", [True, None])
async def test_no_reader_changes_what_the_site_has_said_of_a_post(confirmed: bool | None) -> None:
    """The gates judge by address, author and day: a reader's later word would let a wrong correction through."""
    said = _said_of("Ada", "2020-01-01T00:00:00Z")
    forged = _said_of("Eve", "2026-01-01T00:00:00Z")
    first = registered(sighting(1, site=SITE_HTML, site_confirmed=confirmed, **said), "SERVER_VERIFIED")
    unseen = sighting(2, reader=READER_HTML, site_confirmed=confirmed and False, url="https://evil.example/", **forged)
    found = await taken(first, later(VersionSeen, unseen, "SERVER_VERIFIED"))
    assert (found.url, found.author_name, found.published_at and found.published_at.year) == (URL, "Ada", 2020)
    newest = sighting(3, site=SITE_HTML, site_confirmed=confirmed, **forged)
    again = await taken(first, later(VersionSeen, newest, "SERVER_VERIFIED"))
    assert again.author_name == "Eve"
    only_readers = await taken(
        registered(sighting(4, reader=READER_HTML)), later(VersionSeen, unseen, "CLIENT_FALLBACK")
    )
    assert only_readers.author_name == "Eve"


async def test_of_readers_html_the_first_counts_and_of_the_site_s_the_latest() -> None:
    first = registered(sighting(1, reader=READER_HTML))
    second = later(VersionSeen, sighting(2, reader=f"<h1>{TEXT}</h1>"), "CLIENT_FALLBACK")
    assert (await taken(first, second)).markdown == text_ref(f"> {TEXT}")
    verified = later(VersionVerified, sighting(3, site=f"<p>{TEXT}</p>"), "SERVER_VERIFIED")
    again = later(VersionSeen, sighting(4, site=SITE_HTML), "SERVER_VERIFIED")
    reader_only = later(VersionSeen, sighting(5, reader=READER_HTML), "SERVER_VERIFIED")
    assert (await taken(first, verified)).markdown == text_ref(TEXT)
    assert (await taken(first, verified, again)).markdown == (await taken(first, verified, reader_only, again)).markdown
    assert (await taken(first, verified, reader_only)).markdown == text_ref(TEXT)


@pytest.mark.requirement("2.4.4-02")
async def test_without_html_that_can_be_used_the_model_gets_plain_text() -> None:
    """2.4.4-02: Flat text where there is no HTML."""
    x = PostRef(platform="X", external_id="1")
    deep = "<div>" * 50_000
    for fact in (
        registered(sighting(), post=x),
        registered(sighting(reader=READER_HTML), "SERVER_VERIFIED"),
        registered(sighting(reader="<p>Another text.</p>")),
        registered(sighting(reader=deep)),
        registered(sighting(reader=READER_HTML), post=PostRef(platform="GAZETTE", external_id="1")),
    ):
        plain = await taken(fact)
        assert (plain.markdown_source, plain.markdown, plain.markdown_renderer_version) == ("NONE", None, None)
        assert (plain.image_marker, plain.content) == (None, fact.content)


class Forgetful(MemoryTexts):
    """The store has lost everything that does not travel inside events."""

    async def get_text(self, ref: TextRef) -> str:
        if ref.inline is None:
            raise BlobMissing(ref.sha256)
        return ref.inline


async def test_html_that_is_gone_is_no_reason_to_fail() -> None:
    gone = sighting(client_html=TextRef(sha256="0" * 64, size_bytes=1))
    assert (await taken(registered(gone), texts=Forgetful())).markdown_source == "NONE"


@pytest.mark.requirement("2.4.4-01")
async def test_pictures_stand_in_markdown_under_their_own_number() -> None:
    """2.4.4-01: One section of content, as Markdown where there is HTML."""
    marked = await taken(registered(sighting(reader=f"<p>{WITH_PICTURE}</p>"), occurrences=(PICTURE,)))
    assert marked.markdown == text_ref(TEXT.replace(QUOTE, f"{QUOTE}[IMAGE:0]"))


@pytest.mark.requirement("2.4-04")
@pytest.mark.parametrize("provenance", ["SERVER_VERIFIED", "CLIENT_FALLBACK"])
async def test_a_video_in_the_html_is_part_of_what_the_model_is_given(provenance: Provenance) -> None:
    """2.4-04: video is not analysed; the model is given the fact that there is one.

    2.4-04: Video not analysed.
    """
    html = f"<p>{TEXT}</p><video></video>"
    snapshot = sighting(site=html) if provenance == "SERVER_VERIFIED" else sighting(reader=html)
    assert (await taken(registered(snapshot, provenance))).has_video
    assert not (await taken(registered(sighting(reader=READER_HTML)))).has_video


async def test_long_pages_become_long_markdown_in_the_store() -> None:
    texts = MemoryTexts()
    html = f"<p>{'word ' * 5_000}</p>"
    long = await taken(registered(sighting(reader=html), text=("word " * 5_000).strip()), texts=texts)
    assert long.markdown is not None
    assert long.markdown.inline is None
    assert await texts.get_text(long.markdown) == ("word " * 5_000).strip()


async def test_others_go_on_while_markdown_is_written() -> None:
    words = "word " * 20_000
    long = registered(sighting(reader=f"<p>{words.replace(' ', ' <b></b>')}</p>"), text=words.strip())
    assert await rounds_during(taken(long)) > 100


@pytest.mark.requirement("2.4.4-01", "2.4.4-03", "2.4.4-04")
async def test_the_first_attempt_freezes_markdown_and_later_ones_use_it() -> None:
    """2.4.4-01: One section of content, as Markdown where there is HTML.
    2.4.4-03: The input is frozen and reused by later attempts.
    2.4.4-04: The input is frozen when the first attempt starts.
    """
    texts = MemoryTexts(inline_bytes=20)
    log = VersionLog(texts, registered(sighting(site=SITE_HTML), "SERVER_VERIFIED"))
    model = ScriptedModel(([transient()], []))
    clock = StillClock()
    investigator = investigator_over(log, texts, model, clock=clock)
    await handled(investigator.on_investigation_requested(requested(), 1), log, clock)
    log.facts.append(later(VersionSeen, sighting(2, site=f"<p>{TEXT}</p>"), "SERVER_VERIFIED"))
    await handled(investigator.on_investigation_requested(requested(), 2), log)
    inputs = [event.input for event in log.events if isinstance(event, InvestigationStarted)]
    assert len(inputs) == 2
    assert inputs[0] == inputs[1]
    assert inputs[0].markdown_source == "SERVER_HTML"
    assert len(model.briefs) == 2
    assert model.briefs[0].parts == model.briefs[1].parts
    assert "## Some history." in "".join(part for part in model.briefs[0].parts if isinstance(part, str))


@pytest.mark.requirement("2.4.4-02")
async def test_the_model_reads_plain_text_where_there_is_no_html() -> None:
    """2.4.4-02: Flat text where there is no HTML."""
    texts = MemoryTexts()
    log = VersionLog(texts, registered(sighting(), post=PostRef(platform="X", external_id="1")))
    model = ScriptedModel(([],))
    investigator = investigator_over(log, texts, model)
    await handled(investigator.on_investigation_requested(requested(), 1), log)
    said = "".join(part for part in model.briefs[0].parts if isinstance(part, str))
    assert TEXT in said
    assert "plain text" in said
