//! Options of a comparison: numbers with names and defaults, `--pairs 15 --seconds 2`.

use std::process::exit;

/// The options of this run.
#[derive(Debug)]
pub struct Options {
    values: Vec<(&'static str, f64)>,
}

impl Options {
    /// Reads the command line. `known` holds each option's name and default. `--help` prints
    /// `about` and the options and exits; so does a wrong option, with an error.
    pub fn from_command_line(about: &str, known: &[(&'static str, f64)]) -> Self {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        if arguments.iter().any(|argument| argument == "--help") {
            println!("{}", usage(about, known));
            exit(0);
        }
        match Self::parse(&arguments, known) {
            Ok(options) => options,
            Err(wrong) => {
                eprintln!("Error: {wrong}.\n\n{}", usage(about, known));
                exit(2)
            }
        }
    }

    fn parse(arguments: &[String], known: &[(&'static str, f64)]) -> Result<Self, String> {
        let mut values = known.to_vec();
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            let name = argument.strip_prefix("--").unwrap_or_default();
            let Some((_, value)) = values.iter_mut().find(|(known, _)| *known == name) else {
                return Err(format!("there is no option {argument}"));
            };
            let given = rest.next().ok_or(format!("{argument} needs a number"))?;
            *value = given
                .parse()
                .ok()
                .filter(|number: &f64| number.is_finite() && *number > 0.0)
                .ok_or(format!("{argument} needs a number above 0, not {given}"))?;
        }
        Ok(Self { values })
    }

    /// The value of an option, which must be one of those known.
    pub fn get(&self, name: &str) -> f64 {
        let found = self.values.iter().find(|(known, _)| *known == name);
        found.expect("only options that are known are asked for").1
    }

    /// The value as a count.
    pub fn count(&self, name: &str) -> usize {
        self.get(name) as usize
    }
}

fn usage(about: &str, known: &[(&'static str, f64)]) -> String {
    let options: Vec<String> = known
        .iter()
        .map(|(name, default)| format!("  --{name} N   (default {default})"))
        .collect();
    format!("{about}\n\n{}", options.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &str, expected: Result<(f64, f64), &str>) {
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        let options = Options::parse(&arguments, &[("pairs", 15.0), ("seconds", 2.0)]);
        let found = options.map(|options| (options.get("pairs"), options.get("seconds")));
        assert_eq!(found, expected.map_err(str::to_owned));
    }

    #[test]
    fn options_are_numbers_with_names() {
        check("", Ok((15.0, 2.0)));
        check("--seconds 0.5", Ok((15.0, 0.5)));
        check("--pairs 3 --seconds 1", Ok((3.0, 1.0)));
        check("--speed 1", Err("there is no option --speed"));
        check("pairs 1", Err("there is no option pairs"));
        check("--pairs", Err("--pairs needs a number"));
        check(
            "--pairs many",
            Err("--pairs needs a number above 0, not many"),
        );
        check("--pairs 0", Err("--pairs needs a number above 0, not 0"));
    }
}
