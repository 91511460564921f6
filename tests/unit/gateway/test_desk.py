"""The desk over HTTP: who may do what there, whose forms are taken, and what a session is."""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import fields, replace
from hashlib import sha256
from typing import Any, Final
from uuid import UUID

import httpx
import pytest
from starlette.responses import Response
from structlog.testing import capture_logs

from contracts.accounts import Verb
from contracts.jobs.ids import format_job_id
from contracts.jobs.words import FlagWords
from contracts.v1 import EditMade, EntryStaled, FlagRaised, FlagResolved
from kit.vault import MasterKey
from services.gateway.desk.sessions import LIFETIME, Sessions
from services.gateway.record.catalogue import EditRow, FlagRow, State
from services.gateway.record.desk import AppealRow, EditedRow, JobRow
from tests.support.desk_browser import Browser
from tests.support.desk_server import SAMPLE
from tests.support.job_api import close, send, start
from tests.unit.gateway.fakes import NOW, Bench
from tests.unit.gateway.test_catalogue_routes import (
    ACCOUNTS,
    DECISION,
    EDIT,
    ENTRY,
    EVIDENCE,
    FLAG,
    HIDE,
    OBJECTION,
    REVERT,
    SAID,
    prepare_edit,
    prepare_flag,
    prepare_hidden,
    prepare_nothing,
    published,
    row,
)

CLAIM: Final = f"/desk/claims/{ENTRY}"
EDIT_FORM: Final[dict[str, object]] = EDIT | {"domain": "transport", "summary": ""}
HIDE_FORM: Final = {"version": 1, "reason": HIDE["reason"], "hidden": "yes"}
ROUTES: Final[tuple[tuple[str, str, str, Any, Verb, Any], ...]] = (
    ("account", "GET", "/desk", None, "read", prepare_nothing),
    ("claims", "GET", "/desk/claims?q=ships", None, "read", prepare_nothing),
    ("claim", "GET", CLAIM, None, "read", prepare_nothing),
    ("flags", "GET", "/desk/flags", None, "decide", prepare_nothing),
    ("edits", "GET", "/desk/edits", None, "decide", prepare_nothing),
    ("appeals", "GET", "/desk/appeals", None, "hear", prepare_nothing),
    ("edit", "POST", f"{CLAIM}/edit", EDIT_FORM, "edit", prepare_nothing),
    ("hide", "POST", f"{CLAIM}/hide", HIDE_FORM, "hide", prepare_nothing),
    ("revert", "POST", f"{CLAIM}/revert", REVERT, "edit", prepare_edit),
    ("show again", "POST", f"{CLAIM}/revert", REVERT, "hide", prepare_hidden),
    ("flag", "POST", f"{CLAIM}/flag", OBJECTION, "flag", prepare_nothing),
    ("suggest", "POST", f"{CLAIM}/evidence", EVIDENCE | {"supports": "yes"}, "submit", prepare_nothing),
    ("resolve", "POST", "/desk/flags/{flag}", DECISION, "decide", prepare_flag),
)
FORMS: Final = [route for route in ROUTES if route[1] == "POST"]


async def at_desk(bench: Bench, role: str = "moderator") -> Browser:
    browser = Browser(bench)
    assert (await browser.log_in(f"oe_{role}")).headers["location"] == "/desk"
    return browser


async def ask(browser: Browser, bench: Bench, route: Any, **headers: str) -> httpx.Response:
    _, method, path, form, _, _ = route
    flags = bench.jobs.of(FlagRaised)
    path = path.format(flag=flags[0].flag_id if flags else FLAG)
    return await (browser.get(path) if method == "GET" else browser.post(path, form, **headers))


@pytest.mark.parametrize("route", ROUTES, ids=[route[0] for route in ROUTES])
async def test_without_a_session_nothing_is_shown_or_done(route: Any) -> None:
    bench = published()
    await route[5](bench)
    before = len(bench.jobs.facts)
    browser = Browser(bench)
    await browser.get("/desk/login")
    response = await ask(browser, bench, route)
    if route[1] == "GET":
        assert (response.status_code, response.headers["location"]) == (303, "/desk/login")
    else:
        assert response.status_code == 401
    assert len(bench.jobs.facts) == before


