//! Names of C++ and Rust with and without their parameters.

/// A name without its parameters: `a::(anonymous namespace)::operator()(int)` ends before `(int)`.
pub(crate) fn without_parameters(name: &str) -> &str {
    const PARTS: [&str; 2] = ["(anonymous namespace)", "operator()"];
    let name = name.strip_prefix('.').unwrap_or(name);
    let mut at = 0;
    while let Some(found) = name[at..].find('(') {
        let open = at + found;
        let behind = PARTS.iter().find_map(|part| {
            let from = open.checked_sub(part.find('(')?)?;
            let is_part = name.get(from..)?.starts_with(part);
            is_part.then_some(from + part.len())
        });
        match behind {
            Some(behind) => at = behind,
            None => return &name[..open],
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_no_part_of_a_name() {
        let check = |name, plain| assert_eq!(without_parameters(name), plain);
        check("malloc", "malloc");
        check(".free(void*)", "free");
        check(
            "a::(anonymous namespace)::f(int)",
            "a::(anonymous namespace)::f",
        );
        check("F::operator()(int) const", "F::operator()");
        check("F::operator()", "F::operator()");
        check("(", "");
        check("é(", "é");
    }
}
