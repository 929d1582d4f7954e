//! `SRCF`: the text of a source file that ran. A missing row says nothing about its file.

use std::ops::Range;

use profundo_model::{Fingerprint, Profile, SourceFile};

use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::{Damage, Error};

const FILE: u8 = 1;
const STATE: u8 = 2;
const SIZE: u8 = 3;
const HASH: u8 = 4;

const RAN: u64 = 1;
const REWRITTEN: u64 = 2;
const APART: u64 = 3;

pub(super) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
    let files = || {
        profile
            .source_files
            .iter()
            .skip(rows.start)
            .take(rows.len())
    };
    let state = |file: &SourceFile| match *file {
        SourceFile::Ran(fingerprint) => (RAN, fingerprint),
        SourceFile::Rewritten => (REWRITTEN, NO_FINGERPRINT),
        SourceFile::Apart => (APART, NO_FINGERPRINT),
    };
    let states: Vec<(u64, Fingerprint)> = files().map(|(_, file)| state(file)).collect();
    let mut payload = Payload::new(rows.start, rows.len());
    payload.delta(FILE, files().map(|(file, _)| u64::from(file.0)));
    payload.plain(STATE, states.iter().map(|row| row.0));
    payload.plain(SIZE, states.iter().map(|row| row.1.size));
    payload.plain(HASH, states.iter().map(|row| row.1.hash));
    Ok(payload)
}

const NO_FINGERPRINT: Fingerprint = Fingerprint { size: 0, hash: 0 };

pub(super) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
    let (mut file, mut state) = (columns.need(FILE)?, columns.get(STATE));
    let (mut size, mut hash) = (columns.get(SIZE), columns.get(HASH));
    for _ in 0..columns.rows {
        let file = decoder.file(file.delta()?)?;
        let (state, size, hash) = (state.plain()?, size.plain()?, hash.plain()?);
        decoder.source_files += 1;
        let state = match state {
            RAN => SourceFile::Ran(Fingerprint { size, hash }),
            REWRITTEN => SourceFile::Rewritten,
            APART => SourceFile::Apart,
            // A newer writer's: nothing is known about the file.
            _ => continue,
        };
        decoder.profile.source_files.insert(file, state);
    }
    (file.finish().and(state.finish())).and(size.finish().and(hash.finish()))
}
