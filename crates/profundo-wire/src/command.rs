//! A command line as one text: words are quoted as a shell would need them, and a line break is
//! `\n`, so the text is one line and says where each argument ends.
//! `profundo_model::words_of_command` reads it.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write;

/// The text of a `/proc/PID/cmdline` file. The first word stays as it is, because programs that
/// give themselves a title (`nginx: master process`) write it there. Empty words at the end are
/// left over from such a title.
///
/// ```
/// use profundo_wire::command;
///
/// let text = command::line(b"sh\0-c\0echo a\necho 'b'\0");
/// assert_eq!(text, r"sh -c $'echo a\necho \'b\''");
/// ```
pub fn line(cmdline: &[u8]) -> String {
    let last = cmdline.iter().rposition(|&byte| byte != 0);
    let end = last.map_or(0, |last| last + 1);
    let is_title = cmdline.split(|&byte| byte == 0).next();
    let is_title = is_title.is_some_and(|word| word.contains(&b' '));
    // One empty word at the end is an argument, if this is no title.
    let end = match cmdline.len() - end {
        2 if !is_title => end + 1,
        _ => end,
    };
    let cmdline = &cmdline[..end];
    let mut words = cmdline
        .split(|&byte| byte == 0)
        .map(String::from_utf8_lossy);
    let mut text = words.next().map(Cow::into_owned).unwrap_or_default();
    for word in words {
        text.push(' ');
        quote(&word, &mut text);
    }
    text
}

fn quote(word: &str, text: &mut String) {
    const PLAIN: &str = "_-+=:,./@%^~";
    let is_plain = |letter: char| {
        letter.is_alphanumeric() || PLAIN.contains(letter) || letter == char::REPLACEMENT_CHARACTER
    };
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(is_plain) {
        text.push_str(word);
    } else if word.chars().any(char::is_control) {
        text.push_str("$'");
        for letter in word.chars() {
            match letter {
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                '\'' | '\\' => text.extend(['\\', letter]),
                _ if letter.is_control() => {
                    // Writing to a text does not fail.
                    let _ = write!(text, "\\u{:04x}", letter as u32);
                }
                _ => text.push(letter),
            }
        }
        text.push('\'');
    } else {
        text.push('\'');
        text.push_str(&word.replace('\'', "'\\''"));
        text.push('\'');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(cmdline: &str, expected: &str) {
        assert_eq!(line(cmdline.as_bytes()), expected);
    }

    #[test]
    fn each_argument_keeps_its_bounds() {
        check("ls\0-l\0/tmp\0", "ls -l /tmp");
        check("ls\0a b\0\0c\0", "ls 'a b' '' c");
        check("sh\0-c\0echo $HOME; x=1\0", "sh -c 'echo $HOME; x=1'");
        check("p\0it's\0", "p 'it'\\''s'");
        check("p\0a\\b\n'c'\t\u{1}é\0", "p $'a\\\\b\\n\\'c\\'\\t\\u0001é'");
        check(
            "nginx: master process /usr/sbin/nginx\0\0\0",
            "nginx: master process /usr/sbin/nginx",
        );
        check("p\0--save\0\0", "p --save ''");
        check("", "");
    }
}
