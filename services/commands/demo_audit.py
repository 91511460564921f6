"""The second half of the demo: the sample article, audited by the job API for an account of its own."""

from __future__ import annotations

from collections.abc import Callable

from openerrata_client import AsyncClient
from openerrata_client.types import AnalysedClaim, CacheOnlyResult, FullResult
from services.commands.demo_site import DOUBTFUL, EXPECTED, read_text

AUDITED = dict.fromkeys(EXPECTED, "Refuted") | {DOUBTFUL: "Inconclusive"}


async def audit_article(gateway: str, api_key: str, show: Callable[[str, str], None]) -> FullResult | CacheOnlyResult:
    """Send the article, show what happens by label and text, and return the result.

    Raises: openerrata_client.OpenErrataError.
    """
    async with AsyncClient(api_key, server=gateway) as client:
        job = await client.analyze(text=read_text())
        async for event in job.events():
            match event.name:
                case "fetched":
                    show("article", f"{event.data.get('characters')} characters of text, as job {job.id}")
                case "extracted":
                    show("claims", f"{event.data.get('claims_total')} that can be checked")
                case "claim":
                    verdict = event.data.get("rollup_verdict") or event.data.get("state")
                    show("analysed", f"{event.data.get('claim_id')}: {verdict}")
                case "assessing":
                    show("assessing", "the article as a whole")
        return await job.result()


def verdicts(result: FullResult | CacheOnlyResult) -> dict[str, str]:
    """The verdict of each analysed claim, by its sentence."""
    return {each.claim_text: each.rollup_verdict for each in result.claims if isinstance(each, AnalysedClaim)}
