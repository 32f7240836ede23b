"""Variables have a group, a place in it, and a sentence that says what they are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from torcheer.netview import about, in_order
from torcheer.netview.scene import GROUPS

USUAL = ("Act", "Net", "Bias", "Grad", "r.Wt", "s.Wt", "r.Grad", "s.exp_avg", "r.momentum_buffer")


def test_variables_stand_by_group_and_r_beside_s() -> None:
    mixed = [
        "s.exp_avg",
        "Ge",
        "r.Grad",
        "Grad",
        "s.Wt",
        "Bias",
        "Inhib",
        "r.Wt",
        "Act",
        "Net",
        "s.Grad",
        "Act",
    ]
    assert in_order(mixed) == [
        "Act",
        "Net",
        "Bias",
        "Grad",
        "r.Wt",
        "s.Wt",
        "r.Grad",
        "s.Grad",
        "s.exp_avg",
        "Ge",
        "Inhib",
    ]


def test_what_is_not_known_is_among_the_others_as_it_came() -> None:
    assert about("Ge").group == "Others"
    assert in_order(["z", "a", "m"]) == ["z", "a", "m"]
    assert about("r.my_state") == (
        "Weights of unit",
        "Of what the unit receives: my_state, which is kept for the weight.",
    )
    assert about("Mid.Grad") == ("Learn", "The gradient of the loss with respect to Mid.")
    assert about("r.").group == "Others"


@given(st.lists(st.text(max_size=12) | st.sampled_from(USUAL)))
def test_every_name_has_a_group_a_sentence_and_one_place(names: list[str]) -> None:
    ordered = in_order(names)
    assert sorted(ordered) == sorted(set(names))
    groups = [GROUPS.index(about(name).group) for name in ordered]
    assert groups == sorted(groups)
    assert all(about(name).about.endswith(".") for name in ordered)
