//! The tables of places: modules, locations and stacks. A stack's parent is written as the
//! distance back to it, so that a parent after its child cannot even be expressed.

use std::ops::Range;

use profundo_model::{
    Avma, CodeAddress, Ends, FrameId, Kind, LocationId, LocationKind, Module, ModuleId, Profile,
    Reason, StackId, Wait,
};

use super::code::{ROLES, code_of, location, value_of};
use super::column::{Columns, Payload};
use super::read::Decoder;
use crate::{Damage, Error};

/// `MODU`: a file and its mapping.
pub(super) mod modules {
    use super::*;

    const PATH: u8 = 1;
    const START: u8 = 2;
    const SIZE: u8 = 3;
    const BIAS: u8 = 4;
    const BUILD_ID_LENGTH: u8 = 5;
    const BUILD_ID: u8 = 6;
    const ROLE: u8 = 7;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let modules = || {
            profile
                .modules
                .iter()
                .skip(rows.start)
                .take(rows.len())
                .map(|(_, module)| module)
        };
        let roles: Vec<u64> = modules()
            .map(|module| code_of(ROLES, "role of a module", &module.role))
            .collect::<Result<_, _>>()?;
        let mut payload = Payload::new(rows.start, rows.len());
        payload.delta(PATH, modules().map(|module| u64::from(module.path.0)));
        payload.delta(START, modules().map(|module| module.start.0));
        payload.plain(
            SIZE,
            modules().map(|module| module.end.0.wrapping_sub(module.start.0)),
        );
        payload.delta(BIAS, modules().map(|module| module.bias));
        payload.plain(
            BUILD_ID_LENGTH,
            modules().map(|module| module.build_id.len() as u64),
        );
        payload.column(BUILD_ID, |out| {
            modules().for_each(|module| out.extend_from_slice(&module.build_id));
        });
        payload.sparse(ROLE, roles.into_iter());
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut path, mut start) = (columns.need(PATH)?, columns.get(START));
        let (mut size, mut bias) = (columns.get(SIZE), columns.get(BIAS));
        let (mut length, mut build_id) = (columns.get(BUILD_ID_LENGTH), columns.get(BUILD_ID));
        let mut role = columns.get(ROLE);
        for index in columns.indices() {
            let start = start.delta()?;
            let role = role.plain()?;
            let module = Module {
                path: decoder.string(path.delta()?)?,
                start: Avma(start),
                end: Avma(start.wrapping_add(size.plain()?)),
                bias: bias.delta()?,
                build_id: build_id.take(length.plain()?)?.to_vec(),
                role: decoder
                    .value(ROLES, "role of a module", role)
                    .unwrap_or_default(),
            };
            let modules = &mut decoder.profile.modules;
            if index < modules.len() {
                *modules.get_mut(ModuleId::from_index(index)) = module;
            } else {
                modules.push(module);
            }
        }
        let mapped = path
            .finish()
            .and(start.finish())
            .and(size.finish())
            .and(bias.finish());
        mapped
            .and(length.finish())
            .and(build_id.finish())
            .and(role.finish())
    }
}

/// `LOCA`: an address, or the reason why there is none, and its frames.
pub(super) mod locations {
    use super::*;

    const KIND: u8 = 1;
    const VALUE: u8 = 2;
    const MODULE: u8 = 3;
    const FRAME_COUNT: u8 = 4;
    const FRAME: u8 = 5;
    /// Of a part: the library of the native time that ends there.
    const LIBRARY: u8 = 6;

