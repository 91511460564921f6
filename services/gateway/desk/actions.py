"""The desk's changes: forms become requests of the job API, and the same code handles them."""

from __future__ import annotations

from dataclasses import dataclass

from contracts.jobs.catalogue import EditRequest, EvidenceRequest, FlagRequest, ResolveRequest, RevertRequest
from services.gateway.desk.visits import Visit
from services.gateway.jobs.catalogue import Entries


@dataclass(frozen=True, slots=True)
class Actions:
    """Actions that take a form and return the path to redirect the browser to. Raises: Problem, Unavailable."""

    entries: Entries

    async def edit(self, visit: Visit) -> str:
        """Change what an entry says."""
        names = ("edit_type", "reason", "wording", "domain", "summary")
        wanted = visit.read(EditRequest, *names, version=visit.version())
        return await self._change(visit, wanted)

    async def hide(self, visit: Visit) -> str:
        """Hide an entry, or show it again."""
        wanted = visit.read(
            EditRequest,
            "reason",
            edit_type="MODERATION_ACTION",
            version=visit.version(),
            hidden=visit.form.get("hidden") == "yes",
        )
        return await self._change(visit, wanted)

    async def revert(self, visit: Visit) -> str:
        """Undo the newest change of an entry."""
        wanted = visit.read(RevertRequest, "reason", version=visit.version())
        done = await self.entries.revert(visit.id("entry_id"), wanted, visit.principal, visit.correlation)
        return f"/desk/claims/{done.id}?done={done.version}"

    async def flag(self, visit: Visit) -> str:
        """Object to an entry."""
        wanted = visit.read(FlagRequest, "issue_type", "description")
        id_ = visit.id("entry_id")
        await self.entries.raise_flag(id_, wanted, visit.principal, visit.correlation)
        return f"/desk/claims/{id_}?done=flag"

    async def suggest(self, visit: Visit) -> str:
        """Suggest evidence."""
        wanted = visit.read(EvidenceRequest, "source_url", "text", supports=visit.form.get("supports") == "yes")
        id_ = visit.id("entry_id")
        await self.entries.suggest(id_, wanted, visit.principal, visit.correlation)
        return f"/desk/claims/{id_}?done=flag"

    async def resolve(self, visit: Visit) -> str:
        """Decide on an objection."""
        wanted = visit.read(ResolveRequest, "status", "note")
        await self.entries.resolve_flag(visit.id("flag_id"), wanted, visit.principal, visit.correlation)
        return "/desk/flags?done=flag"

    async def _change(self, visit: Visit, wanted: EditRequest) -> str:
        done = await self.entries.edit(visit.id("entry_id"), wanted, visit.principal, visit.correlation)
        return f"/desk/claims/{done.id}?done={done.version}"
