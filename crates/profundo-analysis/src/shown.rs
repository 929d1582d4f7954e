//! The levels of a stack that a question looks at. Hidden levels give their time to their callers.
//!
//! There are two reasons to hide a level. Its language: Julia hides C, the command hides the
//! interpreter's plumbing. And its owner: a reader cannot change a library, and prefers the own
//! line that called it.

use profundo_model::{Language, LocationId, Profile};

use crate::ownership::Ownership;
use crate::place::places;
use crate::{Place, UnknownChoice, choose};

/// The hidden languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hidden {
    /// C, C++, and unnamed code: Julia's rule, and the library's.
    #[default]
    C,
    /// The plumbing of interpreters and runtimes: the command's rule.
    Runtime,
    /// Nothing.
    Nothing,
}

/// The treatment of library frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Libraries {
    /// They are shown like all others.
    #[default]
    Shown,
    /// Of each run of them only the outermost is shown: the callee of own code.
    Folded,
    /// They are left out.
    Hidden,
}

impl Libraries {
    /// Every value with its name.
    pub const CHOICES: [(&'static str, Self); 3] = [
        ("shown", Self::Shown),
        ("folded", Self::Folded),
        ("hidden", Self::Hidden),
    ];
}

impl std::str::FromStr for Libraries {
    type Err = UnknownChoice;

    fn from_str(value: &str) -> Result<Self, UnknownChoice> {
        choose("libraries", value, &Self::CHOICES)
    }
}

/// The shown part of a stack. The default is the library's, which is Julia's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Shown {
    /// The hidden languages.
    pub hidden: Hidden,
    /// The treatment of libraries.
    pub libraries: Libraries,
}

impl Shown {
    /// Everything.
    pub const ALL: Self = Self {
        hidden: Hidden::Nothing,
        libraries: Libraries::Shown,
    };

    /// The command's choice: all but plumbing.
    pub const COMMAND: Self = Self {
        hidden: Hidden::Runtime,
        libraries: Libraries::Shown,
    };
}

/// Julia's option `c`: whether C frames are shown.
impl From<bool> for Shown {
    fn from(c: bool) -> Self {
        Self {
            hidden: if c { Hidden::Nothing } else { Hidden::C },
            libraries: Libraries::Shown,
        }
    }
}

impl From<Hidden> for Shown {
    fn from(hidden: Hidden) -> Self {
        Self {
            hidden,
            libraries: Libraries::Shown,
        }
    }
}

/// The places of one stack that are shown, the innermost first.
pub fn shown_stack(profile: &Profile, stack: profundo_model::StackId, shown: Shown) -> Vec<Place> {
    let mut path = Vec::new();
    Sieve::new(profile, shown).path(stack, &mut path);
    path.iter().rev().map(|&(place, _)| place).collect()
}

/// Calls `visit` with each of these stacks and its places that are shown, the outermost first.
pub fn each_shown_stack(
    profile: &Profile,
    stacks: impl IntoIterator<Item = profundo_model::StackId>,
    shown: Shown,
    mut visit: impl FnMut(profundo_model::StackId, &[(Place, LocationId)]),
) {
    let sieve = Sieve::new(profile, shown);
    let mut path = Vec::new();
    for stack in stacks {
        sieve.path(stack, &mut path);
        visit(stack, &path);
    }
}

/// Calls `visit` with each of these stacks and its innermost shown place, if it has one. Libraries
/// are not folded. Callers are not walked: a recording of deep recursion has as many stacks as the
/// deepest has frames.
pub fn each_innermost_place(
    profile: &Profile,
    stacks: impl IntoIterator<Item = profundo_model::StackId>,
    shown: Shown,
    mut visit: impl FnMut(profundo_model::StackId, Option<(Place, LocationId)>),
) {
    let sieve = Sieve::new(profile, shown);
    for stack in stacks {
        let innermost = profile.stacks.locations(stack).find_map(|location| {
            let place = sieve.places(location).next_back()?;
            Some((place, location))
        });
        visit(stack, innermost);
    }
}

/// The shown part, prepared for every level of every stack.
#[derive(Debug)]
pub(crate) struct Sieve<'a> {
    profile: &'a Profile,
    shown: Shown,
    /// By frame, whether its language is left out.
    hidden: Vec<bool>,
    /// The owners, where they matter.
    owners: Option<Ownership<'a>>,
}

impl<'a> Sieve<'a> {
    pub(crate) fn new(profile: &'a Profile, shown: Shown) -> Self {
        let is_hidden = |language| match shown.hidden {
            Hidden::C => matches!(language, Language::Native | Language::Runtime),
            Hidden::Runtime => language == Language::Runtime,
            Hidden::Nothing => false,
        };
        let frames = profile.frames.iter();
        Self {
            profile,
            shown,
            hidden: frames.map(|frame| is_hidden(frame.language)).collect(),
            owners: (shown.libraries != Libraries::Shown).then(|| Ownership::new(profile)),
        }
    }

    /// Whether the language of a place is hidden. A reason never is, because its weight must not be
    /// lost; an unnamed address counts as C.
    pub(crate) fn hides(&self, place: Place) -> bool {
        match place {
            Place::Frame(frame) => self.hidden[frame.index()],
            Place::Reason(_) => false,
            Place::Unknown => self.shown.hidden == Hidden::C,
        }
    }

    /// The shown places of a location, outermost first. Where libraries are folded, a place may
    /// still be hidden because of its caller: see [`Sieve::folds`].
    pub(crate) fn places(
        &self,
        location: LocationId,
    ) -> impl DoubleEndedIterator<Item = Place> + '_ {
        places(self.profile, location).filter(move |&place| {
            !self.hides(place)
                && match &self.owners {
                    Some(owners) if self.shown.libraries == Libraries::Hidden => {
                        !owners.is_library(place, location)
                    }
                    _ => true,
                }
        })
    }

    /// Whether libraries are folded, so that [`Sieve::is_library`] matters.
    pub(crate) fn folds(&self) -> bool {
        self.shown.libraries == Libraries::Folded
    }

    /// Whether a place is of a library, where owners matter.
    pub(crate) fn is_library(&self, place: Place, location: LocationId) -> bool {
        (self.owners.as_ref()).is_some_and(|owners| owners.is_library(place, location))
    }

    /// The shown places of a stack from its root, each with its location, into `path`.
    pub(crate) fn path(&self, stack: profundo_model::StackId, path: &mut Vec<(Place, LocationId)>) {
        path.clear();
        for location in self.profile.stacks.locations(stack) {
            path.extend(self.places(location).rev().map(|place| (place, location)));
        }
        path.reverse();
        if self.folds() {
            let mut in_library = false;
            path.retain(|&(place, location)| {
                let was_in_library = in_library;
                in_library = self.is_library(place, location);
                !(was_in_library && in_library)
            });
        }
    }
}
