"""What is installed for TorchRec's tests is what the page tells everybody to install."""

import tomllib

import pytest

from tools import plug_ins
from tools.paths import ROOT

NONE = "ERROR: No matching distribution found for fbgemm-gpu-cpu==1.8.0\n"


def test_the_page_has_versions_and_the_torch_of_all_other_tests():
    found = plug_ins.PLUG_INS["torchrec"].installs
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert [line[0] for line in found] == ["install"] * 4
    assert found[0][1] in project["dependency-groups"]["dev"]
    assert found[1][1:] == ["fbgemm-gpu-cpu==1.8.0"]
    assert found[2][1:] == ["--no-deps", "torchrec==1.8.0"]


def test_where_there_is_no_wheel_one_line_says_so(monkeypatch):
    monkeypatch.setattr(plug_ins.platform, "machine", lambda: "riscv64")
    monkeypatch.setattr(plug_ins.platform, "system", lambda: "Linux")
    monkeypatch.setattr(plug_ins.platform, "python_version_tuple", lambda: ("3", "15", "0"))

    assert plug_ins._excused(f"Looking\n{NONE}") == (
        "No matching distribution found for fbgemm-gpu-cpu==1.8.0 on Linux riscv64 with Python 3.15"
    )


def test_all_else_that_goes_wrong_is_an_error_and_so_is_that_where_there_are_wheels(monkeypatch):
    with pytest.raises(SystemExit, match="disk full"):
        plug_ins._excused("disk full")
    monkeypatch.setattr(plug_ins.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(plug_ins.platform, "system", lambda: "Linux")
    monkeypatch.setattr(plug_ins.platform, "python_version_tuple", lambda: ("3", "11", "7"))
    with pytest.raises(SystemExit, match="No matching distribution"):
        plug_ins._excused(NONE)
