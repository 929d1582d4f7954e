//! The users of this machine, as `/etc/passwd` lists them.

use std::fs;

/// The name of a user; its number where the list does not have it.
pub fn name(user: u32) -> String {
    let found = rows(&list())
        .find(|row| row.1 == user)
        .map(|row| row.0.to_owned());
    found.unwrap_or_else(|| user.to_string())
}

/// The number of a user, by name or by number.
pub fn number(name: &str) -> Option<u32> {
    let list = list();
    let found = rows(&list).find(|row| row.0 == name).map(|row| row.1);
    found.or_else(|| name.parse().ok())
}

fn list() -> String {
    fs::read("/etc/passwd").map_or_else(
        |_| String::new(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    )
}

fn rows(list: &str) -> impl Iterator<Item = (&str, u32)> {
    list.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let (name, _) = (fields.next()?, fields.next()?);
        Some((name, fields.next()?.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_names_and_numbers() {
        let list = "root:x:0:0:root:/root:/bin/sh\nbroken\nweb:x:33:33::/:\n";
        let found: Vec<_> = rows(list).collect();
        assert_eq!(found, [("root", 0), ("web", 33)]);
        assert_eq!(number("4294967001"), Some(4_294_967_001));
        assert_eq!(name(4_294_967_001), "4294967001");
        assert_eq!(number("no such user"), None);
    }
}
