"""TensorBoard's event files: read by us as they read them, written by us so that they can read them."""

import io
import json
import os
import sqlite3
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util.tensor_util import make_ndarray
from torch.utils.tensorboard import SummaryWriter

import torcheer as tl
from tests.many import examples
from torcheer.errors import InputError
from torcheer.graph import PassDocument
from torcheer.run.read.part_protocol import SeriesKey
from torcheer.run.tensorboard import protobuf as pb
from torcheer.run.tensorboard.event_file import framed, masked_checksum, read_event, simple_point
from torcheer.run.tensorboard.events_part import EventsPart, event_files

ALL = {"scalars": 0, "images": 0, "audio": 0, "histograms": 0, "compressedHistograms": 1, "tensors": 0}


def theirs(folder: Path) -> EventAccumulator:
    return EventAccumulator(str(folder), size_guidance=ALL).Reload()


def ours(folder: Path) -> EventsPart:
    part = EventsPart(folder)
    part.refresh()
    return part


def write_everything(folder: Path) -> None:
    generator = numpy.random.default_rng(0)
    with SummaryWriter(str(folder)) as writer:
        for step in range(5):
            writer.add_scalar("loss", 1 / (step + 1), step, walltime=1000.5 + step)
            writer.add_scalar("new/style", step * 0.1, step, new_style=True)
            writer.add_scalar("precise", 1e300 * step, step, new_style=True, double_precision=True)
            writer.add_histogram("weights", generator.normal(size=1000), step)
            writer.add_image("picture", generator.random((3, 5, 7)), step)
            writer.add_text("words", f"step **{step}** ünïcode", step)
            labels, predictions = generator.integers(0, 2, 100), generator.random(100)
            writer.add_pr_curve("pr", labels, predictions, step)
            writer.add_tensor("tensor", torch.full((2, 3), float(step)), step)
        writer.add_audio("beep", torch.sin(torch.arange(800) / 10).unsqueeze(0), 3, sample_rate=8000)
        writer.add_embedding(
            torch.tensor(generator.random((6, 4)), dtype=torch.float32),
            metadata=[["a", 1], ["b", 2], ["c", 3], ["d", 4], ["e", 5], ["f", 6]],
            metadata_header=["letter", "number"],
            label_img=torch.rand(6, 3, 8, 8),
            global_step=2,
            tag="codes",
        )
        writer.add_custom_scalars(
            {"Group": {"both": ["Multiline", ["loss", "new/.*"]], "m": ["Margin", ["a", "b", "c"]]}}
        )


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everything")
    write_everything(folder)
    return folder


def compare(folder: Path, part: EventsPart) -> None:
    """What TensorBoard's own reader finds in the folder is what the part has."""
    expected = theirs(folder)
    tags = expected.Tags()
    for tag in tags["scalars"]:
        events, points = expected.Scalars(tag), part.points(tag)
        assert points.steps.tolist() == [event.step for event in events]
        assert points.times.tolist() == [event.wall_time for event in events]
        assert_array_equal(points.values, [event.value for event in events])
    for tag in tags["images"]:
        entries = part.records("image", tag)
        assert [entry.step for entry in entries] == [event.step for event in expected.Images(tag)]
        for entry, event in zip(entries, expected.Images(tag), strict=True):
            assert part.data(entry.id) == event.encoded_image_string
    for tag in tags["histograms"]:
        for entry, event in zip(part.records("histogram", tag), expected.Histograms(tag), strict=True):
            numbers = numpy.frombuffer(part.data(entry.id) or b"")
            num_bins = entry.head.num_bins  # type: ignore[union-attr]
            assert numbers[num_bins + 1 :].sum() == pytest.approx(sum(event.histogram_value.bucket))
            assert entry.head.sum == pytest.approx(event.histogram_value.sum)  # type: ignore[union-attr]


