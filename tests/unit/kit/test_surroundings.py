"""What an operator gives is used as given; what is half given is refused with a word on what is missing."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from kit.servers_in_use import MASTER_KEY_FILE, Servers, embedded_master_key, find_servers
from kit.settings import Infrastructure, SettingsError
from kit.vault import KEY_BYTES, MasterKey

FIRST, SECOND = MasterKey(b"1" * KEY_BYTES), MasterKey(b"2" * KEY_BYTES)
GIVEN: dict[str, Any] = {
    "nats_url": "nats://broker.example:4222",
    "database_url": "postgresql+psycopg://u:p@db.example/errata",
    "s3_endpoint": "https://s3.example:9000",
    "s3_access_key": "access",
    "s3_secret_key": "secret",
    "encryption_keys": str(FIRST),
}


def found(tmp_path: Path, **changes: Any) -> Servers:
    """What comes of these settings; nothing may be started."""
    settings = Infrastructure.model_validate(GIVEN | changes)
    with find_servers(settings, tmp_path / "data", start=False) as result:
        return result


def test_everything_given_is_used_and_nothing_is_started_or_written(tmp_path: Path) -> None:
    result = found(tmp_path)
    assert (result.nats_url, result.database_url) == (GIVEN["nats_url"], GIVEN["database_url"])
    blobs = result.blobs
    assert (blobs.endpoint, blobs.secure, blobs.bucket) == ("s3.example:9000", True, "openerrata")
    assert (blobs.access_key, blobs.secret_key) == ("access", "secret")
    assert not result.embedded
    assert result.stack is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg"])
def test_every_usual_form_of_a_database_address_is_accepted(tmp_path: Path, scheme: str) -> None:
    result = found(tmp_path, database_url=f"{scheme}://u:p%40ss@db.example:5433/errata?sslmode=require")
    assert result.database_url == "postgresql+psycopg://u:p%40ss@db.example:5433/errata?sslmode=require"


def test_a_service_logs_in_by_its_own_address_or_as_its_role_without_the_owners_password(tmp_path: Path) -> None:
    own = "postgresql+psycopg://errata_reader:r@db.example/errata"
    assert found(tmp_path, database_reader_url=own).database_login("reader") == own
    assert found(tmp_path).database_login("reader") == "postgresql+psycopg://errata_reader@db.example/errata"
    alone = found(tmp_path, database_url=None, database_reader_url=own)
    assert alone.database_login("reader") == own
    with pytest.raises(SettingsError, match="OPENERRATA_DATABASE_URL is not set"):
        alone.database_login("projector")


def test_a_user_of_the_broker_stands_beside_its_addresses(tmp_path: Path) -> None:
    login: dict[str, Any] = {"nats_user": "gateway", "nats_password": "p-ss_word"}
    assert found(tmp_path, **login).nats_url == "nats://gateway:p-ss_word@broker.example:4222"
    several = found(tmp_path, nats_url="tls://a:4222,b:4222, nats://own:one@c:4222", **login).nats_url
    assert several == "tls://gateway:p-ss_word@a:4222,nats://gateway:p-ss_word@b:4222,nats://own:one@c:4222"
    with pytest.raises(SettingsError, match="OPENERRATA_NATS_USER and _PASSWORD may hold"):
        found(tmp_path, nats_user="gateway", nats_password="p@ss")


def test_beside_a_given_broker_only_what_is_needed_is_embedded(tmp_path: Path) -> None:
    settings = Infrastructure.model_validate(GIVEN | {"database_url": None})
    with find_servers(settings, tmp_path / "data", start=False, needs=("nats", "s3")) as result:
        assert result.owner_url is None
    with (
        pytest.raises(SettingsError, match="openerrata up"),
        find_servers(Infrastructure(), tmp_path / "data", start=False, needs=("nats", "s3")),
    ):
        pass


@pytest.mark.requirement("2.9-13")
@pytest.mark.parametrize("endpoint", ["s3.example:9000", "ftp://s3.example", "https://", "https://s3.example/bucket"])
def test_what_is_no_address_of_a_blob_store_is_refused(tmp_path: Path, endpoint: str) -> None:
    """2.9-13: Blob storage mandatory."""
    with pytest.raises(SettingsError, match="OPENERRATA_S3_ENDPOINT"):
        found(tmp_path, s3_endpoint=endpoint)


@pytest.mark.requirement("2.9-13")
@pytest.mark.parametrize("missing", ["s3_access_key", "s3_secret_key"])
def test_a_blob_store_needs_its_credentials(tmp_path: Path, missing: str) -> None:
    """2.9-13: Blob storage mandatory."""
    with pytest.raises(SettingsError, match="OPENERRATA_S3_ACCESS_KEY"):
        found(tmp_path, **{missing: None})
    settings = Infrastructure.model_validate(GIVEN | {missing: None})
    with find_servers(settings, tmp_path, start=False, needs=["nats"]) as result:  # who does not use it needs none
        assert result.nats_url == GIVEN["nats_url"]


def test_the_first_master_key_seals_and_all_open(tmp_path: Path) -> None:
    assert found(tmp_path, encryption_keys=f"{FIRST}, {SECOND}").master_keys == (FIRST, SECOND)


def test_given_servers_need_a_given_master_key(tmp_path: Path) -> None:
    without = found(tmp_path, encryption_keys=None)  # only who seals or opens readers' keys asks for it
    with pytest.raises(SettingsError, match="OPENERRATA_ENCRYPTION_KEYS is not set"):
        _ = without.master_keys


@pytest.mark.parametrize("keys", ["short", "", f"{FIRST},"])
def test_a_wrong_master_key_is_refused_without_showing_it(tmp_path: Path, keys: str) -> None:
    with pytest.raises(SettingsError, match="OPENERRATA_ENCRYPTION_KEYS: ") as caught:
        _ = found(tmp_path, encryption_keys=keys).master_keys
    assert str(FIRST) not in str(caught.value)


@pytest.mark.parametrize("missing", ["nats_url", "database_url", "s3_endpoint"])
def test_what_is_not_given_must_be_running_where_nothing_may_be_started(tmp_path: Path, missing: str) -> None:
    with pytest.raises(SettingsError, match="openerrata up"):
        found(tmp_path, **{missing: None})


def test_an_embedded_master_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    made = embedded_master_key(tmp_path / "data")
    assert embedded_master_key(tmp_path / "data") == made
    assert stat.S_IMODE((tmp_path / "data" / MASTER_KEY_FILE).stat().st_mode) == 0o600


def test_nothing_is_left_behind_where_no_servers_run(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="openerrata up"):
        found(tmp_path, nats_url=None, encryption_keys=None)
    assert list(tmp_path.iterdir()) == []
