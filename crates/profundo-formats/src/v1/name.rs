//! The tables of names: strings, files and frames. Row 0 of strings and of files is the unknown
//! one, exists in every profile, and is never written.

use std::ops::Range;

use profundo_model::{File, Frame, Profile};

use super::code::{LANGUAGES, code_of};
use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::{Damage, Error};

/// `STRS`: the lengths in bytes, then all texts without anything between them.
pub(super) mod strings {
    use super::*;

    const LENGTH: u8 = 1;
    const TEXT: u8 = 2;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let texts = || profile.strings.iter().skip(rows.start).take(rows.len());
        let mut payload = Payload::new(rows.start, rows.len());
        payload.plain(LENGTH, texts().map(|text| text.len() as u64));
        payload.column(TEXT, |out| {
            texts().for_each(|text| out.extend_from_slice(text.as_bytes()))
        });
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut lengths, mut text) = (columns.need(LENGTH)?, columns.get(TEXT));
        for _ in 0..columns.rows {
            let len = lengths.plain()?;
            let text = std::str::from_utf8(text.take(len)?).map_err(|_| Damage::Text)?;
            let id = decoder.profile.strings.intern(text);
            decoder.strings.push(id);
        }
        lengths.finish().and(text.finish())
    }
}

/// `FILE`: three strings a row.
pub(super) mod files {
    use super::*;

    const PATH: u8 = 1;
    const PREFIX: u8 = 2;
    const REST: u8 = 3;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let files = || profile.files.iter().skip(rows.start).take(rows.len());
        let mut payload = Payload::new(rows.start, rows.len());
        payload.delta(PATH, files().map(|file| u64::from(file.path.0)));
        payload.plain(PREFIX, files().map(|file| u64::from(file.prefix.0)));
        payload.delta(REST, files().map(|file| u64::from(file.rest.0)));
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut path, mut prefix) = (columns.need(PATH)?, columns.get(PREFIX));
        let mut rest = columns.get(REST);
        for _ in 0..columns.rows {
            let file = File {
                path: decoder.string(path.delta()?)?,
                prefix: decoder.string(prefix.plain()?)?,
                rest: decoder.string(rest.delta()?)?,
            };
            let id = decoder.profile.files.intern(file);
            decoder.files.push(id);
        }
        path.finish().and(prefix.finish()).and(rest.finish())
    }
}

/// `SRCE`: the texts of lines, by file and number.
pub(super) mod sources {
    use super::*;

    const FILE: u8 = 1;
    const LINE: u8 = 2;
    const TEXT: u8 = 3;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let lines = || profile.sources.iter().skip(rows.start).take(rows.len());
        let mut payload = Payload::new(rows.start, rows.len());
        payload.delta(FILE, lines().map(|(file, ..)| u64::from(file.0)));
        payload.delta(LINE, lines().map(|(_, line, _)| u64::from(line)));
        payload.delta(TEXT, lines().map(|(.., text)| u64::from(text.0)));
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut file, mut line) = (columns.need(FILE)?, columns.get(LINE));
        let mut text = columns.get(TEXT);
        for _ in 0..columns.rows {
            let file = decoder.file(file.delta()?)?;
            let line = u32::try_from(line.delta()?).map_err(|_| Damage::Number)?;
            let text = decoder.string(text.delta()?)?;
            decoder.profile.sources.insert(file, line, text);
            decoder.sources += 1;
        }
        file.finish().and(line.finish()).and(text.finish())
    }
}

/// `FRAM`: a function at a line.
pub(super) mod frames {
    use super::*;

    const FUNCTION: u8 = 1;
    const SIGNATURE: u8 = 2;
    const FILE: u8 = 3;
    const LINE: u8 = 4;
    const LANGUAGE: u8 = 5;
    const FLAGS: u8 = 6;

    const INLINED: u64 = 1;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let frames = || profile.frames.iter().skip(rows.start).take(rows.len());
        let languages: Vec<u64> = frames()
            .map(|frame| code_of(LANGUAGES, "language", &frame.language))
            .collect::<Result<_, _>>()?;
        let mut payload = Payload::new(rows.start, rows.len());
        payload.delta(FUNCTION, frames().map(|frame| u64::from(frame.function.0)));
        payload.delta(
            SIGNATURE,
            frames().map(|frame| u64::from(frame.signature.0)),
        );
        payload.delta(FILE, frames().map(|frame| u64::from(frame.file.0)));
        payload.delta(LINE, frames().map(|frame| u64::from(frame.line)));
        payload.plain(LANGUAGE, languages.into_iter());
        payload.plain(
            FLAGS,
            frames().map(|frame| u64::from(frame.inlined) * INLINED),
        );
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut function, mut signature) = (columns.need(FUNCTION)?, columns.get(SIGNATURE));
        let (mut file, mut line) = (columns.get(FILE), columns.get(LINE));
        let (mut language, mut flags) = (columns.get(LANGUAGE), columns.get(FLAGS));
        for _ in 0..columns.rows {
            let language = language.plain()?;
            let frame = Frame {
                function: decoder.string(function.delta()?)?,
                signature: decoder.string(signature.delta()?)?,
                file: decoder.file(file.delta()?)?,
                line: u32::try_from(line.delta()?).map_err(|_| Damage::Number)?,
                language: decoder
                    .value(LANGUAGES, "language", language)
                    .unwrap_or_default(),
                inlined: flags.plain()? & INLINED != 0,
            };
            let id = decoder.profile.frames.intern(frame);
            decoder.frames.push(id);
        }
        let named = function.finish().and(signature.finish()).and(file.finish());
        named
            .and(line.finish())
            .and(language.finish())
            .and(flags.finish())
    }
}
