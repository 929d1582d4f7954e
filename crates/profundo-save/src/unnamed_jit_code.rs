//! Time in generated code without names: the setting that gives it names.

use std::collections::{BTreeMap, BTreeSet};

use profundo_analysis::{Place, Shown, each_innermost_place};
use profundo_model::{
    LocationId, LocationKind, ProcessId, Profile, SampleKind, StackId, is_generated_code,
};

/// A smaller share of the time, or fewer samples, is not reported.
const SHARE: f64 = 0.05;
const SAMPLES: f64 = 20.0;

/// A JIT compiler, and the setting that has it publish names.
struct Maker {
    /// The file name of its program, or the start of it.
    name: &'static str,
    /// The variable to set in the environment, if one suffices.
    variable: Option<&'static str>,
    setting: &'static str,
}

const MAKERS: [Maker; 6] = [
    Maker {
        name: "julia",
        variable: Some("ENABLE_JITPROFILING"),
        setting: "ENABLE_JITPROFILING=1 in its environment",
    },
    Maker {
        name: "node",
        variable: None,
        setting: "NODE_OPTIONS=--perf-basic-prof in its environment",
    },
    Maker {
        name: "java",
        variable: None,
        setting: "`java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -XX:+PreserveFramePointer`",
    },
    Maker {
        name: "dotnet",
        variable: Some("DOTNET_PerfMapEnabled"),
        setting: "DOTNET_PerfMapEnabled=1 in its environment",
    },
    Maker {
        name: "beam",
        variable: None,
        setting: "ERL_FLAGS=\"+JPperf true\" in its environment",
    },
    Maker {
        name: "luajit",
        variable: None,
        setting: "a build by `make XCFLAGS=-DLUAJIT_USE_PERFTOOLS`",
    },
];

/// Notes it in a recording of this many samples, if there is much of it. `times` are those of the
/// stacks.
pub fn note(profile: &mut Profile, times: &[u64], samples: usize) {
    let is_said = |note: &String| note.ends_with(CLOSING);
    if profile.meta.notes.iter().any(is_said) {
        return;
    }
    if let Some(note) = sentence(profile, times, samples) {
        profile.meta.notes.push(note);
    }
}

const CLOSING: &str = "(docs/jit.md)";

fn sentence(profile: &Profile, times: &[u64], samples: usize) -> Option<String> {
    let unnamed = unnamed(profile, times);
    // The table's row has the code of all processes.
    let all: u64 = times.iter().sum();
    let time: u64 = unnamed.iter().map(|stack| times[stack.index()]).sum();
    let share = time as f64 / all.max(1) as f64;
    if share < SHARE || share * (samples as f64) < SAMPLES {
        return None;
    }
    // The process is that with most of it among the samples that are in memory.
    let mut found: BTreeMap<ProcessId, u64> = BTreeMap::new();
    for sample in profile.samples.iter() {
        if unnamed.contains(&sample.stack) {
            let thread = profile.threads.get(sample.thread);
            *found.entry(thread.process).or_default() += sample.weight.0;
        }
    }
    let (process, _) = found.into_iter().max_by_key(|(_, weight)| *weight)?;
    let process = profile.processes.get(process.index())?;
    let command = profile.strings.get(process.command);
    let file = command.split(' ').next().unwrap_or_default();
    let name = file.rsplit('/').next().unwrap_or_default();
    let maker = MAKERS.iter().find(|maker| name.starts_with(maker.name));
    let variable = maker.and_then(|maker| maker.variable).filter(|variable| {
        let mut names = process.environment.iter();
        names.any(|&id| profile.strings.get(id) == *variable)
    });
    let how = match (maker, variable) {
        (_, Some(variable)) => {
            format!("although {variable} is set, this build of it does not tell them")
        }
        (Some(maker), None) => format!("with {} it has", maker.setting),
        (None, None) => "if its compiler can write a perf map or a jitdump, it has".to_owned(),
    };
    let time = match profile.meta.kind {
        SampleKind::Cpu => "CPU time",
        _ => "time",
    };
    Some(format!(
        "{:.1} % of the {time} is in code that {name} made while it ran and that has no names: {how} {CLOSING}",
        share * 100.0
    ))
}

/// The stacks whose time the tables count as functions without names in code that lies in no file.
fn unnamed(profile: &Profile, times: &[u64]) -> BTreeSet<StackId> {
    let stacks = (0..times.len()).filter(|&stack| times[stack] > 0);
    let stacks = stacks.map(StackId::from_index);
    let mut found = BTreeSet::new();
    each_innermost_place(profile, stacks, Shown::COMMAND, |stack, innermost| {
        if innermost.is_some_and(|(place, location)| is_unnamed(profile, place, location)) {
            found.insert(stack);
        }
    });
    found
}

