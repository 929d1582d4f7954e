//! `attach --memory`: the agent comes into a program that runs already, and counts what it
//! allocates from then on.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use profundo_model::{Domain, Site};
use profundo_testing::{Python, profundo, skip};

use crate::attach::Running;
use crate::heap::{Line, amount, lines, marked};
use crate::program::{alone, number};
use crate::recording::Recording;
use crate::targets::{c, pythons_for, scratch, source};

/// A command that records a process from inside, until it is interrupted.
pub struct Recorder {
    child: Child,
    stderr: BufReader<ChildStderr>,
    said: String,
    file: PathBuf,
}

impl Recorder {
    /// Returns when the agent records. `None`, and skipped: the machine does not permit it.
    pub fn start(pid: &str, options: &[&str]) -> Option<Self> {
        let file = scratch().join(format!("inside-memory-{}.profundo", number()));
        Self::start_in(pid, options, file)
    }

    /// As [`Self::start`], with the recording in this file.
    pub fn start_in(pid: &str, options: &[&str], file: PathBuf) -> Option<Self> {
        let mut child = Command::new(profundo())
            .args(["attach", pid, "-o"])
            .arg(&file)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let mut recorder = Self {
            child,
            stderr,
            said: String::new(),
            file,
        };
        // Where calls are counted, one line says all.
        let has_begun = [": recording process", "was entered"];
        while !has_begun.iter().any(|text| recorder.said.contains(text)) {
            let read = recorder.stderr.read_line(&mut recorder.said).unwrap();
            if read == 0 && recorder.said.contains("ptrace") {
                skip("no other process may be entered here");
                return None;
            }
            assert_ne!(read, 0, "{}", recorder.said);
        }
        assert!(
            ["entering process", has_begun[1]]
                .iter()
                .any(|text| recorder.said.contains(text)),
            "{}",
            recorder.said
        );
        Some(recorder)
    }

    /// Ends the recording, whose file stays. Returns all that was said.
    pub fn interrupt(mut self) -> String {
        self.stop();
        self.said
    }

    fn stop(&mut self) {
        // SAFETY: the process is our child, and was not reaped.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
        while self.stderr.read_line(&mut self.said).unwrap() > 0 {}
        assert!(self.child.wait().unwrap().success(), "{}", self.said);
    }

    /// Ends the recording. Returns it, and all that was said.
    pub fn end(mut self) -> (Recording, String) {
        self.stop();
        let took = Duration::from_secs(1);
        let recording = Recording::read(&self.file, took, took);
        let _ = fs::remove_file(&self.file);
        (recording, self.said)
    }
}

/// Has a program allocate. Returns the blocks and bytes that it counts itself, by its comments.
pub fn ask(running: &mut Running, line: &str) -> BTreeMap<String, (u64, u64)> {
    running.say(&format!("{line}\n"));
    let text = running.until("done\n");
    let lines = text.lines().filter(|&line| line != "done");
    lines
        .map(|line| {
            let mut words = line.rsplitn(3, ' ');
            let mut number = || words.next().unwrap().parse().unwrap();
            let (bytes, blocks) = (number(), number());
            (words.next().unwrap().to_owned(), (blocks, bytes))
        })
        .collect()
}

/// Compares a recording with what a program has counted.
pub fn compare(recording: &Recording, file: &str, counted: &BTreeMap<String, (u64, u64)>) {
    let found = lines(&recording.profile, file, |site| is_counted(file, site));
    let source = source(file);
    for (comment, &(blocks, bytes)) in counted {
        let mark = match file.ends_with(".py") {
            true => format!("# {comment}"),
            false => format!("// {comment}"),
        };
        let line = found.get(&marked(&source, &mark)).copied();
        assert_eq!(
            line.unwrap_or_default().allocated,
            amount(blocks, bytes),
            "{comment}: {found:#?}"
        );
    }
}

/// True if a program counts such blocks. One of Python does not count what its interpreter keeps
/// for itself.
fn is_counted(file: &str, site: &Site) -> bool {
    !file.ends_with(".py") || site.domain == Domain::Python
}

pub fn line_at(recording: &Recording, file: &str, comment: &str) -> Line {
    let found = lines(&recording.profile, file, |site| is_counted(file, site));
    let line = found.get(&marked(&source(file), comment)).copied();
    line.unwrap_or_default()
}

const C: &str = "late_heap.c";

