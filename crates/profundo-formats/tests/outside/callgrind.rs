//! Samples in callgrind's format, added up by `callgrind_annotate`.

use std::collections::BTreeMap;
use std::process::Command;

use profundo_formats::export::{Format, Options, Weights};
use profundo_model::Profile;
use profundo_testing::{find_tool, skip};

use crate::tables::{self, Numbers};
use crate::{made, text, tools};

/// The costs of functions, as `callgrind_annotate` lists them: `FILE:FUNCTION`.
fn annotated(
    profile: &Profile,
    options: &Options,
    inclusive: bool,
) -> Option<BTreeMap<String, u64>> {
    let program = find_tool("callgrind_annotate")?;
    let file = text(profile, Format::CALLGRIND, options);
    let path = tools::put("sampled.callgrind", file.as_bytes());
    let inclusive = match inclusive {
        true => "--inclusive=yes",
        false => "--inclusive=no",
    };
    let mut command = Command::new(program);
    command
        .args(["--threshold=100", "--auto=no", inclusive])
        .arg(path);
    let printed = tools::text(&mut command, 120).unwrap();
    let mut rows: BTreeMap<String, u64> = BTreeMap::new();
    for line in printed.lines() {
        let Some((cost, rest)) = line.trim_start().split_once(" (") else {
            continue;
        };
        let Ok(cost) = cost.replace(',', "").parse::<u64>() else {
            continue;
        };
        let Some((_, name)) = rest.split_once("%)  ") else {
            continue;
        };
        let name = name.rsplit_once(" [").map_or(name, |(name, _)| name);
        if !name.starts_with("PROGRAM TOTALS") && !name.ends_with(":<program>") {
            *rows.entry(name.trim().to_owned()).or_default() += cost;
        }
    }
    Some(rows)
}

fn ours(profile: &Profile, number: fn(&Numbers) -> u64) -> BTreeMap<String, u64> {
    let functions = tables::functions(profile, false).into_iter();
    functions
        .map(|((name, path), numbers)| {
            let path = match &path[..] {
                "" => "???",
                path => path,
            };
            (format!("{path}:{name}"), number(&numbers))
        })
        .filter(|&(_, cost)| cost > 0)
        .collect()
}

#[test]
fn callgrind_annotate_shows_our_totals() {
    let recursive = Profile::from_folded(
        "main;walk;walk;leaf 3\nmain;walk;leaf;walk 2\nwalk;main;walk 1\nmain 4\nother;other 5",
    )
    .unwrap();
    for profile in [recursive, made::odd(), made::large(2_000)] {
        let options = Options::default();
        let Some(own) = annotated(&profile, &options, false) else {
            return skip("callgrind_annotate is not installed (apt install valgrind)");
        };
        assert_eq!(own, ours(&profile, |numbers| numbers.own_time));
        let inclusive = annotated(&profile, &options, true).unwrap();
        assert_eq!(inclusive, ours(&profile, |numbers| numbers.time));
        let counts = Options {
            weights: Some(Weights::Samples),
            ..Options::default()
        };
        let counted = annotated(&profile, &counts, true).unwrap();
        assert_eq!(counted, ours(&profile, |numbers| numbers.count));
    }
}
