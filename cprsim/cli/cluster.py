"""The command `cprsim cluster`: many jobs that share a store, spare machines and nodes."""

from typing import TYPE_CHECKING, Any

from cprsim.cli import options as opt
from cprsim.cli.paths import there

if TYPE_CHECKING:
    from cprsim.clusters.result import ClusterResult

NAMES = ("jobs.csv", "use.csv", "crowds.csv", "cluster.json", "jobs.png", "manifest.json")


@opt.options(
    path=opt.argument("A cluster file (TOML), or the name of a shipped one.", "CLUSTER", there),
    replications=opt.option(
        "How many times to play it, each with other random draws.", kind=int, default=1
    ),
    seed=opt.SEED,
    workers=opt.option("Processes that play.", kind=int, default=1),
    alone=opt.flag(
        "Play each job once more with the cluster to itself.", "--alone/--no-alone", default=True
    ),
    window=opt.option("The part of the time to draw, e.g. 2d:3d.", metavar="FROM:TO"),
    overrides=opt.OVERRIDES,
    out=opt.output(f"Folder for {', '.join(NAMES)}."),
    force=opt.FORCE,
    as_json=opt.JSON,
)
def cluster(asked: Any) -> None:
    """Play jobs that share a store, a network core, spare machines and nodes."""
    folder = asked.folder(NAMES)
    with asked.progress("simulating", "replications") as progress:
        from cprsim.clusters.run import run_cluster
        from cprsim.clusters.spec import load_cluster

        part = _window(asked.window)
        spec = load_cluster(asked.path, asked.overrides or ())
        result = run_cluster(
            spec,
            asked.replications,
            asked.seed,
            asked.workers,
            alone=asked.alone,
            progress=progress.update,
        )
        if folder is not None:
            progress.begin("drawing")
            files = _files(result, part)
    if folder is not None:
        folder.write(files)
    from cprsim.clusters.display import cluster_lines, cluster_table

    asked.print(result, cluster_table, cluster_lines)


def _window(text: str | None) -> tuple[float, float] | None:
    """Return the two ends of a part of the time, s; None for all of it."""
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
    from cprsim.basics.manifest import json_bytes, versions, with_manifest
    from cprsim.figures import save_bytes
    from cprsim.figures.timeline import jobs_over_time

    tables = {"jobs.csv": result.jobs, "use.csv": result.use, "crowds.csv": result.crowds}
    files = {name: table.to_csv(index=False).encode() for name, table in tables.items()}
    files["cluster.json"] = json_bytes(result.document())
    drawn = jobs_over_time(result.played[0], result.use, result.spec.title, part)
    files["jobs.png"] = save_bytes(drawn, "png")
    return with_manifest(files, versions())
