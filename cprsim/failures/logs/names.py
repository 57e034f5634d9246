"""Names of nodes, as logs have them, made into the numbers that a log is kept in."""


class Names:
    """Numbers names in the order in which they first come, from 0."""

    def __init__(self) -> None:
        self._numbers = dict[str, int]()

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, name: str) -> int:
        """That of a name; the next one for a new name."""
        return self._numbers.setdefault(name, len(self._numbers))
