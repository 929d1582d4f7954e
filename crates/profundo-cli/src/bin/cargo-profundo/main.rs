//! `cargo profundo run|test|bench`: cargo builds with line tables and runs what it has built under
//! `profundo run`.
//!
//! Cargo itself starts the program: `profundo` is its runner. So folders, variables, features and
//! the choice of the binary are those of cargo, and the exit code is the program's.

mod packages;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const HELP: &str = "\
Builds a Rust program with line tables, and profiles it with `profundo run`.

Usage: cargo profundo run   [OPTIONS] [CARGO OPTIONS] [-- ARGS]
       cargo profundo test  [OPTIONS] [CARGO OPTIONS] [-- ARGS]
       cargo profundo bench [OPTIONS] [CARGO OPTIONS] [-- ARGS]

Options (those of `profundo run`):
      --wall, --syscalls, --memory[=exact], --energy, --only-mine, --no-children, --no-config
      --rate HZ, --duration SECONDS, --output FILE, --format WHAT, --limit COUNT
      --mine GLOB      code there is yours, or with a `!` a library's; your workspace's is anyway
      --dev            `run` without optimization; otherwise it builds with --release

All other options are cargo's: --bin, --example, --features, --profile, -p, ...

Examples:
  cargo profundo run -- --port 8080
  cargo profundo run --memory --example tour
  cargo profundo test --release -p parser -- big_file
  profundo report lines        the source of what was recorded last
";

/// Options of `profundo run`. True: a value follows.
const OURS: [(&str, bool); 13] = [
    ("--wall", false),
    ("--syscalls", false),
    ("--memory", false),
    ("--energy", false),
    ("--only-mine", false),
    ("--no-children", false),
    ("--no-config", false),
    ("--rate", true),
    ("--duration", true),
    ("--output", true),
    ("--format", true),
    ("--limit", true),
    ("--mine", true),
];

/// Wrong usage.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    // Cargo puts the name of the command first.
    let mut words: Vec<OsString> = env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == "profundo") {
        words.remove(0);
    }
    let asked = match Asked::parse(words) {
        Ok(Some(asked)) => asked,
        Ok(None) => {
            // A closed stdout is no failure.
            let _ = io::stdout().write_all(HELP.as_bytes());
            return ExitCode::SUCCESS;
        }
        Err(why) => return refuse(&format!("{why} (see `cargo profundo --help`)")),
    };
    match asked.command() {
        // It takes our place, so that signals and the exit code are its own.
        Ok(mut command) => refuse(&format!("cannot start cargo: {}", command.exec())),
        Err(why) => refuse(&why),
    }
}

fn refuse(why: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "cargo-profundo: {why}");
    ExitCode::from(USAGE)
}

/// The command line, split.
#[derive(Debug, PartialEq, Eq)]
struct Asked {
    verb: String,
    /// For `profundo run`.
    ours: Vec<OsString>,
    /// For cargo, what follows `--` included.
    cargos: Vec<OsString>,
    /// The profile whose line tables are wanted.
    profile: String,
}

impl Asked {
    /// `None`: help is wanted.
    fn parse(words: Vec<OsString>) -> Result<Option<Self>, String> {
        let mut words = words.into_iter();
        let verb = words.next().map(|word| word.to_string_lossy().into_owned());
        let verb = match verb.as_deref() {
            None | Some("-h" | "--help" | "help") => return Ok(None),
            Some(verb @ ("run" | "test" | "bench")) => verb.to_owned(),
            Some(other) => return Err(format!("`{other}` is none of run, test and bench")),
        };
        let (mut ours, mut cargos) = (Vec::new(), Vec::new());
        let (mut profile, mut is_dev) = (None, false);
        while let Some(word) = words.next() {
            let text = word.to_string_lossy().into_owned();
            let name = text.split('=').next().unwrap_or_default();
            let known = OURS.iter().find(|(option, _)| *option == name);
            let wants_value = known.is_some_and(|(_, has_value)| *has_value) && name == text;
            match text.as_str() {
                "--" => {
                    cargos.push(word);
                    cargos.extend(words.by_ref());
                }
                "-h" | "--help" => return Ok(None),
                "--dev" => is_dev = true,
                _ if known.is_some() => {
                    ours.push(word);
                    if wants_value {
                        let value = words.next().ok_or(format!("`{name}` wants a value"))?;
                        ours.push(value);
                    }
                }
                "--release" | "-r" => {
                    profile = Some("release".to_owned());
                    cargos.push(word);
                }
                "--profile" => {
                    let value = words.next().ok_or("`--profile` wants a value")?;
                    profile = Some(value.to_string_lossy().into_owned());
                    cargos.extend([word, value]);
                }
                _ => {
                    if let Some(value) = text.strip_prefix("--profile=") {
                        profile = Some(value.to_owned());
                    }
                    cargos.push(word);
                }
            }
        }
        if profile.is_none() && verb == "run" && !is_dev {
            cargos.insert(0, "--release".into());
            profile = Some("release".to_owned());
        }
        let default = match verb.as_str() {
            "bench" => "bench",
            "test" => "test",
            _ => "dev",
        };
        Ok(Some(Self {
            verb,
            ours,
            cargos,
            profile: profile.unwrap_or_else(|| default.to_owned()),
        }))
    }

