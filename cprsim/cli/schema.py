"""`cprsim schema`: what scenario files may hold, for editors."""

from cprsim.cli.common import print_json


def schema() -> None:
    """Print the JSON schema of scenario files, by which editors complete and check them."""
    from cprsim.cli.json_schema import scenario_schema

    print_json(scenario_schema())
