//! The bill of materials, as CycloneDX: each crate and each package of npm that is in the command,
//! with its version, terms and checksum. It says nothing of the machine that has built it.

use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};

use super::graph::{COMMAND, Part, Registry};
use super::sources::Sources;
use super::targets::Target;
use crate::tools::output;

/// The bill for a target, as text.
pub fn bill(sources: &Sources, target: &Target, parts: &[Part]) -> Result<String> {
    let mut date = Command::new("date");
    date.args(["--utc", "+%Y-%m-%dT%H:%M:%SZ", "--date"]);
    let time = output(date.arg(format!("@{}", sources.time)))?;
    let compiler = output(Command::new("rustc").arg("--version"))?;
    let compiler = compiler.split(' ').nth(1).unwrap_or_default();
    let bill = document(time.trim(), compiler, target, parts);
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

fn document(time: &str, compiler: &str, target: &Target, parts: &[Part]) -> Value {
    // The compiler's own library is in the command without being a package of the lock file.
    let standard = json!({
        "type": "library",
        "bom-ref": "rust-std",
        "name": "std",
        "description": "The standard library of Rust",
        "version": compiler,
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    });
    let is_command = |part: &&Part| part.name == COMMAND;
    let others = parts.iter().filter(|part| !is_command(part));
    let components: Vec<Value> = others.map(component).chain([standard]).collect();
    let dependencies = parts.iter().map(|part| {
        let uses = part.uses.iter().map(|&place| reference(&parts[place]));
        let mut uses: Vec<String> = uses.collect();
        if is_command(&part) {
            // What is in the page is there by way of the command.
            let of_page = parts
                .iter()
                .filter(|part| part.registry == Some(Registry::Npm));
            uses.extend(of_page.map(reference));
            uses.push("rust-std".to_owned());
        }
        json!({"ref": reference(part), "dependsOn": uses})
    });
    let command = parts.iter().find(is_command).map(|part| {
        let mut command = component(part);
        command["type"] = "application".into();
        command["name"] = "profundo".into();
        command["properties"] = json!([{"name": "target", "value": target.triple}]);
        command
    });
    json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": time, "component": command},
        "components": components,
        "dependencies": dependencies.collect::<Vec<_>>(),
    })
}

fn component(part: &Part) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(part),
        "name": part.name,
        "version": part.version,
        "purl": reference(part),
        "licenses": [{"expression": part.license}],
    });
    if let Some((algorithm, sum)) = &part.checksum {
        component["hashes"] = json!([{"alg": algorithm, "content": sum}]);
    }
    if let Some(repository) = &part.repository {
        component["externalReferences"] = json!([{"type": "vcs", "url": repository}]);
    }
    component
}

/// The package URL, which is the part's name in the bill as well.
fn reference(part: &Part) -> String {
    let registry = part.registry.unwrap_or(Registry::Cargo).name();
    format!("pkg:{registry}/{}@{}", part.name, part.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::targets::TARGETS;

    #[test]
    fn each_part_is_in_the_bill_and_each_arrow_has_an_end() {
        let part = |name: &str, registry, uses| Part {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            license: "MIT".to_owned(),
            repository: Some("https://example.org".to_owned()),
            folder: None,
            registry,
            checksum: Some(("SHA-256", "00".repeat(32))),
            uses,
        };
        let parts = [
            part("memchr", Some(Registry::Cargo), vec![]),
            part(COMMAND, None, vec![0]),
            part("preact", Some(Registry::Npm), vec![]),
        ];
        let bill = document("2026-01-01T00:00:00Z", "1.95.0", &TARGETS[0], &parts);
        assert_eq!(bill["metadata"]["component"]["name"], "profundo");
        let components = bill["components"].as_array().unwrap();
        let names: Vec<&str> = components
            .iter()
            .filter_map(|component| component["bom-ref"].as_str())
            .collect();
        assert_eq!(
            names,
            ["pkg:cargo/memchr@1.0.0", "pkg:npm/preact@1.0.0", "rust-std"]
        );
        let command = &bill["dependencies"][1];
        assert_eq!(command["ref"], "pkg:cargo/profundo-cli@1.0.0");
        assert_eq!(command["dependsOn"], json!(names));
    }
}
