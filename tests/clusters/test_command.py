"""The commands on clusters: what they print and write, and users' mistakes."""

import json

import pandas as pd
import pytest
import tomli_w

from tests.clusters.given import JOB

CLUSTER = {
    "title": "Two alike",
    "cluster": {"nodes": 4},
    "store": {"write": "1 GB/s"},
    "jobs": [{"name": "job", "scenario": "job.toml", "policy": "full", "count": 2}],
}


def _file(folder, **changes):
    (folder / "job.toml").write_text(tomli_w.dumps(JOB))
    (folder / "bad.csv").write_text("timestamp,duration,num_gpus\n0,60,many\n0,inf,1\n")
    (folder / "empty.csv").write_text("timestamp,duration,num_gpus\n")
    (folder / "broken.toml").write_text('[policies.full]\nsystem = "full"\n')
    path = folder / "cluster.toml"
    path.write_text(tomli_w.dumps(CLUSTER | changes))
    return path


def test_it_prints_a_row_an_entry_and_why_links_were_crowded(called, tmp_path):
    said = " ".join(called("cluster", str(_file(tmp_path))).out.split())
    # Nine saves of 60 s, together of 120 s: 1.5 and 3 % of ten hours.
    assert "job 2 1 0 s 10.3 h 3.00 1.50 1.50 0" in said
    assert "Links were crowded 9 times" in said
    assert "saves that began together (100" in said


