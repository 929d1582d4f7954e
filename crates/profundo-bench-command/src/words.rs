//! Splits a command line into words, for commands without a shell: quotes and backslashes have
//! their shell meaning.

/// The words, or why there are none.
pub fn split(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    let unfinished = || format!("`{line}` ends within a quotation");
    while let Some(character) = characters.next() {
        match character {
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or_else(unfinished)? {
                        '\'' => break,
                        character => word.push(character),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next().ok_or_else(unfinished)? {
                        '"' => break,
                        '\\' => match characters.next().ok_or_else(unfinished)? {
                            character @ ('"' | '\\' | '$' | '`') => word.push(character),
                            character => word.extend(['\\', character]),
                        },
                        character => word.push(character),
                    }
                }
            }
            '\\' => {
                let next = characters.next().ok_or_else(unfinished)?;
                word.get_or_insert_default().push(next);
            }
            character if character.is_whitespace() => words.extend(word.take()),
            character => word.get_or_insert_default().push(character),
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
