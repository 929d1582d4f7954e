//! The reasons why a program cannot be entered, one sentence for each.

use std::borrow::Cow;
use std::fmt;
use std::io;

use profundo_cpython::version;
use profundo_permits::Gap;
use profundo_probe::shared::refusal;

/// The reason why nothing was done in a program.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refused {
    /// The machine does not permit it.
    Machine(Gap),
    /// The kernel watches where its functions return to.
    Guarded,
    /// The machine's pages have this many bytes.
    Pages(usize),
    /// It has no Python interpreter.
    NoPython,
    /// Its allocations are not counted.
    Uncounted,
    /// Its allocations are not counted although it is recorded: it has no agent.
    Agentless,
    /// It cannot load a library: it is linked statically, or with another C library.
    Static,
    /// It runs with this sanitizer, whose reports name what is loaded.
    Sanitized(&'static str),
    /// It is in another container than the process that is named first.
    Elsewhere,
    /// It is in another PID namespace, and has no `/proc` of that.
    NoProc,
    /// Its system calls are restricted by a filter of its own.
    Filtered,
    /// None of its threads was at a safe point within the time.
    NeverSafe,
    /// The library could not be loaded into it.
    NotLoaded(String),
    /// The agent could not enter the session: an error number of the system.
    NotEntered(i32),
    /// The interpreter did not call us in time.
    Busy,
    /// The interpreter refused.
    Interpreter(i32),
    /// A call that was made in it did not return.
    Hangs,
    /// A system call in it failed.
    System(io::Error),
    /// There is not enough memory for a copy.
    Headroom {
        /// Bytes that the copy may need.
        wanted: u64,
        /// Bytes that are available.
        there: u64,
    },
    /// We were asked to end early.
    Interrupted,
    /// We have no memory ourselves.
    NoMemory,
    /// It is stopped, as by Ctrl-Z.
    Stopped,
    /// The program has ended meanwhile.
    Gone,
    /// It has executed another program meanwhile.
    Another,
    /// The copy ended before it was read.
    CopyGone,
    /// The copy was killed by a signal.
    CopyDied(i32),
    /// The copy makes no progress.
    CopyHangs,
    /// The output of the copy is malformed.
    CopyDamaged,
    /// The copy ran out of memory, or found an object that it cannot walk.
    CopyFailed(i32),
}

