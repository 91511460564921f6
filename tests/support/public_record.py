"""A small public record as the log tells it: every site, wrong sentences, an edit, a retry, a demonstration.

Texts are our own. Each wrong one is a misconception that everybody can look up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from pydantic import JsonValue

from contracts.v1 import Event, InvestigationCompleted, InvestigationDrafted, InvestigationStarted
from contracts.v1 import ids as derived
from contracts.v1.parts import Author, ClaimPayload, ModelName, Prompt, PublishedClaim, Source, TextRef, Usage
from tests.unit.projector.histories import PROMPT, TRANSCRIPT, Page, Tape, inline

DEMO = ModelName(provider="demo", model="demo-catalogue", version="2026-01")
REAL = ModelName(provider="openai", model="gpt-5.4", version="gpt-5.4-2026-08-01")


@dataclass(frozen=True)
class Finding:
    """One wrong sentence of a post and why it is wrong."""

    quote: str
    summary: str
    reasoning: str = (
        "The sources say so *plainly*:\n\n- one measured it\n- one explains it\n\nSo the statement is wrong."
    )
    sources: tuple[Source, ...] = (
        Source(url="https://encyclopedia.example/wiki/Article", title="An encyclopedia", snippet="It is not so."),
    )


class Article(Page):
    """A post with findings of its own."""

    def __init__(
        self,
        external_id: str,
        text: str,
        *findings: Finding,
        platform: str = "WIKIPEDIA",
        title: str | None = None,
        author: str = "Ada Example",
        url: str | None = None,
        model: ModelName = REAL,
        verified: bool = True,
        markdown: str | None = None,
    ) -> None:
        super().__init__(
            external_id, text, platform=platform, provenance="SERVER_VERIFIED" if verified else "CLIENT_FALLBACK"
        )
        self.findings, self.title, self.model, self.markdown = findings, title, model, markdown
        self.author = Author(platform_user_id=f"u-{author}", display_name=author)
        self.url = url or f"https://site.example/{external_id}"

    @property
    def metadata(self) -> dict[str, JsonValue]:
        """What the reader's browser tells, with the post's own title."""
        told = super().metadata
        if self.title and "title" in told:
            told = told | {"title": self.title}
        return told

    def claim(self, number: int) -> tuple[UUID, ClaimPayload]:
        found = self.findings[number] if number < len(self.findings) else Finding(f"Not in the text {number}.", "No.")
        at = self.text.find(found.quote)
        context = self.text[max(0, at - 60) : at + len(found.quote) + 60] if at >= 0 else found.quote
        payload = ClaimPayload(
            text=found.quote,
            context=context,
            summary=found.summary,
            reasoning=found.reasoning,
            sources=found.sources,
        )
        return derived.claim_id(self.investigation_id, payload.text, payload.context), payload

    def started(self, attempt: int = 1, *, parent: Page | None = None, prompt: Prompt = PROMPT) -> InvestigationStarted:
        event = super().started(attempt, parent=parent, prompt=prompt)
        given = event.input
        if self.markdown is not None and given.markdown is not None:
            given = given.model_copy(update={"markdown": inline(self.markdown)})
        return event.model_copy(update={"model": self.model, "input": given})

    def drafted(self, claims: int = 0, attempt: int = 1, transcript: TextRef = TRANSCRIPT) -> InvestigationDrafted:
        return InvestigationDrafted(
            investigation_id=self.investigation_id,
            attempt=attempt,
            claim_ids=tuple(self.claim(number)[0] for number in range(claims)),
            model=self.model,
            usage=Usage(
                input_tokens=9_120,
                output_tokens=840,
                total_tokens=9_960,
                cost_micro_usd=None if self.model is DEMO else 31_400 + 1_700 * (len(self.text) % 9),
            ),
            transcript=TRANSCRIPT,
        )

    def completed(self, claims: Sequence[int] = (), attempt: int = 1) -> InvestigationCompleted:
        event = super().completed(claims, attempt)
        published = tuple(PublishedClaim(claim_id=claim, payload=each) for claim, each in map(self.claim, claims))
        return event.model_copy(update={"model": self.model, "claims": published})

    def run(self, *, rejected: int = 0, retried: bool = False) -> tuple[Event, ...]:
        """A whole run: every finding passes, and so many other candidates do not."""
        found = range(len(self.findings))
        others = range(len(self.findings), len(self.findings) + rejected)
        attempt = 2 if retried else 1
        first = (self.started(), self.retry()) if retried else ()
        return (
            self.requested(),
            *first,
            self.started(attempt),
            *(self.proposed(n, attempt) for n in (*found, *others)),
            self.drafted(len(found) + len(others), attempt),
            *(self.approved(n) for n in found),
            *(self.rejected(n) for n in others),
            self.completed(tuple(found), attempt),
        )


MOON = Article(
    "en:9316",
    "The Great Wall of China is a series of fortifications in northern China. Several walls were built "
    "from as early as "
    "the 7th century BC, and the best known sections date from the Ming dynasty. The Great Wall of China "
    "is visible from "
    "the Moon with the naked eye. It is also the only man-made structure that has this distinction. The "
    "defensive works "
    "were built of rammed earth, stone and wood, and later of brick. Soldiers used beacon towers to send signals. "
    "Tourists visit it all year round, and parts of it have been restored several times.",
    Finding(
        "The Great Wall of China is visible from the Moon with the naked eye.",
        "From the Moon, about 384,000 km away, no structure made by people can be seen with the naked eye.",
        "At that distance the wall, a few metres wide, would have to be told from a strip **far thinner** than any eye "
        "can resolve. Astronauts who were there [said so](https://space.example/interviews):\n\n> No "
        "man-made object is "
        "visible at this scale.\n\n1. Distance: about 384,000 km\n2. Width: 5 to 8 m\n\n<script>alert(1)</script>",
        (
            Source(
                url="https://space.example/great-wall",
                title="Is the Great Wall visible from space?",
                snippet="The wall cannot be seen from the Moon, and hardly from low orbit, without aid.",
            ),
            Source(
                url="https://encyclopedia.example/wiki/Great_Wall",
                title="Great Wall of China – Encyclopedia",
                snippet="The claim that it is visible from the Moon has been refuted many times.",
            ),
        ),
    ),
    Finding(
        "It is also the only man-made structure that has this distinction.",
        "No structure has it: nothing made by people is visible to the naked eye from the Moon.",
    ),
    title="Great Wall of China",
    author="Wikipedia contributors",
    url="https://en.wikipedia.org/w/index.php?title=Great_Wall_of_China&oldid=70",
    markdown="# Great Wall of China\n\nThe [Great Wall](x) of China is a series of fortifications in northern China."
    "\n\nThe Great Wall of China is visible from the Moon\n\nThe defensive works were built of rammed earth",
)
TWEET = Article(
    "1790000000000000001",
    "Reminder: humans use only 10 percent of their brains. Imagine what you could do with the rest.",
    Finding(
        "humans use only 10 percent of their brains.",
        "People use virtually all of the brain; imaging shows no large part of it lying idle.",
    ),
    platform="X",
    author="daily wonders",
    url="https://x.com/dailywonders/status/1790000000000000001",
    verified=False,
)
ESSAY = Article(
    "s-77",
    "I have been thinking about attention. A goldfish can only remember things for three seconds, and yet it thrives. "
    "We, on the other hand, keep everything and enjoy nothing. This is my opinion and nobody has to share it.",
    Finding(
        "A goldfish can only remember things for three seconds",
        "Goldfish remember for months; they have been trained to respond to sounds and colours.",
    ),
    platform="SUBSTACK",
    title="Notes on attention",
    author="Grace Writer",
    url="https://grace.substack.com/p/notes-on-attention",
    model=DEMO,
)
CLEAN = Article(
    "lw-5",
    "Bayes' theorem relates conditional probabilities. Nothing in this post is wrong, and much of it is opinion.",
    platform="LESSWRONG",
    title="A short introduction to Bayes",
    author="Emmy Reader",
    url="https://www.lesswrong.com/posts/lw5/bayes",
)
OLD = Article(
    "en:555",
    "Lightning never strikes the same place twice. Thunder is the sound of the air that it heats. "
    "People have feared both for a long time.",
    Finding(
        "Lightning never strikes the same place twice.", "It often does; tall towers are struck many times a year."
    ),
    title="Lightning",
    author="Wikipedia contributors",
    url="https://en.wikipedia.org/wiki/Lightning",
)
EDITED = Article(
    "en:555",
    "Lightning can strike the same place many times. Thunder is the sound of the air that it heats. "
    "People have feared both for a very long time.",
    title="Lightning",
    author="Wikipedia contributors",
    url="https://en.wikipedia.org/wiki/Lightning",
)
HOSTILE = Article(
    "666",
    '<script>alert("post")</script> The earth is \u202eflat\u202c & "round". \u05d4\u05d0\u05e8\u05e5 '
    "\u05e9\u05d8\u05d5"
    "\u05d7\u05d4. </p><img src=x onerror=alert(1)> " + "Words without an end. " * 2_000,
    Finding(
        'The earth is \u202eflat\u202c & "round".',
        '<img src=x onerror="alert(1)"> It is an oblate spheroid. \u0008',
        "<script>alert(2)</script> [link](javascript:alert(3)) ![x](https://img.example/x.png) <b "
        "onclick=x>bold</b>\n\n"
        "# Not a heading of ours\n\n<style>*{display:none}</style>",
        (Source(url="javascript:alert(4)", title="</a><script>", snippet="<b>so</b>"),),
    ),
    platform="X",
    author="</title><script>alert(5)</script>",
    url="javascript:alert(6)",
    verified=False,
)
EVERYTHING = (MOON, TWEET, ESSAY, CLEAN, OLD, EDITED, HOSTILE)


def public_record() -> tuple[Tape, Tape]:
    """Both streams."""
    errata, views = Tape(), Tape("VIEWS")
    for article in (HOSTILE, CLEAN, OLD):
        errata.add(article.registered(), *article.run())
        errata.now += timedelta(days=9)
    errata.add(EDITED.registered(), *EDITED.run())
    errata.now += timedelta(days=3)
    errata.add(TWEET.unavailable("first"), TWEET.registered())
    errata.add(*TWEET.run(rejected=1))
    errata.now += timedelta(hours=7)
    errata.add(ESSAY.registered(), *ESSAY.run())
    errata.now += timedelta(hours=20)
    errata.add(MOON.registered(), MOON.seen("later"), *MOON.run(rejected=2, retried=True))
    for reporter in ("one", "two", "three"):
        views.add(TWEET.viewed(reporter, reporter=reporter))
    for network in ("m", "n", "o"):
        views.add(HOSTILE.viewed(network, network=network))
    return errata, views
