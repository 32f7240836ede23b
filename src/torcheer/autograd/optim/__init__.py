"""Optimizers, with torch's names: `import torcheer.autograd.optim as optim`."""

from torcheer.autograd.optim import lr_scheduler
from torcheer.autograd.optim.adam import Adam, AdamW
from torcheer.autograd.optim.optimizer import Optimizer
from torcheer.autograd.optim.rmsprop import Adagrad, RMSprop
from torcheer.autograd.optim.sgd import SGD

__all__ = ["SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
