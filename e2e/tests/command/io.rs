//! Bytes that are read and written, by line and by file: as many as the program is known to
//! transfer.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use profundo_testing::{Python, profundo, skip};
use serde_json::Value;

use crate::program::{KilledOnDrop, Program, alone, number};
use crate::targets::{c, pythons_for, scratch, source};

const MIB: f64 = (1 << 20) as f64;

/// True if the kernel counts the bytes that threads read and write.
fn is_counted() -> bool {
    let is_counted = Path::new("/proc/thread-self/io").exists();
    if !is_counted {
        skip("the kernel does not count what threads read and write");
    }
    is_counted
}

/// A folder of the test's own.
fn folder() -> PathBuf {
    let folder = scratch().join(format!("io-{}", number()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The report on I/O.
fn io(file: &Path, options: &[&str]) -> Value {
    let mut command = Command::new(profundo());
    let command = command.arg("report").arg(file).args(["io", "--json"]);
    let output = command.args(options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn bytes(value: &Value, direction: &str) -> f64 {
    value[format!("{direction}_bytes")].as_f64().unwrap()
}

/// The bytes of the rows that are wanted.
fn sum(io: &Value, table: &str, direction: &str, is_wanted: impl Fn(&Value) -> bool) -> f64 {
    let rows = io[table].as_array().unwrap().iter();
    rows.filter(|row| is_wanted(row))
        .map(|row| bytes(row, direction))
        .sum()
}

/// The bytes of the line that ends in a comment. Asserts that the rows of both tables, with the
/// bytes without a sample, add up to all bytes.
fn bytes_of_line(io: &Value, target: &Path, text: &[&str], name: &str, direction: &str) -> f64 {
    for table in ["lines", "files"] {
        let unseen = bytes(io, &format!("unseen_{direction}"));
        let all = sum(io, table, direction, |_| true) + unseen;
        assert_eq!(all, bytes(io, direction), "{table}: {io:#}");
    }
    sum(io, "lines", direction, |row| {
        let line = row["at"]["line"].as_u64().unwrap_or(0) as usize;
        row["at"]["file"] == target.to_str().unwrap()
            && line > 0
            && text[line - 1].contains(&format!(" {name}"))
    })
}

/// Asserts that a number of bytes is the known one, but for a tenth of all.
fn assert_near(found: f64, known: f64, all: f64, what: &str, io: &Value) {
    assert!(
        (found - known).abs() <= all / 10.0,
        "{what}: {:.1} MiB of {:.1} MiB: {io:#}",
        found / MIB,
        known / MIB
    );
}

#[test]
fn lines_and_files_have_their_bytes() {
    if !is_counted() {
        return;
    }
    for python in pythons_for("known_io.py") {
        // On a busy machine the recorder may look up the files too late.
        let named: Vec<f64> = (0..5)
            .map(|_| bytes_with_a_name(&python))
            .take_while(|&named| named < 64.0 * MIB)
            .collect();
        assert!(
            named.len() < 5,
            "{:?}: of 128 MiB {named:?} have their file",
            python.version
        );
    }
}

/// Records the program, compares, and returns how many bytes have the name of their file.
fn bytes_with_a_name(python: &Python) -> f64 {
    let target = source("known_io.py");
    let text = fs::read_to_string(&target).unwrap();
    let text: Vec<&str> = text.lines().collect();
    let _alone = alone();
    let folder = folder();
    let file = folder.join("recording.profundo");
    let program = Program::new(&python.path)
        .with(&[target.as_os_str(), folder.as_os_str()])
        .options(&["--wall"]);
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let io = io(&file, &["--process", "known_io.py"]);
    let (read, written) = (80.0 * MIB, 64.0 * MIB);
    // The kernel's own count, but for what an interpreter reads when it starts.
    let all = bytes(&io, "read");
    assert!(all >= read && all <= read + 8.0 * MIB, "{all}: {io:#}");
    let all = bytes(&io, "written");
    assert!(all >= written && all <= written + MIB, "{all}: {io:#}");
    for (name, direction, known, all) in [
        ("# writes", "written", 64.0 * MIB, written),
        ("# reads_pieces", "read", 64.0 * MIB, read),
        ("# reads_pipe", "read", 16.0 * MIB, read),
        ("# works", "read", 0.0, read),
        ("# works", "written", 0.0, written),
    ] {
        let found = bytes_of_line(&io, &target, &text, name, direction);
        assert_near(found, known, all, name, &io);
    }
    // The file of a call is looked up soon after. On a machine that is too busy for that it is a
    // descriptor, but it is no other file.
    let data = folder.join("known-io.data");
    let is_named = |row: &Value| row["file"] == data.to_str().unwrap();
    let begins = |row: &Value, with| {
        let file = row["file"].as_str();
        file.is_some_and(|file| file.starts_with(with))
    };
    let is_data = |row: &Value| is_named(row) || begins(row, "descriptor ");
    let known = 64.0 * MIB;
    let sum =
        |direction, is_wanted: &dyn Fn(&Value) -> bool| sum(&io, "files", direction, is_wanted);
    assert_near(sum("written", &is_data), known, written, "file", &io);
    assert_near(sum("read", &is_data), known, read, "file", &io);
    let piped = sum("read", &|row| begins(row, "pipe, "));
    assert_near(piped, 16.0 * MIB, read, "pipe", &io);
    let named = sum("read", &is_named) + sum("written", &is_named);
    fs::remove_dir_all(folder).unwrap();
    named
}

/// A program that writes to the file that its argument names, and goes on.
const WRITER: &str = "
import sys
piece = bytes(1 << 16)
with open(sys.argv[1], 'wb', buffering=0) as file:
    print('begun', flush=True)
    while True:
        file.seek(0)
        file.write(piece)
";

/// Starts the writer, and waits until it writes.
fn start_writer(python: &Python, data: &Path) -> KilledOnDrop {
    let mut writer = Command::new(&python.path);
    let writer = writer.args(["-c", WRITER]).arg(data);
    let mut writer = KilledOnDrop(writer.stdout(Stdio::piped()).spawn().unwrap());
    let output = writer.0.stdout.as_mut().unwrap();
    output.read_exact(&mut [0; 6]).unwrap();
    writer
}

/// The bytes that a process has written, by the kernel's count.
fn written_by(pid: u32) -> f64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_process_that_is_attached_to_has_its_bytes() {
    if !is_counted() {
        return;
    }
    let Some(python) = pythons_for("an attached writer").into_iter().next() else {
        return;
    };
    let _alone = alone();
    let folder = folder();
    let (data, file) = (folder.join("data"), folder.join("recording.profundo"));
    let writer = start_writer(&python, &data);
    let pid = writer.0.id();
    let before = written_by(pid);
    let mut command = Command::new(profundo());
    let command = command.args(["attach", &pid.to_string(), "--wall", "-d", "1", "-o"]);
    let output = command.arg(&file).output().unwrap();
    let most = written_by(pid) - before;
    drop(writer);
    assert!(output.status.success(), "{output:?}");
    let io = io(&file, &[]);
    if io["recording"]["notes"]
        .to_string()
        .contains("is not recorded")
    {
        return skip("what a process reads and writes cannot be recorded when attached");
    }
    let all = bytes(&io, "written");
    assert!(all > 0.0 && all <= most, "{all} of {most}: {io:#}");
    if io["samples"] == 0 {
        return skip("time in the kernel is not sampled when attached");
    }
    let of_file = |row: &Value| row["file"] == data.to_str().unwrap();
    let found = sum(&io, "files", "written", of_file);
    // Between two samples there may be longer than a sample is near to, on a busy machine.
    assert!(found >= all / 2.0, "{found} of {all}: {io:#}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn threads_and_their_files_are_distinguished() {
    let Some(target) = c("known_io.c", &[]) else {
        return;
    };
    if !is_counted() {
        return;
    }
    let text = fs::read_to_string(source("known_io.c")).unwrap();
    let text: Vec<&str> = text.lines().collect();
    let _alone = alone();
    let folder = folder();
    let file = folder.join("recording.profundo");
    let program = Program::new(target).with(&[&folder]).options(&["--wall"]);
    let output = program.command(Some(&file)).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let io = io(&file, &[]);
    let (read, written) = (1000.0 * MIB, 1004.0 * MIB);
    for (direction, known) in [("read", read), ("written", written)] {
        let all = bytes(&io, direction);
        assert!(all >= known && all <= known + MIB, "{direction}: {io:#}");
    }
    let target = source("known_io.c");
    for (name, direction, known) in [("puts */", "written", written), ("gets */", "read", read)] {
        let found = bytes_of_line(&io, &target, &text, name, direction);
        assert_near(found, known, known, name, &io);
    }
    for (name, direction, known) in [("written", "written", 1000.0 * MIB), ("read", "read", read)] {
        let path = folder.join(format!("known-io.{name}"));
        let of_file = |row: &Value| row["file"] == path.to_str().unwrap();
        let found = sum(&io, "files", direction, of_file);
        assert_near(found, known, known, name, &io);
    }
    fs::remove_dir_all(folder).unwrap();
}
