"""Policies: whose signatures and cosignatures make a checkpoint valid (C2SP tlog-policy)."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Final

from tlog.checkpoint import Checkpoint
from tlog.encoding import parse_decimal
from tlog.errors import MalformedError, QuorumError, SignatureError
from tlog.keys import Algorithm, Verified, VerifierKey, verify_note
from tlog.note import Note

NONE: Final = "none"
"""The quorum that needs no cosignature."""
MAX_BYTES: Final = 250_000

_LOG: Final = (Algorithm.ED25519, Algorithm.ML_DSA_44)
_WITNESS: Final = (Algorithm.COSIGNATURE, Algorithm.ML_DSA_44)


@dataclass(frozen=True, slots=True)
class Log:
    """A log that is accepted. The name of its key is its origin."""

    key: VerifierKey
    url: str | None = None

    def __str__(self) -> str:
        """The log's line in a policy."""
        return _line("log", str(self.key), self.url)


@dataclass(frozen=True, slots=True)
class Witness:
    """A witness, with its name in this policy."""

    name: str
    key: VerifierKey
    url: str | None = None

    def __str__(self) -> str:
        """The witness's line in a policy."""
        return _line("witness", self.name, str(self.key), self.url)


@dataclass(frozen=True, slots=True)
class Group:
    """Witnesses and groups of which at least `threshold` must have cosigned."""

    name: str
    threshold: int
    members: tuple[str, ...]

    def __str__(self) -> str:
        """The group's line in a policy."""
        return _line("group", self.name, str(self.threshold), *self.members)


@dataclass(frozen=True, slots=True)
class Valid:
    """A checkpoint that satisfies a policy, with the signatures of its witnesses."""

    checkpoint: Checkpoint
    cosigned: tuple[Verified, ...]

    @property
    def cosignatures(self) -> int:
        """The number of witnesses that cosigned the checkpoint; one that signed several times counts once."""
        return len({each.key for each in self.cosigned})


