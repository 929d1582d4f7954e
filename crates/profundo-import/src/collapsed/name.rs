//! What a frame's text says beside the function: marks of its kind, a file and a line.

use profundo_model::{Language, LocationId, State};

use crate::{Builder, Named, language_of};

/// What the names of a file have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Marks {
    /// Frames are `name (file:line)`, as py-spy writes them.
    has_places: bool,
    /// Frames are `name:line`.
    has_line_numbers: bool,
    /// Each line has two numbers: before and after.
    pub has_two_numbers: bool,
}

impl Marks {
    /// Looks at the first lines.
    pub(super) fn of(text: &[u8]) -> Self {
        const LOOKED_AT: usize = 200;
        let lines = || {
            let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
            lines.take(LOOKED_AT)
        };
        let stacks = || lines().filter_map(super::split).map(|(stack, _)| stack);
        let has_two_numbers = stacks().next().is_some()
            && stacks()
                .all(|stack| super::split(stack).is_some_and(|(stack, _)| !stack.ends_with(b"(")));
        let leaf = |stack: &[u8]| {
            let leaf = stack
                .rsplit(|&byte| byte == b';')
                .next()
                .unwrap_or_default();
            String::from_utf8_lossy(leaf).into_owned()
        };
        let share = |fits: fn(&str) -> bool| {
            let (mut all, mut fitting) = (0, 0);
            for stack in stacks() {
                all += 1;
                fitting += usize::from(fits(&leaf(stack)));
            }
            fitting * 2 > all
        };
        Self {
            has_places: share(|name| place(name).is_some()),
            has_line_numbers: share(|name| line(name).is_some()),
            has_two_numbers,
        }
    }

    /// Whether frames have lines.
    pub(super) fn has_lines(self) -> bool {
        self.has_places || self.has_line_numbers
    }

    /// The location of a frame, and the state of a thread that runs it.
    pub(super) fn location(self, builder: &mut Builder, text: &str) -> (LocationId, State) {
        let (name, mark) = mark(text);
        let (function, file, line) = match () {
            () if self.has_places => place(name).unwrap_or((name, "", 0)),
            () if self.has_line_numbers => match line(name) {
                Some((name, line)) => match file(name) {
                    Some((file, function)) => (function, file, line),
                    None => (name, "", line),
                },
                None => (name, "", 0),
            },
            () => (name, "", 0),
        };
        // py-spy's native frames have a library in place of a file.
        let is_library = line == 0 && is_library(file);
        let (library, file) = if is_library { (file, "") } else { ("", file) };
        let language = match mark {
            Some(Mark::Compiled) if file.is_empty() => Some(Language::Generated),
            _ => Some(language_of(function, file)),
        };
        let frame = builder.frame(Named {
            function,
            file,
            line,
            language,
            is_inlined: mark == Some(Mark::Inlined),
            ..Named::default()
        });
        let is_kernel = mark == Some(Mark::Kernel);
        let module = match () {
            () if is_kernel => Some(builder.module("[kernel]")),
            () if is_library => Some(builder.module(library)),
            () => None,
        };
        let state = if is_kernel {
            State::System
        } else {
            State::Running
        };
        (builder.location_of(frame, module), state)
    }
}

/// The mark behind a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Kernel,
    /// Generated code.
    Compiled,
    Inlined,
}

fn mark(text: &str) -> (&str, Option<Mark>) {
    let marks = [
        ("_[k]", Some(Mark::Kernel)),
        ("_[j]", Some(Mark::Compiled)),
        ("_[i]", Some(Mark::Inlined)),
        // Interpreted and native code of async-profiler's.
        ("_[0]", Some(Mark::Compiled)),
        ("_[1]", Some(Mark::Compiled)),
        ("_[p]", None),
        ("_[w]", None),
    ];
    for (suffix, mark) in marks {
        if let Some(name) = text.strip_suffix(suffix)
            && !name.is_empty()
        {
            return (name, mark);
        }
    }
    (text, None)
}

/// `name (file:line)`.
fn place(text: &str) -> Option<(&str, &str, u32)> {
    let (name, place) = text.strip_suffix(')')?.rsplit_once(" (")?;
    if let Some((file, line)) = place.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return Some((name, file, line));
    }
    place.contains('.').then_some((name, place, 0))
}

/// Whether a file is a shared library by its name.
fn is_library(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.contains(".so.")
        || [".so", ".dylib", ".dll"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// `file.py:name`, as Tachyon writes it.
fn file(text: &str) -> Option<(&str, &str)> {
    let (file, function) = text.rsplit_once(':')?;
    let is_python = file.ends_with(".py") || file.starts_with('<') && file.ends_with('>');
    (is_python && !function.is_empty()).then_some((file, function))
}

/// `name:line`, of a name that is no C++ scope.
fn line(text: &str) -> Option<(&str, u32)> {
    let (name, line) = text.rsplit_once(':')?;
    let line = line.parse().ok()?;
    (!name.is_empty() && !name.ends_with(':')).then_some((name, line))
}
