//! Reading a file of settings, each key with its line: a table for each command, keys that are for
//! all of them, and `[mine]`.

use std::fmt;
use std::ops::Range;

use clap::{Command, CommandFactory};
use profundo_console::options::own_code::rule;

use toml::de::{DeTable as Table, DeValue};

use super::find::{Found, Kind, Place};
use super::{File, known};
use crate::options::Arguments;

/// An option and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The command that it is for; `None`: all that have it.
    pub verb: Option<String>,
    /// The option's long name.
    pub key: String,
    pub value: Value,
    /// Its line in the file.
    pub line: usize,
}

/// The value of a setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// On or off.
    Switch(bool),
    /// One value, as it would be typed.
    One(String),
    /// The values of an option that may be repeated.
    Several(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(is_on) => is_on.fmt(f),
            Self::One(text) => f.write_str(text),
            Self::Several(texts) => f.write_str(&texts.join(", ")),
        }
    }
}

/// Reads a file. The error names the line.
pub fn read(found: &Found, place: &Place, commands: &Command) -> Result<Option<File>, String> {
    let reader = Reader {
        found,
        place,
        commands,
    };
    let text = found.text.as_str();
    let document = Table::parse(text).map_err(|error| {
        let at = error.span().unwrap_or_default();
        let why = error
            .message()
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned();
        reader.at(&at, &format!("it is no TOML: {why}"))
    })?;
    let mut table = document.get_ref();
    for name in found.kind.tables() {
        match table
            .get(*name)
            .and_then(|value| value.get_ref().as_table())
        {
            Some(inner) => table = inner,
            None => return Ok(None),
        }
    }
    let mut file = File {
        path: found.path.clone(),
        kind: found.kind,
        entries: Vec::new(),
        mine: Vec::new(),
    };
    reader.top(table, &mut file)?;
    file.entries.sort_by_key(|entry| entry.line);
    Ok(Some(file))
}

/// All commands with their options.
pub(super) fn commands() -> Command {
    let mut all = Arguments::command();
    all.build();
    all
}

struct Reader<'a> {
    found: &'a Found,
    place: &'a Place,
    commands: &'a Command,
}

