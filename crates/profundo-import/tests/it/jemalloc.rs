//! Heap profiles of jemalloc 5.3, against `jeprof`.

use std::collections::BTreeMap;
use std::fs;

use profundo_model::{Profile, Sampling, Site};

use crate::oracle::addresses;
use crate::support::{read, testdata};

/// The own and the total value of each address, from `jeprof --text --addresses --show_bytes`.
fn jeprof(name: &str) -> BTreeMap<u64, (u64, u64)> {
    let text = fs::read_to_string(testdata(name)).expect("a text");
    let rows = text.lines().skip(1).map(|row| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let number = |at: usize| words[at].parse().expect("a number");
        let address = u64::from_str_radix(words[5], 16).expect("an address");
        (address, (number(0), number(3)))
    });
    rows.collect()
}

fn check(profile: &Profile, name: &str, value: fn(&Site) -> u64) {
    let mut found: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for site in &profile.heap.sites {
        let (stack, _) = addresses(profile, site.stack);
        found.entry(stack[0]).or_default().0 += value(site);
        for address in stack {
            found.entry(address).or_default().1 += value(site);
        }
    }
    // Each site's estimate is rounded alone.
    let sites = profile.heap.sites.len() as u64;
    let mut compared = 0;
    for (address, (own, total)) in jeprof(name) {
        // It shows the allocator's own functions, where they have names.
        let Some(near) = found.get(&address) else {
            continue;
        };
        compared += 1;
        assert!(
            near.1.abs_diff(total) <= sites,
            "{name} {address:x}: {total} {near:?}"
        );
        if own > 0 {
            assert!(
                near.0.abs_diff(own) <= sites,
                "{name} {address:x}: {own} {near:?}"
            );
        }
    }
    assert!(compared > 5, "{name}");
}

#[test]
fn all_blocks_and_those_in_use() {
    let imported = read("jemalloc/accumulated.heap");
    assert_eq!(imported.reader.name(), "jemalloc");
    let profile = &imported.profile;
    assert_eq!(profile.heap.sampling, Sampling::Bytes(16_384));
    check(profile, "jemalloc/accumulated.inuse_space.txt", |site| {
        site.live().bytes
    });
    check(profile, "jemalloc/accumulated.inuse_objects.txt", |site| {
        site.live().count
    });
    check(profile, "jemalloc/accumulated.alloc_space.txt", |site| {
        site.allocated.bytes
    });
    check(profile, "jemalloc/accumulated.alloc_objects.txt", |site| {
        site.allocated.count
    });
}

#[test]
fn blocks_in_use_alone() {
    let profile = read("jemalloc/live.heap").profile;
    check(&profile, "jemalloc/live.inuse_space.txt", |site| {
        site.live().bytes
    });
    assert!(profile.heap.sites.iter().all(|site| site.freed.bytes == 0));
}
