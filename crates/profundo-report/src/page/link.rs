//! Hyperlinks to source lines. A terminal that knows OSC 8 opens them; the reader chooses the
//! editor that then shows the line.

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
        match (self, line) {
            (Self::VsCode, 0) => format!("vscode://file{path}"),
            (Self::VsCode, _) => format!("vscode://file{path}:{line}"),
            (Self::Sublime, 0) => format!("subl://open?url=file://{path}"),
            (Self::Sublime, _) => format!("subl://open?url=file://{path}&line={line}"),
            (Self::Atom, 0) => format!("atom://core/open/file?filename={path}"),
            (Self::Atom, _) => format!("atom://core/open/file?filename={path}&line={line}"),
            (Self::Open(scheme), 0) => format!("{scheme}://open?file={path}"),
            (Self::Open(scheme), _) => format!("{scheme}://open?file={path}&line={line}"),
            (Self::File(host), _) => format!("file://{host}{path}"),
        }
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
    fn an_unknown_line_is_left_out() {
        assert_eq!(Links::VsCode.uri("/a.rs", 0), "vscode://file/a.rs");
        assert_eq!(Links::Open("vim").uri("/a.rs", 0), "vim://open?file=/a.rs");
    }
}