impl Refused {
    /// The refusal with its mend for another verb of the command than `attach`.
    #[must_use]
    pub fn of_verb(self, verb: &str) -> Self {
        match self {
            Self::Machine(gap) => Self::Machine(gap.of_verb(verb)),
            other => other,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(gap) => write!(f, "{gap}"),
            Self::Guarded => f.write_str(
                "the kernel watches where its functions return to (GCS), and would end it for a call that is made in it",
            ),
            Self::Pages(bytes) => write!(
                f,
                "a program that runs already is entered on pages of 4 KB only, and this machine has pages of {} KB",
                bytes >> 10
            ),
            Self::NoPython => f.write_str(&why_not(refusal::NO_INTERPRETER)),
            Self::Uncounted => f.write_str(
                "its blocks are not known: start it with `profundo record --memory=exact -- CMD`",
            ),
            Self::Agentless => f.write_str(
                "its blocks are not known although it is being recorded: nothing could be loaded into it, as where a \
                 program is linked statically, or with another C library than this profundo",
            ),
            Self::Static => f.write_str(
                "nothing can be loaded into it: it is linked statically, or with another C library than this profundo",
            ),
            Self::Sanitized(name) => write!(
                f,
                "it runs with a sanitizer ({name}), whose reports would differ with something loaded into it"
            ),
            Self::Elsewhere => f.write_str(
                "it is in another container than the process that is named first; record it by a command of its own",
            ),
            Self::NoProc => f.write_str(
                "it is in another PID namespace (a container), where /proc is missing or is that of another namespace",
            ),
            Self::Filtered => f.write_str(
                "it restricts its own system calls (seccomp), and might be ended for one that is made in its name; \
                 --filtered tries it all the same",
            ),
            Self::NeverSafe => f.write_str(
                "none of its threads came to a place where it could be interrupted without harm; try once more",
            ),
            Self::NotLoaded(why) => write!(f, "it cannot load what is needed: {why}"),
            Self::NotEntered(why) => f.write_str(&why_not_entered(*why)),
            Self::Busy => f.write_str(
                "the interpreter let nobody in in time: one of its threads keeps the lock (GIL), as an extension \
                 does that never gives it back; try once more, or give it longer by --timeout",
            ),
            Self::Interpreter(why) => f.write_str(&why_not(*why)),
            Self::Hangs => f.write_str("a call that was made in it did not return, for one of its locks is held"),
            Self::System(error) => write!(f, "a system call failed in it: {error}"),
            Self::Headroom { wanted, there } => {
                let mb = |bytes: u64| bytes / 1_000_000;
                write!(
                    f,
                    "there is not memory enough for a copy of it, which may need {} MB where {} MB are free",
                    mb(*wanted),
                    mb(*there)
                )
            }
            Self::Interrupted => f.write_str("it was interrupted; the program goes on, and nothing was written"),
            Self::NoMemory => f.write_str("there is no memory to work with"),
            Self::Gone => f.write_str("it has ended meanwhile"),
            Self::Stopped => f.write_str("it is stopped, as by Ctrl-Z; let it go on first (`fg`, or `kill -CONT`)"),
            Self::Another => f.write_str("it runs another program meanwhile (exec)"),
            Self::CopyGone => f.write_str("the copy of it ended before it was read"),
            Self::CopyDied(signal) => {
                write!(f, "the copy of it died of signal {signal} while its objects were gone through")
            }
            Self::CopyHangs => f.write_str("the copy of it has come no further for a quarter of a minute"),
            Self::CopyDamaged => f.write_str("what the copy of it tells makes no sense"),
            Self::CopyFailed(why) if *why > 10_000 => f.write_str(&why_not(-why)),
            Self::CopyFailed(why) => {
                let error = io::Error::from_raw_os_error(*why);
                write!(f, "its objects could not be gone through: {error}")
            }
        }
    }
}

fn why_not_entered(why: i32) -> Cow<'static, str> {
    match why {
        libc::EBUSY => "another profundo records it from inside already".into(),
        libc::EALREADY => "another profundo is entering it just now, or leaving it".into(),
        libc::ENOENT => {
            "it cannot open the recording's memory: it has another root directory or another user"
                .into()
        }
        libc::EXDEV => {
            "it is in another PID namespace (a container) than the process that is recorded".into()
        }
        libc::EAGAIN => "it got no memory to record into in time: the machine is too busy".into(),
        libc::ENOMEM => "it has no memory left, or its memory is limited (ulimit -v)".into(),
        other => {
            let error = io::Error::from_raw_os_error(other);
            format!("nothing of ours could begin in it: {error}").into()
        }
    }
}

/// An error of the system or a [`refusal`] of the interpreter, in words.
pub fn why_of(why: i32) -> String {
    match why {
        ..-10_000 => why_not(why).into_owned(),
        _ => io::Error::from_raw_os_error(why.abs()).to_string(),
    }
}

fn why_not(why: i32) -> Cow<'static, str> {
    let words = match why {
        refusal::NO_INTERPRETER => {
            let known = version::COLLECTOR;
            return format!("it has no Python interpreter that is known (CPython {known})").into();
        }
        refusal::UNKNOWN_LAYOUT => "its interpreter is laid out in a way that is not known",
        refusal::FREE_THREADED => {
            "its interpreter can run without the global lock (a free-threaded build), and lacks a \
             function that this needs there"
        }
        refusal::COLLECTING => "it was collecting garbage each time that it was asked",
        refusal::NOT_RUNNING => "its interpreter has not begun yet, or has ended",
        refusal::FULL => "its interpreter's list of pending calls is full",
        refusal::BUSY => {
            "somebody else is asking it just now, or has logged its collections and was killed: that one is forgotten after a \
             minute"
        }
        refusal::HAS_PROFILER => "it has a profiler already, which is left alone",
        refusal::LITTLE_MEMORY => {
            "its memory is limited (ulimit -v or ulimit -d), and counting maps more than it would do with"
        }
        _ => "its interpreter could not be asked",
    };
    words.into()
}

impl std::error::Error for Refused {}
