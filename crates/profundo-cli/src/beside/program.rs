//! The talk with the program: lines of text on a socket. A line has a word first, and then fields
//! behind tabs.

use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail};
use profundo_session::SessionHandle;

use super::counts::{Asked, Ended, Wanted};
use super::reader::{Reader, unescaped};

/// The descriptor of the socket, which the agent passes on: see `late/within.rs` there.
const SOCKET: i32 = 3;

/// What the program says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// The agent has entered, or an error number of the system says why not.
    Entered(i32),
    /// No samples from now on, and an answer when none are taken, if it is wanted.
    Pause {
        /// Whether it is.
        answer: bool,
    },
    /// Samples again, and an answer when they are taken, if it is wanted.
    Resume {
        /// Whether it is.
        answer: bool,
    },
    /// What was recorded so far is to be forgotten.
    Clear,
    /// A whole recording of all so far is to be in this file.
    Snapshot(PathBuf),
    /// Another command is to be run.
    Run(Reader),
    /// The program is about to count, and wants the flags for it.
    Count(Wanted),
    /// It could not count, and wants the reason in words.
    Why(i32),
    /// It has counted.
    Counted(Ended),
    /// A recording of what was counted is wanted.
    Counts(Asked),
    /// The recording that another recorder makes is to have all until now in its file.
    Write,
    /// The recording is to end.
    End,
    /// The recording is to end, and goes.
    Drop,
    /// The agent has left.
    Left,
}

impl Said {
    fn of(line: &str) -> Option<Self> {
        let (word, rest) = line.split_once('\t').unwrap_or((line, ""));
        Some(match word {
            "entered" => Self::Entered(rest.parse().ok()?),
            "pause" => Self::Pause {
                answer: rest == "answer",
            },
            "resume" => Self::Resume {
                answer: rest == "answer",
            },
            "clear" => Self::Clear,
            "snapshot" => Self::Snapshot(unescaped(rest)?.into()),
            "run" => Self::Run(Reader::of(rest)?),
            "count" => Self::Count(Wanted::of(rest)?),
            "why" => Self::Why(rest.parse().ok()?),
            "counted" => Self::Counted(Ended::of(rest)?),
            "counts" => Self::Counts(Asked::of(rest)?),
            "write" => Self::Write,
            "end" => Self::End,
            "drop" => Self::Drop,
            "left" => Self::Left,
            _ => return None,
        })
    }
}

/// The program at the other end. It has hung up once nothing more comes.
pub struct Program {
    socket: UnixStream,
    said: Receiver<Said>,
    listener: Option<JoinHandle<()>>,
    has_hung_up: bool,
}

impl Program {
    /// Takes the socket that this process has got.
    pub fn take() -> Result<Self> {
        // SAFETY: the descriptor is ours alone, if there is one.
        let socket = unsafe { UnixStream::from_raw_fd(SOCKET) };
        if socket.peer_addr().is_err() {
            // It may be anything: it is not ours to close.
            std::mem::forget(socket);
            bail!(
                "`beside` is for programs that start it with a socket, such as the Python package"
            );
        }
        // A program that the recorder records does not get it.
        set_close_on_exec(&socket);
        let (_, said) = channel();
        Ok(Self {
            socket,
            said,
            listener: None,
            has_hung_up: false,
        })
    }

    /// Begins to listen. After each word, `wake` is called.
    pub fn listen(&mut self, wake: impl Fn() + Send + 'static) -> Result<()> {
        let lines = BufReader::new(self.socket.try_clone()?);
        let (tell, said) = channel();
        self.said = said;
        let listen = move || {
            for line in lines.lines() {
                let said = line.ok().and_then(|line| Said::of(&line));
                if said.is_none_or(|said| tell.send(said).is_err()) {
                    break;
                }
                wake();
            }
            drop(tell);
            wake();
        };
        let builder = std::thread::Builder::new().name("program".to_owned());
        self.listener = Some(builder.spawn(listen).context("cannot start a thread")?);
        Ok(())
    }

    /// Listens no more. What is said to the program still arrives.
    pub fn stop_listening(&mut self) {
        // If it has hung up, the listener has ended.
        let _ = self.socket.shutdown(Shutdown::Read);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }

    /// Asks the program to enter the session.
    pub fn come(&self, directory: &Path, agent: &Path) -> Result<()> {
        let fields = [directory, agent].map(|path| path.as_os_str().as_bytes());
        if fields
            .iter()
            .any(|path| path.iter().any(|byte| b"\t\n".contains(byte)))
        {
            bail!(
                "a path has a tab or a line's end in it: {}",
                agent.display()
            );
        }
        let [directory, agent] = fields;
        self.send(&[b"come\t", directory, b"\t", agent, b"\n"].concat())?;
        Ok(())
    }

    /// Sends a word with a path.
    pub fn tell(&self, word: &str, path: &Path) -> io::Result<()> {
        self.send(&[word.as_bytes(), b"\t", path.as_os_str().as_bytes(), b"\n"].concat())
    }

    /// Sends a word.
    pub fn say(&self, word: &str) -> io::Result<()> {
        self.send(format!("{word}\n").as_bytes())
    }

    /// Sends the reason why nothing is recorded, in one line.
    pub fn refuse(&self, why: &str) {
        // A program that has ended does not want to know.
        let _ = self.say(&format!("refused\t{}", why.replace(['\n', '\t'], " ")));
    }

    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.socket).write_all(bytes)
    }

    /// Runs another command, and says how it has ended. The recorder goes on meanwhile. `session`
    /// is that of another recorder, to which the command is announced.
    pub fn run(&self, reader: Reader, session: Option<&Arc<SessionHandle>>) {
        let session = session.cloned();
        let begun = self.socket.try_clone().and_then(|mut socket| {
            let run = move || {
                let said = match reader.run(session.as_ref()) {
                    Ok(code) => format!("ran\t{code}\n"),
                    Err(error) => format!("refused\tcannot run a command: {error}\n"),
                };
                // The program may have ended meanwhile.
                let _ = socket.write_all(said.as_bytes());
            };
            std::thread::Builder::new().spawn(run)
        });
        if let Err(error) = begun {
            self.refuse(&format!("cannot run a command: {error}"));
        }
    }

    /// What the program has said, if anything is new.
    pub fn next(&mut self) -> Option<Said> {
        match self.said.try_recv() {
            Ok(said) => Some(said),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                self.has_hung_up = true;
                None
            }
        }
    }

    /// What the program says next, if it says anything more.
    pub fn wait(&mut self) -> Option<Said> {
        self.said.recv().ok()
    }

    /// True if the program has closed its end.
    pub fn has_hung_up(&self) -> bool {
        self.has_hung_up
    }
}

fn set_close_on_exec(socket: &UnixStream) {
    // SAFETY: changes a flag of our own descriptor.
    unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) };
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn words_and_their_numbers() {
        assert_eq!(Said::of("entered\t-11"), Some(Said::Entered(-11)));
        assert_eq!(Said::of("clear"), Some(Said::Clear));
        assert_eq!(Said::of("entered"), None);
        assert_eq!(Said::of("else\t1"), None);
    }
}
