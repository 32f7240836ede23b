"""What was observed over a training, on disk: written live, and read while it is written, without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.run.arguments import whole_number_of
    from torcheer.run.endings import Ending, at_end_of_child, ending_of, ending_of_program
    from torcheer.run.estimates import (
        ESTIMATES,
        MOMENTS,
        NORM,
        NUM_VALUES,
        ORDER,
        UNITS,
        estimated,
        figures_of,
        group_of,
    )
    from torcheer.run.events.exporting import NOT_SHOWN
    from torcheer.run.figuretables import table_of
    from torcheer.run.folders import folder_of
    from torcheer.run.interruption import InterruptedReading, check_cancelled, interruptible
    from torcheer.run.locking import PartLock, take_lock
    from torcheer.run.lossnames import OUR_NUMBERS, is_loss, looked_at_first, loss_of
    from torcheer.run.netscene import Connection, Form, Grid, NetLayer, NetScene, Place
    from torcheer.run.observations import EncodedRecord
    from torcheer.run.observing.arrays import view_of
    from torcheer.run.observing.guarding import reason_of
    from torcheer.run.observing.netviews import NETVIEW
    from torcheer.run.observing.plaintext import plain_text
    from torcheer.run.parts import Part, Points, RecordEntry, SeriesEntry, SeriesKey, State
    from torcheer.run.placing import num_ranks_of_program, rank_of_process
    from torcheer.run.queueing import Mark
    from torcheer.run.reading.eventlist import Alarm, EventsCursor, Gap
    from torcheer.run.reading.eventtables import write_events_csv
    from torcheer.run.reading.face import Reading, SavedRun, open_run
    from torcheer.run.reading.figureblocks import BlockFigures, Stretches, column_of
    from torcheer.run.reading.finding import FoundRun, FoundRuns, find_runs, is_event_file, is_part, is_run
    from torcheer.run.reading.fitting import ITEM_BYTES, MAX_DIMS
    from torcheer.run.reading.links import LinkRule, links_note, links_within
    from torcheer.run.reading.merging import rank_in
    from torcheer.run.reading.reader import Cursor, RunReader, RunStatus, record_id
    from torcheer.run.reading.recordkinds import HistogramRecord, ImageRecord
    from torcheer.run.reading.scalars import Scalars, needed_pandas
    from torcheer.run.reading.slicing import HeadRow, Slice
    from torcheer.run.reading.sparkline import sparkline
    from torcheer.run.reading.sqlitepart import SqlitePart
    from torcheer.run.reading.tablereading import ColumnFigures, Table, TableRecord
    from torcheer.run.reading.tables import save_table, write_csv
    from torcheer.run.reading.tensorrecord import TensorRecord
    from torcheer.run.reading.watchedface import Watched
    from torcheer.run.reading.watchedplans import PartPlan, RankPlan
    from torcheer.run.reading.watchedreader import WatchedReader, at_steps
    from torcheer.run.reading.watchedtables import WatchedFigures, every_text
    from torcheer.run.records import (
        AnyHead,
        EmbeddingHead,
        HistogramHead,
        HparamsHead,
        Kind,
        LayoutChart,
        LayoutGroup,
        LayoutHead,
        MomentHead,
        PassHead,
        Plain,
        StatisticsHead,
        TableColumn,
        TableHead,
        TensorHead,
        WatchedRow,
        WatchHead,
        decode_head,
    )
    from torcheer.run.run import Run
    from torcheer.run.scalarvalues import NOT_A_NUMBER, number_of
    from torcheer.run.schema import APPLICATION_ID, FORMAT, LOCK_ENDING, PAGE_BYTES, PART_ENDING, TABLES
    from torcheer.run.seam import pass_of
    from torcheer.run.summarywriter import GRAPH, SummaryWriter
    from torcheer.run.tablecolumns import Cells, cells_of, misfit_of
    from torcheer.run.telling import RunWarning, Teller
else:
    __getattr__, __dir__ = lazy_imports(__name__)
