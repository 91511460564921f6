"""A message as the Responses API takes it: a plain string, or words and pictures in their order.

Pictures are part of the request: at an address the provider could fetch something else than what we hashed.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from kit.models.base import Image


async def as_input(parts: Sequence[str | Image]) -> JsonValue:
    """The message to send."""
    if not has_pictures(parts):
        return join_text(parts)
    return await asyncio.to_thread(lambda: _message(parts, [_data_uri(part) for part in parts]))


def as_record(parts: Sequence[str | Image]) -> JsonValue:
    """The same message for the transcript, where a picture is named by its hash."""
    if not has_pictures(parts):
        return join_text(parts)
    return _message(parts, ["" if isinstance(part, str) else f"sha256:{part.blob.sha256}" for part in parts])


def has_pictures(parts: Sequence[str | Image]) -> bool:
    return any(isinstance(part, Image) for part in parts)


def join_text(parts: Sequence[str | Image]) -> str:
    """The text alone."""
    return "".join(part for part in parts if isinstance(part, str))


def outputs(answers: Mapping[str, str], ids: Mapping[str, str], closing: str | None = None) -> JsonValue:
    """The answers to function calls, and the closing words; `ids`: what the provider calls each of them.

    The provider stores the conversation and requires one output for each id, so calls with the same id are answered
    together.
    """
    shared: dict[str, list[str]] = {}
    for call, answer in answers.items():
        shared.setdefault(ids[call], []).append(answer)
    items: list[JsonValue] = [
        {"type": "function_call_output", "call_id": id_, "output": _merge(each)} for id_, each in shared.items()
    ]
    if closing is not None:
        items.append({"type": "message", "role": "user", "content": closing})
    return items


def _merge(answers: Sequence[str]) -> str:
    if len(answers) == 1:
        return answers[0]
    return json.dumps({"note": "Several calls came under this id. Their answers, in order:", "answers": answers})


def _message(parts: Sequence[str | Image], addresses: Sequence[str]) -> JsonValue:
    content: list[JsonValue] = [
        {"type": "input_text", "text": part}
        if isinstance(part, str)
        else {"type": "input_image", "detail": "auto", "image_url": address}
        for part, address in zip(parts, addresses, strict=True)
    ]
    return [{"type": "message", "role": "user", "content": content}]


def _data_uri(part: str | Image) -> str:
    return "" if isinstance(part, str) else f"data:{part.blob.media_type};base64,{b64encode(part.data).decode()}"
