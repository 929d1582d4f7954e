//! The qualified names of a file's functions and classes, like `co_qualname` from Python 3.11 on.
//!
//! Before, a code object has a bare name and its first line. The text has the scopes around that
//! line.

use super::{Statement, statements};

/// A scope of names: a function, a class or a module.
#[derive(Debug)]
struct Scope {
    name: String,
    /// The lines of its first decorator and of its header.
    first_line: u32,
    header_line: u32,
    indent: usize,
    is_class: bool,
    parent: Option<usize>,
    /// The names that its body declares as global.
    globals: Vec<String>,
}

/// A file's scopes.
#[derive(Debug, Default)]
pub struct Scopes {
    scopes: Vec<Scope>,
    /// First and last line of each statement, its scope, and whether it has a lambda or a
    /// comprehension.
    places: Vec<(u32, u32, Option<usize>, bool)>,
}

impl Scopes {
    /// Reads the outline of a file.
    pub fn new(text: &str) -> Self {
        let mut found = Self::default();
        let mut open: Vec<usize> = Vec::new();
        let mut decorator: Option<u32> = None;
        for statement in statements(text) {
            while let Some(&last) = open.last()
                && found.scopes[last].indent >= statement.indent
            {
                open.pop();
            }
            let parent = open.last().copied();
            let text = &statement.text;
            let is_nesting = text.contains("lambda") || text.contains("for ");
            (found.places).push((statement.line, statement.last_line, parent, is_nesting));
            if statement.text.starts_with('@') {
                decorator = decorator.or(Some(statement.line));
                continue;
            }
            let first_line = decorator.take().unwrap_or(statement.line);
            if let Some((name, is_class)) = defined(&statement) {
                open.push(found.scopes.len());
                found.scopes.push(Scope {
                    name: name.to_owned(),
                    first_line,
                    header_line: statement.line,
                    indent: statement.indent,
                    is_class,
                    parent,
                    globals: Vec::new(),
                });
            } else if let (Some(names), Some(parent)) =
                (statement.text.strip_prefix("global "), parent)
            {
                let names = names.split(',').map(|name| name.trim().to_owned());
                found.scopes[parent].globals.extend(names);
            }
        }
        found
    }

    /// The qualified name of the code object with this name that begins on this line; nothing where
    /// the text has none.
    pub fn qualified(&self, name: &str, first_line: u32) -> Option<String> {
        if name == "<module>" {
            return Some(name.to_owned());
        }
        if name.starts_with('<') {
            // The last statement on the line: the one behind a header, where there is one.
            let end = self.places.partition_point(|place| place.0 <= first_line);
            let place = self.places[..end].iter().rev();
            let (_, _, scope, _) = { place }.find(|place| place.1 >= first_line && place.3)?;
            return Some(self.below(*scope, name));
        }
        let mut named = self.scopes.iter().filter(|scope| scope.name == name);
        let scope = named
            .find(|scope| scope.first_line == first_line || scope.header_line == first_line)?;
        let is_global = (scope.parent).is_some_and(|parent| {
            self.scopes[parent]
                .globals
                .iter()
                .any(|global| global == name)
        });
        Some(match is_global {
            true => name.to_owned(),
            false => self.below(scope.parent, name),
        })
    }

    /// A name with those of the scopes around it.
    fn below(&self, mut scope: Option<usize>, name: &str) -> String {
        let mut text = name.to_owned();
        while let Some(at) = scope {
            let Scope {
                name,
                is_class,
                parent,
                ..
            } = &self.scopes[at];
            text = match is_class {
                true => format!("{name}.{text}"),
                false => format!("{name}.<locals>.{text}"),
            };
            let is_global = parent.is_some_and(|parent| {
                self.scopes[parent]
                    .globals
                    .iter()
                    .any(|global| global == name)
            });
            scope = parent.filter(|_| !is_global);
        }
        text
    }
}

