//! The order of siblings and of rows.
//!
//! By default a report is in the order of the source: file, function, line. It is total and the
//! same for every run, because ties of the other orders fall back to it: reasons come after
//! functions, unknown code comes last.

use std::cmp::Ordering;

use profundo_analysis::{FlatRow, FunctionShare, Node, Place};
use profundo_model::{FrameId, LocationId, LocationKind, ModuleId, Profile};

use crate::SortBy;
use crate::naming::label::Label;

/// The rank of each place and address in the order of the source.
#[derive(Debug)]
pub(crate) struct Order<'a> {
    profile: &'a Profile,
    /// The rank of each frame.
    ranks: Vec<u32>,
    sorted_by: SortBy,
    hot_first: bool,
}

type Key = (u32, Option<(LocationKind, Option<ModuleId>)>);

impl<'a> Order<'a> {
    pub(crate) fn new(profile: &'a Profile, sorted_by: SortBy, hot_first: bool) -> Self {
        let mut frames: Vec<FrameId> = (0..profile.frames.len()).map(FrameId::from_index).collect();
        frames.sort_by_cached_key(|&frame| {
            let row = profile.frames.get(frame);
            let kind = match Label::of(profile, Place::Frame(frame)) {
                Label::Frame(_) => 0,
                Label::Reason(_) => 1,
                Label::Unknown => 2,
            };
            (
                kind,
                profile.file_path(frame),
                profile.function_name(frame),
                row.line,
                profile.strings.get(row.signature),
                row.language,
                row.inlined,
            )
        });
        let mut ranks = vec![0; frames.len()];
        for (rank, frame) in (0..).zip(frames) {
            ranks[frame.index()] = rank;
        }
        Self {
            profile,
            ranks,
            sorted_by,
            hot_first,
        }
    }

    fn key(&self, place: Place, location: Option<LocationId>) -> Key {
        let rank = match place {
            Place::Frame(frame) => self.ranks[frame.index()],
            Place::Reason(reason) => self.ranks.len() as u32 + reason as u32,
            Place::Unknown => u32::MAX,
        };
        let address = location.map(|location| {
            let location = self.profile.locations.get(location);
            (location.kind, location.module)
        });
        (rank, address)
    }

    /// By `heat` where the order is one of counts, else by source.
    fn by_heat(&self, heat: Ordering, source: Ordering) -> Ordering {
        let order = heat.then(source);
        if self.hot_first && self.sorted_by != SortBy::FileFuncLine {
            order.reverse()
        } else {
            order
        }
    }

    /// The order of siblings in a tree.
    pub(crate) fn nodes(&self, a: &Node, b: &Node) -> Ordering {
        let heat = match self.sorted_by {
            SortBy::FileFuncLine => Ordering::Equal,
            SortBy::Count => a.count.cmp(&b.count),
            SortBy::Overhead => a.overhead.cmp(&b.overhead),
            SortBy::FlatCount => a.flat_count.cmp(&b.flat_count),
        };
        self.by_heat(
            heat,
            self.key(a.place, a.location)
                .cmp(&self.key(b.place, b.location)),
        )
    }

    /// The order of rows in a flat table.
    pub(crate) fn rows(&self, a: &FlatRow, b: &FlatRow) -> Ordering {
        let source = self
            .key(a.place, a.location)
            .cmp(&self.key(b.place, b.location));
        match self.sorted_by {
            SortBy::FileFuncLine | SortBy::FlatCount => source,
            SortBy::Count => self.by_heat(a.count.cmp(&b.count), source),
            SortBy::Overhead => self.by_heat(a.overhead.cmp(&b.overhead), source),
        }
    }

    /// The order of a table of functions by heat, the hottest last: by what was asked for, or
    /// else by the function's own time.
    pub(crate) fn functions(&self, a: &FunctionShare, b: &FunctionShare) -> Ordering {
        let own = a.own.share.total_cmp(&b.own.share);
        let total = a.total.share.total_cmp(&b.total.share);
        let heat = match self.sorted_by {
            SortBy::Count => total.then(own),
            _ => own.then(total),
        };
        heat.then_with(|| self.sources(b.place, a.place))
    }

    /// The order of the source alone.
    pub(crate) fn sources(&self, a: Place, b: Place) -> Ordering {
        self.key(a, None).cmp(&self.key(b, None))
    }
}
