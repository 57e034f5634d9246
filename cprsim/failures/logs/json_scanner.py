"""The JSON of a spot trace, read block by block: a list of millions of ticks stays on the disk."""

import re
from collections.abc import Iterator
from io import BufferedReader

import numpy as np
from numpy.typing import NDArray

from cprsim.basics.tabular import LogPath, shown
from cprsim.errors import LogError

MOST_NODES = 999_999  # the six digits of _COUNTS; a typing error must not fill the memory

_BLOCK = 2**16  # bytes read at once
_LONGEST_TOKEN = 2**20  # bytes; a string without an end must not fill the memory, either
_SPACE, _PLAIN = re.compile(rb"\s*"), re.compile(rb'[^][{}"]*')
_TOKEN = re.compile(rb'[][{},:]|"(?:[^"\\]|\\.)*+"|[^][{},:"\s]+', re.DOTALL)
# Possessive, so that a block of thousands of numbers is matched without a way back for each.
_COUNTS = re.compile(rb"(?:\s*+[0-9]{1,6}+\s*+,)*+\s*+[0-9]{1,6}+\s*+")


class JsonScanner:
    """A JSON file of one object, read block by block; what is skipped is hardly looked at."""

    def __init__(self, path: LogPath, file: BufferedReader) -> None:
        self.path, self.file = path, file
        self.line, self.at, self.ended = 1, 0, False
        self.text = b""  # a part of the file; what stands before `at` is done with
        self._more()
        self.text = self.text.removeprefix(b"\xef\xbb\xbf")

    def fault(self, what: str) -> LogError:
        """What is wrong here, for the caller to raise."""
        line = self.line + self.text.count(b"\n", 0, self.at)
        return LogError(f"{self.path}:{line}: {what}")

    def members(self) -> Iterator[bytes]:
        """Keys of an object, in their quotes; the caller reads the value of each."""
        self._expect(b"{")
        token = self.token()
        while token != b"}":
            if not token.startswith(b'"'):
                raise self._unexpected(token, "a key in quotes")
            self._expect(b":")
            yield token
            token = self.token()
            if token == b",":
                token = self.token()
            elif token != b"}":
                raise self._unexpected(token, "',' or '}'")

    def counts(self) -> Iterator[NDArray[np.int64]]:
        """Numbers of nodes of a list, some thousands at a time."""
        self._expect(b"[")
        ticks, last = 0, False
        while not last:
            close = self.text.find(b"]", self.at)
            last = close >= 0
            stop = close if last else self.text.rfind(b",", self.at)
            if stop < 0:
                self._need_more()
                continue
            piece = self.text[self.at : stop]
            if last and not ticks and not piece.strip():
                raise self.fault("data holds no tick")
            if not _COUNTS.fullmatch(piece):
                raise self._bad_count(piece, ticks)
            numbers = np.fromstring(piece, np.int64, sep=",")
            self.at, ticks = stop + 1, ticks + len(numbers)
            yield numbers

    def skip(self) -> None:
        """Leave a value of any kind aside."""
        depth = 0
        while True:
            token = self.token()
            depth += (token in b"[{") - (token in b"]}")
            if depth <= 0:
                return
            self._pass_over(_PLAIN)

    def end(self) -> None:
        """Make sure that nothing follows."""
        self._pass_over(_SPACE)
        if self.at < len(self.text):
            raise self._unexpected(self.token(), "the end of the file")

    def token(self) -> bytes:
        """A bracket, a comma, a colon, a string in its quotes, or a word or number."""
        self._pass_over(_SPACE)
        while True:
            match = _TOKEN.match(self.text, self.at)
            # What reaches the end of the block may go on in the next one.
            if match and (match.end() < len(self.text) or self.ended):
                self.at = match.end()
                return match[0]
            self._need_more()

    def _expect(self, wanted: bytes) -> None:
        token = self.token()
        if token != wanted:
            raise self._unexpected(token, f"'{wanted.decode()}'")

    def _unexpected(self, token: bytes, wanted: str) -> LogError:
        found = shown(token.decode(errors="replace"))
        return self.fault(f"is not the JSON of a spot trace: has {found} instead of {wanted}")

    def _bad_count(self, piece: bytes, ticks: int) -> LogError:
        texts = piece.split(b",")
        bad = next(at for at, text in enumerate(texts) if not _COUNTS.fullmatch(text))
        self.at += sum(len(text) + 1 for text in texts[:bad])
        self._pass_over(_SPACE)
        found = shown(texts[bad].strip().decode(errors="replace"))
        return self.fault(
            f"tick {ticks + bad} of data is {found}; it needs a number of nodes, 0 to {MOST_NODES}"
        )

    def _pass_over(self, pattern: re.Pattern[bytes]) -> None:
        while True:
            match = pattern.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text) or self.ended:
                return
            self._more()

    def _need_more(self) -> None:
        """Read on, where something has begun that isn't complete yet."""
        if len(self.text) - self.at > _LONGEST_TOKEN:
            raise self.fault(f"has something longer than {_LONGEST_TOKEN} bytes")
        if self.ended:
            raise self.fault("ends too early for the JSON of a spot trace; copy it again")
        self._more()

    def _more(self) -> None:
        """Forget what is done with, and read another block."""
        self.line += self.text.count(b"\n", 0, self.at)
        try:
            block = self.file.read(_BLOCK)
        except EOFError:
            raise LogError(
                f"{self.path}: is cut short after line {self.line}; copy it again"
            ) from None
        self.text, self.at, self.ended = self.text[self.at :] + block, 0, not block