#[test]
fn what_an_entered_program_allocates_is_counted_to_the_byte() {
    for flags in [&[][..], &["-Wl,-z,now"], &["-no-pie", "-fno-plt"]] {
        let flags = [&["-fno-builtin"], flags].concat();
        let Some(program) = c(C, &flags) else {
            return;
        };
        let _alone = alone();
        let mut running = Running::start(Command::new(&program));
        // Blocks of the second round are there when the agent comes for the second time.
        for round in 0..2 {
            let Some(recorder) = Recorder::start(&running.pid(), &["--memory=exact"]) else {
                return;
            };
            let counted = ask(&mut running, "go");
            assert!(counted.len() >= 13, "{counted:?}");
            let (recording, _) = recorder.end();
            compare(&recording, C, &counted);
            let keeps = line_at(&recording, C, "// keeps");
            assert_eq!(keeps.live.count, 250, "{keeps:?}");
            let passes = line_at(&recording, C, "// passes");
            assert_eq!((passes.live.count, passes.temporary), (0, 1000));
            let noise = line_at(&recording, C, "// noise");
            assert!(noise.allocated.count > 100, "{noise:?}");
            // The thread may be between two calls when the agent leaves.
            assert!(noise.live.count <= 1, "{noise:?}");
            // Of the blocks from before, a third was freed and a third has grown, the first time.
            let notes = &recording.profile.meta.notes;
            let strangers = notes
                .iter()
                .find(|note| note.contains("frees of blocks from before"));
            let mut words = strangers.map_or("", String::as_str).split_whitespace();
            let count = words.next().and_then(|word| word.parse::<u64>().ok());
            let expected = if round == 0 { 200..=202 } else { 350..=352 };
            assert!(
                count.is_some_and(|count| expected.contains(&count)),
                "{round}: {count:?} of {expected:?}, {notes:?}"
            );
        }
        let counted = ask(&mut running, "go");
        assert!(counted.len() >= 13, "{counted:?}");
        let (rest, code) = running.end();
        assert_eq!((rest.lines().count(), code), (1, Some(7)));
    }
}

#[test]
fn a_library_that_is_loaded_later_is_counted() {
    let (Some(program), Some(plugin)) = (
        c(C, &["-fno-builtin"]),
        c("late_plugin.c", &["-shared", "-fPIC", "-fno-builtin"]),
    ) else {
        return;
    };
    let _alone = alone();
    let folder = plugin.parent().unwrap();
    let bare = plugin.file_name().unwrap().to_str().unwrap();
    // By its path, by its name, and by a name that the caller's own paths may matter for.
    let mut command = Command::new(&program);
    command.env("LD_LIBRARY_PATH", folder);
    let mut running = Running::start(command);
    for name in [plugin.to_str().unwrap(), bare, "$ORIGIN/"] {
        let name = match name {
            "$ORIGIN/" => format!(
                "$ORIGIN/../{}/{bare}",
                folder.file_name().unwrap().to_str().unwrap()
            ),
            name => name.to_owned(),
        };
        let Some(recorder) = Recorder::start(&running.pid(), &["--memory=exact"]) else {
            return;
        };
        let counted = ask(&mut running, &name);
        let (recording, _) = recorder.end();
        compare(&recording, "late_plugin.c", &counted);
        assert_eq!(counted["plugin"].0, 200, "{name}");
    }
    running.end();
}

#[test]
fn allocations_of_an_entered_program_are_sampled() {
    let Some(program) = c(C, &["-fno-builtin"]) else {
        return;
    };
    let _alone = alone();
    let mut running = Running::start(Command::new(&program));
    for _ in 0..3 {
        let Some(recorder) = Recorder::start(&running.pid(), &["--memory"]) else {
            return;
        };
        for _ in 0..20 {
            ask(&mut running, "go");
        }
        let (recording, _) = recorder.end();
        let heap = &recording.profile.heap;
        // A mapping of a megabyte is sampled with a chance of 86 %.
        let mapped = heap.blocks.iter().filter(|block| block.size == 1 << 20);
        let (count, outline) = (mapped.clone().count(), recording.outline());
        assert!((9..=20).contains(&count), "{count}: {outline}");
        assert!(mapped.clone().all(|block| block.freed.is_some()));
        assert!(heap.sites.is_empty());
    }
    running.end();
}

