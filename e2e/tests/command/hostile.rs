//! Programs that turn against their profiler: they write nonsense into all that is shared with it,
//! shorten its files, and lie about themselves. The recorder ends as always, within bounds of time
//! and memory, and its reports cannot control a terminal.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use profundo_testing::{profundo, pythons, skip, tool};

use crate::program::{PATIENCE, number};
use crate::targets::{c, scratch, source};

/// The recorder's memory, in kilobytes: an ordinary recording takes a tenth.
const MOST_MEMORY: u64 = 700 << 10;
/// The user `nobody`.
const NOBODY: u32 = 65534;

/// The end of a run.
struct Ended {
    status: ExitStatus,
    out: String,
    err: String,
    /// The most memory that the recorder has had, in kilobytes.
    memory: u64,
    recording: PathBuf,
}

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.recording);
    }
}

/// Records a command line.
fn record(options: &[&str], words: &[&str]) -> Ended {
    let name = number();
    let file = |ending: &str| scratch().join(format!("hostile-{name}.{ending}"));
    let (recording, out, err) = (file("profundo"), file("out"), file("err"));
    let mut command = Command::new(profundo());
    command
        .arg("record")
        .args(options)
        .arg("-o")
        .arg(&recording);
    command.arg("--").args(words).current_dir(scratch());
    // The program harms the file of unwind tables as well, which other programs map.
    let cache = scratch().join(format!("hostile-{name}.cache"));
    command.env("XDG_CACHE_HOME", &cache);
    let child = command
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&err).unwrap())
        .spawn();
    let (status, memory) = wait(child.unwrap(), words);
    let text = |path: &Path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
    let ended = Ended {
        status,
        out: text(&out),
        err: text(&err),
        memory,
        recording,
    };
    let _ = (fs::remove_file(out), fs::remove_file(err));
    let _ = fs::remove_dir_all(cache);
    ended
}

fn wait(mut child: Child, words: &[&str]) -> (ExitStatus, u64) {
    let began = Instant::now();
    let status = format!("/proc/{}/status", child.id());
    let mut memory = 0;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return (status, memory);
        }
        let facts = fs::read_to_string(&status).unwrap_or_default();
        let most = facts.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let most = most.and_then(|most| most.split_whitespace().next()?.parse().ok());
        memory = most.unwrap_or(memory);
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("{words:?}: the recorder hangs");
        }
        // The most memory is looked at now and then.
        thread::sleep(Duration::from_millis(20));
    }
}

impl Ended {
    /// The recorder has ended as it always does.
    fn is_sound(&self, words: &[&str]) -> &Self {
        let said = format!("{words:?}: {} {}", self.status, self.err);
        assert!(!self.err.contains("panicked"), "{said}");
        assert!(self.err.contains(" samples in "), "{said}");
        assert!(self.memory < MOST_MEMORY, "{} KB, {said}", self.memory);
        let report = self.report();
        // Whatever the program is called, a terminal shows it, and obeys nothing in it.
        let controls = |c: char| c.is_control() && c != '\n';
        for text in [&report, &self.err] {
            assert!(!text.contains(controls), "{text:?}");
        }
        self
    }

