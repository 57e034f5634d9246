"""What plans need of who carries them out."""

from cprsim.contract import Plan, Recover, every
from cprsim.contract.needs import Interpreter, needs_of


def test_needs_are_those_of_every_kind_of_loss():
    plan = Plan(
        "partial",
        every(10.0),
        lambda loss: Recover("lost", keep_training=bool(loss.trainers)),
    )
    needs = needs_of(plan)

    assert needs == {"training on": "training while lost nodes are replaced"}
    assert Interpreter(()).lacks(needs) == list(needs.values())
    assert Interpreter(("training on",)).lacks(needs) == []


def test_an_answer_for_the_loss_of_a_whole_cluster_counts():
    plan = Plan("full", every(10.0), lambda loss: _anew(loss.severity == "cluster"))

    assert list(needs_of(plan)) == ["rebuilding"]


def _anew(copied: bool) -> Recover:
    return Recover("none") if copied else Recover("all")
