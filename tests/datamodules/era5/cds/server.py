"""A Climate Data Store on this machine: the calls that cdsapi makes, and the ways in which each of them may fail."""

import http.server
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.message import Message
from itertools import count
from typing import Any, Literal
from urllib.parse import urlsplit

from tests.datamodules.era5.cds.answers import Weather

KEY = "5ecre7-0f-n0b0dy"
DATASET = "reanalysis-era5-single-levels"
POINT_DATASET = f"{DATASET}-timeseries"
FOR_EVER = 10**9

Place = Literal["messages", "collection", "process", "post", "list", "status", "results", "head", "file"]


@dataclass
class Job:
    """A submitted request.

    Args:
        request: What is asked for.
        content: The file.
        states: The states that it goes through, one at each question; it stays in the last.
        reason: Why it failed, if it did.
    """

    request: dict[str, Any]
    content: bytes
    states: list[str]
    reason: str = ""

    @property
    def state(self) -> str:
        return self.states[0]


@dataclass
class Fault:
    """What happens instead of an answer.

    Args:
        place: To which call.
        act: What happens; if it gives True, there is no further answer.
        times: How many times.
    """

    place: Place
    act: "Callable[[Handler], bool]"
    times: int = FOR_EVER


@dataclass
class Behaviour:
    """How the store behaves, apart from faults of single calls.

    Args:
        states: The states of the first jobs; all others succeed.
        reason: Why jobs fail.
        spoil: Changes files; as many of them as `num_spoilt`.
        most_fields: The cost limit: variables times hours.
        preliminary: Whether data are preliminary.
    """

    states: list[list[str]] = field(default_factory=list)
    reason: str = ""
    spoil: Callable[[bytes], bytes] | None = None
    num_spoilt: int = FOR_EVER
    most_fields: int = FOR_EVER
    preliminary: bool = False


