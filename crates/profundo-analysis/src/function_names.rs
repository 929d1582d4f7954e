//! Whether a function has the name that a user typed, and which names are near to it.
//!
//! An instance of a generic function has its types in its name (`app::biggest::<i32>`). Users leave
//! these out, so names are compared with them and without.

use crate::Pattern;

/// The limit of near names in a sentence.
const MOST: usize = 3;

/// Whether a function is called so, as a whole.
pub fn fits(pattern: &Pattern, name: &str) -> bool {
    let is_it = |name: &str| match pattern.is_glob() {
        true => pattern.is_in(name),
        false => pattern.text() == name,
    };
    is_it(name) || is_it(&without_instance(name))
}

/// The same, where the outer parts of a path may be left out.
pub fn fits_end(pattern: &Pattern, name: &str) -> bool {
    let bare = without_instance(name);
    [name, bare.as_str()].into_iter().any(|name| {
        let shorter = name.match_indices("::");
        let mut ends = shorter.map(|(at, separator)| &name[at + separator.len()..]);
        fits(pattern, name) || ends.any(|end| fits(pattern, end))
    })
}

/// The operators of C++ that have brackets in their names, the longer ones first.
const OPERATORS: [&str; 11] = [
    "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">",
];

/// A name without the types of an instance: `app::biggest` for `app::biggest::<i32>` and
/// `app::biggest<int>`.
pub fn without_instance(name: &str) -> String {
    let mut bare = String::with_capacity(name.len());
    let mut depth = 0_usize;
    let mut before = '\0';
    let mut operator = 0;
    for (at, letter) in name.char_indices() {
        if depth == 0 && bare.ends_with("operator") {
            let symbol = OPERATORS
                .iter()
                .find(|symbol| name[at..].starts_with(**symbol));
            operator = at + symbol.map_or(0, |symbol| symbol.len());
        }
        match letter {
            // What an operator is called, and the type that a method is of, are no instances.
            _ if at < operator => bare.push(letter),
            '<' if at == 0 => bare.push(letter),
            '<' => {
                depth += 1;
                if depth == 1 && bare.ends_with("::") {
                    bare.truncate(bare.len() - 2);
                }
            }
            // The arrow of a function's type closes nothing.
            '>' if depth > 0 && before == '-' => {}
            '>' if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            _ => bare.push(letter),
        }
        before = letter;
    }
    bare
}

/// The names that are nearest to the one that was typed, best first: those that differ by some
/// letters, or have it in them.
pub fn near<'a>(typed: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let typed = last_part(typed).to_lowercase();
    let most = typed.len().div_ceil(4).min(3);
    let mut found: Vec<(usize, String)> = Vec::new();
    for name in names {
        let bare = without_instance(name);
        let last = last_part(&bare).to_lowercase();
        let away = distance(&typed, &last);
        let is_inside = typed.len() > 2 && last.contains(&typed);
        if (away <= most || is_inside) && !found.iter().any(|(_, known)| *known == bare) {
            found.push((away, bare));
        }
    }
    found.sort();
    found.truncate(MOST);
    found.into_iter().map(|(_, name)| name).collect()
}

fn last_part(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or(name)
}

/// The edit distance: the letters to insert, delete or replace to make one text of the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, here) in one.chars().enumerate() {
        let mut corner = row[0];
        row[0] = at + 1;
        for (index, there) in other.iter().enumerate() {
            let replaced = corner + usize::from(here != *there);
            corner = row[index + 1];
            row[index + 1] = replaced.min(corner + 1).min(row[index] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_has_its_functions_name() {
        for (name, bare) in [
            ("app::biggest::<i32>", "app::biggest"),
            ("app::biggest<int>", "app::biggest"),
            ("a::Map<K, fn(u8) -> V>::insert::<X<Y>>", "a::Map::insert"),
            ("<app::Foo as app::Run>::run", "<app::Foo as app::Run>::run"),
            ("app::operator<", "app::operator<"),
            ("std::operator<<<char>", "std::operator<<"),
            ("app::main::{closure#0}", "app::main::{closure#0}"),
            ("main", "main"),
        ] {
            assert_eq!(without_instance(name), bare);
        }
    }

    #[test]
    fn names_are_compared_without_instances() {
        for typed in ["biggest", "app::biggest", "big*", "app::biggest::<i32>"] {
            assert!(
                fits_end(&Pattern::new(typed), "app::biggest::<i32>"),
                "{typed}"
            );
        }
        assert!(!fits_end(&Pattern::new("biggest"), "app::rebiggest::<i32>"));
        assert!(!fits_end(&Pattern::new("i32"), "app::biggest::<a::i32>"));
        assert!(fits(&Pattern::new("app::biggest"), "app::biggest<int>"));
        assert!(!fits(&Pattern::new("biggest"), "app::biggest<int>"));
    }

    #[test]
    fn near_names_are_found() {
        let names = [
            "app::biggest::<i32>",
            "app::biggest::<f64>",
            "app::main",
            "app::fib",
        ];
        assert_eq!(near("bigest", names), ["app::biggest"]);
        assert_eq!(near("other::fibs", names), ["app::fib"]);
        assert_eq!(near("Main", names), ["app::main"]);
        assert!(near("nothing_like_it", names).is_empty());
    }
}