impl Reader<'_> {
    /// A sentence about a place in the file.
    fn at(&self, span: &Range<usize>, what: &str) -> String {
        let line = self.line(span);
        // A project's file must not move the cursor.
        let what: String = (what.chars())
            .map(|character| {
                if character.is_control() {
                    char::REPLACEMENT_CHARACTER
                } else {
                    character
                }
            })
            .collect();
        format!("{}, line {line}: {what}", self.found.path.display())
    }

    fn line(&self, span: &Range<usize>) -> usize {
        let before = self.found.text.get(..span.start).unwrap_or_default();
        1 + before.bytes().filter(|byte| *byte == b'\n').count()
    }

    fn top(&self, table: &Table<'_>, file: &mut File) -> Result<(), String> {
        let verbs: Vec<&Command> = known::verbs(self.commands).collect();
        for (key, value) in table {
            let (name, span) = (key.get_ref().as_ref(), key.span());
            let verb = verbs.iter().find(|verb| verb.get_name() == name);
            match (value.get_ref(), verb) {
                (DeValue::Table(inner), _) if name == "mine" => self.mine(inner, file)?,
                (_, _) if name == "mine" => {
                    let how = "`mine` is a table: [mine] with include = [\"src\"], exclude = [\"third_party\"]";
                    return Err(self.at(&span, how));
                }
                (DeValue::Table(inner), None) if name == "region" => self.region(inner)?,
                (DeValue::Table(inner), Some(verb)) => {
                    for (key, value) in inner {
                        let (name, span) = (key.get_ref().as_ref(), key.span());
                        let entry = self.entry(&[verb], name, value.get_ref(), &span)?;
                        let verb = Some(verb.get_name().to_owned());
                        file.entries.push(Entry { verb, ..entry });
                    }
                }
                (DeValue::Table(_), None) => {
                    let names = verbs
                        .iter()
                        .map(|command| command.get_name())
                        .chain(["mine", "region"]);
                    let near = known::near(name, names);
                    let what = format!("`[{name}]` is no command of profundo's{near}");
                    return Err(self.at(&span, &what));
                }
                (value, _) => {
                    let entry = self.entry(&verbs, name, value, &span)?;
                    file.entries.push(entry);
                }
            }
        }
        Ok(())
    }

    /// An option of one of these commands.
    fn entry(
        &self,
        verbs: &[&Command],
        key: &str,
        value: &DeValue<'_>,
        span: &Range<usize>,
    ) -> Result<Entry, String> {
        let options = verbs.iter().find_map(|verb| known::option(verb, key));
        let Some(option) = options else {
            let names = verbs.iter().flat_map(|verb| verb.get_arguments());
            let near = known::near(key, names.filter_map(|argument| argument.get_long()));
            let of = match verbs {
                [verb] => format!("`{}`", verb.get_name()),
                _ => "any command".to_owned(),
            };
            return Err(self.at(
                span,
                &format!("`{key}` is no option of {of} that can be set{near}"),
            ));
        };
        if self.found.kind != Kind::Users && !known::is_projects(key) {
            let file = match &self.place.users {
                Some(folder) => folder.join("config.toml").display().to_string(),
                None => "the user's own config.toml".to_owned(),
            };
            let what = format!(
                "a project cannot set `{key}`, which says what is run, written or replaced; {file} can"
            );
            return Err(self.at(span, &what));
        }
        let wrong = |wanted: &str| {
            let got = value.type_str();
            self.at(
                span,
                &format!("`{key}` wants {wanted}, and has a value of type {got}"),
            )
        };
        let value = match value {
            DeValue::Boolean(is_on) if known::is_switch(option) => Value::Switch(*is_on),
            _ if known::is_switch(option) => return Err(wrong("true or false")),
            DeValue::Boolean(is_on) if known::needs_no_value(option) => Value::Switch(*is_on),
            DeValue::Array(texts) if known::is_repeated(option) => {
                let texts = texts.iter().map(|text| scalar(text.get_ref()));
                let texts: Option<Vec<String>> = texts.collect();
                Value::Several(texts.ok_or_else(|| wrong("a list of texts"))?)
            }
            value => match scalar(value) {
                Some(text) => Value::One(text),
                None if known::is_repeated(option) => {
                    return Err(wrong("a text, or a list of them"));
                }
                None => return Err(wrong("a text or a number")),
            },
        };
        Ok(Entry {
            verb: None,
            key: key.to_owned(),
            value,
            line: self.line(span),
        })
    }

    /// Looks at the settings of regions, which the Python package reads.
    fn region(&self, table: &Table<'_>) -> Result<(), String> {
        const NAMES: [&str; 6] = ["memory", "no-children", "rate", "syscalls", "trace", "wall"];
        for key in table.keys() {
            let (name, span) = (key.get_ref().as_ref(), key.span());
            if !NAMES.contains(&name) {
                let near = known::near(name, NAMES);
                let what = format!("`{name}` is no option of a region{near}");
                return Err(self.at(&span, &what));
            }
        }
        Ok(())
    }

    /// Reads the rules of own code: `include` without `exclude`.
    fn mine(&self, table: &Table<'_>, file: &mut File) -> Result<(), String> {
        let (mut include, mut exclude) = (Vec::new(), Vec::new());
        for (key, value) in table {
            let (name, span) = (key.get_ref().as_ref(), key.span());
            let into = match name {
                "include" => &mut include,
                "exclude" => &mut exclude,
                _ => {
                    let near = known::near(name, ["include", "exclude"]);
                    let what =
                        format!("`[mine]` has `include` and `exclude`, and no `{name}`{near}");
                    return Err(self.at(&span, &what));
                }
            };
            let texts = value.get_ref().as_array().map(|texts| {
                let texts = texts.iter().map(|text| text.get_ref().as_str());
                texts.collect::<Option<Vec<&str>>>()
            });
            let texts = texts.flatten().ok_or_else(|| {
                self.at(
                    &span,
                    &format!("`{name}` wants a list of patterns in quotes"),
                )
            })?;
            for text in texts {
                let pattern = self.pattern(text).map_err(|why| self.at(&span, &why))?;
                into.push(pattern);
            }
        }
        file.mine.extend(include);
        file.mine
            .extend(exclude.into_iter().map(|pattern| format!("!{pattern}")));
        Ok(())
    }

    fn pattern(&self, text: &str) -> Result<String, String> {
        if text.starts_with('!') {
            return Err(format!("`{text}` belongs in `exclude`, without the `!`"));
        }
        let is_whole = ["/", "~/", "**/"]
            .iter()
            .any(|start| text.starts_with(start));
        if self.found.kind == Kind::Users && !is_whole {
            return Err(format!(
                "`{text}` is in no project here: a pattern begins with `/`, `~/` or `**/`"
            ));
        }
        rule(text, &self.found.base, self.place.home.as_deref())
    }
}

