"""Audit the changed Markdown files of a pull request, and keep one comment that says what was found.

Runs in a checkout, as a step of the action beside it. Source: docs.github.com, REST of pull requests and comments.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import httpx

from openerrata_client import AsyncClient, CacheOnlyResult, FullResult, OpenErrataError, Options
from openerrata_client.command import INTERRUPTED, NO_VERDICT, cancel_and_say, exit_status
from openerrata_client.types import AnalysedClaim

MARK: Final = "<!-- openerrata-audit -->"
PAGE: Final = 100
AT_ONCE: Final = 3
"""Jobs at a time; a free account may have five."""
CELL: Final = 300
LONGEST_COMMENT: Final = 65_000
"""Somewhat less than GitHub accepts."""
PLAIN_ADDRESS: Final = re.compile(r"https?://[A-Za-z0-9._~:/?#@!$&()*+,;=%\[\]-]+")
Json = Any
"""JSON of GitHub's interface."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came out for a file: a result, or why there is none."""

    path: str
    result: FullResult | CacheOnlyResult | None = None
    problem: str = ""

    @property
    def status(self) -> int:
        """As the exit status of `openerrata-audit`."""
        return NO_VERDICT if self.result is None else exit_status(self.result)


class Forge:
    """The comments and changed files of one pull request."""

    def __init__(self, http: httpx.Client, graphql: str, repository: str, number: int) -> None:
        self._http = http
        self._graphql = graphql
        self._repository = f"/repos/{repository}"
        self._number = number
        self._comments = f"{self._repository}/issues/{number}/comments"

    def changed_files(self) -> Iterator[str]:
        """Paths whose words the pull request adds or changes; an empty file, or one only moved, has none."""
        for each in self._pages(f"{self._repository}/pulls/{self._number}/files"):
            if each["status"] != "removed" and each["changes"]:
                yield each["filename"]

    def write_comment(self, text: str) -> None:
        """Write the comment, in place of an earlier one of this action.

        Two runs at once may each find none and write one: the later one is then merged into the first.
        """
        first = next(self._own_comments(), None)
        if first is None:
            posted = self._ask("POST", self._comments, json={"body": text})["id"]
            first = next(self._own_comments(), posted)
            if first == posted:
                return
            self._ask("DELETE", f"{self._repository}/issues/comments/{posted}")
        self._ask("PATCH", f"{self._repository}/issues/comments/{first}", json={"body": text})

    def _own_comments(self) -> Iterator[int]:
        """The ids of this action's comments, oldest first. The mark alone is no proof: anyone may write it."""
        for each in self._pages(self._comments):
            author = (each["user"] or {}).get("login")
            if str(each["body"]).startswith(MARK) and author == self._login:
                yield each["id"]

    @cached_property
    def _login(self) -> str:
        """The login of the token's owner; a workflow's token may not ask any other resource for it."""
        answer = self._ask("POST", self._graphql, json={"query": "{ viewer { login } }"})
        if not answer.get("data"):
            raise OpenErrataError("No comment was written: GitHub does not say whose token this is.")
        login: str = answer["data"]["viewer"]["login"]
        return login

    def _pages(self, path: str) -> Iterator[Mapping[str, Json]]:
        page = 1
        while True:
            found = self._ask("GET", path, params={"per_page": PAGE, "page": page})
            yield from found
            if len(found) < PAGE:
                return
            page += 1

    def _ask(self, method: str, path: str, **more: Json) -> Json:
        """What GitHub answers. Raises: OpenErrataError: it refuses, for a reason that it states, or answers no JSON."""
        answer = self._http.request(method, path, **more)
        try:
            said = answer.json() if answer.content else {}
            if answer.is_success:
                return said
            why = " ".join(str(said["message"]).split())
        except (KeyError, TypeError, ValueError):
            why = f"{answer.reason_phrase}, and no JSON"
        raise OpenErrataError(f"GitHub answered {answer.status_code} to {method} {answer.url.path}: {why}")