class Store(http.server.ThreadingHTTPServer):
    """The server; `posts` has every request that a job was made for, `calls` every call."""

    daemon_threads = True

    def __init__(self, weather: Weather) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url, self.weather = f"http://127.0.0.1:{self.server_port}", weather
        self.faults: list[Fault] = []
        self.behaviour = Behaviour()
        self.jobs: dict[str, Job] = {}
        self.posts: list[dict[str, Any]] = []
        self.calls: list[tuple[Place, str, Message]] = []
        self.latest: str | None = "2020-02-01T05:00:00Z"
        self.closing = threading.Event()
        self._numbers = count(1)

    def repair(self) -> None:
        """Stop all faults, and let running jobs succeed."""
        self.faults, self.behaviour = [], Behaviour()
        for job in self.jobs.values():
            if job.state == "running":
                job.states = ["running", "successful"]

    def fault(self, place: Place) -> Fault | None:
        for fault in self.faults:
            if fault.place == place and fault.times > 0:
                fault.times -= 1
                return fault
        return None

    def submit(self, request: dict[str, Any]) -> str:
        behaviour, number = self.behaviour, f"job-{next(self._numbers)}"
        self.posts.append(request)
        content = self.weather.answer(request, behaviour.preliminary)
        if behaviour.spoil is not None and behaviour.num_spoilt > 0:
            behaviour.num_spoilt -= 1
            content = behaviour.spoil(content)
        states = behaviour.states.pop(0) if behaviour.states else ["accepted", "running", "successful"]
        self.jobs[number] = Job(request, content, list(states), behaviour.reason)
        return number


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Store

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        self.handle_call("post", lambda: self.post(request))

    def do_HEAD(self) -> None:
        self.handle_call("head", lambda: self.send_file(self.job().content))

    def do_GET(self) -> None:
        path, last = urlsplit(self.path).path, urlsplit(self.path).path.rpartition("/")[2]
        last = DATASET if last == POINT_DATASET else last
        if path.startswith("/file/"):
            self.handle_call("file", lambda: self.send_file(self.job().content))
        elif path == "/catalogue/v1/messages":
            self.handle_call("messages", lambda: self.reply({"messages": []}))
        elif path == f"/catalogue/v1/collections/{DATASET}":
            extent = {"temporal": {"interval": [["1940-01-01T00:00:00Z", self.server.latest]]}}
            self.handle_call("collection", lambda: self.reply({"id": DATASET, "extent": extent}))
        elif last == DATASET:
            self.handle_call("process", lambda: self.reply({"id": DATASET}))
        elif path == "/retrieve/v1/jobs":
            numbers = [number for number, job in self.server.jobs.items() if job.state != "failed"]
            self.handle_call("list", lambda: self.reply({"jobs": [{"jobID": number} for number in reversed(numbers)]}))
        elif last == "results":
            self.handle_call("results", self.results)
        else:
            self.handle_call("status", self.status)

    def handle_call(self, place: Place, answer: Callable[[], None]) -> None:
        headers = self.headers
        self.server.calls.append((place, self.path, headers))
        with suppress(ConnectionError):  # the client has gone
            fault = self.server.fault(place)
            if fault is not None and fault.act(self):
                return
            if place in ("head", "file"):
                assert "PRIVATE-TOKEN" not in headers
            elif headers.get("PRIVATE-TOKEN") != KEY:
                self.reply({"title": "Authentication failed", "detail": f"{headers.get('PRIVATE-TOKEN')}?"}, 401)
                return
            answer()

    def post(self, request: dict[str, Any]) -> None:
        assert (POINT_DATASET in self.path) == ("location" in request)
        fields = len(request["variable"]) * len(request.get("day", [])) * len(request.get("time", []))
        if fields > self.server.behaviour.most_fields:
            self.reply({"title": "cost limits exceeded", "detail": "Your request is too large"}, 403)
            return
        monitor = f"{self.server.url}/retrieve/v1/jobs/{self.server.submit(request)}"
        self.reply({"links": [{"rel": "monitor", "href": monitor}]}, 201)

    def status(self) -> None:
        number = urlsplit(self.path).path.rpartition("/")[2]
        if number not in self.server.jobs:
            self.reply({"title": "job not found", "detail": number}, 404)
            return
        job = self.server.jobs[number]
        if "log=" in self.path and len(job.states) > 1:
            job.states.pop(0)
        answer = {"processID": DATASET, "status": job.state, "metadata": {"request": {"ids": job.request}}}
        self.reply({**answer, "links": [{"rel": "self", "href": f"{self.server.url}/retrieve/v1/jobs/{number}"}]})

    def results(self) -> None:
        job = self.job()
        if job.state in ("failed", "rejected"):
            verb = {"failed": "has failed", "rejected": "has been rejected"}[job.state]
            self.reply({"title": f"The job {verb}", "traceback": job.reason}, 400)
            return
        asset = {"href": f"{self.server.url}/file/{self.number()}", "file:size": len(job.content)}
        self.reply({"asset": {"value": asset}})

    def number(self) -> str:
        return next(part for part in urlsplit(self.path).path.split("/") if part.startswith("job-"))

    def job(self) -> Job:
        return self.server.jobs[self.number()]

    def reply(self, answer: dict[str, Any], status: int = 200) -> None:
        self.send(json.dumps(answer).encode(), status, {"Content-Type": "application/json"})

    def send_file(self, content: bytes) -> None:
        first = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        self.send(content[first:], 206 if first else 200, {"Accept-Ranges": "bytes"})

    def send(self, content: bytes, status: int, headers: dict[str, str], length: int | None = None) -> None:
        """Send an answer; a fault may change its announced length."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def hang_up(self) -> None:
        self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def running(weather: Weather) -> Iterator[Store]:
    """A server in its own thread."""
    with Store(weather) as store:
        thread = threading.Thread(target=store.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield store
        finally:
            store.closing.set()
            store.shutdown()
            thread.join()
