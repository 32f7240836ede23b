"""Each kind of alarm over frames made by hand: when it is raised, what it says, and when it is silent."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from tests.inspector.frame_builder import frame_of, plan_of, row_of
from tests.many import examples
from torcheer.errors import InputError
from torcheer.inspector.alarms import KINDS, Alarms
from torcheer.inspector.child.child_loop import Figures
from torcheer.inspector.frame_format import Plan, Row
from torcheer.inspector.protocol import Numbers, Raised, Thresholds

Seen = Mapping[str, NDArray[Any] | None]
SMALL = Thresholds(steps=3, well_steps=4, stuck_weight=3)


class Watching:
    """Shows frames to alarms, one after the other."""

    def __init__(self, plan: Plan, thresholds: Thresholds = SMALL) -> None:
        self.alarms, self.step = Alarms(thresholds), 0
        self.renew(plan)

    def see(self, seen: Seen, units: Mapping[str, NDArray[Any]] | None = None) -> list[Raised]:
        frame = frame_of(self.plan, seen, step=self.step, units=units)
        self.step += 1
        return self.alarms.look(frame, self.figures.table([frame])[0])

    def see_often(self, count: int, make: Callable[[int], Seen]) -> list[Raised]:
        return [alarm for number in range(count) for alarm in self.see(make(number))]

    def renew(self, plan: Plan) -> None:
        self.plan, self.figures = plan, Figures(plan)
        self.alarms.renew(plan)


def numbers(*values: float) -> NDArray[numpy.float32]:
    return numpy.array(values, numpy.float32)


def normal(size: int | tuple[int, ...], scale: float = 1.0, seed: int = 0) -> NDArray[numpy.float32]:
    return numpy.random.default_rng(seed).normal(0, scale, size).astype(numpy.float32)


# --- NaN and infinity --------------------------------------------------------------------------------

LAYERS = ("a", "b", "c")
STEP = [
    *(f"{layer}.Act" for layer in LAYERS),
    *(f"{layer}.Grad" for layer in LAYERS),
    *(f"{layer}.weight" for layer in LAYERS),
    *(f"{layer}.weight.Grad" for layer in LAYERS),
    *(f"{layer}.weight.Delta" for layer in LAYERS),
]
NAN, INF = numbers(1, math.nan, 2, 3), numbers(1, math.inf, 2, 3)


def fine(seed: int = 0) -> dict[str, NDArray[Any] | None]:
    return {name: normal((2, 2), seed=seed + place) for place, name in enumerate(STEP)}


def test_what_comes_first_in_the_forward_pass_is_named_once() -> None:
    watching = Watching(plan_of(STEP))
    assert watching.see(fine()) == []
    raised = watching.see(dict.fromkeys(STEP, NAN) | {"a.Act": numbers(1, 2)})
    assert [(alarm.alarm, alarm.layer, alarm.variable, alarm.step) for alarm in raised] == [
        ("nan", "b", "Act", 1)
    ]
    assert raised[0].message == (
        "NaN in b.Act at step 1: 25 % of it; 13 other tensors are not finite in the same step"
    )
    assert raised[0].value == pytest.approx(0.25)
    assert watching.see(dict.fromkeys(STEP, NAN)) == []  # now the weights are, and all that follows


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"b.Act": NAN}, "NaN in b.Act"),
        ({"b.Act": INF}, "infinite values in b.Act"),
        ({"b.Act": numbers(math.nan, math.inf)}, "NaN and infinite values in b.Act"),
        # Backward, the last layer comes first, and what flows comes before what it leaves at a weight.
        ({"a.weight.Delta": NAN, "b.weight.Grad": NAN, "b.Grad": NAN, "a.Grad": NAN}, "NaN in b.Grad"),
        ({"b.weight.Grad": NAN, "b.weight.Delta": NAN, "b.weight": NAN}, "NaN in b.weight.Grad"),
        ({"c.weight.Delta": INF, "c.weight": INF}, "infinite values in c.weight.Delta"),
        ({"a.weight": NAN}, "NaN in a.weight at step 0"),
        ({"a.weight": NAN, "a.Act": NAN, "b.Act": NAN}, "NaN in a.Act"),
    ],
)
def test_the_cause_is_named(bad: Seen, says: str) -> None:
    (raised,) = Watching(plan_of(STEP)).see({**fine(), **bad})
    assert raised.message.startswith(says)


def test_a_weight_that_is_not_trained_comes_before_what_is_made_of_it() -> None:
    frozen = [name for name in STEP if not name.startswith("b.weight.")]
    (raised,) = Watching(plan_of(frozen)).see({**fine(), "b.weight": NAN, "a.weight": NAN, "a.Act": NAN})
    assert raised.message.startswith("NaN in b.weight at step 0")
    # Where nobody asked for gradients and updates, it is not known which are trained.
    (raised,) = Watching(plan_of([*STEP[:3], *STEP[6:9]])).see({"b.weight": NAN, "b.Act": NAN})
    assert raised.message.endswith(
        "in b.Act at step 0: 25 % of it; 1 other tensor is not finite in the same step"
    )


def test_a_container_comes_after_what_it_holds() -> None:
    own = Row(name="Act", layer="", variable="Act", role="activation", module="Model")
    plan = plan_of([own, "block.Act", "block.1.Act", "block.2.Act"])
    (raised,) = Watching(plan).see({row.name: NAN for row in plan.rows})
    assert raised.layer == "block.1"
    (raised,) = Watching(plan).see({"Act": NAN, "block.Act": NAN, "block.1.Act": numbers(1)})
    assert raised.layer == "block"


def test_nan_is_an_alarm_again_after_all_was_well() -> None:
    watching = Watching(plan_of(STEP))
    assert len(watching.see({"a.Act": NAN})) == 1
    assert watching.see_often(3, fine) == []
    assert watching.see({"b.Act": NAN}) == []  # not well for long enough
    assert watching.see_often(4, fine) == []
    assert [alarm.layer for alarm in watching.see({"b.Act": NAN})] == ["b"]


def test_gradients_that_do_not_reach_the_weights_are_no_alarm_at_first() -> None:
    # This is what loss scaling does to find its scale: the step is skipped.
    skipped = {**fine(), "b.weight.Grad": INF, "b.Grad": INF, "b.weight.Delta": numbers(0, 0, 0, 0)}
    watching = Watching(plan_of(STEP))
    assert watching.see(skipped) == []
    assert watching.see(fine()) == []
    assert watching.see_often(2, lambda _: skipped) == []
    assert [alarm.layer for alarm in watching.see(skipped)] == ["b"]


def test_positions_masked_with_minus_infinity_are_no_alarm() -> None:
    masked = {**fine(), "b.Act": numbers(-math.inf, 0.5, -math.inf)}
    assert Watching(plan_of(STEP)).see_often(5, lambda _: masked) == []
    harmed = {**masked, "b.weight.Grad": NAN, "b.weight.Delta": NAN}
    (raised,) = Watching(plan_of(STEP)).see(harmed)
    assert raised.layer == "b"


def test_a_loss_that_is_nan_is_told_once() -> None:
    alarms = Watching(plan_of(STEP)).alarms
    assert alarms.look_at_numbers(said(1, loss=0.5)) == []
    (raised,) = alarms.look_at_numbers(said(2, loss=math.nan, lr=math.nan))
    assert (raised.alarm, raised.variable, raised.message) == ("nan", "loss", "loss is NaN at step 2")
    assert alarms.look_at_numbers(said(3, loss=math.nan)) == []


# --- gradients ---------------------------------------------------------------------------------------


def gradients(*norms: float | None, seed: int = 0) -> Seen:
    """Gradients of layers a, b, c… with these norms."""
    found: dict[str, NDArray[Any] | None] = {}
    for layer, norm in zip("abcdefgh", norms, strict=False):
        values = normal((4, 8), seed=seed)
        found[f"{layer}.weight.Grad"] = None if norm is None else values * (norm / numpy.linalg.norm(values))
    return found


GRADIENTS = [f"{layer}.weight.Grad" for layer in "abcd"]


def test_a_gradient_far_above_what_is_usual_explodes() -> None:
    watching = Watching(plan_of(GRADIENTS))
    assert watching.see_often(40, lambda step: gradients(1, 2 + step % 3, 1, 1)) == []
    (raised,) = watching.see(gradients(1, 9000, 1, 1))
    assert (raised.alarm, raised.layer, raised.variable) == ("exploding_gradient", "b", "weight.Grad")
    assert raised.message == "exploding gradient in b.weight: norm 9e+03 at step 40, 3,000 times its usual 3"
    assert raised.value == pytest.approx(9000)
    assert raised.threshold == pytest.approx(300)


def test_gradients_that_double_at_each_step_are_found() -> None:
    watching = Watching(plan_of(GRADIENTS))
    assert watching.see_often(30, lambda _: gradients(1, 1, 1, 1)) == []
    raised = watching.see_often(12, lambda step: gradients(1, 1, 1, 2.0**step))
    assert [alarm.layer for alarm in raised] == ["d"]


def test_a_gradient_beyond_all_measure_explodes_at_once() -> None:
    (raised,) = Watching(plan_of(GRADIENTS)).see(gradients(1, 1, 1e18))
    assert (raised.alarm, raised.layer) == ("exploding_gradient", "c")
    assert raised.threshold == 1e15


@pytest.mark.parametrize(
    "norms",
    [
        lambda step: (1e-4 if step < 30 else 1.0, 0.5, 0.5),  # one layer begins to learn
        lambda step: (1.0 if step < 30 else 1e-4, 1.0 if step < 30 else 1e-4, 1.0 if step == 99 else 1e-4),
        lambda step: (10 ** math.sin(step), 10 ** math.sin(2 * step), 1.0),  # noise over two decades
        lambda step: (1.1**step, 1.1**step, 1.1**step),  # slow growth
        lambda step: (0.0 if step < 30 else 1.0, 0.0 if step < 30 else 1.0, 0.0 if step < 30 else 1.0),
    ],
)
def test_gradients_that_vary_do_not_explode(norms: Callable[[int], tuple[float, ...]]) -> None:
    watching = Watching(plan_of(GRADIENTS))
    raised = watching.see_often(100, lambda step: gradients(*norms(step)))
    assert [alarm for alarm in raised if alarm.alarm == "exploding_gradient"] == []


def test_gradients_that_fade_towards_the_first_layer_vanish() -> None:
    watching = Watching(plan_of(GRADIENTS))
    raised = watching.see_often(5, lambda _: gradients(1e-9, 1e-7, 1e-3, 1))
    assert [(alarm.alarm, alarm.layer, alarm.step) for alarm in raised] == [("vanishing_gradient", "a", 2)]
    assert raised[0].message == (
        "vanishing gradient in a.weight: norm 1e-09 at step 2, while it is 1 in d.weight; "
        "no better in 1 weight after it"
    )


@pytest.mark.parametrize(
    "norms",
    [
        (1e-9, 1e-9, 1e-9, 1e-9),  # all has been learned
        (0.1, 1e-9, 1e-9, 1.0),  # queries and keys of an attention that looks everywhere alike
        (1e-3, 0.01, 0.1, 1.0),
        (None, None, 1e-9, 1.0),  # of two, nobody can say
    ],
)
def test_small_gradients_that_harm_nothing_do_not_vanish(norms: tuple[float | None, ...]) -> None:
    assert Watching(plan_of(GRADIENTS)).see_often(30, lambda _: gradients(*norms)) == []


def test_a_bias_without_a_gradient_does_not_vanish() -> None:
    plan = plan_of(["a.bias.Grad", *GRADIENTS])
    seen = {"a.bias.Grad": normal(32, 1e-12), **gradients(1, 1, 1, 1)}
    assert Watching(plan).see_often(30, lambda _: seen) == []


# --- activations ------------------------------------------------------------------------------------

UNITS = plan_of([row_of("a.Act", "ReLU", unit_bytes=16)])


def alive(*marks: int) -> dict[str, NDArray[Any]]:
    return {"a.Act": numpy.array(marks)}


def test_units_that_are_always_zero_are_dead() -> None:
    watching, batch = Watching(UNITS), {"a.Act": normal((400, 5))}
    raised = [alarm for _ in range(9) for alarm in watching.see(batch, alive(1, 0, 0, 0, 0))]
    assert raised == []  # 80 % is not more than 80 %
    raised = [alarm for _ in range(9) for alarm in watching.see(batch, alive(0, 0, 0, 0, 0))]
    assert [(alarm.alarm, alarm.layer, alarm.step) for alarm in raised] == [("dead_units", "a", 11)]
    assert raised[0].message.startswith("dead units in a (ReLU): 100 % of them")


def test_units_that_come_to_life_now_and_then_are_not_dead() -> None:
    watching, batch = Watching(UNITS), {"a.Act": normal((400, 5))}
    raised = [
        alarm
        for step in range(60)  # each each after two steps without it
        for alarm in watching.see(batch, alive(*(int(unit % 3 == step % 3) for unit in range(5))))
    ]
    assert raised == []


def test_of_a_few_examples_no_unit_is_declared_dead() -> None:
    watching, few = Watching(UNITS), {"a.Act": normal((1, 5))}
    assert [alarm for _ in range(90) for alarm in watching.see(few, alive(0, 0, 0, 0, 0))] == []


def tanh_plan() -> Plan:
    return plan_of([row_of("a.Act", "Tanh"), row_of("b.Act"), row_of("c.Act", "Tanh"), "b.weight"])


def test_an_activation_at_its_bounds_is_saturated() -> None:
    watching = Watching(tanh_plan())
    bounds = numbers(*([-1, 1] * 50), 0.5)
    raised = watching.see_often(6, lambda _: {"a.Act": bounds, "c.Act": bounds})
    assert [(alarm.alarm, alarm.layer, alarm.step) for alarm in raised] == [("saturated", "a", 2)]
    assert "a (Tanh)" in raised[0].message  # and not c, which is where the model ends


def test_an_activation_that_is_often_at_its_bounds_is_not_saturated() -> None:
    bounds = numbers(*([-1, 1] * 40), *([0.3] * 20))
    assert Watching(tanh_plan()).see_often(30, lambda _: {"a.Act": bounds}) == []
    mixed = lambda step: {"a.Act": numbers(1, 1, 1) if step % 3 else normal(9, 0.1)}  # noqa: E731
    assert Watching(tanh_plan()).see_often(30, mixed) == []


# --- loss -------------------------------------------------------------------------------------------


def said(step: int, **values: float) -> Numbers:
    return Numbers(step=step, time=1.7e9 + step, values=values)


def spikes(losses: NDArray[Any] | list[float], name: str = "train/loss") -> list[Raised]:
    alarms = Watching(plan_of([]), Thresholds()).alarms
    return [
        alarm
        for step, loss in enumerate(losses)
        for alarm in alarms.look_at_numbers(said(step, **{name: float(loss)}))
    ]


def falling(count: int, noise: float = 0.1, seed: int = 0) -> NDArray[numpy.float64]:
    """From 2.3 to about 0.5, with noise that is a factor."""
    rng = numpy.random.default_rng(seed)
    return (0.5 + 1.8 * numpy.exp(-numpy.arange(count) / 100)) * numpy.exp(rng.normal(0, noise, count))


def test_a_loss_that_leaps_is_a_spike() -> None:
    losses = falling(300)
    losses[200:205] = 6.0
    (raised,) = spikes(losses)
    assert (raised.alarm, raised.step, raised.variable) == ("loss_spike", 200, "train/loss")
    assert raised.message.startswith("train/loss spiked to 6 at step 200, from 0.8")
    assert raised.threshold is not None
    assert raised.threshold < 6


@pytest.mark.parametrize("length", [1, 2, 6])
def test_a_loss_that_falls_fast_does_not_hide_its_spikes(length: int) -> None:
    losses = 0.1 + 2.2 * numpy.exp(-numpy.arange(200) / 30)
    losses[100 : 100 + length] *= 200

    assert [alarm.step for alarm in spikes(losses)] == [100]


def test_a_loss_that_was_always_0_has_no_spike() -> None:
    assert spikes([0.0] * 100 + [1e-6] + [0.0] * 20) == []


def test_a_spike_comes_again_only_after_a_while() -> None:
    losses = falling(300)
    losses[[150, 160, 170, 290]] = 9.0
    assert [alarm.step for alarm in spikes(losses)] == [150, 290]


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 10_000), noise=st.floats(0.01, 0.8))
def test_a_loss_that_is_merely_noisy_is_no_spike(seed: int, noise: float) -> None:
    assert spikes(falling(600, noise, seed)) == []


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 10_000))
def test_the_loss_of_single_examples_is_no_spike(seed: int) -> None:
    # Far from normal: most are near 0, a few are large.
    assert spikes(numpy.random.default_rng(seed).exponential(1.0, 600) ** 2) == []


@pytest.mark.parametrize(
    "losses",
    [
        [2.3] * 5 + [50.0] + [2.2] * 20,  # at the beginning nothing is usual
        [2.3] * 40 + [2.4] * 40,  # no spread at all, and a small step
        [*numpy.linspace(3, 0.01, 100), *[1e-4] * 80, 5e-3, *[1e-4] * 20],  # a ripple when all is learned
        [-5.0, -4.0, -6.0] * 40,
        [*numpy.linspace(3, 1, 80), *numpy.linspace(1, 3, 40)],  # it rises, but does not leap
    ],
)
def test_what_is_no_spike(losses: list[float]) -> None:
    assert spikes(losses) == []


def test_only_losses_spike() -> None:
    losses = falling(300)
    losses[200] = 60.0
    assert spikes(losses, "learning_rate") == []
    assert len(spikes(losses, "valLoss")) == 1


# --- weights that do not move -----------------------------------------------------------------------

WEIGHTS = [f"{layer}.weight{end}" for end in ("", ".Grad", ".Delta") for layer in "ab"]


def moving(step: int, **others: NDArray[Any] | None) -> dict[str, NDArray[Any] | None]:
    """Weights a and b move a little at each step; `others` by name, with _ for a dot."""
    found: dict[str, NDArray[Any] | None] = {
        "a.weight": normal((4, 4)) + numpy.float32(0.01 * step),
        "a.weight.Grad": normal((4, 4), seed=step),
        "a.weight.Delta": numpy.full((4, 4), 0.01, numpy.float32),
        "b.weight": normal((4, 4), seed=1) + numpy.float32(0.01 * step),
        "b.weight.Grad": normal((4, 4), seed=step + 1),
        "b.weight.Delta": numpy.full((4, 4), 0.01, numpy.float32),
    }
    return found | {name.replace("_", "."): array for name, array in others.items()}


STILL, NOTHING = normal((4, 4), seed=1), numpy.zeros((4, 4), numpy.float32)
UNMOVED = {"b_weight": STILL, "b_weight_Delta": NOTHING}


@pytest.mark.parametrize(
    ("rows", "others", "why"),
    [
        (WEIGHTS, UNMOVED, "it has a gradient, and stays the same"),
        (WEIGHTS[:4], {"b_weight": STILL}, "it has a gradient, and stays the same"),
        (WEIGHTS[2:], {"b_weight_Delta": NOTHING}, "it has a gradient, and stays the same"),
        (WEIGHTS, {**UNMOVED, "b_weight_Grad": NOTHING}, "its gradient is 0"),
        (WEIGHTS, {**UNMOVED, "b_weight_Grad": None}, "it gets no gradient"),
    ],
)
def test_a_weight_that_does_not_move_is_stuck(rows: list[str], others: Any, why: str) -> None:
    raised = Watching(plan_of(rows)).see_often(9, lambda step: moving(step, **others))
    assert [(alarm.alarm, alarm.layer, alarm.variable) for alarm in raised] == [
        ("stuck_weight", "b", "weight")
    ]
    assert raised[0].message.startswith(f"b.weight does not move: {why}, for 3 watched steps")


@pytest.mark.parametrize(
    "others",
    [
        lambda step: {},
        # Frozen: its row of gradients is never there, as it is not in the plan; here it was, and went.
        lambda step: {} if step < 5 else {**UNMOVED, "b_weight_Grad": None},
        # An update that is lost in rounding, of a weight with next to no gradient.
        lambda step: {**UNMOVED, "b_weight_Grad": normal((4, 4), 1e-9)},
        # Now and then it moves.
        lambda step: {**UNMOVED, "b_weight": STILL + numpy.float32(step // 2)},
        # Another optimizer changes it, between the steps of the one that is watched.
        lambda step: {"b_weight_Delta": NOTHING},
    ],
)
def test_weights_that_need_not_move_are_not_stuck(others: Callable[[int], Any]) -> None:
    raised = Watching(plan_of(WEIGHTS)).see_often(14, lambda step: moving(step, **others(step)))
    assert raised == []


def test_a_weight_with_next_to_no_gradient_is_not_stuck_where_updates_are_not_watched() -> None:
    still = {"b_weight": STILL, "b_weight_Grad": normal((4, 4), 1e-9)}
    assert Watching(plan_of(WEIGHTS[:4])).see_often(60, lambda step: moving(step, **still)) == []


def test_a_learning_rate_that_begins_at_zero_is_no_alarm() -> None:
    still = {"a_weight_Delta": NOTHING, "b_weight_Delta": NOTHING}
    watching = Watching(plan_of(WEIGHTS))
    warming = lambda step: moving(0, **still) if step < 20 else moving(step - 20)  # noqa: E731
    assert watching.see_often(60, warming) == []


def test_when_nothing_moves_for_long_there_is_one_alarm() -> None:
    still = {"a_weight_Delta": NOTHING, "b_weight_Delta": NOTHING}
    raised = Watching(plan_of(WEIGHTS)).see_often(60, lambda _: moving(0, **still))
    assert len(raised) == 1
    assert raised[0].message.startswith("no weight moves, from a.weight on")


def test_a_loss_that_is_satisfied_leaves_no_weight_stuck() -> None:
    learned = {"a_weight_Grad": NOTHING, "b_weight_Grad": NOTHING}
    watching = Watching(plan_of(WEIGHTS))
    assert watching.see_often(10, moving) == []
    assert watching.see_often(80, lambda _: moving(10, **learned)) == []


# --- all of them ------------------------------------------------------------------------------------


def test_many_layers_that_suffer_alike_are_not_many_alarms() -> None:
    rows = [f"l{index}.weight{end}" for index in range(20) for end in ("", ".Grad")]
    seen = {name: NOTHING if name.endswith("Grad") else STILL for name in rows}
    seen["l19.weight.Grad"] = STILL
    raised = Watching(plan_of(rows)).see_often(3, lambda _: seen)
    assert len(raised) == 3
    assert raised[-1].message.endswith("(and 16 others at this step)")


def test_a_new_plan_keeps_what_was_raised_and_what_is_usual() -> None:
    plan = plan_of([row_of("a.Act", "Tanh"), *GRADIENTS, "d.Act", "d.weight"])
    other = plan_of(
        [row_of("z.Act"), *reversed(GRADIENTS), row_of("a.Act", "Tanh"), "d.Act", "d.weight"], number=1
    )
    watching = Watching(plan)
    seen = {"a.Act": numbers(1, 1, -1), **gradients(1, 1, 1, 1)}
    assert [alarm.alarm for alarm in watching.see_often(20, lambda _: seen)] == ["saturated"]
    watching.renew(other)
    assert watching.see_often(5, lambda _: seen) == []
    (raised,) = watching.see({**seen, **gradients(1, 5000, 1, 1)})
    assert raised.message.startswith("exploding gradient in b.weight: norm 5e+03 at step 25, 5,000 times")


def test_a_new_plan_does_not_raise_nan_again() -> None:
    watching = Watching(plan_of(STEP))
    assert len(watching.see({"a.Act": NAN})) == 1
    watching.renew(plan_of(STEP[:3], number=1))
    assert watching.see({"a.Act": NAN}) == []


def test_each_alarm_can_be_switched_off() -> None:
    off = Thresholds(
        nonfinite=None,
        exploding_gradient=None,
        gradient_norm=None,
        vanishing_gradient=None,
        dead_units=None,
        saturated=None,
        loss_spike=None,
        stuck_weight=None,
    )
    watching = Watching(plan_of(STEP), off)
    assert watching.alarms._kinds == {}
    assert watching.see(dict.fromkeys(STEP, NAN)) == []
    assert watching.alarms.look_at_numbers(said(1, loss=math.nan)) == []
    assert set(Watching(plan_of(STEP), Thresholds()).alarms._kinds) == set(KINDS)


ANY_ARRAY = st.none() | arrays.arrays(
    numpy.float32,
    arrays.array_shapes(min_dims=1, max_dims=3, max_side=5, min_side=0),
    elements=st.floats(width=32),
)


@settings(max_examples=examples(60), deadline=None)
@given(frames=st.lists(st.dictionaries(st.sampled_from(STEP), ANY_ARRAY), max_size=6))
def test_whatever_comes_can_be_looked_at_and_told(frames: list[Seen]) -> None:
    watching = Watching(plan_of(STEP, sample_elements=16), Thresholds(steps=1, well_steps=1, stuck_weight=1))
    raised = [alarm for seen in frames for alarm in watching.see(seen)]
    watching.renew(plan_of(STEP[4:], sample_elements=16, number=1))
    raised += [alarm for seen in frames for alarm in watching.see(seen)]
    for alarm in raised:
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(alarm), type=Raised) == alarm
        assert alarm.alarm in KINDS
        assert f"step {alarm.step}" in alarm.message


def test_rows_that_are_never_seen_and_empty_tensors_are_no_alarm() -> None:
    watching = Watching(plan_of(STEP))
    assert watching.see_often(30, lambda _: {}) == []
    assert watching.see_often(30, lambda _: {name: numpy.zeros((0, 3), numpy.float32) for name in STEP}) == []
    assert Watching(plan_of([])).see({}) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dead_units", 50),
        ("saturated", 0),
        ("exploding_gradient", 0.5),
        ("exploding_gradient", math.nan),
        ("loss_spike", "ten"),
        ("vanishing_gradient", -1),
        ("stuck_weight", 2.5),
        ("stuck_weight", math.inf),
        ("steps", 0),
        ("well_steps", None),
    ],
)
def test_thresholds_that_mean_nothing_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match=name):
        Thresholds(**{name: value})


def test_thresholds_travel_between_processes() -> None:
    thresholds = Thresholds(dead_units=0.3, loss_spike=None, steps=7)
    data = msgspec.msgpack.encode(thresholds)
    assert msgspec.msgpack.decode(data, type=Thresholds) == thresholds
