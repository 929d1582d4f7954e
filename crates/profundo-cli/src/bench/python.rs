//! An interpreter that runs a statement in a loop when it is asked to.
//!
//! It is started with a small program of ours (`harness.py`), with which we talk over a socket. That socket is its
//! standard input until the program has taken it away; its standard output is not ours.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};

use crate::launch::{Ended, Interrupt, Interrupted, wait_for, wait_or_kill};

/// The program that it runs.
const HARNESS: &str = include_str!("harness.py");

/// A message is shorter than this: a repr, or a traceback.
const LONGEST: usize = 1 << 30;

/// How long it may take to end: a thread that the statement has left may never do.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The interpreter.
    pub python: OsString,
    /// What is done before each run.
    pub setup: String,
    /// What is timed.
    pub text: String,
    /// Whether the clock is that of the process.
    pub cpu_clock: bool,
}

/// The statement raised an exception, or does not even compile.
#[derive(Debug)]
pub struct Raised {
    /// The traceback.
    pub traceback: String,
}

impl std::fmt::Display for Raised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.traceback.trim_end())
    }
}

impl std::error::Error for Raised {}

/// An interpreter that waits for us.
#[derive(Debug)]
pub struct Interpreter<'a> {
    pid: i32,
    channel: Option<BufReader<UnixStream>>,
    interrupt: &'a Interrupt,
    /// Its name and version.
    pub version: String,
    buried: bool,
}

impl<'a> Interpreter<'a> {
    /// Starts one that has compiled the statement, which prints to these streams.
    pub fn start(
        statement: &Statement,
        output: Stdio,
        errors: Stdio,
        interrupt: &'a Interrupt,
    ) -> Result<Self> {
        let streams = (output, errors);
        let mut it = Self::begin(statement, "run", streams, interrupt, None)?;
        it.expect("compiled")?;
        Ok(it)
    }

    /// What the statement's last expression is worth. What it prints goes to `output`.
    pub fn check(statement: &Statement, output: Stdio, interrupt: &'a Interrupt) -> Result<String> {
        // Sets of texts come in the same order each time.
        let seed = Some(("PYTHONHASHSEED", "0"));
        let mut it = Self::begin(
            statement,
            "check",
            (output, Stdio::inherit()),
            interrupt,
            seed,
        )?;
        let value = it.expect("value")?;
        it.end();
        Ok(value)
    }

    fn begin(
        statement: &Statement,
        what: &str,
        (output, errors): (Stdio, Stdio),
        interrupt: &'a Interrupt,
        variable: Option<(&str, &str)>,
    ) -> Result<Self> {
        let python = &statement.python;
        let (ours, theirs) = UnixStream::pair().context("cannot make a socket")?;
        let mut command = Command::new(python);
        command
            .arg("-c")
            .arg(HARNESS)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(output)
            .stderr(errors)
            .envs(variable);
        let child = interrupt
            .spawn(&mut command)
            .map_err(|error| no_interpreter(python, error))?;
        // Ours alone: else nobody would be told that the interpreter has gone.
        drop(command);
        let mut it = Self {
            pid: child,
            channel: Some(BufReader::new(ours)),
            interrupt,
            version: String::new(),
            buried: false,
        };
        it.version = match it.expect("ready") {
            Ok(version) => version,
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(_) => bail!(
                "{} is no Python interpreter that `bench` can use: it takes CPython 3.8 or newer",
                python.to_string_lossy()
            ),
        };
        let (setup, text) = (&statement.setup, &statement.text);
        let clock = u8::from(statement.cpu_clock);
        it.send(&format!("{what} {clock} {} {}\n", setup.len(), text.len()))?;
        it.send(setup)?;
        it.send(text)?;
        Ok(it)
    }

    /// Runs so many loops, and tells how many seconds they took.
    pub fn run(&mut self, loops: u64) -> Result<f64> {
        self.interrupt.now_runs(self.pid);
        self.send(&format!("loops {loops}\n"))?;
        let text = self.expect("time")?;
        text.parse()
            .with_context(|| format!("the interpreter says that it took `{text}` seconds"))
    }

    fn send(&mut self, text: &str) -> Result<()> {
        let Some(channel) = &mut self.channel else {
            bail!("the interpreter has ended");
        };
        match channel.get_mut().write_all(text.as_bytes()) {
            Ok(()) => Ok(()),
            // It has gone, and left a last word or none.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error).context("cannot talk to the interpreter"),
        }
    }

    /// What it says next, if that is a `word`.
    fn expect(&mut self, word: &str) -> Result<String> {
        let said = self.hear();
        self.interrupt.check()?;
        match said? {
            Some((said, text)) if said == word => Ok(text),
            Some((said, traceback)) if said == "error" => Err(Raised { traceback }.into()),
            Some((said, _)) => Err(anyhow!(
                "the interpreter said `{said}` in place of `{word}`"
            )),
            None => Err(anyhow!(self.last_words())),
        }
    }

    fn hear(&mut self) -> Result<Option<(String, String)>> {
        let Some(channel) = &mut self.channel else {
            return Ok(None);
        };
        let mut line = String::new();
        match channel.read_line(&mut line) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            read => read.context("cannot hear the interpreter")?,
        };
        let said = line.trim_end().split_once(' ');
        let said = said.and_then(|(word, size)| Some((word, size.parse::<usize>().ok()?)));
        let Some((word, size)) = said.filter(|(_, size)| *size < LONGEST) else {
            bail!("the interpreter said something that is not understood");
        };
        let mut text = vec![0; size];
        match channel.read_exact(&mut text) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            read => read.context("cannot hear the interpreter")?,
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        Ok(Some((word.to_owned(), text)))
    }

    /// How it has ended, without having been asked to.
    fn last_words(&mut self) -> String {
        self.channel = None;
        self.buried = true;
        match wait_for(self.pid) {
            Ok((Ended::Exited(code), _)) => {
                format!("the interpreter ended with exit code {code} while the statement ran")
            }
            Ok((Ended::Killed(signal), _)) => {
                format!("the interpreter was killed by signal {signal} while the statement ran")
            }
            Err(_) => "the interpreter has gone".into(),
        }
    }

    /// Lets it end.
    pub fn end(mut self) {
        self.bury();
    }

    fn bury(&mut self) {
        if !self.buried {
            self.buried = true;
            // It ends when nobody is there to ask it.
            self.channel = None;
            self.interrupt.now_runs(self.pid);
            let _ = wait_or_kill(self.pid, PATIENCE);
        }
        self.interrupt.has_ended(self.pid);
    }
}

impl Drop for Interpreter<'_> {
    fn drop(&mut self) {
        self.bury();
    }
}

fn no_interpreter(python: &OsStr, error: io::Error) -> anyhow::Error {
    let python = python.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!("there is no interpreter {python}"),
        _ => anyhow::Error::new(error).context(format!("cannot start {python}")),
    }
}