def test_a_document_and_files(called, tmp_path):
    path, out = _file(tmp_path), tmp_path / "out"
    asked = ["cluster", str(path), "--replications", "2", "--out", str(out), "--json"]
    document = json.loads(called(*asked).out)
    assert document["jobs"]["job"]["sharing"] == pytest.approx(0.015)
    assert document["overhead"] == {"mean": pytest.approx(0.03), "half_width": 0.0}
    assert document["crowded_s"] == {"write": pytest.approx(9 * 120)}
    assert document == json.loads((out / "cluster.json").read_text())
    jobs = pd.read_csv(out / "jobs.csv")
    assert len(jobs) == 4
    assert jobs["save_stretch"].tolist() == pytest.approx([2.0] * 4)
    use = pd.read_csv(out / "use.csv")
    assert use["write"].max() == pytest.approx(0.2)  # 120 s of ten minutes
    assert (out / "jobs.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_results_are_the_same_with_any_number_of_workers(called, tmp_path):
    job = CLUSTER["jobs"][0] | {"scenario": "quickstart", "count": 3, "every": "1 h"}
    path = _file(tmp_path, jobs=[job], cluster={"nodes": 90})
    documents = []
    for workers in "12":
        asked = ["cluster", str(path), "--replications", "3", "--json", "--workers", workers]
        documents.append(called(*asked).out)
    assert documents[0] == documents[1]


@pytest.mark.slow
def test_advice_takes_turns_where_saves_meet(called, tmp_path):
    path = _file(tmp_path)
    advice = json.loads(called("advise", str(path), "--cluster", "--json").out)
    assert advice["sure"]
    # Turns of one save cost each job 60 s a save; no other setting alone costs less.
    assert advice["settings"][0]["cost"] <= 9 * 60 / 36_000 + 1e-9
    assert advice["gain"]["mean"] == pytest.approx(0.03 - advice["settings"][0]["cost"], abs=1e-6)


TRACED = {key: value for key, value in CLUSTER["jobs"][0].items() if key != "count"}
MISTAKES = [
    ({"cluster": {}}, "cluster.nodes: is missing"),
    ({"cluster": {"nodes": 1}, "jobs": [CLUSTER["jobs"][0] | {"nodes": 2}]}, "jobs.job-1: needs 2"),
    ({"cluster": {"nodes": 1, "spares": 2}}, "repair is missing for the spares"),
    ({"store": {"wrte": "1 GB/s"}}, "store.wrte: unknown key; did you mean 'write'?"),
    ({"jobs": [CLUSTER["jobs"][0] | {"policy": "ful"}]}, "jobs.job.policy: 'ful'"),
    ({"jobs": [CLUSTER["jobs"][0] | {"scenario": "nowhere"}]}, "nowhere: no such file"),
    ({"jobs": [CLUSTER["jobs"][0]] * 2}, "two have the same name"),
    ({"jobs": []}, "jobs"),
    (
        {"jobs": [CLUSTER["jobs"][0] | {"set": {"job.useful_time": "4"}}]},
        "jobs.job: job.useful_time",
    ),
    ({"failures": {"events": [{"at": "1 h", "lasts": "1 h", "pod": 3}]}}, "pod 3 is not there"),
    ({"failures": {"events": [{"at": "1 h", "lasts": "1 h"}]}}, "give a rack or a pod"),
    ({"failures": {"node": {"men": "5 d"}}}, "jobs.job: failures.men: unknown key"),
    ({"scheduler": {"preempt": True}}, 'preempt needs order = "priority"'),
    (
        {"jobs": [TRACED | {"trace": {"file": "no.csv"}}]},
        "no.csv: can't be read: No such file or directory",
    ),
    ({"jobs": [TRACED | {"trace": {"file": "job.toml"}}]}, "job.toml: has no column 'timestamp'"),
    ({"jobs": [TRACED | {"count": 2, "trace": {"file": "bad.csv"}}]}, "count: the trace has them"),
    ({"jobs": [TRACED | {"trace": {"file": "bad.csv"}}]}, "line 3, duration: 'inf' is not"),
    ({"jobs": [TRACED | {"trace": {"file": "empty.csv"}}]}, "empty.csv: has no row"),
    (
        {"jobs": [TRACED | {"trace": {"file": "bad.csv", "arrives": "num_gpus"}}]},
        "line 2, num_gpus: 'many' is not a number",
    ),
    ({"jobs": [TRACED | {"name": "a.b"}]}, "'a.b' has a dot"),
    ({"jobs": [TRACED | {"name": "a-1"}, TRACED | {"name": "a", "count": 2}]}, "called a-1"),
    ({"jobs": [TRACED | {"scenario": "broken.toml"}]}, "cluster: the table [cluster] is missing"),
]


@pytest.mark.parametrize(("changes", "said"), MISTAKES)
def test_a_mistake_is_told_in_one_line(called, tmp_path, changes, said):
    lines = called("cluster", str(_file(tmp_path, **changes)), code=2).err.strip().splitlines()
    assert said in " ".join(lines)
    assert all(line.startswith("cprsim: ") for line in lines)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (["--window", "3d:2d"], "is not after"),
        (["--window", "3d"], "write two times"),
        (["--replications", "0"], "replications"),
        (["--workers", "0"], "workers"),
    ],
)
def test_a_mistake_on_the_command_line_is_too(called, tmp_path, option, said):
    assert said in called("cluster", str(_file(tmp_path)), *option, code=2).err


def test_files_of_the_other_command_are_told_apart(called, tmp_path):
    assert "cprsim cluster plays" in called("run", str(_file(tmp_path)), code=2).err
    said = called("cluster", str(tmp_path / "job.toml"), code=2).err
    assert "is a scenario, which cprsim run plays" in said


def test_jobs_that_have_not_ended_have_no_overhead(called, tmp_path):
    path = _file(tmp_path)
    asked = [str(path), "--set", 'cluster.until="30 min"', "--json"]
    document = json.loads(called("cluster", *asked).out)
    assert document["states"] == {"running": 2.0}
    assert document["overhead"]["mean"] is None
    assert "give a later until" in called("advise", *asked, "--cluster", code=2).err


def test_a_file_of_a_users_is_kept(called, tmp_path):
    path, out = _file(tmp_path), tmp_path / "out"
    out.mkdir()
    (out / "jobs.csv").write_text("mine")
    assert "jobs.csv" in called("cluster", str(path), "--out", str(out), code=2).err
    assert (out / "jobs.csv").read_text() == "mine"
