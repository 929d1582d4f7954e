//! `top`: its plain text, and its page in a real terminal, which is to be left as it was.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use profundo_testing::{skip, wait_until_or};

use crate::machine::{Folder, SPIN_C, c_program};

/// Waits until something is so.
#[track_caller]
fn until(what: &str, is_so: impl FnMut() -> bool, seen: impl Fn() -> String) {
    wait_until_or(is_so, || format!("not {what}: {}", seen()));
}

/// A process that works until it is dropped.
struct Busy(Child);

impl Busy {
    fn new() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        Self(command.stdin(Stdio::null()).spawn().unwrap())
    }

    fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// The fields of `/proc/PID/stat` behind the name: the state first, the CPU time as the 12th
    /// and 13th.
    fn stat(&self) -> Vec<String> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        let (_, stat) = stat.rsplit_once(") ").unwrap();
        stat.split(' ').map(str::to_owned).collect()
    }

    fn works_on(&self) {
        let ticks = || self.stat()[11].parse::<u64>().unwrap();
        let before = ticks();
        until("at work", || ticks() > before, || self.stat().join(" "));
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// True if processes can be attached to here; else the test is skipped.
fn may_attach(folder: &Folder, pid: &str) -> bool {
    let outcome = folder.run(&["top", "--once", "-i", "0.1", pid]);
    let may = outcome.code == Some(0);
    if !may {
        skip(&format!(
            "no process can be attached to: {}",
            outcome.err.trim()
        ));
    }
    may
}

#[test]
fn a_page_wants_a_terminal() {
    let folder = Folder::new();
    folder.run(&["top", "1"]).refused(2, "--batch");
    folder.run(&["top", "--", "true"]).refused(2, "--batch");
    let outcome = folder.run(&["top", "app.py"]);
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.err.contains("profundo top -- app.py"),
        "{outcome:#?}"
    );
    assert_eq!(folder.run(&["top"]).code, Some(2));
    assert_eq!(folder.run(&["top", "1", "--", "true"]).code, Some(2));
    folder
        .run(&["top", "--once", "--", "no-such-program-anywhere"])
        .refused(127, "is in PATH");
    folder
        .run(&["top", "--once", "4194300"])
        .refused(1, "4194300");
}

#[test]
fn plain_text_comes_until_the_program_ends_as_it_ends() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "spin", SPIN_C) else {
        return;
    };
    let script = format!(
        "{} 1.5; echo said; echo complained >&2; exit 3",
        program.display()
    );
    let outcome = folder.run(&[
        "top",
        "--batch",
        "-i",
        "0.5",
        "-r",
        "1000",
        "--limit",
        "5",
        "--output-to",
        "said.txt",
        "-o",
        "x.profundo",
        "--",
        "sh",
        "-c",
        &script,
    ]);
    assert_eq!(outcome.code, Some(3), "{outcome:#?}");
    let pages: Vec<&str> = outcome.out.split("\n\n").collect();
    assert!(pages.len() >= 2, "{outcome:#?}");
    let last = pages.last().unwrap();
    assert!(last.contains("ended with exit code 3"), "{last}");
    assert!(
        outcome.out.contains("hot") && outcome.out.contains("cool"),
        "{outcome:#?}"
    );
    // A page stays as it is printed, so it waits for its names.
    assert!(!outcome.out.contains("[unknown function]"), "{outcome:#?}");
    // The program's own output is where it was sent, and not between the pages.
    let text = std::fs::read_to_string(folder.path().join("said.txt")).unwrap();
    assert_eq!(text, "said\ncomplained\n");
    assert!(!outcome.out.contains("complained") && !outcome.err.contains("complained"));
    assert!(
        outcome.err.contains("said.txt") && outcome.err.contains("x.profundo"),
        "{outcome:#?}"
    );
    let report = folder.run(&["report", "x.profundo", "functions"]);
    assert!(report.succeeded().out.contains("hot"), "{report:#?}");
}

