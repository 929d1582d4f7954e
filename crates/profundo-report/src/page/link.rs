//! Hyperlinks to source lines. A terminal that knows OSC 8 opens them; the reader chooses the
//! editor that then shows the line.

use std::fmt;
use std::path::Path;

/// The form of links that an editor wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Links {
    VsCode,
    Sublime,
    Atom,
    /// `scheme://open?file=…&line=…`
    Open(&'static str),
    /// No known editor: a plain link to a file on this host, without a line.
    File(String),
}

impl Links {
    /// The links for an editor's command line, such as `code --wait` or `/usr/bin/vim`.
    pub(crate) fn for_editor(command: &str) -> Self {
        let program = command.split_whitespace().next().unwrap_or("");
        let program = Path::new(program)
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or("");
        match program {
            "code" => Self::VsCode,
            "subl" | "sublime_text" => Self::Sublime,
            "atom" => Self::Atom,
            "pycharm" => Self::Open("pycharm"),
            "emacs" | "emacsclient" => Self::Open("emacs"),
            "vim" | "nvim" => Self::Open("vim"),
            name if name.contains("idea") => Self::Open("idea"),
            _ => Self::File(host()),
        }
    }

    /// The links for the first editor that the environment names.
    pub(crate) fn from_environment() -> Self {
        let names = ["PROFUNDO_EDITOR", "VISUAL", "EDITOR"];
        let editor = names
            .iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
        Self::for_editor(editor.as_deref().unwrap_or(""))
    }

    /// The link to a line, or to the file where the line is 0, which stands for "unknown".
    pub(crate) fn uri(&self, path: &str, line: u32) -> String {
        let path = percent_encoded(path);
        self.form(&path, (line > 0).then_some(&line))
    }

    /// The link with a path that is encoded already.
    fn form(&self, path: &str, line: Option<&dyn fmt::Display>) -> String {
        let Some(line) = line else {
            return self.form_of_file(path);
        };
        match self {
            Self::VsCode => format!("vscode://file{path}:{line}"),
            Self::Sublime => format!("subl://open?url=file://{path}&line={line}"),
            Self::Atom => format!("atom://core/open/file?filename={path}&line={line}"),
            Self::Open(scheme) => format!("{scheme}://open?file={path}&line={line}"),
            Self::File(host) => format!("file://{host}{path}"),
        }
    }

    fn form_of_file(&self, path: &str) -> String {
        match self {
            Self::VsCode => format!("vscode://file{path}"),
            Self::Sublime => format!("subl://open?url=file://{path}"),
            Self::Atom => format!("atom://core/open/file?filename={path}"),
            Self::Open(scheme) => format!("{scheme}://open?file={path}"),
            Self::File(host) => format!("file://{host}{path}"),
        }
    }
}

/// The links that an editor opens, for pages that make them: `{path}` stands for a path, each byte
/// that is no letter, digit or one of `/-._~` as `%XX`, and `{line}` for a line's number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditorLinks {
    /// The link to a file.
    pub file: String,
    /// The link to a line.
    pub line: String,
}

impl EditorLinks {
    /// The links for an editor's command line; where there is none, for the first editor that the
    /// environment names. `None` for an editor whose links are not known: a browser opens no other
    /// files.
    pub fn new(editor: Option<&str>) -> Option<Self> {
        let links = match editor {
            Some(editor) => Links::for_editor(editor),
            None => Links::from_environment(),
        };
        (!matches!(links, Links::File(_))).then(|| Self {
            file: links.form("{path}", None),
            line: links.form("{path}", Some(&"{line}")),
        })
    }
}

/// The name of this host: a terminal on another one sees by it that the file is not there.
fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

fn percent_encoded(path: &str) -> String {
    let mut encoded = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_editor_has_its_own_links() {
        let rows = [
            ("code --wait", "vscode://file/a%20b.rs:7"),
            ("/usr/bin/subl", "subl://open?url=file:///a%20b.rs&line=7"),
            ("sublime_text", "subl://open?url=file:///a%20b.rs&line=7"),
            ("idea64", "idea://open?file=/a%20b.rs&line=7"),
            ("pycharm", "pycharm://open?file=/a%20b.rs&line=7"),
            ("emacsclient -n", "emacs://open?file=/a%20b.rs&line=7"),
            ("emacs", "emacs://open?file=/a%20b.rs&line=7"),
            ("nvim", "vim://open?file=/a%20b.rs&line=7"),
            ("vim", "vim://open?file=/a%20b.rs&line=7"),
            ("atom", "atom://core/open/file?filename=/a%20b.rs&line=7"),
        ];
        for (editor, expected) in rows {
            assert_eq!(Links::for_editor(editor).uri("/a b.rs", 7), expected);
        }
    }

    #[test]
    fn other_editors_get_a_plain_file() {
        for editor in ["nano", ""] {
            assert_eq!(Links::for_editor(editor), Links::File(host()));
        }
        assert_eq!(
            Links::File("box".to_owned()).uri("/é.rs", 7),
            "file://box/%C3%A9.rs"
        );
    }

    #[test]
    fn a_page_fills_the_path_and_the_line_in() {
        let links = EditorLinks::new(Some("code --wait")).unwrap();
        assert_eq!(links.file, "vscode://file{path}");
        assert_eq!(links.line, "vscode://file{path}:{line}");
        for editor in ["code", "subl", "atom", "pycharm", "emacs", "nvim", "idea"] {
            let links = EditorLinks::new(Some(editor)).unwrap();
            let line = links.line.replace("{path}", "/a.rs").replace("{line}", "7");
            assert_eq!(line, Links::for_editor(editor).uri("/a.rs", 7));
        }
        assert_eq!(EditorLinks::new(Some("nano")), None);
    }

    #[test]
    fn an_unknown_line_is_left_out() {
        assert_eq!(Links::VsCode.uri("/a.rs", 0), "vscode://file/a.rs");
        assert_eq!(Links::Open("vim").uri("/a.rs", 0), "vim://open?file=/a.rs");
    }
}
