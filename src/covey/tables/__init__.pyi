"""The names of covey.tables, each where it is from."""

from covey.tables._encoders import Categories as Categories
from covey.tables._encoders import Dates as Dates
from covey.tables._encoders import NumberColumn as NumberColumn
from covey.tables._encoders import Text as Text
from covey.tables._kinds import Column as Column
from covey.tables._kinds import look as look
from covey.tables._periods import person_periods as person_periods
from covey.tables._table_preparation import TablePreparation as TablePreparation
from covey.tables._table_reader import TableReader as TableReader
