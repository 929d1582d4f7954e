//! The modes of the terminal, and the text that leaves the page. The guardian needs both when we
//! are killed.

use std::io;
use std::mem::MaybeUninit;

/// Shows the cursor, plain colours and the original screen.
pub const LEAVE: &[u8] = b"\x1b[?2026l\x1b[0m\x1b[?25h\x1b[?1049l";

/// The modes of the terminal on standard input.
pub fn modes() -> io::Result<libc::termios> {
    let mut modes = MaybeUninit::uninit();
    // SAFETY: the structure is a place of ours, which is filled in if the call succeeds.
    unsafe {
        if libc::tcgetattr(0, modes.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(modes.assume_init())
    }
}

/// True if a terminal behaves the same in both modes.
pub fn are_same(a: &libc::termios, b: &libc::termios) -> bool {
    let of = |modes: &libc::termios| (modes.c_iflag, modes.c_oflag, modes.c_lflag);
    of(a) == of(b)
}

/// Sets the modes of the terminal on standard input.
pub fn set_modes(modes: &libc::termios) -> io::Result<()> {
    // SAFETY: a structure of ours. Typed text stays for the next reader.
    match unsafe { libc::tcsetattr(0, libc::TCSANOW, modes) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Raw mode: every key is read as it is pressed, and not echoed.
pub fn raw_of(modes: libc::termios) -> libc::termios {
    let mut raw = modes;
    // SAFETY: changes a structure of ours.
    unsafe { libc::cfmakeraw(&mut raw) };
    raw
}
