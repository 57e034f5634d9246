"""The command `cprsim cluster`: many jobs that share a store, spare machines and nodes."""

from pathlib import Path
from typing import TYPE_CHECKING

from cprsim.cli.common import ProgressBar, json_bytes, show
from cprsim.cli.options import (
    FORCE,
    JSON,
    OVERRIDES,
    SEED,
    argument,
    flag,
    option,
    options,
    output,
)
from cprsim.cli.output import OutputFolder
from cprsim.cli.paths import there

if TYPE_CHECKING:
    from cprsim.clusters.result import ClusterResult

NAMES = (
    *("jobs.csv", "use.csv", "crowds.csv", "cluster.json", "jobs.png", "sharing.png"),
    "manifest.json",
)


@options(
    path=argument("A cluster file (TOML).", "CLUSTER", there),
    replications=option("How often, each with other draws.", kind=int, default=1),
    seed=SEED,
    workers=option("Processes that play.", kind=int, default=1),
    alone=flag(
        "Play each job once more with the cluster to itself.", "--alone/--no-alone", default=True
    ),
    window=option("The part of the time to draw, e.g. 2d:3d.", metavar="FROM:TO"),
    overrides=OVERRIDES,
    out=output(f"Folder for {', '.join(NAMES)}."),
    force=FORCE,
    as_json=JSON,
)
def cluster(
    *,
    path: Path,
    replications: int,
    seed: int,
    workers: int,
    alone: bool,
    window: str | None,
    overrides: list[str] | None,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Play jobs that share a store, a network core, spare machines and nodes."""
    folder = None if out is None else OutputFolder(out, NAMES, force=force)
    with ProgressBar("simulating", "replications", silent=as_json) as progress:
        from cprsim.clusters.run import run_cluster
        from cprsim.clusters.spec import load_cluster

        part = _window(window)
        spec = load_cluster(path, overrides or ())
        result = run_cluster(
            spec, replications, seed, workers, alone=alone, progress=progress.update
        )
        if folder is not None:
            progress.begin("drawing")
            files = _files(result, part)
    if folder is not None:
        folder.write(files, silent=as_json)
    from cprsim.clusters.display import cluster_lines, cluster_table

    show(result, cluster_table, as_json, cluster_lines)


def _window(text: str | None) -> tuple[float, float] | None:
    """Return the two ends of a part of the time, s."""
    from cprsim.basics.units import parse_duration
    from cprsim.errors import UsageError

    if text is None:
        return None
    try:
        from_s, to_s = (parse_duration(each.strip()) for each in text.split(":"))
    except ValueError:
        raise UsageError(f"--window {text!r}: write two times, e.g. 2d:3d") from None
    if from_s >= to_s:
        raise UsageError(f"--window {text!r}: the second time is not after the first")
    return from_s, to_s


def _files(result: "ClusterResult", part: tuple[float, float] | None) -> dict[str, bytes]:
    from cprsim.basics.manifest import versions, with_manifest
    from cprsim.figures import save_bytes
    from cprsim.figures.cluster import jobs_over_time, overhead_of_sharing

    title = result.spec.title
    tables = {"jobs.csv": result.jobs, "use.csv": result.use, "crowds.csv": result.crowds}
    files = {name: table.to_csv(index=False).encode() for name, table in tables.items()}
    files["cluster.json"] = json_bytes(result.document())
    pictures = {"jobs.png": jobs_over_time(result.played[0], result.use, title, part)}
    if "sharing" in result.jobs:
        pictures["sharing.png"] = overhead_of_sharing(result.summary, title)
    files |= {name: save_bytes(figure, "png") for name, figure in pictures.items()}
    return with_manifest(files, versions())
