//! Files whose source lines stay out of a file that is passed on: those that may hold secrets, by
//! their names.

use serde_json::Value;

/// The patterns that hold unless the reader says otherwise.
pub const USUAL: [&str; 16] = [
    ".env",
    ".env.*",
    "*.env",
    "*secret*",
    "*credential*",
    "*password*",
    "*passwd*",
    "id_rsa*",
    "id_ecdsa*",
    "id_ed25519*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    ".netrc",
    ".pgpass",
];

/// Patterns for names: `*` is any text, `?` any letter. One with a slash is about the whole path,
/// another about the name of the file or of a folder above it.
#[derive(Debug, Clone, Default)]
pub struct Confidential {
    patterns: Vec<String>,
}

impl Confidential {
    /// The usual patterns, and these.
    pub fn with(more: &[String]) -> Self {
        let all = USUAL.iter().map(|&pattern| pattern.to_owned());
        Self {
            patterns: all.chain(more.iter().cloned()).collect(),
        }
    }

    /// Whether the lines of a file are left out.
    pub fn holds(&self, path: &str) -> bool {
        let is_like = |pattern: &String| match pattern.contains('/') {
            true => is_match(pattern, path),
            false => path.split('/').any(|part| is_match(pattern, part)),
        };
        self.patterns.iter().any(is_like)
    }

    /// Takes the source lines of such files out of an answer, and names the files.
    pub fn hide(&self, answer: &mut Value, hidden: &mut Vec<String>) {
        self.hide_in(answer, None, hidden);
    }

    /// `file` is the confidential file that the value is about.
    fn hide_in(&self, value: &mut Value, file: Option<&str>, hidden: &mut Vec<String>) {
        match value {
            Value::Array(values) => {
                for value in values {
                    self.hide_in(value, file, hidden);
                }
            }
            Value::Object(members) => {
                let own = file_of(members).map(str::to_owned);
                let file = match &own {
                    Some(path) => self.holds(path).then_some(&**path),
                    None => file,
                };
                for (name, member) in members {
                    let found = file.filter(|_| is_source(name, member));
                    let Some(path) = found else {
                        self.hide_in(member, file, hidden);
                        continue;
                    };
                    *member = match member {
                        Value::Array(_) => Value::Array(Vec::new()),
                        _ => Value::Null,
                    };
                    hidden.push(path.rsplit('/').next().unwrap_or(path).to_owned());
                }
            }
            _ => {}
        }
    }
}

/// Whether a member contains source: the text of a line, or those of a file.
fn is_source(name: &str, member: &Value) -> bool {
    match member {
        Value::String(_) => name == "text",
        Value::Array(lines) => name == "lines" && lines.iter().any(Value::is_string),
        _ => false,
    }
}

/// The file that an object is about: its own, or that of its place after or before.
fn file_of(members: &serde_json::Map<String, Value>) -> Option<&str> {
    let own = members.get("file").and_then(Value::as_str);
    own.or_else(|| {
        let places = ["place_after", "place_before"].into_iter();
        places
            .filter_map(|name| members.get(name)?.get("file")?.as_str())
            .next()
    })
}

/// Whether a text is like a pattern, whatever the case of letters.
fn is_match(pattern: &str, text: &str) -> bool {
    let letters = |text: &str| -> Vec<char> { text.to_lowercase().chars().collect() };
    let (pattern, text) = (letters(pattern), letters(text));
    let (mut at, mut next) = (0, 0);
    // The last star, and where the text after it was tried.
    let mut star: Option<(usize, usize)> = None;
    while at < text.len() {
        match pattern.get(next) {
            Some('*') => {
                star = Some((next, at));
                next += 1;
            }
            Some(&letter) if letter == '?' || letter == text[at] => {
                at += 1;
                next += 1;
            }
            _ => {
                let Some((place, tried)) = star else {
                    return false;
                };
                star = Some((place, tried + 1));
                (at, next) = (tried + 1, place + 1);
            }
        }
    }
    pattern[next..].iter().all(|&letter| letter == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_may_hold_secrets_are_known() {
        let usual = Confidential::with(&[]);
        for path in [
            "/app/.env",
            "/app/.env.local",
            "/app/my_secrets.py",
            "/home/me/.ssh/id_rsa",
            "server.PEM",
            "/etc/credentials/load.py",
        ] {
            assert!(usual.holds(path), "{path}");
        }
        for path in ["/app/environment.py", "/app/tokenize.py", "keys.py", ""] {
            assert!(!usual.holds(path), "{path}");
        }
        let more = Confidential::with(&["*/private/*.py".to_owned(), "conf?g.py".to_owned()]);
        assert!(more.holds("/app/private/a.py"));
        assert!(more.holds("/app/config.py"));
        assert!(!more.holds("/app/private/a.c"));
    }

    #[test]
    fn lines_of_such_files_are_taken_out() {
        let mut answer = serde_json::json!({
            "lines": [
                {"file": "/app/secrets.py", "line": 1, "text": "KEY = 'x'"},
                {"file": "/app/app.py", "line": 1, "text": "import secrets"},
            ],
            "files": [{"file": "/app/.env", "lines": [{"line": 2, "text": "A=1"}]}],
            "source": {"file": "/app/.env", "lines": ["B=2", null]},
            "rows": [{
                "place_before": {"file": "/app/app.py"},
                "place_after": {"file": "/app/id_rsa.py"},
                "text": "load()",
            }],
        });
        let mut hidden = Vec::new();
        Confidential::with(&[]).hide(&mut answer, &mut hidden);
        let text = answer.to_string();
        for secret in ["KEY", "A=1", "B=2", "load()"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(text.contains("import secrets"));
        assert_eq!(answer["source"]["lines"], serde_json::json!([]));
        hidden.sort_unstable();
        hidden.dedup();
        assert_eq!(hidden, [".env", "id_rsa.py", "secrets.py"]);
    }
}
