//! `.jlprof`, which Julia's `FlameGraphs.jl` and ProfileView open: the words of
//! `Profile.retrieve()` and the frames of each address.
//!
//! ```text
//! "JLPROF" 01 00 | order mark u32 = 0x01020304 | kind u8 = 1
//! n i64 | n × word u64
//! m i64 | m × { address u64, k i32, k × frame }
//! frame = length i32, function | length i32, file | line i64 | from_c u8 | inlined u8
//! ```
//!
//! The words of one sample, as Julia has them since 1.8:
//!
//! ```text
//! address, innermost first … | thread | task | cycle clock | state | 0 | 0
//! ```
//!
//! Julia counts samples. One that stands for several is there so many times; where that would be
//! more than viewers can hold, each stands for as many as it takes, and rounding loses none of the
//! sum. Code without an address has an invented one, counted down from 2^64 − 2 as `flatten` does.

use std::io::Write;

use profundo_model::{LocationId, LocationKind, Profile, Sample};
use rustc_hash::FxHashMap;

use super::format::{Holds, Row};
use super::view::{Point, View};
use super::{Counts, Format, Options, Weights};
use crate::Error;

/// The most words, and samples, that are written: viewers hold all of them in memory.
const MOST_WORDS: u128 = 32_000_000;
const MOST_SAMPLES: u128 = 2_000_000;

const MAGIC: &[u8] = b"JLPROF\x01\x00";

impl Format {
    /// See [`jlprof`](self).
    pub const JLPROF: Self = Self(&Row {
        name: "jlprof",
        aliases: &["julia"],
        extensions: &["jlprof"],
        about: "Julia's ProfileView and FlameGraphs.jl",
        file: "jlprof file",
        holds: Holds::Samples,
        has_title: false,
        is_in_order: true,
        has_memory_too: false,
        misfit,
        is_start: |start| start.starts_with(MAGIC),
        write: |profile, options, mut out| write(profile, options, &mut out),
    });
}

/// Why options do not go with it.
fn misfit(options: &Options) -> Option<&'static str> {
    if options.weights == Some(Weights::Time) {
        Some("jlprof counts samples; it has no --weights time")
    } else if options.merge.is_some() {
        Some("jlprof has functions and lines; it needs no --frames")
    } else if options.processes || options.threads || options.tasks {
        Some("jlprof has the threads and tasks of samples; it needs no option for them")
    } else if options.kinds {
        Some("jlprof has no kinds of frames but those of C; it needs no --kinds")
    } else {
        None
    }
}

/// Writes the profile.
pub fn write(profile: &Profile, options: &Options, out: &mut impl Write) -> Result<(), Error> {
    bounded(profile, options, (MOST_SAMPLES, MOST_WORDS), out)
}

fn bounded(
    profile: &Profile,
    options: &Options,
    most: (u128, u128),
    out: &mut impl Write,
) -> Result<(), Error> {
    let view = View::new(profile, options);
    let addresses = addresses(&view);
    let repeats = Repeats::new(&view, &addresses, most);
    let words = words(&view, &addresses, &repeats);
    let mut file = Vec::with_capacity(words.len() * size_of::<u64>() + 64);
    file.extend_from_slice(MAGIC);
    file.extend_from_slice(&0x0102_0304_u32.to_le_bytes());
    file.push(1);
    let push_word = |file: &mut Vec<u8>, word: u64| file.extend_from_slice(&word.to_le_bytes());
    push_word(&mut file, words.len() as u64);
    words.iter().for_each(|&word| push_word(&mut file, word));
    let used: Vec<(usize, u64)> = (addresses.iter().copied().enumerate())
        .filter_map(|(spot, address)| Some((spot, address?)))
        .collect();
    push_word(&mut file, used.len() as u64);
    for (spot, address) in used {
        push_word(&mut file, address);
        let points = &view.spots[spot];
        file.extend_from_slice(&(points.len() as u32).to_le_bytes());
        for &point in points {
            push_frame(&mut file, &view, point);
        }
        if file.len() > 1 << 20 {
            out.write_all(&file).map_err(Error::Write)?;
            file.clear();
        }
    }
    out.write_all(&file).map_err(Error::Write)
}

fn push_frame(file: &mut Vec<u8>, view: &View<'_>, point: Point) {
    let function = &view.functions[point.function as usize];
    let mut text = |text: &str| {
        file.extend_from_slice(&(text.len() as u32).to_le_bytes());
        file.extend_from_slice(text.as_bytes());
    };
    text(&function.name);
    text(view.path(function.file));
    // An unknown line is -1.
    let line = match point.line {
        0 => -1,
        line => i64::from(line),
    };
    file.extend_from_slice(&line.to_le_bytes());
    // What has no function is named for the reader, who should see it.
    let is_c = function.frame.is_some_and(|frame| frame.is_c());
    file.extend_from_slice(&[u8::from(is_c), u8::from(point.inlined)]);
}

