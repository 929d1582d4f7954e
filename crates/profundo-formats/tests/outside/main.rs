//! The exports, read by programs that we did not write, and compared with our own tables.
//!
//! Missing tools (a browser, Go, npm's registry) are skipped with a reason; the contents of each
//! format are checked by readers of our own in any case.

mod callgrind;
mod collapsed;
mod firefox;
mod flame;
mod graph;
mod heapsnapshot;
mod in_time;
mod jlprof;
mod made;
mod memory;
mod otlp;
mod path;
mod perf_script;
mod pprof;
mod property;
mod speedscope;
mod tables;
mod tools;
mod vega;

use profundo_formats::export::{self, Format, Options, Weights};
use profundo_model::{Call, Nanos, Profile, SampleKind};

/// The bytes of an export.
fn write(profile: &Profile, format: Format, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    export::write(profile, format, options, &mut out).unwrap();
    out
}

/// An export as text.
fn text(profile: &Profile, format: Format, options: &Options) -> String {
    String::from_utf8(write(profile, format, options)).unwrap()
}

/// A file may claim any weight: sums saturate.
#[test]
fn weights_that_do_not_fit_do_no_harm() {
    let mut profile = made::odd();
    for sample in &mut profile.samples {
        sample.weight = profundo_model::Nanos(u64::MAX);
    }
    for format in Format::ALL
        .iter()
        .copied()
        .filter(|format| !format.is_counted() && !format.is_of_memory())
    {
        let options = Options {
            processes: true,
            ..Options::default()
        };
        assert!(!write(&profile, format, &options).is_empty());
    }
}

/// Nothing was sampled: the file is still valid for its reader.
#[test]
fn an_empty_profile_is_whole() {
    let profile = Profile::default();
    let options = Options::default();
    assert_eq!(text(&profile, Format::COLLAPSED, &options), "");
    let json = text(&profile, Format::SPEEDSCOPE, &options);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["profiles"].as_array().unwrap().len(), 1);
    assert!(text(&profile, Format::FLAME, &options).contains("0 samples"));
    let bytes = write(&profile, Format::PPROF, &options);
    if let Ok(program) = tools::pprof() {
        let file = tools::put("empty.pb.gz", &bytes);
        let mut command = std::process::Command::new(program);
        tools::text(command.arg("-raw").arg(file), 60).unwrap();
    }
}

/// A profile of counted calls: pictures show measured time, and calls in place of samples.
#[test]
fn calls_that_were_counted_are_no_samples() {
    let mut profile = Profile::from_folded("main 1\nmain;work 1\nmain;work;len 1").unwrap();
    profile.meta.kind = SampleKind::Traced;
    let figures = [(1, 2_000_000), (3, 5_000_000), (1000, 1_000_000)];
    for (sample, (calls, own)) in profile.samples.iter_mut().zip(figures) {
        sample.weight = Nanos(own);
        profile.traced.calls.push(Call {
            thread: sample.thread,
            stack: sample.stack,
            calls,
            own: Nanos(own),
            ..Call::default()
        });
    }
    let time = text(&profile, Format::COLLAPSED, &Options::default());
    assert_eq!(
        time,
        "main 2000000\nmain;work 5000000\nmain;work;len 1000000\n"
    );
    let counts = Options {
        weights: Some(Weights::Samples),
        ..Options::default()
    };
    let calls = text(&profile, Format::COLLAPSED, &counts);
    assert_eq!(calls, "main 1\nmain;work 3\nmain;work;len 1000\n");
    let svg = text(&profile, Format::FLAME, &Options::default());
    assert!(svg.contains("8.0 ms of traced time in 1004 calls"), "{svg}");
    assert!(
        svg.contains("75.0 %, 6.0 ms, 3 calls; of its own 62.5 %"),
        "{svg}"
    );
    // Without the script, which knows samples, too.
    let drawn = svg.split("<script").next().unwrap();
    assert!(
        !drawn.contains("95 %") && !drawn.contains(" samples"),
        "{drawn}"
    );
    if let Ok(program) = tools::pprof() {
        let bytes = write(&profile, Format::PPROF, &Options::default());
        let file = tools::put("traced.pb.gz", &bytes);
        let mut command = std::process::Command::new(program);
        let raw = tools::text(command.arg("-raw").arg(file), 60).unwrap();
        assert!(raw.contains("calls/count traced/nanoseconds"), "{raw}");
        assert!(raw.contains("1000    1000000:"), "{raw}");
    }
}
