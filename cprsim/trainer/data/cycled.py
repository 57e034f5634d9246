"""Samples that are seen again and again."""

from dataclasses import dataclass

from cprsim.trainer.data.contract import Batch, Data, DataTable, check_step


@dataclass(frozen=True)
class Cycled:
    """Those of other data for so many steps, as often as it takes; what that holds out behind them.

    What is rehearsed has as many steps as its script has, however many samples there are.
    """

    data: Data
    steps: int

    @property
    def tables(self) -> tuple[DataTable, ...]:
        """Of the data."""
        return self.data.tables

    @property
    def dense(self) -> int:
        """Of the data."""
        return self.data.dense

    @property
    def batch_size(self) -> int:
        """Of the data."""
        return self.data.batch_size

    @property
    def test_steps(self) -> int:
        """Of the data."""
        return self.data.test_steps

    def batch(self, step: int) -> Batch:
        """The batch of that step."""
        check_step(self, step)
        held_out = step - self.steps
        return self.data.batch(
            step % self.data.steps if held_out < 0 else self.data.steps + held_out
        )
