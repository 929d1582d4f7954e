//! The reasons to doubt a comparison.

use std::collections::BTreeSet;

use profundo_analysis::Whole;
use profundo_model::Profile;

use super::{Compared, Diff, command};
use crate::page::units::duration;
use crate::quality::{graves, words};

impl Diff<'_> {
    /// What differs between the recordings beside the program, and what each of them lacks.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut differs = |what: &str, of: fn(&Profile) -> String| {
            let [before, after] = self.sides.map(|side| values(side, of));
            if before != after && !before.is_empty() && !after.is_empty() {
                let list =
                    |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(" and ");
                warnings.push(format!(
                    "{what}: {} before, {} after.",
                    list(before),
                    list(after)
                ));
            }
        };
        differs("the commands are different", |profile| {
            crate::page::width::keep_head(command(profile), 60)
        });
        differs("the interpreters are different", |profile| {
            let runtimes = profile
                .processes
                .iter()
                .map(|process| profile.strings.get(process.runtime));
            runtimes.filter(|name| !name.is_empty()).take(1).collect()
        });
        differs("the sampling is different", |profile| {
            match profile.meta.period.0 {
                0 | 1 => String::new(),
                period => format!("every {}", duration(period)),
            }
        });
        differs("what took the samples is different", |profile| {
            profile.meta.engine.name().to_owned()
        });
        for (side, word) in self.sides.iter().zip(["before", "after"]) {
            for run in side.iter() {
                let name = match side.len() {
                    1 => word.to_owned(),
                    _ => run.name.to_owned(),
                };
                // Counts of lines are whole without any sample.
                let is_counted = run.profile.samples.is_empty() && !run.profile.traced.is_empty();
                let missing = match is_counted {
                    true => Vec::new(),
                    false => graves(run.profile, &Whole::ALL),
                };
                for missing in missing {
                    let text = words(&missing);
                    warnings.push(format!("{name}: {}", text.trim_start()));
                }
                if run.profile.meta.buffer_was_full {
                    warnings.push(format!(
                        "{name}: the recording ended before the program did."
                    ));
                }
            }
        }
        warnings
    }
}

fn values(side: &[Compared<'_>], of: fn(&Profile) -> String) -> BTreeSet<String> {
    let values = side.iter().map(|run| of(run.profile));
    values.filter(|value| !value.is_empty()).collect()
}
