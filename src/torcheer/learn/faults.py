"""What is wrong with something that a student wrote: raised while it is read, shown beside the line."""

from __future__ import annotations

from torcheer.learn.document import LearnFault


class Fault(Exception):  # noqa: N818  # no error of the program's: it is shown to who wrote the line
    """Why a line cannot be read or computed. The line is filled in where it is known, further out."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line

    def shown(self) -> LearnFault:
        return LearnFault(line=self.line, message=self.message)
