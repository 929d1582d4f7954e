//! Generated code has its names in the file, whenever they came.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use profundo_formats::read_file;
use profundo_model::Profile;
use profundo_wire::recording::{
    self, Event, Finish, GeneratedCode, ModuleInfo, ProcessInfo, Start,
};
use profundo_wire::{End, Gil, PythonEnd, SampleHead, State};

use super::RecordingWriter;

const JIT: u64 = 0x10_0000;

fn at(cycles: u64) -> recording::Instant {
    recording::Instant {
        cycles,
        monotonic: cycles,
        unix: 1,
    }
}

fn begin(name: &str) -> (RecordingWriter, PathBuf) {
    begin_with(name, &[])
}

fn begin_with(name: &str, labels: &[(String, String)]) -> (RecordingWriter, PathBuf) {
    let path = std::env::temp_dir().join(format!("profundo-sink-{name}-{}", std::process::id()));
    let start = Start {
        period: 1000,
        started: at(1000),
        ..Start::default()
    };
    let writer = RecordingWriter::create(&path, start, 1 << 20).unwrap();
    let mut writer = writer.labels(labels);
    writer.event(Event::Process(ProcessInfo {
        key: 1,
        pid: 7,
        started: 1000,
        ..ProcessInfo::default()
    }));
    let modules = vec![ModuleInfo {
        path: "[JIT]".into(),
        start: JIT,
        end: JIT + 0x1000,
        bias: JIT,
        build_id: Vec::new(),
        loaded: 0,
        unloaded: u64::MAX,
    }];
    writer.event(Event::Modules {
        process: 1,
        modules,
    });
    (writer, path)
}

fn sample(writer: &mut RecordingWriter, clock: u64) {
    let head = SampleHead {
        state: State::Running,
        end: End::Root,
        frames: 1,
        python: 0,
        python_end: PythonEnd::Whole,
        gil: Gil::None,
        clock,
        weight: 1000,
        task: 0,
        thread: 1,
        tid: 7,
        span: 0,
    };
    let mut words = head.to_words().to_vec();
    words.push(JIT + 4);
    writer.event(Event::Words {
        process: 1,
        words: &words,
    });
    writer.event(Event::Clock(at(clock + 10)));
    writer.event(Event::Clock(at(clock + 20)));
}

fn name_code(writer: &mut RecordingWriter, name: &str, loaded: u64) {
    let codes = vec![GeneratedCode {
        start: JIT,
        end: JIT + 0x10,
        name: name.into(),
        loaded,
        unloaded: u64::MAX,
        lines: Vec::new(),
    }];
    writer.event(Event::Generated { process: 1, codes });
}

/// Writes what is ready, as if it were due.
fn write(writer: &mut RecordingWriter) {
    let long_ago = Instant::now().checked_sub(Duration::from_secs(60));
    (writer.flushed, writer.updated) = (long_ago.unwrap(), long_ago.unwrap());
    assert!(writer.turn());
}

fn names(profile: &Profile) -> Vec<String> {
    let samples = profile.samples.iter();
    let leaves = samples.map(|sample| profile.stacks.get(sample.stack).location);
    leaves
        .map(|leaf| match *profile.locations.get(leaf).frames {
            [frame] => profile.function_name(frame).to_owned(),
            _ => String::new(),
        })
        .collect()
}

#[test]
fn samples_that_were_written_get_the_names_of_their_time() {
    let (mut writer, path) = begin("reused");
    sample(&mut writer, 2000);
    write(&mut writer);
    assert!(writer.ingest.profile().samples.is_empty());
    sample(&mut writer, 3000);
    sample(&mut writer, 4000);
    name_code(&mut writer, "first", 0);
    name_code(&mut writer, "second", 3500);
    let done = writer.finish(Finish::default(), true);
    assert!(done.failure.is_none() && done.samples == 3);
    let (profile, warnings) = read_file(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(warnings.is_empty());
    assert_eq!(names(&profile), ["first", "first", "second"]);
}

#[test]
fn a_recording_that_is_cut_has_its_labels() {
    let words = |text: &str| text.split_once('=').map(|(a, b)| (a.into(), b.into()));
    let labels = ["rank=3", "host=node7"].map(|text| words(text).unwrap());
    let (mut writer, path) = begin_with("labels", &labels);
    sample(&mut writer, 2000);
    write(&mut writer);
    let (profile, warnings) = read_file(&path).unwrap();
    assert_eq!((profile.samples.len(), warnings.len()), (1, 1), "it is cut");
    let origin = profile.origin_of(profundo_model::ProcessId(0)).unwrap();
    assert_eq!(profile.labels_of(origin), "rank=3, host=node7");
    // It has them once, and so have later processes.
    writer.event(Event::Process(ProcessInfo {
        key: 2,
        pid: 8,
        started: 2500,
        ..ProcessInfo::default()
    }));
    assert!(writer.finish(Finish::default(), true).failure.is_none());
    let (profile, warnings) = read_file(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(warnings.is_empty());
    let origins: Vec<_> = (profile.processes.iter())
        .map(|process| process.origin)
        .collect();
    assert_eq!(origins, [Some(origin); 2]);
    assert_eq!(profile.origins.len(), 1);
}

#[test]
fn a_recording_that_is_cut_has_the_names_so_far() {
    let (mut writer, path) = begin("cut");
    sample(&mut writer, 2000);
    write(&mut writer);
    name_code(&mut writer, "f", 0);
    write(&mut writer);
    // As if we had been killed.
    if let Some(stream) = &mut writer.stream {
        let profile = writer.ingest.profile_mut();
        stream.flush(profile).unwrap();
    }
    let (profile, warnings) = read_file(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!((names(&profile), warnings.len()), (vec!["f".to_owned()], 1));
}
