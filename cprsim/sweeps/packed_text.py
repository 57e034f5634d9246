"""Texts that hardly differ from one another, kept in few bytes each."""

import zlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PackedText:
    """A text, packed as what it has and `like` hasn't; `str` gives it back."""

    packed: bytes = b""
    like: bytes = b""

    @classmethod
    def of(cls, text: str, like: bytes = b"") -> "PackedText":
        """Pack a text; many may share what they are `like`."""
        # Paths of files may be no UTF-8; Python has a way to write them all the same.
        packer = zlib.compressobj(zdict=like)
        return cls(packer.compress(text.encode(errors="surrogatepass")) + packer.flush(), like)

    @property
    def content(self) -> bytes:
        """The text, encoded as others may be `like` it."""
        return zlib.decompressobj(zdict=self.like).decompress(self.packed) if self.packed else b""

    def __str__(self) -> str:
        return self.content.decode(errors="surrogatepass")
