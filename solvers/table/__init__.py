"""Tables of how digits bend: even and interpolated, Lu's as the thesis has it, and Amaya's recorded one."""

from .recorded_table import RecordedTable, record
from .table_solver import DigitMeasures, Table, TableState

__all__ = ["DigitMeasures", "RecordedTable", "Table", "TableState", "record"]
