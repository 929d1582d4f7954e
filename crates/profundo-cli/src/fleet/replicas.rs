//! The parts of an answer that differ from each other as runs do: hosts, or processes. Samples of
//! one host depend on each other, so intervals follow from how far hosts differ.

use std::collections::BTreeSet;

use profundo_model::{ProcessId, Profile, Sample, StringId};

/// More parts than this are put together: a comparison reads each of them.
const MOST: usize = 12;
/// With fewer parts on a side, nothing is known of their spread.
const FEWEST: usize = 2;

/// What the parts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replicas {
    Hosts,
    Processes,
}

impl Replicas {
    /// What each of these answers has several of.
    pub fn of(answers: &[Profile]) -> Option<Self> {
        let has_all = |by: Self| {
            let mut counts = answers.iter().map(|answer| by.numbers(answer).1);
            counts.all(|count| count >= FEWEST)
        };
        [Self::Hosts, Self::Processes]
            .into_iter()
            .find(|by| has_all(*by))
    }

    /// The word for several.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hosts => "hosts",
            Self::Processes => "processes",
        }
    }

    /// By process, the number of its part, and the number of parts.
    fn numbers(self, profile: &Profile) -> (Vec<usize>, usize) {
        let key = |id: ProcessId| -> (StringId, u32) {
            let host = profile.strings.find("host");
            let host = host.and_then(|key| profile.label_of(id, key));
            let pid = match self {
                Self::Hosts => 0,
                Self::Processes => profile.processes[id.index()].pid,
            };
            (host.unwrap_or_default(), pid)
        };
        let keys: Vec<_> = (0..profile.processes.len())
            .map(|index| key(ProcessId::from_index(index)))
            .collect();
        let all: BTreeSet<_> = keys.iter().copied().collect();
        let all: Vec<_> = all.into_iter().collect();
        let is_known = |key: &&(StringId, u32)| key.0 != StringId::default() || key.1 > 0;
        let known = all.iter().filter(is_known).count();
        let number = |key| all.binary_search(key).unwrap_or(0) % MOST;
        (keys.iter().map(number).collect(), known.min(MOST))
    }
}

/// The answers by their parts.
pub fn split(answers: Vec<Profile>, by: Replicas) -> Vec<Profile> {
    let mut parts = Vec::new();
    for answer in answers {
        let (numbers, count) = by.numbers(&answer);
        let of = |sample: &Sample| {
            let process = answer.threads.get(sample.thread).process;
            numbers[process.index()]
        };
        let samples: Vec<usize> = answer.samples.iter().map(of).collect();
        for number in 0..count.max(1) {
            let mut part = answer.clone();
            let stays: Vec<bool> = samples.iter().map(|of| *of == number).collect();
            part.gathered.keep(&stays);
            let mut stay = stays.iter();
            part.samples.retain(|_| *stay.next().unwrap_or(&false));
            if !part.samples.is_empty() {
                parts.push(part);
            }
        }
    }
    parts
}
