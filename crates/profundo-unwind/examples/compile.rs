//! Compiles the tables of ELF files and prints how long each took: `cargo run --release -p
//! profundo-unwind --example compile -- /usr/lib/x86_64-linux-gnu/libc.so.6`

use std::io::{Write, stdout};
use std::time::Instant;

use object::{Object, ObjectSection, ObjectSegment};
use profundo_unwind::{Cfa, Row, compile_eh_frame};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let bytes = std::fs::read(&path)?;
        let object = object::File::parse(&*bytes)?;
        let section = object.section_by_name(".eh_frame").ok_or("no .eh_frame")?;
        let eh_frame = section.uncompressed_data()?;
        let executable = |segment: &object::Segment<'_, '_>| match segment.flags() {
            object::SegmentFlags::Elf { p_flags, .. } => p_flags.0 & 1 != 0,
            _ => false,
        };
        let segments = || object.segments().filter(executable);
        let start = segments().map(|segment| segment.address()).min();
        let end = segments()
            .map(|segment| segment.address() + segment.size())
            .max();
        let text = start.ok_or("no code")?..end.ok_or("no code")?;
        let address = section.address();
        let compile = || compile_eh_frame(&eh_frame, address, None, text.start, text.clone());
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let start = Instant::now();
            compile()?;
            best = best.min(start.elapsed().as_secs_f64());
        }
        let table = compile()?;
        let rows = table.rows();
        let of_register = |row: &&Row| matches!(row.rule().cfa, Cfa::Register { .. });
        writeln!(
            stdout(),
            "{path}\n  {} KiB -> {} rows ({} KiB) + index {} KiB in {:.1} ms, {:.0} ns a row; \
             skipped {}, unsupported {}, in other registers {}",
            eh_frame.len() >> 10,
            rows.len(),
            (rows.len() * Row::BYTES) >> 10,
            (table.index().len() * 4) >> 10,
            best * 1e3,
            best * 1e9 / rows.len() as f64,
            table.skipped(),
            table.unsupported(),
            rows.iter().filter(of_register).count(),
        )?;
    }
    Ok(())
}