def test_all_that_their_writer_writes_is_read_as_they_read_it(everything: Path) -> None:
    part = ours(everything)
    compare(everything, part)

    assert set(part.series()) == {
        ("scalar", "loss"),
        ("scalar", "new/style"),
        ("scalar", "precise"),
        ("histogram", "weights"),
        ("image", "picture"),
        ("text", "words"),
        ("pr_curve", "pr"),
        ("tensor", "tensor"),
        ("audio", "beep"),
        ("embedding", "codes"),
        ("layout", "layout"),
    }
    assert part.points("precise").values.tolist() == [1e300 * step for step in range(5)]
    assert part.points("new/style").values.tolist() == [float(numpy.float32(step * 0.1)) for step in range(5)]
    texts = [(part.data(entry.id) or b"").decode() for entry in part.records("text", "words")]
    assert texts == [f"step **{step}** ünïcode" for step in range(5)]
    (last,) = part.records("tensor", "tensor", after=part.records("tensor", "tensor")[-2].id)
    assert (last.head.shape, last.head.dtype) == ([2, 3], "float32")  # type: ignore[union-attr]
    assert part.data(last.id) == numpy.full((2, 3), 4, dtype="<f4").tobytes()
    (sound,) = part.records("audio", "beep")
    assert (part.data(sound.id) or b"").startswith(b"RIFF")
    assert part.status().note == ""


def test_curves_are_those_that_were_written(everything: Path) -> None:
    part, expected = ours(everything), theirs(everything)
    for entry, event in zip(part.records("pr_curve", "pr"), expected.Tensors("pr"), strict=True):
        rows = numpy.frombuffer(part.data(entry.id) or b"").reshape(6, -1)
        assert_allclose(rows, make_ndarray(event.tensor_proto), rtol=1e-6)


def test_embeddings_beside_the_events_are_found(everything: Path) -> None:
    part = ours(everything)
    (entry,) = part.records("embedding", "codes")
    head, data = entry.head, part.data(entry.id) or b""
    assert (entry.step, head.num_points, head.num_dims) == (2, 6, 4)  # type: ignore[union-attr]
    assert head.columns == ["letter", "number"]  # type: ignore[union-attr]
    table = numpy.loadtxt(next(everything.rglob("tensors.tsv")), delimiter="\t", dtype=numpy.float32)
    assert data[: table.nbytes] == table.tobytes()
    labels = json.loads(data[table.nbytes : table.nbytes + head.label_bytes])  # type: ignore[union-attr]
    assert labels == [list("abcdef"), list("123456")]
    assert Image.open(io.BytesIO(data[table.nbytes + head.label_bytes :])).size == (24, 24)  # type: ignore[union-attr]


