//! Time in code that programs made while they ran and that nobody named: what to set, so that it has names.

use std::collections::BTreeMap;

use profundo_model::{ProcessId, Profile, Sample, State};

/// Less than this part of the time is not worth a sentence, nor are so few samples.
const SHARE: f64 = 0.05;
const SAMPLES: u32 = 20;

/// Who makes code, and what has him tell its names.
struct Maker {
    /// How its program's file is called, or begins.
    name: &'static str,
    /// The variable that is to be in the environment, if one will do.
    variable: Option<&'static str>,
    setting: &'static str,
}

const MAKERS: [Maker; 4] = [
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
];

/// Says so in the recording's notes, if there is much of it.
pub fn note(profile: &mut Profile) {
    let is_said = |note: &String| note.ends_with(CLOSING);
    if profile.meta.notes.iter().any(is_said) {
        return;
    }
    if let Some(note) = sentence(profile) {
        profile.meta.notes.push(note);
    }
}

const CLOSING: &str = "(docs/jit.md)";

fn sentence(profile: &Profile) -> Option<String> {
    let mut all = 0;
    let mut found: BTreeMap<ProcessId, (u64, u32)> = BTreeMap::new();
    let on_cpu = |sample: &&Sample| matches!(sample.state, State::Running | State::System);
    for sample in profile.samples.iter().filter(on_cpu) {
        all += sample.weight.0;
        if is_unnamed(profile, sample) {
            let thread = profile.threads.get(sample.thread);
            let (weight, samples) = found.entry(thread.process).or_default();
            *weight += sample.weight.0;
            *samples += 1;
        }
    }
    let (process, (weight, samples)) = found.into_iter().max_by_key(|(_, (weight, _))| *weight)?;
    let process = profile.processes.get(process.index())?;
    let command = profile.strings.get(process.command);
    let file = command.split(' ').next().unwrap_or_default();
    let name = file.rsplit('/').next().unwrap_or_default();
    let share = weight as f64 / all.max(1) as f64;
    if share < SHARE || samples < SAMPLES {
        return None;
    }
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
    Some(format!(
        "{:.0} % of the CPU time is in code that {name} made while it ran and that has no names: {how} {CLOSING}",
        share * 100.0
    ))
}

/// Whether the innermost frame is in code that lies in no file and was looked up in vain.
fn is_unnamed(profile: &Profile, sample: &Sample) -> bool {
    let Some(leaf) = profile.stacks.locations(sample.stack).next() else {
        return false;
    };
    let location = profile.locations.get(leaf);
    let in_no_file = location.module.is_some_and(|module| {
        let path = profile.modules.get(module).path;
        profile.strings.get(path).starts_with("[JIT]")
    });
    let has_name = location.frames.iter().any(|&frame| {
        let function = profile.frames.get(frame).function;
        !profile.strings.get(function).is_empty()
    });
    in_no_file && !has_name
}

#[cfg(test)]
mod tests {
    use super::*;
    use profundo_model::{Avma, CodeAddress, FrameKey, LocationKind, Nanos};

    /// So many samples of a program in code of its own making, and as many elsewhere.
    fn made(command: &str, function: &str, environment: &[&str]) -> Profile {
        let mut profile = Profile::default();
        let process = profile.hand_made_process(7, command);
        let names = environment.iter().map(|it| profile.strings.intern(it));
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
        note(&mut profile);
        note(&mut profile);
        profile.meta.notes
    }

    #[test]
    fn what_has_no_name_is_told_once_with_what_helps() {
        let notes = noted(made("/usr/bin/julia a.jl", "", &["HOME"]));
        assert_eq!(
            notes,
            [
                "50 % of the CPU time is in code that julia made while it ran and that has no names: with \
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

    #[test]
    fn what_has_a_name_is_not() {
        assert!(noted(made("node a.js", "hot", &[])).is_empty());
        let mut few = made("node a.js", "", &[]);
        few.samples.drain(..15);
        assert!(noted(few).is_empty());
    }
}
