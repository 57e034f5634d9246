"""The server of the dense part that several trainers share."""

from dataclasses import dataclass

from cprsim.trainer.members.server import ServerSpec
from cprsim.trainer.members.shard import Shard
from cprsim.trainer.members.trainer import TrainerSpec


@dataclass(frozen=True, kw_only=True)
class DenseSpec(ServerSpec):
    """A server that holds every parameter of the MLPs as a row of one number.

    Row-wise Adagrad of such rows is Adagrad. `trainer`: whose dense part it is.
    """

    trainer: TrainerSpec

    @classmethod
    def from_trainer(cls, trainer: TrainerSpec) -> "DenseSpec":
        """That for trainers such as this one."""
        return cls(
            number=trainer.placement.servers,
            rows=len(trainer.model().parameters),
            dim=1,
            seed=trainer.seed,
            spread=0.0,
            learning_rate=trainer.learning_rate,
            tracking=None,
            tables=(),
            folder=trainer.folder,
            trainers=trainer.trainers,
            trainer=trainer,
        )

    def shard(self) -> Shard:
        """The dense part at the start of the job."""
        shard = super().shard()
        shard.weights.copy_(self.trainer.model().parameters.weights.unsqueeze(1))
        return shard
