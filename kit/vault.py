"""Readers' own API keys: sealed, short-lived, gone when the run ends, never inside an event, a log or the database.

AES-256-GCM with the ids of investigation and attachment as associated data, so a sealed key cannot be moved to another
run. Several master keys may be known; the first seals, all open, so a master key can be changed without losing running
investigations.

A key is kept before its run is asked for, under a name of its own, the attachment, that only its owner's request holds.
So a key whose request was never told is used by nobody: whoever asks later names another.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass
from hashlib import sha256
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from contracts.topology import USER_KEYS
from kit.bus import Bus
from kit.kv import Bucket

NONCE_BYTES = 12
KEY_BYTES = 32


class KeyUnusable(LookupError):
    """There is no key for this run any more, or it cannot be opened."""


@dataclass(frozen=True)
class MasterKey:
    """32 random bytes, named by the start of their own hash."""

    secret: bytes

    @property
    def key_id(self) -> str:
        """A name that tells nothing about the key."""
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
    def generate(cls) -> MasterKey:
        """A new random key."""
        return cls(os.urandom(KEY_BYTES))

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(self.secret).decode().rstrip("=")

    def __repr__(self) -> str:
        return f"MasterKey({self.key_id})"


def seal(master: MasterKey, subject: bytes, plaintext: str) -> bytes:
    """Encrypt for one subject: key id (16 ASCII), nonce, ciphertext with tag."""
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
        """Keep a key for a run; False if one is there by this name."""
        sealed = seal(self._masters[0], _subject(investigation, attachment), api_key)
        return await (await Bucket.open(self._bus, USER_KEYS)).create(_entry(investigation, attachment), sealed)

    async def open(self, investigation: UUID, attachment: UUID | None) -> str:
        """The key of a run.

        Raises: KeyUnusable: expired, gone or not to be opened.
        """
        sealed = await (await Bucket.open(self._bus, USER_KEYS)).get(_entry(investigation, attachment))
        if sealed is None:
            raise KeyUnusable("the user's key has expired")
        return unseal(self._masters, _subject(investigation, attachment), sealed)

    async def discard(self, investigation: UUID, attachment: UUID | None) -> None:
        """Forget the key of a run that is over."""
        await (await Bucket.open(self._bus, USER_KEYS)).purge(_entry(investigation, attachment))


def _entry(investigation: UUID, attachment: UUID | None) -> str:
    return str(investigation) if attachment is None else f"{investigation}.{attachment}"


def _subject(investigation: UUID, attachment: UUID | None) -> bytes:
    return investigation.bytes + (attachment.bytes if attachment else b"")
