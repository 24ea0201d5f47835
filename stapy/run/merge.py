"""The program ``stapy-merge``: the files of bulk mode as one text in the order of time."""

from __future__ import annotations

import heapq
import os
import struct
import sys

from . import losses, streams
from .errors import RunError
from .messages import MessagePrinter
from .output import open_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, Iterator, List, Optional, Tuple

USAGE = """\
Usage: stapy-merge [-v] [-o FILE] FILES...

  -o FILE     write the text to FILE, else to standard output
  -v          say of each piece which processor it is of, which one it is there, and
              how many bytes it has
  -V, -h      version, this text

FILES are those that stapy -b has written, one for each processor. Several of one
processor (-S) are joined first: cat FILE_0.0 FILE_0.1 >FILE_0
"""
# runtime/transport/ring.h; files that stand since before causes were told have a shorter header.
_HEADER = struct.Struct("<IIQQQII")
_MAGIC = 0x32425053
_OLD_HEADER = struct.Struct("<IIQQQ")
_OLD_MAGIC = 0x31425053


class BulkPiece:
    """A piece of the output of one processor."""

    __slots__ = ("causes", "lost", "number", "overwritten", "stamp", "text")

    def __init__(self, number: int, header: Tuple[int, ...], text: bytes) -> None:
        _, _, self.stamp, self.lost, self.overwritten, *why = header
        self.causes = losses.causes(why[0]) if why else []
        self.number = number
        self.text = text


def read(file: BinaryIO, name: str) -> Iterator[BulkPiece]:
    """Yield the pieces of a file; `RunError` where it is damaged, or ends in the middle of one."""
    at = number = 0
    while True:
        head = file.read(_OLD_HEADER.size)
        if not head:
            return
        if len(head) < _OLD_HEADER.size:
            raise RunError(f"'{name}' ends in the middle of a piece, at byte {at}")
        header = _OLD_HEADER.unpack(head)
        if header[0] == _MAGIC:
            head += file.read(_HEADER.size - _OLD_HEADER.size)
            if len(head) < _HEADER.size:
                raise RunError(f"'{name}' ends in the middle of a piece, at byte {at}")
            header = _HEADER.unpack(head)
        elif header[0] != _OLD_MAGIC:
            what = "no piece of bulk output" if at else "no file of bulk mode (stapy -b)"
            raise RunError(f"'{name}' has {what} at byte {at}" if at else f"'{name}' is {what}")
        length = header[1]
        padded = length + 7 & ~7
        text = file.read(padded)
        if len(text) < padded:
            raise RunError(f"'{name}' ends in the middle of a piece, at byte {at}")
        yield BulkPiece(number, header, text[:length])
        at += len(head) + padded
        number += 1


def cpu_of(name: str, place: int) -> int:
    """Tell which processor a file is of, by the number at its end; else by its place in the row."""
    base = os.path.basename(name)
    digits = base[len(base.rstrip("0123456789")) :]
    return int(digits) if digits else place


def merge(files: List[Tuple[str, BinaryIO]], to: BinaryIO, is_verbose: bool = False) -> List[str]:
    """Write the text of all files in the order of time; what is wrong with files, by their names.

    What stands before the damage is written all the same.
    """
    troubles: List[str] = []

    def pieces(
        place: int, name: str, file: BinaryIO
    ) -> Iterator[Tuple[int, int, int, int, BulkPiece]]:
        cpu = cpu_of(name, place)
        try:
            for piece in read(file, name):
                yield piece.stamp, place, piece.number, cpu, piece
        except RunError as error:
            troubles.append(str(error))

    rows = [pieces(place, name, file) for place, (name, file) in enumerate(files)]
    for *_, cpu, piece in heapq.merge(*rows):
        if piece.overwritten:
            to.write(losses.mark("overwrote", piece.overwritten, cpu, []))
        if piece.lost:
            to.write(losses.mark("lost", piece.lost, cpu, piece.causes))
        if is_verbose:
            to.write(b"[CPU:%d, seq=%d, length=%d]\n" % (cpu, piece.number, len(piece.text)))
        to.write(piece.text)
    return troubles


def main(words: Optional[List[str]] = None) -> int:
    """Obey a command line and return the exit status."""
    words = sys.argv[1:] if words is None else words
    streams.hold()
    try:
        if "-h" in words or "--help" in words:
            return streams.show([USAGE.rstrip("\n")])
        if "-V" in words or "--version" in words:
            from .cli import version

            return streams.show([version()])
        return _obey(words)
    except RunError as error:
        MessagePrinter().error(str(error))
    except BrokenPipeError:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        return 0  # the reader wanted no more
    except OSError as error:
        MessagePrinter().error(f"Couldn't write the output: {error.strerror}")
    return 1


def _obey(words: List[str]) -> int:
    output, is_verbose, names = _parse(words)
    files: List[Tuple[str, BinaryIO]] = []
    for name in names:
        try:
            files.append((name, os.fdopen(os.open(name, os.O_RDONLY | os.O_CLOEXEC), "rb")))
        except OSError as error:
            raise RunError(f"Couldn't open '{name}': {error.strerror}") from None
    if output and any(_is_same(output, file) for _, file in files):
        raise RunError(f"'{output}' is one of the files to be merged")
    try:
        to = os.fdopen(open_file(output), "wb") if output else sys.stdout.buffer
    except OSError as error:
        raise RunError(f"Couldn't open output file '{output}': {error.strerror}") from None
    troubles = merge(files, to, is_verbose)
    to.flush()
    for text in troubles:
        MessagePrinter().error(text)
    return 1 if troubles else 0


def _is_same(name: str, file: BinaryIO) -> bool:
    try:
        return os.path.samestat(os.stat(name), os.fstat(file.fileno()))
    except OSError:
        return False


def _parse(words: List[str]) -> Tuple[str, bool, List[str]]:
    """Parse the words: the file of -o, whether -v was given, and the files to merge."""
    output, is_verbose, names = "", False, []
    queue = list(words)
    while queue:
        word = queue.pop(0)
        if word == "-v":
            is_verbose = True
        elif word.startswith("-o"):
            output = word[2:] or (queue.pop(0) if queue else "")
            if not output:
                raise RunError("option '-o' needs a value. Try 'stapy-merge --help'.")
        elif word == "--":
            names += queue
            break
        elif word.startswith("-") and len(word) > 1:
            raise RunError(f"unknown option '{word}'. Try 'stapy-merge --help'.")
        else:
            names.append(word)
    if not names:
        raise RunError("no file was named. Try 'stapy-merge --help'.")
    return output, is_verbose, names