fn is_unnamed(profile: &Profile, place: Place, location: LocationId) -> bool {
    let has_no_name = match place {
        Place::Frame(frame) => profile.function_name(frame).is_empty(),
        Place::Reason(_) => false,
        Place::Unknown => true,
    };
    let location = profile.locations.get(location);
    has_no_name
        && matches!(location.kind, LocationKind::Code(_))
        && location.module.is_some_and(|module| {
            let path = profile.modules.get(module).path;
            is_generated_code(profile.strings.get(path))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Avma, CodeAddress, FrameKey, Language, LocationId, Nanos, Sample};

    /// A profile with this many samples of a program in generated code, and as many elsewhere.
    fn made(command: &str, function: &str, environment: &[&str]) -> Profile {
        let mut profile = Profile::default();
        let process = profile.hand_made_process(7, command);
        let names = environment
            .iter()
            .map(|variable| profile.strings.intern(variable));
        let names: Vec<_> = names.collect();
        profile.processes[process.index()].environment = names;
        let thread = profile.hand_made_thread(1, "main");
        let jit = profile.hand_made_module("[JIT]");
        let key = FrameKey {
            function,
            ..FrameKey::default()
        };
        let code = profile.hand_made_location(
            LocationKind::Code(CodeAddress::Instruction(Avma(0x1000))),
            Some(jit),
            &[key],
        );
        let other = profile.hand_made_location(
            LocationKind::Code(CodeAddress::Instruction(Avma(0x9000))),
            None,
            &[key],
        );
        for location in [code, other] {
            let stack = profile.hand_made_stack(&[other, location]);
            for _ in 0..30 {
                profile.samples.push(Sample {
                    weight: Nanos(1000),
                    thread,
                    stack,
                    ..Sample::default()
                });
            }
        }
        profile
    }

    fn noted(mut profile: Profile) -> Vec<String> {
        let samples = profile.samples.len();
        let mut times = Vec::new();
        crate::stack_weights::add_times(&mut times, &profile);
        note(&mut profile, &times, samples);
        note(&mut profile, &times, samples);
        profile.meta.notes
    }

    #[test]
    fn the_share_is_that_of_all_samples_where_only_the_last_are_in_memory() {
        let mut profile = made("node a.js", "", &[]);
        let samples = profile.samples.len();
        let mut times = Vec::new();
        crate::stack_weights::add_times(&mut times, &profile);
        profile.samples.truncate(10);
        note(&mut profile, &times, samples);
        let notes = profile.meta.notes;
        assert!(notes[0].starts_with("50.0 % of the CPU time"), "{notes:?}");
    }

    #[test]
    fn code_without_names_is_noted_once_with_the_remedy() {
        let notes = noted(made("/usr/bin/julia a.jl", "", &["HOME"]));
        assert_eq!(
            notes,
            [
                "50.0 % of the CPU time is in code that julia made while it ran and that has no names: with \
                 ENABLE_JITPROFILING=1 in its environment it has (docs/jit.md)"
            ]
        );
        let notes = noted(made("julia a.jl", "", &["ENABLE_JITPROFILING"]));
        assert!(
            notes[0].contains("although ENABLE_JITPROFILING is set"),
            "{notes:?}"
        );
        let notes = noted(made("./mine", "", &[]));
        assert!(notes[0].contains("mine made while it ran"), "{notes:?}");
    }

    fn nameless(profile: &mut Profile, module: &str) -> LocationId {
        let module = profile.hand_made_module(module);
        let kind = LocationKind::Code(CodeAddress::Return(Avma(0x2000)));
        let key = FrameKey {
            file: "/memfd:vmem",
            ..FrameKey::default()
        };
        profile.hand_made_location(kind, Some(module), &[key])
    }

    #[test]
    fn the_share_is_that_of_the_table_of_functions() {
        let mut profile = made("/usr/lib/erlang/bin/beam.smp -- -noshell", "hot", &[]);
        // Another process, and plumbing above the code: the table has both.
        let jit = nameless(&mut profile, "/memfd:vmem (deleted)");
        let plumbing = FrameKey {
            function: "memcpy",
            language: Language::Runtime,
            ..FrameKey::default()
        };
        let kind = LocationKind::Code(CodeAddress::Instruction(Avma(0x3000)));
        let plumbing = profile.hand_made_location(kind, None, &[plumbing]);
        let stack = profile.hand_made_stack(&[jit, plumbing]);
        let other = profile.hand_made_process(8, "another");
        let thread = profile.hand_made_thread(2, "main");
        profile.threads.get_mut(thread).process = other;
        let first = profile.samples[0].thread;
        for thread in [[first; 30].as_slice(), &[thread; 20]].concat() {
            profile.samples.push(Sample {
                weight: Nanos(1000),
                thread,
                stack,
                ..Sample::default()
            });
        }
        let all = profundo_analysis::Selection::new(&profile, &Default::default());
        let rows = profundo_analysis::shares(&profile, &all, Shown::COMMAND);
        let table: f64 = (rows.iter())
            .filter(|row| match row.place {
                Place::Frame(frame) => profile.function_name(frame).is_empty(),
                _ => false,
            })
            .map(|row| row.own.share)
            .sum();
        assert!(table > 0.4, "{table}");
        let note = &noted(profile)[0];
        let share = format!(
            "{:.1} % of the CPU time is in code that beam.smp",
            table * 100.0
        );
        assert!(note.starts_with(&share), "{note} {share}");
        assert!(
            note.contains("with ERL_FLAGS=\"+JPperf true\" in its environment it has"),
            "{note}"
        );
    }

    #[test]
    fn what_has_a_name_is_not() {
        assert!(noted(made("node a.js", "hot", &[])).is_empty());
        let mut few = made("node a.js", "", &[]);
        few.samples.drain(..15);
        assert!(noted(few).is_empty());
    }
}