def test_hyperparameters_are_found_in_the_run_of_their_own(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_hparams({"lr": 0.1, "name": "adam", "big": True, "n": 3}, {"acc": 0.5}, run_name="trial")
    part = ours(tmp_path / "trial")
    (entry,) = part.records("hparams", "hparams")
    assert entry.head.hparams == {"lr": 0.1, "name": "adam", "big": True, "n": 3.0}  # type: ignore[union-attr]
    assert part.points("acc").values.tolist() == [0.5]


def test_a_session_that_began_anew_takes_back_what_came_later(tmp_path: Path) -> None:
    for number, purge_step in enumerate((None, 3)):
        with SummaryWriter(str(tmp_path), purge_step=purge_step, filename_suffix=f".{number}") as writer:
            for step in range(purge_step or 0, 6):
                writer.add_scalar("loss", step + 100 * number, step)
        # The writer's own count goes from 9 to 10 at some time, and TensorBoard reads 10 before 9.
        (path,) = (path for path in tmp_path.iterdir() if path.name.endswith(f".{number}"))
        path.rename(tmp_path / f"events.out.tfevents.{number}")
    part = ours(tmp_path)
    compare(tmp_path, part)
    assert part.points("loss").values.tolist() == [0, 1, 2, 103, 104, 105]


def test_sessions_of_the_same_second_are_read_in_the_order_of_their_count(tmp_path: Path) -> None:
    for number, purge_step in ((9, None), (10, 3)):
        with SummaryWriter(str(tmp_path), purge_step=purge_step, filename_suffix=".new") as writer:
            for step in range(purge_step or 0, 6):
                writer.add_scalar("loss", step + 100 * number, step)
        (path,) = tmp_path.glob("*.new")
        path.rename(tmp_path / f"events.out.tfevents.1700000000.host.1.{number}")
    assert ours(tmp_path).points("loss").values.tolist() == [900, 901, 902, 1003, 1004, 1005]


def test_a_folder_that_grows_is_read_on_from_where_it_was(tmp_path: Path) -> None:
    part = EventsPart(tmp_path)
    writer = SummaryWriter(str(tmp_path))
    for step in range(3):
        writer.add_scalar("loss", step, step)
        writer.add_text("words", str(step), step)
        writer.flush()
        generation = part.refresh()
        assert part.points("loss", start=step).values.tolist() == [step]
        assert part.series()[SeriesKey("text", "words")].count == step + 1
        assert generation == 0
    writer.close()


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int64, torch.bool]
)
def test_tensors_of_all_types_come_back(tmp_path: Path, dtype: torch.dtype) -> None:
    tensor = torch.tensor([[0, 1, 3], [2, 1, 100]]).to(dtype)
    if dtype.is_signed:
        tensor = -tensor
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_tensor("t", tensor)
    part = ours(tmp_path)
    (entry,) = part.records("tensor", "t")
    assert entry.head.dtype == str(dtype).removeprefix("torch.")  # type: ignore[union-attr]
    assert part.data(entry.id) == tensor.contiguous().view(torch.uint8).numpy().tobytes()


# --- damage ------------------------------------------------------------------------------------------


def frames_of(folder: Path) -> tuple[Path, bytes]:
    (path,) = event_files(folder)
    return path, path.read_bytes()


def scalars_in(folder: Path, count: int) -> Path:
    with SummaryWriter(str(folder)) as writer:
        for step in range(count):
            writer.add_scalar("loss", step, step)
    return frames_of(folder)[0]


