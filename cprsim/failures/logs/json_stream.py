"""JSON read piece by piece: of one long list, each element is made into something small at once."""

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

#: Bytes that are read at a time, at least.
_PIECE = 2**20
_BLANK = " \t\n\r"
#: What may stand behind a value.
_AFTER = (*_BLANK, ",", ":", "]", "}")


class IrregularError(ValueError):
    """That the text isn't the JSON it should be; what is wrong, `json` says of the whole."""


Each = Callable[[int, Any], Any]


def streamed(file: IO[bytes], keys: Sequence[str], each: Each, hook: Callable[..., Any]) -> Any:
    """The value of a file, of which the elements of one list are what `each` makes of them.

    Memory grows with the longest element and what is kept, not with the file.

    Parameters
    ----------
    file
        UTF-8.
    keys
        Where the list stands, an object's key each; none if it is the whole. A value that is none,
        or a list elsewhere, stays as it is.
    each
        Makes of the number of an element, and of the element, what is kept.
    hook
        Makes objects of the pairs of their keys and values, as `json.loads` has it.

    Raises
    ------
    IrregularError
        If the text isn't JSON.
    UnicodeDecodeError
        If it isn't UTF-8.
    """
    text = _Text(file, json.JSONDecoder(object_pairs_hook=hook).raw_decode)
    value = _value(text, keys, each, hook)
    if text.mark():
        raise IrregularError
    return value


def _value(text: "_Text", keys: Sequence[str], each: Each, hook: Callable[..., Any]) -> Any:
    if keys and text.mark() == "{":
        return hook(list(_members(text, keys, each, hook)))
    if not keys and text.mark() == "[":
        return [each(number, found) for number, found in enumerate(_elements(text))]
    return text.value()


def _elements(text: "_Text") -> Iterator[Any]:
    text.take("[")
    if text.mark() != "]":
        yield text.value()
        while text.mark() == ",":
            text.take(",")
            yield text.value()
    text.take("]")


def _members(
    text: "_Text", keys: Sequence[str], each: Each, hook: Callable[..., Any]
) -> Iterator[tuple[str, Any]]:
    text.take("{")
    more = text.mark() != "}"
    while more:
        if text.mark() != '"':
            raise IrregularError
        key = text.value()
        text.take(":")
        yield key, _value(text, keys[1:], each, hook) if key == keys[0] else text.value()
        more = text.mark() == ","
        if more:
            text.take(",")
    text.take("}")


class _Text:
    """The part of a text that is being read; what is behind it is forgotten."""

    def __init__(self, file: IO[bytes], decode: Callable[[str, int], tuple[Any, int]]) -> None:
        self._file, self._decode = file, decode
        self._bytes = codecs.getincrementaldecoder("utf-8-sig")()
        self._text, self._at, self._ended = "", 0, False

    def _more(self) -> bool:
        """Read on, by as much again as there is; whether there was anything."""
        if self._ended:
            return False
        raw = self._file.read(max(_PIECE, len(self._text) - self._at))
        self._ended = not raw
        self._text, self._at = self._text[self._at :] + self._bytes.decode(raw, self._ended), 0
        return not self._ended

    def mark(self) -> str:
        """The next character that isn't blank, which stays; "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANK:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def take(self, mark: str) -> None:
        """Pass over the next character that isn't blank."""
        if self.mark() != mark:
            raise IrregularError
        self._at += 1

    def value(self) -> Any:
        """The next value."""
        self.mark()
        while True:
            try:
                value, end = self._decode(self._text, self._at)
            except json.JSONDecodeError:
                if not self._more():
                    raise IrregularError from None
                continue
            # A number may go on: 1 as 15, and 1e as 1e5.
            if self._text[end : end + 1] in _AFTER or not self._more():
                self._at = end
                return value
