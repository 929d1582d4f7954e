//! Frames: functions at lines, with what tells whose code it is.

use std::ops::Range;

use super::Table;
use crate::Error;
use crate::file::{Group, Put};
use crate::ids::{Contents, FrameId};
use crate::texts::{Text, Texts};

/// The definition of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameRow {
    /// The service.
    pub service: Text,
    /// The id.
    pub frame: FrameId,
    /// The kind of the code: `python`, `native`, `kernel`, `marker` and so on.
    pub kind: Text,
    /// Whether the compiler put it into the frame before it.
    pub inlined: bool,
    /// The bare name.
    pub function: Text,
    /// The name with parameters or generics; empty where only the bare one is known.
    pub signature: Text,
    /// The source file.
    pub file: Text,
    /// What stands in reports for the beginning of the path, such as `@std`.
    pub prefix: Text,
    /// The path behind the prefix; empty for the whole path.
    pub rest: Text,
    /// The line of the call, from 1; 0 where unknown.
    pub line: i32,
    /// The column of the expression, from 1; 0 where unknown.
    pub column: i32,
    /// Whether the instruction of a Python frame calls something.
    pub is_call: bool,
    /// The kind of a wait; empty for code.
    pub wait: Text,
    /// The file that the code was loaded from.
    pub module: Text,
    /// Its build id, in hexadecimal digits.
    pub build_id: Text,
    /// The address in that file of code without a name; 0 for code with one.
    pub address: i64,
}

impl FrameRow {
    /// The id of a frame with these contents. The service is no part of it.
    pub fn id(&self, texts: &Texts) -> FrameId {
        Contents::default()
            .text(texts.get(self.kind))
            .number(i64::from(self.inlined))
            .text(texts.get(self.function))
            .text(texts.get(self.signature))
            .text(texts.get(self.file))
            .text(texts.get(self.prefix))
            .text(texts.get(self.rest))
            .number(i64::from(self.line))
            .number(i64::from(self.column))
            .number(i64::from(self.is_call))
            .text(texts.get(self.wait))
            .text(texts.get(self.module))
            .text(texts.get(self.build_id))
            .number(self.address)
            .id()
    }
}

impl FrameRow {
    /// The same row with the numbers of other texts.
    pub fn carried(&self, from: &Texts, to: &mut Texts) -> Self {
        let mut carry = |text| to.add(from.get(text));
        Self {
            service: carry(self.service),
            kind: carry(self.kind),
            function: carry(self.function),
            signature: carry(self.signature),
            file: carry(self.file),
            prefix: carry(self.prefix),
            rest: carry(self.rest),
            wait: carry(self.wait),
            module: carry(self.module),
            build_id: carry(self.build_id),
            ..*self
        }
    }
}

impl Table for FrameRow {
    const NAME: &'static str = "frames";
    const SCHEMA: &'static str = "message frames {
        REQUIRED BYTE_ARRAY service (STRING);
        REQUIRED INT64 frame;
        REQUIRED BYTE_ARRAY kind (STRING);
        REQUIRED BOOLEAN inlined;
        REQUIRED BYTE_ARRAY function (STRING);
        REQUIRED BYTE_ARRAY signature (STRING);
        REQUIRED BYTE_ARRAY file (STRING);
        REQUIRED BYTE_ARRAY prefix (STRING);
        REQUIRED BYTE_ARRAY rest (STRING);
        REQUIRED INT32 line;
        REQUIRED INT32 column;
        REQUIRED BOOLEAN is_call;
        REQUIRED BYTE_ARRAY wait (STRING);
        REQUIRED BYTE_ARRAY module (STRING);
        REQUIRED BYTE_ARRAY build_id (STRING);
        REQUIRED INT64 address;
    }";
    const GROUP: usize = 16_384;
    const SORTED_BY: &'static [i32] = &[0];

    fn write(rows: &[Self], texts: &Texts, put: &mut Put<'_, '_>) -> Result<(), Error> {
        put.texts(texts, rows.iter().map(|row| row.service))?;
        put.longs(rows.iter().map(|row| row.frame))?;
        put.texts(texts, rows.iter().map(|row| row.kind))?;
        put.truths(rows.iter().map(|row| row.inlined))?;
        put.texts(texts, rows.iter().map(|row| row.function))?;
        put.texts(texts, rows.iter().map(|row| row.signature))?;
        put.texts(texts, rows.iter().map(|row| row.file))?;
        put.texts(texts, rows.iter().map(|row| row.prefix))?;
        put.texts(texts, rows.iter().map(|row| row.rest))?;
        put.ints(rows.iter().map(|row| row.line))?;
        put.ints(rows.iter().map(|row| row.column))?;
        put.truths(rows.iter().map(|row| row.is_call))?;
        put.texts(texts, rows.iter().map(|row| row.wait))?;
        put.texts(texts, rows.iter().map(|row| row.module))?;
        put.texts(texts, rows.iter().map(|row| row.build_id))?;
        put.longs(rows.iter().map(|row| row.address))
    }

    fn read(group: &Group<'_>, rows: Range<usize>, texts: &mut Texts) -> Result<Vec<Self>, Error> {
        let mut text = |name| group.texts(name, rows.clone(), texts);
        let (service, kind) = (text("service")?, text("kind")?);
        let (function, signature) = (text("function")?, text("signature")?);
        let (file, prefix, rest) = (text("file")?, text("prefix")?, text("rest")?);
        let (wait, module, build_id) = (text("wait")?, text("module")?, text("build_id")?);
        let frame = group.longs("frame", rows.clone())?;
        let inlined = group.truths("inlined", rows.clone())?;
        let is_call = group.truths("is_call", rows.clone())?;
        let line = group.ints("line", rows.clone())?;
        let column = group.ints("column", rows.clone())?;
        let address = group.longs("address", rows.clone())?;
        let row = |at: usize| Self {
            service: service.get(at),
            frame: frame.get(at),
            kind: kind.get(at),
            inlined: inlined[at],
            function: function.get(at),
            signature: signature.get(at),
            file: file.get(at),
            prefix: prefix.get(at),
            rest: rest.get(at),
            line: line.get(at),
            column: column.get(at),
            is_call: is_call[at],
            wait: wait.get(at),
            module: module.get(at),
            build_id: build_id.get(at),
            address: address.get(at),
        };
        Ok((0..rows.len()).map(row).collect())
    }
}
