"""Names of trackers and of optimizers' rules, as scenarios have them."""

from typing import Literal

#: Trackers by the names that the mean field knows.
TrackerName = Literal["mfu", "ssu", "scar", "round-robin", "random"]
#: Those that choose rows by how they are used, which real trainers have.
BY_USE: tuple[TrackerName, ...] = ("mfu", "ssu", "scar")
#: How far an optimizer's k-th update moves a row: `"sgd"` by 1, `"adagrad"` by 1 / sqrt(k).
OptimizerRule = Literal["sgd", "adagrad"]
