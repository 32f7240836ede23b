"""What was observed over a training, on disk: written live, and read while it is written, without torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torcheer.lazy_imports import lazy_imports

if TYPE_CHECKING:
    from torcheer.run.encode.arrays import view_of
    from torcheer.run.encode.steps_names_hparams import NOT_A_NUMBER, number_of
    from torcheer.run.log_methods import NETVIEW, reason_of
    from torcheer.run.part_storage import (
        APPLICATION_ID,
        FORMAT,
        LOCK_ENDING,
        PAGE_BYTES,
        PART_ENDING,
        TABLES,
        PartLock,
        take_lock,
    )
    from torcheer.run.read.part_protocol import (
        InterruptedReading,
        Part,
        Points,
        RecordEntry,
        SeriesEntry,
        SeriesKey,
        State,
        check_cancelled,
        interruptible,
        rank_in,
    )
    from torcheer.run.read.part_rows import HeadRow, Slice
    from torcheer.run.read.run_folders import (
        FolderEntries,
        FoundRun,
        FoundRuns,
        LinkRule,
        entries_in,
        find_runs,
        folder_of,
        is_event_file,
        is_part,
        is_run,
        is_shown_folder,
        links_note,
        links_within,
    )
    from torcheer.run.read.run_reader import Cursor, RunReader, RunStatus, losses_of, record_id
    from torcheer.run.read.saved_records import HistogramRecord, ImageRecord, TensorRecord
    from torcheer.run.read.saved_run import ReadMethods, SavedRun, open_run, reader_of
    from torcheer.run.read.scalars import (
        WATCHER_PREFIX,
        Scalars,
        by_interest,
        is_loss,
        loss_of,
        needed_pandas,
        save_table,
        sparkline,
        write_csv,
    )
    from torcheer.run.read.sqlite_part import SqlitePart
    from torcheer.run.read.watched import (
        Alarm,
        Gap,
        Watched,
        WatchedReader,
        WatchedSeries,
        at_steps,
        every_text,
        write_events_csv,
    )
    from torcheer.run.records import (
        ITEM_BYTES,
        AnyHead,
        Connection,
        EmbeddingHead,
        EncodedRecord,
        Form,
        Grid,
        HistogramHead,
        HparamsHead,
        Kind,
        LayoutChart,
        LayoutGroup,
        LayoutHead,
        MomentHead,
        NetLayer,
        NetScene,
        PassHead,
        Place,
        Plain,
        ShownHead,
        StatisticsHead,
        TableColumn,
        TableHead,
        TensorHead,
        WatchedRow,
        WatchHead,
        decode_head,
        plain_text,
    )
    from torcheer.run.run import Run, RunAccess, whole_number_of
    from torcheer.run.statistics import (
        ESTIMATES,
        MOMENTS,
        NORM,
        NUM_VALUES,
        ORDER,
        UNITS,
        figures_of,
        group_of,
        table_of,
    )
    from torcheer.run.tables import Cells, Table, TableRecord, cells_of, table_fault
    from torcheer.run.tensorboard.export import KINDS_NOT_EXPORTED
    from torcheer.run.tensorboard.summary_writer import SummaryWriter
    from torcheer.run.warnings_once import RunWarning, WarningsOnce, warn_caller
    from torcheer.run.write.process_end import Ending, at_end_of_child, ending_of, ending_of_program
    from torcheer.run.write.queue import Mark
else:
    __getattr__, __dir__ = lazy_imports(__name__)
