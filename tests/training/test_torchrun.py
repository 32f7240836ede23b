"""Two processes under a real torchrun: rank 0 reports, both record, the numbers are those of all the data."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import torcheer as tl
from tests.copying import torchrun
from tests.training.several_ranks import BATCH, EPOCHS, TEST, TRAINING, Points, network
from torcheer.models import num_ranks, rank_of
from torcheer.training import distributed


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What is left of the two processes."""

    folder: Path
    ranks: list[dict[str, Any]]  # what each of them saw
    error: str  # what they said
    code: int


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    folder = tmp_path_factory.mktemp("torchrun")
    command = ["--nproc-per-node", "2", "-m", "tests.training.several_ranks", str(folder)]
    process = torchrun(*command, cwd=folder, env=os.environ, timeout=120)
    files = [folder / f"rank-{number}.json" for number in range(2)]
    assert all(file.exists() for file in files), process.stderr
    ranks = [json.loads(file.read_text()) for file in files]
    return Ended(folder=folder, ranks=ranks, error=process.stderr, code=process.returncode)


def test_each_epoch_has_all_the_data_in_an_order_of_its_own(ended: Ended) -> None:
    number = len(TRAINING) // 2
    epochs = [[rank["asked"][number * epoch :][:number] for rank in ended.ranks] for epoch in range(EPOCHS)]
    for shards in epochs:
        assert sorted(shards[0] + shards[1]) == list(range(len(TRAINING)))
    assert epochs[0] != epochs[1]


def test_two_processes_train_as_one_with_both_their_batches(ended: Ended) -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    shards = [rank["asked"] for rank in ended.ranks]
    losses = []
    for first in range(0, EPOCHS * len(TRAINING) // 2, BATCH):
        items = [TRAINING[index] for shard in shards for index in shard[first : first + BATCH]]
        x, y = (torch.stack(parts) for parts in zip(*items, strict=True))
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())

    for rank in ended.ranks:
        for weight, own in zip(model.parameters(), rank["weights"], strict=True):
            assert torch.allclose(weight, torch.tensor(own), atol=1e-6)
    both = torch.tensor([rank["steps"] for rank in ended.ranks])
    assert both.mean(0).tolist() == pytest.approx(losses, rel=1e-5)
    of_epochs = torch.tensor(losses).reshape(EPOCHS, -1).mean(1)
    assert ended.ranks[0]["history"]["train/loss"] == pytest.approx(of_epochs.tolist(), rel=1e-5)


def test_the_figures_are_those_of_the_whole_set_and_the_same_on_all_ranks(ended: Ended) -> None:
    model = network()
    with torch.no_grad():
        for weight, own in zip(model.parameters(), ended.ranks[0]["weights"], strict=True):
            weight.copy_(torch.tensor(own))
        y = (TEST.x.sum(1) > 0).long()
        scores = model(TEST.x)
    said = scores.argmax(1)
    assert (said != y).any()  # else there is no error whose place could be wrong
    for rank in ended.ranks:  # seven items are no even number: one of them is dealt out twice
        assert rank["loss"] == pytest.approx(nn.functional.cross_entropy(scores, y).item(), rel=1e-6)
        assert rank["history"]["test/loss"][-1] == pytest.approx(rank["loss"], rel=1e-6)
        assert rank["history"]["test/accuracy"][-1] == pytest.approx((said == y).float().mean().item())
        assert rank["confusion"] == torch.bincount(2 * y + said, minlength=4).reshape(2, 2).tolist()
        assert rank["errors"] == torch.nonzero(said != y).flatten().tolist()
    assert ended.ranks[0]["history"] == ended.ranks[1]["history"]


def test_a_training_that_goes_on_draws_the_same_numbers_on_each_rank(ended: Ended) -> None:
    for rank in ended.ranks:
        assert rank["resumed"] == rank["whole"]
    assert ended.ranks[0]["whole"] != ended.ranks[1]["whole"]


def test_rank_0_reports_and_all_record(ended: Ended) -> None:
    run = tl.open_run(ended.folder / "fit")
    assert run.state == "finished"
    for number, name in enumerate(("train/loss", "rank-1/train/loss")):
        assert run.scalars(name).values.tolist() == ended.ranks[number]["steps"]
    assert run.scalars("test/loss").values.tolist() == ended.ranks[0]["history"]["test/loss"]
    assert set(run.reader().parts()) == {"rank-0", "rank-1"}
    lines = [line for line in ended.error.splitlines() if line.startswith("epoch ")]
    assert [line.split("  ")[0] for line in lines] == ["epoch 1/2", "epoch 2/2", "epoch 1"]


def test_a_loop_of_ones_own_is_one_run_of_both(ended: Ended) -> None:
    paths = {(ended.folder / f"run-{number}.txt").read_text() for number in range(2)}
    (path,) = paths  # a new folder, of which rank 0 made up the name
    assert Path(path).parent == ended.folder / "runs"
    run = tl.open_run(path)
    assert {"loss", "rank-1/loss"} <= set(run.names("scalar"))
    assert run.watched.ranks == [0, 1]
    assert "0.weight" in run.watched.of_rank(1).names


def test_a_run_of_which_one_rank_dies_has_died(ended: Ended) -> None:
    assert ended.code != 0
    status = tl.open_run(ended.folder / "dies").status()
    assert (status.state, status.reason) == ("died", "RuntimeError: rank 1 is out of memory")


# --- what one process can tell ----------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "num_ranks"), [(7, 2), (8, 2), (2, 4), (9, 4)])
@pytest.mark.parametrize("drop_last", [False, True])
def test_no_item_is_dealt_out_twice_and_none_is_left_out(
    number: int, num_ranks: int, drop_last: bool
) -> None:
    data = Points(number, seed=0)
    shards = []
    for rank in range(num_ranks):
        sampler = DistributedSampler(data, num_ranks, rank, shuffle=False, drop_last=drop_last)
        loader = DataLoader(data, 2, sampler=sampler)
        before = list(sampler)
        with distributed.unpadded(loader):
            assert len(loader) == -(-len(list(sampler)) // 2)
            shards.append(list(sampler))
        assert list(sampler) == before
    assert shards == [list(range(rank, number, num_ranks)) for rank in range(num_ranks)]


def test_every_sampler_is_told_the_epoch_once() -> None:
    class Told:
        def __init__(self) -> None:
            self.epochs: list[int] = []

        def set_epoch(self, epoch: int) -> None:
            self.epochs.append(epoch)

    class Loader:
        def __init__(self) -> None:
            self.sampler, self.dataset = Told(), Told()
            self.batch_sampler = self.sampler

    loader = Loader()
    distributed.set_epoch(loader, 3)
    distributed.set_epoch([1, 2], 3)  # which has nobody to be told
    assert (loader.sampler.epochs, loader.dataset.epochs) == ([3], [3])


def test_in_one_process_nothing_is_exchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (rank_of(), num_ranks(), distributed.is_main()) == (0, 1, True)
    assert distributed.mean_over_ranks({"loss": torch.tensor(2.0)}, weight=0.0) == {"loss": 2.0}
    assert distributed.gathered("a") == ["a"]
    assert distributed.from_main("a") == "a"
    assert distributed.any_rank(True)
    assert not distributed.is_sharded(DataLoader(TEST, sampler=DistributedSampler(TEST, 2, 0)))
    # Before there is a process group, torchrun's environment says which rank it is.
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert (rank_of(), num_ranks(), distributed.is_main()) == (1, 2, False)
    assert distributed.names_of_rank({"loss": 1}) == {"rank-1/loss": 1}
