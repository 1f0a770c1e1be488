"""Look-up tables of how digits bend: uniform and interpolated, Lu's as in the thesis, and Amaya's recorded one."""

from .recorded_table import RecordedTable, record
from .table_solver import DigitMeasures, Table, TableState

__all__ = ["DigitMeasures", "RecordedTable", "Table", "TableState", "record"]
