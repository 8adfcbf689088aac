"""Ways to learn, each with state of its own to be resumed."""

from typing import Any

#: By name: sections of the config. Three tasks of some steps each.
CASES: dict[str, dict[str, Any]] = {
    "closed form": {"data": {"batch_size": 5}},
    "collapsed": {"model": {"method": "OSGPR"}, "data": {"steps_per_epoch": 30}},
    "free form": {"model": {"method": "OHSVGP"}, "data": {"steps_per_epoch": 30, "batch_size": 5}},
    "train first task": {
        "model": {"method": "OSVGP", "hyperparameters": "train_first_task"},
        "data": {"steps_per_epoch": 30, "batch_size": 5},
    },
}
