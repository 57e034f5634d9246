"""What a container may use, by the files of its control groups."""

import os

import pytest

from cprsim.basics import machine
from cprsim.basics.machine import cores, memory

#: Of each of them: who a process is, files of control groups, cores, and bytes of memory.
GROUPS = {
    "of the second kind, seen from within": (
        "0::/\n",
        {"cpu.max": "300000 100000", "memory.max": "2000000000"},
        (3, 2e9),
    ),
    "of the second kind, seen from outside": (
        "0::/jobs/a:b c\n",
        {
            "jobs/a:b c/cpu.max": "max 100000",
            "jobs/a:b c/memory.max": "3000000000",
            "jobs/cpu.max": "150000 100000",
            "jobs/memory.max": "max",
        },
        (2, 3e9),
    ),
    "of the first kind, seen from within": (
        "5:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n1:name=systemd:/docker/0123\n0::/\n",
        {
            "cpu/cpu.cfs_quota_us": "50000",  # a link to cpu,cpuacct, or cpuacct,cpu
            "cpu/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": "1000000000",
        },
        (1, 1e9),
    ),
    "without limits": (
        "5:memory:/\n3:cpu:/\n0::/jobs\n",
        {
            "cpu/cpu.cfs_quota_us": "-1",
            "cpu/cpu.cfs_period_us": "100000",
            "memory/memory.limit_in_bytes": "9223372036854771712",
            "jobs/cpu.max": "max 100000",
            "jobs/memory.max": "max",
        },
        (8, 16e9),
    ),
    "of more than there is": (
        "0::/\n",
        {"cpu.max": "900000 100000", "memory.max": "20000000000"},
        (8, 16e9),
    ),
    "of which one file is not there": ("3:cpu:/\n", {"cpu/cpu.cfs_quota_us": "50000"}, (8, 16e9)),
    "that are nowhere": (None, {}, (8, 16e9)),
}


@pytest.mark.parametrize("groups", GROUPS)
def test_a_container_may_use_less_than_there_is(groups, tmp_path, monkeypatch):
    own, files, (usable, holds) = GROUPS[groups]
    if own is not None:
        (tmp_path / "own").write_text(own)
    for name, content in files.items():
        file = tmp_path / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content + "\n")
    monkeypatch.setattr(machine, "_OWN", tmp_path / "own")
    monkeypatch.setattr(machine, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    of_machine = {"SC_PHYS_PAGES": 4_000_000, "SC_PAGE_SIZE": 4_000}
    monkeypatch.setattr(os, "sysconf", of_machine.__getitem__)

    assert (cores(), memory()) == (usable, holds)
