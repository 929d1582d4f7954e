//! The terminal: taken for the page, and restored whatever ends us: by this process when it leaves,
//! stops or panics; by the guardian when it is killed.

use std::io::{self, BufWriter, Stdout, Write};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::guardian::{Guardian, Memory};
use super::terminal_modes::{LEAVE, are_same, modes, raw_of, set_modes};

/// The alternate screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";

/// The terminal while it is ours.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    memory: &'static Memory,
}

impl Screen {
    /// Takes the terminal. The guardian must have been started before.
    pub fn enter(guardian: &Guardian) -> io::Result<Self> {
        let memory = guardian.memory();
        // A frame is written in one call, however long.
        let out = BufWriter::with_capacity(1 << 16, io::stdout());
        let terminal = Terminal::new(CrosstermBackend::new(out))?;
        let mut screen = Self { terminal, memory };
        screen.take()?;
        give_back_on_panic(memory);
        Ok(screen)
    }

    /// Draws a page; only changes are written.
    pub fn draw(&mut self, page: impl FnOnce(&mut Buffer, Rect)) -> io::Result<()> {
        // A panic in another thread has restored the terminal already.
        if !self.memory.is_ours.load(Ordering::Acquire) {
            return Ok(());
        }
        // Terminals that support this show a frame only when it is complete.
        self.terminal.backend_mut().write_all(b"\x1b[?2026h")?;
        self.terminal.draw(|frame| {
            let area = frame.area();
            page(frame.buffer_mut(), area);
        })?;
        let backend = self.terminal.backend_mut();
        backend.write_all(b"\x1b[?2026l")?;
        io::Write::flush(backend)
    }

    /// Forgets the content of the screen, which may have changed.
    pub fn clear(&mut self) -> io::Result<()> {
        // The library's own `clear` asks the terminal for its cursor, and takes keys for the
        // answer.
        let area = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, area)))
    }

    /// Restores the terminal, stops, and takes it again when continued. The signal stops the whole
    /// process group, as Ctrl-Z does in cooked mode.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back(self.memory);
        let mut set = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: sets of this function's, initialised before they are used; a signal to our group.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGTSTP);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), before.as_mut_ptr());
            libc::kill(0, libc::SIGTSTP);
            libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), std::ptr::null_mut());
        }
        self.go_on()
    }

    /// Takes the terminal again after an external stop: a shell has used it meanwhile.
    pub fn go_on(&mut self) -> io::Result<()> {
        self.take()?;
        self.clear()
    }

    fn take(&mut self) -> io::Result<()> {
        let now = modes()?;
        // On a second SIGCONT, our own modes must not be taken for those of others.
        let ours = self.memory.is_ours.load(Ordering::Acquire);
        if !(ours && are_same(&now, &raw_of(self.memory.modes()))) {
            self.memory.keep(now);
        }
        set_modes(&raw_of(self.memory.modes()))?;
        let mut out = io::stdout();
        out.write_all(ENTER)?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(self.memory);
        // The library's own last output must not come after this.
        let _ = self.terminal.show_cursor();
    }
}

/// Restores the terminal, if it is ours.
fn give_back(memory: &Memory) {
    // AcqRel: the modes that were stored before are read after.
    if !memory.is_ours.swap(false, Ordering::AcqRel) {
        return;
    }
    // If the terminal is gone, there is nothing to restore.
    let mut out = io::stdout();
    let _ = out.write_all(LEAVE).and_then(|()| out.flush());
    let _ = set_modes(&memory.modes());
}

fn give_back_on_panic(memory: &'static Memory) {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |what| {
            give_back(memory);
            before(what);
        }));
    });
}
