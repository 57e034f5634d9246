"""What a user gets wrong is said in one line: name, value, way out."""

import os

import pytest
import torch

from cprsim.errors import RunError, ScenarioError
from cprsim.trainer import HooksWarning, ProcessGroup, TablePart, TrainerHooks, split_rows
from tests.trainer.held import STEPS, Held, begun, hooks, refused, said, steps
from tests.trainer.loops import scenario

ROWS, WAY_OUT = torch.zeros(100, 8), "give {shard: [TablePart(table, weights, state), ...]}"
TABLE_1 = "shards(): table 1 in shard 0: "
HAS_100 = "model.tables.1 of the scenario has 100; give it as many"
#: What `shards()` gives, and what is said of it.
WRONG_SHARDS = {
    "weights": (
        {0: [TablePart(1, torch.zeros(100))]},
        TABLE_1 + "weights of shape (100,); give rows, shape (rows, dim)",
    ),
    "no rows": (
        {0: [TablePart(1, torch.zeros(0, 8))]},
        TABLE_1 + "weights of shape (0, 8); give rows, shape (rows, dim)",
    ),
    "state": (
        {0: [TablePart(1, ROWS, (torch.zeros(8, 100),))]},
        TABLE_1 + "state 0 of shape (8, 100) for 100 rows; its first dimension has to be the "
        "rows, what isn't of rows belongs into dense()",
    ),
    "number": (
        {0: [TablePart(1, ROWS, (torch.zeros(()),))]},
        TABLE_1 + "state 0 of shape () for 100 rows; its first dimension has to be the rows, "
        "what isn't of rows belongs into dense()",
    ),
    "table": (
        {0: [TablePart(3, ROWS)]},
        "shards(): table 3 in shard 0: the scenario has tables 0 to 2; give it [[model.tables]] "
        "for all, in the same order",
    ),
    "rows": ({0: [TablePart(1, torch.zeros(101, 8))]}, f"{TABLE_1}rows 0 to 100, but {HAS_100}"),
    "first": ({0: [TablePart(1, ROWS, (), 50)]}, f"{TABLE_1}rows 50 to 149, but {HAS_100}"),
    "shard": (
        {2: [TablePart(1, ROWS)]},
        "shards(): 2 is none of 0 to 1; cluster.parameter_servers = 2 has to be the number of "
        "shards",
    ),
    "a row twice": (
        {
            0: [TablePart(0, torch.zeros(151, 8))],
            1: split_rows(TablePart(0, torch.zeros(300, 8)), 2)[1:],
        },
        "shards(): row 150 of table 0 is in shard 0 and in shard 1; each row is in one, and "
        "`first` says which row a part begins with",
    ),
    "list": ([TablePart(0, ROWS)], f"shards(): gives a list; {WAY_OUT}"),
    "part": ({0: TablePart(0, ROWS)}, f"shards(): gives a TablePart in shard 0; {WAY_OUT}"),
    "tuple": ({0: [(0, ROWS)]}, f"shards(): gives a tuple in shard 0; {WAY_OUT}"),
    "module": (
        {0: torch.nn.EmbeddingBag(2, 2)},
        f"shards(): gives a EmbeddingBag in shard 0; {WAY_OUT}",
    ),
    "scar on a device where it can't look": (
        {0: [TablePart(0, torch.zeros(300, 8, device="meta"))]},
        "shards(): table 0 is on meta, and scar compares rows in CPU memory; keep them there, "
        "give the adapter movement(), or take a policy whose tracker is mfu or ssu",
    ),
}


@pytest.mark.parametrize(("found", "text"), WRONG_SHARDS.values(), ids=WRONG_SHARDS)
def test_shards_that_can_not_be_meant(found, text, tmp_path):
    adapter = Held()
    adapter.found = found
    with refused(text):
        hooks(adapter, tmp_path, "cpr-scar")


@pytest.mark.parametrize("copy", [torch.clone, lambda rows: rows[torch.arange(len(rows))]])
def test_a_copy_is_no_table(copy, tmp_path):
    adapter = Held()
    adapter.shards = lambda: {0: [TablePart(0, copy(ROWS))]}
    with refused(
        "shards(): table 0 in shard 0 is another tensor each time, a copy that nobody trains on: "
        "give the live one, or a view of it"
    ):
        hooks(adapter, tmp_path)


