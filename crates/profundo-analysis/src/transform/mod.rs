//! Changing the stacks of a profile: frames are taken away, cut off above, or put together.
//!
//! A filter chooses samples, and a transform changes what is left of their stacks. The result is a
//! profile again, so every report, export and picture of every kind of recording shows it without
//! knowing of it. First the samples are chosen, by their stacks as recorded; then `hide`, `show`
//! and `show-from` follow, in pprof's order; and then the other transforms, in the order given.
//!
//! Each row of the stack table is rewritten once for each transform, from its caller's row, so the
//! work grows with the number of distinct stacks. Samples that are left out stay in the profile,
//! below a stack of their own that the filter does not pass: so totals and the quality of the
//! recording stay what they are.

mod calls;
mod kinds;
mod library;
mod names;
mod passes;
mod recursion;
mod rewrite;
mod rows;

use std::fmt;
use std::str::FromStr;

use crate::expression::{Expression, ExpressionError};

pub use library::LibraryNames;
pub(crate) use names::{By, matching, matching_frames};
pub use rewrite::{transform, transforms};

/// The transforms of a profile, in the order in which they are applied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transforms {
    /// Matching frames are taken away; their time is their callers'.
    pub hide: Vec<Expression>,
    /// Where there are any, all other frames are taken away.
    pub show: Vec<Expression>,
    /// Callers above the first matching frame are cut off, and stacks without one are left out.
    pub show_from: Vec<Expression>,
    /// Further transforms.
    pub steps: Vec<Transform>,
}

impl Transforms {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        let Self {
            hide,
            show,
            show_from,
            steps,
        } = self;
        hide.is_empty() && show.is_empty() && show_from.is_empty() && steps.is_empty()
    }

    /// Whether any of them leaves out samples.
    pub fn drops_samples(&self) -> bool {
        let drops = |step: &Transform| {
            use Operation::{DropFile, DropFunction, DropHidden, DropLibrary, FocusFunction};
            matches!(
                step.operation,
                DropFile | DropFunction | DropHidden | DropLibrary | FocusFunction
            )
        };
        !self.show_from.is_empty() || self.steps.iter().any(drops)
    }
}

/// The change that a transform makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Functions are taken away; their time is their callers'.
    MergeFunction,
    /// The functions of source files are taken away.
    MergeFile,
    /// The functions of libraries are taken away.
    MergeLibrary,
    /// Samples with a function on their stack are left out.
    DropFunction,
    /// Samples with a file on their stack are left out.
    DropFile,
    /// Samples with a library on their stack are left out.
    DropLibrary,
    /// Samples none of whose frames is left are left out.
    DropHidden,
    /// A function becomes the root: its callers are cut off, and samples without it left out.
    FocusFunction,
    /// A function that calls itself, directly or through others, is there once.
    CollapseRecursion,
    /// Functions of a library that call one another become one frame with the library's name.
    CollapseLibrary,
    /// All that a function calls is taken away; its time is the function's.
    CollapseFunctionSubtree,
}

impl Operation {
    /// Every operation with its name. The names are those of Firefox Profiler, where it has them.
    pub const NAMES: [(&'static str, Self); 11] = [
        ("merge-function", Self::MergeFunction),
        ("merge-file", Self::MergeFile),
        ("merge-library", Self::MergeLibrary),
        ("drop-function", Self::DropFunction),
        ("drop-file", Self::DropFile),
        ("drop-library", Self::DropLibrary),
        ("drop-hidden", Self::DropHidden),
        ("focus-function", Self::FocusFunction),
        ("collapse-recursion", Self::CollapseRecursion),
        ("collapse-library", Self::CollapseLibrary),
        ("collapse-function-subtree", Self::CollapseFunctionSubtree),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        let row = Self::NAMES.iter().find(|(_, operation)| *operation == self);
        row.map_or("", |(name, _)| name)
    }

    /// Whether it is about certain functions, files or libraries; `None`: it may be.
    pub fn has_expression(self) -> Option<bool> {
        match self {
            Self::CollapseRecursion => None,
            Self::DropHidden => Some(false),
            _ => Some(true),
        }
    }
}

/// One transform: an operation, and the functions, files or libraries that it is about.
///
/// ```
/// use profundo_analysis::Transform;
///
/// let merge: Transform = "merge-function:^std::".parse().unwrap();
/// assert_eq!(merge.to_string(), "merge-function:^std::");
/// assert!("collapse-recursion".parse::<Transform>().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transform {
    operation: Operation,
    /// [`Operation::CollapseRecursion`] may go without, and [`Operation::DropHidden`] has none.
    expression: Option<Expression>,
}

/// A text that is no transform.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// The operation is unknown.
    #[error("“{0}” is no transform; there are {list}", list = names())]
    Unknown(String),
    /// The operation needs an expression.
    #[error("`{0}` wants a regular expression behind a colon: `{0}:RE`")]
    WithoutExpression(&'static str),
    /// The operation has no expression.
    #[error("`{0}` stands alone, without a regular expression")]
    WithExpression(&'static str),
    /// The expression is wrong.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

fn names() -> String {
    Operation::NAMES.map(|(name, _)| name).join(", ")
}

impl FromStr for Transform {
    type Err = TransformError;

    fn from_str(text: &str) -> Result<Self, TransformError> {
        let (name, rest) = match text.split_once(':') {
            Some((name, rest)) => (name, Some(rest)),
            None => (text, None),
        };
        let name = match name {
            "focus-subtree" => "focus-function",
            name => name,
        };
        let known = (Operation::NAMES.iter()).find(|(known, _)| *known == name);
        let Some(&(name, operation)) = known else {
            return Err(TransformError::Unknown(name.to_owned()));
        };
        let expression = match (
            rest.filter(|rest| !rest.is_empty()),
            operation.has_expression(),
        ) {
            (Some(_), Some(false)) => return Err(TransformError::WithExpression(name)),
            (None, Some(true)) => return Err(TransformError::WithoutExpression(name)),
            (rest, _) => rest.map(str::parse).transpose()?,
        };
        Ok(Self {
            operation,
            expression,
        })
    }
}

impl fmt::Display for Transform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.operation.name())?;
        match &self.expression {
            Some(expression) => write!(f, ":{expression}"),
            None => Ok(()),
        }
    }
}
