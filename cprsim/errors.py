"""The errors cprsim raises on purpose, all children of `CprsimError`.

Every class can be rebuilt from its `args` alone: SimPy re-creates an exception as
`type(e)(*e.args)` when a process ends a run, and worker processes pickle them the same way.
"""


class CprsimError(Exception):
    """Root of every error that cprsim raises on purpose; its text is fit for a user."""


class UnitError(CprsimError, ValueError):
    """A quantity that can't be read: no number, no unit, an unknown or ambiguous unit."""


class ScenarioError(CprsimError):
    """A scenario that can't be used; each argument is one fault, `dotted.path: what is wrong`."""

    def __str__(self) -> str:
        return "\n".join(str(fault) for fault in self.args)


class PlanError(ScenarioError):
    """A scenario that can be read, but a policy of it can't be planned."""


class UsageError(CprsimError, ValueError):
    """A call or a command whose arguments make no sense."""


class LogError(CprsimError):
    """A failure log that can't be read: file, line and reason."""


class RunError(CprsimError):
    """A run that failed for a reason that is no fault of the scenario."""
