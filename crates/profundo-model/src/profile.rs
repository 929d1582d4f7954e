//! All tables together, and the few questions that join them.

use std::collections::BTreeMap;

use crate::{
    File, FileId, FileTable, Frame, FrameId, FrameKey, FrameTable, Gathered, Growing, Heap,
    Language, LocationId, LocationKind, LocationTable, Meta, ModuleTable, Origin, Process, Sample,
    SampleKind, SourceFile, SourceLines, Spans, StackTable, StringTable, SyscallCount, TaskTable,
    ThreadTable, Traced, Traffic,
};

/// A profile.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// The recording as a whole.
    pub meta: Meta,
    /// Every text.
    pub strings: StringTable,
    /// Source files.
    pub files: FileTable,
    /// Functions at lines.
    pub frames: FrameTable,
    /// Code addresses and their frames.
    pub locations: LocationTable,
    /// Stacks as a prefix tree.
    pub stacks: StackTable,
    /// Files mapped into the target.
    pub modules: ModuleTable,
    /// The recordings that processes come from, where several were merged or one has labels.
    pub origins: Vec<Origin>,
    /// Processes.
    pub processes: Vec<Process>,
    /// Threads.
    pub threads: ThreadTable,
    /// Tasks.
    pub tasks: TaskTable,
    /// Spans and marks.
    pub spans: Spans,
    /// Lines of source, where they were kept.
    pub sources: SourceLines,
    /// The text of source files that ran, where known.
    pub source_files: BTreeMap<FileId, SourceFile>,
    /// The parts needed only while it grows.
    pub growing: Growing,
    /// Bytes that threads have read and written, where recorded, in the order of arrival.
    pub traffic: Vec<Traffic>,
    /// How often threads have made system calls, where counted, in the order of arrival.
    pub syscalls: Vec<SyscallCount>,
    /// Allocations, where recorded.
    pub heap: Heap,
    /// Calls and lines, where each of them was counted.
    pub traced: Traced,
    /// Samples, in the order in which they were taken, oldest first.
    pub samples: Vec<Sample>,
    /// The samples behind merged rows of `samples`, where there are too many samples.
    pub gathered: Gathered,
}

impl Profile {
    /// The count of a sample in reports: its weight in periods, rounded, at least 1. A sample that
    /// stands for several missed timer ticks counts as so many. A traced profile has no samples:
    /// there the count is the nanoseconds, which may be 0. Events are counts already.
    pub fn count_of(&self, sample: &Sample) -> u64 {
        match self.meta.kind {
            SampleKind::Traced | SampleKind::Events => sample.weight.0,
            _ => self.meta.count_of(sample.weight),
        }
    }

    /// The id of a frame given in plain text.
    pub fn frame(&mut self, key: FrameKey<'_>) -> FrameId {
        let file = self.file(key.file, key.prefix, key.rest);
        let function = self.strings.intern(key.function);
        let signature = self.strings.intern(key.signature);
        self.frames.intern(Frame {
            function,
            signature,
            file,
            line: key.line,
            language: key.language,
            inlined: key.inlined,
        })
    }

    /// The id of a file given in plain text. An empty `rest` without prefix means the path.
    pub fn file(&mut self, path: &str, prefix: &str, rest: &str) -> FileId {
        let rest = if prefix.is_empty() && rest.is_empty() {
            path
        } else {
            rest
        };
        let file = File {
            path: self.strings.intern(path),
            prefix: self.strings.intern(prefix),
            rest: self.strings.intern(rest),
        };
        self.files.intern(file)
    }

    /// The bare name of a frame's function; empty where it is unknown.
    pub fn function_name(&self, frame: FrameId) -> &str {
        self.strings.get(self.frames.get(frame).function)
    }

    /// The raw path of a frame's file; empty where it is unknown.
    pub fn file_path(&self, frame: FrameId) -> &str {
        self.strings
            .get(self.files.get(self.frames.get(frame).file).path)
    }

    /// Gives each reason's location its `[…]` frame. Naming calls this; hand-made data may too.
    pub fn name_reasons(&mut self) {
        let unnamed: Vec<(LocationId, &'static str)> = self
            .locations
            .iter()
            .filter(|(_, location)| location.frames.is_empty())
            .filter_map(|(id, location)| match location.kind {
                LocationKind::Reason(reason) => Some((id, reason.name())),
                _ => None,
            })
            .collect();
        for (id, name) in unnamed {
            let frame = self.frame(FrameKey {
                function: name,
                language: Language::Synthetic,
                ..FrameKey::default()
            });
            self.locations.set_frames(id, &[frame]);
        }
    }
}
