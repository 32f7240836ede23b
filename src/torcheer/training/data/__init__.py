"""Data to train on: CIFAR from its own files, scikit-learn's digits, any folder of pictures.

`datasets` and `transforms` have the names that torchvision has for the same: a script that uses no others
needs another import only, `import torcheer.training.data as torchvision`.
"""

from torcheer.training.data import datasets as datasets
from torcheer.training.data import transforms as transforms
