//! What a page asks for of long reports: one function, or a table without the rows below its rows.

use profundo_report::{CountedLines, Only, Trace, View};

use crate::traced::{counted_lines, traced};

/// The functions of a report's JSON.
fn functions(json: &str) -> Vec<serde_json::Value> {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    let table = match value.get("groups") {
        Some(groups) => &groups[0]["functions"],
        None => &value["functions"],
    };
    table.as_array().unwrap().clone()
}

#[test]
fn one_function_is_asked_for_by_its_standard_name() {
    let profile = traced();
    let all = functions(&Trace::new().json(&profile).unwrap());
    let bare = functions(&Trace::new().bare(true).json(&profile).unwrap());
    assert_eq!(all.len(), bare.len());
    for (whole, bare) in all.iter().zip(&bare) {
        assert_eq!(bare["callers"].as_array().unwrap().len(), 0);
        assert_eq!(whole["self_seconds"], bare["self_seconds"]);
        let name = whole["name"].as_str().unwrap();
        let one = Trace::new().only(Only::Is(name.to_owned()));
        let one = functions(&one.json(&profile).unwrap());
        assert_eq!(one, std::slice::from_ref(whole), "{name}");
    }
}

#[test]
fn counted_lines_are_asked_for_by_their_function() {
    let profile = counted_lines();
    let all = functions(&CountedLines::new().json(&profile).unwrap());
    let bare = CountedLines::new().without_lines(true);
    let bare = functions(&bare.json(&profile).unwrap());
    assert_eq!(all.len(), bare.len());
    for (whole, bare) in all.iter().zip(&bare) {
        assert_eq!(bare["lines"].as_array().unwrap().len(), 0);
        assert_eq!(whole["seconds"], bare["seconds"]);
        let file = whole["file"].as_str().unwrap();
        let line = whole["line"].as_u64().unwrap();
        let of = CountedLines::new().of(file, u32::try_from(line).unwrap());
        let found = functions(&of.json(&profile).unwrap());
        assert!(
            found.contains(whole) && found.len() < all.len(),
            "{file}:{line}"
        );
        let of_file = functions(&CountedLines::new().of(file, 0).json(&profile).unwrap());
        assert!(of_file.contains(whole));
        assert!(of_file.iter().all(|row| row["file"] == whole["file"]));
    }
}
