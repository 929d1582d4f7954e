//! Each column that has a member in JSON has it in the schema of `docs/json.md`, by the same name
//! and of the same type; and each member that the schema has for a table's row is declared by a
//! column.

use std::collections::BTreeSet;
use std::path::Path;

/// The members of an object in the page's schema, with those of the groups in it.
fn documented(page: &str, object: &str) -> BTreeSet<String> {
    let (_, block) = page.split_once("```schema\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let start = format!("{object} = ");
    let lines = block.lines().filter_map(|line| line.strip_prefix(&start));
    let parts = lines.flat_map(|line| line.split(", "));
    parts.flat_map(|part| members(page, part)).collect()
}

/// The members that a part of a definition stands for: itself, or those of a group, with what is
/// in front of their names.
fn members(page: &str, part: &str) -> BTreeSet<String> {
    if part.contains(": ") {
        return [part.to_owned()].into();
    }
    let (before, group) = part.split_once(' ').unwrap_or(("", part));
    let of_group = documented(page, group);
    assert!(!of_group.is_empty(), "the page has no {group}");
    of_group
        .iter()
        .map(|member| format!("{before}{member}"))
        .collect()
}

#[test]
fn the_members_of_columns_are_those_of_the_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut tables = vec![
        super::functions::schema(),
        super::calls::schema(),
        super::lines::schema(),
    ];
    tables.extend(super::summary::schemas());
    tables.extend(super::totals::schemas());
    tables.push(super::exceptions::schema());
    tables.push(super::spans::schema());
    tables.extend(super::syscalls::schemas());
    tables.extend(super::traffic::schemas());
    tables.push(super::memory::schema());
    tables.extend(super::allocs::schemas());
    for (object, parts) in tables {
        let declared = parts.iter().flat_map(|part| members(&page, part));
        let declared: Vec<String> = declared.collect();
        let distinct: BTreeSet<String> = declared.iter().cloned().collect();
        assert_eq!(
            distinct.len(),
            declared.len(),
            "{object} has a member twice"
        );
        assert_eq!(distinct, documented(&page, object), "{object}");
    }
}
