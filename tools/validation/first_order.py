"""First-order predictions of the shipped scenarios, and the figures that they must reproduce."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cprsim.contract.expected import expected
from cprsim.scenario import Scenario
from tools.validation.cases import shipped, uniform_of


@dataclass(frozen=True)
class Predicted:
    """A closed form of a shipped scenario, and the figure it must reproduce, both in percent."""

    name: str
    policy: str
    source: str
    published: float
    computed: float
    tolerance: float = 0.01  # percentage points


def _predict(
    name: str, source: str, published: Sequence[float], *overrides: str
) -> list[Predicted]:
    scenario = Scenario(**shipped(name, *overrides))
    servers = scenario.cluster.parameter_servers
    return [
        Predicted(
            f"{name}, {servers} servers",
            policy,
            source,
            figure,
            100 * expected(scenario.plan(policy), scenario.context).overhead,
        )
        for policy, figure in zip(("full", "partial", "cpr"), published, strict=False)
    ]


def _scaled(servers: int, *published: float) -> list[Predicted]:
    """The Kaggle job on more servers, each as likely to fail as before: MTBF = 224 h / servers."""
    return _predict(
        "criteo-kaggle",
        "E1-E6, MTBF ~ 1/servers",
        published,
        f"cluster.parameter_servers={servers}",
        f"failures={{distribution = 'exponential', mean = '{224 / servers!r} h'}}",
    )


def _counted(name: str, figures: Mapping[str, tuple[float, ...]]) -> list[Predicted]:
    """Against a Monte Carlo with failures at instants of training; tolerance: its rounding."""
    source = "Monte Carlo of 200,000 runs"
    found = []
    for policy, published in figures.items():
        overhead, pls = uniform_of(shipped(name), policy).counted(on_wall_clock=False)
        for what, figure, computed in zip(
            ("overhead", "PLS"), published, (overhead, 100 * pls), strict=False
        ):
            label = f"{name}, whole saves, failures while training: {what}"
            digits = 0.005 if what == "overhead" else 0.05
            found.append(Predicted(label, policy, source, figure, computed, digits))
    return found


CALIBRATED = "calibrated to the CPR abstract"
PREDICTED: Sequence[Predicted] = [
    *_predict("criteo-kaggle", CALIBRATED, (8.50, 4.41, 0.530)),
    *_predict("criteo-terabyte", CALIBRATED, (8.20, 4.35, 0.68)),
    *_predict("production", "calibrated to 12.5 %, as remembered", (12.5,)),
    *_counted("criteo-kaggle", {"full": (8.38,), "cpr": (0.488, 8.5)}),
    *_scaled(16, 12.21, 6.43, 0.851),
    *_scaled(18, 12.99, 6.86, 0.931),
    *_scaled(32, 17.64, 9.46, 1.492),
    *_scaled(64, 25.70, 14.13, 2.776),
    *_scaled(128, 37.85, 21.49, 5.342),
]
