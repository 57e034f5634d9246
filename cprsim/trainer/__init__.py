"""A real trainer on this machine: the policies of the simulator, on processes that really die.

    section = trainer_section({"batch": 512})
    trained = train(scenario, section, "cpr", seed=0)
    trained.document()

Embedding tables are sharded over parameter servers, a trainer trains a DLRM on them, and a
controller saves, kills and recovers as a plan and a failure timeline say. docs/trainer.md has more.
Needs torch: `pip install "cprsim[torch]"`.
"""
