//! What Google's `pprof` prints of a file.

use std::collections::BTreeMap;
use std::fs;

use profundo_model::{LocationKind, Profile, StackId};

use crate::support::testdata;

/// The own and the total value of each function, from `pprof -top` with exact units.
pub fn top(name: &str) -> BTreeMap<String, (u64, u64)> {
    let text = fs::read_to_string(testdata(name)).expect("a text");
    let mut rows = text.lines().skip_while(|line| !line.contains("flat%"));
    rows.next();
    let mut found = BTreeMap::new();
    for row in rows {
        let words: Vec<&str> = row.split_whitespace().collect();
        let [own, _, _, total, _, name @ ..] = &words[..] else {
            panic!("{row}");
        };
        let number = |word: &str| -> u64 {
            let digits = word.trim_end_matches(char::is_alphabetic);
            digits.parse().expect("a number")
        };
        let name = name.join(" ");
        let name = name
            .trim_end_matches(" (inline)")
            .trim_end_matches(" (partial-inline)");
        let sum = found.entry(name.to_owned()).or_insert((0, 0));
        *sum = (sum.0 + number(own), sum.1 + number(total));
    }
    assert!(!found.is_empty(), "{name}");
    found
}

/// The values of a stack of addresses, the leaf first, and the files of these.
pub type Raw = BTreeMap<Vec<u64>, (Vec<u64>, Vec<String>)>;

/// The stacks from `pprof -raw`, with the values of samples of one stack added up. Addresses in the
/// files of `without` at the leaf are left out.
pub fn raw(name: &str, without: &str) -> Raw {
    let text = fs::read_to_string(testdata(name)).expect("a text");
    let (samples, rest) = text.split_once("\nLocations\n").expect("locations");
    let (locations, mappings) = rest.split_once("\nMappings\n").expect("mappings");
    let numbered = |text: &str| -> BTreeMap<String, String> {
        let rows = text.lines().filter_map(|line| line.trim().split_once(": "));
        rows.map(|(id, row)| (id.to_owned(), row.to_owned()))
            .collect()
    };
    let (locations, mappings) = (numbered(locations), numbered(mappings));
    let mut found = Raw::new();
    for row in samples.lines() {
        let Some((values, ids)) = row.split_once(": ") else {
            continue;
        };
        let values: Option<Vec<u64>> = values
            .split_whitespace()
            .map(|value| value.parse().ok())
            .collect();
        let Some(values) = values else {
            continue;
        };
        let (mut addresses, mut files) = (Vec::new(), Vec::new());
        for id in ids.split_whitespace() {
            let mut words = locations[id].split_whitespace();
            let address = words.next().expect("an address").trim_start_matches("0x");
            let mapping = words.next().and_then(|word| word.strip_prefix("M="));
            let file = mapping.and_then(|id| mappings[id].split_whitespace().nth(1));
            let file = file.unwrap_or_default();
            if addresses.is_empty() && !without.is_empty() && file.contains(without) {
                continue;
            }
            addresses.push(u64::from_str_radix(address, 16).expect("digits"));
            files.push(file.to_owned());
        }
        let known = found
            .entry(addresses)
            .or_insert((vec![0; values.len()], files));
        known
            .0
            .iter_mut()
            .zip(values)
            .for_each(|(sum, value)| *sum += value);
    }
    assert!(!found.is_empty(), "{name}");
    found
}

/// The addresses of a stack, the leaf first, and the files that they lie in.
pub fn addresses(profile: &Profile, stack: StackId) -> (Vec<u64>, Vec<String>) {
    let locations = profile.stacks.locations(stack);
    let rows = locations.map(|id| {
        let location = profile.locations.get(id);
        let LocationKind::Code(address) = location.kind else {
            panic!("{location:?}");
        };
        let path = location.module.map(|id| profile.modules.get(id).path);
        let path = path.map_or("", |path| profile.strings.get(path));
        (address.for_lookup().0, path.to_owned())
    });
    rows.unzip()
}