#[test]
fn a_program_that_dies_of_a_signal_is_followed() {
    let folder = Folder::new();
    let outcome = folder.run(&["top", "--batch", "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(outcome.signal, Some(libc::SIGTERM), "{outcome:#?}");
    assert!(outcome.out.contains("ended by signal 15"), "{outcome:#?}");
    // It said nothing, so there is nothing to keep.
    assert!(!outcome.err.contains("output"), "{outcome:#?}");
}

#[test]
fn functions_of_the_kernel_have_names() {
    let folder = Folder::new();
    let mut command = Command::new("dd");
    command.args(["if=/dev/zero", "of=/dev/null", "bs=16"]);
    let Ok(child) = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn() else {
        return skip("no dd");
    };
    let busy = Busy(child);
    if !may_attach(&folder, &busy.pid()) {
        return;
    }
    // Without permission to see the kernel, it has one row.
    let recording = folder.run(&["attach", &busy.pid(), "-d", "1"]);
    if !recording.succeeded().out.contains("[kernel] ") {
        return skip("this user may not see the kernel");
    }
    // On a busy machine one second may have hardly any samples.
    let outcome = folder.run(&["top", "--once", "-i", "3", &busy.pid()]);
    assert!(
        outcome.succeeded().out.contains("[kernel] "),
        "{outcome:#?}"
    );
    assert!(!outcome.out.contains("[unknown function]"), "{outcome:#?}");
}

#[test]
fn plain_text_of_a_process_comes_once() {
    let folder = Folder::new();
    let busy = Busy::new();
    if !may_attach(&folder, &busy.pid()) {
        return;
    }
    let outcome = folder.run(&["top", "--once", "-i", "1", &busy.pid()]);
    let lines = outcome.succeeded().out.lines().count();
    assert!(
        outcome.out.contains(&busy.pid()) && lines >= 4,
        "{outcome:#?}"
    );
    busy.works_on();
}

#[test]
fn once_and_batch_go_together() {
    let folder = Folder::new();
    let busy = Busy::new();
    if !may_attach(&folder, &busy.pid()) {
        return;
    }
    let pid = &*busy.pid();
    for options in [
        &["--once", "--batch", "--limit", "5", "-i", "0.5"][..],
        &["--batch", "--once", "-i", "0.5"],
        // Shorter than its interval: one page all the same.
        &["--once", "-i", "30", "-d", "0.5"],
        &["--batch", "-i", "30", "-d", "0.5"],
    ] {
        let outcome = folder.run(&[&["top"], options, &[pid]].concat());
        let out = &outcome.succeeded().out;
        assert_eq!(
            out.matches("Functions").count(),
            1,
            "{options:?}: {outcome:#?}"
        );
        assert!(
            !out.contains("\n\n") || out.contains("no CPU time"),
            "{outcome:#?}"
        );
    }
    let outcome = folder.run(&[
        "top", "--batch", "--limit", "1", "-i", "0.3", "-d", "2", pid,
    ]);
    let pages = outcome.succeeded().out.split("\n\n").count();
    assert!(pages >= 2, "{outcome:#?}");
    busy.works_on();
}

#[test]
fn a_page_says_how_much_was_seen() {
    let folder = Folder::new();
    let mut sleeper = Command::new("sleep");
    let sleeper = sleeper.arg("100").stdin(Stdio::null()).spawn().unwrap();
    let sleeper = Busy(sleeper);
    if !may_attach(&folder, &sleeper.pid()) {
        return;
    }
    let outcome = folder.run(&["top", "--once", "-i", "0.5", &sleeper.pid()]);
    let out = &outcome.succeeded().out;
    assert!(out.contains("no CPU time was used in these"), "{out}");
    assert!(out.contains("sleeps until a time has come"), "{out}");
    assert!(out.contains("--wall"), "{out}");
    assert!(out.contains(" of 10 s · 0 samples"), "{out}");
    assert!(out.contains("RSS ") && out.contains("1 thread"), "{out}");
    // Few samples are no shares.
    let busy = Busy::new();
    until(
        "counted",
        || {
            let outcome = folder.run(&["top", "--once", "-r", "10", "-i", "1", &busy.pid()]);
            let out = &outcome.succeeded().out;
            // On a busy machine a second may have none.
            let some = !out.contains(" 0 samples");
            assert!(
                !some || out.contains(" of ") && !out.contains("Self %"),
                "{out}"
            );
            some
        },
        String::new,
    );
}

#[test]
fn a_closed_output_ends_it_without_an_error() {
    let folder = Folder::new();
    let busy = Busy::new();
    if !may_attach(&folder, &busy.pid()) {
        return;
    }
    let profundo = env!("CARGO_BIN_EXE_profundo");
    let line = |what: &str| {
        let line = format!(
            "{profundo} top --batch -i 0.2 {what} 2>said | head -1; echo ${{PIPESTATUS[0]}}"
        );
        let output = Command::new("bash")
            .args(["-c", &line])
            .current_dir(folder.path())
            .output()
            .unwrap();
        let outcome = std::fs::read_to_string(folder.path().join("said")).unwrap();
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            outcome,
        )
    };
    let (out, outcome) = line(&busy.pid());
    assert!(out.ends_with("\n141\n"), "{out}");
    assert_eq!(outcome, "");
    busy.works_on();
    // A program that was started goes on to its end.
    let (out, outcome) = line("-- sh -c 'sleep 2; touch done; exit 3'");
    assert!(out.ends_with("\n3\n"), "{out}");
    assert!(outcome.contains("the program goes on"), "{outcome}");
    assert!(folder.path().join("done").exists());
}

#[test]
fn what_cannot_be_recorded_is_not_begun() {
    let folder = Folder::new();
    let options = ["--once", "--output-to", "said.txt", "-o"];
    let program = ["--", "sh", "-c", "touch ran"];
    for (file, code, why) in [
        ("no/such/x.profundo", 1, "x.profundo"),
        ("mine.txt", 2, "no recording"),
    ] {
        folder.file("mine.txt", "a text of mine");
        let outcome = folder.run(&[&["top"], &options[..], &[file], &program].concat());
        outcome.refused(code, why);
        assert!(!folder.path().join("ran").exists(), "it ran");
    }
    // What cannot run leaves no recording.
    folder.file("broken", "#!/no/such/interpreter\n");
    let made = Command::new("chmod")
        .arg("+x")
        .arg(folder.path().join("broken"))
        .status();
    assert!(made.unwrap().success());
    let broken = ["x.profundo", "--", "./broken"];
    let outcome = folder.run(&[&["top"], &options[..], &broken].concat());
    outcome.refused(127, "interpreter");
    assert!(folder.recordings().is_empty());
}

/// A terminal of tmux, with a shell in it.
struct Tmux {
    name: String,
}

impl Tmux {
    /// `None`, and skipped, where there is no tmux.
    fn new(folder: &Path, script: &str) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("there is no tmux");
            return None;
        }
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let tmux = Self {
            name: format!("profundo-{}-{number}", std::process::id()),
        };
        std::fs::write(folder.join("script"), script).unwrap();
        let folder = folder.to_str().unwrap();
        let shell = ["bash", "--norc", "--noprofile", "-m", "script"];
        let new = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "24",
            "-c",
            folder,
            "-e",
            "NO_COLOR=",
        ];
        // What a shell says at its own end is to be seen, too.
        let stay = [";", "set-option", "-g", "remain-on-exit", "on"];
        tmux.run(&[&new[..], &shell, &stay].concat());
        Some(tmux)
    }

    fn run(&self, words: &[&str]) -> String {
        let output = Command::new("tmux")
            .args(["-L", &self.name])
            .args(words)
            .env_remove("TMUX")
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn screen(&self) -> String {
        self.run(&["capture-pane", "-p"])
    }

    fn press(&self, key: &str) {
        self.run(&["send-keys", key]);
    }

    #[track_caller]
    fn shows(&self, text: &str) -> String {
        let mut screen = String::new();
        until(
            &format!("{text:?} on the screen"),
            || {
                screen = self.screen();
                screen.contains(text)
            },
            || self.screen(),
        );
        screen
    }

    /// `1` if the alternate screen is shown, and `1` if there is a cursor.
    fn modes(&self) -> String {
        self.run(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"])
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux")
            .args(["-L", &self.name, "kill-server"])
            .stderr(Stdio::null())
            .status();
    }
}

/// A script that starts `top`, waits until the terminal is restored, and says how `top` ended. A
/// killed `top` cannot restore it before the shell notices its end.
fn script(arguments: &str) -> String {
    let profundo = env!("CARGO_BIN_EXE_profundo");
    format!(
        "trap : INT # or a program that dies of it takes the shell with it\n\
         stty -g > before\n\
         bash -c 'echo $$ > pid; exec {profundo} top {arguments}'\n\
         code=$?\n\
         while [ $code = 148 ]; do echo stopped; read line; fg; code=$?; done\n\
         until [ \"$(stty -g)\" = \"$(cat before)\" ]; do sleep 0.1; done\n\
         echo \"code $code\"\n\
         echo as before\n\
         read line\n"
    )
}

#[test]
fn however_it_ends_the_terminal_is_as_it_was() {
    let folder = Folder::new();
    let busy = Busy::new();
    if !may_attach(&folder, &busy.pid()) {
        return;
    }
    for (end, code) in [
        ("q", 0),
        ("C-c", 0),
        ("KILL", 137),
        ("TERM", 143),
        ("HUP", 129),
        ("INT", 130),
        ("QUIT", 131),
        ("ABRT", 134),
    ] {
        let Some(tmux) = Tmux::new(folder.path(), &script(&busy.pid())) else {
            return;
        };
        tmux.shows("Functions");
        assert_eq!(
            tmux.modes().trim(),
            "1 0",
            "a screen of its own, and no cursor"
        );
        if end.chars().all(|character| character.is_ascii_uppercase()) {
            let pid = std::fs::read_to_string(folder.path().join("pid")).unwrap();
            let kill = Command::new("kill").args(["-s", end, pid.trim()]).status();
            assert!(kill.unwrap().success());
        } else {
            tmux.press(end);
        }
        let screen = tmux.shows("as before");
        assert!(screen.contains(&format!("code {code}")), "{end}: {screen}");
        assert!(!screen.contains("Functions"), "{end}: {screen}");
        assert_eq!(tmux.modes().trim(), "0 1", "{end}");
        busy.works_on();
    }
}

#[test]
fn keys_change_the_page_and_its_size_too() {
    let folder = Folder::new();
    let Some(program) = c_program(&folder, "spin", SPIN_C) else {
        return;
    };
    let script = script(&format!("--wall -- {} 600", program.display()));
    let Some(tmux) = Tmux::new(folder.path(), &script) else {
        return;
    };
    tmux.shows("hot");
    keys_choose_pages(&tmux);
    keys_filter_and_pause(&tmux);
    tmux.run(&["resize-window", "-x", "60", "-y", "12"]);
    until(
        "as small as its window",
        || {
            tmux.screen()
                .lines()
                .nth(11)
                .is_some_and(|line| line.contains("? help"))
        },
        || tmux.screen(),
    );
    stops_and_continues(&tmux);
    tmux.press("C-c");
    tmux.shows("ended by signal 2");
    tmux.press("q");
    tmux.shows("as before");
}

#[track_caller]
fn keys_choose_pages(tmux: &Tmux) {
    tmux.press("2");
    tmux.shows("spin.c:");
    tmux.press("3");
    tmux.shows("tid ");
    tmux.press("4");
    tmux.shows("Growth");
    tmux.press("5");
    tmux.shows("Waits for");
    tmux.press("1");
    tmux.shows("Self %");
    tmux.shows("hot");
    tmux.press("Enter");
    tmux.shows("Called by");
    tmux.press("Escape");
    tmux.shows("Self %");
}

#[track_caller]
fn keys_filter_and_pause(tmux: &Tmux) {
    tmux.press("/");
    for key in ["x", "y", "z", "Enter"] {
        tmux.press(key);
    }
    tmux.shows("nothing has this in its name");
    tmux.press("Escape");
    tmux.shows("hot");
    tmux.press("Space");
    tmux.shows("PAUSED");
    tmux.press("?");
    tmux.shows("this page; any key leaves it");
    tmux.press("x");
    tmux.press("w");
}

/// The shell stops and continues it, and has the terminal meanwhile.
#[track_caller]
fn stops_and_continues(tmux: &Tmux) {
    tmux.press("C-z");
    tmux.shows("stopped");
    assert_eq!(tmux.modes().trim(), "0 1");
    tmux.press("Enter");
    tmux.shows("? help");
    assert_eq!(tmux.modes().trim(), "1 0");
}

#[test]
fn leaving_the_page_leaves_the_program() {
    let folder = Folder::new();
    let shell = "echo begun; while [ ! -e over ]; do :; done; echo done; exit 5";
    folder.file("program.sh", shell);
    let script = script("--output-to said.txt -- sh program.sh");
    let Some(tmux) = Tmux::new(folder.path(), &script) else {
        return;
    };
    tmux.shows("output: said.txt");
    tmux.press("q");
    tmux.shows("the program goes on");
    folder.file("over", "");
    let screen = tmux.shows("as before");
    assert!(screen.contains("code 5"), "{screen}");
    let text = std::fs::read_to_string(folder.path().join("said.txt")).unwrap();
    assert_eq!(text, "begun\ndone\n");
}