/// Runs a program of Python beside a recorder.
fn check_python(version: &Python, arguments: &[&str]) -> Option<()> {
    const FILE: &str = "late_heap.py";
    let mut command = Command::new(&version.path);
    command.args(arguments).arg(source(FILE));
    let mut running = Running::start(command);
    for _ in 0..2 {
        let recorder = Recorder::start(&running.pid(), &["--memory=exact"])?;
        let counted = ask(&mut running, "go");
        let (recording, said) = recorder.end();
        assert!(!said.contains("stay in the Python"), "{said}");
        compare(&recording, FILE, &counted);
        let keeps = line_at(&recording, FILE, "# keeps");
        assert_eq!(keeps.live.count, 500, "{version:?}: {keeps:?}");
        let passes = line_at(&recording, FILE, "# passes");
        assert_eq!(passes.live.count, 0, "{version:?}: {passes:?}");
        ask(&mut running, "go");
    }
    assert_eq!(running.end(), ("True\n".to_owned(), Some(7)), "{version:?}");
    Some(())
}

#[test]
fn what_an_entered_interpreter_allocates_is_counted_to_the_byte() {
    for version in pythons_for("late heap") {
        let _alone = alone();
        if check_python(&version, &[]).is_none() {
            return;
        }
    }
}

#[test]
fn an_entered_interpreter_that_traces_its_memory_is_counted_to_the_byte() {
    for version in pythons_for("late heap").into_iter().take(1) {
        let _alone = alone();
        if check_python(&version, &["-X", "tracemalloc"]).is_none() {
            return;
        }
    }
}

#[test]
fn an_allocator_that_was_loaded_first_is_counted() {
    let (Some(program), Some(allocator)) = (
        c(C, &["-fno-builtin"]),
        c("late_allocator.c", &["-shared", "-fPIC", "-fno-builtin"]),
    ) else {
        return;
    };
    let _alone = alone();
    let mut command = Command::new(&program);
    command.env("LD_PRELOAD", &allocator);
    let mut running = Running::start(command);
    let Some(recorder) = Recorder::start(&running.pid(), &["--memory=exact"]) else {
        return;
    };
    let counted = ask(&mut running, "go");
    let (recording, _) = recorder.end();
    compare(&recording, C, &counted);
    assert_eq!(running.end().1, Some(7));
}

/// The pages with the tables through which a program's own file calls others.
fn tables(pid: &str, program: &Path) -> BTreeMap<u64, Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut tables = BTreeMap::new();
    for line in maps.lines() {
        let path = line.rsplit(' ').next().unwrap();
        if path != program.to_str().unwrap() || !line.contains(" r--p ") {
            continue;
        }
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = (number(start), number(end));
        let mut bytes = vec![0; (end - start) as usize];
        memory.read_exact_at(&mut bytes, start).unwrap();
        tables.insert(start, bytes);
    }
    tables
}

/// The resident memory in KB, and the number of mappings.
fn size(pid: &str) -> (u64, usize) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let kilobytes = line.unwrap().split_whitespace().nth(1).unwrap();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    (kilobytes.parse().unwrap(), maps.lines().count())
}

fn comes_and_leaves(times: usize) {
    let Some(program) = c(C, &["-fno-builtin", "-Wl,-z,now"]) else {
        return;
    };
    let _alone = alone();
    let mut running = Running::start(Command::new(&program));
    ask(&mut running, "go");
    let pid = running.pid();
    let before = tables(&pid, &program);
    assert!(!before.is_empty());
    let mut first = None;
    for time in 0..times {
        let option = ["--memory=exact", "--memory"][time % 2];
        let Some(recorder) = Recorder::start(&pid, &[option]) else {
            return;
        };
        ask(&mut running, "go");
        recorder.end();
        assert!(tables(&pid, &program) == before, "{time}");
        // Both ways have a place of their own.
        if time < 2 {
            continue;
        }
        let (resident, mappings) = size(&pid);
        let (resident_first, mappings_first) = *first.get_or_insert((resident, mappings));
        assert!(
            mappings <= mappings_first + 4,
            "{time}: {mappings_first} then {mappings}"
        );
        assert!(
            resident <= resident_first + 600,
            "{time}: {resident_first} then {resident} KB"
        );
    }
    assert_eq!(running.end().1, Some(7));
}

#[test]
fn nothing_grows_however_often_memory_is_recorded() {
    comes_and_leaves(8);
}

#[test]
#[ignore = "long: it enters and leaves two hundred times"]
fn nothing_grows_in_two_hundred_recordings_of_memory() {
    comes_and_leaves(200);
}
