//! Profilers of Python programs, this one and its peers: how each is started, and where it is
//! found.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

/// A profiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profiler {
    /// Ours, with the path of the command.
    Ours(PathBuf),
    /// py-spy.
    PySpy(PathBuf),
    /// austin.
    Austin(PathBuf),
    /// Scalene, which is part of a Python and supports no other.
    Scalene(PathBuf),
}

/// A peer's name and constructor.
type Peer = (&'static str, fn(PathBuf) -> Profiler);
const PEERS: [Peer; 3] = [
    ("py-spy", Profiler::PySpy),
    ("austin", Profiler::Austin),
    ("scalene", Profiler::Scalene),
];

/// The peers to run.
#[derive(Debug, Default)]
pub struct Peers {
    named: Vec<Profiler>,
    alone: bool,
}

impl Peers {
    /// The usage of these options.
    pub const USAGE: &str = "[--py-spy PATH] [--austin PATH] [--scalene PATH] [--alone]";

    /// Takes an option, if it is one on peers; `value` returns its argument.
    pub fn take(&mut self, option: &str, value: impl FnOnce() -> Option<String>) -> bool {
        if option == "--alone" {
            self.alone = true;
            return true;
        }
        let name = option.strip_prefix("--").unwrap_or_default();
        let Some((_, kind)) = PEERS.iter().find(|(known, _)| *known == name) else {
            return false;
        };
        value()
            .map(|path| self.named.push(kind(path.into())))
            .is_some()
    }

    /// The named peers; the others if they are in `PATH`, unless `--alone` was given.
    pub fn found(self) -> Vec<Profiler> {
        let mut found = self.named;
        let path = env::var_os("PATH").filter(|_| !self.alone);
        for (name, kind) in PEERS {
            if found.iter().any(|known| known.name() == name) {
                continue;
            }
            let files = path.iter().flat_map(env::split_paths);
            let file = files
                .map(|folder| folder.join(name))
                .find(|file| file.is_file());
            found.extend(file.map(kind));
        }
        found
    }
}

impl Profiler {
    /// The name in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "profundo",
            Self::PySpy(_) => "py-spy",
            Self::Austin(_) => "austin",
            Self::Scalene(_) => "scalene",
        }
    }

    /// True if the profiler supports this program: ours supports any, the peers those of Python,
    /// and Scalene its own Python only.
    pub fn can(&self, program: &[&str]) -> bool {
        let is_python =
            |program: &[&str]| program.get(1).is_some_and(|script| script.ends_with(".py"));
        match self {
            Self::Ours(_) => true,
            Self::PySpy(_) | Self::Austin(_) => is_python(program),
            Self::Scalene(path) => {
                is_python(program)
                    && version(path.with_file_name("python3").as_os_str())
                        .is_some_and(|own| Some(own) == version(OsStr::new(program[0])))
            }
        }
    }

    /// A file of its own in the temporary folder, with the profiler's usual extension.
    pub fn file(&self) -> PathBuf {
        let ending = match self {
            Self::Ours(_) => "profundo",
            Self::PySpy(_) | Self::Austin(_) => "txt",
            Self::Scalene(_) => "json",
        };
        let name = format!("profundo-bench-{}-{}.{ending}", process::id(), self.name());
        env::temp_dir().join(name)
    }

    /// Its command on a program, with a prefix: it takes `rate` samples per second and writes its
    /// results to a file. Scalene keeps its own rate, for at another it slows a program down
    /// tenfold.
    pub fn command(&self, front: &[&str], rate: u32, file: &Path, program: &[&str]) -> Command {
        let path = match self {
            Self::Ours(path) | Self::PySpy(path) | Self::Austin(path) | Self::Scalene(path) => path,
        };
        let mut words = front.iter().map(OsStr::new).chain([path.as_os_str()]);
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        match self {
            Self::Ours(_) => {
                command.args(["record", "--rate", &rate.to_string(), "-o"]);
                command.arg(file).arg("--").args(program);
            }
            Self::PySpy(_) => {
                command.args(["record", "-r", &rate.to_string(), "-f", "raw", "-o"]);
                command.arg(file).arg("--").args(program);
            }
            Self::Austin(_) => {
                let period = format!("{}us", 1_000_000 / rate);
                // Without what does not run on a processor.
                command.args(["-s", "-i", &period, "-o"]).arg(file);
                command.args(program);
            }
            Self::Scalene(_) => {
                let (script, arguments) = program[1..].split_first().unwrap_or((&"", &[]));
                command.args(["run", "--cpu-only", "-o"]).arg(file);
                command.arg(script).arg("---").args(arguments);
            }
        }
        command
    }
}

/// The first two numbers of a Python's version.
fn version(python: &OsStr) -> Option<String> {
    let question = "import sys; print(*sys.version_info[:2])";
    let output = Command::new(python).args(["-c", question]).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(profiler: &Profiler, program: &[&str]) -> String {
        let command = profiler.command(&["nice"], 1000, Path::new("out"), program);
        let words = [command.get_program()]
            .into_iter()
            .chain(command.get_args());
        let words: Vec<&str> = words.filter_map(OsStr::to_str).collect();
        words.join(" ")
    }

    #[test]
    fn each_is_started_in_its_own_way() {
        let program = ["py", "a.py", "1"];
        let rows = [
            (
                Profiler::Ours("p".into()),
                "nice p record --rate 1000 -o out -- py a.py 1",
            ),
            (
                Profiler::PySpy("s".into()),
                "nice s record -r 1000 -f raw -o out -- py a.py 1",
            ),
            (
                Profiler::Austin("a".into()),
                "nice a -s -i 1000us -o out py a.py 1",
            ),
            (
                Profiler::Scalene("c".into()),
                "nice c run --cpu-only -o out a.py --- 1",
            ),
        ];
        for (profiler, expected) in rows {
            assert_eq!(words(&profiler, &program), expected);
        }
    }

    #[test]
    fn peers_are_named_or_found() {
        let mut peers = Peers::default();
        assert!(peers.take("--alone", || None));
        assert!(peers.take("--austin", || Some("/x/austin".into())));
        assert!(!peers.take("--runs", || Some("3".into())));
        assert!(!peers.take("--py-spy", || None));
        assert_eq!(peers.found(), [Profiler::Austin("/x/austin".into())]);
    }

    #[test]
    fn only_we_take_what_is_not_python() {
        let ours = Profiler::Ours("p".into());
        let theirs = Profiler::PySpy("s".into());
        assert!(ours.can(&["./a"]) && !theirs.can(&["./a"]));
        assert!(theirs.can(&["python3", "a.py"]));
        assert!(!Profiler::Scalene("/nowhere/scalene".into()).can(&["python3", "a.py"]));
    }
}
