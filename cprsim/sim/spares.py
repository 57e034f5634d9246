"""Machines that stand ready to take the place of lost ones."""


class Spares:
    """A pool of machines; a lost one joins it when it is repaired or another is found.

    So what a failure waits for is the first machines to be ready, be they its own replacements or
    those of an earlier failure that spares have stood in for.
    """

    def __init__(self, count: int) -> None:
        self._ready_s = [0.0] * count

    def ready(self, now_s: float) -> int:
        """How many stand ready."""
        return sum(ready_s <= now_s for ready_s in self._ready_s)

    def wait_s(self, nodes: int, now_s: float, delay_s: float) -> float:
        """How long `nodes` lost nodes wait for others; in `delay_s` there will be as many again."""
        if not self._ready_s:
            return delay_s
        machines = sorted([*self._ready_s, *[now_s + delay_s] * nodes])
        self._ready_s = machines[nodes:]
        return max(machines[nodes - 1] - now_s, 0.0) if nodes else 0.0
