//! The two names of a C function that Python code calls: `sorted (builtin_sorted)`.

/// Both names in one text.
pub fn with_python_name(python: &str, c: &str) -> String {
    format!("{python} ({c})")
}

/// The C name of a function, from a text that may hold both names.
///
/// ```
/// use profundo_model::c_name;
///
/// assert_eq!(c_name("list.append (list_append)"), "list_append");
/// assert_eq!(c_name("list_append"), "list_append");
/// assert_eq!(c_name("main()::{lambda(int (*)())#1}"), "main()::{lambda(int (*)())#1}");
/// ```
pub fn c_name(function: &str) -> &str {
    both(function).map_or(function, |(_, c)| c)
}

/// The name by which Python code calls a function, where it stands before the C name.
pub fn python_name(function: &str) -> Option<&str> {
    both(function).map(|(python, _)| python)
}

fn both(function: &str) -> Option<(&str, &str)> {
    let (python, c) = function.strip_suffix(')')?.split_once(" (")?;
    (is_name(python) && !c.contains([' ', '(', ')'])).then_some((python, c))
}

fn is_name(text: &str) -> bool {
    let is_of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    !text.is_empty() && text.bytes().all(is_of_a_name)
}
