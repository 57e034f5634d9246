"""`cprsim figure`: what it lists, draws, and says of what can't be drawn."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from cprsim.basics import shipped as module
from cprsim.basics.files import write_all
from cprsim.basics.manifest import with_manifest
from cprsim.basics.shipped import shipped
from cprsim.cli.command import _main
from cprsim.errors import UsageError
from cprsim.report.gallery.picture import TAKES
from cprsim.report.gallery.registry import PICTURES, picture

SIGNATURES = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def test_the_list_explains_every_picture(capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(["figure", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == list(PICTURES)
    for each, first, second in zip(PICTURES.values(), lines[::2], lines[1::2], strict=True):
        assert first.endswith(each.explains)
        assert TAKES[each.takes] in second
        assert ("by default" in second) is (each.takes != "nothing")
        assert second.endswith(each.default)


@pytest.mark.parametrize("format", SIGNATURES)
def test_a_picture_is_drawn_into_a_file(tmp_path: Path, format: str) -> None:
    out = tmp_path / "new" / f"overhead.{format}"
    assert _main(["figure", "ecrm-overhead", "--out", str(out)]) == 0
    assert out.read_bytes().startswith(SIGNATURES[format])
    assert [path.name for path in out.parent.iterdir()] == [out.name]


def test_without_a_file_it_is_named_after_the_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _main(["figure", "ecrm-overhead"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["ecrm-overhead.png"]


def test_what_is_shown_by_default_is_there() -> None:
    for each in PICTURES.values():
        assert each.takes == "nothing" or shipped(each.default).exists()


def test_without_the_shipped_scenarios_one_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_HOMES", ())
    with pytest.raises(UsageError) as raised:
        picture("scaling").found()
    assert str(raised.value) == (
        "scenarios/criteo-kaggle.toml is not here; give a scenario of your own"
    )


@pytest.mark.slow
def test_the_gallery_alone_does_not_import_matplotlib_and_pictures_no_pyplot() -> None:
    code = (
        "import sys, cprsim.report.gallery.registry\n"
        "assert 'matplotlib' not in sys.modules\n"
        "import cprsim.figures\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_run_of_an_older_version_is_refused(folder, capsys):
    kaggle = str(shipped("criteo-kaggle.toml"))
    assert _main(["run", kaggle, "--replications", "2", "--out", "run"]) == 0
    table = pd.read_csv("run/results.csv").drop(columns="machine_overhead")
    table.to_csv("run/results.csv", index=False)
    manifest = json.loads(Path("run/manifest.json").read_text())
    del manifest["files_sha256"], manifest["manifest_sha256"]
    files = {name: Path("run", name).read_bytes() for name in ("results.csv", "scenario.toml")}
    write_all(Path("run"), with_manifest(files, manifest))
    capsys.readouterr()

    assert _main(["figure", "policy-breakdown", "run", "--out", "it.png"]) == 2
    assert capsys.readouterr().err == (
        "cprsim: run: results.csv has no machine_overhead: an older cprsim made it; run that "
        "again\n"
    )


# A look for a paper

PAPER = ["figure", "ecrm-overhead", "--width", "3.3in", "--font", "serif", "--no-title"]


def test_a_figure_for_a_column_of_a_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _main([*PAPER, "--height", "60mm", "--format", "svg"]) == 0
    svg = Path("ecrm-overhead.svg").read_text()
    (width, height) = re.findall(r'(?:width|height)="([\d.]+)pt"', svg)[:2]
    assert (float(width), float(height)) == (pytest.approx(3.3 * 72), pytest.approx(60 / 25.4 * 72))
    # What was left off is said, for the caption.
    caption = capsys.readouterr().out.splitlines()
    assert caption[0].startswith("At 1,760 GB, ECRec k = 4 takes 22.4 % of the time")
    assert caption[0] not in svg.replace("\u00a0", " ")
    assert ">checkpoints every 30" in svg


def test_a_style_is_a_file_or_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.mplstyle").write_text("figure.facecolor: 123456\n")
    for style, colour in (("mine.mplstyle", "#123456"), ("dark_background", "#000000")):
        command = ["figure", "ecrm-overhead", "--style", style, "--out", "it.svg", "--force"]
        assert _main(command) == 0
        background = re.search(r'id="patch_1">\s*<path[^>]*>', Path("it.svg").read_text())
        fill = re.search(r"fill: (#\w+)", background[0])
        assert (fill[1] if fill else "#000000") == colour
