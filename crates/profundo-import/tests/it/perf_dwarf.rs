//! Stacks that `perf record --call-graph dwarf` copied, against what `perf script --no-inline`
//! prints of the same file, frame by frame. `testdata/import/perf/dwarf` has recordings of a small
//! program with its file, as perf's cache keeps it.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;
use profundo_import::Options;
use profundo_model::{LocationKind, Profile, Reason, Sample};
use profundo_testing::{Folder, compile_text, damage, skip, tool};

use crate::support::{read, testdata};

const TINY: &str = "/tmp/w/dw/tiny/tiny";
const BUILD_ID: &str = "75/595fd13099e4fee27023e2e8966d06367dfddc";

fn unpacked(name: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = fs::read(testdata(name)).expect("a file");
    (GzDecoder::new(&packed[..]).read_to_end(&mut bytes)).expect("packed bytes");
    bytes
}

/// The same bytes with another text in place of each occurrence of one.
fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(old.len()) {
        if bytes[at..].starts_with(old) {
            bytes[at..at + old.len()].copy_from_slice(new);
        }
    }
    bytes
}

/// A frame: the address in its file, and the path of the file. That of the kernel's code is empty,
/// and the address is 0.
type Frame = (u64, String);

/// The frames of each sample in a text of `perf script`, the innermost first.
fn printed(text: &str) -> Vec<Vec<Frame>> {
    let mut stacks: Vec<Vec<Frame>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        let Some(frame) = line.strip_prefix('\t') else {
            stacks.push(Vec::new());
            continue;
        };
        let (address, rest) = frame.trim().split_once(' ').expect("a symbol");
        let address = u64::from_str_radix(address, 16).expect("an address");
        let (_, path) = rest.rsplit_once(" (").expect("a file");
        let path = path.trim_end_matches(')');
        let stack = stacks.last_mut().expect("a sample");
        match path {
            // perf's mark of a stack that was cut.
            "[unknown]" => {}
            "[kernel.kallsyms]" => stack.push((0, String::new())),
            _ => stack.push((address, path.to_owned())),
        }
    }
    stacks
}

/// The frames of a sample, and the reason at its root.
fn frames(profile: &Profile, sample: &Sample) -> (Vec<Frame>, Option<Reason>) {
    let (mut frames, mut reason) = (Vec::new(), None);
    for id in profile.stacks.locations(sample.stack) {
        let location = profile.locations.get(id);
        match location.kind {
            LocationKind::Code(code) => {
                let address = code.for_lookup().0;
                let module = location.module.map(|id| profile.modules.get(id));
                frames.push(module.map_or((address, String::new()), |module| {
                    match profile.strings.get(module.path) {
                        "[kernel]" => (0, String::new()),
                        path => (address.wrapping_sub(module.bias), path.to_owned()),
                    }
                }));
            }
            LocationKind::Reason(found) => reason = Some(found),
            other => panic!("{other:?}"),
        }
    }
    (frames, reason)
}

#[test]
fn stacks_are_those_of_perf() {
    for (name, copied) in [("tiny", 1024), ("short", 256)] {
        let imported = read(&format!("perf/dwarf/{name}.data.gz"));
        assert_eq!(imported.reader.name(), "perf.data");
        let profile = &imported.profile;
        let text = unpacked(&format!("perf/dwarf/{name}.stacks.txt.gz"));
        let text = str::from_utf8(&text).expect("a text");
        let expected = printed(text);
        assert_eq!(profile.samples.len(), expected.len());
        let mut reasons = 0;
        for (sample, expected) in profile.samples.iter().zip(&expected) {
            let (found, reason) = frames(profile, sample);
            assert_eq!(&found, expected, "{name} at {:?}", sample.time);
            assert!(matches!(reason, None | Some(Reason::Truncated)));
            reasons += usize::from(reason.is_some());
        }
        assert_eq!(reasons, text.matches("[unknown] (").count());
        let note = format!(
            "{reasons} of {} copied stacks are longer than the part of {copied} bytes that was \
             copied: `--call-graph dwarf,65528` copies more",
            expected.len()
        );
        assert_eq!(profile.meta.notes, [note]);
    }
}

#[test]
fn stacks_end_at_a_file_that_is_missing_or_of_another_build() {
    let bytes = unpacked("perf/dwarf/tiny.data.gz");
    let id = [&[0x75, 0x59, 0x5f][..], &[0xd1]].concat();
    let elsewhere = replaced(&bytes, TINY.as_bytes(), b"/no/such/file/there");
    let own = std::env::current_exe().expect("a path");
    assert!(own.is_file());
    // A file is there, with another build id.
    let other_build = replaced(&bytes, TINY.as_bytes(), b"/usr/bin/../bin/env");
    let other_id = replaced(&elsewhere, &id, &[1, 2, 3, 4]);
    for (bytes, name) in [
        (&elsewhere, "there"),
        (&other_build, "env"),
        (&other_id, "there"),
    ] {
        let imported = profundo_import::read(bytes, &Options::default()).expect("a profile");
        let profile = &imported.profile;
        for sample in &profile.samples {
            let (found, reason) = frames(profile, sample);
            let user = found.iter().filter(|(_, path)| !path.is_empty());
            assert_eq!((user.count(), reason), (1, Some(Reason::Broken)));
        }
        let many = profile.samples.len();
        let note = format!("{many} of {many} copied stacks end at a file");
        let has = |it: &&String| it.starts_with(&note) && it.contains(&format!("build: {name} ("));
        assert_eq!(
            profile.meta.notes.iter().filter(has).count(),
            1,
            "{:?}",
            profile.meta.notes
        );
    }
}