@pytest.mark.parametrize("missing", [1, 4, 11, 30, 45])
def test_a_file_that_is_cut_off_gives_all_that_is_whole_and_then_the_rest(
    tmp_path: Path, missing: int
) -> None:
    path = scalars_in(tmp_path, 20)
    whole = path.read_bytes()
    path.write_bytes(whole[:-missing])
    part = ours(tmp_path)
    assert part.points("loss").values.tolist() == list(range(20))[: -1 - missing // 40]
    assert part.status().note == ""
    path.write_bytes(whole)
    part.refresh()
    assert part.points("loss").values.tolist() == list(range(20))


def test_one_damaged_record_is_left_out_and_said(tmp_path: Path) -> None:
    path = scalars_in(tmp_path, 20)
    data = bytearray(path.read_bytes())
    at = data.index(b"loss", len(data) // 2)
    data[at] ^= 0xFF
    path.write_bytes(data)
    part = ours(tmp_path)
    assert len(part.points("loss").values) == 19
    part.refresh()
    assert "1 events could not be read" in part.status().note


def test_a_length_that_is_damaged_ends_the_file_and_says_where(tmp_path: Path) -> None:
    path = scalars_in(tmp_path, 20)
    data = path.read_bytes()
    at = data.rindex(b"loss") - 40
    path.write_bytes(data[:at] + bytes(12) + data[at + 12 :])
    part = ours(tmp_path)
    assert 0 < len(part.points("loss").values) < 20
    assert "damaged at byte" in part.status().note
    assert path.name in part.status().note


def test_a_huge_declared_length_takes_no_memory(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 60)
    good = framed(pb.double_field(1, 1.0) + pb.int_field(2, 3) + pb.bytes_field(5, b""))
    claim = length + struct.pack("<I", masked_checksum(length))
    (tmp_path / "events.out.tfevents.1.host").write_bytes(good + claim + b"x" * 100)
    assert ours(tmp_path).series() == {}


def test_a_tensor_that_declares_more_than_it_has_is_not_believed(tmp_path: Path) -> None:
    shape = pb.bytes_field(2, b"".join(pb.bytes_field(2, pb.int_field(1, 1 << 40)) for _ in range(2)))
    tensor = pb.int_field(1, 1) + shape + pb.bytes_field(4, bytes(8))
    value = pb.text_field(1, "w") + pb.bytes_field(8, tensor)
    event = pb.double_field(1, 1.0) + pb.bytes_field(5, pb.bytes_field(1, value))
    (tmp_path / "events.out.tfevents.1.host").write_bytes(framed(event))
    part = ours(tmp_path)
    assert part.series() == {}
    assert "1 values are left out: they declare far more" in part.status().note


@given(st.binary(max_size=200))
@settings(max_examples=examples(300), deadline=None)
def test_no_bytes_at_all_break_the_reading_of_an_event(data: bytes) -> None:
    try:
        read_event(data)
    except pb.DamagedMessageError:
        return


@given(
    st.floats(width=32),
    st.integers(-(2**63), 2**63 - 1),
    st.text(max_size=300).filter(lambda text: text.isprintable()),
    st.floats(allow_nan=False),
)
@settings(max_examples=examples(200), deadline=None)
def test_the_short_way_to_read_a_simple_value_gives_what_the_long_way_gives(
    value: float, step: int, name: str, time: float
) -> None:
    message = pb.text_field(1, name) + pb.single_field(2, value)
    data = pb.double_field(1, time) + pb.int_field(2, step) + pb.bytes_field(5, pb.bytes_field(1, message))
    event = read_event(data)
    short = simple_point(data)
    assert short is not None
    assert short[:3] == (event.time, event.step, name.encode())
    assert struct.pack("<f", short[3]) == struct.pack("<f", value)


def test_a_configuration_cannot_lead_out_of_its_folder(tmp_path: Path) -> None:
    secret = tmp_path / "secret.tsv"
    secret.write_text("1\t2\n")
    folder = tmp_path / "run"
    folder.mkdir()
    os.symlink(secret, folder / "link.tsv")
    blocks = [
        f'embeddings {{ tensor_name: "a" tensor_path: "{name}" }}'
        for name in ("../secret.tsv", str(secret), "link.tsv")
    ]
    (folder / "projector_config.pbtxt").write_text("\n".join(blocks))
    assert ours(folder).series() == {}


def test_a_configuration_is_read_in_the_time_of_its_length(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text("1\t2\n3\t4\n")
    long = "a" * 500_000  # a square of that would be days
    number = "9" * 5000  # more than Python makes a number of
    words = f'{long} sprite {{ single_image_dim: {number} }} tensor_path: "table.tsv" tensor_name: "t"'
    (tmp_path / "projector_config.pbtxt").write_text(f"embeddings {{ {words} }}")
    assert [key.name for key in ours(tmp_path).series()] == ["t"]


# --- writing -----------------------------------------------------------------------------------------


def test_what_we_export_is_read_by_their_reader_as_we_had_it(everything: Path, tmp_path: Path) -> None:
    before = ours(everything)
    tl.open_run(everything).export_tensorboard(tmp_path / "out")

    compare(tmp_path / "out", ours(tmp_path / "out"))
    original, again = theirs(everything), theirs(tmp_path / "out")
    assert [event.value for event in again.Scalars("loss")] == [
        event.value for event in original.Scalars("loss")
    ]
    for tag in ("picture",):
        pictures = [event.encoded_image_string for event in again.Images(tag)]
        assert pictures == [event.encoded_image_string for event in original.Images(tag)]
    for tag in ("words/text_summary", "tensor", "pr"):
        for mine, other in zip(again.Tensors(tag), original.Tensors(tag), strict=True):
            assert mine.step == other.step
            assert_array_equal(make_ndarray(mine.tensor_proto), make_ndarray(other.tensor_proto))
            plugin = again.SummaryMetadata(tag).plugin_data.plugin_name
            assert plugin == original.SummaryMetadata(tag).plugin_data.plugin_name
    layout = layout_pb2.Layout.FromString(
        make_ndarray(again.Tensors("custom_scalars__config__")[0].tensor_proto)[0]
    )
    assert [chart.title for chart in layout.category[0].chart] == ["both", "m"]
    assert layout.category[0].chart[1].margin.series[0].upper == "c"
    (embedding,) = ours(tmp_path / "out").records("embedding", "codes")
    (first,) = before.records("embedding", "codes")
    assert embedding.head == first.head


def test_hyperparameters_are_exported_as_they_write_them(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_hparams({"lr": 0.1, "name": "adam", "big": True}, {"acc": 0.5}, run_name="trial")
    tl.open_run(tmp_path / "trial").export_tensorboard(tmp_path / "out")
    found: dict[str, Any] = theirs(tmp_path / "out").summary_metadata
    content = found["_hparams_/session_start_info"].plugin_data.content
    info = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    assert info.hparams["lr"].number_value == 0.1
    assert info.hparams["name"].string_value == "adam"
    assert info.hparams["big"].number_value == 1  # as torch writes it
    infos = plugin_data_pb2.HParamsPluginData.FromString(found["_hparams_/experiment"].plugin_data.content)
    assert {one.name for one in infos.experiment.hparam_infos} == {"lr", "name", "big"}


def test_a_folder_with_event_files_is_not_written_into(everything: Path) -> None:
    with pytest.raises(InputError, match="has event files already"):
        tl.open_run(everything).export_tensorboard(everything)


def test_a_video_becomes_a_picture_that_moves(tmp_path: Path) -> None:
    video = torch.zeros(3, 3, 5, 6)
    video[:, 0] = torch.tensor([0.0, 0.5, 1.0])[:, None, None]
    with tl.Run(tmp_path / "run") as run:
        run.log_video(3, "film", video, frames_per_second=5)
    tl.open_run(tmp_path / "run").export_tensorboard(tmp_path / "events")
    (event,) = theirs(tmp_path / "events").Images("film")
    assert (event.step, event.width, event.height) == (3, 6, 5)
    moving = Image.open(io.BytesIO(event.encoded_image_string))
    assert (moving.format, moving.n_frames, moving.info["duration"]) == ("GIF", 3, 200)  # type: ignore[attr-defined]
    for number, shade in enumerate((0, 127, 255)):
        moving.seek(number)
        assert moving.convert("RGB").getpixel((1, 1)) == (shade, 0, 0)


def test_a_video_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    with tl.Run(tmp_path / "run") as run:
        run.log_video(3, "film", torch.rand(4, 3, 5, 6))
    with sqlite3.connect(tmp_path / "run" / "rank-0.sqlite") as connection:
        connection.execute("UPDATE data SET bytes = zeroblob(length(bytes))")
    tl.open_run(tmp_path / "run").export_tensorboard(tmp_path / "events")
    assert not theirs(tmp_path / "events").Tags()["images"]


def test_the_graph_of_a_pass_can_be_read_by_them(tmp_path: Path) -> None:
    from torch import nn

    from torcheer.capture import document_of, log_forward_pass
    from torcheer.run.tensorboard.export import graph_message

    history = log_forward_pass(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.randn(2, 4))
    document: PassDocument = document_of(history)
    event = pb.double_field(1, 1.0) + pb.bytes_field(4, graph_message(document))
    (tmp_path / "events.out.tfevents.1.host").write_bytes(framed(event))
    graph = theirs(tmp_path).Graph()
    names = {node.name for node in graph.node}
    assert len(names) == len(document.ops)
    assert all(parent in names for node in graph.node for parent in node.input)
    assert any(name.startswith("0/linear") for name in names)
