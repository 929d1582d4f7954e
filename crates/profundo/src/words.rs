//! Julia's layout of the samples as words:
//!
//! ```text
//! ip_leaf … ip_root | threadid | taskid | cpu_cycle_clock | sleepstate | 0 | 0
//! ```
//!
//! An `ip` is the address for looking up names: for a caller its return address minus one. Where a
//! stack ends early, its root is the reason, as an address that no program has.

use std::collections::HashMap;

use profundo_model::{
    Avma, CodeAddress, Gil, LocationId, LocationKind, ModuleId, Nanos, Profile, Reason, Sample,
    State,
};

use crate::error::{Error, Result};

/// The number of metadata words of a sample.
pub const NMETA: usize = 4;
/// The position of the sleep state, counted back from the last word of a sample.
pub const META_OFFSET_SLEEPSTATE: usize = 2;
/// The position of the cycle counter.
pub const META_OFFSET_CPUCYCLECLOCK: usize = 3;
/// The position of the task.
pub const META_OFFSET_TASKID: usize = 4;
/// The position of the thread.
pub const META_OFFSET_THREADID: usize = 5;

/// Reasons are numbered from here: above any address of user code.
const REASONS: u64 = 0xFFFF_0000_0000_0000;

/// Samples as words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Words(Vec<u64>);

impl Words {
    /// Wraps words from elsewhere.
    pub fn new(words: Vec<u64>) -> Self {
        Self(words)
    }

    /// The words as a slice.
    pub fn as_slice(&self) -> &[u64] {
        &self.0
    }

    /// Whether any sample carries metadata, by Julia's rule: two zeros, a state from 1 to 3
    /// before them, and three words that are not zero before that.
    pub fn has_meta(&self) -> bool {
        self.0.windows(6).any(|w| {
            w[5] == 0 && w[4] == 0 && (1..=3).contains(&w[3]) && w[..3].iter().all(|&x| x != 0)
        })
    }

    /// Whether the word at this index (from 0) ends a sample: it and the one before are zero, and
    /// a state stands before them.
    pub fn is_block_end(&self, index: usize) -> bool {
        index >= 4
            && self
                .0
                .get(index - 2..=index)
                .is_some_and(|w| w[0] != 0 && w[1..] == [0, 0])
    }

    /// The words of each sample, without metadata and zeros.
    pub fn strip_meta(&self) -> Words {
        let mut stripped = Vec::with_capacity(self.0.len());
        let mut ip = 0;
        for end in (0..self.0.len()).filter(|&index| self.is_block_end(index)) {
            stripped.extend_from_slice(&self.0[ip..(end + 1).saturating_sub(2 + NMETA).max(ip)]);
            stripped.push(0);
            ip = end + 1;
        }
        Words(stripped)
    }
}

impl std::ops::Deref for Words {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.0
    }
}

/// The word that stands for each location of a profile, by its id.
///
/// The same address in two modules (one was unloaded before the other came) gives two words: the
/// later one is invented, counted down from 2^64 − 2 like those of `flatten`.
pub(crate) fn of_locations(profile: &Profile) -> Vec<u64> {
    let mut taken: HashMap<u64, Option<ModuleId>> = HashMap::new();
    let mut words = Vec::with_capacity(profile.locations.len());
    let mut invented = u64::MAX - 1;
    for (_, location) in profile.locations.iter() {
        let mut word = word_of(location.kind);
        if taken
            .get(&word)
            .is_some_and(|&module| module != location.module)
        {
            while taken.contains_key(&invented) {
                invented -= 1;
            }
            word = invented;
        }
        taken.insert(word, location.module);
        words.push(word);
    }
    words
}

/// The word that stands for a location by itself.
fn word_of(kind: LocationKind) -> u64 {
    match kind {
        LocationKind::Code(code) => code.for_lookup().0,
        LocationKind::Reason(reason) => {
            let position = Reason::ALL.iter().position(|&other| other == reason);
            REASONS - position.unwrap_or(Reason::ALL.len()) as u64
        }
        LocationKind::Invented(number) => number,
        _ => REASONS - Reason::ALL.len() as u64,
    }
}

/// The words of a profile, oldest sample first.
pub(crate) fn of(profile: &Profile, has_meta: bool) -> Words {
    let word_of = of_locations(profile);
    let mut words = Vec::new();
    for sample in &profile.samples {
        let ips = profile.stacks.locations(sample.stack);
        words.extend(ips.map(|id| word_of[id.index()]));
        push_end(&mut words, profile, has_meta, sample);
    }
    Words(words)
}

/// Appends the words behind the addresses of a sample: its metadata, if it is kept, and zeros.
pub(crate) fn push_end(words: &mut Vec<u64>, profile: &Profile, has_meta: bool, sample: &Sample) {
    if has_meta {
        words.extend([
            profile.threads.get(sample.thread).number,
            profile.tasks.get(sample.task).number,
            sample.clock.max(1),
            sample.state.julia(),
            0,
        ]);
    }
    words.push(0);
}

/// A profile from words with metadata. Times follow the clocks, one nanosecond a cycle, because
/// words do not have the counter's frequency.
pub(crate) fn to_profile(words: &[u64]) -> Result<Profile> {
    const PERIOD: Nanos = Nanos(1_000_000);
    let all = Words(words.to_vec());
    let mut profile = Profile::default();
    profile.meta.period = PERIOD;
    let mut locations: HashMap<u64, LocationId> = HashMap::new();
    let mut first_clock = None;
    let mut start = 0;
    for end in (0..words.len()).filter(|&index| all.is_block_end(index)) {
        let Some(ips) = (end + 1)
            .checked_sub(2 + NMETA)
            .and_then(|until| words.get(start..until))
        else {
            return Err(Error::NotAProfile { at: end });
        };
        let mut stack = None;
        for &ip in ips.iter().rev() {
            let location = *locations.entry(ip).or_insert_with(|| {
                let kind = match REASONS
                    .checked_sub(ip)
                    .map(|code| Reason::ALL.get(code as usize))
                {
                    Some(Some(&reason)) => LocationKind::Reason(reason),
                    _ => LocationKind::Code(CodeAddress::Instruction(Avma(ip))),
                };
                profile.locations.intern(kind, None)
            });
            stack = Some(profile.stacks.intern(stack, location));
        }
        let thread_number = words[end - META_OFFSET_THREADID];
        let task_number = words[end - META_OFFSET_TASKID];
        let clock = words[end - META_OFFSET_CPUCYCLECLOCK];
        let first = *first_clock.get_or_insert(clock);
        let thread = match profile.threads.find_number(thread_number) {
            Some(id) => id,
            None => profile.hand_made_thread(thread_number, "default"),
        };
        let task = match profile.tasks.find_number(task_number) {
            Some(id) => id,
            None => profile.hand_made_task(task_number),
        };
        let state = match words[end - META_OFFSET_SLEEPSTATE] {
            2 => State::Sleeping,
            3 => State::WallRunning,
            _ => State::Running,
        };
        let stack = stack.unwrap_or_else(|| {
            let kind = LocationKind::Reason(Reason::Broken);
            let location = profile.locations.intern(kind, None);
            profile.stacks.intern(None, location)
        });
        profile.samples.push(Sample {
            time: Nanos(clock.saturating_sub(first)),
            weight: PERIOD,
            clock,
            thread,
            task,
            stack,
            state,
            gil: Gil::None,
            ..Sample::default()
        });
        start = end + 1;
    }
    if start != words.len() {
        return Err(Error::NotAProfile {
            at: words.len() - 1,
        });
    }
    profile.name_reasons();
    Ok(profile)
}
