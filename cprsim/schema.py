"""Types of fields for policies of your own: quantities with units, in SI inside."""

from cprsim.basics.schema import Bytes, PositiveSeconds, Rate, Seconds, Section

__all__ = ["Bytes", "PositiveSeconds", "Rate", "Seconds", "Section"]
