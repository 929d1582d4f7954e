//! The text of perf script, collapsed by inferno.

use std::collections::BTreeMap;
use std::process::Command;

use profundo_formats::export::{Format, Options, Weights};
use profundo_model::Profile;
use profundo_testing::{find_tool, skip};

use crate::{made, text, tools};

/// The stacks of inferno without the thread's name at their root.
fn collapsed(profile: &Profile) -> Result<String, String> {
    let program = find_tool("inferno-collapse-perf").ok_or(
        "inferno is not installed (cargo install inferno --no-default-features --features cli)",
    )?;
    let script = text(profile, Format::PERF_SCRIPT, &Options::default());
    let path = tools::put("export.perf", script.as_bytes());
    let stacks = tools::text(Command::new(program).arg(path), 60)?;
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for line in stacks.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let (_, stack) = stack.split_once(';').unwrap();
        *sums.entry(stack.to_owned()).or_default() += count.parse::<u64>().unwrap();
    }
    Ok(sums
        .iter()
        .map(|(stack, count)| format!("{stack} {count}\n"))
        .collect())
}

#[test]
fn inferno_makes_our_collapsed_stacks() {
    let profile = Profile::from_folded(
        "main;parse::lex;next_token 7\nmain;parse::lex 2\nmain;run loop;__libc_write 11\nidle 1",
    )
    .unwrap();
    let theirs = match collapsed(&profile) {
        Ok(stacks) => stacks,
        Err(why) => return skip(&why),
    };
    // It counts periods.
    let options = Options {
        weights: Some(Weights::Time),
        ..Options::default()
    };
    let mut ours: Vec<String> = text(&profile, Format::COLLAPSED, &options)
        .lines()
        .map(|line| format!("{line}\n"))
        .collect();
    ours.sort();
    assert_eq!(theirs, ours.concat());
    // Names change in a large one, so its counts are compared.
    let profile = made::large(4_000);
    let counts = |text: &str| {
        let counts = text.lines().map(|line| line.rsplit_once(' ').unwrap().1);
        let mut counts: Vec<u64> = counts.map(|count| count.parse().unwrap()).collect();
        counts.sort_unstable();
        counts
    };
    let ours = text(&profile, Format::COLLAPSED, &options);
    assert_eq!(counts(&collapsed(&profile).unwrap()), counts(&ours));
}

/// The periods are the weights, and every sample has its own entry.
#[test]
fn periods_add_up_to_our_time() {
    let profile = made::odd();
    let text = text(&profile, Format::PERF_SCRIPT, &Options::default());
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.ends_with(" cpu-clock: "))
        .collect();
    assert_eq!(heads.len(), profile.samples.len());
    let period = |head: &&str| -> u64 {
        let (start, _) = head.rsplit_once(" cpu-clock").unwrap();
        start.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let sum: u64 = heads.iter().map(period).sum();
    assert_eq!(
        sum,
        profile
            .samples
            .iter()
            .map(|sample| sample.weight.0)
            .sum::<u64>()
    );
    assert!(
        heads[0].starts_with("MainThread 4001/4001 0.000000000: "),
        "{}",
        heads[0]
    );
    assert!(text.contains(" py::<module>:/srv/app.py ([python])\n"));
    assert!(text.contains(" core::ptr::read (inlined)\n"));
}