@pytest.mark.parametrize(
    ("batch", "text"),
    [
        ({3: torch.tensor([0])}, "table 3 is not here; shards() gives [0, 1, 2]"),
        ({0: torch.ones(3, dtype=torch.bool)}, "row numbers of torch.bool: give integers"),
        ({0: torch.ones(3)}, "row numbers of torch.float32: give integers"),
        ([torch.zeros(1)], "gives a list; give {table: row numbers}"),
        (None, "gives a NoneType; give {table: row numbers}"),
    ],
)
def test_lookups_that_can_not_be_meant(batch, text, tmp_path):
    it = begun(tmp_path)
    with refused(f"lookups(): {text}"):
        it.after_step(batch)


def test_an_empty_list_and_padding_are_no_rows(tmp_path):
    layout = hooks(Held(), tmp_path)._state._layout
    assert layout.numbers({0: [], 1: torch.tensor([3])}).tolist() == [300 + 3]
    assert layout.numbers({0: []}).tolist() == []
    assert layout.numbers({0: torch.tensor([[5, -1], [-1, -1]])}).tolist() == [5]


@pytest.mark.parametrize("row", [100, -2])
def test_rows_that_are_not_there_are_left_out_and_told_once_a_table(row, tmp_path):
    it = begun(tmp_path)
    batch = {0: torch.tensor([5]), 1: torch.tensor([[3, row]])}
    with pytest.warns(
        HooksWarning,
        match=said(
            f"lookups(): row {row} of table 1 is not here and is left out, as others of that table "
            "will be; see the part of it that shards() gives"
        ),
    ) as told:
        it.after_step(batch)
    assert told[0].filename == __file__  # the loop's own line
    it.after_step(batch)
    assert it._state._layout.numbers(batch).tolist() == [5, 300 + 3]


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("scenario", "job.toml", "'job.toml': give what cprsim.load_scenario(\"job.toml\") gives"),
        ("policy", None, "None: give the name of one of its policies"),
        ("folder", 3, "3: give a path"),
        ("steps", 60.5, "60.5: give how many the whole job has, a whole number"),
        ("steps", True, "True: give how many the whole job has, a whole number"),
        ("steps", 0, "0: give those of the whole job, 1 or more"),
    ],
)
def test_arguments_of_another_kind_are_told(name, given, told, tmp_path):
    right = {"scenario": scenario(), "policy": "full", "folder": tmp_path, "steps": 12}
    with refused(f"{name} = {told}"):
        TrainerHooks(adapter=Held(), **right | {name: given})


def test_rows_and_shards_that_nobody_gives_are_told_of(tmp_path):
    adapter = Held()
    adapter.found = {0: [TablePart(0, ROWS[:60]), TablePart(1, torch.zeros(100, 8))]}
    with pytest.warns(HooksWarning) as told:
        begun(tmp_path, adapter=adapter)
    assert str(told[0].message) == (
        "shards(): no process gives 1 of the 2 shards; 240 of the 300 rows of table 0; 20 of the "
        "20 rows of table 2: unless dense() has them, they are neither saved nor loaded"
    )


def changed(folder, adapter):
    it = hooks(adapter, folder)
    adapter.found = Held(state=(torch.zeros(300),)).found | {1: adapter.parts[1:]}
    it.restore()


def stateful(folder, adapter):
    adapter.rest["sampler"] = type("", (), {"state_dict": lambda self: {"seen": {1, 2}}})()
    begun(folder, adapter=adapter)


def again(adapter, more=None, **keys):
    """Restore a folder that a job of ten steps was begun in."""

    def restored(folder, first):
        begun(folder, "full", STEPS, first)
        adapter.rest |= more or {}
        begun(folder, "full", 0, adapter, **keys)

    return restored


