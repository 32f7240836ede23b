"""Lightning's Trainer with torcheer: a logger for what the module logs, a callback for what is inside of it.

    from torcheer.training.lightning import TorcheerCallback, TorcheerLogger

    trainer = Trainer(logger=TorcheerLogger("runs"), callbacks=[TorcheerCallback(watch="20/s")])

Needs Lightning, as `lightning` or `pytorch_lightning`; nothing else of torcheer does.
"""

from __future__ import annotations

from torcheer.training.lightning.callback import TorcheerCallback
from torcheer.training.lightning.logger import TorcheerLogger

__all__ = ["TorcheerCallback", "TorcheerLogger"]