@dataclass(frozen=True, slots=True)
class Policy:
    """A checkpoint is valid if any of these logs signed it and the quorum, a witness or a group, cosigned it."""

    logs: tuple[Log, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    groups: tuple[Group, ...] = ()
    quorum: str = NONE

    def __post_init__(self) -> None:
        """Raises: MalformedError: a name or key occurs twice, or a name is not defined before it is used."""
        _check_keys("log", (log.key for log in self.logs), _LOG)
        _check_keys("witness", (witness.key for witness in self.witnesses), _WITNESS)
        defined, free = {NONE}, set[str]()
        for witness in self.witnesses:
            _define(witness.name, defined)
            free.add(witness.name)
        for group in self.groups:
            for member in group.members:
                if member not in free:
                    raise MalformedError(
                        f"{member!r} is not defined before group {group.name!r}, or in a group already"
                    )
                free.remove(member)
            if not 1 <= group.threshold <= len(group.members):
                raise MalformedError(f"group {group.name!r} has {len(group.members)} members, not {group.threshold}")
            _define(group.name, defined)
            free.add(group.name)
        if self.quorum not in defined:
            raise MalformedError(f"the quorum {self.quorum!r} is not defined before it is used")

    @classmethod
    def parse(cls, data: bytes) -> Policy:
        """A policy file. Names are octets: what is not UTF-8 is kept as surrogates. Raises: MalformedError."""
        if len(data) > MAX_BYTES:
            raise MalformedError(f"a policy of more than {MAX_BYTES} bytes")
        if any((byte < 0x20 and byte not in b"\t\n") or byte == 0x7F for byte in data):
            raise MalformedError("a policy contains a control character other than tab and newline")
        if not data.endswith(b"\n"):
            raise MalformedError("each line of a policy ends in a newline")
        policy = _Reader()
        for number, line in enumerate(data.decode(errors="surrogateescape").split("\n")[:-1], start=1):
            # Only these two are white space here; a name may hold any other.
            words = [word for word in line.replace("\t", " ").split(" ") if word]
            if words and not words[0].startswith("#"):
                try:
                    policy.read(*words)
                except MalformedError as error:
                    raise MalformedError(f"line {number} of the policy: {error}") from None
        return policy.whole()

    def __bytes__(self) -> bytes:
        """The policy as a file, from which `parse` reads an equal policy."""
        lines = [*map(str, self.logs), *map(str, self.witnesses), *map(str, self.groups), f"quorum {self.quorum}", ""]
        return "\n".join(lines).encode(errors="surrogateescape")

    def is_satisfied_by(self, cosigned: Set[str]) -> bool:
        """Whether the witnesses of these names in the policy are a quorum."""
        reached = {NONE} | {witness.name for witness in self.witnesses if witness.name in cosigned}
        for group in self.groups:
            if len(reached.intersection(group.members)) >= group.threshold:
                reached.add(group.name)
        return self.quorum in reached

    def verify(self, note: Note) -> Valid:
        """The checkpoint of a note, if this policy accepts it. The caller must check the times of cosignatures.

        Raises: MalformedError, SignatureError, QuorumError.
        """
        checkpoint = Checkpoint.parse(note.text)
        logs = [log.key for log in self.logs if log.key.name == checkpoint.origin]
        if not logs:
            raise SignatureError("the policy has no log of this origin")
        verify_note(note, logs)
        names = {witness.key: witness.name for witness in self.witnesses}
        known = {(key.name, key.key_id) for key in names}
        cosignatures = tuple(each for each in note.signatures if (each.name, each.key_id) in known)
        cosigned = verify_note(Note(note.text, cosignatures), names) if cosignatures else ()
        if not self.is_satisfied_by({names[each.key] for each in cosigned}):
            raise QuorumError(f"{len(cosigned)} witnesses cosigned, which is not a quorum of the policy")
        return Valid(checkpoint, cosigned)


class _Reader:
    """The lines of a policy that were read so far."""

    def __init__(self) -> None:
        self.logs: list[Log] = []
        self.witnesses: list[Witness] = []
        self.groups: list[Group] = []
        self.quorum: str | None = None

    def read(self, *words: str) -> None:
        """Add one line. Raises: MalformedError: the line, or the policy up to it, is not valid."""
        match words:
            case ("log", vkey, *url) if len(url) <= 1:
                self.logs.append(Log(VerifierKey.parse(vkey), *url))
            case ("witness", name, vkey, *url) if len(url) <= 1:
                self.witnesses.append(Witness(name, VerifierKey.parse(vkey), *url))
            case ("group", name, threshold, *members) if members:
                number = {"all": len(members), "any": 1}.get(threshold)
                threshold_read = parse_decimal(threshold) if number is None else number
                self.groups.append(Group(name, threshold_read, tuple(members)))
            case ("quorum", name) if self.quorum is None:
                self.quorum = name
            case ("quorum", _):
                raise MalformedError("a policy has one quorum")
            case _:
                raise MalformedError(f"a {words[0]!r} line is not of this form")
        self._so_far()

    def whole(self) -> Policy:
        """The policy. Raises: MalformedError: it has no quorum."""
        if self.quorum is None:
            raise MalformedError("a policy has a quorum line")
        return self._so_far()

    def _so_far(self) -> Policy:
        return Policy(tuple(self.logs), tuple(self.witnesses), tuple(self.groups), self.quorum or NONE)


def _define(name: str, defined: set[str]) -> None:
    if name in defined:
        raise MalformedError(f"the name {name!r} is defined already")
    defined.add(name)


def _check_keys(what: str, keys: Iterable[VerifierKey], algorithms: tuple[Algorithm, ...]) -> None:
    known = set[bytes]()
    for key in keys:
        if key.algorithm not in algorithms:
            raise MalformedError(f"a {what} does not sign with 0x{key.algorithm:02x}")
        if key.public in known:
            raise MalformedError(f"the key of {what} {key.name} occurs twice")
        known.add(key.public)


def _line(*words: str | None) -> str:
    return " ".join(word for word in words if word is not None)
