//! `.jlprof`, read as Julia's `Profile` and FlameGraphs.jl read it: blocks are found by their ends,
//! and every address has its frames. The crate of imports reads what is written, too.

use std::collections::BTreeMap;

use profundo_formats::export::{Format, Options};
use profundo_model::Profile;

use crate::{made, tables, write};

/// A name and a path.
type Name = (String, String);

/// The bytes that are not read yet.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (start, rest) = self.0.split_first_chunk::<N>().expect("a whole file");
        self.0 = rest;
        *start
    }

    fn word(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn text(&mut self) -> String {
        let length = i32::from_le_bytes(self.take()) as usize;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8(text.to_vec()).expect("text")
    }
}

/// The words, and the frames of each address: name, path, line, C, inlined.
type File = (Vec<u64>, BTreeMap<u64, Vec<(Name, i64, bool, bool)>>);

fn read(file: &[u8]) -> File {
    let mut input = Input(file);
    assert_eq!(&input.take(), b"JLPROF\x01\x00");
    assert_eq!(u32::from_le_bytes(input.take()), 0x0102_0304);
    assert_eq!(input.take(), [1]);
    let words: Vec<u64> = (0..input.word()).map(|_| input.word()).collect();
    let mut names = BTreeMap::new();
    for _ in 0..input.word() {
        let address = input.word();
        let count = i32::from_le_bytes(input.take());
        let frame = |_| {
            let name = (input.text(), input.text());
            let line = input.word().cast_signed();
            let [is_c, is_inlined] = input.take();
            (name, line, is_c == 1, is_inlined == 1)
        };
        let frames: Vec<_> = (0..count).map(frame).collect();
        assert!(
            names.insert(address, frames).is_none(),
            "{address:#x} twice"
        );
    }
    assert!(input.0.is_empty());
    (words, names)
}

/// The addresses of each sample and the four words of its owner, by Julia's rule: two zeros with a
/// word that is not 0 before them.
fn blocks(words: &[u64]) -> Vec<(&[u64], &[u64])> {
    let mut start = 0;
    let mut blocks = Vec::new();
    for end in 5..words.len() {
        if words[end - 1..=end] == [0, 0] && words[end - 2] != 0 {
            let block = &words[start..end - 1];
            blocks.push(block.split_at(block.len() - 4));
            start = end + 1;
        }
    }
    assert_eq!(start, words.len());
    blocks
}

fn check(profile: &Profile) {
    let file = write(profile, Format::JLPROF, &Options::default());
    let (words, names) = read(&file);
    let mut found: BTreeMap<Name, (u64, u64)> = BTreeMap::new();
    for (addresses, owner) in blocks(&words) {
        assert!(owner.iter().all(|&word| word != 0), "{owner:?}");
        let frames = addresses.iter().flat_map(|address| &names[address]);
        let mut functions: Vec<Name> = frames.map(|(name, ..)| name.clone()).collect();
        found.entry(functions[0].clone()).or_default().0 += 1;
        functions.sort();
        functions.dedup();
        for name in functions {
            found.entry(name).or_default().1 += 1;
        }
    }
    let ours: BTreeMap<Name, (u64, u64)> = (tables::functions(profile, false).into_iter())
        .map(|(name, numbers)| (name, (numbers.own_count, numbers.count)))
        .collect();
    assert_eq!(found, ours);
}

#[test]
fn samples_are_as_many_as_in_our_tables() {
    check(&made::odd());
    check(&made::odd_wall());
    check(&made::large(20_000));
}

#[test]
fn frames_have_lines_and_their_owners() {
    let profile = made::odd();
    let (words, names) = read(&write(&profile, Format::JLPROF, &Options::default()));
    let frame = |name: &str| {
        let mut frames = names.values().flatten();
        frames
            .find(|((function, _), ..)| function == name)
            .expect(name)
    };
    let (_, line, is_c, is_inlined) = frame("core::ptr::read");
    assert_eq!((*line, *is_c, *is_inlined), (1700, false, true));
    let (_, line, is_c, _) = frame("deflate_fast");
    assert_eq!((*line, *is_c), (1823, true));
    assert_eq!(frame("[unknown in server]").1, -1);
    // Threads, tasks, and states: Julia numbers threads from 1.
    let mut owners: Vec<&[u64]> = (blocks(&words).into_iter())
        .map(|(_, owner)| owner)
        .collect();
    owners.sort_unstable_by_key(|owner| owner[0]);
    owners.dedup_by_key(|owner| (owner[0], owner[1]));
    let owners: Vec<_> = owners.iter().map(|owner| (owner[0], owner[1])).collect();
    assert_eq!(owners, [(1, 0xF0F0_0000_0001), (2, 7), (3, 0xbeef)]);
}
