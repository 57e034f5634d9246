"""Prices of machines, memory and the store, and their power: the section `[prices]`."""

from functools import cached_property
from typing import Self

from pydantic import Field, model_validator

from cprsim.basics.schema import CarbonIntensity, Power, Section
from cprsim.job.price import Price, PricePerSize, PricePerSizeAndTime, PricePerTime


class Prices(Section):
    """Prices in one currency; what is left out costs nothing.

    `trainer`, `parameter_server`, `spare`: price of one such machine, for as long as the job takes.
    `memory`: price of what a policy takes on top of the memory of the rows
    (`Plan.memory_overhead`), all servers together. `stored`: price of what lies in the remote
    store. `written`: price of what saves write to the store. `read`: price of what loads read from
    the store. `energy`: power that any of the machines draws, spares included. `carbon`: CO2 of a
    kWh.

    Power and CO2 have nothing to do with money.
    """

    trainer: PricePerTime | None = None
    parameter_server: PricePerTime | None = None
    spare: PricePerTime | None = None
    memory: PricePerSizeAndTime | None = None
    stored: PricePerSizeAndTime | None = None
    written: PricePerSize | None = None
    read: PricePerSize | None = None
    power_w: Power | None = Field(None, alias="energy")
    carbon_kg_per_kwh: CarbonIntensity | None = Field(None, alias="carbon")

    @model_validator(mode="after")
    def _go_together(self) -> Self:
        by_currency = {price.currency: key for key, price in reversed(self.given.items())}
        if len(by_currency) > 1:
            found = ", ".join(f"{key} in {currency}" for currency, key in by_currency.items())
            raise ValueError(f"of two currencies, {found}; give all of them in one")
        if self.carbon_kg_per_kwh is not None and self.power_w is None:
            raise ValueError(
                'carbon is for each kWh, which takes energy; write e.g. energy = "0.6 kW"'
            )
        return self

    @cached_property
    def given(self) -> dict[str, Price]:
        """The prices that there are, by their keys."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, Price)}

    def amount(self, key: str) -> float:
        """That price for a second, a byte, or a byte and a second; 0 where it isn't given."""
        price = self.given.get(key)
        return 0.0 if price is None else price.amount

    @property
    def currency(self) -> str | None:
        """Return the currency of all prices; None where there is no price."""
        return next((price.currency for price in self.given.values()), None)

    @property
    def of_bytes(self) -> list[str]:
        """Return the prices that are for bytes, which need a model."""
        return [key for key in ("memory", "stored", "written", "read") if key in self.given]

    @property
    def lacks_spare(self) -> bool:
        """Return whether machines are paid for, but spares have no price."""
        machines = {"trainer", "parameter_server"} & self.given.keys()
        return bool(machines) and "spare" not in self.given
