//! A page's folder, in which its commands are run one after the other, and the programs that they
//! need.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use profundo_testing::{profundo, pythons};

use crate::table::{COMPILED, RUNNING, TOOLS};

/// The folder's name in pages, which replaces its path in the output.
const HOME: &str = "/home/me";

pub struct Folder {
    root: PathBuf,
    current: PathBuf,
    running: Option<Child>,
    page: String,
}

/// The outcome of a command, and its text on both outputs.
#[derive(Debug)]
pub struct Printed {
    pub code: Option<i32>,
    pub text: String,
}

impl Folder {
    /// A folder with the programs of `e2e/docs` and the examples.
    pub fn new(page: &str) -> Self {
        let name = page.replace(['/', '.'], "-");
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("pages")
            .join(name);
        drop(fs::remove_dir_all(&root));
        fs::create_dir_all(&root).unwrap();
        let root = root.canonicalize().unwrap();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy(&here.join("docs"), &root);
        copy(&here.join("../examples"), &root.join("examples"));
        copy(&here.join("../examples/start"), &root);
        let numbers = |from: u64| -> String {
            let next = |number: &u64| Some((number * 48271) % 2_147_483_647);
            let numbers = std::iter::successors(Some(from), next).take(200_000);
            numbers.map(|number| format!("{number}\n")).collect()
        };
        fs::write(root.join("numbers"), numbers(7)).unwrap();
        fs::write(root.join("big.txt"), numbers(8) + "x\n").unwrap();
        Self {
            current: root.clone(),
            root,
            running: None,
            page: page.to_owned(),
        }
    }

    /// Runs a command as it was typed; an error where this machine lacks what it wants.
    pub fn run(&mut self, command: &str) -> Result<Printed, String> {
        if let Some(folder) = command.strip_prefix("cd ") {
            self.current = self.current.join(folder);
            let code = Some(i32::from(!self.current.is_dir()));
            let text = String::new();
            return Ok(Printed { code, text });
        }
        self.compile(command)?;
        let command = self.with_pid(command);
        let file = self.root.join(".printed");
        let output = fs::File::create(&file).unwrap();
        let mut shell = self.command("timeout");
        shell
            .args(["--kill-after=2", "60", "bash", "-c", &command])
            .stdin(Stdio::null())
            .stdout(output.try_clone().unwrap())
            .stderr(output);
        let code = shell.status().unwrap().code();
        let text = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&text);
        let text = text.replace(&*self.root.to_string_lossy(), HOME);
        Ok(Printed { code, text })
    }

    /// A command in the folder. The user has the newest Python, the package, and no settings.
    fn command(&self, program: &str) -> Command {
        let python = pythons()
            .iter()
            .rev()
            .find(|python| python.version <= (3, 13));
        let ours = [Some(profundo()), python.map(|python| &*python.path)];
        let ours = ours.into_iter().flatten().filter_map(Path::parent);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let shims = |folder: &PathBuf| !folder.ends_with("shims");
        let all = ours
            .map(Path::to_owned)
            .chain(std::env::split_paths(&path).filter(shims));
        let mut command = Command::new(program);
        command
            .current_dir(&self.current)
            .env("PATH", std::env::join_paths(all).unwrap())
            .env("LC_ALL", "C.UTF-8")
            // As wide as the pages: into a pipe lines go whole.
            .env("COLUMNS", "80")
            .env("PROFUNDO_NO_CONFIG", "1")
            .env(
                "PYTHONPATH",
                concat!(env!("CARGO_MANIFEST_DIR"), "/../python/src"),
            )
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env_remove("PROFUNDO_DIR")
            .env_remove("PROFUNDO_SKIP_FILE");
        command
    }

    /// Compiles the missing programs of a command; an error where a tool is missing.
    fn compile(&self, command: &str) -> Result<(), String> {
        for tool in TOOLS {
            let is_wanted = command.split_whitespace().any(|word| word == *tool);
            if is_wanted && self.command(tool).arg("--version").output().is_err() {
                return Err(format!("there is no {tool}"));
            }
        }
        for (wanted, words) in COMPILED {
            let is_made = command.contains(words[0]) || self.root.join(wanted).exists();
            let is_wanted = command.split_whitespace().any(|word| word == *wanted);
            if is_wanted && !is_made {
                let made = self.command(words[0]).args(&words[1..]).output();
                let made = made.map_err(|error| format!("{}: {error}", words[0]))?;
                assert!(made.status.success(), "{words:?}: {made:?}");
            }
        }
        Ok(())
    }

    /// The command with the number of a running program in place of PID. The program is started at
    /// the first such command.
    fn with_pid(&mut self, command: &str) -> String {
        let is_pid = |word: &str| word == "PID";
        if !command.split_whitespace().any(is_pid) {
            return command.to_owned();
        }
        if self.running.is_none() {
            let mut programs = RUNNING.iter();
            let fits = |(page, _): &&(&str, &[&str])| page.is_empty() || *page == self.page;
            let (_, words) = programs.find(fits).unwrap();
            let mut program = self.command(words[0]);
            program.args(&words[1..]).stdout(Stdio::null());
            self.running = Some(program.stdin(Stdio::null()).spawn().unwrap());
            // Time itself: the screens show a program at work, and not at its beginning.
            std::thread::sleep(std::time::Duration::from_millis(500));
        }
        let pid = self.running.as_ref().unwrap().id().to_string();
        let words = command.split(' ');
        let words: Vec<&str> = words
            .map(|word| if is_pid(word) { &*pid } else { word })
            .collect();
        words.join(" ")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(running) = &mut self.running {
            drop(running.kill());
            drop(running.wait());
        }
    }
}

/// Copies a folder's files, and those below.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name.to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).unwrap();
        }
    }
}
