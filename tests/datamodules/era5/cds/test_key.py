"""The key goes to the server of the account alone, whatever a server answers, and no message shows a piece of it."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from datamodules.era5.cds.account import Account, find_account, mask
from datamodules.era5.cds.errors import DownloadFailed
from datamodules.era5.cds.retry import Deadline
from datamodules.era5.cds.session import BoundedSession
from tests.datamodules.era5.cds import faults
from tests.datamodules.era5.cds.answers import Weather
from tests.datamodules.era5.cds.runs import check_data, check_no_key, stream, texts_of
from tests.datamodules.era5.cds.server import DATASET, KEY, Fault, Handler, Place, Store, running

pytestmark = pytest.mark.usefixtures("hurried")
REFUSED = "refers to another server, {}, which would get your key: refused. Check the address in CDSAPI_URL"
KEYED: tuple[Place, ...] = ("process", "post", "status", "results")
REDIRECTS = (301, 302, 303, 307, 308)


@pytest.fixture
def other(store: Store, weather: Weather, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """A second server, on another port, which has the same jobs."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
    with running(weather) as server:
        server.jobs = store.jobs
        yield server


def redirect(address: str, status: int = 307) -> Callable[[Handler], bool]:
    def act(handler: Handler) -> bool:
        handler.send(b"", status, {"Location": f"{address}{handler.path}"})
        return True

    return act


def elsewhere(where: str, store: Store, other: Store) -> tuple[str, Store]:
    """The address of another server, and where its calls are recorded."""
    if where == "another name":
        return f"http://localhost:{store.server_port}", store
    return other.url, other


@pytest.mark.parametrize("where", ["another name", "another port"])
@pytest.mark.parametrize("place", KEYED)
def test_redirects_to_another_server_are_refused(place: Place, where: str, store: Store, other: Store) -> None:
    address, server = elsewhere(where, store, other)
    store.faults = [Fault(place, redirect(address))]
    with pytest.raises(DownloadFailed, match=REFUSED.format(address)) as error:
        stream().prepare_data()
    check_no_key(texts_of(error.value))
    assert other.calls == []
    assert all(headers["Host"] == urlsplit(store.url).netloc for _, _, headers in server.calls)


@pytest.mark.parametrize("status", REDIRECTS)
def test_no_kind_of_redirect_takes_the_request_elsewhere(status: int, store: Store, other: Store) -> None:
    store.faults = [Fault("post", redirect(other.url, status))]
    with pytest.raises(DownloadFailed, match="refers to another server"):
        stream().prepare_data()
    assert other.calls == other.posts == []


def test_a_redirect_before_the_request_takes_no_key_elsewhere(store: Store, other: Store) -> None:
    """The client sends the request to where the question before it was answered."""
    store.faults = [Fault("process", redirect(other.url, 302), 1)]
    with pytest.raises(DownloadFailed, match="refers to another server"):
        stream().prepare_data()
    assert other.calls == []


@pytest.mark.parametrize("rel", ["monitor", "self"])
def test_links_to_another_server_get_no_key(rel: str, store: Store, other: Store) -> None:
    reply = Handler.reply

    def act(handler: Handler) -> bool:
        def mislead(answer: dict[str, Any], status: int = 200) -> None:
            links = [{**link, "href": link["href"].replace(store.url, other.url)} for link in answer.get("links", [])]
            reply(handler, {**answer, "links": [link for link in links if link["rel"] == rel] or links}, status)

        handler.reply = mislead  # type: ignore[method-assign]
        return False

    store.faults = [Fault("post" if rel == "monitor" else "status", act)]
    with pytest.raises(DownloadFailed, match="refers to another server"):
        stream().prepare_data()
    assert not any("PRIVATE-TOKEN" in headers for _, _, headers in other.calls)


def test_redirects_within_the_server_are_followed(store: Store, weather: Weather) -> None:
    store.faults = [Fault("process", redirect(store.url, 302), 1), Fault("status", redirect("", 302), 1)]
    stream().prepare_data()
    check_data(weather)


def test_files_come_from_elsewhere_without_the_key(store: Store, other: Store, weather: Weather) -> None:
    store.faults = [Fault("file", redirect(other.url, 302)), Fault("head", redirect(other.url, 302))]
    stream().prepare_data()
    check_data(weather)
    assert {place for place, _, _ in other.calls} >= {"file"}
    assert not any("PRIVATE-TOKEN" in headers for _, _, headers in other.calls)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_a_session_sends_nothing_private_elsewhere(method: str, store: Store, other: Store) -> None:
    session = BoundedSession(Deadline(1.0), Account(store.url, KEY, True))
    headers = {"PRIVATE-TOKEN": KEY} if method == "GET" else {}
    with pytest.raises(DownloadFailed, match="refers to another server"):
        session.request(method, f"{other.url}/retrieve/v1/processes/{DATASET}", headers=headers)
    session.close()
    assert other.calls == []


@pytest.mark.parametrize("piece", [KEY[:8], KEY[-8:], KEY[3:12], KEY[2:].upper(), f"{KEY[:9]}-{KEY[5:]}", KEY * 2])
def test_pieces_of_the_key_are_masked(piece: str, store: Store) -> None:
    store.faults = [Fault("post", faults.refuse(400, f"what is <{piece}>?"))]
    with pytest.raises(DownloadFailed, match=r"what is <\*\*\*[*-]*>\?") as error:
        stream().prepare_data()
    text = texts_of(error.value).lower()
    assert not any(KEY[i : i + 8] in text for i in range(len(KEY) - 7))


def test_the_key_in_a_redirect_is_masked(store: Store) -> None:
    store.faults = [Fault("post", redirect(f"http://{KEY}.example.org"))]
    with pytest.raises(DownloadFailed, match=REFUSED.format(r"http://\*\*\*\.example\.org")) as error:
        stream().prepare_data()
    check_no_key(texts_of(error.value))


@pytest.mark.parametrize(
    "url",
    [
        f"{KEY}",
        f"htps://{KEY}/api",
        f"https//{KEY}@cds",
        f"https://[{KEY}",
        f"https://127.0.0.1:{KEY}/api",
        f"https://:{KEY}/api",
        f"http://{KEY}\u2100/api",
        f"http://{KEY.upper()}/api",
        f"http://{KEY[:10]}.invalid/api",
    ],
)
def test_the_key_in_an_address_is_masked(url: str, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDSAPI_URL", url)
    with pytest.raises(DownloadFailed) as error:
        stream().prepare_data()
    text = texts_of(error.value).lower()
    assert "***" in text
    assert not any(KEY[i : i + 8] in text for i in range(len(KEY) - 7))
    assert store.calls == []


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("nothing", "nothing"),
        ("abcdefghijkl", "***"),
        ("an abcdefgh, an efghijkl", "an ***, an ***"),
        ("abcdefg", "abcdefg"),
        ("ABCDEFGH\u0130", "***\u0130"),
        ("xabcdefghijklx abcdefghij", "x***x ***"),
    ],
)
def test_masks(text: str, masked: str) -> None:
    assert mask(text, "abcdefghijkl") == masked


def test_masks_of_short_keys() -> None:
    assert mask("the key abc", "abc") == "the key ***"
    assert mask("the key abc", "") == "the key abc"


def test_an_account_of_the_environment(store: Store) -> None:
    assert find_account() == Account(store.url, KEY, True)
