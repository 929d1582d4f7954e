//! The tables of an unfinished recording. Only a file that was cut has a use for them.

use profundo_model::{CodeObject, Mapping, ModuleId, ProcessId};

use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::Damage;

/// `CODE`: code objects by their numbers.
pub(super) mod codes {
    use super::*;

    const PROCESS: u8 = 1;
    const NUMBER: u8 = 2;
    const MINOR: u8 = 3;
    const FIRST_LINE: u8 = 4;
    const FILE: u8 = 5;
    const NAME: u8 = 6;
    const LENGTH: u8 = 7;
    const LINES: u8 = 8;

    pub(in crate::v1) fn encode(codes: &[CodeObject], first: usize) -> Payload {
        let mut payload = Payload::new(first, codes.len());
        let rows = || codes.iter();
        payload.plain(PROCESS, rows().map(|code| u64::from(code.process.0)));
        payload.delta(NUMBER, rows().map(|code| u64::from(code.number)));
        payload.plain(MINOR, rows().map(|code| u64::from(code.minor)));
        payload.delta(FIRST_LINE, rows().map(|code| code.first_line as u64));
        payload.delta(FILE, rows().map(|code| u64::from(code.file.0)));
        payload.delta(NAME, rows().map(|code| u64::from(code.name.0)));
        payload.plain(LENGTH, rows().map(|code| code.lines.len() as u64));
        payload.column(LINES, |out| {
            rows().for_each(|code| out.extend_from_slice(&code.lines));
        });
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut process, mut number) = (columns.need(PROCESS)?, columns.get(NUMBER));
        let (mut minor, mut first_line) = (columns.get(MINOR), columns.get(FIRST_LINE));
        let (mut file, mut name) = (columns.get(FILE), columns.get(NAME));
        let (mut length, mut lines) = (columns.get(LENGTH), columns.get(LINES));
        for _ in 0..columns.rows {
            let code = CodeObject {
                process: ProcessId::from_index(decoder.process(process.plain()?)?),
                number: u32::try_from(number.delta()?).map_err(|_| Damage::Number)?,
                minor: minor.plain()? as u8,
                first_line: first_line.delta()? as i32,
                file: decoder.file(file.delta()?)?,
                name: decoder.string(name.delta()?)?,
                lines: lines.take(length.plain()?)?.into(),
            };
            decoder.profile.growing.codes.push(code);
        }
        let what = process.finish().and(number.finish()).and(minor.finish());
        let named = first_line.finish().and(file.finish()).and(name.finish());
        what.and(named).and(length.finish()).and(lines.finish())
    }
}

/// `MAPS`: the mappings of modules.
pub(super) mod mappings {
    use super::*;

    const PROCESS: u8 = 1;
    const MODULE: u8 = 2;
    const START: u8 = 3;
    const SIZE: u8 = 4;
    const LOADED: u8 = 5;
    const UNLOADED: u8 = 6;

    pub(in crate::v1) fn encode(mappings: &[Mapping], first: usize) -> Payload {
        let mut payload = Payload::new(first, mappings.len());
        let rows = || mappings.iter();
        payload.plain(PROCESS, rows().map(|row| u64::from(row.process.0)));
        payload.delta(MODULE, rows().map(|row| u64::from(row.module.0)));
        payload.delta(START, rows().map(|row| row.start));
        payload.plain(SIZE, rows().map(|row| row.end.wrapping_sub(row.start)));
        payload.delta(LOADED, rows().map(|row| row.loaded));
        // Mostly the largest number: plus one it is 0.
        let unloaded = rows().map(|row| row.unloaded.wrapping_add(1));
        payload.sparse(UNLOADED, unloaded);
        payload
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut process, mut module) = (columns.need(PROCESS)?, columns.get(MODULE));
        let (mut start, mut size) = (columns.get(START), columns.get(SIZE));
        let (mut loaded, mut unloaded) = (columns.get(LOADED), columns.get(UNLOADED));
        for _ in 0..columns.rows {
            let start = start.delta()?;
            let mapping = Mapping {
                process: ProcessId::from_index(decoder.process(process.plain()?)?),
                module: ModuleId::from_index(decoder.module(module.delta()?)?),
                start,
                end: start.wrapping_add(size.plain()?),
                loaded: loaded.delta()?,
                unloaded: unloaded.plain()?.wrapping_sub(1),
            };
            decoder.profile.growing.mappings.push(mapping);
        }
        let what = process.finish().and(module.finish()).and(start.finish());
        what.and(size.finish())
            .and(loaded.finish())
            .and(unloaded.finish())
    }
}
