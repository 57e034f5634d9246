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
        packer = zlib.compressobj(zdict=like)
        return cls(packer.compress(text.encode()) + packer.flush(), like)

    def __str__(self) -> str:
        if not self.packed:
            return ""
        return zlib.decompressobj(zdict=self.like).decompress(self.packed).decode()
