//! Scalene's output, which is JSON: no stacks, but percentages by function and line.

use serde_json::Value;

/// Python's, native and the system's percentages.
fn percents(row: &Value) -> (f64, f64, f64) {
    let of = |key: &str| row[key].as_f64().unwrap_or(0.0);
    (
        of("n_cpu_percent_python"),
        of("n_cpu_percent_c"),
        of("n_sys_percent"),
    )
}

fn rows<'a>(report: &'a Value, which: &'a str) -> impl Iterator<Item = &'a Value> {
    let files = report["files"].as_object().into_iter().flatten();
    files.flat_map(move |(_, file)| file[which].as_array().into_iter().flatten())
}

/// The share of each function in the total of all of them.
pub(crate) fn shares(report: &Value, names: &[&str]) -> Vec<f64> {
    let weight = |name: &str| -> f64 {
        let own = rows(report, "functions").filter(|row| row["line"].as_str() == Some(name));
        own.map(|row| {
            let (python, native, system) = percents(row);
            python + native + system
        })
        .sum()
    };
    let weights: Vec<f64> = names.iter().map(|name| weight(name)).collect();
    let whole: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / whole).collect()
}

/// The least native share of a line that is native, and the greatest of one that is pure Python, in
/// percent. The system's share is neither.
pub(crate) fn kinds(report: &Value) -> Option<(f64, f64)> {
    const LITTLE: f64 = 1.0;
    let (mut native, mut pure) = (None::<f64>, None::<f64>);
    for row in rows(report, "lines") {
        let text = row["line"].as_str().unwrap_or("").trim_end();
        let (of_python, of_native, _) = percents(row);
        if of_python + of_native < LITTLE {
            continue;
        }
        let percent = 100.0 * of_native / (of_python + of_native);
        if text.ends_with("# native") {
            native = Some(native.unwrap_or(100.0).min(percent));
        } else if text.ends_with("# pure") {
            pure = Some(pure.unwrap_or(0.0).max(percent));
        }
    }
    native.zip(pure)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn shares_and_kinds_are_read() {
        let row = |line: &str, python: f64, native: f64| {
            json!({"line": line, "n_cpu_percent_python": python, "n_cpu_percent_c": native,
                   "n_sys_percent": 1.0})
        };
        let report = json!({"files": {"a.py": {
            "functions": [row("half", 4.0, 1.0), row("rest", 0.0, 1.0), row("other", 50.0, 0.0)],
            "lines": [
                row("    f(x)  # native\n", 1.0, 9.0),
                row("    g(x)  # native\n", 2.0, 6.0),
                row("    h(x)  # native\n", 0.5, 0.1),
                row("    x += 1  # pure\n", 9.0, 1.0),
            ],
        }}});
        assert_eq!(shares(&report, &["half", "rest"]), [0.75, 0.25]);
        assert_eq!(kinds(&report), Some((75.0, 10.0)));
        assert_eq!(kinds(&json!({})), None);
    }
}
