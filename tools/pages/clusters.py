"""Draw docs/figures/lost-pod.svg: an afternoon of scenarios/clusters/lost-pod.toml.

Run `python -m tools.pages.clusters`, or `make pages`.
"""

from typing import Final

from cprsim.basics.files import write_all
from cprsim.clusters.run import run_cluster
from cprsim.figures import save_bytes
from cprsim.figures.timeline import jobs_over_time
from tools.paths import FIGURES, SCENARIOS

PICTURE: Final = FIGURES / "lost-pod.svg"
_HOUR: Final = 3600.0


def drawn() -> bytes:
    """Return the picture."""
    result = run_cluster(SCENARIOS / "clusters" / "lost-pod.toml", alone=False)
    window = (60 * _HOUR, 67 * _HOUR)
    figure = jobs_over_time(result.played[0], result.use, result.spec.title, window)
    return save_bytes(figure, "svg")


if __name__ == "__main__":
    write_all(FIGURES, {PICTURE.name: drawn()})
