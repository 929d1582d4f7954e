//! An interpreter that runs a statement in a loop on request.
//!
//! It runs a small program of ours (`harness.py`), with which we communicate over a socket. That
//! socket is its standard input until the program has moved it away; its standard output is not
//! ours.

use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use profundo_launch::{Ended, Interrupt, Interrupted, wait_for, wait_or_kill};

/// The program that the interpreter runs.
const HARNESS: &str = include_str!("harness.py");

/// A bound on messages: a repr, or a traceback.
const LONGEST: usize = 1 << 30;

/// The timeout for its end: a thread that the statement has left may never end.
const PATIENCE: Duration = Duration::from_secs(5);

/// A statement to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The interpreter.
    pub python: OsString,
    /// The setup before each run.
    pub setup: String,
    /// The timed text.
    pub text: String,
    /// True if the CPU clock of the process is used.
    pub cpu_clock: bool,
}

/// The statement raised an exception, or does not compile.
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

/// An interpreter that waits for requests.
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
    /// Starts an interpreter that has compiled the statement and prints to these streams.
    pub fn start(
        statement: &Statement,
        output: Stdio,
        errors: Stdio,
        interrupt: &'a Interrupt,
    ) -> Result<Self> {
        let mut interpreter = Self::begin(statement, "run", output, errors, interrupt, None)?;
        interpreter.expect("compiled")?;
        Ok(interpreter)
    }

    /// Evaluates the statement's last expression. Printed text goes to `output`.
    pub fn check(statement: &Statement, output: Stdio, interrupt: &'a Interrupt) -> Result<String> {
        // With a fixed hash seed, sets of texts have the same order each time.
        let seed = Some(("PYTHONHASHSEED", "0"));
        let mut interpreter = Self::begin(
            statement,
            "check",
            output,
            Stdio::inherit(),
            interrupt,
            seed,
        )?;
        let value = interpreter.expect("value")?;
        interpreter.end();
        Ok(value)
    }

    fn begin(
        statement: &Statement,
        what: &str,
        output: Stdio,
        errors: Stdio,
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
        // Closes the other copies: otherwise the end of the interpreter would not be noticed.
        drop(command);
        let mut interpreter = Self {
            pid: child,
            channel: Some(BufReader::new(ours)),
            interrupt,
            version: String::new(),
            buried: false,
        };
        interpreter.version = match interpreter.expect("ready") {
            Ok(version) => version,
            Err(error) if error.is::<Interrupted>() => return Err(error),
            Err(_) => bail!(
                "{} is no Python interpreter that `bench` can use: it takes CPython 3.8 or newer",
                python.to_string_lossy()
            ),
        };
        let (setup, text) = (&statement.setup, &statement.text);
        let clock = u8::from(statement.cpu_clock);
        interpreter.send(&format!("{what} {clock} {} {}\n", setup.len(), text.len()))?;
        interpreter.send(setup)?;
        interpreter.send(text)?;
        Ok(interpreter)
    }

    /// Runs this many loops, and returns the seconds that they took.
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
            // The interpreter has ended, perhaps with a last message.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(error) => Err(error).context("cannot talk to the interpreter"),
        }
    }

    /// The next message, if it is a `word`.
    fn expect(&mut self, word: &str) -> Result<String> {
        let message = self.receive();
        self.interrupt.check()?;
        match message? {
            Some((received, text)) if received == word => Ok(text),
            Some((received, traceback)) if received == "error" => Err(Raised { traceback }.into()),
            Some((received, _)) => Err(anyhow!(
                "the interpreter said `{received}` in place of `{word}`"
            )),
            None => Err(anyhow!(self.last_words())),
        }
    }

    fn receive(&mut self) -> Result<Option<(String, String)>> {
        let Some(channel) = &mut self.channel else {
            return Ok(None);
        };
        let mut line = String::new();
        match channel.read_line(&mut line) {
            Ok(0) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            read => read.context("cannot hear the interpreter")?,
        };
        let head = line.trim_end().split_once(' ');
        let head = head.and_then(|(word, size)| Some((word, size.parse::<usize>().ok()?)));
        let Some((word, size)) = head.filter(|(_, size)| *size < LONGEST) else {
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

    /// The end of an interpreter that was not asked to end.
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

    /// Ends the interpreter.
    pub fn end(mut self) {
        self.reap();
    }

    fn reap(&mut self) {
        if !self.buried {
            self.buried = true;
            // It ends when the socket is closed.
            self.channel = None;
            self.interrupt.now_runs(self.pid);
            let _ = wait_or_kill(self.pid, PATIENCE);
        }
        self.interrupt.has_ended(self.pid);
    }
}

impl Drop for Interpreter<'_> {
    fn drop(&mut self) {
        self.reap();
    }
}

fn no_interpreter(python: &OsStr, error: io::Error) -> anyhow::Error {
    let python = python.to_string_lossy();
    match error.kind() {
        io::ErrorKind::NotFound => anyhow!("there is no interpreter {python}"),
        _ => anyhow::Error::new(error).context(format!("cannot start {python}")),
    }
}
