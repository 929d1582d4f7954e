//! The layout of a build that can run without the global lock (`--disable-gil`).
//!
//! The head of an object has its thread, a lock, bits of the collector and two reference counts in
//! place of a single count. These are 16 bytes more, so all fields of all objects lie 16 bytes
//! further on. From 3.14 on a function has copies of its instructions, one for each thread, which
//! specializes its own.

use super::{
    CodeObject, Collecting, FunctionObject, GeneratorObject, Gil, Layout, Objects, References,
    VariableNames,
};

/// By how much the head of an object is longer.
const LONGER: u16 = 16;

/// The place of the copies of a function's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionCopies {
    /// In a code object, of the array: its length, and the addresses of the copies (`co_tlbc`). The
    /// first one is the code object's own.
    pub array: u16,
    /// In a frame, of the number of its copy, in 32 bits (`tlbc_index`).
    pub index: u16,
}

impl Layout {
    /// This row, for a build of the same version that can run without the lock.
    pub(super) fn free_threaded(&self) -> Self {
        let lock = match self.gil {
            Gil::Runtime { .. } => return *self,
            Gil::Interpreter { lock } | Gil::Optional { lock } => lock,
        };
        Self {
            gil: Gil::Optional { lock },
            // Its collector looks through the heap and has no lists of objects.
            collector: None,
            collecting: Collecting::Unknown,
            code: self.code.behind_a_longer_head(),
            objects: self.objects.behind_a_longer_head(),
            ..*self
        }
    }
}

impl CodeObject {
    fn behind_a_longer_head(self) -> Self {
        Self {
            variable_names: match self.variable_names {
                VariableNames::One {
                    count,
                    names,
                    kinds,
                } => VariableNames::One {
                    count: count + LONGER,
                    names: names + LONGER,
                    kinds: kinds + LONGER,
                },
                several => several,
            },
            arguments: self.arguments + LONGER,
            flags: self.flags + LONGER,
            first_line: self.first_line + LONGER,
            file: self.file + LONGER,
            name: self.name + LONGER,
            bare_name: self.bare_name.map(|place| place + LONGER),
            lines: self.lines + LONGER,
            instructions: self.instructions + LONGER,
            frame_size: self.frame_size + LONGER,
            ..self
        }
    }
}

impl Objects {
    fn behind_a_longer_head(self) -> Self {
        Self {
            longer_head: LONGER,
            references: References::Split,
            // Objects have no links of the collector before them.
            dict_before: 8,
            tuple_items: self.tuple_items + LONGER,
            module_name: self.module_name + LONGER,
            class_name: self.class_name + LONGER,
            shared_keys: self.shared_keys + LONGER,
            frame_of_object: self.frame_of_object.map(|place| place + LONGER),
            generator: self.generator.map(|generator| GeneratorObject {
                frame: generator.frame + LONGER,
                state: generator.state + LONGER,
                ..generator
            }),
            function: FunctionObject {
                code: self.function.code + LONGER,
                name: self.function.name + LONGER,
                qualified_name: self.function.qualified_name + LONGER,
            },
            ascii_head: self.ascii_head + LONGER,
            text_head: self.text_head + LONGER,
            ..self
        }
    }
}
