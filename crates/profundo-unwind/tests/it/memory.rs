//! Tables from sections as they lie in this process are those from the files.

use std::ffi::{c_int, c_void};

use profundo_unwind::{TableRef, compile_eh_frame, parse_eh_frame_hdr};

use crate::process::Process;

/// The loader's data about a module.
struct Loaded {
    /// Start of `.eh_frame_hdr`, and end of its segment.
    header: (u64, u64),
    code: std::ops::Range<u64>,
}

extern "C" fn note(info: *mut libc::dl_phdr_info, _: usize, loaded: *mut c_void) -> c_int {
    // SAFETY: the loader passes a structure that holds during the call, and our pointer.
    let (info, loaded) = unsafe { (&*info, &mut *loaded.cast::<Vec<Loaded>>()) };
    // SAFETY: the headers are as many as said.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    let range = |header: &libc::Elf64_Phdr| {
        let start = info.dlpi_addr + header.p_vaddr;
        start..start + header.p_memsz
    };
    let load = |header: &&libc::Elf64_Phdr| header.p_type == libc::PT_LOAD;
    let header = headers
        .iter()
        .find(|header| header.p_type == libc::PT_GNU_EH_FRAME);
    let code = headers
        .iter()
        .filter(load)
        .find(|header| header.p_flags & libc::PF_X != 0);
    if let (Some(header), Some(code)) = (header.map(range), code.map(range)) {
        let mut segments = headers.iter().filter(load).map(range);
        let segment = segments.find(|segment| segment.contains(&header.start));
        if let Some(segment) = segment {
            loaded.push(Loaded {
                header: (header.start, segment.end),
                code,
            });
        }
    }
    0
}

fn bytes(start: u64, end: u64) -> &'static [u8] {
    // SAFETY: the range lies in a segment that is mapped as long as the program runs.
    unsafe { std::slice::from_raw_parts(start as *const u8, (end - start) as usize) }
}

#[test]
fn tables_from_memory_are_those_from_files() {
    let mut loaded: Vec<Loaded> = Vec::new();
    // SAFETY: the callback takes what is passed here.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut loaded).cast()) };
    let process = Process::this();
    let modules = process.modules();
    let mut compared = 0;
    for Loaded { header, code } in loaded {
        let address = parse_eh_frame_hdr(bytes(header.0, header.1), header.0).unwrap();
        let eh_frame = bytes(address, header.1);
        let Some(module) = modules.iter().find(|module| module.contains(code.start)) else {
            continue;
        };
        let code = module.start..module.end;
        let table = compile_eh_frame(eh_frame, address, None, module.start, code).unwrap();
        let TableRef { base, rows, index } = module.table;
        assert_eq!(
            (table.base(), table.rows(), table.index()),
            (base, rows, index)
        );
        compared += rows.len();
    }
    assert!(compared > 10_000, "{compared}");
}