    /// In the value of an interpreted line: whether it calls something. The column is above.
    const CALL: u64 = 1;
    /// The number of an invented location that is a part of another one: the mark, the kind of the
    /// time that ends there, the number of the frame, and the other location.
    const PART: u64 = 1 << 63;
    const ENDS_AT: u32 = 48;
    const FRAME_AT: u32 = 32;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let locations = || {
            profile
                .locations
                .iter()
                .skip(rows.start)
                .take(rows.len())
                .map(|(_, row)| row)
        };
        let kinds: Vec<(u64, u64)> = locations()
            .map(|row| kind_to_code(row.kind))
            .collect::<Result<_, _>>()?;
        let mut payload = Payload::new(rows.start, rows.len());
        payload.plain(KIND, kinds.iter().map(|&(kind, _)| kind));
        payload.delta(VALUE, kinds.iter().map(|&(_, value)| value));
        payload.plain(
            MODULE,
            locations().map(|row| row.module.map_or(0, |id| u64::from(id.0) + 1)),
        );
        frames(profile, rows.clone(), &mut payload);
        let library = |kind| match kind {
            LocationKind::Part {
                ends: Some(Ends { library, .. }),
                ..
            } => library.map_or(0, |id: ModuleId| u64::from(id.0) + 1),
            _ => 0,
        };
        payload.sparse(LIBRARY, locations().map(|row| library(row.kind)));
        Ok(payload)
    }

    /// `loca`: the frames of locations written without them.
    pub(in crate::v1) fn encode_frames(
        profile: &Profile,
        rows: Range<usize>,
    ) -> Result<Payload, Error> {
        let mut payload = Payload::new(rows.start, rows.len());
        frames(profile, rows, &mut payload);
        Ok(payload)
    }

    fn frames(profile: &Profile, rows: Range<usize>, payload: &mut Payload) {
        let frames = || rows.clone().map(|row| frames_of(profile, row));
        payload.plain(FRAME_COUNT, frames().map(|frames| frames.len() as u64));
        payload.delta(FRAME, frames().flatten().map(|id| u64::from(id.0)));
    }

    /// An interpreted line has its frame whether it was named or not.
    fn frames_of(profile: &Profile, row: usize) -> &[FrameId] {
        let location = profile.locations.get(LocationId::from_index(row));
        match &location.kind {
            LocationKind::Python { frame, .. } | LocationKind::Wait { frame, .. } => {
                std::slice::from_ref(frame)
            }
            _ => &location.frames,
        }
    }

    pub(in crate::v1) fn decode_frames(
        decoder: &mut Decoder,
        columns: &Columns,
    ) -> Result<(), Damage> {
        let (mut count, mut frame) = (columns.need(FRAME_COUNT)?, columns.get(FRAME));
        let mut frames = Vec::new();
        for index in columns.indices() {
            frames.clear();
            let count = count.plain()?;
            if count > frame.left() as u64 {
                return Err(Damage::Column(FRAME));
            }
            for _ in 0..count {
                frames.push(decoder.frame(frame.delta()?)?);
            }
            let id = decoder.location(index as u64)?;
            decoder.profile.locations.set_frames(id, &frames);
        }
        count.finish().and(frame.finish())
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut kind, mut value) = (columns.need(KIND)?, columns.get(VALUE));
        let (mut module, mut count) = (columns.get(MODULE), columns.get(FRAME_COUNT));
        let (mut frame, mut library) = (columns.get(FRAME), columns.get(LIBRARY));
        let mut frames = Vec::new();
        for _ in 0..columns.rows {
            let (kind, value) = (kind.plain()?, value.delta()?);
            let library = match library.plain()? {
                0 => None,
                next => Some(ModuleId::from_index(decoder.module(next - 1)?)),
            };
            let module = match module.plain()? {
                0 => None,
                next => Some(ModuleId::from_index(decoder.module(next - 1)?)),
            };
            frames.clear();
            let count = count.plain()?;
            if count > frame.left() as u64 {
                return Err(Damage::Column(FRAME));
            }
            for _ in 0..count {
                frames.push(decoder.frame(frame.delta()?)?);
            }
            let kind = code_to_kind(decoder, kind, value, (&frames, library))?;
            let rows = decoder.profile.locations.len();
            let id = decoder.profile.locations.intern(kind, module);
            // For a repeated row, the first one's frames would stay.
            if id.index() == rows && !frames.is_empty() {
                decoder.profile.locations.set_frames(id, &frames);
            }
            decoder.locations.push(id);
        }
        let found = kind.finish().and(value.finish()).and(module.finish());
        let frames = count.finish().and(frame.finish());
        found.and(frames).and(library.finish())
    }

    fn kind_to_code(kind: LocationKind) -> Result<(u64, u64), Error> {
        Ok(match kind {
            LocationKind::Code(CodeAddress::Instruction(Avma(at))) => (location::INSTRUCTION, at),
            LocationKind::Code(CodeAddress::Return(Avma(at))) => (location::RETURN, at),
            LocationKind::Reason(reason) => {
                (location::REASON, code_of(&Reason::ALL, "reason", &reason)?)
            }
            LocationKind::Invented(number) => (location::INVENTED, number),
            // For a reader that does not know the mark, its frames name it.
            LocationKind::Part { of, frame, ends } => {
                let kind = ends.map_or(Ok(0), |ends| {
                    code_of(&Kind::ALL, "kind", &ends.kind).map(|code| code + 1)
                })?;
                let number = (kind << ENDS_AT) | (u64::from(frame) << FRAME_AT) | u64::from(of.0);
                (location::INVENTED, PART | number)
            }
            LocationKind::Wait { wait, .. } => {
                (location::WAIT, code_of(&Wait::ALL, "wait", &wait)?)
            }
            // Its frame has the same place as those of other locations.
            LocationKind::Python {
                column, is_call, ..
            } => (
                location::PYTHON,
                (u64::from(column) << 1) | (u64::from(is_call) * CALL),
            ),
            _ => {
                return Err(Error::NoCode {
                    what: "kind of location",
                });
            }
        })
    }

    fn code_to_kind(
        decoder: &mut Decoder,
        kind: u64,
        value: u64,
        (frames, library): (&[FrameId], Option<ModuleId>),
    ) -> Result<LocationKind, Damage> {
        Ok(match kind {
            location::INSTRUCTION => LocationKind::Code(CodeAddress::Instruction(Avma(value))),
            location::RETURN => LocationKind::Code(CodeAddress::Return(Avma(value))),
            location::INVENTED => {
                part(decoder, value, library).unwrap_or(LocationKind::Invented(value))
            }
            location::PYTHON => LocationKind::Python {
                frame: *frames.first().ok_or(Damage::Column(FRAME_COUNT))?,
                column: u16::try_from(value >> 1).map_err(|_| Damage::Number)?,
                is_call: value & CALL != 0,
            },
            _ => {
                if kind == location::WAIT
                    && let Some(wait) = value_of(&Wait::ALL, value)
                {
                    let frame = *frames.first().ok_or(Damage::Column(FRAME_COUNT))?;
                    return Ok(LocationKind::Wait { frame, wait });
                }
                if kind == location::REASON
                    && let Some(reason) = value_of(&Reason::ALL, value)
                {
                    return Ok(LocationKind::Reason(reason));
                }
                decoder.unknown("kind of location", kind);
                // Its frames still name it; it must only not be taken for another location.
                LocationKind::Invented(u64::MAX - decoder.locations.len() as u64)
            }
        })
    }

    /// The part that the number of an invented location stands for; `None`: it is none, or of a
    /// location that is not there.
    fn part(decoder: &Decoder, value: u64, library: Option<ModuleId>) -> Option<LocationKind> {
        let value = value.checked_sub(PART)?;
        let of = decoder.location(value & u64::from(u32::MAX)).ok()?;
        // A part of a part could be one of itself.
        if let LocationKind::Part { .. } = decoder.profile.locations.get(of).kind {
            return None;
        }
        let ends = match (value >> ENDS_AT).checked_sub(1) {
            None => None,
            Some(code) => Some(Ends {
                kind: value_of(&Kind::ALL, code)?,
                library,
            }),
        };
        Some(LocationKind::Part {
            of,
            frame: (value >> FRAME_AT) as u16,
            ends,
        })
    }
}

