//! The path of a span as text: `request?user=5/query`. Names stand behind each other, the outermost
//! first, with their attributes. `/`, `?`, `&`, `=` and `%` in them are written as in a URL.

use profundo_model::{Profile, SpanId, SpanPath};

/// The text of a path.
pub fn path_of(profile: &Profile, span: SpanId) -> String {
    let mut parts: Vec<String> = Vec::new();
    for id in profile.spans.paths.outwards(span) {
        let path = profile.spans.paths.get(id);
        let mut text = escaped(profile.strings.get(path.name));
        for (at, &(key, value)) in path.attributes.iter().enumerate() {
            text.push(if at == 0 { '?' } else { '&' });
            text += &escaped(profile.strings.get(key));
            text.push('=');
            text += &escaped(profile.strings.get(value));
        }
        parts.push(text);
    }
    parts.reverse();
    parts.join("/")
}

/// The path of a text, with those around it.
pub fn read_path(profile: &mut Profile, text: &str) -> SpanId {
    let mut parent = None;
    for part in text.split('/').filter(|part| !part.is_empty()) {
        let (name, attributes) = part.split_once('?').unwrap_or((part, ""));
        let attributes = attributes
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let strings = &mut profile.strings;
        let path = SpanPath {
            parent,
            name: strings.intern(&unescaped(name)),
            attributes: attributes
                .map(|(key, value)| {
                    (
                        strings.intern(&unescaped(key)),
                        strings.intern(&unescaped(value)),
                    )
                })
                .collect(),
        };
        parent = Some(profile.spans.paths.intern(path));
    }
    parent.unwrap_or_default()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '/' | '?' | '&' | '=' | '%' => out += &format!("%{:02X}", character as u32),
            _ => out.push(character),
        }
    }
    out
}

/// The text behind a `%` and two digits each; others stay as they are.
pub(crate) fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| first == b'%');
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        rest = match byte {
            Some(_) => &behind[2..],
            None => behind,
        };
        out.push(byte.unwrap_or(first));
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_come_back() {
        let mut profile = Profile::default();
        let text = "request?user=5&route=%2Fa%3Fb%3D%25/query";
        let span = read_path(&mut profile, text);
        assert_eq!(path_of(&profile, span), text);
        let path = profile.spans.paths.get(span);
        assert_eq!(profile.strings.get(path.name), "query");
        let around = profile.spans.paths.get(path.parent.unwrap());
        assert_eq!(profile.strings.get(around.attributes[1].1), "/a?b=%");
        assert_eq!(read_path(&mut profile, ""), SpanId(0));
        assert_eq!(unescaped("100%"), "100%");
        assert_eq!(unescaped("%zz"), "%zz");
    }
}