@pytest.mark.requirement("FH-163")
@pytest.mark.parametrize("settings", [{"jobs": False, "catalogue": True}, {"jobs": True, "catalogue": False}])
async def test_the_desk_is_not_there_until_it_is_turned_on(settings: Any) -> None:
    """FH-163: Catalogue pages are off until they are turned on"""
    bench = Bench(**settings)
    for path in ("/desk", "/desk/login", CLAIM):
        assert (await bench.http.get(path)).status_code == 404
    assert (await bench.http.post("/desk/login", data={"key": "x"})).status_code in (404, 405)


FOREIGN: Final = {
    "another origin": {"origin": "https://evil.example"},
    "another port": {"origin": "http://gateway:81"},
    "no origin at all": {"origin": "", "sec_fetch_site": ""},
    "an opaque origin": {"origin": "null"},
    "another site": {"origin": "", "sec_fetch_site": "cross-site"},
    "a neighbour": {"sec_fetch_site": "same-site"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("route", FORMS, ids=[route[0] for route in FORMS])
async def test_a_form_of_another_site_is_refused(route: Any, headers: dict[str, str]) -> None:
    bench = published()
    await route[5](bench)
    browser = await at_desk(bench, "admin")
    before = len(bench.jobs.facts)
    assert (await ask(browser, bench, route, **headers)).status_code == 403
    assert (await browser.post("/desk/login", {"key": "oe_admin"}, **headers)).status_code == 403
    assert (await browser.post("/desk/logout", {}, **headers)).status_code == 403
    assert len(bench.jobs.facts) == before
    assert (await browser.get("/desk")).status_code == 200


@pytest.mark.parametrize("route", FORMS, ids=[route[0] for route in FORMS])
async def test_a_form_needs_the_token_of_its_session(route: Any) -> None:
    bench = published()
    await route[5](bench)
    browser, other = await at_desk(bench, "admin"), await at_desk(bench, "admin")
    before, own = len(bench.jobs.facts), browser.token
    for forged in ("", "x", own[:-1], other.token, "\u00e9"):
        browser.token = forged
        assert (await ask(browser, bench, route)).status_code == 403
    assert len(bench.jobs.facts) == before
    browser.token = own
    assert (await ask(browser, bench, route)).status_code == 303


async def test_a_log_out_needs_the_token_of_its_session() -> None:
    bench = published()
    browser = await at_desk(bench)
    own, browser.token = browser.token, "x"
    assert (await browser.post("/desk/logout", {})).status_code == 403
    assert (await browser.get("/desk")).status_code == 200
    browser.token = own
    assert (await browser.post("/desk/logout", {})).status_code == 303


async def test_a_log_in_needs_the_token_of_its_page() -> None:
    bench = published()
    browser = Browser(bench)
    assert (await browser.post("/desk/login", {"key": "oe_admin"})).status_code == 401
    other = Browser(bench)
    await other.get("/desk/login")
    await browser.get("/desk/login")
    browser.token = other.token
    assert (await browser.post("/desk/login", {"key": "oe_admin"})).status_code == 403


def cookie_of(browser: Browser) -> str:
    return next(cookie.value or "" for cookie in browser.http.cookies.jar if cookie.name == "desk")


async def seen_with(bench: Bench, cookie: str, name: str = "desk") -> int:
    browser = Browser(bench)
    browser.http.cookies.set(name, cookie)
    return (await browser.get("/desk")).status_code


async def test_only_our_own_cookies_open_the_desk() -> None:
    bench = published()
    cookie = cookie_of(await at_desk(bench))
    assert await seen_with(bench, cookie) == 200
    foreign = Sessions("desk", (MasterKey(bytes([1] * 32)),), bench.clock, "")
    before_login = Sessions("desk-login", (MasterKey(bytes(32)),), bench.clock, "")
    forged = []
    for sessions in (foreign, before_login):
        response = Response()
        sessions.keep(response, sessions.start(sha256(b"oe_admin").hexdigest()))
        forged.append(response.headers["set-cookie"].partition("=")[2].partition(";")[0])
    altered = cookie[:-2] + ("AA" if cookie[-2:] != "AA" else "BB")
    for each in (*forged, altered, cookie[:40], "oe_admin", "", "\u00e9", "=" * 9):
        assert await seen_with(bench, each.encode("ascii", "xmlcharrefreplace").decode()) == 303


async def test_a_session_ends_by_its_time_its_key_and_its_log_out() -> None:
    bench = published()
    cookies = [cookie_of(await at_desk(bench)) for _ in range(2)]
    browser = await at_desk(bench)
    cookies.append(cookie_of(browser))
    response = await browser.post("/desk/logout", {})
    assert (response.headers["location"], "Max-Age=0" in response.headers["set-cookie"]) == ("/desk/login", True)
    assert (await browser.get("/desk")).status_code == 303
    assert [await seen_with(bench, each) for each in cookies] == [200, 200, 303]
    bench.clock.pass_by(LIFETIME.total_seconds() - 1)
    assert await seen_with(bench, cookies[0]) == 200
    bench.clock.pass_by(1)
    assert await seen_with(bench, cookies[0]) == 303
    browser = await at_desk(bench)
    bench.key_table.hashes.clear()
    bench.clock.pass_by(10)
    assert (await browser.get("/desk")).status_code == 303


async def test_a_key_that_loses_its_right_opens_nothing_any_more() -> None:
    bench = published()
    browser = await at_desk(bench)
    bench.key_table.add("oe_moderator", "investigate", account=ACCOUNTS["moderator"])
    bench.clock.pass_by(10)
    assert (await browser.get("/desk")).status_code == 403
    assert (await browser.post(f"{CLAIM}/edit", EDIT_FORM)).status_code == 403


async def test_an_accounts_pages_and_changes_are_counted() -> None:
    bench = published(reads_rate="3/60", changes_rate="1/60")
    browser = await at_desk(bench)
    assert [(await browser.get("/desk/claims")).status_code for _ in range(3)] == [200, 200, 429]
    forms = [await browser.post(f"{CLAIM}/flag", OBJECTION) for _ in range(2)]
    assert [each.status_code for each in forms] == [303, 429]
    assert forms[-1].headers["retry-after"] == "60"
    assert (await (await at_desk(bench, "admin")).get("/desk/claims")).status_code == 200


async def test_the_cookie_is_strict_and_does_not_hold_the_key() -> None:
    for public_url, named in (
        ("", "desk="),
        ("http://errata.example", "desk="),
        ("https://errata.example", "__Host-desk="),
    ):
        bench = published(public_url=public_url)
        browser = Browser(bench, public_url or "http://gateway")
        response = await browser.log_in("oe_moderator")
        (cookie,) = response.headers.get_list("set-cookie")
        value, *attributes = cookie.lower().split("; ")
        assert cookie.startswith(named)
        assert {"httponly", "samesite=strict", f"max-age={8 * 3600}"} <= set(attributes)
        assert ("secure" in attributes, "path=/" in attributes) == (named != "desk=",) * 2
        assert "domain" not in cookie.lower()
        for secret in (b"oe_moderator", sha256(b"oe_moderator").hexdigest().encode()):
            assert secret not in b64decode(value.partition("=")[2] + "==", altchars=b"-_")
            assert secret.decode() not in (await browser.get("/desk")).text


@pytest.mark.parametrize("key", ["", "oe_unknown", "oe_without-account", "oe_without-right"])
async def test_a_key_that_opens_no_account_is_refused(key: str) -> None:
    bench = published()
    bench.key_table.add("oe_without-account")
    bench.key_table.add("oe_without-right", "investigate", account=ACCOUNTS["admin"])
    browser = Browser(bench)
    response = await browser.log_in(key)
    assert (response.status_code, 'role="alert"' in response.text) == (401, True)
    assert (await browser.get("/desk")).status_code == 303


async def test_a_network_cannot_try_keys_without_end() -> None:
    bench = published()
    browser = Browser(bench)
    answers = [await browser.log_in("oe_unknown") for _ in range(21)]
    assert [each.status_code for each in answers] == [401] * 20 + [429]
    assert answers[-1].headers["retry-after"] == "60"
    bench.clock.pass_by(60)
    assert (await browser.log_in("oe_reader")).status_code == 303


async def test_no_answer_is_stored_or_lets_a_script_or_another_origin_in() -> None:
    bench = published()
    browser = await at_desk(bench)
    answers = [
        await browser.get(path) for path in ("/desk", "/desk/login", "/desk/flags", "/desk/appeals", "/desk/nowhere")
    ]
    answers += [
        await browser.post(f"{CLAIM}/flag", OBJECTION),
        await browser.http.put("/desk"),
        await browser.http.options("/desk", headers={"origin": "https://evil.example"}),
        await browser.http.head("/desk"),
    ]
    assert [each.status_code for each in answers] == [200, 200, 200, 403, 404, 303, 405, 405, 200]
    for answer in answers:
        assert answer.headers.get_list("cache-control") == ["no-store"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "script" not in answer.headers["content-security-policy"]
        assert not any(name.startswith("access-control") for name in answer.headers)
        assert "<script" not in answer.text
    assert answers[-1].content == b""


@pytest.mark.requirement("FH-119")
async def test_the_second_of_two_editors_is_told_and_keeps_what_they_wrote() -> None:
    """FH-119: Every change of an entry is one edit and one version"""
    bench = published()
    first, second = await at_desk(bench, "contributor"), await at_desk(bench)
    assert (await first.post(f"{CLAIM}/edit", EDIT_FORM)).headers["location"] == f"{CLAIM}?done=2"
    response = await second.post(f"{CLAIM}/edit", EDIT_FORM | {"wording": "Ships of <b>the</b> line"})
    assert response.status_code == 409
    assert "Ships of &lt;b&gt;the&lt;/b&gt; line" in response.text
    (edit,) = bench.jobs.of(EditMade)
    assert (edit.version, edit.edit_type, edit.by) == (2, "CONTENT_CORRECTION", ACCOUNTS["contributor"].account_id)


async def test_a_moderator_decides_about_what_waits() -> None:
    bench = published()
    reader = await at_desk(bench, "reader")
    assert (await reader.post(f"{CLAIM}/flag", OBJECTION)).headers["location"] == f"{CLAIM}?done=flag"
    (flag,) = bench.jobs.of(FlagRaised)
    told = FlagRow(
        id=flag.flag_id,
        entity_type="ENTRY",
        entity_id=ENTRY,
        issue_type="WRONG_SOURCE",
        description="<i>That</i> page says otherwise.",
        created_at=NOW,
        wording=SAID,
    )
    bench.catalogue.flags.append(told)
    moderator = await at_desk(bench)
    page = (await moderator.get("/desk/flags")).text
    assert "&lt;i&gt;That&lt;/i&gt; page says otherwise." in page
    assert SAID in page
    assert (await moderator.post(f"/desk/flags/{flag.flag_id}", {"status": "ACCEPTED"})).status_code == 400
    assert (await moderator.post(f"/desk/flags/{flag.flag_id}", DECISION)).status_code == 303
    assert (await moderator.post(f"/desk/flags/{flag.flag_id}", DECISION)).status_code == 409
    (resolved,) = bench.jobs.of(FlagResolved)
    assert (resolved.status, resolved.by) == ("ACCEPTED", ACCOUNTS["moderator"].account_id)
    assert [each.trigger for each in bench.jobs.of(EntryStaled)] == ["FLAGS"]


@pytest.mark.requirement("FH-28")
async def test_a_moderator_reads_what_is_objected_to_of_a_claim_and_decides() -> None:
    """FH-28: Quotes are withdrawn at once when their owner asks."""
    bench = published()
    asked = {"claim_hash": f"sha256:{'a' * 64}", "reason": "It is about me.", "contact": "me@example.org"}
    assert (await send(bench, "POST", "/v1/rights/invalidate", asked, key="")).status_code == 202
    (flag,) = bench.jobs.of(FlagRaised)
    words = FlagWords.model_validate_json(bench.words.texts[flag.description.place])
    bench.catalogue.flags.append(
        FlagRow(
            id=flag.flag_id,
            entity_type=flag.entity_type,
            entity_id=flag.entity_id,
            issue_type=flag.issue_type,
            description=words.write(),
            created_at=NOW,
            wording="the mayor <i>lied</i>",
        )
    )
    moderator = await at_desk(bench)
    page = (await moderator.get("/desk/flags")).text
    for shown in (*asked.values(), "the mayor &lt;i&gt;lied&lt;/i&gt;", "Withdraw its analyses"):
        assert shown in page
    done = await moderator.post(f"/desk/flags/{flag.flag_id}", DECISION)
    assert done.headers["location"] == "/desk/flags?done=flag"
    (resolved,) = bench.jobs.of(FlagResolved)
    assert (resolved.flag_id, resolved.entity_type, resolved.status) == (flag.flag_id, "CLAIM", "ACCEPTED")
    assert bench.jobs.of(EntryStaled) == []


@pytest.mark.parametrize(("kind", "withdrawn"), [("SOURCE", True), ("ENTRY", False)])
async def test_only_an_objection_to_an_address_has_withdrawn_quotes(kind: str, withdrawn: bool) -> None:
    bench = published()
    entity = ENTRY if kind == "ENTRY" else None
    flag = FlagRow(
        id=FLAG, entity_type=kind, entity_id=entity, issue_type="RIGHTS", description="They are mine.", created_at=NOW
    )
    bench.catalogue.flags.append(flag)
    page = (await (await at_desk(bench)).get("/desk/flags")).text
    assert "They are mine." in page
    assert ("The quotes were withdrawn" in page) is withdrawn


async def test_moderators_see_edits_and_what_is_hidden() -> None:
    bench = published()
    await prepare_hidden(bench)
    contents = bench.catalogue.entries[ENTRY]
    bench.catalogue.entries[ENTRY] = replace(contents, row=row(status="HIDDEN", version=2))
    said = State(wording=SAID, domain="transport", summary=None)
    bench.desk.edits.append(
        EditedRow(
            version=2,
            edit_type="MODERATION_ACTION",
            hidden=True,
            created_at=NOW,
            reason="Defames.",
            before_state=said,
            after_state=said,
            entry_id=ENTRY,
            wording=SAID,
            status="HIDDEN",
            updated_at=NOW,
        )
    )
    moderator, contributor = await at_desk(bench), await at_desk(bench, "contributor")
    assert "Defames." in (await moderator.get("/desk/edits")).text
    assert "Show it again" in (await moderator.get(CLAIM)).text
    assert SAID in (await moderator.get("/desk/claims")).text
    assert (await contributor.get(CLAIM)).status_code == 404
    assert SAID not in (await contributor.get("/desk/claims")).text
    form = {"version": 2, "reason": "It does not.", "hidden": "no"}
    assert (await moderator.post(f"{CLAIM}/hide", form)).status_code == 303
    assert [edit.hidden for edit in bench.jobs.of(EditMade)] == [True, False]


async def test_an_analysis_is_not_offered_to_be_taken_back() -> None:
    bench = published()
    said = State(wording=SAID, domain="transport", summary=None)
    moderated = EditRow(
        version=2,
        edit_type="MODERATION_ACTION",
        hidden=False,
        created_at=NOW,
        reason="It is true.",
        before_state=said,
        after_state=said,
    )
    analysed = replace(moderated, version=3, edit_type="SYSTEM_REANALYSIS")
    contents = bench.catalogue.entries[ENTRY]
    bench.catalogue.entries[ENTRY] = replace(contents, row=row(version=3), edits=(analysed, moderated))
    bench.desk.edits.append(
        EditedRow(
            **{each.name: getattr(analysed, each.name) for each in fields(analysed)},
            entry_id=ENTRY,
            wording=SAID,
            status="PUBLISHED",
            updated_at=NOW,
        )
    )
    moderator, contributor = await at_desk(bench), await at_desk(bench, "contributor")
    page = (await moderator.get("/desk/edits")).text
    assert "Analysed again" in page
    assert f"{CLAIM}/revert" not in page
    assert "Take version 2 back" in (await moderator.get(CLAIM)).text
    assert f"{CLAIM}/revert" not in (await contributor.get(CLAIM)).text
    bench.catalogue.entries[ENTRY] = replace(contents, row=row(version=2), edits=(replace(analysed, version=2),))
    assert f"{CLAIM}/revert" not in (await moderator.get(CLAIM)).text


async def test_operators_see_appeals() -> None:
    bench = published()
    appeal = AppealRow(
        id=UUID(int=5),
        investigation_id=UUID(int=6),
        kind="CONTEXT",
        named=1,
        words="It is <b>satire</b>.",
        links=("https://example.org/a", "javascript:alert(1)"),
        opened_at=NOW,
        platform="WIKIPEDIA",
        is_of_author=True,
    )
    bench.desk.appealed.append(appeal)
    page = (await (await at_desk(bench, "admin")).get("/desk/appeals")).text
    assert "It is &lt;b&gt;satire&lt;/b&gt;." in page
    assert "https://example.org/a" in page
    assert "by a contributor, proven" in page
    assert "javascript:" not in page


@pytest.mark.requirement("FH-165")
async def test_accounts_see_their_own_jobs_and_credit_alone() -> None:
    """FH-165: Results are private to their account"""
    bench = published()
    job = await start(bench, key="oe_reader")
    name = format_job_id(job)
    account = ACCOUNTS["reader"].account_id
    bench.desk.jobs_of[account] = [
        JobRow(
            id=job,
            status="QUEUED",
            created_at=NOW,
            ended_at=None,
            input_type="TEXT",
            overall_verdict=None,
            charged_micro_usd=None,
        )
    ]
    mine, other = await at_desk(bench, "reader"), await at_desk(bench, "admin")
    page = (await mine.get("/desk")).text
    assert name in page
    assert "reserved by 1 open job" in page
    assert "queued" in (await mine.get(f"/desk/jobs/{name}")).text
    assert name not in (await other.get("/desk")).text
    assert (await other.get(f"/desk/jobs/{name}")).status_code == 404
    assert (await mine.get("/desk/jobs/x")).status_code == 404


async def test_a_report_is_shown_as_a_page_and_as_markdown() -> None:
    bench = published()
    job = await start(bench, key="oe_reader")
    close(bench, job, result=json.dumps(json.loads(SAMPLE.read_text())[0]["result"]), settled=False)
    page = (await (await at_desk(bench, "reader")).get(f"/desk/jobs/{format_job_id(job)}")).text
    rendered, _, markdown = page.partition("<summary>The report as Markdown</summary>")
    assert "<h2>Audit: Prices rose</h2>" in rendered
    assert "## Verdict" not in rendered
    assert "# Audit: Prices rose\n" in markdown


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/desk?after=x", 400),
        ("/desk/claims?q=" + "x" * 201, 400),
        ("/desk/claims/x", 404),
        (f"/desk/claims/{FLAG}", 404),
    ],
)
async def test_what_cannot_be_shown_is_said(path: str, status: int) -> None:
    browser = await at_desk(published())
    assert (await browser.get(path)).status_code == status


@pytest.mark.parametrize(
    ("form", "status"),
    [
        (EDIT_FORM | {"version": "x"}, 400),
        (EDIT_FORM | {"version": "1" * 99}, 400),
        (EDIT_FORM | {"edit_type": "SYSTEM_REANALYSIS"}, 400),
        (EDIT_FORM | {"reason": "  "}, 400),
        (EDIT_FORM | {"reason": "a\0b"}, 400),
        (EDIT_FORM | {"wording": SAID}, 400),
        (EDIT_FORM | {"wording": "x" * 501}, 400),
        (EDIT_FORM | {"reason": "x" * 600_000}, 413),
        (EDIT_FORM | {f"field-{number}": "" for number in range(20)}, 400),
    ],
)
async def test_a_form_that_cannot_be_taken_changes_nothing(form: Any, status: int) -> None:
    bench = published()
    browser = await at_desk(bench)
    before = len(bench.jobs.facts)
    assert (await browser.post(f"{CLAIM}/edit", form)).status_code == status
    raw = {"origin": "http://gateway", "content-type": "application/x-www-form-urlencoded"}
    for body, kind in ((b"token=%ff", raw["content-type"]), (b"{}", "application/json")):
        response = await browser.http.post(f"{CLAIM}/edit", content=body, headers=raw | {"content-type": kind})
        assert response.status_code in (400, 415)
    assert len(bench.jobs.facts) == before


async def test_an_outage_is_said() -> None:
    bench = published()
    browser = await at_desk(bench)
    bench.jobs.broken = True
    with capture_logs() as logs:
        response = await browser.post(f"{CLAIM}/edit", EDIT_FORM)
    assert [line["path"] for line in logs if line["event"] == "unavailable"] == ["/desk"]
    assert (response.status_code, response.headers["retry-after"]) == (503, "3")
    assert "More exact." in response.text
