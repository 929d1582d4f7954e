//! The exports, read by programs that we did not write, and compared with our own tables.
//!
//! What is missing here (a browser, Go, npm's registry) is skipped with its reason; what each
//! format says is checked by readers of our own in any case.

mod collapsed;
mod flame;
mod heapsnapshot;
mod made;
mod path;
mod pprof;
mod speedscope;
mod tables;
mod tools;

use profundo_formats::export::{self, Format, Options};
use profundo_model::Profile;

/// The bytes of an export.
fn write(profile: &Profile, format: Format, options: &Options) -> Vec<u8> {
    let mut out = Vec::new();
    export::write(profile, format, options, &mut out).unwrap();
    out
}

/// The same as text.
fn text(profile: &Profile, format: Format, options: &Options) -> String {
    String::from_utf8(write(profile, format, options)).unwrap()
}

/// A file may claim any weight: what adds up to more than fits is as much as fits.
#[test]
fn weights_that_do_not_fit_do_no_harm() {
    let mut profile = made::odd();
    for sample in &mut profile.samples {
        sample.weight = profundo_model::Nanos(u64::MAX);
    }
    for format in Format::ALL.into_iter().filter(|it| !it.is_counted()) {
        let options = Options {
            processes: true,
            ..Options::default()
        };
        assert!(!write(&profile, format, &options).is_empty());
    }
}

/// Nothing was sampled: still a file that its reader takes.
#[test]
fn an_empty_profile_is_whole() {
    let profile = Profile::default();
    let options = Options::default();
    assert_eq!(text(&profile, Format::Collapsed, &options), "");
    let json = text(&profile, Format::Speedscope, &options);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["profiles"].as_array().unwrap().len(), 1);
    assert!(text(&profile, Format::Flame, &options).contains("0 samples"));
    let bytes = write(&profile, Format::Pprof, &options);
    if let Ok(program) = tools::pprof() {
        let file = tools::put("empty.pb.gz", &bytes);
        let mut command = std::process::Command::new(program);
        tools::text(command.arg("-raw").arg(file), 60).unwrap();
    }
}
