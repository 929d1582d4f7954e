//! A place in the tree: a function and its callers, and the line in it.

use std::rc::Rc;

use profundo_model::{ModuleId, StackId};

use crate::{Builder, Named};

/// The functions and the files of a tree.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) functions: Vec<Function>,
    pub(super) files: Vec<String>,
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
        names: &Names,
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

    pub(super) fn stack(self, builder: &mut Builder, names: &Names) -> Option<StackId> {
        let Some(function) = self.function.and_then(|row| names.functions.get(row)) else {
            return self.caller;
        };
        let file = self.file.and_then(|row| names.files.get(row));
        let frame = builder.frame(Named {
            function: &function.name,
            file: file.map(String::as_str).unwrap_or_default(),
            line: self.line,
            ..Named::default()
        });
        let location = builder.location_of(frame, function.module);
        Some(builder.stack(self.caller, location))
    }
}

/// The name of a file or a function that is known, or nothing.
pub(super) fn known(name: &str) -> &str {
    match name {
        "<unknown file>" | "<unknown load module>" => "",
        name => name.strip_prefix("./").unwrap_or(name),
    }
}
