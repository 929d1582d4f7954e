//! Options are chosen by name, and a wrong name is answered with the right ones.

/// A name that is none of those that an option knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} {value:?} is not known; it is one of {}", allowed.join(", "))]
pub struct UnknownChoice {
    /// The option.
    pub option: &'static str,
    /// What was asked for.
    pub value: String,
    /// What could have been asked for.
    pub allowed: Vec<&'static str>,
}

/// The choice that is called `value`.
pub fn choose<T: Copy>(
    option: &'static str,
    value: &str,
    choices: &[(&'static str, T)],
) -> Result<T, UnknownChoice> {
    let found = choices.iter().find(|(name, _)| *name == value);
    found
        .map(|&(_, choice)| choice)
        .ok_or_else(|| UnknownChoice {
            option,
            value: value.to_owned(),
            allowed: choices.iter().map(|&(name, _)| name).collect(),
        })
}
