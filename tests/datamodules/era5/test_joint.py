"""All tasks at once: the same hours, on the same scale, as in the stream."""

import numpy as np
import torch

from tests.callbacks.figures.toy_series import ToySeries


def test_joint_training_has_the_hours_and_the_scale_of_the_stream() -> None:
    options = {"num_tasks": 3, "hours_per_task": 30, "seed": 4}
    stream, joint = ToySeries(**options), ToySeries(**options, joint=True)
    stream.setup()
    joint.setup()
    assert (joint.num_tasks, joint.num_learnt, joint.num_hours) == (1, 1, stream.num_hours)
    tasks = [stream.task_data(task) for task in range(3)]
    times, y, mask = joint.task_data(0)
    torch.testing.assert_close(times, torch.cat([task[0] for task in tasks]))
    torch.testing.assert_close(y, torch.cat([task[1] for task in tasks], 1))
    assert torch.equal(mask, torch.cat([task[2] for task in tasks], 1))
    (held_out,) = joint.test_loader(0, 0, 1)
    expected = torch.cat([batch.times for task in range(3) for batch in stream.test_loader(task, 0, 1)])
    np.testing.assert_array_equal(held_out.times, expected)
