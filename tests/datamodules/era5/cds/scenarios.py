"""Everything that may happen to a download of two months, and how it must end."""

from dataclasses import dataclass, field

from tests.datamodules.era5.cds import faults
from tests.datamodules.era5.cds.answers import zipped
from tests.datamodules.era5.cds.server import FOR_EVER, Behaviour, Fault, Place, Store

HALF_A_MINUTE, A_MOMENT = 30 / 3600, 3 / 3600
TOO_LATE = "not complete within .* hours: run again to resume the jobs"
QUEUED = "Number of queued requests for this dataset is temporarily limited"


@dataclass(frozen=True)
class Scenario:
    """A store that misbehaves.

    Args:
        broken: Place, act and how many times.
        says: What the program must say in the end; nothing if it must succeed.
        behaviour: How the store behaves otherwise.
        hours: The deadline.
        pause: Seconds between two tries.
        timeout: Seconds to wait for an answer.
        num_posts: How many jobs there must be after this and a second run, if that is not left open.
    """

    broken: tuple[tuple[Place, faults.Act, int], ...] = ()
    says: str = ""
    behaviour: dict[str, object] = field(default_factory=dict)
    hours: float = HALF_A_MINUTE
    pause: float = 0.01
    timeout: float = 20.0
    num_posts: int | None = None

    def set_up(self, store: Store) -> None:
        store.faults = [Fault(*fault) for fault in self.broken]
        store.behaviour = Behaviour(**self.behaviour)


def once(place: Place, act: faults.Act, **options: object) -> Scenario:
    return Scenario(((place, act, 1),), **options)


def always(place: Place, act: faults.Act, says: str, **options: object) -> Scenario:
    return Scenario(((place, act, FOR_EVER),), says, **options)


def jobs(*states: list[str], says: str = "", reason: str = "", **options: object) -> Scenario:
    return Scenario(says=says, behaviour={"states": list(states), "reason": reason}, **options)


def files(spoil: object, says: str = "", num_spoilt: int = FOR_EVER) -> Scenario:
    return Scenario(says=says, behaviour={"spoil": spoil, "num_spoilt": num_spoilt})


def garbage(content: bytes) -> bytes:
    return bytes(len(content))


BOMB = zipped({"data.nc": bytes(20 * 2**20)})  # made before anybody waits for it


def bomb(content: bytes) -> bytes:
    return BOMB


TROUBLE = faults.refuse(503, "Service unavailable")
FAILED, REJECTED = ["accepted", "failed"], ["accepted", "rejected"]

