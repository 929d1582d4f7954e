//! Options are chosen by name, and a wrong name is answered with the right ones.

/// An unknown value of an option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} {value:?} is not known; it is one of {}", allowed.join(", "))]
pub struct UnknownChoice {
    /// The option.
    pub option: &'static str,
    /// The requested value.
    pub value: String,
    /// The allowed values.
    pub allowed: Vec<&'static str>,
}

/// The choice with the name `value`.
pub fn choose<T: Clone>(
    option: &'static str,
    value: &str,
    choices: &[(&'static str, T)],
) -> Result<T, UnknownChoice> {
    let found = choices.iter().find(|(name, _)| *name == value);
    found
        .map(|(_, choice)| choice.clone())
        .ok_or_else(|| UnknownChoice {
            option,
            value: value.to_owned(),
            allowed: choices.iter().map(|&(name, _)| name).collect(),
        })
}
