//! A page is the common state of a report that is being written: its destination, width and
//! colours. Beside it are lines and their styles, widths, links, and numbers as people read them.

mod appearance;
pub(crate) mod chart;
pub(crate) mod line;
mod link;
pub(crate) mod palette;
pub(crate) mod printf_g;
pub(crate) mod units;
pub(crate) mod width;

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use profundo_model::{FileId, Profile, StringId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::naming::Names;
use crate::naming::label::separator;
use line::{Line, Style};
use link::Links;
use palette::{Color, Palette};
use width::{keep_tail, width};

pub use appearance::Look;
pub use link::EditorLinks;
pub use width::terminal_width;

/// Short names of files for the user of a command: own files from their common folder on, those of
/// libraries from where packages lie, and modules by their bare names.
struct ShortFiles<'a> {
    names: Names<'a>,
    modules: FxHashSet<StringId>,
}

impl<'a> ShortFiles<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self {
            names: Names::of_all(profile),
            modules: (profile.modules.iter())
                .map(|(_, module)| module.path)
                .collect(),
        }
    }

    fn parts(&self, profile: &Profile, file: FileId) -> (&'a str, &'a str) {
        let (prefix, rest) = self.names.parts(file);
        match self.modules.contains(&profile.files.get(file).path) {
            true => (prefix, rest.rsplit('/').next().unwrap_or(rest)),
            false => (prefix, rest),
        }
    }
}

/// Any report that is being written.
pub struct Page<'a> {
    pub profile: &'a Profile,
    pub columns: usize,
    /// True if long sentences are broken into lines, as a person at a terminal wants.
    pub breaks: bool,
    out: &'a mut dyn Write,
    colored: bool,
    palette: Palette,
    links: Option<Links>,
    /// Short names of files, where whole paths would only take room.
    names: Option<ShortFiles<'a>>,
    /// The files that are linked to, with true if the file exists.
    exists: FxHashMap<FileId, bool>,
}

impl fmt::Debug for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").finish_non_exhaustive()
    }
}

impl<'a> Page<'a> {
    pub(crate) fn new(look: &Look, profile: &'a Profile, out: &'a mut dyn Write) -> Self {
        Self {
            profile,
            columns: look.columns(),
            breaks: false,
            out,
            colored: look.is_colored(),
            palette: Palette::default(),
            links: look.links(),
            names: None,
            exists: FxHashMap::default(),
        }
    }

    /// Gives files short names in place of whole paths.
    pub(crate) fn with_short_files(mut self) -> Self {
        self.names = Some(ShortFiles::new(self.profile));
        self
    }

    /// True if there are colours.
    pub(crate) fn is_colored(&self) -> bool {
        self.colored
    }

    /// Writes a line and empties it.
    pub(crate) fn line(&mut self, line: &mut Line) -> io::Result<()> {
        line.write(self.out, self.colored)
    }

    /// Writes a line without styles.
    pub(crate) fn plain(&mut self, text: &str) -> io::Result<()> {
        let mut line = Line::default();
        line.push(text, Style::PLAIN);
        self.line(&mut line)
    }

    /// Writes a sentence, on several lines where that is wanted and needed.
    pub(crate) fn sentence(&mut self, text: &str) -> io::Result<()> {
        self.broken(text, |page, line| page.plain(line))
    }

    /// The same sentence, line by line.
    fn broken(
        &mut self,
        text: &str,
        mut write: impl FnMut(&mut Self, &str) -> io::Result<()>,
    ) -> io::Result<()> {
        if !self.breaks || width(text) <= self.columns {
            return write(self, text);
        }
        let mut line = String::new();
        for word in text.split(' ') {
            let indent = line.is_empty() || line == "  ";
            if !indent && width(&line) + 1 + width(word) > self.columns {
                write(self, &line)?;
                line = "  ".to_owned();
            } else if !indent {
                line.push(' ');
            }
            line.push_str(word);
        }
        write(self, &line)
    }

    /// Writes a line that starts with a coloured word.
    pub(crate) fn marked(&mut self, mark: &str, color: Color, text: &str) -> io::Result<()> {
        let style = Style {
            bold: true,
            ..Style::color(color)
        };
        // A long mark goes on in the next line.
        let mut left = mark;
        self.broken(&format!("{mark}{text}"), |page, text| {
            let mut line = Line::default();
            let words = match text.strip_prefix("  ") {
                Some(words) if left.len() < mark.len() || left.is_empty() => {
                    line.push_spaces(2);
                    words
                }
                _ => text,
            };
            let marked = match words.strip_prefix(left) {
                Some(_) => left.len(),
                None => words.len().min(left.len()),
            };
            let (own, rest) = words.split_at_checked(marked).unwrap_or((words, ""));
            line.push(own, style);
            line.push(rest, Style::PLAIN);
            left = left.get(own.len()..).unwrap_or_default();
            left = left.strip_prefix(' ').unwrap_or(left);
            page.line(&mut line)
        })
    }

    /// The number of columns of a short path's prefix and its separator.
    pub(crate) fn prefix_width(&self, file: FileId) -> usize {
        let (prefix, rest) = self.short_path(file);
        width(prefix) + separator(prefix, rest).len()
    }

    /// The numbers of columns of a short path's prefix and of its rest.
    pub(crate) fn path_widths(&self, file: FileId) -> (usize, usize) {
        let (prefix, rest) = self.short_path(file);
        (width(prefix), width(rest))
    }

    fn short_path(&self, file: FileId) -> (&'a str, &'a str) {
        if let Some(names) = &self.names {
            return names.parts(self.profile, file);
        }
        let file = self.profile.files.get(file);
        (
            self.profile.strings.get(file.prefix),
            self.profile.strings.get(file.rest),
        )
    }

    /// Adds the short path of a file to `line`, the head of its rest cut so that it takes at
    /// most `columns`. What is added after it and marked as a link leads to `number`.
    pub(crate) fn push_path(&mut self, line: &mut Line, file: FileId, columns: usize, number: u32) {
        let (prefix, rest) = self.short_path(file);
        if !prefix.is_empty() {
            let prefix_id = self.profile.files.get(file).prefix;
            let color = self.palette.color(self.profile, prefix_id);
            line.push(prefix, Style::color(color));
        }
        line.push(separator(prefix, rest), Style::PLAIN);
        line.push(&keep_tail(rest, columns), Style::LINK);
        line.link = self.link(file, number);
    }

    pub(crate) fn link(&mut self, file: FileId, line: u32) -> Option<String> {
        let links = self.links.as_ref()?;
        let path = self.profile.strings.get(self.profile.files.get(file).path);
        let exists = self.exists.entry(file).or_insert_with(|| {
            let path = Path::new(path);
            path.is_absolute() && path.exists()
        });
        exists.then(|| links.uri(path, line))
    }
}
