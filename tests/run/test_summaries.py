"""Scripts that reach for the file writer behind TensorBoard's writer go on working."""

from pathlib import Path

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from torch.utils.tensorboard.summary import hparams, image, scalar

import torcheer as tl


def test_summaries_that_a_script_makes_itself_are_kept(tmp_path: Path) -> None:
    with tl.SummaryWriter(str(tmp_path)) as writer:
        for summary in hparams({"lr": 0.1, "name": "adam"}, {"acc": 0.5}):
            writer.file_writer.add_summary(summary)
        writer.file_writer.add_summary(scalar("loss", 0.25), 7, walltime=1234.5)
        writer._get_file_writer().add_event(Event(step=9, summary=scalar("loss", 0.125)))
        writer.all_writers[str(tmp_path)].add_summary(
            image("picture", np.zeros((3, 4, 5)), dataformats="CHW"), 1
        )
        assert writer.file_writer.get_logdir() == str(tmp_path)
        writer.file_writer.flush()

    run = tl.open_run(tmp_path)
    loss = run.scalars("loss")
    assert (loss.steps.tolist(), loss.values.tolist(), loss.times[0]) == ([7, 9], [0.25, 0.125], 1234.5)
    (entry,) = run.reader().records("hparams", "hparams")
    assert entry.head.hparams == {"lr": 0.1, "name": "adam"}  # type: ignore[union-attr]
    (picture,) = run.reader().records("image", "picture")
    assert (picture.head.width, picture.head.height) == (5, 4)  # type: ignore[union-attr]


def test_what_is_no_summary_is_told_and_counted(tmp_path: Path) -> None:
    with tl.SummaryWriter(str(tmp_path)) as writer, pytest.warns(tl.RunWarning, match="is no summary"):
        writer.file_writer.add_summary("no summary")
    assert tl.open_run(tmp_path).status().num_dropped == 1
