//! A command line in words, for commands that are run without a shell: quotes and backslashes mean what they mean there.

/// The words, or why there are none.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    let unfinished = || format!("`{line}` ends within a quotation");
    while let Some(it) = characters.next() {
        match it {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or_else(unfinished)? {
                        '\'' => break,
                        it => word.push(it),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or_else(unfinished)? {
                        '"' => break,
                        '\\' => match characters.next().ok_or_else(unfinished)? {
                            it @ ('"' | '\\' | '$' | '`') => word.push(it),
                            it => word.extend(['\\', it]),
                        },
                        it => word.push(it),
                    }
                }
            }
            '\\' => {
                let next = characters.next().ok_or_else(unfinished)?;
                word.get_or_insert_default().push(next);
            }
            it if it.is_whitespace() => words.extend(word.take()),
            it => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    if words.is_empty() {
        return Err("an empty line is no command".into());
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn words_are_those_of_a_shell() {
        let words = |line| split(line).unwrap();
        assert_eq!(words("a  b\tc"), ["a", "b", "c"]);
        assert_eq!(words("a 'b c'd \"e \\\" f\""), ["a", "b cd", "e \" f"]);
        assert_eq!(words("a\\ b '' \"\\n\""), ["a b", "", "\\n"]);
        for wrong in ["", "  ", "'a", "\"a", "\"a\\", "a\\"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