#: What is done with a folder and an adapter, and what is said of it; `@` is the folder.
WRONG_STARTS = {
    "shapes": (
        changed,
        "shards(): gives tensors of other shapes or types than at the start, first of table 0 in "
        "shard 0; make the state of the optimiser before restore(), and new hooks if the tables "
        "themselves have changed",
    ),
    "a set": (
        stateful,
        "dense().state.sampler.seen is a set, which is not stored; give tensors, arrays, numbers, "
        "strings, bytes, or lists, tuples and dictionaries of these",
    ),
    "dense": (
        again(Held(), {"top": torch.nn.Linear(2, 2)}),
        "dense(): gives ['mlp', 'top'], but the checkpoint has ['mlp']; give the same, or another "
        "folder",
    ),
    "smaller": (
        again(Held(((200, 8), (100, 8), (20, 8)))),
        "shards(): no process gives rows 200 to 299 of table 0, which the checkpoints in @ have; "
        "give all rows, or another folder",
    ),
    "wider": (
        again(Held(((300, 8), (100, 16), (20, 8)))),
        "folder @: has checkpoints of another job (tables differ); give another folder",
    ),
    "steps": (
        again(Held(), steps=8),
        "steps = 8: the folder @ has a checkpoint of step 9; give as many or more, those of the "
        "whole job",
    ),
    "earlier": (
        lambda folder, adapter: hooks(adapter, folder / "it", earlier=[folder]).restore(),
        "earlier: @ has no checkpoints of hooks; leave it out",
    ),
    "file": (
        lambda folder, adapter: hooks(adapter, (folder / "it").touch() or folder / "it"),
        "folder @/it: @/it is a file, not a folder",
    ),
}


@pytest.mark.parametrize(("start", "text"), WRONG_STARTS.values(), ids=WRONG_STARTS)
def test_starts_that_can_not_be_meant(start, text, tmp_path):
    with refused(text.replace("@", str(tmp_path))):
        start(tmp_path, Held())


@pytest.mark.parametrize("content", ["{", "[]", "7", "null", "[" * 200_000, "{}", None])
def test_a_folder_whose_job_can_not_be_read(tmp_path, content):
    if content is None:
        os.mkfifo(tmp_path / "job.json")
    else:
        (tmp_path / "job.json").write_text(content)
    with refused(f"folder {tmp_path}: job.json in it can't be read; give another"):
        begun(tmp_path)


def test_a_folder_whose_checkpoints_are_all_spoilt_or_gone(tmp_path):
    begun(tmp_path, "full", 5)
    for file in (tmp_path / "rows-0-0").glob("*.npys"):
        file.write_bytes(b"")
    with refused(
        f"{tmp_path}/rows-0-0: no sound checkpoint is left in it; begin in another folder", RunError
    ):
        begun(tmp_path, "full")
    for file in (tmp_path / "rows-0-0").iterdir():
        file.unlink()
    with refused(
        f"no checkpoint is left in {tmp_path} (shards 0, 1: rows 0 to 299 of table 0; rows 0 to 99 "
        "of table 1; rows 0 to 19 of table 2), which the job had; bring it back, or begin in "
        "another folder"
    ):
        begun(tmp_path, "full")


def test_calls_out_of_order(tmp_path):
    it = hooks(Held(), tmp_path)
    with refused("after_step() before restore(): call that once, before the first step"):
        it.after_step({})
    with refused(
        "on_failure(): shard 1 of a process that has just been started is lost as well; name it in "
        "all processes"
    ):
        it.on_failure({0})
    it.restore()
    with refused("restore() was called before; after a failure call on_failure(shards)"):
        it.restore()
    with refused("on_failure(): 2 is none of the shards 0 to 1"):
        it.on_failure([0, 2])
    with refused("on_failure(0): give the numbers of shards, {0}"):
        it.on_failure(0)
    steps(it, STEPS)
    with refused("after_step(): all 10 steps are done; give more as `steps`"):
        it.after_step({})


def test_policies_that_need_more_are_refused_by_what_they_need(tmp_path):
    copies = scenario(it={"system": "replication", "copies": 2})
    with refused(
        "policies.it: copies on other servers and training while lost nodes are replaced can be "
        "simulated but not done by hooks; choose one of full, partial, cpr-vanilla, cpr-mfu, "
        "cpr-ssu, cpr-scar",
        ScenarioError,
    ):
        hooks(Held(), tmp_path, "it", scenario=copies)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ScenarioError, match=r"^policy 'fulll': the scenario has none of that name"):
        hooks(Held(), tmp_path, "fulll")


def test_without_torch_it_is_said_what_to_install(monkeypatch):
    import cprsim.trainer

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with refused('torch is not installed, and real training needs it: pip install "cprsim[torch]"'):
        cprsim.trainer.TrainerHooks  # noqa: B018


def test_ranks_of_no_process_group():
    with refused(
        "ProcessGroup(): torch.distributed has no process group; call init_process_group() before, "
        "or give no `ranks` to a job of one process"
    ):
        ProcessGroup()
