"""The data sets, under the names that torchvision has for them."""

from torcheer.training.data.cifar10 import CIFAR10 as CIFAR10
from torcheer.training.data.cifar10 import CIFAR100 as CIFAR100
from torcheer.training.data.digits import load_digits as load_digits
from torcheer.training.data.imagefolder import ImageFolder as ImageFolder