/// `STAK`: one location below a stack of callers.
pub(super) mod stacks {
    use super::*;

    const UP: u8 = 1;
    const LOCATION: u8 = 2;

    pub(in crate::v1) fn encode(profile: &Profile, rows: Range<usize>) -> Result<Payload, Error> {
        let stacks = || profile.stacks.iter().skip(rows.start).take(rows.len());
        let mut payload = Payload::new(rows.start, rows.len());
        payload.plain(
            UP,
            stacks()
                .zip(rows.clone())
                .map(|(stack, id)| match stack.parent {
                    None => 0,
                    Some(parent) => (id - parent.index()) as u64,
                }),
        );
        payload.delta(LOCATION, stacks().map(|stack| u64::from(stack.location.0)));
        Ok(payload)
    }

    pub(in crate::v1) fn decode(decoder: &mut Decoder, columns: &Columns) -> Result<(), Damage> {
        let (mut up, mut location) = (columns.need(UP)?, columns.need(LOCATION)?);
        for _ in 0..columns.rows {
            let id = decoder.stacks.len() as u64;
            let parent: Option<StackId> = match up.plain()? {
                0 => None,
                up => Some(decoder.stack(id.checked_sub(up).ok_or(Damage::Number)?)?),
            };
            let location = decoder.location(location.delta()?)?;
            let id = decoder.profile.stacks.intern(parent, location);
            decoder.stacks.push(id);
        }
        up.finish().and(location.finish())
    }
}
