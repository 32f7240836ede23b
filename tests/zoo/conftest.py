"""After a run over the zoo, say what it held: ops, seconds and exemptions, model by model."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest


def pytest_terminal_summary(terminalreporter: Any) -> None:
    rows = [
        (report.nodeid.partition("[")[2].removesuffix("]"), dict(report.user_properties))
        for outcome in ("passed", "failed")
        for report in terminalreporter.stats.get(outcome, [])
        if isinstance(report, pytest.TestReport)
        and any(key == "num_ops" for key, _ in report.user_properties)
    ]
    if not rows:
        return
    write = terminalreporter.write_line
    terminalreporter.section("the zoo")
    write(f"{'model':54} {'ops':>6} {'capture':>8} {'validate':>8}  exemptions")
    total: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for name, facts in sorted(rows, key=lambda row: row[0]):
        exemptions = facts["exemptions"]
        total.update(exemptions)
        models.update(exemptions.keys())
        seconds = f"{facts['capture_seconds']:7.2f}s {facts['validate_seconds']:7.1f}s"
        write(f"{name:54} {facts['num_ops']:6} {seconds}  {sum(exemptions.values()) or ''}")
    num_ops = sum(facts["num_ops"] for _, facts in rows)
    seconds = sum(facts["validate_seconds"] for _, facts in rows)
    write(f"{len(rows)} models, {num_ops} ops, {seconds:.0f} s of validation. Exemptions, by reason:")
    for reason, count in total.most_common():
        write(f"{count:6} in {models[reason]:3} models: {reason}")
