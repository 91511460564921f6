"""Readers' own API keys: sealed, short-lived, deleted when the run ends, never in an event, a log or the database.

AES-256-GCM with the ids of investigation and attachment as associated data, so a sealed key cannot be moved to another
run. There may be several master keys; the first seals, all open, so a master key can be changed without losing running
investigations.

A key is stored before its run is requested, under the id of an attachment that only this request names. So a key is
never used if its request was not published.
"""

from __future__ import annotations

import base64
import os
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from contracts.topology import USER_KEYS
from kit.bus import Bus
from kit.kv import Bucket

NONCE_BYTES = 12
KEY_BYTES = 32


class KeyUnusable(LookupError):
    """The key of this run has expired or cannot be opened."""


@dataclass(frozen=True)
class MasterKey:
    """32 random bytes, named by the start of their own hash."""

    secret: bytes

    @property
    def key_id(self) -> str:
        """A name that reveals nothing about the key."""
        return sha256(b"openerrata-master-key:" + self.secret).hexdigest()[:16]

    @classmethod
    def parse(cls, text: str) -> MasterKey:
        """Read a key written as base64.

        Raises: ValueError: it is not 32 bytes.
        """
        secret = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if len(secret) != KEY_BYTES:
            raise ValueError(f"a master key has {KEY_BYTES} bytes, this one has {len(secret)}")
        return cls(secret)

    @classmethod
    def of_file(cls, file: Path) -> MasterKey:
        """The key in a file, which is created when missing; of two writers the first wins.

        Raises: ValueError: the file has no valid key.
        """
        if not file.exists():
            file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with NamedTemporaryFile("w", dir=file.parent) as draft:  # readable by its owner only
                draft.write(str(cls.generate()))
                draft.flush()
                with suppress(FileExistsError):
                    os.link(draft.name, file)
        return cls.parse(file.read_text().strip())

    @classmethod
    def generate(cls) -> MasterKey:
        """A new random key."""
        return cls(os.urandom(KEY_BYTES))

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self.secret).decode().rstrip("=")

    def __repr__(self) -> str:
        return f"MasterKey({self.key_id})"


def seal(master: MasterKey, subject: bytes, plaintext: str) -> bytes:
    """Encrypt for one subject. Shapes: key id (16 ASCII characters), nonce, ciphertext with tag."""
    nonce = os.urandom(NONCE_BYTES)
    return master.key_id.encode() + nonce + AESGCM(master.secret).encrypt(nonce, plaintext.encode(), subject)


def unseal(masters: tuple[MasterKey, ...], subject: bytes, sealed: bytes) -> str:
    """Decrypt what `seal` made.

    Raises: KeyUnusable: unknown master key, altered bytes, or another subject.
    """
    key_id, nonce, ciphertext = sealed[:16].decode("ascii", "replace"), sealed[16:28], sealed[28:]
    for master in masters:
        if master.key_id == key_id:
            try:
                return AESGCM(master.secret).decrypt(nonce, ciphertext, subject).decode()
            except (InvalidTag, ValueError):  # ValueError: too short to hold a nonce
                break
    raise KeyUnusable("the user's key cannot be opened")


class UserKeys:
    """Sealed keys in a bucket whose entries expire by themselves."""

    def __init__(self, bus: Bus, masters: tuple[MasterKey, ...]) -> None:
        self._bus = bus
        self._masters = masters

    async def attach(self, investigation: UUID, attachment: UUID | None, api_key: str) -> bool:
        """Store a key for a run; return False if the run has one already."""
        sealed = seal(self._masters[0], _subject(investigation, attachment), api_key)
        return await (await Bucket.open(self._bus, USER_KEYS)).create(_entry(investigation, attachment), sealed)

    async def open(self, investigation: UUID, attachment: UUID | None) -> str:
        """The key of a run.

        Raises: KeyUnusable: it expired, was deleted or cannot be opened.
        """
        sealed = await (await Bucket.open(self._bus, USER_KEYS)).get(_entry(investigation, attachment))
        if sealed is None:
            raise KeyUnusable("the user's key has expired")
        return unseal(self._masters, _subject(investigation, attachment), sealed)

    async def discard(self, investigation: UUID, attachment: UUID | None) -> None:
        """Delete the key of a run that is over."""
        await (await Bucket.open(self._bus, USER_KEYS)).purge(_entry(investigation, attachment))


def _entry(investigation: UUID, attachment: UUID | None) -> str:
    return str(investigation) if attachment is None else f"{investigation}.{attachment}"


def _subject(investigation: UUID, attachment: UUID | None) -> bytes:
    return investigation.bytes + (attachment.bytes if attachment else b"")
