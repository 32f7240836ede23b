"""Whether features that are there already are the ones that are asked for; and if not, why."""

from __future__ import annotations

import math
from typing import Final

from torcheer.errors import InputError
from torcheer.features.manifest import Fingerprints, Manifest

_TOLERANCE: Final = 1e-2  # of a witness: another machine rounds in another way, half precision coarsely
_WAY_OUT: Final = "Extract to another place, or remove these features first."


def refuse_other_marks(there: Fingerprints, asked: Fingerprints, where: str) -> None:
    """Model, data and options, as they can be told before the model runs."""
    reason = (
        _other_weights(there.weights, asked.weights)
        or (there.structure != asked.structure and "of another model: its modules are other ones")
        or _other_settings(there.settings, asked.settings)
        or _other_code(there.code, asked.code)
        or _other_options(there.call, asked.call)
        or _other_data(there.data, asked.data)
    )
    if reason:
        raise InputError(f"{where} holds features {reason}. {_WAY_OUT}")


def refuse_other_plan(there: Manifest, asked: Manifest, where: str) -> None:
    """What the first pass shows: which layers, which shapes, which values."""
    refuse_other_marks(there.fingerprints, asked.fingerprints, where)
    if there.storage != asked.storage:
        raise InputError(f"{where} holds features as {there.storage}, and not as {asked.storage}. {_WAY_OUT}")
    before = {array.file: array for array in there.arrays}  # a layer may be called as a column is
    for array in asked.arrays:
        if array.file not in before:
            raise InputError(f"{where} holds features without {array.name!r}. {_WAY_OUT}")
        if before[array.file] != array:
            old = before[array.file]
            raise InputError(
                f"{where} holds {array.name!r} as {old.dtype} of the shape {old.shape}, and it is "
                f"{array.dtype} of "
                f"{array.shape} now. {_WAY_OUT}"
            )
    if len(before) != len(asked.arrays):
        files = {array.file for array in asked.arrays}
        missing = ", ".join(array.name for file, array in before.items() if file not in files)
        raise InputError(f"{where} holds {missing}, too, and that was not asked for now. {_WAY_OUT}")
    if not there.fingerprints.has_steady_data:
        return
    for origin, new in zip(there.origins, asked.origins, strict=True):
        if not math.isclose(origin.witness, new.witness, rel_tol=_TOLERANCE, abs_tol=1e-12):
            raise InputError(
                f"{where} was begun with other values: in the first batch {origin.name!r} had the mean size "
                f"{origin.witness:.6g}, "
                f"and now {new.witness:.6g}. The code of the model has changed, or the data, or what "
                "prepares them; or "
                f"the model gives other values each time. {_WAY_OUT}"
            )


def _other_weights(there: dict[str, str], asked: dict[str, str]) -> str:
    """An empty mark is that of a buffer which changes while the model runs."""
    changed = [
        name for name, mark in asked.items() if there.get(name) != mark and "" not in (there.get(name), mark)
    ]
    changed += [name for name in there if name not in asked]
    if not changed:
        return ""
    if set(there) != set(asked):
        return f"of another model: {changed[0]!r} is not in both of them"
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"of this model with other weights: {changed[0]!r}{more} changed since"


def _other_settings(there: dict[str, dict[str, str]], asked: dict[str, dict[str, str]]) -> str:
    """What is missing on one side changes while the model runs, and says nothing."""
    for address, own in there.items():
        for name, old in own.items():
            new = asked.get(address, {}).get(name, old)
            if new != old:
                full = f"{address}.{name}" if address else name
                return f"of this model, set otherwise: {full!r} was {old}, and is {new} now"
    return ""


def _other_code(there: dict[str, str], asked: dict[str, str]) -> str:
    if there.get("python") != asked.get("python"):
        return ""
    changed = next((name for name, mark in asked.items() if there.get(name, mark) != mark), None)
    return f"of a model with other code: that of {changed!r} changed since" if changed else ""


def _other_options(there: dict[str, str], asked: dict[str, str]) -> str:
    for name, value in asked.items():
        if there.get(name, "") != value:
            return f"that were asked for otherwise: {name} was {there.get(name, '')!r}, and is {value!r} now"
    return ""


def _other_data(there: dict[str, str], asked: dict[str, str]) -> str:
    """What is missing on one side could not be told there: it changes while the data are read."""
    for name, value in asked.items():
        old = there.get(name, value)
        if old == value:
            continue
        if name in ("number of samples", "kind"):
            return f"of other data: the {name} was {old}, and is {value} now"
        return f"of other data: their {name} changed since"
    return ""
