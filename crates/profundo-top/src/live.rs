//! The page while it is shown: handles keys, signals and new numbers, whichever comes first.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use profundo_launch::Received;

use super::guardian::Guardian;
use super::keys::Keys;
use super::page::{self, Surroundings};
use super::picture::Picture;
use super::program_output::ProgramOutput;
use super::state::{Act, State};
use super::terminal::Screen;
use super::{Left, Running};
use crate::options::Top;

/// The bytes of a key arrive within this time.
const KEY: Duration = Duration::from_millis(30);

/// The signals of repeated interrupts, up to one that ends the program.
const INTERRUPTS: [(i32, &str); 3] = [
    (libc::SIGINT, "interrupted; Ctrl-C again: SIGTERM"),
    (libc::SIGTERM, "sent SIGTERM; Ctrl-C again: SIGKILL"),
    (libc::SIGKILL, "killed"),
];

struct Page<'a> {
    running: &'a Running,
    screen: Screen,
    state: State,
    picture: Option<Picture>,
    keys: Keys,
    message: Option<&'static str>,
    interrupts: usize,
    colors: bool,
}

/// Shows the page until it is left.
pub fn show(running: &Running, options: &Top, guardian: &Guardian) -> Result<Left> {
    let screen = Screen::enter(guardian).context("cannot take the terminal")?;
    let mut page = Page {
        running,
        screen,
        state: super::state(options),
        picture: None,
        keys: Keys::default(),
        message: None,
        interrupts: 0,
        colors: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()),
    };
    page.run(options.duration)
        .context("cannot draw on the terminal")
}

impl Page<'_> {
    fn run(&mut self, duration: Option<Duration>) -> io::Result<Left> {
        let stdin = io::stdin();
        let stdin = std::os::fd::AsFd::as_fd(&stdin).try_clone_to_owned()?;
        let running = self.running;
        let until = duration.map(|duration| Instant::now() + duration);
        let mut is_stale = true;
        loop {
            if is_stale {
                self.draw()?;
            }
            is_stale = false;
            let key = self.keys.is_waiting().then_some(KEY);
            let end = until.map(|until| until.saturating_duration_since(Instant::now()));
            let ready = wait(
                &[
                    &stdin,
                    running.signals.descriptor(),
                    running.bell.descriptor(),
                ],
                key.into_iter().chain(end).min(),
            );
            if until.is_some_and(|until| Instant::now() >= until) {
                return Ok(Left::Quit);
            }
            if ready[0] {
                let mut bytes = [0; 1024];
                // SAFETY: as many bytes are written as there is room for.
                let count = unsafe {
                    libc::read(stdin.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len())
                };
                match usize::try_from(count) {
                    Ok(1..) => self.keys.add(&bytes[..count as usize]),
                    _ if is_interrupted() => {}
                    // The terminal is gone.
                    _ => return Ok(Left::Signal(libc::SIGHUP)),
                }
            }
            while let Some(key) = self.keys.next(!ready[0]) {
                is_stale = true;
                let act = self.state.press(key, self.picture.as_ref());
                if let Some(left) = self.act(act)? {
                    return Ok(left);
                }
            }
            while let Some(got) = running.signals.next() {
                is_stale |= got != Received::Child;
                if let Some(signal) = running.handle(got) {
                    return Ok(Left::Signal(signal));
                }
                self.handle_stops(got)?;
            }
            if ready[2] {
                running.bell.heard();
                if let Some(picture) = running.board.take() {
                    is_stale = true;
                    self.picture = Some(picture);
                }
                if running.is_broken() {
                    return Ok(Left::Quit);
                }
            }
        }
    }

    fn draw(&mut self) -> io::Result<()> {
        let around = Surroundings {
            colors: self.colors,
            output: self.running.output.as_ref().map(ProgramOutput::path),
            message: self.message,
            is_printed: false,
        };
        let (state, picture) = (&mut self.state, self.picture.as_ref());
        self.screen
            .draw(|buffer, area| page::draw(buffer, area, state, picture, around))
    }

    fn act(&mut self, act: Act) -> io::Result<Option<Left>> {
        match act {
            Act::Draw => {}
            Act::Ask => self.running.ask(self.state.question()),
            Act::Redraw => self.screen.clear()?,
            Act::Suspend => self.screen.suspend()?,
            Act::Quit => return Ok(Some(Left::Quit)),
            Act::Interrupt => {
                if !self.running.is_ours || self.running.wish.is_over() {
                    return Ok(Some(Left::Quit));
                }
                let at = self.interrupts.min(INTERRUPTS.len() - 1);
                let (signal, message) = INTERRUPTS[at];
                self.interrupts += 1;
                self.message = Some(message);
                self.interrupt(signal);
            }
        }
        Ok(None)
    }

    /// The first signal goes to all processes that the terminal would send it to; we block it for
    /// ourselves.
    fn interrupt(&self, signal: i32) {
        let whom = match signal {
            libc::SIGINT => 0,
            _ => self.running.pid as i32,
        };
        // SAFETY: a signal, to our process group or to a child that has not been waited for: the
        // recorder reaps it last of all, and then sets `OVER`.
        unsafe { libc::kill(whom, signal) };
    }

    /// Handles the signals that stop and continue us.
    fn handle_stops(&mut self, got: Received) -> io::Result<()> {
        match got {
            Received::ForUs { signal, .. } | Received::FromTerminal { signal } => match signal {
                libc::SIGTSTP => self.screen.suspend(),
                libc::SIGCONT => self.screen.go_on(),
                _ => Ok(()),
            },
            Received::Child => Ok(()),
        }
    }
}

/// True if the call was only interrupted and has to be repeated.
fn is_interrupted() -> bool {
    matches!(
        io::Error::last_os_error().kind(),
        io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
    )
}

/// Waits until one of these is readable; returns which are.
pub fn wait(descriptors: &[&OwnedFd], most: Option<Duration>) -> Vec<bool> {
    let mut polls: Vec<libc::pollfd> = descriptors
        .iter()
        .map(|descriptor| libc::pollfd {
            fd: descriptor.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let most = most.map_or(-1, |most| {
        i32::try_from(most.as_millis()).map_or(i32::MAX, |most| most.saturating_add(1))
    });
    // SAFETY: the entries are valid and as many as their number says.
    unsafe { libc::poll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, most) };
    polls.iter().map(|poll| poll.revents != 0).collect()
}
