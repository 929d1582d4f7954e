//! Sections of a program's files, and the files that compilers leave beside them.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use profundo_unwind::{compile_eh_frame, parse_eh_frame_hdr};

pub use profundo_symbols::fuzzing::{gcc_notes, llvm_map};

/// An unwind section and its head, at an address that the first bytes give.
pub fn eh_frame(bytes: &[u8]) {
    let Some((place, section)) = bytes.split_first_chunk() else {
        return;
    };
    let address = u64::from_le_bytes(*place);
    let _ = parse_eh_frame_hdr(section, address);
    let base = address & !0xFF_FFFF;
    let code = base..base.saturating_add(1 << 24);
    if let Ok(table) = compile_eh_frame(section, address, None, base, code) {
        assert!(table.rows().len() <= section.len() * 2);
        assert!(table.rows().is_sorted_by(|a, b| a.pc() < b.pc()));
        for row in table.rows() {
            let _ = table.as_ref().find(base + u64::from(row.pc()));
        }
    }
}

/// A program's file, with the names and addresses of its functions.
pub fn elf_symbols(bytes: &[u8]) {
    thread_local! {
        static IMAGE: RefCell<Option<File>> = const { RefCell::new(None) };
    }
    // The reader takes a path, because it maps the file.
    IMAGE.with_borrow_mut(|image| {
        let file = match image {
            Some(file) => file,
            None => image.insert(unnamed().expect("a file to read from")),
        };
        let written = file.rewind().and_then(|()| file.set_len(0));
        written
            .and_then(|()| file.write_all(bytes))
            .expect("a file in memory can be written");
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        if let Ok(functions) = profundo_symbols::functions_of(&path) {
            // Each has an entry in a table of symbols.
            assert!(functions.len() <= bytes.len() / 16 + 1);
        }
    });
}

/// A file without a name.
fn unnamed() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!("profundo-fuzzing-{}", std::process::id()));
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}
