"""The catalogue's routes over HTTP: who may do what, and that of two who change the same thing one is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID, uuid4

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses.claims.normalise import make_key
from contracts.accounts import ROLES, Verb
from contracts.jobs.catalogue import Edited, EntryPage, EntryView, FlagQueue, FlagView, SourceNames
from contracts.jobs.ids import format_job_id
from contracts.jobs.words import EntryWords, Remark, Suggestion
from contracts.v1 import EditMade, EntryPublished, EntryStaled, FlagRaised, FlagResolved
from contracts.v1.entry import STALE_PARTS
from contracts.v1.ids import entry_id
from kit.history import StoredFact
from services.gateway.domain import Account
from services.gateway.record.catalogue import AnalysisRow, Candidate, EntryContents, EntryRow, FlagRow, SuggestedRow
from services.gateway.record.measures import MeasureRow
from tests.support.job_api import opened, problem, send
from tests.unit.gateway.fakes import NOW, Bench

ASSERTION: Final = UUID(int=0xA55)
ENTRY: Final = entry_id(ASSERTION)
JOB: Final = UUID(int=0x10B << 64)
FLAG: Final = UUID(int=0xF1A6)
CLAIMS: Final = "/v1/claims"
PATH: Final = f"{CLAIMS}/{ENTRY}"
SAID: Final = "Ships sail at noon."
EDIT: Final = {"version": 1, "edit_type": "CONTENT_CORRECTION", "reason": "More exact.", "wording": "Ships sail."}
HIDE: Final = {"version": 1, "edit_type": "MODERATION_ACTION", "reason": "Defames.", "hidden": True}
REVERT: Final = {"version": 2, "reason": "It was right."}
OBJECTION: Final = {"issue_type": "WRONG_SOURCE", "description": "That page says otherwise."}
EVIDENCE: Final = {"source_url": "https://port.example/log", "supports": True, "text": "It lists ships at noon."}
DECISION: Final = {"status": "ACCEPTED", "note": "So it does."}
ACCOUNTS: Final = {role: Account(UUID(int=0xACC0 + n), role, "pro", None, False) for n, role in enumerate(ROLES)}


def candidate(*, public_jobs: int = 1, accounts: int = 1) -> Candidate:

    key = make_key(SAID, "en")
    assert key is not None
    return Candidate(
        assertion_id=ASSERTION,
        language="en",
        published_key=key,
        domain="transport",
        public_jobs=public_jobs,
        accounts=accounts,
    )


def row(id_: UUID = ENTRY, **given: Any) -> EntryRow:
    return EntryRow(
        **{
            "id": id_,
            "assertion_id": ASSERTION,
            "wording": SAID,
            "domain": "transport",
            "summary": None,
            "status": "PUBLISHED",
            "version": 1,
            "updated_at": NOW,
            "analysis_id": None,
            "confidence_score": None,
            "completeness_score": None,
            "risk_score": None,
            "scenario_count": 0,
            "source_names": (),
            "stale": (),
            **given,
        }
    )


def published(*, catalogue: bool = True, is_published: bool = True, **settings: Any) -> Bench:
    """A gateway with an account of each role, and an entry."""
    bench = opened(catalogue=catalogue, **settings)
    for role, account in ACCOUNTS.items():
        bench.key_table.add(f"oe_{role}", "audit", account=account)
        bench.catalogue.candidates[JOB, 1, account.account_id] = candidate()
    if is_published:
        bench.jobs.add(
            EntryPublished(entry_id=ENTRY, assertion_id=ASSERTION, wording=SAID, domain="transport", by=UUID(int=1))
        )
        bench.catalogue.entries[ENTRY] = EntryContents(row=row(), analysis=None, scenarios=(), evidence=(), edits=())
    return bench


async def post(bench: Bench, path: str, body: object, role: str = "moderator") -> httpx.Response:
    return await send(bench, "POST", path, body, key=f"oe_{role}" if role else "")


PUBLISH: Final = {"job_id": format_job_id(JOB), "claim": 1, "wording": SAID}


async def prepare_edit(bench: Bench) -> None:
    assert (await post(bench, f"{PATH}/edits", EDIT)).status_code == 201


async def prepare_hidden(bench: Bench) -> None:
    assert (await post(bench, f"{PATH}/edits", HIDE)).status_code == 201


async def prepare_shown(bench: Bench) -> None:
    await prepare_hidden(bench)
    assert (await post(bench, f"{PATH}/edits", HIDE | {"version": 2, "hidden": False})).status_code == 201


async def prepare_flag(bench: Bench) -> None:
    response = await post(bench, f"{PATH}/flags", OBJECTION)
    assert response.status_code == 201, response.text


async def prepare_nothing(bench: Bench) -> None:
    return


ROUTES: Final[tuple[tuple[str, str, str, Any, Verb, Any], ...]] = (
    ("search", "GET", "/v1/claims", None, "read", prepare_nothing),
    ("show", "GET", PATH, None, "read", prepare_nothing),
    ("complete", "GET", "/v1/sources?begins=a", None, "read", prepare_nothing),
    ("queue", "GET", "/v1/flags", None, "decide", prepare_nothing),
    ("publish", "POST", "/v1/claims", PUBLISH, "publish", prepare_nothing),
    ("submit", "POST", "/v1/claims/submissions", PUBLISH, "submit", prepare_nothing),
    ("edit", "POST", f"{PATH}/edits", EDIT, "edit", prepare_nothing),
    ("hide", "POST", f"{PATH}/edits", HIDE, "hide", prepare_nothing),
    ("revert", "POST", f"{PATH}/revert", REVERT, "edit", prepare_edit),
    ("show again", "POST", f"{PATH}/revert", REVERT, "hide", prepare_hidden),
    ("hide again", "POST", f"{PATH}/revert", REVERT | {"version": 3}, "hide", prepare_shown),
    ("flag", "POST", f"{PATH}/flags", OBJECTION, "flag", prepare_nothing),
    ("suggest", "POST", f"{PATH}/evidence", EVIDENCE, "submit", prepare_nothing),
    ("resolve", "POST", "/v1/flags/{flag}/resolve", DECISION, "decide", prepare_flag),
)


@pytest.mark.parametrize("route", ROUTES, ids=[route[0] for route in ROUTES])
async def test_without_a_key_one_reads_and_nothing_else(route: Any) -> None:
    name, method, path, body, _, prepare = route
    bench = published(is_published=name not in ("publish", "submit"))
    await prepare(bench)
    before = len(bench.jobs.facts)
    response = await send(bench, method, path.format(flag=FLAG), body, key="")
    if method == "GET" and name != "queue":
        assert response.status_code == 200, response.text
        problem(await send(bench, method, path, key="oe_of-nobody"), "UNAUTHENTICATED")
    else:
        problem(response, "UNAUTHENTICATED")
    assert len(bench.jobs.facts) == before


@pytest.mark.requirement("FH-163")
@pytest.mark.parametrize("route", ROUTES, ids=[route[0] for route in ROUTES])
async def test_while_the_catalogue_is_off_nothing_of_it_is_there(route: Any) -> None:
    """FH-163: Catalogue pages are off until they are turned on"""
    _, method, path, body, _, _ = route
    bench = published(catalogue=False)
    problem(await send(bench, method, path.format(flag=FLAG), body, key="oe_admin"), "NOT_FOUND")


@pytest.mark.requirement("FH-163")
async def test_while_the_catalogue_is_off_no_route_of_it_is_described() -> None:
    """FH-163: Catalogue pages are off until they are turned on"""
    described = await published(catalogue=False).http.get("/openapi.json")
    assert "/v1/claims" not in described.json()["paths"]


@pytest.mark.requirement("FH-119")
async def test_a_change_is_one_edit_and_the_second_of_two_editors_is_told() -> None:
    """FH-119: Every change of an entry is one edit and one version"""
    bench = published()
    first = await post(bench, f"{PATH}/edits", EDIT, "contributor")
    assert Edited.model_validate_json(first.content) == Edited(id=ENTRY, version=2, status="PUBLISHED")
    assert problem(await post(bench, f"{PATH}/edits", EDIT), "VALIDATION_ERROR", 409) == {"version": 2}

    def rival() -> None:
        edit = bench.jobs.of(EditMade)[-1]
        bench.jobs.add(edit.model_copy(update={"edit_id": uuid4(), "version": 3, "follows": 2}))

    bench.jobs.meanwhile = rival
    problem(
        await post(bench, f"{PATH}/edits", EDIT | {"version": 2, "wording": "Ships sink."}), "VALIDATION_ERROR", 409
    )
    assert [edit.version for edit in bench.jobs.of(EditMade)] == [2, 3]
    edit = bench.jobs.of(EditMade)[0]
    assert (edit.edit_type, edit.fields, edit.hidden, edit.reworded) == (
        "CONTENT_CORRECTION",
        ("wording",),
        False,
        True,
    )
    assert edit.by == ACCOUNTS["contributor"].account_id
    texts = [bench.words.texts[ref.place] for ref in (edit.before, edit.after)]
    assert [EntryWords.model_validate_json(text).wording for text in texts] == [SAID, "Ships sail."]
    reason = Remark.model_validate_json(bench.words.texts[edit.reason.place])
    assert reason == Remark(about=edit.edit_id, text="More exact.")
    assert "Ships sail" not in edit.model_dump_json()


@pytest.mark.requirement("FH-118")
@pytest.mark.parametrize(
    ("bodies", "types"),
    [
        ((EDIT,), ["CONTENT_CORRECTION"]),
        ((EDIT | {"edit_type": "CLARIFICATION"},), ["CLARIFICATION"]),
        ((HIDE,), ["MODERATION_ACTION"]),
        ((EDIT, REVERT), ["CONTENT_CORRECTION", "REVERT"]),
    ],
    ids=["correction", "clarification", "moderation", "revert"],
)
async def test_an_edit_has_a_type(bodies: Any, types: list[str]) -> None:
    """FH-118: An edit has one of five types"""
    bench = published()
    for body in bodies:
        path = "edits" if "edit_type" in body else "revert"
        assert (await post(bench, f"{PATH}/{path}", body)).status_code == 201
    assert [edit.edit_type for edit in bench.jobs.of(EditMade)] == types
    problem(await post(bench, f"{PATH}/edits", EDIT | {"edit_type": "SYSTEM_REANALYSIS"}), "VALIDATION_ERROR", 400)


@pytest.mark.requirement("FH-119")
async def test_a_revert_restores_the_state_before_as_a_new_version() -> None:
    """FH-119: Every change of an entry is one edit and one version"""
    bench = published()
    problem(await post(bench, f"{PATH}/revert", REVERT | {"version": 1}), "VALIDATION_ERROR", 409)
    await post(bench, f"{PATH}/edits", EDIT)
    assert (await post(bench, f"{PATH}/revert", REVERT)).json()["version"] == 3
    first, second = bench.jobs.of(EditMade)
    assert (second.before.sha256, second.after.sha256) == (first.after.sha256, first.before.sha256)
    assert (second.edit_type, second.reworded) == ("REVERT", False)
    await post(bench, f"{PATH}/edits", HIDE | {"version": 3})
    assert (await post(bench, f"{PATH}/revert", REVERT | {"version": 4})).json() == {
        "id": str(ENTRY),
        "version": 5,
        "status": "PUBLISHED",
    }
    bench.words.texts.clear()
    problem(await post(bench, f"{PATH}/revert", REVERT | {"version": 5}), "VALIDATION_ERROR", 409)


async def test_a_revert_passes_over_what_the_system_recorded() -> None:
    bench = published()
    reanalysed: dict[str, Any] = {"edit_type": "SYSTEM_REANALYSIS", "entity_type": "ANALYSIS", "by": None}
    await post(bench, f"{PATH}/edits", EDIT)
    (edit,) = bench.jobs.of(EditMade)
    own = reanalysed | {"edit_id": uuid4(), "version": 3, "before": edit.after, "follows": len(bench.jobs.facts)}
    bench.jobs.add(edit.model_copy(update=own))
    assert (await post(bench, f"{PATH}/revert", REVERT | {"version": 3})).json()["version"] == 4
    newest = bench.jobs.of(EditMade)[-1]
    assert (newest.after.sha256, newest.reworded) == (edit.before.sha256, False)


@pytest.mark.parametrize("known", [0, 1])
async def test_a_replica_that_lags_has_no_older_change_taken_back(known: int, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = published()
    await post(bench, f"{PATH}/edits", EDIT)
    await post(bench, f"{PATH}/edits", EDIT | {"version": 2, "wording": "Ships sail at eight."})
    read = bench.jobs.read

    async def lag(*patterns: str, after: int = 0) -> Sequence[StoredFact]:
        return (await read(*patterns, after=after))[:known]

    monkeypatch.setattr(bench.jobs, "read", lag)
    problem(await post(bench, f"{PATH}/revert", REVERT | {"version": 3}), "SERVICE_UNAVAILABLE", 503)
    monkeypatch.undo()
    assert (await post(bench, f"{PATH}/revert", REVERT | {"version": 3})).json()["version"] == 4
    edits = bench.jobs.of(EditMade)
    assert edits[-1].after.sha256 == edits[-2].before.sha256


@pytest.mark.requirement("FH-164")
async def test_a_measure_comes_with_its_bound_number_and_date() -> None:
    """FH-164: Catalogue pages look unlike corrections and show measured correctness"""
    bench = published()
    analysis = AnalysisRow(
        analysed_at=NOW, expires_at=NOW, invalidated_at=None, model="m-1", rollup="TRUE", kept_until=None
    )
    bench.catalogue.entries[ENTRY] = contents = replace(bench.catalogue.entries[ENTRY], analysis=analysis)
    view = EntryView.model_validate_json((await send(bench, "GET", PATH)).content)
    assert view.analysis is not None
    assert (view.analysis.measured_correctness, view.analysis.measure) == (None, None)
    bench.catalogue.entries[ENTRY] = replace(contents, measure=MeasureRow(value=1.0, n=59, hour=NOW))
    view = EntryView.model_validate_json((await send(bench, "GET", PATH)).content)
    assert view.analysis is not None
    assert view.analysis.measure is not None
    assert (view.analysis.measured_correctness, view.analysis.measure.cases) == (1.0, 59)
    assert view.analysis.measure.at_least == pytest.approx(0.05 ** (1 / 59))


@pytest.mark.requirement("FH-127")
async def test_an_edit_makes_everything_stale_and_an_accepted_flag_the_risk() -> None:
    """FH-127: What makes an entry stale is recorded"""
    bench = published()
    await post(bench, f"{PATH}/edits", HIDE)
    assert bench.jobs.of(EntryStaled) == []
    await post(bench, f"{PATH}/edits", EDIT | {"version": 2})
    await prepare_flag(bench)
    (flag,) = bench.jobs.of(FlagRaised)
    assert (await post(bench, f"/v1/flags/{flag.flag_id}/resolve", DECISION)).status_code == 200
    edit = bench.jobs.of(EditMade)[-1]
    assert [(each.parts, each.trigger, each.cause_id) for each in bench.jobs.of(EntryStaled)] == [
        (STALE_PARTS, "EDIT", edit.edit_id),
        (("RISK",), "FLAGS", flag.flag_id),
    ]


@pytest.mark.requirement("FH-122")
async def test_an_objection_is_decided_on_once() -> None:
    """FH-122: A flag names what, who, why and how it ended"""
    bench = published()
    response = await post(bench, f"{PATH}/flags", OBJECTION, "reader")
    flag = FlagView.model_validate_json(response.content)
    (raised,) = bench.jobs.of(FlagRaised)
    assert (raised.flag_id, raised.entity_type, raised.entity_id) == (flag.flag_id, "ENTRY", ENTRY)
    assert (raised.issue_type, raised.account_id) == ("WRONG_SOURCE", ACCOUNTS["reader"].account_id)
    text = bench.words.texts[raised.description.place]
    assert Remark.model_validate_json(text) == Remark(about=flag.flag_id, text=OBJECTION["description"])
    path = f"/v1/flags/{flag.flag_id}/resolve"
    assert (await post(bench, path, DECISION)).json() == {"flag_id": str(flag.flag_id), "status": "ACCEPTED"}
    problem(await post(bench, path, DECISION | {"status": "DISMISSED"}), "VALIDATION_ERROR", 409)
    problem(await post(bench, f"/v1/flags/{FLAG}/resolve", DECISION), "NOT_FOUND")
    assert [each.status for each in bench.jobs.of(FlagResolved)] == ["ACCEPTED"]


@pytest.mark.requirement("FH-116", "FH-127")
async def test_suggested_evidence_waits_for_a_moderator() -> None:
    """FH-116: Readers flag, contributors edit, moderators decide and hide

    FH-127: What makes an entry stale is recorded
    """
    bench = published()
    assert (await post(bench, f"{PATH}/evidence", EVIDENCE, "contributor")).json()["status"] == "OPEN"
    (flag,) = bench.jobs.of(FlagRaised)
    assert (flag.issue_type, flag.account_id) == ("EVIDENCE", ACCOUNTS["contributor"].account_id)
    stored = Remark.model_validate_json(bench.words.texts[flag.description.place])
    assert stored.text == "For: https://port.example/log\nIt lists ships at noon."
    assert Suggestion.read(stored.text) == (True, EVIDENCE["source_url"], EVIDENCE["text"])
    assert (await post(bench, f"/v1/flags/{flag.flag_id}/resolve", DECISION)).status_code == 200
    assert [each.parts for each in bench.jobs.of(EntryStaled)] == [("SCENARIOS", "VERDICT", "CONFIDENCE")]
    contents = bench.catalogue.entries[ENTRY]
    rows = (SuggestedRow(description=stored.text, resolved_at=NOW),)
    bench.catalogue.entries[ENTRY] = replace(contents, suggested=rows)
    view = EntryView.model_validate_json((await send(bench, "GET", PATH)).content)
    (found,) = view.suggested_evidence
    assert (found.supports, found.source_url, found.text) == (True, EVIDENCE["source_url"], EVIDENCE["text"])


@pytest.mark.requirement("FH-116")
async def test_a_submitted_claim_gets_its_page_from_a_moderator() -> None:
    """FH-116: Readers flag, contributors edit, moderators decide and hide"""
    bench = published(is_published=False)
    for _ in range(2):
        assert (await post(bench, f"{CLAIMS}/submissions", PUBLISH, "contributor")).json()["status"] == "OPEN"
    first, second = bench.jobs.of(FlagRaised)
    assert (first.issue_type, first.entity_type, first.entity_id) == ("CLAIM", "ENTRY", ENTRY)
    assert first.account_id == ACCOUNTS["contributor"].account_id
    assert SAID not in first.model_dump_json()
    assert bench.jobs.of(EntryPublished) == []
    assert (await post(bench, f"/v1/flags/{first.flag_id}/resolve", DECISION)).status_code == 200
    (entry,) = bench.jobs.of(EntryPublished)
    assert (entry.entry_id, entry.assertion_id, entry.wording, entry.domain) == (ENTRY, ASSERTION, SAID, "transport")
    assert entry.by == ACCOUNTS["moderator"].account_id
    problem(await post(bench, f"/v1/flags/{second.flag_id}/resolve", DECISION), "VALIDATION_ERROR", 409)
    dismissed = DECISION | {"status": "DISMISSED"}
    assert (await post(bench, f"/v1/flags/{second.flag_id}/resolve", dismissed)).status_code == 200
    assert (len(bench.jobs.of(EntryPublished)), bench.jobs.of(EntryStaled)) == (1, [])
    problem(await post(bench, f"{CLAIMS}/submissions", PUBLISH, "contributor"), "VALIDATION_ERROR", 409)
    problem(await post(bench, f"{PATH}/flags", OBJECTION | {"issue_type": "CLAIM"}), "VALIDATION_ERROR", 400)


async def test_a_claim_that_may_have_no_page_cannot_be_submitted() -> None:
    bench = published(is_published=False)
    bench.catalogue.candidates[JOB, 1, ACCOUNTS["contributor"].account_id] = candidate(public_jobs=0)
    problem(await post(bench, f"{CLAIMS}/submissions", PUBLISH, "contributor"), "VALIDATION_ERROR", 400)
    assert bench.jobs.of(FlagRaised) == []


@given(st.booleans(), st.from_regex(r"https?://[!-~]+", fullmatch=True), st.text(min_size=1))
def test_a_suggestion_is_read_as_it_was_written(supports: bool, url: str, text: str) -> None:
    suggestion = Suggestion(supports, url, text)
    assert Suggestion.read(suggestion.write()) == suggestion


@pytest.mark.parametrize("remark", ["", "For", "For: x", "It is: wrong\nSo.", "Not so."])
def test_other_remarks_are_no_suggestions(remark: str) -> None:
    assert Suggestion.read(remark) is None
    assert SuggestedRow(description=remark, resolved_at=NOW).suggestion == (False, "", remark)


@pytest.mark.requirement("FH-116")
@pytest.mark.parametrize("role", ["", *ROLES])
async def test_a_hidden_claim_is_not_there_but_for_moderators(role: str) -> None:
    """FH-116: Readers flag, contributors edit, moderators decide and hide"""
    bench = published()
    await prepare_hidden(bench)
    contents = bench.catalogue.entries[ENTRY]
    bench.catalogue.entries[ENTRY] = replace(contents, row=row(status="HIDDEN", version=2))
    sees = role in ("moderator", "admin")
    shown = await send(bench, "GET", PATH, key=f"oe_{role}" if role else "")
    listed = await send(bench, "GET", "/v1/claims", key=f"oe_{role}" if role else "")
    assert len(EntryPage.model_validate_json(listed.content).claims) == sees
    if sees:
        assert EntryView.model_validate_json(shown.content).entry.status == "HIDDEN"
    else:
        problem(shown, "NOT_FOUND")
    if role:
        response = await post(bench, f"{PATH}/flags", OBJECTION, role)
        assert response.status_code == (201 if sees else 404)


@pytest.mark.parametrize(
    ("public_jobs", "accounts", "allowed"), [(0, 0, False), (0, 1, False), (1, 1, True), (0, 2, True)]
)
async def test_only_what_is_public_may_be_published(public_jobs: int, accounts: int, allowed: bool) -> None:
    bench = published(is_published=False)
    mine = (JOB, 1, ACCOUNTS["moderator"].account_id)
    bench.catalogue.candidates[mine] = candidate(public_jobs=public_jobs, accounts=accounts)
    response = await post(bench, "/v1/claims", PUBLISH)
    if not allowed:
        problem(response, "VALIDATION_ERROR", 400)
        return
    assert response.json() == {"id": str(ENTRY), "version": 1, "status": "PUBLISHED"}
    (event,) = bench.jobs.of(EntryPublished)
    assert (event.wording, event.domain, event.by) == (SAID, "transport", ACCOUNTS["moderator"].account_id)
    problem(await post(bench, "/v1/claims", PUBLISH, "admin"), "VALIDATION_ERROR", 409)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (PUBLISH | {"wording": "Ships never sail."}, "VALIDATION_ERROR"),
        (PUBLISH | {"wording": "x" * 501}, "VALIDATION_ERROR"),
        (PUBLISH | {"claim": 2}, "NOT_FOUND"),
        (PUBLISH | {"job_id": "1"}, "VALIDATION_ERROR"),
    ],
)
async def test_what_cannot_be_published_changes_nothing(body: Any, code: Any) -> None:
    bench = published(is_published=False)
    problem(await post(bench, "/v1/claims", body), code)
    assert (bench.jobs.facts, bench.words.texts) == ([], {})


@pytest.mark.parametrize(
    "body",
    [
        EDIT | {"wording": SAID},
        EDIT | {"hidden": True},
        HIDE | {"wording": "x"},
        {key: value for key, value in EDIT.items() if key != "wording"},
        EDIT | {"wording": " "},
        EDIT | {"reason": ""},
        EDIT | {"domain": "Not a code"},
        EDIT | {"version": 0},
        EDIT | {"more": 1},
    ],
)
async def test_a_bad_edit_changes_nothing(body: Any) -> None:
    bench = published()
    before = len(bench.jobs.facts)
    problem(await post(bench, f"{PATH}/edits", body), "VALIDATION_ERROR", 400)
    assert len(bench.jobs.facts) == before


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("evidence", EVIDENCE | {"source_url": "javascript:alert(1)"}),
        ("evidence", EVIDENCE | {"source_url": "https://port.example/log\nmore"}),
        ("evidence", EVIDENCE | {"text": " "}),
        ("evidence", EVIDENCE | {"text": "x" * 901}),
        ("flags", OBJECTION | {"issue_type": "EVIDENCE"}),
    ],
)
async def test_what_suggests_no_evidence_changes_nothing(path: str, body: Any) -> None:
    bench = published()
    before = len(bench.jobs.facts)
    problem(await post(bench, f"{PATH}/{path}", body), "VALIDATION_ERROR", 400)
    assert len(bench.jobs.facts) == before


async def test_pages_follow_one_another() -> None:
    bench = published()
    for number in range(45):
        id_ = UUID(int=number)
        bench.catalogue.entries[id_] = EntryContents(row=row(id_), analysis=None, scenarios=(), evidence=(), edits=())
    seen: list[UUID] = []
    query = ""
    while True:
        page = EntryPage.model_validate_json((await send(bench, "GET", f"/v1/claims?q=ships{query}", key="")).content)
        seen += [each.id for each in page.claims]
        if page.next is None:
            break
        query = f"&after={page.next}"
    assert len(seen) == len(set(seen)) == 46
    problem(await send(bench, "GET", "/v1/claims?after=x", key=""), "VALIDATION_ERROR", 400)
    problem(await send(bench, "GET", f"/v1/claims?q={'x' * 201}", key=""), "VALIDATION_ERROR", 400)
    problem(await send(bench, "GET", "/v1/claims/x", key=""), "NOT_FOUND")


@pytest.mark.requirement("FH-126")
async def test_the_beginning_of_a_source_is_completed() -> None:
    """FH-126: Assertions, excerpts and scenarios can be searched."""
    bench = published()
    names = (*(f"page{number:02}.example" for number in range(12)), "quay.example")
    contents = bench.catalogue.entries[ENTRY]
    bench.catalogue.entries[ENTRY] = replace(contents, row=replace(contents.row, source_names=names))
    found = SourceNames.model_validate_json((await send(bench, "GET", "/v1/sources?begins=Page", key="")).content)
    assert found.names == names[:10]
    for wrong in ("", "%25", "a b", "x" * 254):
        problem(await send(bench, "GET", f"/v1/sources?begins={wrong}", key=""), "VALIDATION_ERROR", 400)


async def test_moderators_see_what_waits_oldest_first() -> None:
    bench = published()
    for number in range(25):
        bench.catalogue.flags.append(
            FlagRow(
                id=UUID(int=number),
                entity_type="ENTRY",
                entity_id=ENTRY,
                issue_type="WRONG_SOURCE",
                description="No.",
                wording=SAID,
                created_at=NOW,
            )
        )
    first = FlagQueue.model_validate_json((await send(bench, "GET", "/v1/flags", key="oe_moderator")).content)
    path = f"/v1/flags?after={first.next}"
    second = FlagQueue.model_validate_json((await send(bench, "GET", path, key="oe_moderator")).content)
    assert [each.flag_id.int for each in (*first.flags, *second.flags)] == list(range(25))
    assert (second.next, first.flags[0].description, first.flags[0].wording) == (None, "No.", SAID)
    problem(await send(bench, "GET", "/v1/flags?after=x", key="oe_moderator"), "VALIDATION_ERROR", 400)
