"""Kill the ranks of an extraction at random instants, again and again, and compare what comes out by bits.

    python -m tests.features.torture --kills 50

Four ranks under torchrun extract rows, components fitted on the way, samples of different shapes, a stream;
to a folder and to Zarr. One or two of them are killed without warning: while the files are made, while
something is fitted, as soon as a journal grows; torchrun starts them again. Then all of it is killed, and
another number of ranks goes on; some ranks outlive their torchrun and write beside the new ones. After each
kill whatever is reported as done must be what an undisturbed process finds. In the end every file must be
equal to that process's, and the same call once more must change nothing.

The same with copies of this process instead of torchrun, which die and are replaced one by one; and with two
torchruns in two network namespaces, where that is permitted. Ends at the first fault, and leaves the files.
"""

from __future__ import annotations

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported: copies of this process have it so, too

import argparse
import random
import shutil
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

from tests.features.torture_rounds import (
    KINDS,
    ForkRound,
    NotPermittedError,
    Reference,
    Round,
    Stage,
    Tally,
    TwoMachines,
    two_machines,
)

_LARGEST_FORK_ROUND = 40


class Torture:
    def __init__(self, place: Path, seed: int) -> None:
        self._place = place
        self._choices = random.Random(seed)
        self.reference = cache(lambda name: Reference(KINDS[name], place))

    def launches(self, num_kills: int) -> Tally:
        """Under torchrun, with a change of the number of ranks in between."""
        tally = Tally()
        for name, share, later in (
            ("rows", 0.16, [(3, 2), (1, 1), (2, 2)]),
            ("pca", 0.16, [(2, 1)]),
            ("ragged", 0.12, [(3, 1)]),
            ("zarr", 0.12, [(1, 0)]),
            ("stream", 0.08, [(3, 1)]),
        ):
            stages = [(4, round(share * num_kills)), *later]
            self._launch(name, tally, [Stage(num_ranks=ranks, num_kills=kills) for ranks, kills in stages])
        while tally.rank_kills < num_kills:
            self._launch("rows", tally, [Stage(num_ranks=4, num_kills=min(8, num_kills - tally.rank_kills))])
        return tally

    def _launch(self, name: str, tally: Tally, stages: list[Stage]) -> None:
        started, before = time.monotonic(), tally.rank_kills
        Round(KINDS[name], self.reference(name), self._place, self._choices, tally).run(stages)
        worlds = " → ".join(str(stage.num_ranks) for stage in stages)
        self._tell(f"torchrun, {name}, ranks {worlds}", tally.rank_kills - before, started)

    def machines(self, num_kills: int) -> Tally:
        """Raises NotPermittedError where there can be no namespaces."""
        tally, started = Tally(rounds=1000), time.monotonic()
        with two_machines() as machines:
            for name, kills in (("ragged", -(-num_kills // 2)), ("rows", num_kills // 2)):
                two = TwoMachines(
                    machines, KINDS[name], self.reference(name), self._place, self._choices, tally
                )
                two.run([Stage(num_ranks=4, num_kills=kills)])
        self._tell("two machines, 2 ranks each", tally.rank_kills, started)
        return tally

    def forks(self, num_kills: int) -> Tally:
        tally = Tally(rounds=2000)
        names = list(KINDS)
        while tally.rank_kills < num_kills:
            name = names[tally.rounds % len(names)]
            started, before = time.monotonic(), tally.rank_kills
            most = min(_LARGEST_FORK_ROUND, num_kills - before)
            ForkRound(KINDS[name], self.reference(name), self._place, self._choices, tally).run(most)
            self._tell(f"copies, {name}", tally.rank_kills - before, started)
        return tally

    def _tell(self, what: str, num_kills: int, started: float) -> None:
        seconds = time.monotonic() - started
        print(f"  {what}: {num_kills} kills, equal to the last bit ({seconds:.0f} s)", flush=True)


def summary(what: str, tally: Tally) -> str:
    moments = ", ".join(f"{name} {number}" for name, number in sorted(tally.moments.items()))
    return (
        f"{what}: {tally.rank_kills} ranks killed{f' ({moments})' if moments else ''}, {tally.launch_kills} "
        f"whole launches, {tally.orphans} ranks that outlived theirs; looked at {tally.looks} times on the "
        f"way; {tally.leftovers} files left that were begun under another name"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50, help="of ranks under torchrun")
    parser.add_argument("--forks", type=int, help="of copies; four times as many unless told otherwise")
    parser.add_argument("--namespaces", choices=("auto", "yes", "no"), default="auto")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    arguments = parser.parse_args()
    num_forks = 4 * arguments.kills if arguments.forks is None else arguments.forks
    place = Path(tempfile.mkdtemp(prefix="torcheer-torture-"))
    print(f"seed {arguments.seed}, in {place}", flush=True)
    torture = Torture(place, arguments.seed)
    lines = [summary("copies of a process", torture.forks(num_forks))]
    lines.append(summary("torchrun", torture.launches(arguments.kills)))
    if arguments.namespaces == "no":
        lines.append("two machines: skipped, as asked")
    else:
        try:
            lines.append(summary("two machines", torture.machines(max(2, arguments.kills // 10))))
        except NotPermittedError as error:
            if arguments.namespaces == "yes":
                raise
            lines.append(f"two machines: skipped: {error}")
    print("\n".join([*lines, "all is well"]))
    shutil.rmtree(place)
    return 0


if __name__ == "__main__":
    sys.exit(main())
