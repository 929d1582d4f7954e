//! Texts of pages: escaping, shares, names of files, the look.

/// The text with markup and control characters made harmless. Marks that turn the direction of
/// writing are shown by their number.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' => out.push_str("    "),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                out.push_str(&format!("[{:04x}]", u32::from(letter)));
            }
            letter if letter.is_control() => out.push('\u{fffd}'),
            letter => out.push(letter),
        }
    }
    out
}

/// A share in percent, as reports show it.
pub(super) fn percent(share: f64) -> String {
    match share * 100.0 {
        small if small < 0.05 => "&lt;0.1&nbsp;%".to_owned(),
        share => format!("{share:.1}&nbsp;%"),
    }
}

/// The name of a file's page: its number keeps names apart, its words are for the reader.
pub(super) fn file_name(number: usize, path: &str) -> String {
    const LONGEST: usize = 60;
    let is_plain =
        |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_');
    let name = path.rsplit('/').next().unwrap_or(path);
    let name: String = (name.chars().take(LONGEST))
        .map(|letter| if is_plain(letter) { letter } else { '_' })
        .collect();
    format!("{number:04}-{name}.html")
}

/// The background of a row with this share: from nothing to red, for a light and a dark page alike.
pub(super) fn heat(share: f64) -> String {
    let strength = share.clamp(0.0, 1.0).sqrt() * 0.55;
    match strength < 0.02 {
        true => String::new(),
        false => format!(" style=\"background:rgba(226,74,51,{strength:.2})\""),
    }
}

/// A whole page.
pub(super) fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"generator\" content=\"profundo\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

const STYLE: &str = "
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 1.5em auto; max-width: 90em; padding: 0 1em; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 1.6em; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-weight: 600; border-bottom: 1px solid #8888; }
th.number, td.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td, th { padding: 1px 10px 1px 0; vertical-align: top; }
.code, .code td { font-family: ui-monospace, monospace; font-size: 13px; }
td.text { white-space: pre-wrap; width: 100%; overflow-wrap: anywhere; }
tr:target { outline: 2px solid #3b78e7; }
details { font-family: system-ui, sans-serif; white-space: nowrap; }
summary { cursor: pointer; } details ul { margin: 0; padding-left: 1.2em; }
a { color: #2563c9; } @media (prefers-color-scheme: dark) { a { color: #8ab4f8; } }
.soft { opacity: 0.75; }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_marks_are_text() {
        let text = "<script>\"x\" & 'y'\u{202e}\u{7}";
        assert_eq!(
            escaped(text),
            "&lt;script&gt;&quot;x&quot; &amp; &#39;y&#39;[202e]\u{fffd}"
        );
        assert_eq!(file_name(3, "../a/<b>\u{e9} c.py"), "0003-_b___c.py.html");
        assert_eq!(file_name(12, "<string>"), "0012-_string_.html");
    }
}
