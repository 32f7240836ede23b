"""What can go wrong, and what to do about it.

    TorcheerError
    ├── InputError (ValueError)        an argument of ours cannot mean what was asked
    │   └── ParameterError             a parameter of a training cannot have that value
    ├── AutogradError (RuntimeError)   a gradient of our own engine cannot be had
    ├── CaptureError (RuntimeError)    a pass could not be recorded
    ├── FileFormatError (ValueError)   a file is no saved pass or checkpoint, or is damaged
    ├── InspectorError (RuntimeError)  a training cannot be watched: the other process does not start
    └── LayerNotFoundError (KeyError)  no layer, or more than one, answers to that name

An exception that the model itself raises stays what it is; the pass so far is on it as `.history`.
"""


class TorcheerError(Exception):
    """Anything that torcheer itself raises."""


class InputError(TorcheerError, ValueError):
    """An argument cannot mean what was asked; the message names the fix."""


class ParameterError(InputError):
    """A value that a parameter cannot have. `field` names it, `requirement` says what it must be."""

    def __init__(self, message: str, *, field: str, requirement: str) -> None:
        super().__init__(message)
        self.field = field
        self.requirement = requirement


class AutogradError(TorcheerError, RuntimeError):
    """A gradient cannot be computed; the message says why, and what to write instead."""


class CaptureError(TorcheerError, RuntimeError):
    """A pass could not be recorded."""


class FileFormatError(TorcheerError, ValueError):
    """A file is not what it should be; the message names the file and what is wrong with it."""


class InspectorError(TorcheerError, RuntimeError):
    """A training cannot be watched; the message names the fix."""


class LayerNotFoundError(TorcheerError, KeyError):
    """No layer, or more than one, answers to that name; the message names the nearest."""

    def __str__(self) -> str:
        # KeyError would show the message in quotes.
        return str(self.args[0]) if self.args else ""