    fn report(&self) -> String {
        let mut command = Command::new(profundo());
        let output = command.arg("report").arg(&self.recording).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The program has ended as it always does.
    fn has_worked(&self) -> &Self {
        assert_eq!(self.status.code(), Some(7), "{} {}", self.status, self.err);
        assert_eq!(self.out, "worked in spite\n");
        self
    }
}

/// Runs the program in C in these ways, which do not harm itself.
fn check(options: &[&str], ways: &[&[&str]]) {
    let Some(target) = c("hostile.c", &[]) else {
        return;
    };
    for way in ways {
        let words = [&[target.to_str().unwrap()], *way].concat();
        record(options, &words).is_sound(&words).has_worked();
    }
}

/// Runs the program in C in a way that may end it by a fault of its own: the agent in it reads what
/// it has written. The recorder ends as always.
fn check_recorder(options: &[&str], way: &str) {
    let Some(target) = c("hostile.c", &[]) else {
        return;
    };
    let words = [target.to_str().unwrap(), way];
    let ended = record(options, &words);
    ended.is_sound(&words);
    let code = ended.status.code();
    let by = code.map(|code| code - 128).or(ended.status.signal());
    let is_its_own = [libc::SIGBUS, libc::SIGSEGV].map(Some).contains(&by);
    assert!(
        is_its_own || code == Some(7),
        "{way}: {code:?} {}",
        ended.err
    );
}

#[test]
fn shared_memory_full_of_nonsense() {
    for way in ["mappings", "headers", "files"] {
        check_recorder(&[], way);
    }
    check_recorder(&["--memory=exact"], "mappings");
    check_recorder(&["--wall"], "headers");
}

#[test]
fn session_files_that_become_links() {
    let victim = scratch().join("victim");
    fs::write(&victim, "mine").unwrap();
    check(&[], &[&["links"]]);
    assert_eq!(fs::read_to_string(victim).unwrap(), "mine");
}

#[test]
fn session_files_that_become_shorter() {
    for way in ["shorten", "agent"] {
        check_recorder(&[], way);
    }
}

#[test]
fn unwind_tables_that_are_rewritten() {
    check(&[], &[&["frames"]]);
}

#[test]
fn names_that_would_control_a_terminal() {
    check(&[], &[&["name"], &["threads"]]);
    let flags = ["-shared", "-fPIC"];
    let (Some(_), Some(plugin)) = (c("hostile.c", &[]), c("plugin.c", &flags)) else {
        return;
    };
    let folder = scratch().join("\x1b[31m\nfolder");
    fs::create_dir_all(&folder).unwrap();
    let copy = folder.join("\x1b]0;title\x07.so");
    fs::copy(&plugin, &copy).unwrap();
    check(&[], &[&["library", copy.to_str().unwrap()]]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn maps_of_generated_code_that_are_no_files_of_its_own() {
    check(&[], &[&["map", "fifo"], &["map", "link"], &["map", "long"]]);
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can make a file of another user's");
    }
    let Some(target) = c("hostile.c", &[]) else {
        return;
    };
    let words = [target.to_str().unwrap(), "map", "other"];
    let ended = record(&[], &words);
    ended.is_sound(&words).has_worked();
    let report = ended.report();
    assert!(!report.contains("name_of_another_user"), "{report}");
}

#[test]
fn code_objects_that_are_rewritten() {
    let Some(python) = pythons().first() else {
        return skip("there is no CPython from 3.8 to 3.15");
    };
    let python = python.path.to_str().unwrap();
    let script = source("hostile.py");
    let words = [python, script.to_str().unwrap()];
    for options in [&[][..], &["--wall"]] {
        record(options, &words).is_sound(&words).has_worked();
    }
}

/// Another user swaps the folder of the agent for links and folders of their own, while root
/// records: the agent is loaded from a folder of root's alone.
#[test]
fn a_folder_that_another_user_swaps_is_not_used() {
    // SAFETY: asks for a number.
    if unsafe { libc::geteuid() } != 0 {
        return skip("only root can become another user");
    }
    let (Some(setpriv), Some(_)) = (tool("setpriv"), tool("sh")) else {
        return;
    };
    let shared = Path::new("/var/tmp").join(format!("profundo-swapped-{}", std::process::id()));
    let evil = shared.join("evil");
    fs::create_dir_all(&evil).unwrap();
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    chown(&evil, Some(NOBODY), Some(NOBODY)).unwrap();
    let user = NOBODY.to_string();
    let swap = "while [ -d evil ]; do ln -s evil profundo-agent-0; rm -f profundo-agent-0; \
                mkdir profundo-agent-0; rmdir profundo-agent-0; done";
    let mut racer = Command::new(setpriv);
    racer.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    racer
        .args(["sh", "-c", swap])
        .current_dir(&shared)
        .stderr(Stdio::null());
    let mut racer = racer.spawn().unwrap();
    let mut loaded = 0;
    for _ in 0..20 {
        let mut command = Command::new(profundo());
        command
            .args(["record", "-o"])
            .arg(shared.join("evil/../made.profundo"));
        command.args(["--", "grep", "libprofundo-agent", "/proc/self/maps"]);
        command.env("TMPDIR", &shared).env("HOME", "/proc/no-home");
        command.env_remove("XDG_CACHE_HOME").stderr(Stdio::null());
        let output = command.output().unwrap();
        let maps = String::from_utf8_lossy(&output.stdout).into_owned();
        for line in maps.lines() {
            let path = Path::new(&line[line.find('/').unwrap()..]);
            assert_eq!(fs::metadata(path).unwrap().uid(), 0, "{line}");
            assert_eq!(path.canonicalize().unwrap(), path, "{line}");
            loaded += 1;
        }
    }
    let in_evil = fs::read_dir(&evil).unwrap().count();
    fs::remove_dir(&evil).unwrap();
    racer.wait().unwrap();
    fs::remove_dir_all(&shared).unwrap();
    assert_eq!(
        in_evil, 0,
        "the recorder wrote into a folder of another user"
    );
    assert!(loaded > 0, "the agent was never loaded");
}
