"""A model's answers, recorded once and replayed without network, key or cost.

A recording belongs to a model and to all that it was asked: instructions, message, tools and the shape of the answer.
If any of it changes, it is missing, and a missing recording is a failure and never a pass.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from hashlib import sha256
from pathlib import Path
from typing import Final

from pydantic import SecretStr, TypeAdapter

from analyses.evidence import Evidence
from contracts.transcript import Transcript
from contracts.v1.parts import ModelName, Source
from kit.documents.readable import Readable
from kit.models.base import (
    AnswerT,
    Brief,
    Checkpoint,
    Decision,
    DecisionT,
    Finished,
    KeyRefused,
    KeyStatus,
    Model,
    ModelError,
)
from kit.models.recording import describe_parts
from kit.models.replay import ReplayModel
from kit.sources import Page, PageUnavailable
from services.auditor.evidence import Pages
from services.validator.ports import Sources

_EVIDENCE: Final = TypeAdapter(Evidence)
_PAGE: Final = TypeAdapter[Page[Readable] | PageUnavailable](Page[Readable] | PageUnavailable)


class MissingRecording(Exception):
    """A page that was not looked up when the run was recorded."""


class RecordingModel:
    """A model whose finished conversations are stored in `folder`, which is of one model."""

    def __init__(self, model: Model, folder: Path) -> None:
        """Raises: ValueError: the folder holds recordings of another model."""
        self._model = model
        self._folder = folder
        self.name = model.name
        self.labelled_demo = model.labelled_demo
        self.sees_pictures = model.sees_pictures
        folder.mkdir(parents=True, exist_ok=True)
        if _name_file(folder).exists() and _read_name(folder) != model.name:
            raise ValueError(f"{folder} holds recordings of {_read_name(folder).model}")
        _name_file(folder).write_text(model.name.model_dump_json(), "utf-8")

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """As the model does. Raises: ModelError."""
        async with aclosing(self._model.converse(brief, key)) as items:
            async for item in items:
                if isinstance(item, Finished):
                    _file(self._folder, hash_brief(self.name, brief)).write_bytes(item.transcript)
                yield item

    async def probe(self, key: SecretStr) -> KeyStatus:
        """As the model does."""
        return await self._model.probe(key)


class RecordedModel:
    """A model that answers from the recordings in a folder only."""

    labelled_demo = False

    def __init__(self, folder: Path, *, sees_pictures: bool = False) -> None:
        """Raises: ValueError: there are no recordings in the folder."""
        if not _name_file(folder).exists():
            raise ValueError(f"there are no recordings in {folder}")
        self._folder = folder
        self.name = _read_name(folder)
        self.sees_pictures = sees_pictures

    async def converse(
        self, brief: Brief[DecisionT, AnswerT], key: SecretStr | None = None
    ) -> AsyncGenerator[Decision[DecisionT] | Checkpoint | Finished[AnswerT], None]:
        """Replay the conversation that was begun in exactly this way. Raises: ModelError."""
        file = _file(self._folder, hash_brief(self.name, brief))
        if not file.exists():
            reason = f"There is no recording of this step, {brief.step}, with this model, prompt and input."
            raise ModelError("NON_RETRYABLE", reason, name="MissingRecording")
        replay = ReplayModel(Transcript.model_validate_json(file.read_bytes()))
        async with aclosing(replay.converse(brief)) as items:
            async for item in items:
                yield item

    async def probe(self, key: SecretStr) -> KeyStatus:
        """Refuse: there is no provider."""
        return KeyRefused("error", "A recording uses no API key.")


class RecordingSources:
    """Looks sources up and stores what was found."""

    def __init__(self, sources: Sources, folder: Path) -> None:
        self._sources = sources
        self._folder = folder

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """As the sources do."""
        found = await self._sources.check(sources)
        for source, evidence in zip(sources, found, strict=True):
            _file(self._folder, _hash_source(source)).write_bytes(_EVIDENCE.dump_json(evidence))
        return found


class RecordedSources:
    """What was found when the sources were looked up."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def check(self, sources: Sequence[Source]) -> tuple[Evidence, ...]:
        """The evidence of each. Raises: MissingRecording."""
        return tuple(self._read(source) for source in sources)

    def _read(self, source: Source) -> Evidence:
        file = _file(self._folder, _hash_source(source))
        if not file.exists():
            raise MissingRecording(f"There is no recording of the source {source.url}.")
        return _EVIDENCE.validate_json(file.read_bytes())


class RecordingPages:
    """Fetches pages and stores what was found."""

    def __init__(self, pages: Pages, folder: Path) -> None:
        self._pages = pages
        self._folder = folder

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        """As the pages do."""
        found = await self._pages.get(address)
        _file(self._folder, _hash({"page": address})).write_bytes(_PAGE.dump_json(found))
        return found


class RecordedPages:
    """The pages that were fetched when the run was recorded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def get(self, address: str) -> Page[Readable] | PageUnavailable:
        """One page. Raises: MissingRecording."""
        file = _file(self._folder, _hash({"page": address}))
        if not file.exists():
            raise MissingRecording(f"There is no recording of the page {address}.")
        return _PAGE.validate_json(file.read_bytes())


def hash_brief(model: ModelName, brief: Brief[DecisionT, AnswerT]) -> str:
    """The key of a recording: model and brief, without limits of money and time."""
    asked: dict[str, object] = {
        "model": [model.provider, model.model],
        "step": brief.step,
        "instructions": brief.instructions,
        "input": [part.model_dump(mode="json") for part in describe_parts(brief.parts)],
        "tools": [[tool.name, tool.description, tool.parameters] for tool in brief.tools],
        "research": sorted(brief.research),
        "schema": brief.schema,
        "turns": list(brief.turns),
        "sampling": list(brief.sampling),
    }
    return _hash(asked)


def _hash_source(source: Source) -> str:
    return _hash({"source": source.model_dump(mode="json")})


def _hash(document: object) -> str:
    return sha256(json.dumps(document, sort_keys=True, ensure_ascii=False).encode("utf-8", "replace")).hexdigest()


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"


def _name_file(folder: Path) -> Path:
    return _file(folder, "model")


def _read_name(folder: Path) -> ModelName:
    return ModelName.model_validate_json(_name_file(folder).read_bytes())
