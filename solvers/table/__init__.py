"""Tables of how digits bend: even and interpolated, Lu's as the thesis has it, and Amaya's recorded one."""

from .recorded_table import RecordedTable, record
from .table_solver import Measures, Table, TableState

__all__ = ["Measures", "RecordedTable", "Table", "TableState", "record"]
