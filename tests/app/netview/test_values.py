"""Numbers as levels of two bytes: none is further from its level than half of one, and the ends are exact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as st_numpy

import torcheer as tl
from tests.app.net_runs import AskedRun, layer, scene
from torcheer.app.netview import net_values
from torcheer.app.netview.net_messages import LEVELS, MINUS_INFINITY, NOT_A_NUMBER, NOT_THERE, PLUS_INFINITY
from torcheer.app.netview.net_reader import levels_of, numbers_in
from torcheer.errors import InputError
from torcheer.run import Connection, WatchedRow

FLOATS = st.sampled_from(["float16", "float32", "float64"])
ARRAYS = FLOATS.flatmap(lambda dtype: st_numpy.arrays(dtype, st.integers(1, 40)))


@given(ARRAYS)
def test_every_number_is_within_half_a_level_and_the_ends_are_exact(values: np.ndarray) -> None:
    exact = values.astype(np.float64)
    is_number = np.abs(exact) <= np.finfo(np.float64).max / 2
    found = levels_of(values.astype(np.float32) if values.dtype == np.float16 else values)

    assert np.array_equal(found.codes <= LEVELS, is_number)
    assert (found.codes[np.isnan(exact)] == NOT_A_NUMBER).all()
    assert (found.codes[~is_number & (exact > 0)] == PLUS_INFINITY).all()
    assert (found.codes[~is_number & (exact < 0)] == MINUS_INFINITY).all()
    numbers, codes = exact[is_number], found.codes[is_number].astype(np.float64)
    if not len(numbers):
        assert (found.low, found.high) == (0.0, 0.0)
        return
    assert (found.low, found.high) == (numbers.min(), numbers.max())
    if found.low == found.high:
        assert not codes.any()
        return
    assert (codes[numbers == found.low] == 0).all()
    assert (codes[numbers == found.high] == LEVELS).all()
    span = found.high - found.low
    wanted = (numbers - found.low) / span * LEVELS
    assert np.abs(codes - wanted).max() <= 0.53


@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "float32", "float64", "float8_e4m3fn", "float8_e5m2"]
)
def test_floats_of_all_types_are_read_as_torch_has_them(dtype: str) -> None:
    tensor = torch.randn(50).to(getattr(torch, dtype))
    data = tensor.view(torch.uint8).numpy().tobytes()
    assert np.array_equal(numbers_in(data, dtype).astype(np.float64), tensor.to(torch.float64).numpy())


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"])
def test_whole_numbers_of_all_types_are_read(dtype: str) -> None:
    info = np.iinfo(dtype)
    array = np.array([info.min, 0, 1, 77, info.max], dtype=dtype)
    numbers = numbers_in(array.astype(np.dtype(dtype).newbyteorder("<")).tobytes(), dtype)
    assert numbers.tolist() == array.tolist()
    found = levels_of(numbers)
    assert (found.low, found.high) == (float(info.min), float(info.max))
    assert (found.codes[0], found.codes[-1]) == (0, LEVELS)


@pytest.mark.parametrize("dtype", [torch.complex32, torch.complex64, torch.complex128])
@pytest.mark.filterwarnings("ignore:ComplexHalf")
def test_complex_numbers_are_shown_by_their_magnitude(dtype: torch.dtype) -> None:
    tensor = torch.tensor([3 + 4j, 0, -1j, 1], dtype=torch.complex64).to(dtype)
    data = torch.view_as_real(tensor).contiguous().view(torch.uint8).numpy().tobytes()
    assert numbers_in(data, str(dtype).removeprefix("torch.")).tolist() == [5.0, 0.0, 1.0, 1.0]


def test_truths_are_one_and_zero() -> None:
    found = levels_of(numbers_in(bytes([0, 1, 7, 0]), "bool"))
    assert (found.codes.tolist(), found.low, found.high) == ([0, LEVELS, LEVELS, 0], 0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([], []),
        ([3.5, 3.5, 3.5], [0, 0, 0]),
        ([np.nan, np.nan], [NOT_A_NUMBER] * 2),
        ([np.inf, -np.inf, 2.0], [PLUS_INFINITY, MINUS_INFINITY, 0]),
        (
            [-1.7e308, 1.7e308, 0.0, 1.0],
            [MINUS_INFINITY, PLUS_INFINITY, 0, LEVELS],
        ),  # beyond what a page holds
        ([-3e38, 3e38, 0.0], [0, LEVELS, 32_766]),
        ([0.0, 5e-324], [0, LEVELS]),
        ([1.0, 1.0 + 2**-52], [0, LEVELS]),
    ],
)
def test_the_odd_cases(values: Any, codes: list[int]) -> None:
    found = levels_of(np.array(values, dtype=np.float64))
    assert found.codes.tolist() == codes
    assert np.isfinite(found.high - found.low)


def test_the_widest_float32_has_levels() -> None:
    limits = np.finfo(np.float32)
    found = levels_of(np.array([limits.min, limits.max, 0.0], dtype=np.float32))
    assert found.codes.tolist()[:2] == [0, LEVELS]
    assert levels_of(np.array([0, 1e-45], dtype=np.float32)).codes.tolist() == [0, LEVELS]


def test_what_is_not_there_has_its_code_and_does_not_count() -> None:
    values = np.array([-100.0, 1.0, np.nan, 3.0, 2.0])
    found = levels_of(values, np.array([False, True, True, True, False]))
    assert found.codes.tolist() == [NOT_THERE, 0, NOT_A_NUMBER, LEVELS, NOT_THERE]
    assert (found.low, found.high) == (1.0, 3.0)


RANDOM = np.random.default_rng(0)


def test_one_item_of_each_layer_comes_as_it_was_recorded(tmp_path: Path) -> None:
    arrays = {
        "image": RANDOM.normal(size=(3, 3, 9, 7)).astype(np.float32),
        "conv.1": RANDOM.normal(size=(3, 5, 4, 4)).astype(np.float32),
        "fc": RANDOM.normal(size=(3, 11)),
        "tokens": RANDOM.normal(size=(3, 6, 8)).astype(np.float16),
    }
    with tl.Run(tmp_path) as run:
        for name, array in arrays.items():
            run.log_tensor(5, f"{name}.Act", array)
    asked = AskedRun(tmp_path)
    for item in range(3):
        for name, block in asked.values(*arrays, step=9, item=item).items():
            wanted = arrays[name][item].reshape(-1).astype(np.float64)
            assert (block.said["step"], block.said["why"]) == (5, "")
            assert (block.said["low"], block.said["high"]) == (wanted.min(), wanted.max())
            assert np.abs(block.values - wanted).max() <= block.tolerance


def test_the_last_record_up_to_a_step_is_shown(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        for step in (2, 4, 4, 8):
            run.log_tensor(step, "a.Act", np.full((1, 2), 10.0 * step + step % 3))
        run.log_tensor(4, "a.Act", np.full((1, 2), -4.0))
        run.log_tensor(8, "b.Act", np.ones((1, 2)))
    asked = AskedRun(tmp_path)
    assert [asked.values("a", step=step)["a"].said["low"] for step in (2, 3, 4, 7, 8, 99)] == [
        22.0,
        22.0,
        -4.0,
        -4.0,
        82.0,
        82.0,
    ]
    early = asked.values("a", "b", step=1)
    assert all(block.said["num_units"] == 0 for block in early.values())
    assert "first record is of step 8" in early["b"].said["why"]


def test_what_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "a.Act", np.ones((2, 4)))
        run.log_tensor(0, "empty.Act", np.ones((2, 0)))
    asked = AskedRun(tmp_path)
    assert "2 items: there is no item 2" in asked.values("a", item=2)["a"].said["why"]
    assert "Net was not recorded" in asked.values("a", variable="Net")["a"].said["why"]
    assert "no such layer" in asked.values("z")["z"].said["why"]
    assert "no units" in asked.values("empty")["empty"].said["why"]
    with pytest.raises(InputError, match="no layer 'z'"):
        asked.unit("z", 0)
    with pytest.raises(InputError, match="4 units: there is no unit 4"):
        asked.unit("a", 4)


def test_the_bias_of_a_convolution_is_that_of_each_map_and_of_a_linear_layer_of_each_token(
    tmp_path: Path,
) -> None:
    conv, linear = RANDOM.normal(size=4), RANDOM.normal(size=4)
    connections = [
        Connection(source="x", target="conv", form="conv", weight="0.weight"),
        Connection(source="conv", target="fc", form="linear", weight="deep.fc.weight"),
    ]
    with tl.Run(tmp_path) as run:
        shown = scene(layer("x", 3), layer("conv", 4, 3, 4), layer("fc", 4, 4), connections=connections)
        run.log_netview(0, shown)
        run.log_tensor(0, "conv.Act", np.zeros((2, 4, 3, 4)))
        run.log_tensor(0, "0.bias", conv)
        run.log_tensor(0, "deep.fc.bias", linear)
        run.log_tensor(0, "0.weight", np.ones((4, 3, 1, 1)))
    asked = AskedRun(tmp_path)
    blocks = asked.values("conv", "fc", "x", variable="Bias", item=1)
    assert np.abs(blocks["conv"].values - np.repeat(conv, 12)).max() <= blocks["conv"].tolerance
    assert np.abs(blocks["fc"].values - np.tile(linear, 4)).max() <= blocks["fc"].tolerance
    assert blocks["x"].said["num_units"] == 0
    assert asked.unit("conv", 35)["values"]["Bias"] == conv[2]
    assert asked.unit("fc", 7)["values"]["Bias"] == linear[3]
    assert asked.layers()["conv"]["variables"] == ["Act", "Bias"]


def test_a_shorter_sequence_lies_in_the_corner_of_its_layer_and_a_longer_one_is_refused(
    tmp_path: Path,
) -> None:
    short, long = RANDOM.normal(size=(1, 3, 4)), RANDOM.normal(size=(1, 6, 4))
    with tl.Run(tmp_path) as run:
        run.log_netview(0, scene(layer("a", 5, 4)))
        run.log_tensor(0, "a.Act", short)
        run.log_tensor(1, "a.Act", long)
    asked = AskedRun(tmp_path)
    block = asked.values("a")["a"]
    assert np.abs(block.values[:12] - short.reshape(-1)).max() <= block.tolerance
    assert (block.levels[12:] == NOT_THERE).all()
    assert asked.unit("a", 11)["values"] == {"Act": short[0, 2, 3]}
    assert asked.unit("a", 12)["values"] == {}
    assert "shape 6×4, and the layer has 5×4" in asked.values("a", step=1)["a"].said["why"]


def test_a_unit_has_its_exact_values_and_words_for_what_is_no_number(tmp_path: Path) -> None:
    act = RANDOM.normal(size=(2, 3, 5))
    net = act.astype(np.float32)
    net[1, 2, 4], net[1, 0, 0], net[1, 0, 1] = np.nan, np.inf, -np.inf
    with tl.Run(tmp_path) as run:
        run.log_tensor(3, "a.Act", act)
        run.log_tensor(1, "a.Net", net)
        run.log_tensor(3, "a.Half", torch.tensor(act).to(torch.bfloat16))
    asked = AskedRun(tmp_path)
    for unit in range(15):
        found = asked.unit("a", unit, step=3, item=1)
        place = np.unravel_index(unit, (3, 5))
        assert found["values"]["Act"] == act[1][place]
        half = torch.tensor(act[1][place]).to(torch.bfloat16).item()
        assert found["values"]["Half"] == half
        wanted = {14: "NaN", 0: "Infinity", 1: "-Infinity"}.get(unit, float(net[1][place]))
        assert found["values"]["Net"] == wanted
        assert found["steps"] == {"Act": 3, "Net": 1, "Half": 3}


def test_a_unit_over_time_is_read_from_all_records_or_evenly_from_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = np.arange(0, 600, 2)
    act = RANDOM.normal(size=(len(steps), 2, 3, 4)).astype(np.float32)
    act[7] = np.nan
    with tl.Run(tmp_path) as run:
        for step, array in zip(steps, act, strict=True):
            run.log_tensor(int(step), "a.Act", array)
        run.log_tensor(10, "a.Net", act[3])
        run.log_tensor(10, "a.Net", act[4])
    asked = AskedRun(tmp_path)
    found = asked.unit_series("a", 6, item=1)
    assert np.array_equal(found["Act"][0], steps)
    assert np.array_equal(found["Act"][1], act[:, 1, 1, 2].astype(np.float64), equal_nan=True)
    assert [column.tolist() for column in found["Net"]] == [[10.0], [float(act[4, 1, 1, 2])]]
    few = asked.unit_series("a", 6, item=1, most=5)["Act"][0]
    assert (len(few), few[0], few[-1]) == (5, 0, 598)
    window = asked.unit_series("a", 6, item=1, low=100, high=110)
    assert window["Act"][0].tolist() == [100, 102, 104, 106, 108, 110]
    assert len(window["Net"][0]) == 0
    # What stands before the value in large records is gone through: not without end.
    monkeypatch.setattr(net_values, "_MAX_SKIPPED_BYTES", 18 * 4 * 50)
    assert 20 <= len(asked.unit_series("a", 6, item=1)["Act"][0]) <= 50


def test_a_raster_has_a_row_for_each_of_the_last_moments_on_one_scale(tmp_path: Path) -> None:
    act = RANDOM.normal(size=(10, 2, 6)).astype(np.float32)
    with tl.Run(tmp_path) as run:
        for step in range(10):
            run.log_tensor(step, "a.Act", act[step])
            if step >= 4 and step % 2:
                run.log_tensor(step, "b.Act", 5 * act[step])
    asked = AskedRun(tmp_path)
    steps, blocks = asked.raster("a", "b", "z", step=7, num_moments=5, item=1)
    assert steps == [3, 4, 5, 6, 7]
    assert np.abs(blocks["a"].values - act[3:8, 1]).max() <= blocks["a"].tolerance
    assert (blocks["a"].said["low"], blocks["a"].said["high"]) == (act[3:8, 1].min(), act[3:8, 1].max())
    assert (blocks["b"].levels[:2] == NOT_THERE).all()
    shown = 5 * act[[5, 5, 7], 1]
    assert np.abs(blocks["b"].values[2:] - shown).max() <= blocks["b"].tolerance
    assert blocks["z"].said["num_units"] == 0
    assert asked.raster("a", step=99, num_moments=1024)[0] == list(range(10))


def test_an_answer_has_no_more_levels_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tl.Run(tmp_path) as run:
        for step in range(8):
            for name in "abc":
                run.log_tensor(step, f"{name}.Act", np.ones((1, 40)))
    monkeypatch.setattr(net_values, "MAX_LEVELS", 100)
    asked = AskedRun(tmp_path)
    blocks = asked.values("a", "b", "c")
    assert [block.said["num_units"] for block in blocks.values()] == [40, 40, 0]
    assert "too many units" in blocks["c"].said["why"]
    steps, rows = asked.raster("a", step=7, num_moments=8)
    assert (steps, rows["a"].levels.shape) == ([6, 7], (2, 40))


def test_of_a_large_record_only_the_item_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with tl.Run(tmp_path) as run:
        run.log_tensor(0, "a.Act", np.ones((100, 1000)))
    asked = AskedRun(tmp_path)
    asked.scene()
    read: list[int] = []
    plain = net_values.read_stretches
    monkeypatch.setattr(
        net_values,
        "read_stretches",
        lambda reader, wanted: read.extend(one.size for one in wanted) or plain(reader, wanted),
    )
    asked.values("a", item=99)
    assert read == [1000]


@pytest.mark.parametrize("module", ["Conv1d", "Linear"])
def test_without_connections_the_module_says_along_which_dimension_a_bias_lies(
    tmp_path: Path, module: str
) -> None:
    bias = np.arange(4.0)
    row = WatchedRow(
        name="a.Act", layer="a", variable="Act", role="activation", module=module, shape=[2, 4, 4]
    )
    with tl.Run(tmp_path) as run:
        run.log_watch(0, [row], ("mean",), digest="a", every="1")
        run.log_tensor(0, "a.Act", np.zeros((2, 4, 4)))
        run.log_tensor(0, "a.bias", bias)
    block = AskedRun(tmp_path).values("a", variable="Bias")["a"]
    wanted = np.repeat(bias, 4) if module == "Conv1d" else np.tile(bias, 4)
    assert np.abs(block.values - wanted).max() <= block.tolerance