    /// Cargo, with `profundo` as its runner.
    fn command(&self) -> Result<Command, String> {
        let profundo = profundo();
        let host = host()?;
        let runner = self.runner(&profundo, &packages::own_code(&self.cargos))?;
        let mut command = Command::new(cargo());
        command.arg(&self.verb).args(&self.cargos).env(
            format!("CARGO_TARGET_{}_RUNNER", in_capitals(&host)),
            runner,
        );
        let tables = format!("CARGO_PROFILE_{}_DEBUG", in_capitals(&self.profile));
        if env::var_os(&tables).is_none() {
            command.env(tables, "line-tables-only");
        }
        // Tests are run in the folder of their package, which is not where their recordings are
        // looked for.
        if env::var_os("PROFUNDO_DIR").is_none()
            && let Some(root) = workspace()
            && !has_folder(&root)
        {
            command.env("PROFUNDO_DIR", root.join(".profundo"));
        }
        Ok(command)
    }

    /// The words that cargo puts before a program. It splits them at spaces.
    fn runner(&self, profundo: &Path, own_code: &[String]) -> Result<String, String> {
        let mut words = vec![profundo.as_os_str().to_owned(), "run".into()];
        // A space would end the word, and `?` matches any character.
        let own_code = own_code
            .iter()
            .map(|pattern| pattern.replace(char::is_whitespace, "?"));
        words.extend(own_code.map(|pattern| format!("--packages={pattern}").into()));
        words.extend(self.ours.iter().cloned());
        words.push("--".into());
        let mut text = Vec::new();
        for word in words {
            match word.into_string() {
                Ok(word) if !word.contains(char::is_whitespace) => text.push(word),
                _ => {
                    return Err(
                        "cargo takes no runner with spaces in it: leave them out of options and paths"
                            .to_owned(),
                    );
                }
            }
        }
        Ok(text.join(" "))
    }
}

/// `x86_64-unknown-linux-gnu` as a part of a variable's name.
fn in_capitals(name: &str) -> String {
    name.to_ascii_uppercase().replace(['-', '.'], "_")
}

fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// The command beside us, or else the one in PATH.
fn profundo() -> PathBuf {
    let beside = env::current_exe().map(|path| path.with_file_name("profundo"));
    match beside {
        Ok(beside) if beside.is_file() => beside,
        _ => PathBuf::from("profundo"),
    }
}

/// The triple of this machine, as rustc says it.
fn host() -> Result<String, String> {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let said = answer(Command::new(rustc).arg("-vV")).ok_or("cannot ask rustc for its host")?;
    let host = said.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say its host")?.to_owned())
}

/// The root of the workspace.
fn workspace() -> Option<PathBuf> {
    let mut command = Command::new(cargo());
    let said =
        answer(command.args(["locate-project", "--workspace", "--message-format", "plain"]))?;
    Some(Path::new(said.trim()).parent()?.to_owned())
}

/// True if recordings have a folder already, here or upwards.
fn has_folder(root: &Path) -> bool {
    let here = env::current_dir().unwrap_or_else(|_| root.to_owned());
    here.ancestors()
        .any(|folder| folder.join(".profundo").is_dir())
}

fn answer(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    fn asked(words: &[&str]) -> Result<Option<Asked>, String> {
        Asked::parse(words.iter().map(OsString::from).collect())
    }

    fn words(words: &[impl AsRef<OsStr>]) -> Vec<String> {
        let text = words.iter().map(|word| word.as_ref().to_string_lossy());
        text.map(|word| word.into_owned()).collect()
    }

    #[test]
    fn options_go_to_their_program() {
        let typed = [
            "run",
            "--memory=exact",
            "--bin",
            "app",
            "--rate",
            "500",
            "--",
            "--wall",
            "x",
        ];
        let asked = asked(&typed).unwrap().unwrap();
        assert_eq!(words(&asked.ours), ["--memory=exact", "--rate", "500"]);
        let cargos = ["--release", "--bin", "app", "--", "--wall", "x"];
        assert_eq!(words(&asked.cargos), cargos);
        assert_eq!(asked.profile, "release");
        let runner = asked.runner(Path::new("/bin/profundo"), &[]).unwrap();
        assert_eq!(runner, "/bin/profundo run --memory=exact --rate 500 --");
    }

    #[test]
    fn line_tables_are_those_of_the_profile() {
        let profile = |words: &[&str]| asked(words).unwrap().unwrap().profile;
        assert_eq!(profile(&["run"]), "release");
        assert_eq!(profile(&["run", "--dev"]), "dev");
        assert_eq!(profile(&["run", "--profile", "fast"]), "fast");
        assert_eq!(profile(&["run", "--profile=fast"]), "fast");
        assert_eq!(profile(&["test"]), "test");
        assert_eq!(profile(&["test", "-r"]), "release");
        assert_eq!(profile(&["bench"]), "bench");
        assert_eq!(
            in_capitals("x86_64-unknown-linux-gnu"),
            "X86_64_UNKNOWN_LINUX_GNU"
        );
    }

    #[test]
    fn patterns_have_no_spaces() {
        let asked = asked(&["run"]).unwrap().unwrap();
        let runner = asked.runner(Path::new("profundo"), &["/my code".to_owned()]);
        assert_eq!(runner.unwrap(), "profundo run --packages=/my?code --");
    }

    #[test]
    fn what_cannot_be_done_is_said() {
        let why = |words: &[&str]| asked(words).unwrap_err();
        assert_eq!(why(&["build"]), "`build` is none of run, test and bench");
        assert_eq!(why(&["run", "--rate"]), "`--rate` wants a value");
        assert_eq!(asked(&["run", "--help"]), Ok(None));
        assert_eq!(asked(&[]), Ok(None));
        let spaced = asked(&["run", "--output", "a b"]).unwrap().unwrap();
        let why = spaced.runner(Path::new("profundo"), &[]).unwrap_err();
        assert!(
            why.starts_with("cargo takes no runner with spaces"),
            "{why}"
        );
    }
}
