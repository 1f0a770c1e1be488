"""Tables of how digits bend: even and interpolated, Lu's as the thesis has it, and Amaya's recorded one."""

from .recorded import RecordedTable, record
from .solver import Measures, Table, TableState

__all__ = ["Measures", "RecordedTable", "Table", "TableState", "record"]
