//! The JSON: its numbers, its own schema, and speedscope itself.

use std::collections::BTreeMap;
use std::path::Path;

use profundo_formats::export::{Format, Merge, Options, Weights};
use profundo_testing::skip;
use serde_json::Value;

use crate::tables::Name;
use crate::{made, tables, text, tools};

/// Own weights by function.
fn own(file: &Value) -> BTreeMap<Name, u64> {
    let frames = file["shared"]["frames"].as_array().unwrap();
    let mut sums = BTreeMap::new();
    for profile in file["profiles"].as_array().unwrap() {
        let samples = profile["samples"].as_array().unwrap();
        let weights = profile["weights"].as_array().unwrap();
        assert_eq!(samples.len(), weights.len());
        let mut end = 0;
        for (sample, weight) in samples.iter().zip(weights) {
            let leaf = sample.as_array().unwrap().last().unwrap();
            let frame = &frames[leaf.as_u64().unwrap() as usize];
            let name = frame["name"].as_str().unwrap().to_owned();
            let path = frame["file"].as_str().unwrap_or_default().to_owned();
            let weight = weight.as_u64().unwrap();
            *sums.entry((name, path)).or_default() += weight;
            end += weight;
        }
        assert_eq!(profile["endValue"].as_u64(), Some(end));
    }
    sums
}

#[test]
fn own_weights_are_those_of_our_tables() {
    for profile in [made::odd(), made::odd_wall(), made::large(20_000)] {
        for (weights, merge) in [
            (Weights::Time, Merge::Line),
            (Weights::Time, Merge::Function),
            (Weights::Samples, Merge::Line),
        ] {
            let options = Options {
                weights: Some(weights),
                merge: Some(merge),
                ..Options::default()
            };
            let text = text(&profile, Format::SPEEDSCOPE, &options);
            let file: Value = serde_json::from_str(&text).unwrap();
            let ours: BTreeMap<Name, u64> = tables::functions(&profile, false)
                .into_iter()
                .map(|(name, numbers)| match weights {
                    Weights::Time => (name, numbers.own_time),
                    Weights::Samples => (name, numbers.own_count),
                })
                .filter(|(_, own)| *own > 0)
                .collect();
            assert_eq!(own(&file), ours);
        }
    }
}

#[test]
fn threads_are_profiles_in_the_order_of_time() {
    let text = text(&made::odd(), Format::SPEEDSCOPE, &Options::default());
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["name"], "python3 app.py --name \"a;b\" <x> & ]]>");
    let profiles = file["profiles"].as_array().unwrap();
    let names: Vec<&str> = (profiles.iter())
        .map(|profile| profile["name"].as_str().unwrap())
        .collect();
    let first = "python3 app.py --name \"a;b\" <x> & ]]> (4001), thread";
    assert_eq!(
        names,
        [
            &format!("{first} 1 MainThread (tid 4001)"),
            &format!("{first} 2 (tid 4002)"),
            "/srv/my app/bin/server (4100), thread 3 tokio; worker 12 (tid 4003)",
        ]
    );
    assert_eq!(file["activeProfileIndex"], 0);
    // Three turns of five stacks each: consecutive samples of one stack are one entry.
    assert_eq!(profiles[0]["samples"].as_array().unwrap().len(), 15);
    assert_eq!(profiles[0]["unit"], "nanoseconds");
}

#[test]
fn it_keeps_to_the_schema_and_opens() {
    let page = match tools::speedscope() {
        Ok(page) => page,
        Err(why) => return skip(&why),
    };
    let schema = std::fs::read(page.join("file-format-schema.json")).unwrap();
    let schema: Value = serde_json::from_slice(&schema).unwrap();
    for (name, profile) in [("odd", made::odd()), ("large", made::large(20_000))] {
        let text = text(&profile, Format::SPEEDSCOPE, &Options::default());
        check_fields(&schema, &serde_json::from_str(&text).unwrap());
        match load(page, &format!("{name}.speedscope.json"), text.as_bytes()) {
            Ok(dom) => {
                assert!(dom.contains("Left Heavy"), "{dom}");
                let title = dom.split("<title>").nth(1).unwrap_or_default();
                let command = profile.strings.get(profile.processes[0].command);
                let command = command.replace('&', "&amp;").replace('<', "&lt;");
                let command = command.replace('>', "&gt;");
                assert!(title.contains(&command), "{title}");
            }
            Err(why) => return skip(&why),
        }
    }
    // The same page reports a wrong file: so its result above means something.
    let wrong = text(&made::odd(), Format::SPEEDSCOPE, &Options::default());
    let wrong = wrong.replacen("\"samples\":[[", "\"samples\":[[999999,", 1);
    if let Ok(dom) = load(page, "wrong.speedscope.json", wrong.as_bytes()) {
        assert!(dom.contains("Something went wrong"), "{dom}");
    }
}

/// Checks that required fields are there, and only fields of the schema.
fn check_fields(schema: &Value, file: &Value) {
    let check = |definition: &str, value: &Value| {
        let definition = &schema["definitions"][definition];
        let known = definition["properties"].as_object().unwrap();
        for field in definition["required"].as_array().unwrap() {
            let field = field.as_str().unwrap();
            assert!(!value[field].is_null(), "{field} is missing");
        }
        for (field, content) in value.as_object().unwrap() {
            let kind = known.get(field);
            let kind = kind.unwrap_or_else(|| panic!("{field} is unknown"));
            let fits = match kind["type"].as_str() {
                Some("string") => content.is_string(),
                Some("number") => content.is_number(),
                Some("array") => content.is_array(),
                _ => true,
            };
            assert!(fits, "{field} is {content}");
        }
    };
    check("FileFormat.File", file);
    for profile in file["profiles"].as_array().unwrap() {
        check("FileFormat.SampledProfile", profile);
    }
    for frame in file["shared"]["frames"].as_array().unwrap() {
        check("FileFormat.Frame", frame);
    }
}

/// Opens a file in speedscope and returns the page. Its exit says nothing: the page does.
pub fn load(page: &Path, name: &str, bytes: &[u8]) -> Result<String, String> {
    let script = format!(
        "speedscope.loadFileFromBase64({name:?}, {:?})",
        base64(bytes)
    );
    let script = tools::put(format!("{name}.js"), script.as_bytes());
    let address = format!(
        "file://{}#localProfilePath={}",
        page.join("index.html").display(),
        script.display()
    );
    tools::dom(&address, 8000)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let mut bits = 0_u32;
        for index in 0..3 {
            bits = bits << 8 | u32::from(three.get(index).copied().unwrap_or(0));
        }
        for index in 0..4 {
            text.push(if index <= three.len() {
                char::from(LETTERS[(bits >> (18 - 6 * index) & 63) as usize])
            } else {
                '='
            });
        }
    }
    text
}
