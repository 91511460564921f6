"""API keys: which instance keys are active now, and whether a reader's own key works.

Instance keys are checked from memory, yet one that was just added works at once and one that was revoked stops within
seconds: the whole set is read again when it is old, and a key that is not in it is looked up, but not again and
again.
"""

from __future__ import annotations

from typing import Final

from contracts.rpc.status import KeyMissingOrValid, KeyRefusedOut, SettingsAnswer
from kit.addresses import ip_range_prefix
from kit.flight import SingleFlight
from services.gateway.domain import key_hash, well_formed_user_key
from services.gateway.memory import Allowance, Memory
from services.gateway.ports import Call, Caller, Clock, KeyProbe, KeyRegister, KeyVerdict, Refused

DENIALS: Final = 10_000
VALID_KEYS: Final = 10_000
VALID_S: Final = 600.0
TOO_MANY_KEYS: Final = "Too many keys were tried from this network. Please wait a minute."


class InstanceKeys:
    """The active instance keys, by hash. Units: `fresh_s` bounds how long a revoked key still works."""

    def __init__(self, register: KeyRegister, clock: Clock, *, fresh_s: float, denied_s: float) -> None:
        self._register = register
        self._clock = clock
        self._fresh_s = fresh_s
        self._active: frozenset[str] = frozenset()
        self._read_at_s: float | None = None
        self._reading: SingleFlight[str, None] = SingleFlight()
        self._denied: Memory[str, bool] = Memory(clock, capacity=DENIALS, ttl_s=denied_s)

    async def accepts(self, key_hash: str) -> bool:
        """Whether this key is active. Raises: Unavailable."""
        if self._read_at_s is None or self._clock.monotonic() - self._read_at_s >= self._fresh_s:
            await self._reading.run("all", self._read)
        if key_hash in self._active:
            return True
        if self._denied.get(key_hash):
            return False
        if await self._register.is_active(key_hash):
            self._active |= {key_hash}
            return True
        self._denied.put(key_hash, True)
        return False

    async def _read(self) -> None:
        asked_at_s = self._clock.monotonic()
        self._active = await self._register.active()
        self._read_at_s = asked_at_s


class KeyChecks:
    """Tries readers' keys on the provider, for `post.validateSettings` and before a run, so many of each network.

    A key that worked is not tried again before each run.
    """

    def __init__(self, probe: KeyProbe, clock: Clock, *, burst: int, every_s: float) -> None:
        self._probe = probe
        self._allowance = Allowance(clock, burst=burst, every_s=every_s)
        self._valid: Memory[str, bool] = Memory(clock, capacity=VALID_KEYS, ttl_s=VALID_S)

    async def require(self, caller: Caller) -> None:
        """Let a well-formed key pay for a run. A provider that cannot be asked now is no reason to refuse it.

        Raises: Refused: the provider does not accept the key, or its network tried too many.
        """
        if self._valid.get(key_hash(caller.user_key)):
            return
        verdict = await self._try(caller)
        if verdict is None:
            raise Refused("TOO_MANY_REQUESTS", TOO_MANY_KEYS)
        if verdict.status not in ("valid", "error"):
            raise Refused("UNAUTHORIZED", verdict.message or "The provider does not accept this key.")

    async def _try(self, caller: Caller) -> KeyVerdict | None:
        """None: its network has tried too many."""
        if not self._allowance.take(ip_range_prefix(caller.address)):
            return None
        verdict = await self._probe.probe(caller.user_key)
        if verdict.status == "valid":
            self._valid.put(key_hash(caller.user_key), True)
        return verdict

    async def validate(self, question: None, call: Call) -> SettingsAnswer:
        """Judge both keys; only a well-formed one is tried on the provider."""
        caller = call.caller
        accepted = caller.instance_key_hash is not None
        if not caller.user_key:
            return KeyMissingOrValid(instance_api_key_accepted=accepted, openai_api_key_status="missing")
        if not well_formed_user_key(caller.user_key):
            return KeyRefusedOut(
                instance_api_key_accepted=accepted,
                openai_api_key_status="format_invalid",
                openai_api_key_message="An OpenAI API key starts with sk- and is longer than this.",
            )
        verdict = await self._try(caller)
        if verdict is None:
            return KeyRefusedOut(
                instance_api_key_accepted=accepted,
                openai_api_key_status="error",
                openai_api_key_message=TOO_MANY_KEYS,
            )
        if verdict.status == "valid":
            return KeyMissingOrValid(instance_api_key_accepted=accepted, openai_api_key_status="valid")
        return KeyRefusedOut(
            instance_api_key_accepted=accepted,
            openai_api_key_status=verdict.status,
            openai_api_key_message=verdict.message or "The key could not be confirmed.",
        )
