//! The programs that ran a frame of `<string>`. Each process may have been given another text by
//! `-c`, so one that only starts a library proves nothing about the others.

use profundo_model::{FrameId, ProcessId, Profile, StackId};
use rustc_hash::{FxHashMap, FxHashSet};

/// The programs that ran a frame, by the text that they were given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Programs {
    /// Any of them was given a text that only starts other code.
    pub starts: bool,
    /// Any of them was given a text that does work of its own.
    pub works: bool,
    /// Any of them was given none.
    pub without: bool,
}

impl Programs {
    /// True if all programs were given a text that only starts other code.
    pub(super) fn only_start(self) -> bool {
        self.starts && !self.works && !self.without
    }

    fn add(&mut self, process: Option<bool>) {
        match process {
            Some(true) => self.starts = true,
            Some(false) => self.works = true,
            None => self.without = true,
        }
    }
}

/// By frame, the programs that ran it.
#[derive(Debug)]
pub(super) struct Runs {
    frames: FxHashMap<usize, Programs>,
    /// All programs that were given a text: for frames that no process is known to have run.
    all: Programs,
}

impl Runs {
    /// `processes` has for each process whether its text only starts other code; `None`: it was
    /// given none.
    pub(super) fn of(profile: &Profile, frames: &[usize], processes: &[Option<bool>]) -> Self {
        let mut all = Programs::default();
        for process in processes.iter().filter(|process| process.is_some()) {
            all.add(*process);
        }
        let mut found = Self {
            frames: FxHashMap::default(),
            all,
        };
        // Where all processes are alike, the stacks need not be read.
        if processes.windows(2).any(|two| two[0] != two[1]) {
            found.read_stacks(profile, frames, processes);
        }
        found
    }

    pub(super) fn programs(&self, frame: usize) -> Programs {
        self.frames.get(&frame).copied().unwrap_or(self.all)
    }

    fn read_stacks(&mut self, profile: &Profile, frames: &[usize], processes: &[Option<bool>]) {
        let frames: FxHashSet<usize> = frames.iter().copied().collect();
        let is_text = |frame: &FrameId| frames.contains(&frame.index());
        // Callers are stored before their callees.
        let mut has_text: Vec<bool> = Vec::with_capacity(profile.stacks.len());
        for stack in profile.stacks.iter() {
            let below = (stack.parent).is_some_and(|parent| has_text[parent.index()]);
            has_text.push(
                below
                    || profile
                        .locations
                        .get(stack.location)
                        .frames
                        .iter()
                        .any(is_text),
            );
        }
        let samples = profile.samples.iter();
        let samples =
            samples.map(|sample| (sample.stack, profile.threads.get(sample.thread).process));
        let sites = profile
            .heap
            .sites
            .iter()
            .map(|site| (site.stack, site.process));
        let mut seen: FxHashSet<(StackId, ProcessId)> = FxHashSet::default();
        let mut last = None;
        for (stack, process) in samples.chain(sites) {
            if !has_text[stack.index()] || last == Some((stack, process)) {
                continue;
            }
            last = Some((stack, process));
            let judged = processes.get(process.index()).copied().flatten();
            let stacks = std::iter::successors(Some(stack), |&id| profile.stacks.get(id).parent);
            // Stacks below one that was seen in this process were seen as well.
            for id in stacks.take_while(|&id| has_text[id.index()] && seen.insert((id, process))) {
                let location = profile.locations.get(profile.stacks.get(id).location);
                for frame in location.frames.iter().filter(|frame| is_text(frame)) {
                    self.frames.entry(frame.index()).or_default().add(judged);
                }
            }
        }
    }
}
