//! Julia's `.mem` and `.cov` files, built from their documented layout: not tried on files of Julia
//! itself, which cannot be had where these tests were written.

use profundo_model::Profile;

use crate::support::{read, read_text, read_value, stack};

fn runs(profile: &Profile) -> Vec<(u32, u64)> {
    let line = |frame| profile.frames.get(frame).line;
    let lines = profile.traced.lines.iter();
    lines.map(|row| (line(row.frame), row.hits)).collect()
}

fn bytes(profile: &Profile) -> Vec<(String, u32, u64)> {
    let row = |site: &profundo_model::Site| {
        let location = profile.stacks.locations(site.stack).next().unwrap();
        let frame = profile.locations.get(location).frames[0];
        let line = profile.frames.get(frame).line;
        (stack(profile, site.stack), line, site.allocated.bytes)
    };
    profile.heap.sites.iter().map(row).collect()
}

#[test]
fn mem_has_bytes_by_line() {
    let imported = read("counted_source/work.jl.1234.mem");
    assert_eq!(imported.reader.name(), "counted source");
    let profile = &imported.profile;
    assert_eq!(
        bytes(profile),
        [
            ("work.jl".to_owned(), 3, 8_000_080),
            ("work.jl".to_owned(), 6, 48),
            ("work.jl".to_owned(), 9, 12_345_678_901),
        ]
    );
    assert_eq!(profile.processes[0].pid, 1234);
    // The source is in it.
    let file = profile.frames.iter().next().unwrap().file;
    let text = profile.sources.get(file, 3).unwrap();
    assert_eq!(profile.strings.get(text), "    for v in rand(count)");
    let path = profile.strings.get(profile.files.get(file).path);
    assert!(path.ends_with("/counted_source/work.jl"), "{path}");
}

#[test]
fn cov_has_runs_by_line() {
    let imported = read("counted_source/work.jl.1234.cov");
    assert_eq!(imported.reader.name(), "counted source");
    let expected = [
        (1, 2),
        (2, 2),
        (3, 2_000_000),
        (4, 2_000_000),
        (6, 2),
        (9, 1),
    ];
    assert_eq!(runs(&imported.profile), expected);
    // By name, numbers may be read as the other kind.
    let other = read_value("counted_source/work.jl.1234.cov", Some("bytes"));
    assert_eq!(other.profile.heap.sites.len(), 6);
}

#[test]
fn without_a_name_the_numbers_decide() {
    let memory = read_text("        - f\n       16 g\n        0 h\n");
    assert_eq!(memory.profile.heap.sites.len(), 1);
    let runs_of = read_text("        - f\n        3 g\n        ? h\n        0 i\n");
    assert_eq!(runs(&runs_of.profile), [(2, 3), (4, 0)]);
}

/// What our own library writes in the manner of Julia.
#[test]
fn our_own_files_are_read() {
    use profundo_formats::mem::{Count, write};
    let mut text = Vec::new();
    let counts = [
        Count::NoCode,
        Count::Bytes(24),
        Count::Unknown,
        Count::Bytes(0),
    ];
    write(b"a\nb\nc\n", |line| counts[line as usize], &mut text).unwrap();
    let read = profundo_import::read(&text, &profundo_import::Options::default()).unwrap();
    assert_eq!(bytes(&read.profile), [("[source]".to_owned(), 1, 24)]);
}