/// The name in a header, and whether it is a class.
fn defined(statement: &Statement) -> Option<(&str, bool)> {
    let text = statement.text.as_str();
    let (rest, is_class) = if let Some(rest) = text.strip_prefix("class ") {
        (rest, true)
    } else {
        let text = text.strip_prefix("async ").unwrap_or(text);
        (text.strip_prefix("def ")?, false)
    };
    let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    (!name.is_empty()).then_some((name, is_class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_what_is_around_them() {
        let scopes = Scopes::new(
            "class Foo:
    def run(self):
        return [x for x in y]

    @property
    @cached(lambda self: 1)
    def value(self): return (x for x in self)

class Bar(Foo):
    def run(self):
        def run(a=lambda: 0):
            class Inner:
                z = lambda: 2
        global made
        def made(): pass
x = lambda: 3
",
        );
        for (name, line, wanted) in [
            ("<module>", 1, Some("<module>")),
            ("Foo", 1, Some("Foo")),
            ("run", 2, Some("Foo.run")),
            ("<listcomp>", 3, Some("Foo.run.<locals>.<listcomp>")),
            ("value", 5, Some("Foo.value")),
            ("value", 7, Some("Foo.value")),
            ("<lambda>", 6, Some("Foo.<lambda>")),
            ("<genexpr>", 7, Some("Foo.value.<locals>.<genexpr>")),
            ("run", 10, Some("Bar.run")),
            ("run", 11, Some("Bar.run.<locals>.run")),
            ("<lambda>", 11, Some("Bar.run.<locals>.<lambda>")),
            ("Inner", 12, Some("Bar.run.<locals>.run.<locals>.Inner")),
            (
                "<lambda>",
                13,
                Some("Bar.run.<locals>.run.<locals>.Inner.<lambda>"),
            ),
            ("made", 15, Some("made")),
            ("<lambda>", 16, Some("<lambda>")),
            // The file is another one by now.
            ("run", 3, None),
            ("gone", 2, None),
            ("<lambda>", 99, None),
        ] {
            assert_eq!(
                scopes.qualified(name, line).as_deref(),
                wanted,
                "{name}:{line}"
            );
        }
    }

    /// Prints path, first line, name and qualified name of the code objects of the standard
    /// library.
    const LIST: &str = r#"
import os, sys
def walk(code, path):
    print(path, code.co_firstlineno, code.co_name, code.co_qualname, sep="\t")
    for it in code.co_consts:
        if hasattr(it, "co_code"):
            walk(it, path)
for folder, subs, files in os.walk(os.path.dirname(os.__file__)):
    subs[:] = [it for it in subs if it not in ("site-packages", "dist-packages", "test", "tests")]
    for path in [os.path.join(folder, it) for it in files if it.endswith(".py")]:
        try:
            walk(compile(open(path, "rb").read(), path, "exec"), path)
        except (SyntaxError, ValueError):
            pass
"#;

    #[test]
    fn the_interpreter_gives_the_same_names() {
        let mut python = std::process::Command::new("python3");
        let output = python
            .args(["-I", "-S", "-W", "ignore", "-c", LIST])
            .output();
        let Some(output) = output.ok().filter(|output| output.status.success()) else {
            profundo_testing::skip("there is no python3 from 3.11 on");
            return;
        };
        let mut scopes = std::collections::HashMap::<String, Scopes>::new();
        let (mut all, mut same, mut others) = (0, 0, Vec::new());
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let [path, first, name, qualified] = line.split('\t').collect::<Vec<_>>()[..] else {
                continue;
            };
            let scopes = scopes.entry(path.to_owned()).or_insert_with(|| {
                Scopes::new(&String::from_utf8_lossy(&std::fs::read(path).unwrap()))
            });
            all += 1;
            let found = scopes.qualified(name, first.parse().unwrap());
            if found.as_deref() == Some(qualified) {
                same += 1;
            } else {
                others.push(format!("{path}:{first} {qualified}: {found:?}"));
            }
        }
        assert!(
            all > 5_000 && f64::from(same) > 0.99 * f64::from(all),
            "{same} of {all}: {others:#?}"
        );
        // Differences are within an expression: a function has exactly this name.
        let is_function =
            |difference: &&String| !difference.split(": ").next().unwrap_or("").ends_with('>');
        let functions: Vec<&String> = others.iter().filter(is_function).collect();
        assert!(functions.len() < 10, "{functions:#?}");
    }
}
