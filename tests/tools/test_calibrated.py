"""A scenario file gets costs that were measured, and keeps all else, comments too."""

from tools.calibrated import rewritten

GIVEN = """\
# A scenario.
[costs]                         # what is charged
save = "30 ms"
load = "20 ms"

[failures]
exactly = 4                     # four

[policies.mfu]
system = "cpr-mfu"
select = "9 ms"
interval = "0.2 s"

[policies.full]
system = "full"
"""
MODELLED = {
    "costs": {"save": "0.01349 s", "reschedule": "1.5 min", "append": "0 s"},
    "policies": {
        "mfu": {"writes": 0.59123, "select": "0.0016 s", "interval": "1 s"},
        "full": {"system": "full"},
    },
}
EXPECTED = """\
# A scenario.
[costs]                         # what is charged
# Measured.
save = "13.5 ms"
reschedule = "90000 ms"

[failures]
exactly = 4                     # four

[policies.mfu]
system = "cpr-mfu"
interval = "0.2 s"
writes = 0.591
select = "1.6 ms"

[policies.full]
system = "full"
"""


def test_costs_and_what_is_known_of_chosen_rows_are_replaced() -> None:
    assert rewritten(GIVEN, MODELLED, "Measured.") == EXPECTED
    assert rewritten(EXPECTED, MODELLED, "Measured.") == EXPECTED


def test_the_last_policy_of_a_file_gets_its_keys_too() -> None:
    last = {"costs": {"save": "1 s"}, "policies": {"full": MODELLED["policies"]["mfu"]}}

    assert rewritten(GIVEN, last, "Measured.").endswith(
        'system = "full"\nwrites = 0.591\nselect = "1.6 ms"\n'
    )
