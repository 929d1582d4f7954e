//! Pyroscope's `/ingest`: a profile as the body, or as a part of a form.

use memchr::memmem;

use crate::Error;
use crate::arrived::Arrived;
use crate::{About, Format, Piece, identity, unpacked};

/// The most parts of a form.
const MOST: usize = 16;

pub(crate) fn ingest(arrived: &Arrived, body: &[u8], limit: usize) -> Result<Vec<Piece>, Error> {
    let mut about = About::default();
    let mut format = String::new();
    for (key, value) in form_urlencoded::parse(arrived.query.as_bytes()) {
        match &key[..] {
            "name" => about.identity = identity::of_application(&value),
            "from" => about.from = identity::time_of(&value),
            "sampleRate" => about.rate = value.parse().ok().filter(|rate| *rate > 0.0),
            "format" => format = value.into_owned(),
            "units" => about.units = value.into_owned(),
            _ => {}
        }
    }
    about.identity = identity::named(about.identity);
    if let Some(boundary) = boundary(&arrived.content_type) {
        let parts = parts(body, &boundary)?;
        let part = |name: &str| parts.iter().find(|part| part.0 == name).map(|part| part.1);
        about.cumulative = part("sample_type_config")
            .map(cumulative)
            .unwrap_or_default();
        if part("jfr").is_some() {
            return Err(jfr());
        }
        let profile = part("profile")
            .ok_or_else(|| Error::malformed("form of Pyroscope", "it has no part named profile"))?;
        return Ok(vec![Piece::pprof(profile, about, limit)?]);
    }
    match &format[..] {
        "pprof" => Ok(vec![Piece::pprof(body, about, limit)?]),
        "jfr" => Err(jfr()),
        "" | "folded" | "collapsed" | "groups" | "lines" => {
            // Some say nothing and send a pprof.
            if body.starts_with(&[0x1f, 0x8b]) || body.starts_with(&[0x0a]) && format.is_empty() {
                return Ok(vec![Piece::pprof(body, about, limit)?]);
            }
            Ok(vec![Piece {
                format: Format::Folded,
                bytes: unpacked(body, limit)?,
                about,
            }])
        }
        other => Err(Error::Unsupported {
            what: format!("the format {other}"),
            instead: "pprof and folded are",
        }),
    }
}

fn jfr() -> Error {
    Error::Unsupported {
        what: "JFR of Java".to_owned(),
        instead: "pprof and folded are, and `profundo report FILE` reads a file of JFR",
    }
}

/// The boundary of a form's parts, where the type is that of a form.
fn boundary(content_type: &str) -> Option<String> {
    let (kind, rest) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let mut parameters = rest.split(';').map(str::trim);
    let boundary = parameters.find_map(|parameter| parameter.strip_prefix("boundary="))?;
    let boundary = boundary.trim_matches('"');
    (!boundary.is_empty()).then(|| boundary.to_owned())
}

/// The parts of a form: their names and contents.
fn parts<'b>(body: &'b [u8], boundary: &str) -> Result<Vec<(String, &'b [u8])>, Error> {
    let malformed = |why: &str| Error::malformed("form", why);
    let line = format!("--{boundary}");
    let start = memmem::find(body, line.as_bytes());
    let mut rest =
        &body[start.ok_or_else(|| malformed("its boundary is not there"))? + line.len()..];
    let between = format!("\r\n--{boundary}");
    let mut parts = Vec::new();
    while let Some(behind) = rest.strip_prefix(b"\r\n") {
        let end = memmem::find(behind, between.as_bytes());
        let part = &behind[..end.ok_or_else(|| malformed("it is cut"))?];
        rest = &behind[part.len() + between.len()..];
        let (head, contents) = match memmem::find(part, b"\r\n\r\n") {
            Some(end) => (&part[..end], &part[end + 4..]),
            None => return Err(malformed("a part has no head")),
        };
        let head = String::from_utf8_lossy(head);
        let name = head
            .split_once("name=\"")
            .and_then(|(_, rest)| rest.split_once('"'));
        parts.push((
            name.map_or(String::new(), |(name, _)| name.to_owned()),
            contents,
        ));
        if parts.len() > MOST {
            return Err(malformed("it has too many parts"));
        }
    }
    Ok(parts)
}

/// The values whose sums begin at the program's start: `{"alloc_space": {"cumulative": true}}`.
fn cumulative(config: &[u8]) -> Vec<String> {
    let config: serde_json::Value = serde_json::from_slice(config).unwrap_or_default();
    let rows = config.as_object().into_iter().flatten();
    let rows = rows.filter(|(_, of)| of.get("cumulative").is_some_and(|is| is == true));
    rows.map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_parts() {
        let boundary = boundary("multipart/form-data; boundary=\"x-1\"").unwrap();
        let body = b"--x-1\r\nContent-Disposition: form-data; name=\"profile\"; filename=\"p\"\r\n\
                     Content-Type: a/b\r\n\r\nab\r\n--x\r\n\r\n--x-1\r\n\
                     Content-Disposition: form-data; name=\"sample_type_config\"\r\n\r\n\
                     {\"a\":{\"cumulative\":true},\"b\":{}}\r\n--x-1--\r\n";
        let parts = parts(body, &boundary).unwrap();
        assert_eq!(parts[0], ("profile".to_owned(), &b"ab\r\n--x\r\n"[..]));
        assert_eq!(parts[1].0, "sample_type_config");
        assert_eq!(cumulative(parts[1].1), ["a"]);
        for end in 0..body.len() - 30 {
            let _ = super::parts(&body[..end], &boundary);
        }
        assert!(super::parts(b"--x-1\r\nno end", &boundary).is_err());
        assert_eq!(super::boundary("application/json"), None);
    }
}
