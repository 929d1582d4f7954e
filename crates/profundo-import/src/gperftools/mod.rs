//! gperftools' own formats from before `profile.proto`: the binary profile of CPU time, and texts
//! of the heap, of its growth, of waits for locks, and of the stacks of all threads. Go's programs
//! write such texts, too (`debug=1`), with names.
//!
//! All have addresses, which stand beside the list of mapped files; `pprof --raw` puts names before
//! them.

mod cpu;
mod symbols;
mod text;

use crate::code::native_stacks::NativeStacks;
use crate::reader::{Reader, Table};
use crate::{Builder, Error, Source, jemalloc};

pub(crate) const READER: Reader = Reader(&Table {
    name: "gperftools",
    writers: "gperftools' profilers of CPU time and memory, Go with debug=1",
    is_start: |start| symbols::is_start(start) || is_bare_start(start),
    fill,
});

fn is_bare_start(start: &[u8]) -> bool {
    cpu::is_start(start) || text::is_start(start)
}

fn fill(source: &Source<'_>, builder: &mut Builder) -> Result<(), Error> {
    let mut stacks = NativeStacks::default();
    let body = symbols::read(source.bytes, &mut stacks.names);
    if cpu::is_start(body) {
        cpu::read(body, stacks, builder);
    } else if jemalloc::is_start(body) {
        jemalloc::read(body, stacks, builder);
    } else if text::is_start(body) {
        text::read(body, stacks, builder);
    } else {
        return Err(Error::Malformed {
            format: READER.name(),
            what: "there are names, and no profile behind them".to_owned(),
        });
    }
    Ok(())
}