/// A text or a number, as it would be typed.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) if text.contains(char::is_control) => None,
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => match number.radix() {
            10 => Some(number.as_str().to_owned()),
            radix => Some(
                i64::from_str_radix(number.as_str(), radix)
                    .ok()?
                    .to_string(),
            ),
        },
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, text: &str) -> Result<File, String> {
        let place = Place {
            here: "/p/src".into(),
            home: Some("/home/u".into()),
            users: Some("/home/u/.config/profundo".into()),
        };
        let found = Found {
            path: "/p/config.toml".into(),
            kind,
            text: text.to_owned(),
            base: "/p".into(),
        };
        super::read(&found, &place, &commands()).map(Option::unwrap)
    }

    #[test]
    fn a_table_is_for_a_command_and_a_key_for_all() {
        let text = "width = 1_00\n[run]\nrate = 500.5\nwall = true\nmemory = \"exact\"\n[trace]\nlines = [\"a.py\", \"b.py\"]\n";
        let file = read(Kind::Folders, text).unwrap();
        let entries: Vec<String> = (file.entries.iter())
            .map(|entry| {
                let verb = entry.verb.as_deref().unwrap_or("*");
                format!("{} {verb} {}={}", entry.line, entry.key, entry.value)
            })
            .collect();
        let expected = [
            "1 * width=100",
            "3 run rate=500.5",
            "4 run wall=true",
            "5 run memory=exact",
            "7 trace lines=a.py, b.py",
        ];
        assert_eq!(entries, expected);
    }

    #[test]
    fn patterns_begin_in_the_projects_folder() {
        let text = "[mine]\ninclude = [\"src\", \"~/lib\", \"**/x\"]\nexclude = [\"src/vendor\"]\n";
        let expected = ["/p/./src", "/home/u/lib", "**/x", "!/p/./src/vendor"];
        assert_eq!(read(Kind::Folders, text).unwrap().mine, expected);
        let table = "[tool.profundo.mine]\ninclude = [\"a\"]\n";
        assert_eq!(read(Kind::Pyproject, table).unwrap().mine, ["/p/./a"]);
        let table = "[package.metadata.profundo]\nmine = { include = [\"a\"] }\n";
        assert_eq!(read(Kind::Package, table).unwrap().mine, ["/p/./a"]);
        let why = read(Kind::Users, text).unwrap_err();
        assert!(why.contains("a pattern begins with"), "{why}");
    }

    #[test]
    fn errors_name_their_line() {
        for (text, why) in [
            ("rate = ", "line 1: it is no TOML"),
            ("\nreit = 5", "line 2: `reit` is no option of any command"),
            (
                "[run]\nwidht = 5",
                "line 2: `widht` is no option of `run` that can be set; is it `width`?",
            ),
            ("[record]\nlimit = 5", "`limit` is no option of `record`"),
            (
                "[reprot]\nlimit = 5",
                "`[reprot]` is no command of profundo's; is it `report`?",
            ),
            (
                "wall = 1",
                "`wall` wants true or false, and has a value of type integer",
            ),
            ("rate = true", "`rate` wants a text or a number"),
            ("rate = [1]", "`rate` wants a text or a number"),
            ("help = true", "`help` is no option"),
            ("title = \"\\u001b[2J\"", "`title` wants a text or a number"),
            ("\"\\u001b[2J\" = 1", "`\u{fffd}[2J` is no option"),
            ("mine = [\"a\"]", "`mine` is a table"),
            ("[mine]\ninclude = \"a\"", "`include` wants a list"),
            ("[mine]\ninclude = [\"!a\"]", "`!a` belongs in `exclude`"),
            ("[mine]\ninclud = []", "is it `include`?"),
            (
                "[region]\ntrac = true",
                "`trac` is no option of a region; is it `trace`?",
            ),
        ] {
            let error = read(Kind::Folders, text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
            assert!(error.starts_with("/p/config.toml, line "), "{error}");
        }
    }

    #[test]
    fn a_project_names_no_place_and_no_program() {
        for text in [
            "output = \"/home/u/.bashrc\"",
            "[run]\nreport-to = \"x\"",
            "[report]\neditor = \"sh\"",
            "[top]\noutput-to = \"x\"",
            "[bench]\nprepare = [\"rm -rf /\"]",
            "force = true",
            "keep = 1",
        ] {
            let error = read(Kind::Folders, text).unwrap_err();
            assert!(error.contains("a project cannot set `"), "{text}: {error}");
            assert!(read(Kind::Users, text).is_ok(), "{text}");
        }
    }
}
