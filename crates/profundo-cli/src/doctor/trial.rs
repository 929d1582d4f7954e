//! A recording of a small program, which shows better than any setting whether recording works.

use std::ffi::OsString;
use std::time::Duration;

use anyhow::Result;
use profundo_console::stderr;
use profundo_ingest::Ingest;
use profundo_launch::{Program, Signals, fork_recorded, has_ended, reap};
use profundo_model::Profile;
use profundo_permits::{Finding, Gap, Verdict};
use profundo_recorder::{EngineChoice, Options, Recorder};

use crate::agent_file;

/// The program: some tens of milliseconds in a shell, which every system has.
const WORK: [&str; 3] = [
    "sh",
    "-c",
    "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done",
];

/// Records the small program.
pub fn record_something() -> Finding {
    const TOPIC: &str = "recording";
    let profile = match recorded() {
        Ok(profile) => profile,
        Err(error) => {
            let gap = error.downcast_ref::<profundo_recorder::Error>();
            let gap = match gap {
                Some(profundo_recorder::Error::Refused(gap)) => gap.clone(),
                _ => Gap {
                    why: stderr::chain(error.as_ref()),
                    mend: None,
                },
            };
            return Finding::gap(TOPIC, Verdict::Fails, gap).essential();
        }
    };
    let samples = profile.samples.len();
    let weight: u64 = profile.samples.iter().map(|sample| sample.weight.0).sum();
    let text = format!(
        "works: {samples} samples of a test program of {} ms (engine {})",
        weight / 1_000_000,
        profile.meta.engine.name()
    );
    match samples {
        0 => {
            let mut why = "a short program was run, and no sample of it was taken".to_owned();
            for note in &profile.meta.notes {
                why += &format!("; {note}");
            }
            Finding::gap(TOPIC, Verdict::Fails, Gap { why, mend: None })
        }
        _ => Finding::works(TOPIC, text),
    }
    .essential()
}

fn recorded() -> Result<Profile> {
    let words: Vec<OsString> = WORK.iter().map(OsString::from).collect();
    let program = Program::find(&words)?;
    let is_done_without = agent_file::is_done_without(EngineChoice::Auto);
    let mut recorder = Recorder::create(Options {
        engine: match is_done_without {
            true => EngineChoice::Around,
            false => EngineChoice::Auto,
        },
        follow: false,
        agent: match is_done_without {
            true => None,
            false => Some(agent_file::file(agent_file::For::Time)?),
        },
        ..Options::default()
    })?;
    let signals = Signals::take()?;
    let child = fork_recorded(&program, &recorder, [], &signals, None)?;
    let pid = child.pid();
    let mut ingest = Ingest::new(recorder.start());
    recorder.watch(pid as u32)?;
    child.release()?;
    let ended = loop {
        recorder.turn_within(Duration::from_millis(20), &mut |event| ingest.event(event));
        if let Some(ended) = has_ended(pid)? {
            break ended;
        }
    };
    recorder.exited(pid as u32, ended.into());
    let finish = recorder.finish(&mut |event| ingest.event(event));
    reap(pid);
    signals.release();
    Ok(ingest.finish(finish))
}
