//! The types of a chunk. Each event and each constant has a type, whose fields the chunk describes
//! itself, in a tree of elements with attributes.

use rustc_hash::FxHashMap;

use super::wire::{Cursor, Text};

/// The most nested elements, and the most nested values.
const DEEPEST: usize = 24;

/// The types of a chunk.
#[derive(Debug, Default)]
pub(super) struct Types {
    types: Vec<Type>,
    ids: FxHashMap<u64, usize>,
}

/// A type.
#[derive(Debug, Default)]
pub(super) struct Type {
    /// Its name: `jdk.ExecutionSample`.
    pub(super) name: String,
    pub(super) fields: Vec<Field>,
    /// The number that events and constants have.
    pub(super) id: u64,
}

/// A field of a type.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field {
    /// Its meaning, by its name.
    pub(super) role: Role,
    pub(super) shape: Shape,
    pub(super) is_array: bool,
}

/// The form of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Byte,
    Number,
    Float,
    Double,
    String,
    /// The key of a constant of this type.
    Constant(usize),
    /// The fields of this type.
    Fields(usize),
}

macro_rules! roles {
    ($($role:ident = $($name:literal)|+,)*) => {
        /// The meaning of a field, by its name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Role {
            $($role,)*
            Other,
        }

        impl Role {
            fn of_name(name: &str) -> Self {
                match name {
                    $($($name)|+ => Self::$role,)*
                    _ => Self::Other,
                }
            }
        }
    };
}

roles! {
    Start = "startTime",
    Duration = "duration",
    Thread = "eventThread" | "sampledThread",
    Stack = "stackTrace",
    State = "state",
    Samples = "samples",
    Span = "timeSpan",
    Period = "samplingPeriod",
    Failed = "failed",
    Weight = "weight",
    Allocated = "allocationSize",
    Tlab = "tlabSize",
    ObjectClass = "objectClass",
    Address = "address",
    Size = "size",
    Peak = "peak",
    AllocationTime = "allocationTime",
    Id = "id",
    Name = "name",
    Value = "value",
    Pid = "pid",
    JvmName = "jvmName",
    JvmVersion = "jvmVersion",
    JvmArguments = "jvmArguments",
    JavaArguments = "javaArguments",
    Truncated = "truncated",
    Frames = "frames",
    Method = "method",
    Line = "lineNumber",
    Kind = "type",
    Descriptor = "descriptor",
    Text = "string" | "description",
    OsName = "osName",
    OsThread = "osThreadId",
    JavaName = "javaName",
    JavaThread = "javaThreadId",
}

/// The number of roles with a meaning.
pub(super) const ROLES: usize = Role::Other as usize;

impl Types {
    /// Reads the metadata event at `at`.
    pub(super) fn read(chunk: &[u8], at: usize) -> Option<Self> {
        let mut cursor = Cursor::new(chunk, at);
        // Size, type, start, duration, number of the metadata.
        for _ in 0..5 {
            cursor.number()?;
        }
        let mut names = Vec::new();
        for _ in 0..cursor.count()? {
            names.push(match cursor.string()? {
                Text::Here(text) => text.into_owned(),
                Text::Pooled(_) => String::new(),
            });
        }
        let mut found = Found::default();
        found.element(&mut cursor, &names, 0)?;
        Some(found.types())
    }

    pub(super) fn get(&self, index: usize) -> Option<&Type> {
        self.types.get(index)
    }

    pub(super) fn of_id(&self, id: u64) -> Option<usize> {
        self.ids.get(&id).copied()
    }

    pub(super) fn of_name(&self, name: &str) -> Option<usize> {
        self.types.iter().position(|found| found.name == name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Type> {
        self.types.iter()
    }

    /// Passes over the value of a field.
    pub(super) fn skip(&self, cursor: &mut Cursor<'_>, field: Field) -> Option<()> {
        self.skip_nested(cursor, field, 0)
    }

    fn skip_nested(&self, cursor: &mut Cursor<'_>, field: Field, depth: usize) -> Option<()> {
        let count = if field.is_array { cursor.count()? } else { 1 };
        for _ in 0..count {
            cursor.step()?;
            match field.shape {
                Shape::Byte => drop(cursor.byte()?),
                Shape::Number | Shape::Constant(_) => drop(cursor.number()?),
                Shape::Float => drop(cursor.take(4)?),
                Shape::Double => drop(cursor.take(8)?),
                Shape::String => drop(cursor.string()?),
                Shape::Fields(_) if depth > DEEPEST => return None,
                Shape::Fields(index) => {
                    for &field in &self.get(index)?.fields {
                        self.skip_nested(cursor, field, depth + 1)?;
                    }
                }
            }
        }
        Some(())
    }
}

/// The elements as they stand in the file.
#[derive(Default)]
struct Found {
    classes: Vec<Class>,
}

#[derive(Default)]
struct Class {
    id: u64,
    name: String,
    fields: Vec<FoundField>,
}

#[derive(Default)]
struct FoundField {
    name: String,
    class: u64,
    is_array: bool,
    is_constant: bool,
}

impl Found {
    fn element(&mut self, cursor: &mut Cursor<'_>, names: &[String], depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        let name_of = |index: u64| {
            names
                .get(usize::try_from(index).ok()?)
                .map(|name| &name[..])
        };
        let kind = name_of(cursor.number()?)?;
        let mut class = Class::default();
        let mut field = FoundField::default();
        for _ in 0..cursor.count()? {
            let name = name_of(cursor.number()?)?;
            let value = name_of(cursor.number()?)?;
            match (kind, name) {
                ("class", "id") => class.id = value.parse().unwrap_or(0),
                ("class", "name") => class.name = value.to_owned(),
                ("field", "name") => field.name = value.to_owned(),
                ("field", "class") => field.class = value.parse().unwrap_or(0),
                ("field", "dimension") => field.is_array = value != "0",
                ("field", "constantPool") => field.is_constant = value == "true",
                _ => {}
            }
        }
        match kind {
            "class" => self.classes.push(class),
            "field" => {
                if let Some(class) = self.classes.last_mut() {
                    class.fields.push(field);
                }
            }
            _ => {}
        }
        for _ in 0..cursor.count()? {
            self.element(cursor, names, depth + 1)?;
        }
        Some(())
    }

    fn types(self) -> Types {
        let mut ids = FxHashMap::default();
        for (index, class) in self.classes.iter().enumerate() {
            ids.insert(class.id, index);
        }
        let names: Vec<&str> = self.classes.iter().map(|class| &class.name[..]).collect();
        let field = |found: &FoundField| {
            let index = ids.get(&found.class).copied();
            Field {
                role: Role::of_name(&found.name),
                shape: match index {
                    Some(index) if found.is_constant => Shape::Constant(index),
                    Some(index) => shape(names.get(index).copied().unwrap_or(""), index),
                    None => Shape::Number,
                },
                is_array: found.is_array,
            }
        };
        let types = self.classes.iter().map(|class| Type {
            name: class.name.clone(),
            fields: class.fields.iter().map(field).collect(),
            id: class.id,
        });
        Types {
            types: types.collect(),
            ids,
        }
    }
}

fn shape(name: &str, index: usize) -> Shape {
    match name {
        "boolean" | "byte" => Shape::Byte,
        "short" | "char" | "int" | "long" => Shape::Number,
        "float" => Shape::Float,
        "double" => Shape::Double,
        "java.lang.String" => Shape::String,
        _ => Shape::Fields(index),
    }
}
