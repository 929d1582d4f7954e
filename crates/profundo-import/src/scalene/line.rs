//! Files with their lines and functions.

use std::borrow::Cow;
use std::collections::BTreeMap;

use profundo_model::{FrameId, Language, StackId};

use crate::encoding::json::{Json, Read};
use crate::{Builder, Named};

/// A line and its percentages.
#[derive(Debug, Clone, Default)]
pub(super) struct Line {
    pub number: u32,
    pub python: f64,
    pub native: f64,
    pub system: f64,
    /// Megabytes.
    pub allocated: f64,
    pub peak: f64,
    pub allocations: u64,
    pub python_fraction: f64,
    /// The first line of its function; 0 for a module's own. `None` where Scalene does not say it.
    function: Option<u32>,
    /// Whether it is indented.
    is_inside: bool,
}

/// A file.
#[derive(Debug, Default)]
pub(super) struct File<'a> {
    pub path: Cow<'a, str>,
    pub lines: Vec<Line>,
    texts: Vec<(u32, Cow<'a, str>)>,
    /// Functions with time or memory, by their first lines.
    functions: BTreeMap<u32, Cow<'a, str>>,
}

impl<'a> File<'a> {
    pub(super) fn new(path: Cow<'a, str>) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    pub(super) fn read(&mut self, json: &mut Json<'a>) -> Read<()> {
        json.object(|json, key| match key {
            "functions" => json.array(|json| {
                let (mut number, mut name) = (0, Cow::default());
                json.object(|json, key| {
                    match key {
                        "line" => name = json.text()?.unwrap_or_default(),
                        "lineno" => number = json.index()?.unwrap_or(0),
                        _ => json.skip()?,
                    }
                    Ok(())
                })?;
                self.functions.insert(number, name);
                Ok(())
            }),
            "lines" => json.array(|json| self.line(json)),
            _ => json.skip(),
        })
    }

    fn line(&mut self, json: &mut Json<'a>) -> Read<()> {
        let mut line = Line::default();
        let mut text = Cow::default();
        json.object(|json, key| {
            let number = |json: &mut Json<'_>| json.number().map(|number| number.unwrap_or(0.0));
            match key {
                "line" => text = json.text()?.unwrap_or_default(),
                "lineno" => line.number = json.index()?.unwrap_or(0),
                "n_cpu_percent_python" => line.python = number(json)?,
                "n_cpu_percent_c" => line.native = number(json)?,
                "n_sys_percent" => line.system = number(json)?,
                "n_malloc_mb" => line.allocated = number(json)?,
                "n_peak_mb" => line.peak = number(json)?,
                // A cast saturates.
                "n_mallocs" => line.allocations = number(json)? as u64,
                "n_python_fraction" => line.python_fraction = number(json)?,
                "start_function_line" => line.function = json.index()?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        line.is_inside = text.starts_with([' ', '\t']);
        self.texts.push((line.number, text));
        self.lines.push(line);
        Ok(())
    }

    /// The name of a line's function.
    fn function(&self, line: &Line) -> &str {
        let known = match line.function {
            Some(0) => None,
            Some(first) => self.functions.get(&first),
            None if line.is_inside => {
                let before = self.functions.range(..=line.number);
                before.last().map(|(_, name)| name)
            }
            None => None,
        };
        match known {
            Some(name) => name,
            None if line.is_inside => "",
            None => "<module>",
        }
    }

    fn frame(&self, builder: &mut Builder, line: &Line) -> FrameId {
        builder.frame(Named {
            function: self.function(line),
            file: &self.path,
            line: line.number,
            language: Some(Language::Python),
            ..Named::default()
        })
    }

    /// The stack of a line, or of native code that it calls.
    pub(super) fn stack(&self, builder: &mut Builder, line: &Line, is_native: bool) -> StackId {
        let frame = self.frame(builder, line);
        let location = builder.location_of(frame, None);
        let stack = builder.stack(None, location);
        if !is_native {
            return stack;
        }
        let native = builder.location(Named {
            function: "<native>",
            language: Some(Language::Native),
            ..Named::default()
        });
        builder.stack(Some(stack), native)
    }

    /// Keeps the text of the lines.
    pub(super) fn keep_source(&self, builder: &mut Builder) {
        let profile = &mut builder.profile;
        let file = profile.file(&self.path, "", "");
        for (number, text) in &self.texts {
            let text = profile.strings.intern(text.trim_end_matches(['\n', '\r']));
            profile.sources.insert(file, *number, text);
        }
    }
}
