"""The command `cprsim cluster`: many jobs that share a store, spare machines and nodes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cprsim.cli.common import (
    Json,
    Overrides,
    ProgressBar,
    echo_wrapped,
    json_bytes,
    print_json,
    print_table,
    there,
)
from cprsim.cli.output import Force, OutputFolder, output

if TYPE_CHECKING:
    from cprsim.clusters.result import ClusterResult

NAMES = ("jobs.csv", "use.csv", "crowds.csv", "cluster.json", "jobs.png", "sharing.png")


def cluster(
    path: Annotated[
        Path,
        typer.Argument(metavar="CLUSTER", help="A cluster file (TOML).", callback=there),
    ],
    replications: Annotated[int, typer.Option(help="How often, each with other draws.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of all random streams.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes that play.")] = 1,
    alone: Annotated[
        bool,
        typer.Option(
            "--alone/--no-alone", help="Play each job once more with the cluster to itself."
        ),
    ] = True,
    window: Annotated[
        str | None,
        typer.Option(metavar="FROM:TO", help="The part of the time to draw, e.g. 2d:3d."),
    ] = None,
    overrides: Overrides = None,
    out: Annotated[Path | None, output("--out", help=f"Folder for {', '.join(NAMES)}.")] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Play jobs that share a store, a network core, spare machines and nodes."""
    folder = None if out is None else OutputFolder(out, NAMES, force=force)
    with ProgressBar("simulating", "replications", silent=as_json) as progress:
        from cprsim.clusters.run import run_cluster
        from cprsim.clusters.spec import load_cluster

        part = _window(window)
        result = run_cluster(
            load_cluster(path, overrides or ()),
            replications,
            seed,
            workers,
            alone=alone,
            progress=progress.update,
        )
        if folder is not None:
            progress.begin("drawing")
            files = _files(result, part)
    if folder is not None:
        folder.write(files, silent=as_json)
    if as_json:
        print_json(result.document())
        return
    from cprsim.report.cluster import cluster_lines, cluster_table

    print_table(cluster_table(result))
    for line in cluster_lines(result):
        echo_wrapped(line)


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
    from cprsim.figures import save_bytes
    from cprsim.figures.cluster import jobs_over_time, overhead_of_sharing

    tables = {"jobs.csv": result.jobs, "use.csv": result.use, "crowds.csv": result.crowds}
    files = {name: table.to_csv(index=False).encode() for name, table in tables.items()}
    files["cluster.json"] = json_bytes(result.document())
    title = result.spec.title
    files["jobs.png"] = save_bytes(jobs_over_time(result.played[0], result.use, title, part), "png")
    if "sharing" in result.jobs:
        files["sharing.png"] = save_bytes(overhead_of_sharing(result.summary, title), "png")
    return files
