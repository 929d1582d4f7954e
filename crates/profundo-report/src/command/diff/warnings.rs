//! The reasons to doubt a comparison.

use std::collections::BTreeSet;

use profundo_analysis::Whole;
use profundo_model::{Engine, Machine, Module, Profile, Role};

use super::{Compared, Diff, command};
use crate::page::units::duration;
use crate::page::width::keep_head;
use crate::quality::{graves, words};

/// A circumstance of a recording; empty where it is not known.
type Circumstance = (&'static str, fn(&Profile) -> String);

/// What should be the same on both sides, besides the code.
const CIRCUMSTANCES: [Circumstance; 8] = [
    ("command", |profile| keep_head(command(profile), 60)),
    ("executable", build),
    ("interpreter", |profile| runtime(profile).to_owned()),
    ("processor", |profile| {
        machine(profile, |machine| machine.cpu.clone())
    }),
    ("CPUs", |profile| {
        machine(profile, |machine| match machine.cpus {
            0 => String::new(),
            cpus => cpus.to_string(),
        })
    }),
    ("kernel", |profile| {
        machine(profile, |machine| machine.kernel.clone())
    }),
    ("sampling", |profile| match profile.meta.period.0 {
        0 | 1 => String::new(),
        period => format!("every {}", duration(period)),
    }),
    ("engine", |profile| match profile.meta.engine {
        Engine::Unknown => String::new(),
        engine => engine.name().to_owned(),
    }),
];

impl Diff<'_> {
    /// What differs between the recordings besides the code, and what each of them lacks.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let differs = CIRCUMSTANCES.iter().filter_map(|&(what, of)| {
            let [before, after] = self.sides.map(|side| values(side, of));
            (before != after && !before.is_empty() && !after.is_empty())
                .then(|| format!("{what} ({before} before, {after} after)"))
        });
        let differs: Vec<String> = differs.chain(self.loads()).collect();
        if !differs.is_empty() {
            warnings.push(format!(
                "more than the code differs: {}.",
                differs.join("; ")
            ));
        }
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

    /// The other work of the machines, if that differs much.
    fn loads(&self) -> Option<String> {
        /// So much of a CPU is a difference.
        const MUCH: f64 = 0.5;
        let mean = |side: &[Compared<'_>]| {
            let loads = side.iter().filter_map(|run| {
                let meta = &run.profile.meta;
                meta.machine.as_ref()?.load(meta.duration)
            });
            let loads: Vec<f64> = loads.collect();
            (!loads.is_empty()).then(|| loads.iter().sum::<f64>() / loads.len() as f64)
        };
        let [before, after] = self.sides.map(mean);
        let (before, after) = before.zip(after)?;
        ((before - after).abs() >= MUCH)
            .then(|| format!("load (other programs had {before:.1} CPUs before, {after:.1} after)"))
    }
}

/// The values of a side, each once.
fn values(side: &[Compared<'_>], of: fn(&Profile) -> String) -> String {
    let values = side.iter().map(|run| of(run.profile));
    let values: BTreeSet<String> = values.filter(|value| !value.is_empty()).collect();
    values.into_iter().collect::<Vec<_>>().join(" and ")
}

fn machine(profile: &Profile, of: fn(&Machine) -> String) -> String {
    profile.meta.machine.as_ref().map(of).unwrap_or_default()
}

/// The first interpreter of a recording.
fn runtime(profile: &Profile) -> &str {
    let processes = profile.processes.iter();
    let mut runtimes = processes.map(|process| profile.strings.get(process.runtime));
    runtimes.find(|name| !name.is_empty()).unwrap_or_default()
}

/// The build of the first program: of its interpreter, where it has one, else of the file that was
/// executed.
fn build(profile: &Profile) -> String {
    /// The digits that tell builds apart.
    const BYTES: usize = 4;
    let program = command(profile).split(' ').next().unwrap_or_default();
    let name = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let is_it = |module: &&Module| match runtime(profile) {
        "" => name(profile.strings.get(module.path)) == name(program),
        _ => module.role == Role::Interpreter,
    };
    let modules = profile.modules.iter().map(|(_, module)| module);
    let mut known = modules.filter(|module| !module.build_id.is_empty());
    let digits = |module: &Module| -> String {
        let bytes = module.build_id.iter().take(BYTES);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    };
    (known.find(is_it)).map_or_else(String::new, |module| format!("build {}", digits(module)))
}
