"""A run whose model says again, wherever it can, what it submitted and what was rejected."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from contracts.transcript import MessageText
from contracts.v1 import Event
from contracts.v1.parts import TextRef
from tests.support import transcripts
from tests.support.public_record import Article, Finding
from tests.unit.projector.histories import inline

QUOTE = "Owls can turn their heads by two hundred and seventy degrees."
NEVER_SAID = "Owls have seventeen eyelids on each eye."
BESIDE = "Their ears are set at different heights."
"""A sentence of the post that nobody submitted: where the post is shown, it is as often as what was submitted."""
WRONG = "Owls cannot see anything by day."
REBUTTALS = ("No owl turns its head as far as that", "No bird has so many lids")
POST = Article(
    "en:8",
    f"{QUOTE} {BESIDE} Some of them live in holes that others have made, and many fly without a sound. {WRONG}",
    Finding(WRONG, "Owls see well by day."),
    Finding(QUOTE, f"{REBUTTALS[0]}."),
    Finding(NEVER_SAID, f"{REBUTTALS[1]}."),
    title="Owls",
)


def function_call(name: str, **arguments: object) -> dict[str, Any]:
    return {"type": "function_call", "call_id": f"c-{name}", "name": name, "arguments": json.dumps(arguments)}


def exchanged(post: Article, *repeated: str) -> TextRef:
    """A transcript in which the model says these sentences again wherever it can."""
    cited = [
        {"type": "url_citation", "start_index": 0, "end_index": 1, "url": f"https://e.example/{n}", "title": title}
        for n, title in enumerate(("Owls of the world", "Owls of the world", *repeated))
    ]
    thoughts = [f"Is it so? {each} I doubt it." for each in (*repeated, "About the rest.")]
    output = [
        {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": each} for each in thoughts]},
        {"type": "web_search_call", "id": "s0", "status": "completed", "action": {"query": "owl eyesight"}},
        *(
            {"type": "web_search_call", "id": f"s{n}", "status": "completed", "action": {"query": f'true? "{each}"'}}
            for n, each in enumerate(repeated, 1)
        ),
        *(function_call("fetch_url", url=f"https://s.example/?q={quote(each)}") for each in repeated),
        *(function_call("submit_correction", **post.claim(n)[1].model_dump()) for n in range(1 + len(repeated))),
        *(function_call("submit_corrections", text=each) for each in repeated),
        {
            "type": "message",
            "id": "m",
            "status": "completed",
            "content": [{"type": "output_text", "text": " ".join(("I am done.", *repeated)), "annotations": cited}],
        },
    ]
    return inline(transcripts.run(output=output, input=(MessageText(text=f"Article:\n{post.text}"),)))


def run_of(post: Article, *repeated: str) -> tuple[Event, ...]:
    """A run whose first candidate is published and whose others are rejected, told by facts that repeat them."""
    said = " ".join(repeated) or "busy"
    others = range(1, 1 + len(repeated))
    return (
        post.registered(),
        post.requested(),
        post.started(),
        post.retry().model_copy(update={"reason": f"The provider answered 400: {said}"}),
        post.started(2),
        *(post.proposed(n, 2) for n in (0, *others)),
        post.drafted(1 + len(repeated), 2).model_copy(update={"transcript": exchanged(post, *repeated)}),
        *(post.tried(n).model_copy(update={"reason": f"It was about: {said}"}) for n in (0, *others)),
        *(post.rejected(n).model_copy(update={"reason": f"“{said}” is right"}) for n in others),
        post.approved(0),
        post.completed([0], 2),
    )
