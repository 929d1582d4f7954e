//! The terminal: given to the page, and given back as it was, whatever ends us. By ourselves when we
//! leave, stop or panic; by the guardian when we are killed.

use std::io::{self, BufWriter, Stdout, Write};
use std::mem::MaybeUninit;
use std::sync::atomic::Ordering;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::guardian::{Guardian, Memory};

/// Another screen, without a cursor.
const ENTER: &[u8] = b"\x1b[?1049h\x1b[?25l";
/// The cursor, plain colours, and the screen that was there before.
pub const LEAVE: &[u8] = b"\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l";

/// The terminal while it is ours.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    memory: &'static Memory,
}

impl Screen {
    /// Takes the terminal. The guardian has to be there before.
    pub fn enter(guardian: &Guardian) -> io::Result<Self> {
        let memory = guardian.memory();
        // A frame goes out in one write, however long.
        let out = BufWriter::with_capacity(1 << 16, io::stdout());
        let terminal = Terminal::new(CrosstermBackend::new(out))?;
        let mut screen = Self { terminal, memory };
        screen.take()?;
        give_back_on_panic(memory);
        Ok(screen)
    }

    /// Draws a page; only what has changed is written.
    pub fn draw(&mut self, page: impl FnOnce(&mut Buffer, Rect)) -> io::Result<()> {
        // Who panics in another thread has given the terminal back already.
        if !self.memory.is_ours.load(Ordering::Acquire) {
            return Ok(());
        }
        // Terminals that know this show a frame only when it is whole.
        self.terminal.backend_mut().write_all(b"\x1b[?2026h")?;
        self.terminal.draw(|frame| {
            let area = frame.area();
            page(frame.buffer_mut(), area);
        })?;
        let backend = self.terminal.backend_mut();
        backend.write_all(b"\x1b[?2026l")?;
        io::Write::flush(backend)
    }

    /// Forgets what is on the screen: it may be something else.
    pub fn clear(&mut self) -> io::Result<()> {
        // The library's own `clear` asks the terminal where its cursor is, and reads keys as the answer.
        let area = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, area)))
    }

    /// Gives the terminal back, and takes it again when we are told to go on. The signal stops the
    /// whole process group, as Ctrl-Z does on a terminal that is nobody's.
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

    /// After somebody stopped us without asking: a shell has had the terminal meanwhile.
    pub fn go_on(&mut self) -> io::Result<()> {
        self.take()?;
        self.clear()
    }

    fn take(&mut self) -> io::Result<()> {
        let now = modes()?;
        // Told to go on twice, we must not take our own modes for those of others.
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
        // What the library would write at its own end must not come after.
        let _ = self.terminal.show_cursor();
    }
}

/// Gives the terminal back, if it is ours.
fn give_back(memory: &Memory) {
    // AcqRel: the modes that were kept before are read after.
    if !memory.is_ours.swap(false, Ordering::AcqRel) {
        return;
    }
    // Where the terminal is gone there is nothing to give back.
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

/// The modes of the terminal on standard input.
pub fn modes() -> io::Result<libc::termios> {
    let mut modes = MaybeUninit::uninit();
    // SAFETY: the structure is a place of ours, which is filled in where the call succeeds.
    unsafe {
        if libc::tcgetattr(0, modes.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(modes.assume_init())
    }
}

/// Whether a terminal does the same in both modes.
pub fn are_same(a: &libc::termios, b: &libc::termios) -> bool {
    let of = |modes: &libc::termios| (modes.c_iflag, modes.c_oflag, modes.c_lflag);
    of(a) == of(b)
}

fn set_modes(modes: &libc::termios) -> io::Result<()> {
    // SAFETY: a structure of ours. What was typed stays to be read by whoever is next.
    match unsafe { libc::tcsetattr(0, libc::TCSANOW, modes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Every key is read as it is pressed, and not shown.
pub fn raw_of(modes: libc::termios) -> libc::termios {
    let mut raw = modes;
    // SAFETY: changes a structure of ours.
    unsafe { libc::cfmakeraw(&mut raw) };
    raw
}
