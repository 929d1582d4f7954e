//! Options whose values are those of a table: the crate that has the values names them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// The values of a table, under their names.
pub fn one_of<T: Clone + Send + Sync + 'static, const N: usize>(
    choices: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = choices.each_ref().map(|(name, _)| PossibleValue::new(name));
    parser(names, choices)
}

/// Like [`one_of`], where a help says what each value is.
pub fn one_of_described<T: Clone + Send + Sync + 'static, const N: usize>(
    choices: [(&'static str, T, &'static str); N],
) -> impl TypedValueParser<Value = T> {
    let names = (choices.each_ref()).map(|(name, _, what)| PossibleValue::new(name).help(what));
    parser(names, choices.map(|(name, value, _)| (name, value)))
}

fn parser<T: Clone + Send + Sync + 'static, const N: usize>(
    names: [PossibleValue; N],
    choices: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names).map(move |given| {
        let found = choices.iter().find(|(name, _)| *name == given);
        let (_, value) = found.expect("the parser lets only these through");
        value.clone()
    })
}
