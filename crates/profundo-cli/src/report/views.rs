//! The view of each report, with the options that it has.

use profundo_analysis::GroupBy;
use profundo_report::{
    Allocs, Annotate, Choices, CountedLines, Exceptions, Format, Functions, Hidden, Io, Lines,
    Memory, MemoryLines, Neighbours, Only, Spans, Spread, Summary, Syscalls, Trace,
};

use super::Shape;
use crate::options::{Order, What};

impl Shape<'_> {
    pub(super) fn library_format(&self) -> Option<Format> {
        match self.what {
            What::Tree => Some(Format::Tree),
            What::Flat => Some(Format::Flat),
            What::Functions if self.view.shape.is_grouped() => Some(Format::Functions),
            _ => None,
        }
    }

    /// The choices of the report: samples, frames, rows.
    pub(super) fn choices(&self) -> Choices {
        let hidden = match self.view.filters.c {
            true => Hidden::Nothing,
            false => Hidden::Runtime,
        };
        Choices::command()
            .filter(self.filter.clone())
            .hidden(hidden)
            .only_mine(self.view.filters.only_mine)
    }

    pub(super) fn summary(&self) -> Summary {
        let shape = &self.view.shape;
        let by_command = shape.by == Some(GroupBy::Command);
        let summary = Summary::new()
            .from_disk(!shape.no_disk)
            .by_command(by_command);
        match shape.limit {
            // The tree has several lines for each function.
            Some(limit) => (summary.lines(limit).functions(limit).table(limit))
                .tree(limit.saturating_mul(2))
                .small_rows(true),
            None => summary,
        }
    }

    pub(super) fn spans(&self) -> Spans {
        let shape = &self.view.shape;
        let spans = Spans::new().by(shape.by.clone().unwrap_or_default());
        match shape.limit {
            Some(limit) => spans.limit(limit),
            None => spans,
        }
    }

    pub(super) fn spread(&self) -> Spread {
        let spread = Spread::new().total(self.view.shape.total);
        match self.view.shape.limit {
            Some(limit) => spread.limit(limit),
            None => spread,
        }
    }

    pub(super) fn lines(&self) -> Lines {
        let shape = &self.view.shape;
        let mut lines = Lines::new()
            .all_lines(shape.all_lines)
            .total(shape.total)
            .libraries(shape.libraries)
            .statements(shape.statements)
            .from_disk(!shape.no_disk);
        if let Some(context) = shape.context {
            lines = lines.context(context);
        }
        if let Some(min_share) = shape.min_share {
            lines = lines.min_share(min_share);
        }
        if let Some(limit) = shape.limit {
            lines = lines.limit(limit);
        }
        lines
    }

    pub(super) fn counted_lines(&self) -> CountedLines {
        let shape = &self.view.shape;
        let lines = CountedLines::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => lines.limit(limit),
            None => lines,
        }
    }

    pub(super) fn exceptions(&self) -> Exceptions {
        match self.view.shape.limit {
            Some(limit) => Exceptions::new().limit(limit),
            None => Exceptions::new(),
        }
    }

    pub(super) fn functions(&self) -> Functions {
        let shape = &self.view.shape;
        let mut functions = Functions::new();
        if let Some(order) = shape.sort.as_ref().and_then(Order::of_samples) {
            functions = functions.sorted_by(order);
        }
        if let Some(limit) = shape.limit {
            functions = functions.limit(limit);
        }
        if let Some(min_share) = shape.min_share {
            functions = functions.min_share(min_share);
        }
        functions
    }

    pub(super) fn annotate(&self) -> Annotate {
        let shape = &self.view.shape;
        let mut annotate = Annotate::new(self.name.unwrap_or_default(), self.listings.clone())
            .all(shape.all_lines)
            .from_disk(!shape.no_disk);
        if let Some(context) = shape.context {
            annotate = annotate.context(context);
        }
        if let Some(min_share) = shape.min_share {
            annotate = annotate.min_share(min_share);
        }
        annotate
    }

    pub(super) fn io(&self) -> Io {
        let shape = &self.view.shape;
        let io = Io::new()
            .statements(shape.statements)
            .from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => io.limit(limit),
            None => io,
        }
    }

    pub(super) fn syscalls(&self) -> Syscalls {
        match self.view.shape.limit {
            Some(limit) => Syscalls::new().limit(limit),
            None => Syscalls::new(),
        }
    }

    pub(super) fn memory(&self) -> Memory {
        match self.view.shape.limit {
            Some(limit) => Memory::new().limit(limit),
            None => Memory::new(),
        }
    }

    pub(super) fn allocs(&self) -> Allocs {
        let shape = &self.view.shape;
        let allocs = Allocs::new()
            .statements(shape.statements)
            .from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => allocs.limit(limit).small_rows(true),
            None => allocs,
        }
    }

    pub(super) fn memory_lines(&self) -> MemoryLines {
        let shape = &self.view.shape;
        let lines = MemoryLines::new().from_disk(!shape.no_disk);
        match shape.limit {
            Some(limit) => lines.limit(limit),
            None => lines,
        }
    }

    pub(super) fn trace(&self, mut trace: Trace) -> Trace {
        let shape = &self.view.shape;
        if let Some(order) = shape.sort.as_ref().and_then(Order::of_calls) {
            trace = trace.sorted_by(order.clone());
        }
        let limit = shape.limit.map(Only::First);
        for only in shape.only.iter().cloned().chain(limit) {
            trace = trace.only(only);
        }
        let neighbours = match (shape.callers, shape.callees) {
            (true, _) => Neighbours::Callers,
            (_, true) => Neighbours::Callees,
            _ => Neighbours::None,
        };
        trace
            .neighbours(neighbours)
            .group_by(shape.by.clone().unwrap_or_default())
    }

    /// The library's own reports, with all of their options.
    pub(super) fn library_report(&self, format: Format) -> profundo_report::Report {
        let shape = &self.view.shape;
        let mut report = profundo_report::Report::new()
            .format(format)
            .choices(self.choices())
            .combine(!shape.no_combine)
            .hot_first(shape.hot_first)
            .group_by(shape.by.clone().unwrap_or_default())
            .recur(shape.recur.unwrap_or_default());
        if let Some(maxdepth) = shape.maxdepth {
            report = report.maxdepth(maxdepth);
        }
        if let Some(min_share) = shape.min_share {
            report = report.min_share(min_share);
        }
        if let Some(mincount) = shape.mincount {
            report = report.mincount(mincount);
        }
        if let Some(noisefloor) = shape.noisefloor {
            report = report.noisefloor(noisefloor);
        }
        if let Some(order) = shape.sort.as_ref().and_then(Order::of_samples) {
            report = report.sorted_by(order);
        }
        report
    }
}
