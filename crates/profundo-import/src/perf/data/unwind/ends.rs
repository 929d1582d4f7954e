//! The ends of walked stacks, counted, and the sentences about those that were cut.

use profundo_model::{ModuleId, Reason};
use rustc_hash::FxHashMap;

use crate::Builder;

/// The end of a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// The outermost frame.
    Root,
    /// There are more frames than a walk takes.
    Deep,
    /// The end of the copied part, which has this size.
    Cut(usize),
    /// Code in a file that this machine does not have.
    Missing(ModuleId),
    /// Code without unwind information, or a stack that does not fit it.
    NoInformation,
}

/// The numbers of ends.
#[derive(Debug, Default)]
pub(super) struct Ends {
    all: u64,
    /// Those of programs of another kind.
    foreign: u64,
    cut: u64,
    /// The largest copied part that was too small.
    copied: usize,
    missing: FxHashMap<ModuleId, u64>,
    no_information: u64,
}

impl Ends {
    /// Counts a stack of a program that is not of this machine's kind.
    pub(super) fn add_foreign(&mut self) {
        self.all += 1;
        self.foreign += 1;
    }

    /// Counts an end. Returns the reason for one that was cut.
    pub(super) fn add(&mut self, end: End) -> Option<Reason> {
        self.all += 1;
        match end {
            End::Root => return None,
            End::Deep => return Some(Reason::Truncated),
            End::Cut(size) => {
                self.cut += 1;
                self.copied = self.copied.max(size);
                return Some(Reason::Truncated);
            }
            End::Missing(id) => *self.missing.entry(id).or_default() += 1,
            End::NoInformation => self.no_information += 1,
        }
        Some(Reason::Broken)
    }

    /// Adds the sentences. `architecture` is that of the recording, where it is known.
    pub(super) fn note(&self, builder: &mut Builder, architecture: &str) {
        /// The size that a record can have room for.
        const MOST_COPIED: usize = 65_528;
        let of = |many: u64| format!("{many} of {} copied stacks", self.all);
        if self.foreign > 0 {
            let programs = match architecture {
                "" | std::env::consts::ARCH => "programs of another kind",
                other => other,
            };
            builder.note(format!(
                "{} are of {programs}, which are not unwound on {}: each has only its innermost \
                 function (`perf script` prints whole stacks, which can be read)",
                of(self.foreign),
                std::env::consts::ARCH,
            ));
        }
        let missing: u64 = self.missing.values().sum();
        if missing > 0 {
            let names = self.missing_names(builder);
            builder.note(format!(
                "{} end at a file that this machine does not have, or has from another build: \
                 {names} (`perf archive` packs the files of a recording, for `~/.debug`)",
                of(missing),
            ));
        }
        if self.cut > 0 {
            let advice = match self.copied < MOST_COPIED / 8 * 7 {
                true => format!(": `--call-graph dwarf,{MOST_COPIED}` copies more"),
                false => String::new(),
            };
            builder.note(format!(
                "{} are longer than the part of {} bytes that was copied{advice}",
                of(self.cut),
                self.copied,
            ));
        }
        if self.no_information > 0 {
            builder.note(format!(
                "{} end in code without unwind information",
                of(self.no_information)
            ));
        }
    }

    /// The missing files, those of the most stacks first.
    fn missing_names(&self, builder: &Builder) -> String {
        const NAMED: usize = 4;
        let profile = &builder.profile;
        let mut counts: FxHashMap<&str, u64> = FxHashMap::default();
        for (&id, many) in &self.missing {
            let path = profile.strings.get(profile.modules.get(id).path);
            let name = path.rsplit('/').next().unwrap_or(path);
            *counts.entry(name).or_default() += many;
        }
        let mut counts: Vec<(&str, u64)> = counts.into_iter().collect();
        counts.sort_by_key(|&(name, many)| (std::cmp::Reverse(many), name));
        let more = counts.len().saturating_sub(NAMED);
        counts.truncate(NAMED);
        let names: Vec<&str> = counts.into_iter().map(|(name, _)| name).collect();
        match more {
            0 => names.join(", "),
            _ => format!("{} and {more} more", names.join(", ")),
        }
    }
}
