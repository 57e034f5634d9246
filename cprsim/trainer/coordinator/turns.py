"""Which steps of a job are done, where trainers take them in turns."""


class Turns:
    """Step s is that of trainer s mod `trainers`; each does its own in order.

    So all together see the samples that one would. While they train one may be ahead of another,
    but for the first `warm_start` steps, which are done one after another.
    """

    def __init__(self, trainers: int, warm_start: int = 0) -> None:
        self._done = [0] * trainers  # how many of its own steps each has done
        self._warm_start = warm_start

    @property
    def trainers(self) -> int:
        """How many take turns."""
        return len(self._done)

    @property
    def count(self) -> int:
        """Steps that are done."""
        return sum(self._done)

    @property
    def first_missing(self) -> int:
        """The first step that isn't done."""
        return min(self.next_of(trainer) for trainer in range(self.trainers))

    @property
    def ahead(self) -> tuple[int, ...]:
        """Steps after the first missing one that are done, in order."""
        end = max(self.next_of(trainer) for trainer in range(self.trainers))
        later = range(self.first_missing, end)
        return tuple(step for step in later if step < self.next_of(step % self.trainers))

    @property
    def reach(self) -> int:
        """The step after the last one that is done."""
        return 1 + max(self.ahead, default=self.first_missing - 1)

    def together(self, end: int) -> int:
        """How far trainers go on their way to a step before they wait for each other."""
        warming = self.trainers > 1 and self.count < self._warm_start
        return min(self.count + 1, end) if warming else end

    def next_of(self, trainer: int) -> int:
        """The next step of a trainer."""
        return trainer + self.trainers * self._done[trainer]

    def did(self, trainer: int) -> None:
        """A trainer has done its next step."""
        self._done[trainer] += 1

    def return_to(self, step: int) -> None:
        """The steps before that one are done, and no others."""
        self._done = [len(range(each, step, self.trainers)) for each in range(self.trainers)]
