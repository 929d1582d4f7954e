//! The binary profile of CPU time: machine words in the program's own size and order.
//!
//! ```text
//! 0, 3, 0, period in µs, 0           number of words behind the first two: 3; version 0
//! count, depth, address …            the instruction first, then return addresses
//! 0, 1, 0                            the end
//! the text of /proc/self/maps
//! ```

use profundo_model::{SampleKind, State};

use crate::code::native_stacks::{Leaf, NativeStacks};
use crate::{Builder, Row, Warning};

/// The size and the order of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Words {
    is_long: bool,
    is_big_endian: bool,
}

/// The deepest stack that is believed.
const DEEPEST: u64 = 4096;

pub(super) fn is_start(start: &[u8]) -> bool {
    Words::of(start).is_some()
}

pub(super) fn read(bytes: &[u8], mut stacks: NativeStacks, builder: &mut Builder) {
    let Some(words) = Words::of(bytes) else {
        return;
    };
    let word = |at: usize| words.get(bytes, at);
    let mut period = word(3).unwrap_or(0).saturating_mul(1000);
    let is_named = !stacks.names.is_empty();
    if is_named && period == 1000 {
        // `pprof --raw` writes memory like this, too.
        builder.weighs(SampleKind::Events, "");
        builder.note("the file does not say what its numbers count");
        period = 1;
    } else {
        builder.weighs(SampleKind::Cpu, "");
        builder.profile.meta.period.0 = period;
    }
    let first = usize::try_from(word(1).unwrap_or(3))
        .unwrap_or(3)
        .saturating_add(2);
    let end = words.end(bytes, first);
    if let Some(maps) = end.and_then(|end| bytes.get(words.offset(end)..)) {
        for line in maps.split(|&byte| byte == b'\n') {
            stacks.mappings.add_line(builder, line);
        }
    }
    let thread = builder.only_thread();
    let mut at = first;
    let mut addresses = Vec::new();
    while let Some((count, depth)) = words.head(bytes, at) {
        addresses.clear();
        addresses.extend((0..depth).map_while(|number| word(at + 2 + number)));
        if addresses.len() < depth {
            break;
        }
        at += 2 + depth;
        // The signal's own frame and the first of the stack may be the same place.
        if let [leaf, caller, ..] = addresses[..]
            && leaf == caller
        {
            addresses.remove(1);
        }
        let is_kernel = addresses.first().is_some_and(|&leaf| leaf >= 1 << 63);
        if let Some(stack) = stacks.stack(builder, Leaf::Instruction, &addresses) {
            builder.sample(Row {
                stack,
                thread,
                weight: count.saturating_mul(period),
                samples: count,
                time: None,
                state: if is_kernel {
                    State::System
                } else {
                    State::Running
                },
            });
        }
    }
    // `pprof --raw` leaves out the end.
    let offset = words.offset(at).min(bytes.len());
    if end.is_none() && !(is_named && offset == bytes.len()) {
        builder.warn(Warning::Damaged {
            offset: offset as u64,
            what: "a sample".to_owned(),
        });
    }
    builder.note("gperftools' profile of CPU time has no threads and no times");
}

impl Words {
    fn of(bytes: &[u8]) -> Option<Self> {
        let all = [(true, false), (false, false), (true, true), (false, true)];
        let words = all.map(|(is_long, is_big_endian)| Self {
            is_long,
            is_big_endian,
        });
        words.into_iter().find(|words| words.is_head(bytes))
    }

    /// Whether the head and the first sample are as they must be.
    fn is_head(self, bytes: &[u8]) -> bool {
        /// A second.
        const LONGEST: u64 = 1_000_000;
        let word = |at| self.get(bytes, at);
        let is_head = word(0) == Some(0)
            && word(1) == Some(3)
            && word(2) == Some(0)
            && word(3).is_some_and(|period| (1..=LONGEST).contains(&period))
            && word(4) == Some(0);
        is_head && (self.head(bytes, 5).is_some() || self.is_end(bytes, 5))
    }

    fn offset(self, at: usize) -> usize {
        at.saturating_mul(if self.is_long { 8 } else { 4 })
    }

    fn get(self, bytes: &[u8], at: usize) -> Option<u64> {
        let rest = bytes.get(self.offset(at)..)?;
        Some(match (self.is_long, self.is_big_endian) {
            (true, false) => u64::from_le_bytes(*rest.first_chunk()?),
            (true, true) => u64::from_be_bytes(*rest.first_chunk()?),
            (false, false) => u64::from(u32::from_le_bytes(*rest.first_chunk()?)),
            (false, true) => u64::from(u32::from_be_bytes(*rest.first_chunk()?)),
        })
    }

    /// The count and the depth of the sample at a word.
    fn head(self, bytes: &[u8], at: usize) -> Option<(u64, usize)> {
        let (count, depth) = (self.get(bytes, at)?, self.get(bytes, at + 1)?);
        let is_sample = count > 0 && (1..=DEEPEST).contains(&depth);
        is_sample.then_some((count, depth as usize))
    }

    fn is_end(self, bytes: &[u8], at: usize) -> bool {
        [0, 1, 0]
            .into_iter()
            .zip(at..)
            .all(|(wanted, at)| self.get(bytes, at) == Some(wanted))
    }

    /// The word behind the end.
    fn end(self, bytes: &[u8], first: usize) -> Option<usize> {
        let mut at = first;
        while let Some((_, depth)) = self.head(bytes, at) {
            at += 2 + depth;
        }
        self.is_end(bytes, at).then_some(at + 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_size_and_the_order_of_the_program() {
        let words = [0_u32, 3, 0, 10_000, 0, 2, 1, 0x1234, 0, 1, 0];
        let short: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let found = Words::of(&short).expect("a profile");
        assert!(!found.is_long && found.is_big_endian);
        assert_eq!(found.end(&short, 5), Some(11));
        let mut builder = Builder::default();
        read(&short, NativeStacks::default(), &mut builder);
        assert_eq!(builder.profile.samples[0].weight.0, 20_000_000);
        let long = words.iter().flat_map(|&word| u64::from(word).to_le_bytes());
        let long: Vec<u8> = long.collect();
        assert!(Words::of(&long).expect("a profile").is_long);
        assert!(!is_start(&[0; 200]));
    }
}