async def audit_all(paths: Sequence[str], options: Options) -> list[Outcome]:
    """Audit files of the checkout, a few at a time. If it is interrupted, it cancels their jobs."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def audit_in_turn(path: str) -> Outcome:
        async with limit:
            return await audit(client, path, options)

    async with AsyncClient() as client:
        return await asyncio.gather(*map(audit_in_turn, paths))


async def audit(client: AsyncClient, path: str, options: Options) -> Outcome:
    """Audit one file of the checkout."""
    try:
        text = await asyncio.to_thread(Path(path).read_text, encoding="utf-8-sig")
        job = await client.analyze(text=text, options=options)
        try:
            return Outcome(path, await job.result())
        except asyncio.CancelledError:
            await cancel_and_say(job)
            raise
    except (OpenErrataError, OSError, UnicodeDecodeError) as error:
        return Outcome(path, problem=str(error).partition("\n")[0])


def describe(outcomes: Sequence[Outcome], left_out: int) -> str:
    """The comment, in Markdown."""
    lines = [MARK, "### Audit of changed articles", ""]
    for outcome in outcomes:
        path = " ".join(outcome.path.replace("`", "").split())  # a name may hold the ends of lines
        lines += [f"**`{path}`**: {_verdict(outcome)}", ""]
        rows = list(_findings(outcome.result))
        if rows:
            lines += ["| claim | found | evidence |", "|---|---|---|", *rows, ""]
    if not outcomes:
        lines.append("No Markdown file was changed.")
    if left_out:
        lines.append(f"{left_out} more changed files were not audited (`max-files`).")
    text = "\n".join(lines).rstrip("\n")
    if len(text) > LONGEST_COMMENT:
        text = text[:LONGEST_COMMENT].rpartition("\n")[0] + "\n\nThe rest is too long for a comment."
    return f"{text}\n\nVerdicts are estimates by models; read the evidence.\n"


def _verdict(outcome: Outcome) -> str:
    if outcome.result is None:
        return f"could not be audited. {_cell(outcome.problem)}"
    assessment = outcome.result.article_holistic_assessment
    if assessment is None:
        return "not assessed as a whole"
    return f"{assessment.overall_verdict}. {_cell(assessment.overall_assessment.summary)}"


def _findings(result: FullResult | CacheOnlyResult | None) -> Iterator[str]:
    """A row for each claim that is not supported, with the first source against it."""
    for claim in result.claims if result is not None else ():
        if isinstance(claim, AnalysedClaim) and claim.rollup_verdict != "Supported":
            against = [item for scenario in claim.scenarios for item in scenario.evidence.opposing]
            source = f"“{_cell(against[0].text)}” {_link(against[0].source_url)}" if against else "none"
            yield f"| {_cell(claim.claim_text)} | {_cell(claim.rollup_verdict)} | {source} |"


def _link(address: str) -> str:
    return f"<{address}>" if PLAIN_ADDRESS.fullmatch(address) else _cell(address)


def _cell(text: str) -> str:
    """Words of an article or a page as plain text in a table: no mark-up, no mention of anybody."""
    plain = " ".join(text.split())
    plain = plain if len(plain) <= CELL else f"{plain[:CELL]}…"
    escaped = "".join(f"\\{each}" if each in "\\`*_{}[]()#+!|~$:" else each for each in plain)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("@", "@\u200b")


def main() -> int:
    """Audit the event's pull request. Returns 0, 1 if findings are to fail the step, or 2 if nothing was audited.

    130: it was interrupted.
    """
    try:
        return _audit_pull_request(os.environ)
    except (OpenErrataError, httpx.HTTPError) as error:
        print(str(error).partition("\n")[0], file=sys.stderr)
        return NO_VERDICT
    except KeyboardInterrupt:
        return INTERRUPTED


def _audit_pull_request(environment: Mapping[str, str]) -> int:
    event = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    if "pull_request" not in event:
        raise OpenErrataError("The event has no pull request: use this action `on: pull_request`.")
    patterns = environment["AUDIT_FILES"].split()
    options = Options(max_claims=_read_number("max-claims", environment["AUDIT_MAX_CLAIMS"]))
    most = _read_number("max-files", environment["AUDIT_MAX_FILES"])
    headers = {"Authorization": f"Bearer {environment['GITHUB_TOKEN']}", "Accept": "application/vnd.github+json"}
    with httpx.Client(base_url=environment["GITHUB_API_URL"], headers=headers, timeout=30) as http:
        number = event["pull_request"]["number"]
        forge = Forge(http, environment["GITHUB_GRAPHQL_URL"], environment["GITHUB_REPOSITORY"], number)
        changed = [
            path
            for path in forge.changed_files()
            if any(fnmatch(path, each) for each in patterns) and not Path(path).is_symlink()
        ]
        chosen = changed[:most]
        outcomes = asyncio.run(audit_all(chosen, options))
        findings = sum(each.status == 1 for each in outcomes)
        failed = sum(each.status == NO_VERDICT for each in outcomes)
        comment = describe(outcomes, len(changed) - len(chosen))
        # first what cannot fail: it was paid for, and a token may not be allowed to comment
        with Path(environment["GITHUB_OUTPUT"]).open("a") as output:
            output.write(f"findings={findings}\n")
        with Path(environment["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as summary:
            summary.write(comment)
        print(f"{len(outcomes) - failed} audited, {findings} not well supported, {failed} could not be audited")
        forge.write_comment(comment)
    if outcomes and failed == len(outcomes):
        return NO_VERDICT
    return int(findings > 0 and environment["AUDIT_FAIL_ON_FINDINGS"] == "true")


def _read_number(name: str, value: str) -> int:
    """Read an input of the action. Raises: OpenErrataError: it is not a number, or below 0."""
    if not (value.isascii() and value.isdigit()):
        raise OpenErrataError(f"The input {name} is not a number: {value!r}")
    return int(value)


if __name__ == "__main__":
    sys.exit(main())
