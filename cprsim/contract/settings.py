"""Settings: the keys of a policy that whoever runs the job is free to choose, and from what."""

from typing import Any, NamedTuple


class DurationSpan(NamedTuple):
    """A duration within a range; neighbours differ by a ratio.

    `key`: as scenario files have it, `"interval"` or `"remote.interval"`. `least_s`, `most_s`: in
    seconds; an interval of `most_s`, the whole job, makes no save at all. `start_s`: where a search
    may begin, the value of a rule.
    """

    key: str
    least_s: float
    most_s: float
    start_s: float

    def at_least(self, seconds: float) -> "DurationSpan":
        """Without what is shorter, as far as anything is left."""
        least_s = min(max(self.least_s, seconds), self.most_s)
        return self._replace(least_s=least_s, start_s=max(self.start_s, least_s))


class Choice(NamedTuple):
    """One of few values, in an order in which neighbours are alike."""

    key: str
    values: tuple[Any, ...]


Setting = DurationSpan | Choice


def whole_numbers(key: str, least: int, most: int) -> tuple[Choice, ...]:
    """A choice of whole numbers; none where there is but one, or none."""
    return (Choice(key, tuple(range(least, most + 1))),) if most > least else ()
