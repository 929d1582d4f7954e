//! The words of a command line. Recordings keep it as one text, in which words are quoted as a
//! shell would need them.

/// The words of a command line. Older recordings have no quotes: there, words end at blanks.
///
/// ```
/// let words = profundo_model::words_of_command(r"sh -c $'echo a\necho \'b\''");
/// assert_eq!(words, ["sh", "-c", "echo a\necho 'b'"]);
/// ```
pub fn words_of_command(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start_matches(' ');
    while !rest.is_empty() {
        let mut word = String::new();
        while let Some(letter) = rest.chars().next().filter(|&letter| letter != ' ') {
            rest = if let Some(inner) = rest.strip_prefix("$'") {
                escaped(inner, &mut word)
            } else if let Some(inner) = rest.strip_prefix('\'') {
                let (text, after) = inner.split_once('\'').unwrap_or((inner, ""));
                word.push_str(text);
                after
            } else {
                let plain = match letter {
                    '\\' => &rest[1..],
                    _ => rest,
                };
                word.extend(plain.chars().next());
                &plain[plain.chars().next().map_or(0, char::len_utf8)..]
            };
        }
        found.push(word);
        rest = rest.trim_start_matches(' ');
    }
    found
}

/// Reads up to the quote that ends `$'…'`; returns the text behind it.
fn escaped<'a>(text: &'a str, word: &mut String) -> &'a str {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => return &text[at + 1..],
            '\\' => match letters.next() {
                Some((_, 'n')) => word.push('\n'),
                Some((_, 't')) => word.push('\t'),
                Some((at, 'u')) => {
                    let digits = text.get(at + 1..at + 5).unwrap_or_default();
                    let number = u32::from_str_radix(digits, 16).ok();
                    word.extend(number.and_then(char::from_u32));
                    for _ in digits.chars() {
                        letters.next();
                    }
                }
                Some((_, other)) => word.push(other),
                None => {}
            },
            other => word.push(other),
        }
    }
    ""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_keep_a_word_together() {
        let check = |text, expected: &[&str]| assert_eq!(words_of_command(text), expected);
        check("ls  'a b' '' c", &["ls", "a b", "", "c"]);
        check(r"p 'it'\''s'", &["p", "it's"]);
        check(r"p $'a\\b\n\t\u0001é'", &["p", "a\\b\n\t\u{1}é"]);
        check("", &[]);
    }

    #[test]
    fn any_text_has_words() {
        for text in ["'", "$'", "\\", "a\\", "$'\\u00", "$'\\", "é'", "$'\\ué"] {
            assert!(words_of_command(text).len() < 2);
        }
    }
}