SCENARIOS = {
    "all is well": Scenario(num_posts=2),
    "401": always("post", faults.refuse(401, "Authentication failed"), "does not know the key", num_posts=2),
    "403 licence": always(
        "post",
        faults.refuse(403, "required licences not accepted"),
        r"licence of ERA5 is not accepted yet: accept it at https://cds.climate\S+manage-licences and run again",
    ),
    "403 too large, days": Scenario(behaviour={"most_fields": 100}, num_posts=3),
    "403 too large, variables": Scenario(behaviour={"most_fields": 30}, num_posts=9),
    "403 too large for anything": Scenario(
        behaviour={"most_fields": 0}, says="cannot be divided into smaller requests.*cost limits exceeded"
    ),
    "403 for no reason": always("post", faults.refuse(403, "no"), r"refused the request \(403 no\W+\)"),
    "400": always(
        "post", faults.refuse(400, "invalid request", "no such name"), "not accept the request .*no such name.*: check"
    ),
    "404": always("process", faults.refuse(404, "dataset not found"), "There is no ERA5 at 127.0.0.1 .*CDSAPI_URL"),
    "429 once": once("post", faults.refuse(429, "Rate limit exceeded"), num_posts=2),
    "429": always("post", faults.refuse(429, "Rate limit exceeded"), "accepts no more requests for now .*429 Rate"),
    "500s once": Scenario(
        tuple((place, TROUBLE, 1) for place in ("messages", "process", "post", "status", "results", "head", "file")),
        num_posts=2,
    ),
    "500 at the request": always("post", faults.refuse(500, "oh"), "has a server error .500 oh"),
    "502 of jobs": always("status", faults.refuse(502, "oh"), "has a server error .502 oh", num_posts=2),
    "503 of results": always("results", TROUBLE, "has a server error .*503 Service unavailable", num_posts=2),
    "503 of files": always("file", TROUBLE, "has a server error .*503 Service unavailable", num_posts=2),
    "404 of files once": once("file", faults.refuse(404)),
    "stall once": once("status", faults.stall, timeout=1.0, num_posts=2),
    "stall": always("status", faults.stall, "does not answer .*check the network", timeout=1.0, num_posts=2),
    "stall of files once": once("file", faults.stall, timeout=1.0, num_posts=2),
    "stall of files": always("file", faults.stall, "does not answer .*check the network", timeout=1.0, num_posts=2),
    "files that never end": always("file", faults.trickle, TOO_LATE, hours=A_MOMENT, num_posts=2),
    "files that drip": always("file", faults.drip, TOO_LATE, hours=A_MOMENT, num_posts=2),
    "answers that drip": always("status", faults.drip, TOO_LATE, hours=A_MOMENT, num_posts=2),
    "headers that drip": always("file", faults.drip_headers, TOO_LATE, hours=A_MOMENT, num_posts=2),
    "cut once": once("file", faults.cut, num_posts=2),
    "cut": always("file", faults.cut, "breaks off .*check the network", num_posts=2),
    "cut, and long pauses": always("file", faults.cut, TOO_LATE, hours=A_MOMENT, pause=60.0, num_posts=2),
    "503, and long pauses": always("file", TROUBLE, TOO_LATE, hours=A_MOMENT, pause=60.0, num_posts=2),
    "short file once": Scenario((("head", faults.shorten, 1), ("file", faults.shorten, 1))),
    "short file": Scenario(
        (("head", faults.shorten, FOR_EVER), ("file", faults.shorten, FOR_EVER)), "2020-01-30.* is incomplete"
    ),
    "wrong length once": once("head", faults.lengthen),
    "wrong length": always("head", faults.lengthen, "is incomplete"),
    "garbage once": files(garbage, num_spoilt=1),
    "garbage": files(garbage, "The downloaded file cannot be used: the file is not a netCDF file"),
    "half a file": files(lambda content: content[: len(content) // 2], "cannot be used: the file .*zip .*be read"),
    "bomb": files(bomb, "The downloaded file cannot be used: the file is a zip archive of 1 files and .* more than"),
    "job failed once": jobs(FAILED, reason="no disk"),
    "job failed": jobs(*[FAILED] * 9, says="job gave no result .400 The job has failed: no disk", reason="no disk"),
    "job rejected": jobs(*[REJECTED] * 9, says="job gave no result .400 The job has been rejected: no", reason="no"),
    "queue limit once": jobs(REJECTED, reason=QUEUED),
    "queue limit": jobs(*[REJECTED] * 9, says="accepts no more requests for now .*temporarily limited", reason=QUEUED),
    "job dismissed": jobs(["accepted", "dismissed"], num_posts=3),
    "job without end": jobs(*[["running"]] * 2, says=TOO_LATE, hours=A_MOMENT, num_posts=2),
    "results expired once": once("results", faults.refuse(404, "results expired")),
    "results expired": always("results", faults.refuse(404, "results expired"), "no longer has .*results expired"),
    "POST answered late": once("post", faults.answer_late(1.5), timeout=1.0, num_posts=2),
    "POST not answered": once("post", faults.drop_answer, num_posts=2),
    "POST never answered": always("post", faults.drop_answer, "", num_posts=2),
    "nonsense once": once("status", faults.talk_nonsense, num_posts=2),
    "nonsense": always("status", faults.talk_nonsense, "gave an unexpected answer", num_posts=2),
}