#[test]
fn a_damaged_recording_or_program_is_no_reason_to_panic() {
    const TIMES: usize = 400;
    let recording = unpacked("perf/dwarf/tiny.data.gz");
    let program = fs::read(testdata(&format!("perf/dwarf/.build-id/{BUILD_ID}/elf"))).expect("it");
    let folder = Folder::new("perf-dwarf");
    let copy = format!(".build-id/{BUILD_ID}/elf");
    let path = folder.join("x.data");
    let check = || {
        let _ = profundo_import::read_file(&path, &Options::default());
    };
    folder.write(&copy, &program);
    damage(&recording, TIMES, |bytes| {
        folder.write("x.data", bytes);
        check();
    });
    folder.write(
        "x.data",
        replaced(&recording, TINY.as_bytes(), b"/no/such/file/there"),
    );
    damage(&program, TIMES, |bytes| {
        // A map of the file before goes on with its bytes.
        let _ = fs::remove_file(folder.join(&copy));
        folder.write(&copy, bytes);
        check();
    });
}

/// Frames of fixed and of dynamic size, realigned ones, signals, callbacks and the C library.
const PROGRAM: &str = r#"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
volatile unsigned long sum;
#define APART __attribute__((noinline, noclone))
APART unsigned long leaf(unsigned long n) {
    unsigned long value = 1;
    for (unsigned long i = 0; i < n; i++) value = value * 33 + i;
    sum += value;
    return value;
}
APART unsigned long aligned(unsigned long n) {
    _Alignas(64) char room[256];
    memset(room, (int)n, sizeof room);
    sum += room[n & 255];
    return leaf(n) + room[3];
}
APART unsigned long sized(unsigned long n) {
    char room[n % 300 + 1];
    memset(room, 1, sizeof room);
    sum += room[0];
    unsigned long value = aligned(n);
    sum += room[n % 300];
    return value + 1;
}
APART unsigned long again(int depth, unsigned long n) {
    unsigned long value = depth ? again(depth - 1, n) : sized(n);
    sum += value;
    return value ^ 1;
}
int compare(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    sum += leaf(20);
    return left < right ? -1 : left > right;
}
APART void sorted(int n) {
    int *values = malloc(n * sizeof *values);
    for (int i = 0; i < n; i++) values[i] = rand();
    qsort(values, n, sizeof *values, compare);
    sum += values[0];
    free(values);
}
void handler(int signal) { (void)signal; again(3, 3000); }
int main(void) {
    struct itimerval often = {{0, 3000}, {0, 3000}};
    signal(SIGALRM, handler);
    setitimer(ITIMER_REAL, &often, 0);
    for (int i = 0; i < 1500; i++) {
        char text[100];
        again(rand() % 30, 2000);
        sorted(100);
        for (int j = 0; j < 100; j++) snprintf(text, sizeof text, "%d %f", j, j * 1.37);
    }
    return 0;
}
"#;

fn perf(perf: &Path, folder: &Folder, words: &[&str]) -> Option<String> {
    let output = Command::new(perf)
        .args(words)
        .current_dir(folder.path())
        .output();
    let output = output.expect("perf starts");
    match output.status.success() {
        true => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            skip(&format!(
                "perf: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
            None
        }
    }
}

#[test]
fn stacks_of_a_program_of_this_machine_are_those_of_perf() {
    let Some(tool) = tool("perf") else { return };
    let folder = Folder::new("perf-live");
    let flags = ["-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id"];
    if compile_text("gcc", &folder, "program.c", PROGRAM, &flags).is_none() {
        return;
    }
    let record = "record -q -e cpu-clock -F 499 --call-graph dwarf,16384 -o x.data ./program";
    let words: Vec<&str> = record.split(' ').collect();
    if perf(&tool, &folder, &words).is_none() {
        return;
    }
    let script = "script -i x.data -F tid,time,ip,sym,dso --no-inline --ns --max-stack 2048";
    let words: Vec<&str> = script.split(' ').collect();
    let Some(text) = perf(&tool, &folder, &words) else {
        return;
    };
    let expected = printed(&text);
    let read = profundo_import::read_file(&folder.join("x.data"), &Options::default());
    let profile = &read.expect("a profile").profile;
    assert_eq!(profile.samples.len(), expected.len());
    let (mut complete, mut same) = (0, 0);
    for (sample, expected) in profile.samples.iter().zip(&expected) {
        let (found, reason) = frames(profile, sample);
        // perf prints offsets in the file, which other linkers than GNU's move by pages.
        let in_page = |frames: &[Frame]| -> Vec<Frame> {
            let frames = frames.iter();
            frames
                .map(|(address, path)| (address & 0xfff, path.clone()))
                .collect()
        };
        let (found, expected) = (in_page(&found), in_page(expected));
        complete += usize::from(reason.is_none());
        // perf gives up sooner now and then.
        same += usize::from(reason.is_none() && found.starts_with(&expected));
    }
    let all = expected.len();
    assert!(
        complete * 100 >= all * 97,
        "{complete} of {all}: {:?}",
        profile.meta.notes
    );
    assert!(same * 100 >= complete * 99, "{same} of {complete}");
}
