//! A place in the tree: a function and its callers, and the line in it.

use std::rc::Rc;

use profundo_model::{LocationId, ModuleId, StackId};
use rustc_hash::FxHashMap;

use crate::{Builder, Named};

/// The functions and the files of a tree.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) functions: Vec<Function>,
    pub(super) files: Vec<String>,
    /// By the function, the file and the line.
    locations: FxHashMap<(usize, Option<usize>, u32), LocationId>,
}

impl Names {
    /// The location of a function at a line; `None` for a row that is not there.
    fn location(
        &mut self,
        builder: &mut Builder,
        function: usize,
        file: Option<usize>,
        line: u32,
    ) -> Option<LocationId> {
        if let Some(&known) = self.locations.get(&(function, file, line)) {
            return Some(known);
        }
        let named = self.functions.get(function)?;
        let path = file.and_then(|row| self.files.get(row));
        let frame = builder.frame(Named {
            function: &named.name,
            file: path.map(String::as_str).unwrap_or_default(),
            line,
            ..Named::default()
        });
        let location = builder.location_of(frame, named.module);
        self.locations.insert((function, file, line), location);
        Some(location)
    }
}

#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: Rc<str>,
    pub(super) module: Option<ModuleId>,
}

/// A place. Functions and files are rows of [`Names`].
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Place {
    caller: Option<StackId>,
    function: Option<usize>,
    file: Option<usize>,
    line: u32,
}

impl Place {
    /// The start of a function that is called here.
    pub(super) fn call(
        self,
        builder: &mut Builder,
        names: &mut Names,
        function: usize,
        file: Option<usize>,
    ) -> Self {
        Self {
            caller: self.stack(builder, names),
            function: Some(function),
            file,
            line: 0,
        }
    }

    /// A line of the function.
    pub(super) fn at(self, file: Option<usize>, line: u32) -> Self {
        match line {
            0 => self,
            line => Self {
                file: file.or(self.file),
                line,
                ..self
            },
        }
    }

    /// The stack of the place: its function at its line, below its callers.
    pub(super) fn stack(self, builder: &mut Builder, names: &mut Names) -> Option<StackId> {
        let function = self.function;
        let location = function.and_then(|it| names.location(builder, it, self.file, self.line));
        match location {
            Some(location) => Some(builder.stack(self.caller, location)),
            None => self.caller,
        }
    }
}

/// The name of a file or a function that is known, or nothing.
pub(super) fn known(name: &str) -> &str {
    match name {
        "<unknown file>" | "<unknown load module>" => "",
        name => name.strip_prefix("./").unwrap_or(name),
    }
}