/// The address that stands for each spot; `None` for spots of no stack.
fn addresses(view: &View<'_>) -> Vec<Option<u64>> {
    let mut is_used = vec![false; view.spots.len()];
    for node in &view.nodes {
        is_used[node.spot as usize] = true;
    }
    let profile = view.profile;
    // The last spot is no location's: it stands for hidden stacks.
    let own = |spot: usize| {
        let location = (spot < profile.locations.len())
            .then(|| profile.locations.get(LocationId(spot as u32)).kind);
        match location {
            Some(LocationKind::Code(code)) => code.for_lookup().0,
            Some(LocationKind::Invented(number)) if number >> 63 == 1 => number,
            _ => 0,
        }
    };
    let mut spots: FxHashMap<u64, usize> = FxHashMap::default();
    for spot in (0..view.spots.len()).filter(|&spot| is_used[spot]) {
        let address = own(spot);
        // 0 ends a sample, and all ones begin interpreted code.
        if address != 0 && address != u64::MAX {
            // An address in two modules, of which one was unloaded, is the first one's.
            spots.entry(address).or_insert(spot);
        }
    }
    let mut invented = u64::MAX;
    let mut invent = || {
        loop {
            invented -= 1;
            if !spots.contains_key(&invented) {
                return invented;
            }
        }
    };
    (0..view.spots.len())
        .map(|spot| {
            let address = own(spot);
            is_used[spot].then(|| match spots.get(&address) {
                Some(&owner) if owner == spot => address,
                _ => invent(),
            })
        })
        .collect()
}

/// How often each row of samples is written.
struct Repeats<'a> {
    counts: Counts<'a>,
    /// The samples that a written one stands for.
    each: u128,
}

/// The words behind the addresses of a sample.
const END: u64 = 6;

impl<'a> Repeats<'a> {
    fn new(view: &View<'a>, addresses: &[Option<u64>], most: (u128, u128)) -> Self {
        let profile = view.profile;
        let counts = Counts::new(profile);
        let mut depths: Vec<u64> = Vec::with_capacity(view.nodes.len());
        for node in &view.nodes {
            let above = node.parent.map_or(0, |parent| depths[parent as usize]);
            depths.push(above + u64::from(addresses[node.spot as usize].is_some()));
        }
        let (mut samples, mut words) = (0_u128, 0_u128);
        for (row, sample) in profile.samples.iter().enumerate() {
            let count = u128::from(counts.of(row, sample));
            let depth = depths[view.node(sample.stack) as usize] + END;
            samples += count;
            words += count * u128::from(depth);
        }
        let each = (samples.div_ceil(most.0)).max(words.div_ceil(most.1));
        Self {
            counts,
            each: each.max(1),
        }
    }
}

fn words(view: &View<'_>, addresses: &[Option<u64>], repeats: &Repeats<'_>) -> Vec<u64> {
    let profile = view.profile;
    let mut words = Vec::new();
    let mut sum = 0_u128;
    for (row, sample) in profile.samples.iter().enumerate() {
        let before = sum / repeats.each;
        sum += u128::from(repeats.counts.of(row, sample));
        let times = sum / repeats.each - before;
        for _ in 0..times {
            let spots = view.spots_of(view.node(sample.stack));
            words.extend(spots.filter_map(|spot| addresses[spot as usize]));
            words.extend(end(profile, sample));
        }
    }
    words
}

/// The words behind the addresses. None of the first four may be 0.
fn end(profile: &Profile, sample: &Sample) -> [u64; END as usize] {
    let thread = profile.threads.get(sample.thread).number;
    let task = match profile.tasks.is_empty() {
        true => 0,
        false => profile.tasks.get(sample.task).number,
    };
    let clock = match sample.clock {
        0 => sample.time.0,
        clock => clock,
    };
    let task = if task == 0 { thread } else { task };
    [
        thread.max(1),
        task.max(1),
        clock.max(1),
        sample.state.julia(),
        0,
        0,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of(file: &[u8]) -> Vec<u64> {
        let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        (0..word(13))
            .map(|number| word(21 + 8 * number as usize))
            .collect()
    }

    #[test]
    fn samples_are_words() {
        let profile = Profile::from_folded("main;work 2\nmain 1").unwrap();
        let mut file = Vec::new();
        write(&profile, &Options::default(), &mut file).unwrap();
        let words = words_of(&file);
        assert_eq!(words.len(), 2 * (2 + 6) + 1 + 6);
        assert_eq!(words[0..2], words[8..10]);
        assert_eq!(words[1], words[16]);
        assert_eq!(words[5..8], [1, 0, 0]);
        assert!(words[2..5].iter().all(|&word| word != 0));
    }

    #[test]
    fn many_samples_are_fewer_that_stand_for_more() {
        let text = "main;a 1000\nmain;b 500\nmain;c 1\n";
        let profile = Profile::from_folded(text).unwrap();
        let mut file = Vec::new();
        bounded(&profile, &Options::default(), (100, 10_000), &mut file).unwrap();
        // Each of them stands for sixteen.
        assert_eq!(words_of(&file).len(), 93 * 8);
    }
}
